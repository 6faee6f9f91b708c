"""The calls of CUDA's driver API, and HIP's, by which memory of another API is imported. Nothing is built against either: the
library is the one that torch has loaded.

Structs are written as words of 8 bytes, in the layout of ``cuda.h`` on 64-bit systems, which is HIP's, too.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD and _WIN32, and the same of binary semaphores.
_OPAQUE = 2 if sys.platform == "win32" else 1
# CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD and _WIN32.
_TIMELINE = 10 if sys.platform == "win32" else 9
# CUDA_EXTERNAL_MEMORY_DEDICATED.
_DEDICATED = 1
# CU_EVENT_DISABLE_TIMING.
_NO_TIMING = 2


class DriverError(Exception):
    """A call that failed, with what the driver says."""


@dataclass(frozen=True)
class Names:
    """The names of an API's library and calls."""

    #: The file of the library.
    library: str
    #: DLPack's number of the API's devices.
    device_type: int
    #: True if calls work in the thread's current context, False if on its current device.
    contexts: bool
    import_memory: str
    map: str
    unmap: str
    destroy_memory: str
    import_semaphore: str
    destroy_semaphore: str
    wait: str
    signal: str
    create_event: str
    destroy_event: str
    record: str
    stream_wait: str
    synchronize: str
    error_name: str


CUDA = Names(
    library="nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1",
    device_type=2,
    contexts=True,
    import_memory="cuImportExternalMemory",
    map="cuExternalMemoryGetMappedBuffer",
    unmap="cuMemFree_v2",
    destroy_memory="cuDestroyExternalMemory",
    import_semaphore="cuImportExternalSemaphore",
    destroy_semaphore="cuDestroyExternalSemaphore",
    wait="cuWaitExternalSemaphoresAsync",
    signal="cuSignalExternalSemaphoresAsync",
    create_event="cuEventCreate",
    destroy_event="cuEventDestroy_v2",
    record="cuEventRecord",
    stream_wait="cuStreamWaitEvent",
    synchronize="cuEventSynchronize",
    error_name="cuGetErrorName",
)

# Has run on a stand-in alone: no machine with an AMD card has been at hand.
HIP = Names(
    library="amdhip64.dll" if sys.platform == "win32" else "libamdhip64.so",
    device_type=10,
    contexts=False,
    import_memory="hipImportExternalMemory",
    map="hipExternalMemoryGetMappedBuffer",
    unmap="hipFree",
    destroy_memory="hipDestroyExternalMemory",
    import_semaphore="hipImportExternalSemaphore",
    destroy_semaphore="hipDestroyExternalSemaphore",
    wait="hipWaitExternalSemaphoresAsync",
    signal="hipSignalExternalSemaphoresAsync",
    create_event="hipEventCreateWithFlags",
    destroy_event="hipEventDestroy",
    record="hipEventRecord",
    stream_wait="hipStreamWaitEvent",
    synchronize="hipEventSynchronize",
    error_name="hipDrvGetErrorName",
)


@dataclass(frozen=True)
class Memory:
    """Imported memory, and the address of its buffer on the device."""

    handle: ctypes.c_void_p
    address: int


