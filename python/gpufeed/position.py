"""The next epoch and the position in it, which every loader of the package has, wherever its batches are made."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gpufeed import arguments, saved
from gpufeed.errors import ArgumentError, RunError
from gpufeed.failures import Watched
from gpufeed.handover import Host
from gpufeed.iterator import Iterating, Run

if TYPE_CHECKING:
    import torch


Self = TypeVar("Self", bound="Positioned")


class Source(Protocol):
    """Makes runs: the native loader, or a fleet."""

    def __len__(self) -> int:
        """Batches of an epoch."""

    def state(self, epoch: int, batch: int) -> str:
        """The state, as JSON, at which a batch of an epoch is due."""

    def place(self, state: str) -> tuple[int, int]:
        """The epoch and the batch at which a state continues."""

    def resume(self, state: str, end: int) -> Run:
        """The batches from a state up to but excluding epoch ``end``."""


class Positioned:
    """A loader with epochs that can go on in the middle of one. Subclasses make the batches."""

    batch_size: int
    device: str
    _takes_turns = False
    _not_pickled: tuple[str, ...] = ()

    def __new__(cls: type[Self], *_: Any, **given: Any) -> Self:
        """Refuses a keyword that does not exist, with advice. Unpickling calls this method, too."""
        cls._refuse_unknown(given)
        _register_with_torch()
        return super().__new__(cls)

    def __init__(self) -> None:
        self._closed = False
        self._running: Iterating | None = None
        self._next_epoch = 0
        self._resume: str | None = None
        self._channels_last = False
        self._normalize: tuple[list[float], list[float], str] | None = None
        self._buffers: Any = None

    def _loader(self) -> Source:
        """The source of the shard that is known now."""
        raise NotImplementedError

    def _host_buffers(self) -> Any:
        """The host buffers that are copied to the device."""
        raise NotImplementedError

    def _before_run(self) -> None:
        """Checks what may have changed since the loader was made."""

    @classmethod
    def _refuse_unknown(cls, given: Iterable[str]) -> None:
        """Raises an error for an unknown keyword if it has better advice than Python's own error."""

    def _made_with(self) -> dict[str, Any]:
        """The settings of the batches, for a state."""
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("this loader was closed; make another one")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds configuration and position, never threads or actors.
        kept = {name: value for name, value in self.__dict__.items() if name not in self._not_pickled}
        return kept | {"_resume": self._state(), "_next_epoch": self.epoch}

    def __len__(self) -> int:
        """Batches of an epoch of this shard."""
        return len(self._loader())

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of the next epoch, as ``(images, labels)``. Ends an iteration that is under way."""
        return self._start(None, self._tensors)

    def epochs(self, epochs: range) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of several epochs in a row, as ``(images, labels)``: the next epoch's first batches are prepared
        while the last ones of an epoch are consumed. After :meth:`load_state_dict` the
        first epoch goes on in its middle."""
        if not isinstance(epochs, range) or epochs.step != 1:
            raise ArgumentError(f"epochs: {epochs!r}; a range with step 1 works")
        if self._resume is None or epochs.start != self._next_epoch:
            self.set_epoch(epochs.start)
        return self._start(epochs.stop, self._tensors)

    def batches(self) -> Iterator[Any]:
        """The batches of the next epoch with all that is known of them."""
        if self._buffers is not None:
            # From pageable memory, copies that the user begins are synchronous, and so they are safe.
            self._buffers.unlock()
        return self._start(None, None)

    def _tensors(self, run: Run) -> Callable[[], Any]:
        """The source of an iteration over tensors."""
        if self.device == "cpu":
            return Host(run, self._channels_last, self._normalize)
        from gpufeed.torch import OnDevice

        if self._buffers is None:
            # Made only now: a process may choose its CUDA device after it has made the loader.
            self._buffers = self._host_buffers()
        return OnDevice(run, self._buffers, self._channels_last, self._normalize, run.ready)

    def _start(self, end: int | None, convert: Callable[[Run], Callable[[], Any]] | None) -> Iterating:
        _refuse_torch_worker()
        loader = self._loader()
        self._before_run()
        if self._running is not None:
            if not self._running.begun and self._resume is None:
                # No batch of the earlier iteration was taken: this one takes its place, as Lightning makes two for an epoch.
                self._resume = self._running.state
                self._next_epoch = json.loads(self._resume)["epoch"]
            self._running.close()
        if self._resume is not None:
            state, self._resume = self._resume, None
        else:
            state = loader.state(self._next_epoch, 0)
        end = self._next_epoch + 1 if end is None else end
        if end >= 1 << 64:
            raise ArgumentError(f"epoch: {end - 1}; up to {(1 << 64) - 2} works")
        self._running = Iterating(Watched(loader.resume(state, end)), state, convert)
        self._next_epoch = max(end, self._next_epoch)
        return self._running

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
        """The position after the last batch that was handed out, for a checkpoint, and the settings of the loader, which show a
        reader how its batches were made."""
        return {"gpufeed": json.loads(self._state()), "settings": dict(self._made_with())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on at a position of :meth:`state_dict`: the next iteration has the batches that were still due. A state of
        another seed, order, data set length, batch size or world that does not fit is refused by name; so are numbers that no
        run has, such as a position beyond the end of the epoch."""
        text = saved.text(state)
        turn = saved.turn(json.loads(text))
        if turn is not None and not self._takes_turns:
            raise ArgumentError(
                f"state: saved by a fleet of {turn['actors']} actors after {turn['taken']} batches of a round; a loader of one "
                "process goes on where a whole round ends"
            )
        epoch, batch = self._loader().place(text)
        if self._running is not None:
            self._running.close()
            self._running = None
        if batch == len(self._loader()):
            epoch, text = epoch + 1, self._loader().state(epoch + 1, 0)
        self._next_epoch, self._resume = epoch, text

    def skip_first_batches(self, batches: int) -> None:
        """Begins the epoch that comes next, or the one under way, after its first ``batches``; none of them is read. Does
        what ``accelerate.skip_first_batches`` does for torch's loaders."""
        batches, loader = arguments.whole("batches", batches), self._loader()
        if batches > len(loader):
            raise ArgumentError(f"batches: {batches}, but an epoch has {len(loader)}")
        epoch = self.epoch
        if self._running is not None:
            self._running.close()
            self._running = None
        if batches == len(loader):
            epoch, batches = epoch + 1, 0
        self._next_epoch, self._resume = epoch, loader.state(epoch, batches)

    @property
    def batch_sampler(self) -> Any:
        """Always an error: code that looks for it, such as ``accelerate.skip_first_batches``, would make one of torch's loaders."""
        raise AttributeError(
            "a gpufeed loader has no batch_sampler of which one of torch's loaders could be made; "
            "loader.skip_first_batches(n) does what accelerate.skip_first_batches(loader, n) does, and load_state_dict goes on "
            "at a saved position"
        )

    @property
    def sampler(self) -> Sampler:
        """For training loops that call ``loader.sampler.set_epoch(epoch)``."""
        return Sampler(self)

    def close(self) -> None:
        """Ends the iteration under way and its threads. Tensors stay valid."""
        self._closed = True
        if self._running is not None:
            self._running.close()
        if self._buffers is not None:
            self._buffers.close()


class Sampler:
    """The ``sampler`` of a loader, for training loops that set the epoch there."""

    def __init__(self, loader: Positioned) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, as :meth:`DataLoader.set_epoch` does."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """The most samples that an epoch of this shard has."""
        return len(self._loader) * self._loader.batch_size


def _register_with_torch() -> None:
    """Registers :class:`Positioned` as one of torch's iterable data sets, so that ``StatefulDataLoader(loader, batch_size=None)``
    takes it. torch's class cannot be a base here, because torch need not be installed."""
    data = sys.modules.get("torch.utils.data")
    if data is not None:
        data.IterableDataset.register(Positioned)


def _refuse_torch_worker() -> None:
    workers = sys.modules.get("torch.utils.data")
    if workers is not None and workers.get_worker_info() is not None:
        raise RunError(
            "this is a worker process of torch.utils.data.DataLoader: use num_workers=0 there, as gpufeed has threads of its "
            "own"
        )
