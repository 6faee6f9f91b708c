"""Whether a loader's batches stay on the GPU that has made them: what was tried, what came of it, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from gpufeed import _gpufeed
from gpufeed.errors import ArgumentError, Error
from gpufeed.failures import warn_once_outside
from gpufeed.gpu_driver import Driver, DriverError
from gpufeed.handed_over import HandedOverRun, Importer
from gpufeed.iterator import Run

_COPIED = "copied through the host"
_REFUSED = "handover=False"


class DeviceHandover:
    """The hand-over of one loader's batches to its tensors' device.

    It is tried where shaders augment on the card of that device, at the first iteration: before that, the process may not have
    chosen its CUDA device, and importing memory makes the device's context.
    """

    def __init__(self) -> None:
        #: True once the CPU executor was taken in the place of a GPU that cannot hand its batches over.
        self.on_cpu = False
        self._importer: Importer | None = None
        self._wanted = False
        self._tried = False
        # The native loader's buffers are in memory that can be exported, which costs more than other memory.
        self._exports = False
        # Why batches are not handed over; None as long as they are, or as nothing was tried.
        self._reason: str | None = None
        # The reason for which the native loader is about to be built again.
        self._again: str | None = None

    @property
    def works(self) -> bool:
        """True while batches are handed over."""
        return self._importer is not None and self._reason is None

    def take_cpu(self) -> None:
        """Notes that the CPU executor is taken, as batches may not be handed over."""
        self.on_cpu, self._reason = True, _REFUSED

    def begin(self, is_card: bool, allowed: bool) -> None:
        """Forgets what was tried, for a loader that is about to be built. ``is_card`` is True if its shaders run on the card of
        the tensors' device, and ``allowed`` is the loader's ``handover=``."""
        self.close()
        again, self._again = self._again, None
        self._importer, self._wanted, self._tried = None, is_card, again is not None
        if is_card:
            self._reason = again if allowed else _REFUSED

    def built(self, make: Callable[[bool], _gpufeed.Loader]) -> _gpufeed.Loader:
        """Makes the native loader: with memory that can be exported, if it is wanted and to be had."""
        self._exports = False
        if self._wanted and self._reason is None:
            try:
                native = make(True)
                self._exports = True
                return native
            except ArgumentError as error:
                if not str(error).startswith("export: "):
                    raise
                self._reason = str(error).removeprefix("export: ")
        return make(False)

    def try_out(self, native: _gpufeed.Loader, device: str, automatic: bool, has_cache: bool) -> bool:
        """Imports a small buffer, once. Returns False if the loader is to be built again: with the CPU executor, if its backend is
        ``automatic`` and the GPU cannot hand its batches over, or without memory that can be exported, for which nobody has a
        use. A loader whose cache has been filled stays."""
        if not self._wanted:
            return True
        is_filled = self._tried and has_cache
        if not self._tried:
            if self._reason is None:
                try:
                    importer = _importer(device)
                    importer.try_out(native.trial(), native.uuid())
                    self._importer = importer
                except (DriverError, Error) as error:
                    self._reason = str(error)
            self.on_cpu = automatic and self._reason is not None
            # Not before: after an interrupt, the next iteration tries again.
            self._tried = True
            if self._reason is not None and not automatic:
                self._warn()
        if self._reason is None or is_filled or not (self._exports or self.on_cpu):
            return True
        self._again = self._reason
        return False

    def over(self, run: Run) -> Run:
        """Returns the run, whose batches are handed over if that works."""
        return HandedOverRun(run, self._importer, self.failed) if self._importer is not None and self.works else run

    def failed(self, reason: str) -> None:
        """Notes that a batch could not be handed over. It and all others are read back."""
        self._reason = reason
        self.close()
        self._warn()

    def _warn(self) -> None:
        if self._reason == _REFUSED:
            return
        warn_once_outside(f"gpufeed: batches are {_COPIED}, as they cannot be handed over: {self._reason}", RuntimeWarning)

    def said(self, device: str) -> str:
        """Says how batches reach the tensors' device."""
        if device == "cpu":
            return "none: the tensors are in host memory"
        if self._reason is not None:
            return f"{_COPIED}: {self._reason}"
        if not self._wanted:
            return f"{_COPIED}, ahead of the loop" if device.startswith("cuda") else _COPIED
        return "handed over on the GPU" if self._tried else "not tried yet: the first iteration does"

    def explain(self, is_gpu: bool, device: str, ordered: str = "") -> list[str]:
        """Returns the lines of ``explain()``. ``ordered`` says what orders the work of the two APIs."""
        if self.on_cpu:
            return [f"not by a GPU, which would have to copy each batch through the host: {self._reason}; the CPU executor augments"]
        if not is_gpu:
            return []
        if self._wanted and self._reason is None:
            return [f"{self.said(device)}: each batch stays in the GPU's memory, where {device} has it, ordered by {ordered}"]
        why = "" if self._reason is None else f": {self._reason}"
        return [f"each batch is read back from the GPU into host memory, one more copy by the bus{why}"]

    def close(self) -> None:
        """Frees what was imported, as soon as no tensor needs it."""
        if self._importer is not None:
            self._importer.close()


def _importer(device: str) -> Importer:
    """Makes the importer of a device of torch."""
    from gpufeed.torch import cuda_index, current_stream, driver_names

    index = cuda_index(device)
    return Importer(Driver(driver_names(), index), lambda: current_stream(index), _lost)


def _lost(text: str) -> None:
    """Warns of a batch that was not given back."""
    # No method: the importer would keep its loader, and both would wait for the garbage collector.
    warn_once_outside(text, RuntimeWarning)
