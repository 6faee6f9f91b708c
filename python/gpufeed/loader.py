"""The loader: ``gpufeed.DataLoader``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gpufeed import _gpufeed, arguments, samples
from gpufeed.errors import ArgumentError
from gpufeed.position import Positioned
from gpufeed.settings import cut_normalize, native, recipe_of
from gpufeed.shard import resolve


class DataLoader(Positioned):
    """Augmented batches of a data set, decoded and transformed on threads, as torch tensors.

    ``data`` is a path in any of gpufeed's formats, a data set of :func:`gpufeed.open`, or an object with ``__len__`` and
    ``__getitem__`` (or ``__getitems__``) that returns ``(image, label)``: bytes of an image file, an array or a PIL image;
    a class number, a vector or None. ``transforms`` takes torchvision's transforms; ``recipe`` the name of a built-in
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
    - ``workers``, ``queue_depth``, ``slot_bytes``, ``memory_budget``, ``cache`` (``"host:16G"``, ``"device:8G"``),
      ``cache_in_bytes``, ``seek_indexes``, ``seek_memory``, ``on_error`` (``"skip"``, ``"fail"``, a share), ``exif``,
      ``truncated``, ``max_pixels``, ``max_decode_bytes``, ``scaled_decode``, ``semantics``, ``execute``

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
        **settings: Any,
    ) -> None:
        super().__init__()
        self._data = data
        self._shard = shard
        self._counts = counts
        self.batch_size = arguments.whole("batch_size", batch_size, 1)
        self.drop_last = arguments.flag("drop_last", drop_last)
        self.device = str(device)
        self._channels_last = arguments.flag("channels_last", channels_last)
        content, self.notes, classes = recipe_of(transforms, recipe, batch_transforms)
        if arguments.flag("normalize_on_device", normalize_on_device):
            self._normalize = (*cut_normalize(content), arguments.dtype(dtype or "float32"))
            dtype = "uint8"
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
        self._native_data = _open(data, self._settings.get("remote_cache"), counts)
        self._length = len(self._native_data)
        if content.get("batch_transform"):
            known = num_classes or classes or len(self._native_data.classes)
            if not known:
                raise ArgumentError(
                    "num_classes: soft labels need it, as the data set names no classes; num_classes=1000 works"
                )
            self._settings["num_classes"] = arguments.whole("num_classes", known, 1)
        check_device(self.device)
        self._settled: tuple[int, int] | None = None
        self._shard_source = ""
        self._native = self._build(*self._early_shard())

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
        if self._data is not self._native_data and hasattr(self._data, "__len__") and not isinstance(self._data, str):
            length = len(self._data)
            if length != self._length:
                raise ArgumentError(
                    f"data: the data set had {self._length} samples and has {length} now; make another loader for it"
                )

    @property
    def dataset(self) -> Any:
        """The data set, as it was given; that of a path as :func:`gpufeed.open` returns it."""
        return self._native_data if isinstance(self._data, str) or hasattr(self._data, "__fspath__") else self._data

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
        self._native_data = _open(self._data, self._settings.get("remote_cache"), self._counts)
        check_device(self.device)
        self._native = self._build(*self._early_shard())


_NOT_PICKLED = ("_running", "_buffers", "_native", "_native_data")


def open_path(data: Any, remote_cache: tuple[str, int] | None, counts: Any) -> _gpufeed.Dataset:
    """The data set at a path or an address."""
    counts = counts if counts is None else arguments.path("counts", counts)
    return _gpufeed.Dataset.open(arguments.path("data", data), remote_cache, counts)


def reopen(path: str, remote_cache: tuple[str, int] | None, counts: str | None, test: bool) -> _gpufeed.Dataset:
    """The data set of a pickle: that of a path, or its test split."""
    data = _gpufeed.Dataset.open(path, remote_cache, counts)
    if not test:
        return data
    if data.test is None:
        raise ArgumentError(f"data: {data.description} had a test split when it was pickled, and has none here")
    return data.test


def wrap(data: Any, item: Any, channels: int, classes: list[str]) -> _gpufeed.Dataset:
    """The data set of a pickle: that of an object in Python."""
    return _gpufeed.Dataset.wrap(data, item, channels, classes)


def _open(data: Any, remote_cache: tuple[str, int] | None, counts: Any) -> _gpufeed.Dataset:
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        return open_path(data, remote_cache, counts)
    if counts is not None:
        raise ArgumentError("counts: it belongs to the path of tar shards or Parquet files; gpufeed.open takes it, too")
    if isinstance(data, _gpufeed.Dataset):
        return data
    if not hasattr(data, "__len__") or not (hasattr(data, "__getitem__") or hasattr(data, "__getitems__")):
        raise ArgumentError(
            f"data: {arguments.given(data)}; a path, a data set of gpufeed.open, and an object with __len__ and "
            "__getitem__ work"
        )
    channels = int(getattr(data, "channels", 3))
    classes = [str(name) for name in getattr(data, "classes", None) or []]
    return _gpufeed.Dataset.wrap(data, samples.item, channels, classes)


def check_device(device: str) -> None:
    """An error that says what to write, unless torch has the device."""
    # Without torch, a loader on the CPU is still good for batches().
    if device != "cpu":
        from gpufeed.torch import resolve_device

        resolve_device(device)