class Driver:
    """The driver's calls on one device.

    ``index`` is torch's number of the device. A call that fails raises :class:`DriverError`.
    """

    def __init__(self, names: Names, index: int) -> None:
        self.names, self.index = names, index
        try:
            self._library = ctypes.CDLL(names.library)
        except OSError as error:
            raise DriverError(f"{names.library} cannot be loaded: {error}") from None
        self._context = ctypes.c_void_p()
        if names.contexts:
            device = ctypes.c_int()
            self._call("cuInit", ctypes.c_uint(0))
            self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
            # The context that torch uses, which is made now if torch has not made it yet.
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
            self._device = device

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """The type and the number of the device, as DLPack has them."""
        return self.names.device_type, self.index

    def uuid(self) -> str | None:
        """Returns the device's UUID as Vulkan writes it, or None for HIP, whose UUID is another one."""
        if not self.names.contexts:
            return None
        raw = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid_v2", ctypes.byref(raw), self._device)
        digits = bytes(raw).hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def import_memory(self, handle: int, allocation: int, capacity: int) -> Memory:
        """Imports memory of ``allocation`` bytes, and maps its first ``capacity`` bytes. Takes the handle over."""
        # The type, a union of 16 bytes, the size, the flags, reserved words.
        description = (ctypes.c_uint64 * 13)(_OPAQUE, handle, 0, allocation, _DEDICATED)
        memory, address = ctypes.c_void_p(), ctypes.c_uint64()
        with _closed_if_refused(handle), self._current():
            self._call(self.names.import_memory, ctypes.byref(memory), ctypes.byref(description))
        # The offset, the size, the flags, reserved words.
        part = (ctypes.c_uint64 * 11)(0, capacity)
        try:
            with self._current():
                self._call(self.names.map, ctypes.byref(address), memory, ctypes.byref(part))
        except DriverError:
            self._destroy(self.names.destroy_memory, memory)
            raise
        return Memory(memory, address.value)

    def free_memory(self, memory: Memory) -> None:
        """Undoes :meth:`import_memory`. Work that uses the memory has to have ended."""
        self._destroy(self.names.unmap, ctypes.c_uint64(memory.address))
        self._destroy(self.names.destroy_memory, memory.handle)

    def import_semaphore(self, handle: int, timeline: bool) -> ctypes.c_void_p:
        """Imports a semaphore. Takes the handle over."""
        # The type, a union of 16 bytes, the flags, reserved words.
        description = (ctypes.c_uint64 * 12)(_TIMELINE if timeline else _OPAQUE, handle)
        semaphore = ctypes.c_void_p()
        with _closed_if_refused(handle), self._current():
            self._call(self.names.import_semaphore, ctypes.byref(semaphore), ctypes.byref(description))
        return semaphore

    def free_semaphore(self, semaphore: ctypes.c_void_p) -> None:
        """Undoes :meth:`import_semaphore`."""
        self._destroy(self.names.destroy_semaphore, semaphore)

    def wait(self, semaphore: ctypes.c_void_p, value: int | None, stream: int) -> None:
        """Has the stream wait for a semaphore: for its value, if it is a timeline."""
        self._on_stream(self.names.wait, semaphore, value, stream)

    def signal(self, semaphore: ctypes.c_void_p, value: int | None, stream: int) -> None:
        """Has the stream signal a semaphore after its work so far."""
        self._on_stream(self.names.signal, semaphore, value, stream)

    def event(self, stream: int) -> ctypes.c_void_p:
        """Returns an event after the stream's work so far."""
        event = ctypes.c_void_p()
        with self._current():
            self._call(self.names.create_event, ctypes.byref(event), ctypes.c_uint(_NO_TIMING))
            try:
                self._call(self.names.record, event, ctypes.c_void_p(stream))
            except DriverError:
                self._destroy(self.names.destroy_event, event)
                raise
        return event

    def wait_for_event(self, event: ctypes.c_void_p, stream: int) -> None:
        """Has the stream wait for an event."""
        with self._current():
            self._call(self.names.stream_wait, ctypes.c_void_p(stream), event, ctypes.c_uint(0))

    def synchronize(self, event: ctypes.c_void_p) -> None:
        """Waits on the host for an event."""
        with self._current():
            self._call(self.names.synchronize, event)

    def free_event(self, event: ctypes.c_void_p) -> None:
        """Frees an event, at once or when it is reached."""
        self._destroy(self.names.destroy_event, event)

    def _on_stream(self, name: str, semaphore: ctypes.c_void_p, value: int | None, stream: int) -> None:
        # Parameters of waits and of signals both begin with the value.
        parameters = (ctypes.c_uint64 * 18)(0 if value is None else value)
        semaphores = (ctypes.c_void_p * 1)(semaphore)
        with self._current():
            self._call(name, semaphores, ctypes.byref(parameters), ctypes.c_uint(1), ctypes.c_void_p(stream))

    def _destroy(self, name: str, what: ctypes.c_void_p | ctypes.c_uint64) -> None:
        """Frees something; at worst it stays until the process ends."""
        try:
            with self._current():
                self._call(name, what)
        except DriverError:
            pass

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Makes the device the thread's own for some calls: tensors are freed on any thread."""
        if not self.names.contexts:
            before = ctypes.c_int()
            self._call("hipGetDevice", ctypes.byref(before))
            self._call("hipSetDevice", ctypes.c_int(self.index))
            try:
                yield
            finally:
                self._call("hipSetDevice", before)
            return
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise DriverError(f"{self.names.library} has no {name}") from None
        result = function(*arguments)
        if result != 0:
            raise DriverError(f"{name.removesuffix('_v2')} returns {self._error_name(result)}")

    def _error_name(self, result: int) -> str:
        text = ctypes.c_char_p()
        function = getattr(self._library, self.names.error_name, None)
        if function is None or function(ctypes.c_int(result), ctypes.byref(text)) != 0 or text.value is None:
            return str(result)
        return f"{text.value.decode(errors='replace')} ({result})"


@contextmanager
def _closed_if_refused(handle: int) -> Iterator[None]:
    """Closes a handle that an import has not taken over. Windows' imports take none over."""
    try:
        yield
    except DriverError:
        close_handle(handle)
        raise
    if sys.platform == "win32":
        close_handle(handle)


def close_handle(handle: int) -> None:
    """Closes a handle of the system that no import has taken over."""
    if sys.platform == "win32":
        ctypes.WinDLL("kernel32").CloseHandle(ctypes.c_void_p(handle))
    else:
        os.close(handle)
