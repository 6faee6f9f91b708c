"""Copies batches to a device ahead of the consumer, and reuses no host buffer from which a copy still reads.

A copy from page-locked memory may still run when the call that began it has returned. Meanwhile torch protects only
blocks of its own allocator. So this module holds each host batch together with the event that ends its copy, and
returns the batch to the loader's ring once that event is done.

This module does not use torch: a device is any :class:`Device`, and the tests have one whose copies finish late and in
any order. ``gpufeed.torch`` has the real devices.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gpufeed.errors import RunError

Tensor = TypeVar("Tensor")
"""A tensor on the device."""

MOST_RUNNING = 2
"""The most copies that may be under way at once. All copies use one bus, one after the other. More copies would not be
faster, and would hold buffers that the loader's threads could fill."""


class Event(Protocol):
    """A point in the device's work."""

    def query(self) -> bool:
        """Returns True once the device has passed this point."""

    def synchronize(self) -> None:
        """Waits until the device has passed this point."""


class Device(Protocol[Tensor]):
    """A device that copies from host memory, possibly after ``copy`` has returned."""

    def copy(self, array: HostArray) -> Tensor:
        """Begins to copy an array. The device may read the array's memory until an event that is recorded after this is
        done."""

    def record(self) -> Event:
        """Returns an event that is done after all copies that were begun so far."""

    def wait(self, event: Event, tensors: Sequence[Tensor]) -> None:
        """Makes the consumer's work from now on wait for an event, and keeps the tensors' memory until that work is
        done."""

    def lock(self, address: int, nbytes: int) -> None:
        """Page-locks host memory."""

    def unlock(self, address: int) -> None:
        """Undoes ``lock``. Does nothing if ``lock`` has failed."""


class HostArray(Protocol):
    """The part of ``gpufeed.Array`` that this module uses. A tensor on the CPU may stand in its place: its ``data_ptr`` is a
    method, and its memory is none of the loader's."""

    @property
    def data_ptr(self) -> Any:
        """The address of the first element."""

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> Any:
        """The elements, without a copy."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device of the memory."""


class HostBatch(Protocol):
    """The part of ``gpufeed.Batch`` that this module uses. The buffer returns to the loader once the batch, its arrays and
    their tensors are gone."""

    @property
    def images(self) -> HostArray:
        """The images; of several groups, those of the first."""

    @property
    def labels(self) -> Any:
        """The labels."""

    @property
    def state(self) -> str:
        """The state of the run after this batch, as JSON."""


Parts = Callable[[Any], tuple[Sequence[HostArray], Callable[[Sequence[Any]], Any]]]
"""Divides a batch into the arrays that are copied, and a function that makes what the consumer gets of their tensors, in
their order. The function does not hold the batch. Arrays that stand later are copied earlier."""


def images_and_labels(batch: HostBatch) -> tuple[Sequence[HostArray], Callable[[Sequence[Any]], Any]]:
    """Divides a batch into images and labels."""
    if batch.labels is None:
        return [batch.images], lambda tensors: (tensors[0], None)
    return [batch.images, batch.labels], tuple


@dataclass
class _Running:
    """A copy that may be under way, with the batch from which it reads."""

    batch: HostBatch
    # None until the copy has begun. It stays None if an interrupt came before that.
    event: Event | None = None


class HostBuffers(Generic[Tensor]):
    """The host buffers of one loader for one device: it knows which are page-locked, and from which a copy may still
    read.

    ``events`` is ``Loader.buffer_events``: it returns the buffers that were made (True) and freed (False) since its
    last call, and only one object may call it. As it is a method of the loader, it also keeps the loader and its
    buffers alive.

    No buffer may be freed while it is locked: the device would go on reading the old pages, whoever gets their
    addresses. A loader frees the buffer that a run was filling as it stopped. Therefore only buffers that came with a
    batch are locked, and a run that stops leaves no locks (:meth:`CopyAhead.close`).
    """

    def __init__(
        self, device: Device[Tensor], events: Callable[[], Sequence[tuple[bool, int, int]]] | None = None
    ) -> None:
        self.device = device
        self._events = events
        self._process = os.getpid()
        self._existing: dict[int, int] = {}
        self._locked: set[int] = set()
        self._running: deque[_Running] = deque()

    def lock(self, address: int) -> None:
        """Page-locks the buffer at an address, if it is one of the loader's and is not locked yet."""
        for made, changed, nbytes in self._events() if self._events is not None else ():
            if made:
                self._existing[changed] = nbytes
            else:
                # Without this, a later buffer at the same address would count as locked, although its pages are others.
                self._existing.pop(changed, None)
                self._unlock(changed)
        if address in self._existing and address not in self._locked:
            self.device.lock(address, self._existing[address])
            self._locked.add(address)

    def copy(self, batch: HostBatch, arrays: Sequence[HostArray]) -> tuple[list[Tensor], Event]:
        """Begins to copy a batch's arrays, and holds the batch until the copy is done. Returns the tensors, and the event that
        ends the copy."""
        for array in arrays:
            if isinstance(array.data_ptr, int):
                self.lock(array.data_ptr)
        running = _Running(batch)
        # The batch is held before the copy begins. Whatever is raised after this, the buffer does not return early.
        self._running.append(running)
        try:
            # Copies the labels before the images. A device may copy them synchronously, and would otherwise wait for the
            # images, too.
            tensors = [self.device.copy(array) for array in reversed(arrays)]
        finally:
            running.event = self.device.record()
        return tensors[::-1], running.event

    def release_done(self) -> None:
        """Releases the batches whose copies are done, in whatever order these end."""
        self._running = deque(running for running in self._running if not self._event(running).query())

    def wait(self, most: int = 0) -> None:
        """Waits until at most ``most`` copies run, and releases the other batches. Does nothing after a fork."""
        if not self.is_here():
            return
        self.release_done()
        while len(self._running) > most:
            self._event(self._running[0]).synchronize()
            self._running.popleft()

    @property
    def running(self) -> int:
        """The number of batches that are held."""
        return len(self._running)

    def unlock(self) -> None:
        """Waits for the copies, and undoes the page-locks. Called before batches are handed out in host memory, because
        a copy that the user begins from there has to be synchronous. The next :meth:`copy` locks again. Does nothing
        after a fork."""
        if not self.is_here():
            return
        self.wait()
        for address in tuple(self._locked):
            self._unlock(address)

    def close(self) -> None:
        """Unlocks all buffers as :meth:`unlock` does, and releases the loader."""
        if not self.is_here():
            return
        self.unlock()
        self._existing.clear()
        self._events = None

    def is_here(self) -> bool:
        """False in a forked child: the copies and the locks belong to its parent, and the child cannot use the
        device."""
        return os.getpid() == self._process

    def check(self) -> None:
        """Raises an error in a forked child."""
        if not self.is_here():
            error = RunError(
                f"this loader belongs to process {self._process}, and its device cannot be used after the fork to "
                f"process {os.getpid()}; make the loader after the fork, or start processes by \"spawn\""
            )
            error.kind = "Fork"
            raise error

    def _event(self, running: _Running) -> Event:
        if running.event is None:
            running.event = self.device.record()
        return running.event

    def _unlock(self, address: int) -> None:
        if address in self._locked:
            self._locked.remove(address)
            self.device.unlock(address)

    def __del__(self) -> None:
        # First the copies end, then the locks are undone, and then this object drops the buffers. The garbage collector
        # keeps this order, too: it calls this method before it clears any object of a cycle.
        try:
            self.close()
        except Exception:
            # At the interpreter's end, the device's runtime may be gone before this object.
            if not sys.is_finalizing():
                raise


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
