"""``gpufeed.timm_compat.create_loader``: timm's ``create_loader`` with gpufeed in the place of torch's ``DataLoader``."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from timm.data import loader as of_timm
from timm.data.dataset import AugMixDataset, ImageDataset
from timm.data.mixup import FastCollateMixup

from gpufeed import timm_mixing
from gpufeed.errors import ArgumentError
from gpufeed.operators import Refused
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
        raise ArgumentError("num_aug_splits: samples of several images are not made; timm.data.create_loader makes them")
    if isinstance(of_torch.dataset, ImageDataset):
        ours.setdefault("on_error", "skip")
    inner = _Inner(of_torch, workers, ours)
    if not prefetches:
        return inner.made()
    loader = _Prefetcher.__new__(_Prefetcher)
    loader.__dict__.update(vars(made) | {"inner": inner, "loader": inner.made()})
    return loader


class _Inner:
    """Makes the loader that gives batches on the CPU, with what timm gave torch's."""

    def __init__(self, of_torch: Any, workers: int, keywords: dict[str, Any]) -> None:
        self._of_torch, self._workers, self._keywords = of_torch, workers, keywords
        collate = None if of_torch.collate_fn is of_timm.fast_collate else of_torch.collate_fn
        # Where gpufeed has its mode, native code mixes; any other function gets the samples.
        self.mixup = collate if isinstance(collate, FastCollateMixup) and _is_known(collate) else None
        self._collate = None if self.mixup is not None else collate

    def made(self) -> DataLoader:
        """Makes one. A loader mixes all of its batches as the object of timm says when it is made."""
        given, keywords = self._of_torch, self._keywords
        if self.mixup is not None:
            keywords = keywords | {"batch_transforms": self.mixup}
        return DataLoader(
            given.dataset,
            given.batch_size,
            sampler=given.sampler,
            num_workers=self._workers,
            collate_fn=self._collate,
            pin_memory=given.pin_memory,
            drop_last=given.drop_last,
            **keywords,
        )


class _Prefetcher(of_timm.PrefetchLoader):
    """timm's ``PrefetchLoader`` of a loader of gpufeed's."""

    inner: _Inner
    loader: Any

    def explain(self) -> str:
        """Says what became of each argument."""
        erases = "" if self.random_erasing is None else " and erases rectangles"
        note = f"timm's PrefetchLoader copies each batch to {self.device}, and normalises it there{erases}, by torch in the loop's thread"
        return f"{self.loader.explain()}\nnote: {note}"

    @property
    def mixup_enabled(self) -> bool:
        """True if batches are mixed. Training scripts set it to False for the last epochs."""
        return self.inner.mixup is not None and bool(self.inner.mixup.mixup_enabled)

    @mixup_enabled.setter
    def mixup_enabled(self, enabled: bool) -> None:
        if self.inner.mixup is not None and enabled != self.inner.mixup.mixup_enabled:
            self.inner.mixup.mixup_enabled = enabled
            self.loader = self.inner.made()


def _is_known(mixup: Any) -> bool:
    try:
        timm_mixing.convert(mixup)
    except Refused:
        return False
    return True
