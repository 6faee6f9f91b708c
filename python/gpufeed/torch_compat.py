"""``gpufeed.torch_compat.DataLoader``: a loader with the arguments and the batches of ``torch.utils.data.DataLoader``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.utils.data import Dataset, Sampler

from gpufeed import arguments, explained, loader, opening, own_samples, torch_datasets, torch_samplers
from gpufeed.collate import IMAGE
from gpufeed.collate_functions import Called, Collation, recognised
from gpufeed.errors import ArgumentError
from gpufeed.failures import FIRST_DRAWN, warn_once_outside
from gpufeed.iterator import Iterating, Run
from gpufeed.samplers import Native
from gpufeed.shard import resolve
from gpufeed.torch_batches import InViews, LikeTorch, Timed

__all__ = ["DataLoader"]

class DataLoader(loader.DataLoader):
    """Takes the arguments of torch's ``DataLoader``, and gives its batches: the one line of a training script that changes is the
    import.

    The data set is one of torchvision's or of Hugging Face's ``datasets``, torch's ``Subset`` or ``ConcatDataset`` of one, a data set
    of :func:`gpufeed.open`, or any object with ``__len__`` and ``__getitem__``. The transforms are the data set's own. An object whose
    transforms gpufeed does not have makes its samples in Python, and a warning says why.

    Batches are what torch's loader gives: ``[images, labels]`` with labels of int64, or dictionaries of samples that are dictionaries.
    Each iteration is a new epoch. Its random numbers come from ``generator``, or from torch's own, from which as many numbers are drawn
    as torch's loader draws, so that ``torch.manual_seed`` repeats a run, but for samples that are made in Python, which draw from the
    process's generators in the order of the threads; they are other numbers than torch's loader has. Several
    iterations may be under way at once, each with threads of its own; on another device than the CPU a new one ends the one before.

    :meth:`explain` says what became of each argument.

    Args:
        dataset: The data set, or a :func:`gpufeed.blend`.
        batch_size: Samples in a batch.
        shuffle: Gives each epoch its own random order.
        sampler: The order. torch's sequential and distributed samplers, and random ones without a generator of their own, become settings
            of gpufeed; others are asked for their indices at the begin of each epoch, and those without a length for the first ones at once.
        batch_sampler: The batches, in the place of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``. Its attribute
            ``batch_size`` says how many samples a batch may have; without one the first epoch's are asked for at once.
        num_workers: Threads that read and decode. 0, which in torch is the loop's own process, is gpufeed's default: one for each
            core of this process.
        collate_fn: torch's ``default_collate``; a function whose code does no more than call it and then mix the batch by ``MixUp``,
            ``CutMix`` or their like; any other is called in the loop's thread, with the samples of each batch, and a warning says so.
        pin_memory: Copies batches to page-locked memory, where torch has a CUDA device.
        drop_last: Leaves out an incomplete last batch.
        timeout: Seconds after which a wait for a batch is an error; 0 waits for ever.
        worker_init_fn: Is not called, as workers are threads of this process.
        multiprocessing_context: Has no meaning for threads.
        generator: The source of random numbers. Default: torch's own.
        prefetch_factor: Batches that wait for the loop. Default: 2.
        persistent_workers: Has no meaning for threads.
        pin_memory_device: Has no meaning here; torch has deprecated it.
        in_order: Batches come in order in any case.
        keywords: Those of :class:`gpufeed.DataLoader`, such as ``cache="host:16G"``. Two have torch's defaults: ``exif=False``, but for
            data sets of Hugging Face, and ``on_error="fail"``. With ``seed``, with an order of ``gpufeed.orders``, and with a
            blend, epochs are counted from 0, and nothing is drawn from torch's generators.
    """

    # None, as in torch, beside a batch sampler.
    batch_size: Any

    def __init__(
        self,
        dataset: Dataset[Any] | Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        **keywords: Any,
    ) -> None:
        if arguments.is_path(dataset):
            raise ArgumentError("dataset: a path; gpufeed.open(path) gives a data set, and gpufeed.DataLoader takes the path itself")
        opening.refuse_streams(dataset)
        self._of_torch = torch_samplers.order_of(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, generator)
        self.num_workers, self.prefetch_factor = arguments.whole("num_workers", num_workers), prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.generator = arguments.seconds("timeout", timeout), generator
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.collate_fn = torch.utils.data.default_collate if collate_fn is None else collate_fn
        self._given: Any = dataset
        self._collation = recognised(collate_fn)
        # gpufeed's own orders go on from one epoch to the next.
        self._counts = "seed" in keywords or isinstance(sampler, Native) or isinstance(dataset, Native)
        self._is_set = False
        # The epoch of a DistributedSampler, and how often it was iterated over.
        self._repeated = (0, 0)
        data, taken, self._views = own_samples.taken(dataset, keywords)
        made, notes = self._settings_of(keywords)
        if self._collation.own is None and self.collate_fn is not torch.utils.data.default_collate:
            made, notes = self._with_collation(made, notes)
        super().__init__(data, **(made | taken))
        self.batch_size, self.drop_last = self._of_torch.batch_size, self._of_torch.drop_last
        if self._views is not None:
            # The loader's own data set is what the given one stands on.
            self._taken = opening.transforms_taken(dataset)
        notes += self._check_collation()
        if isinstance(data, own_samples.MadeInPython) and data.why is not None:
            notes.append(
                f"data: its samples, transforms included, are made in Python in the workers, under the interpreter's lock: {data.why}; "
                "CenterCrop has the size that they have, and changes nothing"
            )
        if self._views is not None:
            made_by = ", ".join(f"{number} by {name}" for name, (_, number) in self._views.groups.items())
            notes.append(
                f"data: the transform of this {type(dataset).__name__} makes views by its lists, which are groups here: {made_by}; a batch has a "
                "tensor of each view, in the transform's order, as torch's loader gives it; its __getitem__ is not called"
            )
        self.notes = (*self.notes, *self._of_torch.notes, *notes)

    def _settings_of(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Returns the keywords of gpufeed's loader, and what ``explain`` says of them."""
        notes = []
        made = dict(self._of_torch.keywords)
        if self.num_workers > 0:
            made["workers"] = self.num_workers
            notes.append(f"num_workers={self.num_workers}: threads of this process, which all work on the same batch")
        elif "workers" not in keywords:
            notes.append("num_workers=0: a thread for each core of this process; nothing is loaded in the loop's thread")
        if self.prefetch_factor is not None:
            made["queue_depth"] = arguments.whole("prefetch_factor", self.prefetch_factor, 1)
            notes.append(f"prefetch_factor={self.prefetch_factor}: so many batches wait, whatever the number of threads")
        if self.pin_memory:
            is_there = torch.cuda.is_available()
            what = "batches are copied to page-locked memory" if is_there else "there is no CUDA device: batches stay in pageable memory"
            notes.append(f'pin_memory=True: {what}; device="cuda" gives batches on the device, and copies ahead')
        if self.timeout > 0:
            notes.append(f"timeout={self.timeout:g}: a wait for a batch that takes longer is an error")
        for name, default, what in (
            ("worker_init_fn", None, "is not called, as workers are threads of this process"),
            ("multiprocessing_context", None, "has no meaning, as workers are threads of this process"),
            ("persistent_workers", False, "has no meaning: threads are made for each epoch, which takes no time"),
            ("in_order", True, "has no meaning: batches come in order"),
            ("pin_memory_device", "", "has no meaning"),
        ):
            if getattr(self, name) != default:
                notes.append(f"{name}: {what}")
        for name in made:
            if name in keywords:
                raise ArgumentError(f"{name}: given beside torch's argument that means the same; leave out one of the two")
        if "shard" not in made and "shard" not in keywords:
            made["shard"] = None
            if "shuffle" in made:
                # Any other sampler may divide the samples by itself.
                self._warn_of_ranks()
        return {"on_error": "fail"} | keywords | made, notes

    def _warn_of_ranks(self) -> None:
        try:
            (_, ranks), _ = resolve("auto")
        except ArgumentError:
            # Variables that name no rank are an error only where they are asked for one.
            return
        if ranks > 1:
            warn_once_outside(
                f"gpufeed: each of the {ranks} ranks reads all samples, as with torch's DataLoader without a DistributedSampler. Lightning and "
                "accelerate put one into torch's loaders alone: sampler=DistributedSampler(dataset) gives each rank its share"
            )

    def _with_collation(self, made: dict[str, Any], notes: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Does what a ``collate_fn`` does in its place, whose code is known."""
        transform = self._collation.mixes
        if transform is None:
            return made, [*notes, f"collate_fn: {_name(self.collate_fn)} is not called: its code does no more than default_collate"]
        kind = type(transform).__name__
        if made.get("batch_transforms") is not None:
            raise ArgumentError(f"batch_transforms: given beside a collate_fn that mixes each batch by {kind}; leave out one of the two")
        does = kind if transform is self.collate_fn else f"default_collate and then {kind}"
        note = f"collate_fn: {does}, which is batch_transforms here; {_name(self.collate_fn)} is not called"
        return made | {"batch_transforms": transform}, [*notes, note]

    def _check_collation(self) -> list[str]:
        """Checks what a function for batches needs. Returns what ``explain`` says of it."""
        if self.worker_init_fn is not None and isinstance(self._data, own_samples.MadeInPython):
            warn_once_outside(
                "gpufeed: worker_init_fn is not called: workers are threads of this process, and the data set's random numbers are those of "
                "the process"
            )
        function = self._collation.own
        if function is None:
            return []
        name = _name(function)
        if self._groups is not None or self.device != "cpu" or self._made_with().get("views", 1) != 1:
            raise ArgumentError(f"collate_fn: {name} is code of its own, which gets samples with one image each, on the CPU")
        if self._hand.finishes[IMAGE].channels_last:
            raise ArgumentError(f"channels_last: collate_fn={name}, which is code of its own, makes the batches and their memory format; leave it out")
        warn_once_outside(
            f"gpufeed: collate_fn: {name} is code of its own: it runs in the loop's thread with the samples of each batch, and copies them once more; "
            "only default_collate, alone or followed by MixUp or CutMix, needs no Python"
        )
        return [f"collate_fn: {name} runs in Python, in the loop's thread, with the finished samples of each batch"]

    def _runs(self, is_gpu: bool) -> explained.Runs:
        return replace(super()._runs(is_gpu), ready=isinstance(self._data, own_samples.MadeInPython))

    def _on_batch(self) -> list[str]:
        """Returns the names of what runs in Python on each batch."""
        return [*super()._on_batch(), *([] if self._collation.own is None else [_name(self._collation.own)])]

    def _draws(self) -> str:
        """Says where random numbers come from."""
        if self._counts:
            return super()._draws()
        of = "torch's generator" if self.generator is None else "generator="
        return f"gpufeed's own, by a number that each iteration draws from {of}; not torch's for the same seed"

    def _start(self, end: int | None, convert: Callable[[Run], Callable[[], Any]] | None) -> Iterating:
        self._check_views()
        collation = recognised(self.collate_fn)
        if not collation.is_as(self._collation):
            self._mix_as(collation)
        drawn = self._drawn()
        if self._resume is None and not self._is_set and not self._counts:
            self._next_epoch = drawn
        self._is_set = False
        if self.device == "cpu":
            # An iteration under way goes on for as long as somebody holds it.
            self._running = None
        return super()._start(end, convert)

    def _check_views(self) -> None:
        """Checks that the data set makes the views that it made when the loader was made."""
        if self._views is None:
            return
        transform = torch_datasets.transform_of(self._given)
        if not self._views.holds_for(transform):
            raise ArgumentError(f"data: its {type(transform).__name__} makes other views than when this loader was made; make another loader for it")
        if len(self._given) != self._length:
            raise ArgumentError(f"data: the data set had {self._length} samples and has {len(self._given)} now; make another loader for it")

    def _mix_as(self, collation: Collation) -> None:
        """Mixes batches from now on as an object does that has changed: training scripts switch mixing off for the last epochs."""
        before = self._collation
        if collation.mixes is None or before.mixes is None or collation.form is not before.form:
            raise ArgumentError(
                f"collate_fn: {_name(self.collate_fn)} does something else than when this loader was made; make another loader for it"
            )
        self._collation = collation
        operator, classes = collation.operator
        if classes is not None:
            self._of_python["num_classes"] = classes
        self._recipe = json.dumps(json.loads(self._recipe) | {"batch_transform": operator})
        if self._buffers is not None:
            self._buffers.close()
            self._buffers = None
        self._native = self._build(*self._early_shard())

    def _drawn(self) -> int:
        """Returns the epoch of an iteration that begins. Draws as many numbers as torch's loader does."""
        if self._counts:
            return self._next_epoch
        number = int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item())
        if self._of_torch.draws:
            torch.empty((), dtype=torch.int64).random_()
        distributed = self._of_torch.distributed
        if distributed is None:
            return number
        # All ranks have this epoch. Repeats of one, whose set_epoch nobody calls, are epochs of their own.
        epoch, times = self._repeated
        self._repeated = (epoch, times + 1) if epoch == distributed.epoch else (distributed.epoch, 1)
        return int(distributed.epoch) + FIRST_DRAWN * (self._repeated[1] - 1)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, in the place of the number that is drawn for it."""
        super().set_epoch(epoch)
        self._is_set = True

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on at a position of :meth:`state_dict`; after the last batch of an epoch, the next one is drawn."""
        super().load_state_dict(state)
        if not self._counts and self._resume is not None and self._loader().place(self._resume)[1] == 0:
            self._resume = None

    def skip_first_batches(self, batches: int) -> None:
        """Begins the next epoch, or the one under way, after its first ``batches`` batches, without reading them."""
        if self._running is None and self._resume is None and not self._is_set:
            self._next_epoch = self._drawn()
        super().skip_first_batches(batches)

    def _tensors(self, run: Run) -> Callable[[], Any]:
        run = Timed(run, self.timeout) if self.timeout > 0 else run
        own = self._collation.own
        source = super()._tensors(run) if own is None else Called(run, self._hand, own)
        if self._views is not None:
            source = InViews(source, self._views)
        pins = self.pin_memory and self.device == "cpu" and torch.cuda.is_available()
        return LikeTorch(source, self._collation.form if own is None else None, pins, own is None and self._collation.needs_pairs)

    def __class_getitem__(cls, _: Any) -> Any:
        # Annotations such as DataLoader[Tensor], which torch's class takes.
        return cls

    @property
    def dataset(self) -> Any:
        """The data set as it was given."""
        return super().dataset if self._data is self._given else self._given

    @property
    def sampler(self) -> Any:
        """The sampler that torch's loader would have; its order is gpufeed's own if it is torch's random one."""
        return self._of_torch.sampler

    @property
    def batch_sampler(self) -> Any:
        """The batch sampler that torch's loader would have."""
        return self._of_torch.batch_sampler

    def __repr__(self) -> str:
        return f"gpufeed.torch_compat.DataLoader({self._native_data!r}, batch_size={self.batch_size})"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__)).replace("<locals>.", "")[-60:]
