"""Batches copied to a device ahead of the consumer, without a host buffer being reused under a running copy.

A copy from page-locked memory goes on after the call that began it returns. torch protects only blocks of its own
allocator meanwhile, so this module holds each host batch together with the event that ends its copy, and returns it to
the loader's ring once that event is done.

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
"""Copies that may be under way at once. They use one bus, one after the other: more of them would not be faster, and
hold buffers that the loader's threads could fill."""


class Event(Protocol):
    """A point in the device's work."""

    def query(self) -> bool:
        """True once the device has passed it."""

    def synchronize(self) -> None:
        """Waits until the device has passed this point."""


class Device(Protocol[Tensor]):
    """A device that copies from host memory, possibly after ``copy`` has returned."""

    def copy(self, array: HostArray) -> Tensor:
        """Begins to copy an array. The array's memory is read until an event that is recorded afterwards is done."""

    def record(self) -> Event:
        """An event after all copies begun so far."""

    def wait(self, event: Event, tensors: Sequence[Tensor]) -> None:
        """Lets the consumer's work from now on wait for an event, and keeps the tensors' memory until it is done."""

    def lock(self, address: int, nbytes: int) -> None:
        """Page-locks host memory."""

    def unlock(self, address: int) -> None:
        """Undoes ``lock``; does nothing where that has failed."""


class HostArray(Protocol):
    """The part of ``gpufeed.Array`` that this module uses."""

    @property
    def data_ptr(self) -> int:
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
        """The images."""

    @property
    def labels(self) -> HostArray | None:
        """The labels."""

    @property
    def state(self) -> str:
        """The state of the run after this batch."""


@dataclass
class _Running:
    """A copy that may be under way, and the batch that it reads."""

    batch: HostBatch
    # None until the copy has begun, and if an interrupt came before that.
    event: Event | None = None


class HostBuffers(Generic[Tensor]):
    """The host buffers of one loader for one device: which are page-locked, and which a copy may still read.

    ``events`` is ``Loader.buffer_events``: it returns the buffers made (True) and freed (False) since its last call, and
    only one object may call it. As a method of the loader it also keeps the loader and its buffers alive.

    No buffer may be freed while it is locked: the device would go on reading the old pages, whoever gets the addresses.
    A loader frees the buffer that a run was filling as it stopped. Therefore only a buffer that came with a batch is
    locked, and a run that stops leaves no locks (:meth:`CopyAhead.close`).
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
                # Without this, a later buffer at the same address would count as locked, although it has other pages.
                self._existing.pop(changed, None)
                self._unlock(changed)
        if address in self._existing and address not in self._locked:
            self.device.lock(address, self._existing[address])
            self._locked.add(address)

    def copy(self, batch: HostBatch) -> tuple[Tensor, Tensor | None, Event]:
        """Begins to copy a batch and holds it until that is done: images, labels, and the event that ends the copy."""
        self.lock(batch.images.data_ptr)
        running = _Running(batch)
        # Before the copy begins: whatever is raised from here on, the buffer does not return early.
        self._running.append(running)
        try:
            # The labels first. A device may copy them synchronously, and would wait for the images too.
            labels = None if batch.labels is None else self.device.copy(batch.labels)
            images = self.device.copy(batch.images)
        finally:
            running.event = self.device.record()
        return images, labels, running.event

    def release_done(self) -> None:
        """Releases the batches whose copies are done, in any order."""
        self._running = deque(running for running in self._running if not self._event(running).query())

    def wait(self, most: int = 0) -> None:
        """Waits until at most ``most`` copies run, and lets the other batches go. Does nothing after a fork."""
        if not self.is_here():
            return
        self.release_done()
        while len(self._running) > most:
            self._event(self._running[0]).synchronize()
            self._running.popleft()

    @property
    def running(self) -> int:
        """The batches that are held."""
        return len(self._running)

    def unlock(self) -> None:
        """Waits for the copies and undoes the page-locks: before batches are handed out in host memory, where a copy
        that the user begins has to be a synchronous one. The next :meth:`copy` locks again. Does nothing after a
        fork."""
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
        """False in a forked child: the copies and locks are its parent's, and the device cannot be used there."""
        return os.getpid() == self._process

    def check(self) -> None:
        """An error in a forked child."""
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
        # First the copies end, then the locks, and then, with this object's references, the buffers. The garbage
        # collector keeps this order too: it calls this before it clears any object of a cycle.
        try:
            self.close()
        except Exception:
            # At the interpreter's end the device's runtime may be gone before this object.
            if not sys.is_finalizing():
                raise


