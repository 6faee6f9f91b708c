"""Batches that stay in the GPU's memory: CUDA or HIP imports what the shaders have written, and no byte of it crosses the bus.

``gpu_driver.py`` has the driver's calls. A buffer of the loader is imported once. A batch in it is waited for on the stream of
whoever takes it, and given back on the stream that was current when its last tensor was freed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_void_p
from dataclasses import dataclass, field
from typing import Any

from gpufeed.errors import Error, RunError
from gpufeed.gpu_driver import Driver, DriverError, Memory, close_handle
from gpufeed.iterator import Run

UNUSED_BATCHES = 64
"""Batches after which an import is freed that none of them has used. Rings that shrink leave such imports behind."""


@dataclass
class _Imported:
    """A buffer of the loader."""

    memory: Memory
    #: The semaphores that say that a batch is ready and that it is free; None where the host waits.
    semaphores: tuple[c_void_p, c_void_p] | None
    #: The number of the last batch in it.
    last: int = 0
    #: Batches in it whose tensors live: 0 or 1.
    alive: int = 0
    #: The point at which the last batch was ready on the stream that waited for it.
    ready: c_void_p | None = None
    #: The end of the work that has read the last batch.
    read: c_void_p | None = None


@dataclass
class _Use:
    """A batch in an imported buffer: the hook of its array."""

    importer: Importer
    imported: _Imported
    value: int | None
    #: The streams on which the batch is ready.
    streams: list[int] = field(default_factory=list)

    def stream(self, stream: int | None) -> None:
        """Has the batch ready on a stream, by the number that DLPack gives it: None and 1 are the default stream, and -1 none.

        Raises:
            BufferError: The driver refuses, or the stream is 2, which is another one on each thread, so that nobody could wait for
                its work when the tensor is freed on another thread.
        """
        if stream == -1:
            return
        if stream == 2:
            raise BufferError("stream=2: the default stream of each thread; pass a stream of your own")
        try:
            self._have_ready(0 if stream in (None, 1) else stream)
        except DriverError as error:
            raise BufferError(f"stream={stream}: {error}") from None

    def _have_ready(self, stream: int) -> None:
        with self.importer.lock:
            if stream in self.streams:
                return
            driver, imported = self.importer.driver, self.imported
            if imported.ready is not None:
                # For another stream of the same batch: a binary semaphore is waited for once. For the first one: its wait may not
                # overtake that for the batch before, which would then wait for the wrong signal.
                driver.wait_for_event(imported.ready, stream)
            if not self.streams:
                if imported.semaphores is not None:
                    driver.wait(imported.semaphores[0], self.value, stream)
                self._replace("ready", stream)
            self.streams.append(stream)

    def _replace(self, name: str, stream: int) -> None:
        """Puts an event after the stream's work so far in the place of the last batch's."""
        before, event = getattr(self.imported, name), self.importer.driver.event(stream)
        setattr(self.imported, name, event)
        if before is not None:
            self.importer.driver.free_event(before)

    def drop(self) -> bool:
        """Gives the batch back once all its readers so far have ended. Returns True if that is sure to happen."""
        importer = self.importer
        try:
            current = importer.current_stream()
            self._have_ready(current)
            with importer.lock:
                self._join(current)
                if self.imported.semaphores is not None:
                    importer.driver.signal(self.imported.semaphores[1], self.value, current)
                    # After the signal, as the semaphore may be freed only once it has been signalled.
                    with suppress(DriverError):
                        self._replace("read", current)
                else:
                    self._replace("read", current)
                    assert self.imported.read is not None
                    importer.driver.synchronize(self.imported.read)
        except DriverError as error:
            importer.lost(error)
            return False
        finally:
            importer.dropped(self)
        return True

    def _join(self, current: int) -> None:
        """Has the current stream wait for the others that read the batch."""
        driver = self.importer.driver
        for other in self.streams:
            if other != current:
                event = driver.event(other)
                try:
                    driver.wait_for_event(event, current)
                finally:
                    driver.free_event(event)


class Importer:
    """Imports the buffers of a loader, and hands its batches over.

    ``current_stream`` returns the number of the thread's current stream, and ``warn`` takes a sentence about a batch whose
    buffer is lost to the loader.
    """

    def __init__(self, driver: Driver, current_stream: Callable[[], int], warn: Callable[[str], None]) -> None:
        self.driver, self.current_stream = driver, current_stream
        self.lock = threading.RLock()
        self._warn: Callable[[str], None] | None = warn
        self._imported: dict[int, _Imported] = {}
        self._batches = 0
        self._closed = False
        self._process = os.getpid()

    def try_out(self, trial: tuple[Any, Any], uuid: str | None) -> None:
        """Makes each call once with a small buffer of the adapter with this UUID.

        Raises:
            DriverError: Such as that the device is another card.
        """
        (_, allocation, capacity, value), (memory, semaphores) = trial
        handles = [memory, *(semaphores or ())]
        try:
            theirs = self.driver.uuid()
            if theirs is not None and theirs != uuid:
                raise DriverError(f"the adapter has the UUID {uuid}, and device {self.driver.index} of CUDA {theirs}")
            imported = self._import(allocation, capacity, value is not None, handles)
        finally:
            _close_rest(handles)
        stream = self.current_stream()
        try:
            if imported.semaphores is not None:
                # The semaphore that this side signals.
                for call in (self.driver.signal, self.driver.wait):
                    call(imported.semaphores[1], None if value is None else 1, stream)
            event = self.driver.event(stream)
            try:
                self.driver.wait_for_event(event, stream)
                self.driver.synchronize(event)
            finally:
                self.driver.free_event(event)
        finally:
            self._free(imported)

    def hand_over(self, batch: Any) -> None:
        """Hands a batch of the native module over, whose arrays are then in the device's memory. Does nothing if it is there. After an
        exception that came before, the batch is as it was: what looks at its images reads them back.

        Raises:
            DriverError: A call of the driver, or of the adapter's, has failed.
        """
        self.check()
        if batch._handed_over:
            return
        uses: list[_Use] = []
        try:
            stream = self.current_stream()
            for group, (number, allocation, capacity, value) in enumerate(batch._external()):
                with self.lock:
                    imported = self._imported.get(number)
                    if imported is None:
                        memory, semaphores = batch._handles(group)
                        handles = [memory, *(semaphores or ())]
                        try:
                            imported = self._import(allocation, capacity, value is not None, handles)
                        finally:
                            _close_rest(handles)
                        self._imported[number] = imported
                    imported.last, imported.alive = self._batches, imported.alive + 1
                use = _Use(self, imported, value)
                uses.append(use)
                use._have_ready(stream)
            addresses = [use.imported.memory.address for use in uses]
            batch._hand_over(self.driver.dlpack_device, addresses, uses)
        except BaseException as error:
            if batch._handed_over:
                # An interrupt right behind the call: the arrays have the batch, and give it back.
                raise
            for use in uses:
                self.dropped(use)
            batch._keep()
            if isinstance(error, Error):
                raise DriverError(str(error)) from None
            raise
        self._batches += 1
        self._free_unused()

    def _import(self, allocation: int, capacity: int, timeline: bool, handles: list[int]) -> _Imported:
        """Imports a buffer, and takes the handles out of the list as the driver takes them over."""
        memory = self.driver.import_memory(handles.pop(0), allocation, capacity)
        semaphores: list[c_void_p] = []
        try:
            while handles:
                semaphores.append(self.driver.import_semaphore(handles.pop(0), timeline))
        except DriverError:
            for semaphore in semaphores:
                self.driver.free_semaphore(semaphore)
            self.driver.free_memory(memory)
            raise
        return _Imported(memory, (semaphores[0], semaphores[1]) if semaphores else None)

    def _free(self, imported: _Imported) -> None:
        if imported.read is not None:
            with suppress(DriverError):
                self.driver.synchronize(imported.read)
        for event in (imported.ready, imported.read):
            if event is not None:
                self.driver.free_event(event)
        for semaphore in imported.semaphores or ():
            self.driver.free_semaphore(semaphore)
        self.driver.free_memory(imported.memory)

    def _free_unused(self) -> None:
        with self.lock:
            for number, imported in list(self._imported.items()):
                if imported.alive == 0 and (self._closed or imported.last + UNUSED_BATCHES < self._batches):
                    # Freeing may collect another tensor, whose end comes here, too.
                    if self._imported.pop(number, None) is not None:
                        self._free(imported)

    def dropped(self, use: _Use) -> None:
        """Notes that a batch's tensors are gone."""
        with self.lock:
            use.imported.alive -= 1
        if self._closed:
            self._free_unused()

    def lost(self, error: DriverError) -> None:
        """Says once that a batch was not given back."""
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(f"gpufeed: a batch was not given back, and its buffer is lost to the loader: {error}")

    def check(self) -> None:
        """Raises an error in a forked child."""
        if os.getpid() != self._process:
            raise RunError(
                f"this loader belongs to process {self._process}, and its device cannot be used after the fork to process "
                f'{os.getpid()}; make the loader after the fork, or start processes by "spawn"'
            )

    def close(self) -> None:
        """Frees the imports whose tensors are gone, and each other one with its tensors. Does nothing after a fork."""
        if os.getpid() == self._process:
            self._closed = True
            self._free_unused()

    def __del__(self) -> None:
        # A loader that was not closed. Each tensor holds this object.
        if not sys.is_finalizing():
            self.close()


class HandedOverRun:
    """A run whose batches are handed over. After a call of the driver that fails, batches are read back, and ``failed`` gets the
    reason once."""

    def __init__(self, run: Run, importer: Importer, failed: Callable[[str], None]) -> None:
        self._run, self._importer, self._failed = run, importer, failed
        self._works = True
        # The batch that was taken, but that an interrupt or a warning raised as an error kept from being returned.
        self._taken: Any = None

    def next(self) -> Any:
        """Returns the next batch, or None after the last one."""
        if self._taken is None:
            self._taken = self._run.next()
        if self._taken is not None and self._works:
            try:
                self._importer.hand_over(self._taken)
            except DriverError as error:
                self._works = False
                self._failed(str(error))
        batch, self._taken = self._taken, None
        return batch

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""
        return self._taken is not None or self._run.ready()

    def close(self) -> None:
        """Ends the run."""
        self._run.close()

    def __len__(self) -> int:
        return len(self._run) + (self._taken is not None)


def _close_rest(handles: list[int]) -> None:
    """Closes handles that the driver has not taken over."""
    while handles:
        close_handle(handles.pop())
