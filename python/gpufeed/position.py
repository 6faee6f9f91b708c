"""Keeps the next epoch and the position in it. Every loader of the package has this, wherever its batches are made."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from gpufeed import arguments, saved
from gpufeed.errors import ArgumentError, RunError
from gpufeed.failures import Watched
from gpufeed.handover import HandOver, Host
from gpufeed.iterator import Iterating, Run

Self = TypeVar("Self", bound="Positioned")


class Source(Protocol):
    """Makes runs. The native loader is one, and a fleet is one."""

    def __len__(self) -> int:
        """Returns the number of batches of an epoch."""

    def state(self, epoch: int, batch: int) -> str:
        """Returns a state as JSON. A loader that loads it continues with batch ``batch`` of epoch ``epoch``."""

    def place(self, state: str) -> tuple[int, int]:
        """Returns the epoch and the batch at which a state continues."""

    def resume(self, state: str, end: int) -> Run:
        """Starts a run from a state up to but excluding epoch ``end``."""


class Positioned:
    """A loader that can go on in the middle of an epoch. Subclasses make the batches."""

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
        self._hand = HandOver()
        self._buffers: Any = None

    def _loader(self) -> Source:
        """Returns the source of runs, with the shard that is known now."""
        raise NotImplementedError

    def _host_buffers(self) -> Any:
        """Returns the host buffers from which batches are copied to the device."""
        raise NotImplementedError

    def _before_run(self) -> None:
        """Checks what may have changed since the loader was made."""

    def _run_from(self, state: str, end: int) -> Run:
        """Starts a run from a state up to but excluding epoch ``end``."""
        return self._loader().resume(state, end)

    def _before_place(self, state: str) -> None:
        """Prepares the comparison of a loaded state with this loader."""

    @classmethod
    def _refuse_unknown(cls, given: Iterable[str]) -> None:
        """Raises an error for an unknown keyword, if there is better advice than in Python's own error."""

    def _made_with(self) -> dict[str, Any]:
        """Returns the settings that made the batches, for a state."""
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("this loader was closed; make another one")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # A pickle has the configuration and the position, but never threads or actors.
        kept = {name: value for name, value in self.__dict__.items() if name not in self._not_pickled}
        return kept | {"_resume": self._state(), "_next_epoch": self.epoch}

    def __len__(self) -> int:
        """Returns the number of batches of an epoch of this shard."""
        return len(self._loader())

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the batches of the next epoch, as ``(images, labels)``, or as dictionaries. Ends an iteration that is
        under way."""
        return self._start(None, self._tensors)

    def epochs(self, epochs: range) -> Iterator[Any]:
        """Iterates over the batches of several epochs in a row, as a ``for`` loop over the loader has them. The first batches of
        the next epoch are prepared while the last ones of an epoch are consumed. After :meth:`load_state_dict`, the first epoch
        goes on in its middle."""
        if not isinstance(epochs, range) or epochs.step != 1:
            raise ArgumentError(f"epochs: {epochs!r}; a range with step 1 works")
        if self._resume is None or epochs.start != self._next_epoch:
            self.set_epoch(epochs.start)
        return self._start(epochs.stop, self._tensors)

    def batches(self) -> Iterator[Any]:
        """Iterates over the batches of the next epoch, with all their facts."""
        if self._buffers is not None:
            # A copy that the user begins from pageable memory is synchronous, and therefore safe.
            self._buffers.unlock()
        return self._start(None, None)

    def _tensors(self, run: Run) -> Callable[[], Any]:
        """Returns the source of an iteration over tensors."""
        if self.device == "cpu":
            return Host(run, self._hand)
        from gpufeed.torch import OnDevice

        if self._buffers is None:
            # This is made only now, because a process may choose its CUDA device after it has made the loader.
            self._buffers = self._host_buffers()
        return OnDevice(run, self._buffers, self._hand, run.ready)

    def _start(self, end: int | None, convert: Callable[[Run], Callable[[], Any]] | None) -> Iterating:
        _refuse_torch_worker()
        loader = self._loader()
        self._before_run()
        if self._running is not None:
            if not self._running.begun and self._resume is None:
                # No batch of the earlier iteration was taken, so this iteration takes its place: Lightning makes two
                # for an epoch.
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
        self._running = Iterating(Watched(self._run_from(state, end)), state, convert)
        self._next_epoch = max(end, self._next_epoch)
        return self._running

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration, or of the one under way."""
        return json.loads(self._state())["epoch"] if self._resume is None else self._next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. If that is the epoch of a loaded state, it goes on where the state
        was."""
        epoch = arguments.whole("epoch", epoch)
        if self._resume is not None and epoch == self._next_epoch:
            return
        if self._running is not None:
            if not self._running.begun and json.loads(self._running.state)["epoch"] == epoch:
                # Lightning makes the iterator first, and then sets the same epoch.
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
        """Returns the position after the last batch that was handed out, for a checkpoint. Also has the settings of the
        loader, so that a reader sees how its batches were made."""
        return {"gpufeed": json.loads(self._state()), "settings": dict(self._made_with())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on at a position of :meth:`state_dict`: the next iteration has the batches after it. Refuses a state of
        another seed, order, data set length, batch size or world that does not fit, and names it. Also refuses numbers
        that no run has, such as a position beyond the end of the epoch."""
        text = saved.text(state)
        turn = saved.turn(json.loads(text))
        if turn is not None and not self._takes_turns:
            raise ArgumentError(
                f"state: saved by a fleet of {turn['actors']} actors after {turn['taken']} batches of a round; a loader of one "
                "process goes on where a whole round ends"
            )
        self._before_place(text)
        epoch, batch = self._loader().place(text)
        if self._running is not None:
            self._running.close()
            self._running = None
        if batch == len(self._loader()):
            epoch, text = epoch + 1, self._loader().state(epoch + 1, 0)
        self._next_epoch, self._resume = epoch, text

    def skip_first_batches(self, batches: int) -> None:
        """Begins the next epoch, or the one under way, after its first ``batches`` batches, without reading them.
        ``accelerate.skip_first_batches`` does the same for torch's loaders."""
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
        """Always raises an error. Code that looks for this attribute, such as ``accelerate.skip_first_batches``, would
        make one of torch's loaders."""
        raise AttributeError(
            "a gpufeed loader has no batch_sampler of which one of torch's loaders could be made; "
            "loader.skip_first_batches(n) does what accelerate.skip_first_batches(loader, n) does, and load_state_dict goes on "
            "at a saved position"
        )

    @property
    def sampler(self) -> Sampler:
        """An object for training loops that call ``loader.sampler.set_epoch(epoch)``."""
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
        """Returns the most samples that an epoch of this shard has."""
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
