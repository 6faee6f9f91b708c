"""Copies batches to a device ahead of the consumer. ``host_buffers.py`` keeps the memory from which a copy reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from gpufeed.errors import RunError
from gpufeed.host_buffers import Event, HostArray, HostBatch, HostBuffers, Tensor

MOST_RUNNING = 2
"""The most copies that may be under way at once. All copies use one bus, one after the other. More copies would not be
faster, and would hold buffers that the loader's threads could fill."""

Parts = Callable[[Any], tuple[Sequence[HostArray], Callable[[Sequence[Any]], Any]]]
"""Divides a batch into the arrays that are copied, and a function that makes what the consumer gets of their tensors, in
their order. The function does not hold the batch. Arrays that stand later are copied earlier."""


def images_and_labels(batch: HostBatch) -> tuple[Sequence[HostArray], Callable[[Sequence[Any]], Any]]:
    """Divides a batch into images and labels."""
    if batch.labels is None:
        return [batch.images], lambda tensors: (tensors[0], None)
    return [batch.images, batch.labels], tuple


@dataclass
class _Ahead(Generic[Tensor]):
    """A batch that is on its way to the device."""

    tensors: list[Tensor]
    event: Event
    assemble: Callable[[Sequence[Tensor]], Any]
    state: str


@dataclass
class _Taken:
    """A batch of the source, and its parts."""

    batch: HostBatch
    # None until the batch is divided. It stays None if an interrupt came before that.
    parts: tuple[Sequence[HostArray], Callable[[Sequence[Any]], Any]] | None = None


class CopyAhead(Generic[Tensor], Iterator[tuple[Any, str]]):
    """Hands out the batches of ``source`` on a device, each with the state after it.

    ``source`` returns the next batch, or None after the last one. ``parts`` divides it into arrays; without it, a batch is
    ``(images, labels)``. While the consumer has a batch, up to ``depth`` more
    are copied. ``ready``, if given, returns True if ``source`` would not wait: then a batch that is on the device never
    waits for the batches after it. An exception of the source is raised where its batch would have been.
    """

    def __init__(
        self,
        source: Callable[[], HostBatch | None],
        buffers: HostBuffers[Tensor],
        depth: int = 2,
        ready: Callable[[], bool] | None = None,
        parts: Parts = images_and_labels,
    ) -> None:
        self._source, self._parts = source, parts
        self._buffers = buffers
        self._depth = depth
        self._ready = ready
        self._ahead: deque[_Ahead[Tensor]] = deque()
        # The batch that was taken from the source, but whose copy has not begun, and its parts.
        self._taken: _Taken | None = None
        # The error of the source. It is raised once the batches before it are handed out.
        self._failed: Exception | None = None
        self._ended = False
        # False once an exception was raised: the run may have stopped in the middle of a batch.
        self._whole = True
        self._closed = False
        self.last_state: str | None = None
        """The state after the last batch that was handed out, even if later batches are copied already."""

    def __next__(self) -> tuple[Any, str]:
        if self._closed:
            raise RunError("this run has ended: the loader was closed, or another iteration began")
        self._buffers.check()
        self._fill()
        if not self._ahead:
            self._raise_failed()
            # The consumer may not call again, so all buffers are returned now.
            self._buffers.wait()
            raise StopIteration
        # Removes the batch from the queue last, so that an interrupt loses none.
        first = self._ahead[0]
        self._buffers.device.wait(first.event, first.tensors)
        self._ahead.popleft()
        self.last_state = first.state
        return first.assemble(first.tensors), first.state

    def close(self) -> None:
        """Waits for the copies, and drops the batches that were not handed out. Call it before the run is ended and
        another one begins."""
        self._closed = True
        self._taken = self._failed = None
        try:
            if self._ended and self._whole:
                self._buffers.wait()
            else:
                # The next run frees buffers that this run was filling, and nothing here says which. So all are
                # unlocked.
                self._buffers.unlock()
                # A second call of close must not undo the locks of a newer run.
                self._ended = self._whole = True
        finally:
            self._ahead.clear()

    def _fill(self) -> None:
        """Begins copies until ``depth`` batches are ahead of the batch that is handed out next."""
        self._buffers.release_done()
        while len(self._ahead) <= self._depth and not self._ended and self._failed is None:
            try:
                if not self._take():
                    return
                # A batch leaves the queue only when its copy has begun. After a failure, of the device's memory or by
                # an interrupt, the next call copies the batch again.
                self._copy()
            except Exception as error:
                self._failed, self._whole = error, False
            except BaseException:
                # Such errors are raised at once. After Ctrl-C the run goes on, and after an exception of the data set
                # it has ended.
                self._whole = False
                raise

    def _take(self) -> bool:
        """Takes a batch from the source. Returns False if there is none, or if the source would wait while another
        batch is on the device."""
        if self._taken is None:
            # First returns buffers: the source may wait for these buffers, and meanwhile nothing looks at events.
            self._buffers.wait(MOST_RUNNING - 1)
            if self._ahead and self._ready is not None and not self._ready():
                return False
            batch = self._source()
            self._ended = batch is None
            if batch is not None:
                self._taken = _Taken(batch)
        return not self._ended

    def _copy(self) -> None:
        assert self._taken is not None
        taken = self._taken
        if taken.parts is None:
            try:
                taken.parts = self._parts(taken.batch)
            except Exception:
                # Labels that cannot be collated are an error, and their batch is dropped. An interrupt drops none.
                self._taken = None
                raise
        arrays, assemble = taken.parts
        tensors, event = self._buffers.copy(taken.batch, arrays)
        self._ahead.append(_Ahead(tensors, event, assemble, taken.batch.state))
        self._taken = None

    def _raise_failed(self) -> None:
        failed, self._failed = self._failed, None
        try:
            if failed is not None:
                raise failed
        finally:
            # The traceback of the exception has this frame. Without this cycle, the traceback's objects are freed with
            # the exception.
            del failed
