"""The loader: ``gpufeed.DataLoader``."""

from __future__ import annotations

import json
import numbers
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from gpufeed import _gpufeed, arguments, opening, samples, turns
from gpufeed.errors import ArgumentError
from gpufeed.failures import on_error_of
from gpufeed.position import Positioned
from gpufeed.settings import cut_normalize, native, num_classes_of, recipe_of
from gpufeed.shard import resolve


class DataLoader(Positioned):
    """Augmented batches of a data set, decoded and transformed on threads, as torch tensors.

    ``data`` is a path in any of gpufeed's formats, a data set of :func:`gpufeed.open`, or an object with ``__len__`` and
    ``__getitem__`` (or ``__getitems__``) that returns ``(image, label)``: bytes of an image file, an array or a PIL image;
    a class number, a vector or None. Of its attributes, ``classes`` has the classes' names, in the order of their numbers or as a
    dictionary of each name's number, and ``channels`` (3) those of its images: 1 promises gray ones, which then stay in one channel. ``transforms`` takes torchvision's transforms; ``recipe`` the name of a built-in
    recipe, a TOML file, or a dictionary of its content instead.

    All other arguments are those of gpufeed's ``DataLoaderBuilder`` by their own names, and may be left out:

    - ``batch_size`` (1), ``shuffle`` (False), ``seed`` (0), ``drop_last`` (False) or ``last_batch`` (``"partial"``,
      ``"drop"``, ``"pad"``), ``views`` (1), ``batch_transforms`` (torchvision's ``MixUp``, ``CutMix``, or a
      ``RandomChoice`` of them), ``num_classes`` (for their soft labels; by default those that the data set names)
    - ``device`` (``"cpu"``): the device of the tensors; ``"cuda"`` copies ahead on a stream of its own.
      ``normalize_on_device`` leaves the last ``Normalize`` to that device.
    - ``dtype`` (the recipe's): float32, float16 or uint8; ``channels_last`` (False)
    - ``backend`` (``"cpu"``): what augments: ``"cpu"``, ``"gpu"``, ``"auto"``, or an adapter's name
    - ``shard`` (``"auto"``): ``torch.distributed`` if it is initialised, else the variables of torchrun, Open MPI, MPICH or
      Slurm's ``srun``; or ``(rank, world)``, or None for all samples
    - ``order`` (``"full"``, and none for data from afar): ``("blocks", samples, window)`` permutes blocks of so many
      neighbours and shuffles within ``window`` of them; ``lanes`` (as many as there are ranks), which the ranks divide
    - for data from afar: ``read_ahead`` (256 MiB), ``remote_cache`` (``("/var/cache/gpufeed", "200G")``)
    - for many tar shards or Parquet files: ``counts``, a JSON, or its address, with the samples that each file has, as
      OpenCLIP's ``sizes.json``, WebDataset's ``wids`` index and ``gpufeed-pack.json``. A file is then opened when one of
      its samples comes.
    - for a path, the keywords of :func:`gpufeed.open`, which chooses labels and files by them: ``split``, ``label_column``,
      ``allow_unlabelled``, ``class_names``, ``extensions``, ``allow_empty`` and more
    - ``on_error`` (``"fail"`` without ``shuffle`` and for a recipe whose name ends in ``-eval``, else ``"skip"``): what a
      sample does that cannot be used. ``"fail"`` ends the epoch with its error; with ``"skip"`` another sample stands in for
      it, up to a tenth of them or the share that is given, and one warning an epoch names the first
    - ``thread_safe``, for an object in Python: one call at a time is inside it, as reads may share a file or other state, unless
      this is True. Lists, torch's ``TensorDataset``, torchvision's data sets that read without sharing, such as
      ``ImageFolder``, ``CIFAR10`` and ``MNIST``, and torch's ``Subset`` and ``ConcatDataset`` of them are known to be safe. An
      attribute ``thread_safe`` of the object says the same.
    - ``exit_timeout`` (5): seconds that closing an iteration, and the interpreter's exit, wait for threads inside such an object.
      Where a read of an iteration that was closed has the object's turn and does not return, a later one ends with an error after
      as long, and at least 5 seconds.
    - ``workers``, ``queue_depth``, ``slot_bytes``, ``memory_budget``, ``cache`` (``"host:16G"``, ``"device:8G"``),
      ``cache_in_bytes``, ``seek_indexes``, ``seek_memory``, ``exif``, ``truncated``, ``max_pixels``, ``max_decode_bytes``, ``scaled_decode``, ``semantics``, ``execute``

    Iterating gives ``(images, labels)`` of one epoch: a second iteration ends the first and takes the next epoch, or the
    one of :meth:`set_epoch`. :meth:`epochs` and :meth:`batches` give more.
    """

    def __init__(
        self,
        data: Any,
        transforms: Any = None,
        *,
        recipe: Any = None,
        batch_transforms: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        device: Any = "cpu",
        dtype: Any = None,
        channels_last: bool = False,
        normalize_on_device: bool = False,
        shard: Any = "auto",
        num_classes: int | None = None,
        counts: Any = None,
        thread_safe: bool | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._data = data
        self._shard = shard
        self._counts = counts
        self._keywords = opening.taken_from(settings)
        self._thread_safe = None if thread_safe is None else arguments.flag("thread_safe", thread_safe)
        self.batch_size = arguments.whole("batch_size", batch_size, 1)
        self.drop_last = arguments.flag("drop_last", drop_last)
        self.device = str(device)
        self._channels_last = arguments.flag("channels_last", channels_last)
        content, self.notes, classes = recipe_of(transforms, recipe, batch_transforms)
        if transforms is not None and "semantics" in settings:
            raise ArgumentError(
                "semantics: the list of transforms says it: what stands before ToDtype(scale=True) works on 8-bit numbers; "
                "leave it out, or give a recipe"
            )
        whole = json.dumps(content)
        if arguments.flag("normalize_on_device", normalize_on_device):
            self._normalize = cut_normalize(content, dtype, "normalize_on_device")
            dtype = "uint8"
        if "on_error" not in settings:
            settings["on_error"] = on_error_of(arguments.flag("shuffle", shuffle), content.get("name", ""))
        self._settings = native(settings)
        self._settings |= {"recipe": json.dumps(content), "batch_size": self.batch_size, "page_aligned": True}
        self._settings["shuffle"] = arguments.flag("shuffle", shuffle)
        if dtype is not None:
            self._settings["dtype"] = arguments.dtype(dtype)
        if self._channels_last:
            self._settings["layout"] = "nhwc"
        if self.drop_last:
            if self._settings.setdefault("last_batch", "drop") != "drop":
                raise ArgumentError("drop_last: True, but last_batch says otherwise; give one of the two")
        self._native_data = self._open()
        self._length = len(self._native_data)
        for text in self._native_data.warnings:
            warnings.warn(text, UserWarning, stacklevel=2)
        if self._normalize is not None:
            # The loader itself sees the list without its last Normalize.
            _gpufeed.recipe_check(whole, self._native_data.channels)
        mixes = bool(content.get("batch_transform"))
        if (found := num_classes_of(mixes, num_classes, classes, self._native_data)) is not None:
            self._settings["num_classes"] = found
        check_device(self.device)
        self._settled: tuple[int, int] | None = None
        self._shard_source = ""
        self._native = self._build(*self._early_shard())

    def _open(self) -> _gpufeed.Dataset:
        """The data set, of a path or as it is."""
        return _open(self._data, self._settings.get("remote_cache"), self._counts, self._keywords, self._thread_safe)

    def _early_shard(self) -> tuple[tuple[int, int], str]:
        """The shard before a launcher's library may have been initialised: errors wait for the first iteration."""
        if self._shard == "auto":
            try:
                return resolve("auto")
            except ArgumentError:
                return (0, 1), "not known yet"
        return resolve(self._shard)

    def _build(self, shard: tuple[int, int], source: str) -> _gpufeed.Loader:
        self._settled, self._shard_source = shard, source
        return _gpufeed.Loader(self._native_data, self._settings | {"shard": shard})

    def _loader(self) -> _gpufeed.Loader:
        """The native loader, of the shard that is known now."""
        self._check_open()
        shard, source = resolve(self._shard)
        if shard != self._settled:
            if self._buffers is not None:
                self._buffers.close()
                self._buffers = None
            self._native = self._build(shard, source)
        return self._native

    def batches(self) -> Iterator[_gpufeed.Batch]:
        """The batches of the next epoch with all that is known of them: ``images`` and ``labels`` for
        ``torch.from_dlpack`` and its like, ``ids``, ``failures``, ``params``, ``mixed``, ``valid``, ``epoch``, ``index``."""
        return super().batches()

    def _host_buffers(self) -> Any:
        from gpufeed.torch import host_buffers

        return host_buffers(self.device, self._native)

    def _before_run(self) -> None:
        if self._data is not self._native_data and not arguments.is_path(self._data) and hasattr(self._data, "__len__"):
            length = len(self._data)
            if length != self._length:
                raise ArgumentError(
                    f"data: the data set had {self._length} samples and has {length} now; make another loader for it"
                )

    @property
    def dataset(self) -> Any:
        """The data set, as it was given; that of a path as :func:`gpufeed.open` returns it."""
        return self._native_data if arguments.is_path(self._data) else self._data

    @property
    def recipe(self) -> str:
        """The recipe that was understood, as TOML."""
        return self._loader().recipe()

    def explain(self) -> str:
        """The plan, the executor, the batches, the memory and the shard, in words."""
        loader = self._loader()
        (rank, world), source = resolve(self._shard)
        # The library's own line knows no `torch.distributed`.
        lines = [line for line in loader.explain().splitlines() if not line.startswith("shard: ")]
        lines.append(f"shard: rank {rank} of {world} by {source}")
        if self._settings.get("backend", "cpu") != "cpu":
            lines.append("handed over: each batch is read back from the GPU into host memory, one more copy by the bus")
        lines.append(f"device: {self.device}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def stats(self) -> dict[str, Any]:
        """Statistics since the loader was made: counts, times in seconds, ``bottleneck`` in a sentence."""
        return self._loader().stats()

    def replay(self, index: int, params: str) -> bytes:
        """Makes one image again from its parameters (``batch.params``): its bytes, in the batches' layout and type."""
        return self._loader().replay(arguments.whole("index", index), params)

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"gpufeed.DataLoader({self._native_data!r}, batch_size={self.batch_size})"

    def __getstate__(self) -> dict[str, Any]:
        # Configuration and position, never threads. A data set of gpufeed.open pickles how it was made.
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        return kept | {"_resume": self._state(), "_next_epoch": self.epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._running = self._buffers = None
        self.__dict__.setdefault("_thread_safe", None)
        self._native_data = self._open()
        check_device(self.device)
        self._native = self._build(*self._early_shard())


_NOT_PICKLED = ("_running", "_buffers", "_native", "_native_data")


def wrap(data: Any, item: Any, channels: int, classes: list[str], thread_safe: bool | None = None) -> _gpufeed.Dataset:
    """The data set of an object in Python, also of its pickle."""
    return _gpufeed.Dataset.wrap(data, item, channels, classes, turns.parts(data, thread_safe), thread_safe)


def _open(
    data: Any,
    remote_cache: tuple[str, int] | None,
    counts: Any,
    keywords: dict[str, Any],
    thread_safe: bool | None = None,
) -> _gpufeed.Dataset:
    if thread_safe is not None and (arguments.is_path(data) or isinstance(data, _gpufeed.Dataset)):
        raise ArgumentError("thread_safe: it belongs to a data set in Python; gpufeed's own are always read by all workers")
    if arguments.is_path(data):
        return opening.open_path(data, remote_cache, counts, keywords)
    if counts is not None:
        raise ArgumentError("counts: it belongs to the path of tar shards or Parquet files; gpufeed.open takes it, too")
    for name in keywords:
        raise ArgumentError(f"{name}: it belongs to a path, and data is {arguments.given(data)}; gpufeed.open takes it, too")
    if isinstance(data, _gpufeed.Dataset):
        return data
    if isinstance(data, (bytearray, memoryview)):
        raise ArgumentError(f"data: {arguments.given(data)}; a path as text, as bytes and as a Path works")
    if not hasattr(data, "__len__") or not (hasattr(data, "__getitem__") or hasattr(data, "__getitems__")):
        raise ArgumentError(
            f"data: {arguments.given(data)}; a path, a data set of gpufeed.open, and an object with __len__ and "
            "__getitem__ work"
        )
    return wrap(data, samples.item, _channels(data), _classes(data), thread_safe)


def _channels(data: Any) -> int:
    """The attribute ``channels`` of an object: those of its images."""
    channels = getattr(data, "channels", 3)
    if isinstance(channels, bool) or not isinstance(channels, numbers.Integral) or channels not in (1, 3):
        raise ArgumentError(
            f"data: the attribute channels of this {type(data).__name__} is {channels!r}; 1, which promises gray images, and 3 "
            "work, and 3 is the default"
        )
    return int(channels)


def _classes(data: Any) -> list[str]:
    """The attribute ``classes`` of an object: the classes' names, in the order of their numbers."""
    classes = getattr(data, "classes", None)
    if classes is None:
        return []
    what = f"data: the attribute classes of this {type(data).__name__}"
    if isinstance(classes, Mapping):
        return _classes_by_name(classes, what)
    if isinstance(classes, (set, frozenset)):
        raise ArgumentError(f"{what} is a {type(classes).__name__}, which has no order; a list of the classes' names works")
    if isinstance(classes, (str, bytes)) or not hasattr(classes, "__iter__"):
        raise ArgumentError(f"{what} is {classes!r}; a list of the classes' names works")
    return [str(name) for name in classes]


def _classes_by_name(classes: Mapping[Any, Any], what: str) -> list[str]:
    """The names of a dictionary such as torchvision's ``class_to_idx``: of each name its number."""
    plain = all(isinstance(name, str) for name in classes) and all(
        isinstance(number, numbers.Integral) and not isinstance(number, bool) for number in classes.values()
    )
    if not plain or sorted(classes.values()) != list(range(len(classes))):
        raise ArgumentError(
            f"{what} is a {type(classes).__name__}, and not one of each name and its number, from 0 to {len(classes) - 1} "
            "once each; a list of the classes' names works, too"
        )
    return sorted(classes, key=lambda name: classes[name])


def check_device(device: str) -> None:
    """An error that says what to write, unless torch has the device."""
    # Without torch, a loader on the CPU is still good for batches().
    if device != "cpu":
        from gpufeed.torch import resolve_device

        resolve_device(device)