@dataclass
class _Ahead(Generic[Tensor]):
    """A batch on its way to the device."""

    images: Tensor
    labels: Tensor | None
    event: Event
    state: str


class CopyAhead(Generic[Tensor], Iterator[tuple[Tensor, Tensor | None, str]]):
    """The batches of ``source`` on a device: images, labels and the state after them.

    ``source`` returns the next batch, or None after the last one. While a batch is with the consumer, up to ``depth``
    more are copied. ``ready``, if given, is True if ``source`` would not wait: then a batch that is on the device never
    waits for those behind it. An exception of the source is raised where its batch would have been.
    """

    def __init__(
        self,
        source: Callable[[], HostBatch | None],
        buffers: HostBuffers[Tensor],
        depth: int = 2,
        ready: Callable[[], bool] | None = None,
    ) -> None:
        self._source = source
        self._buffers = buffers
        self._depth = depth
        self._ready = ready
        self._ahead: deque[_Ahead[Tensor]] = deque()
        # The batch that was taken from the source and whose copy has not begun.
        self._taken: HostBatch | None = None
        # The error of the source, which is raised once the batches before it are handed out.
        self._failed: Exception | None = None
        self._ended = False
        # False once an exception was raised: the run may have stopped within a batch.
        self._whole = True
        self._closed = False
        self.last_state: str | None = None
        """The state after the last batch that was handed out, never of one that is copied ahead."""

    def __next__(self) -> tuple[Tensor, Tensor | None, str]:
        if self._closed:
            raise RunError("this run has ended: the loader was closed, or another iteration began")
        self._buffers.check()
        self._fill()
        if not self._ahead:
            self._raise_failed()
            # The consumer may not call again, so all buffers have to return now.
            self._buffers.wait()
            raise StopIteration
        # The batch leaves the queue last, so that an interrupt loses none.
        first = self._ahead[0]
        tensors = [first.images] if first.labels is None else [first.images, first.labels]
        self._buffers.device.wait(first.event, tensors)
        self._ahead.popleft()
        self.last_state = first.state
        return first.images, first.labels, first.state

    def close(self) -> None:
        """Waits for the copies and drops what is ahead. To be called before the run is ended and another one begins."""
        self._closed = True
        self._taken = self._failed = None
        try:
            if self._ended and self._whole:
                self._buffers.wait()
            else:
                # The next run frees buffers that this one was filling. Nobody here knows which.
                self._buffers.unlock()
                # A second call of close must not undo the locks of a newer run.
                self._ended = self._whole = True
        finally:
            self._ahead.clear()

    def _fill(self) -> None:
        """Begins copies until ``depth`` batches are ahead of the one that is due."""
        self._buffers.release_done()
        while len(self._ahead) <= self._depth and not self._ended and self._failed is None:
            try:
                if not self._take():
                    return
                # Only a batch whose copy has begun is removed from the queue. After a failure, of memory on the device or by
                # an interrupt, the next call copies the batch again.
                self._copy()
            except Exception as error:
                self._failed, self._whole = error, False
            except BaseException:
                # Such errors are raised at once. After Ctrl-C the run goes on; after an exception of the data set it has ended.
                self._whole = False
                raise

    def _take(self) -> bool:
        """Takes a batch from the source; False if there is none, or none yet and another one is due first."""
        if self._taken is None:
            # Returns buffers first: the source may wait for these very buffers, and meanwhile nobody looks at events.
            self._buffers.wait(MOST_RUNNING - 1)
            if self._ahead and self._ready is not None and not self._ready():
                return False
            self._taken = self._source()
            self._ended = self._taken is None
        return not self._ended

    def _copy(self) -> None:
        assert self._taken is not None
        state = self._taken.state
        self._ahead.append(_Ahead(*self._buffers.copy(self._taken), state))
        self._taken = None

    def _raise_failed(self) -> None:
        failed, self._failed = self._failed, None
        try:
            if failed is not None:
                raise failed
        finally:
            # The exception's traceback has this frame: without a cycle, what it holds goes with it.
            del failed
