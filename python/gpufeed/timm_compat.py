"""``gpufeed.timm_compat.create_loader``: timm's ``create_loader`` with gpufeed in the place of torch's ``DataLoader``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from timm.data import loader as of_timm
from timm.data.dataset import AugMixDataset, ImageDataset

from gpufeed import opening
from gpufeed.errors import ArgumentError, RunError
from gpufeed.iterator import Run
from gpufeed.torch_batches import Changed
from gpufeed.torch_compat import DataLoader

__all__ = ["create_loader"]


def create_loader(*args: Any, **keywords: Any) -> Any:
    """Takes the arguments of ``timm.data.create_loader`` of the version that is installed, and returns what it returns, so that one import
    of a training script changes.

    timm itself makes the transforms, the sampler and the loader of its arguments; gpufeed's threads then do what the loader's worker
    processes would. With ``use_prefetcher=True``, timm's default, batches go through timm's own ``PrefetchLoader``: it copies images as
    8-bit numbers, and normalises and erases them on the device.

    The data set is timm's ``ImageDataset`` of a folder, one of torchvision, or any other that :class:`gpufeed.torch_compat.DataLoader`
    takes. As in timm, an image of an ``ImageDataset`` that cannot be read is replaced by another sample, up to a tenth of all.

    Keywords that timm does not have are those of :class:`gpufeed.torch_compat.DataLoader`, such as ``cache="host:16G"``.

    ``loader.explain()`` says what became of each argument.

    Args:
        args: Those of timm.
        keywords: Those of timm, and of gpufeed.
    """
    known = inspect.signature(of_timm.create_loader)
    ours = {name: value for name, value in keywords.items() if name not in known.parameters}
    given = known.bind(*args, **{name: value for name, value in keywords.items() if name not in ours}).arguments
    if given.get("num_aug_splits"):
        raise ArgumentError("num_aug_splits: samples of several images are not made; timm.data.create_loader makes them")
    if given.get("input_size_choices") is not None:
        raise ArgumentError("input_size_choices: batches of several sizes are not made; timm.data.create_loader makes them")
    workers = given.get("num_workers", known.parameters["num_workers"].default)
    # torch's loader is asked what it was given, and makes no workers: timm's own for many epochs would make them at once.
    made: Any = of_timm.create_loader(**given | {"num_workers": 0, "persistent_workers": False, "use_multi_epochs_loader": False})
    prefetches = isinstance(made, of_timm.PrefetchLoader)
    of_torch: Any = made.loader if prefetches else made
    if isinstance(of_torch.dataset, torch.utils.data.IterableDataset):
        raise ArgumentError(
            f"dataset: a {type(of_torch.dataset).__name__} has one order alone, and gpufeed reads samples by their numbers; "
            "gpufeed.DataLoader reads tar shards and Parquet files by their path"
        )
    if isinstance(of_torch.dataset, AugMixDataset):
        raise ArgumentError("dataset: an AugMixDataset makes several images of a sample; timm.data.create_loader takes it")
    if isinstance(of_torch.dataset, ImageDataset) and not opening.is_object(of_torch.dataset):
        ours.setdefault("on_error", "skip")
    worker_init_fn, persistent = of_torch.worker_init_fn, given.get("persistent_workers", known.parameters["persistent_workers"].default)
    loader = _Loader(
        of_torch.dataset,
        of_torch.batch_size,
        sampler=of_torch.sampler,
        num_workers=workers,
        collate_fn=None if of_torch.collate_fn is of_timm.fast_collate else of_torch.collate_fn,
        pin_memory=of_torch.pin_memory,
        drop_last=of_torch.drop_last,
        worker_init_fn=worker_init_fn,
        persistent_workers=persistent,
        **ours,
    )
    loader.prefetches, loader.has_classes = prefetches, of_torch.collate_fn is of_timm.fast_collate
    if given.get("use_multi_epochs_loader"):
        loader.notes += ("use_multi_epochs_loader: has no meaning: threads are made for each epoch, which takes no time",)
    if not prefetches:
        return loader
    made_ready = _Prefetcher.__new__(_Prefetcher)
    made_ready.__dict__.update(vars(made) | {"loader": loader})
    return made_ready


class _Loader(DataLoader):
    """The loader below. ``has_classes`` is true if batches are images and classes alone, in int64, as ``fast_collate`` makes them, and
    ``prefetches`` if timm's ``PrefetchLoader`` makes them ready."""

    has_classes = prefetches = False

    def _on_batch(self) -> list[str]:
        """Returns the names of what runs in Python on each batch."""
        return [*super()._on_batch(), *(["timm's PrefetchLoader"] if self.prefetches else [])]

    def _tensors(self, run: Run) -> Callable[[], Any]:
        source = super()._tensors(run)
        return _Fast(source) if self.has_classes else source


class _Fast(Changed):
    """The source of an iteration whose batches are those of timm's ``fast_collate``."""

    def __call__(self) -> tuple[Any, str]:
        """Returns the next batch, and the state after it."""
        (images, targets, *_), state = self._source()
        if images.dtype != torch.uint8:
            raise RunError(f"collate_fn: timm's fast_collate is for 8-bit images, and these are {images.dtype}; use_prefetcher=False gives floats")
        # Soft labels are those of a mixed batch.
        return (images, targets.long() if targets.ndim == 1 else targets), state


class _Prefetcher(of_timm.PrefetchLoader):
    """timm's ``PrefetchLoader`` of a loader of gpufeed's."""

    loader: Any

    def explain(self) -> str:
        """Says what became of each argument."""
        erases = "" if self.random_erasing is None else " and erases rectangles"
        note = f"timm's PrefetchLoader copies each batch to {self.device}, and normalises it there{erases}, by torch and the process's random numbers"
        return f"{self.loader.explain()}\nnote: {note}"

    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the loader below."""
        made: dict[str, Any] = self.loader.stats()
        return made

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration."""
        self.loader.set_epoch(epoch)

    def close(self) -> None:
        """Ends the loader and its threads."""
        self.loader.close()
