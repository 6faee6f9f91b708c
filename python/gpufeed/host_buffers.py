"""The host buffers from which copies to a device read: which are page-locked, and which a copy may still read.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gpufeed.errors import RunError

Tensor = TypeVar("Tensor")
"""A tensor on the device."""


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
