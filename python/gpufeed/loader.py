"""The loader: ``gpufeed.DataLoader``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gpufeed import _gpufeed, arguments, samples
from gpufeed.errors import ArgumentError, RunError
from gpufeed.handover import Host
from gpufeed.iterator import Iterating
from gpufeed.settings import cut_normalize, native, recipe_of
from gpufeed.shard import resolve

if TYPE_CHECKING:
    import torch


class DataLoader:
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
    - ``shard`` (``"auto"``): ``torch.distributed`` if it is initialised, else ``RANK`` and ``WORLD_SIZE``; or
      ``(rank, world)``, or None for all samples
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
        **settings: Any,
    ) -> None:
        self._data = data
        self._shard = shard
        self.batch_size = arguments.whole("batch_size", batch_size, 1)
        self.drop_last = arguments.flag("drop_last", drop_last)
        self.device = str(device)
        self._channels_last = arguments.flag("channels_last", channels_last)
        self._closed = False
        self._running: Iterating | None = None
        self._next_epoch = 0
        self._resume: str | None = None
        content, self.notes, classes = recipe_of(transforms, recipe, batch_transforms)
        self._normalize: tuple[list[float], list[float], str] | None = None
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
        self._native_data = _open(data)
        self._length = len(self._native_data)
        if content.get("batch_transform"):
            known = num_classes or classes or len(self._native_data.classes)
            if not known:
                raise ArgumentError(
                    "num_classes: soft labels need it, as the data set names no classes; num_classes=1000 works"
                )
            self._settings["num_classes"] = arguments.whole("num_classes", known, 1)
        _check_device(self.device)
        self._buffers: Any = None
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
        if self._closed:
            raise RunError("this loader was closed; make another one")
        shard, source = resolve(self._shard)
        if shard != self._settled:
            if self._buffers is not None:
                self._buffers.close()
                self._buffers = None
            self._native = self._build(shard, source)
        return self._native

    def __len__(self) -> int:
        """Batches of an epoch of this shard."""
        return len(self._loader())

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of the next epoch, as ``(images, labels)``. Ends an iteration that is under way."""
        return self._start(None, self._tensors)

    def epochs(self, epochs: range) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of several epochs in a row, as ``(images, labels)``: the next epoch's first batches are prepared
        while the last ones of an epoch are consumed. After :meth:`load_state_dict` goes on in mid-epoch."""
        if not isinstance(epochs, range) or epochs.step != 1:
            raise ArgumentError(f"epochs: {epochs!r}; a range with step 1 works")
        if self._resume is None or epochs.start != self._next_epoch:
            self.set_epoch(epochs.start)
        return self._start(epochs.stop, self._tensors)

    def batches(self) -> Iterator[_gpufeed.Batch]:
        """The batches of the next epoch with all that is known of them: ``images`` and ``labels`` for
        ``torch.from_dlpack`` and its like, ``ids``, ``failures``, ``params``, ``mixed``, ``valid``, ``epoch``, ``index``."""
        if self._buffers is not None:
            # A copy that the user begins is synchronous from pageable memory alone, and safe therefore.
            self._buffers.unlock()
        return self._start(None, None)

    def _tensors(self, run: _gpufeed.Run) -> Callable[[], Any]:
        """The source of an iteration over tensors."""
        if self.device == "cpu":
            return Host(run, self._channels_last, self._normalize)
        from gpufeed.torch import OnDevice, host_buffers

        if self._buffers is None:
            # Not before: a process of several may choose its CUDA device after it has made the loader.
            self._buffers = host_buffers(self.device, self._native)
        return OnDevice(run, self._buffers, self._channels_last, self._normalize, run.ready)

    def _start(self, end: int | None, convert: Callable[[_gpufeed.Run], Callable[[], Any]] | None) -> Iterating:
        _refuse_torch_worker()
        loader = self._loader()
        self._check_length()
        if self._running is not None:
            if not self._running.begun and self._resume is None:
                # Nothing was taken of it: this iteration stands in its place, as Lightning makes two for an epoch.
                self._resume = self._running.state
                self._next_epoch = json.loads(self._resume)["epoch"]
            self._running.close()
        if self._resume is not None:
            state, self._resume = self._resume, None
        else:
            state = loader.state(self._next_epoch, 0)
        end = self._next_epoch + 1 if end is None else end
        self._running = Iterating(loader.resume(state, end), state, convert)
        self._next_epoch = max(end, self._next_epoch)
        return self._running

    def _check_length(self) -> None:
        if self._data is not self._native_data and hasattr(self._data, "__len__") and not isinstance(self._data, str):
            length = len(self._data)
            if length != self._length:
                raise ArgumentError(
                    f"data: the data set had {self._length} samples and has {length} now; make another loader for it"
                )

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration, or of the one under way."""
        return json.loads(self._state())["epoch"] if self._resume is None else self._next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. The epoch of a loaded state goes on where it was."""
        epoch = arguments.whole("epoch", epoch)
        if self._resume is not None and epoch == self._next_epoch:
            return
        if self._running is not None:
            if not self._running.begun and json.loads(self._running.state)["epoch"] == epoch:
                # Lightning makes the iterator first, and then says which epoch it is.
                return
            if len(self._running) == 0 or not self._running.begun:
                self._running.close()
                self._running = None
        self._next_epoch, self._resume = epoch, None

    def _state(self) -> str:
        if self._resume is not None:
            return self._resume
        if self._running is not None:
            return self._running.state
        return self._loader().state(self._next_epoch, 0)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed out, for a checkpoint."""
        return {"gpufeed": json.loads(self._state())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on at a position of :meth:`state_dict`: the next iteration has the batches that were still due. A state of
        another seed, order, data set length, batch size or world that does not fit is refused by name."""
        if not isinstance(state, dict) or not isinstance(state.get("gpufeed"), dict):
            raise ArgumentError("state: not a state of gpufeed.DataLoader.state_dict()")
        text = json.dumps(state["gpufeed"])
        epoch, batch = self._loader().place(text)
        if self._running is not None:
            self._running.close()
            self._running = None
        if batch == len(self._loader()):
            epoch, text = epoch + 1, self._loader().state(epoch + 1, 0)
        self._next_epoch, self._resume = epoch, text

    @property
    def dataset(self) -> Any:
        """The data set, as it was given; that of a path as :func:`gpufeed.open` returns it."""
        return self._native_data if isinstance(self._data, str) or hasattr(self._data, "__fspath__") else self._data

    @property
    def sampler(self) -> Sampler:
        """What training loops look for: ``loader.sampler.set_epoch(epoch)``."""
        return Sampler(self)

    @property
    def recipe(self) -> str:
        """The recipe that was understood, as TOML."""
        return self._loader().recipe()

    def explain(self) -> str:
        """The plan, the executor, the batches, the memory and the shard, in words."""
        loader = self._loader()
        (rank, world), source = resolve(self._shard)
        lines = [loader.explain().rstrip(), f"shard: rank {rank} of {world} by {source}"]
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

    def close(self) -> None:
        """Ends the iteration under way and its threads. Tensors stay valid."""
        self._closed = True
        if self._running is not None:
            self._running.close()
        if self._buffers is not None:
            self._buffers.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"gpufeed.DataLoader({self._native_data!r}, batch_size={self.batch_size})"

    def __getstate__(self) -> dict[str, Any]:
        # Configuration and position, never threads.
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        if isinstance(self._data, _gpufeed.Dataset):
            kept["_data"] = self._data.description
        return kept | {"_resume": self._state(), "_next_epoch": self.epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._running = self._buffers = None
        self._native_data = _open(self._data)
        _check_device(self.device)
        self._native = self._build(*self._early_shard())


_NOT_PICKLED = ("_running", "_buffers", "_native", "_native_data")


class Sampler:
    """What training loops look for as ``loader.sampler``."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """As :meth:`DataLoader.set_epoch`."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Samples of an epoch of this shard, at most."""
        return len(self._loader) * self._loader.batch_size


def _open(data: Any) -> _gpufeed.Dataset:
    if isinstance(data, _gpufeed.Dataset):
        return data
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        return _gpufeed.Dataset.open(arguments.path("data", data))
    if not hasattr(data, "__len__") or not (hasattr(data, "__getitem__") or hasattr(data, "__getitems__")):
        raise ArgumentError(
            f"data: {data!r} is a {type(data).__name__}; a path, a data set of gpufeed.open, and an object with __len__ and "
            "__getitem__ work"
        )
    channels = int(getattr(data, "channels", 3))
    classes = [str(name) for name in getattr(data, "classes", None) or []]
    return _gpufeed.Dataset.wrap(data, samples.item, channels, classes)


def _check_device(device: str) -> None:
    # Without torch, a loader on the CPU is still good for batches().
    if device != "cpu":
        from gpufeed.torch import resolve_device

        resolve_device(device)


def _refuse_torch_worker() -> None:
    workers = sys.modules.get("torch.utils.data")
    if workers is not None and workers.get_worker_info() is not None:
        raise RunError(
            "this is a worker process of torch.utils.data.DataLoader: use num_workers=0 there, as gpufeed has threads of its "
            "own"
        )
