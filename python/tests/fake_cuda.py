"""CUDA without a GPU: ``fake_libcuda.c`` in the place of NVIDIA's driver, and a ``torch.cuda`` that has one device, the card of
which is an adapter of this machine. Tensors of that device are on the CPU, as its memory is a file that is mapped here.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import gpufeed
import pytest
import torch
from gpufeed import gpu_driver, torch as devices

SOURCE = Path(__file__).parents[2] / "scripts" / "hardware" / "external_memory" / "fake_libcuda.c"


class Properties:
    name = "a fake card"

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid


class Stream:
    def __init__(self, number: int) -> None:
        self.cuda_stream = number


class OnHost(devices.PlainDevice):
    """A device on the CPU, in the place of torch's copies to CUDA."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(torch.device("cpu"))


class FakeCuda:
    """The library, and what torch says."""

    def __init__(self, library: Path, adapter: gpufeed.Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
        assert adapter.uuid is not None
        self.adapter, self._local = adapter, threading.local()
        monkeypatch.setenv("FAKE_CUDA_UUID", adapter.uuid.replace("-", ""))
        self.library = ctypes.CDLL(str(library))
        self.library.fake_cuda_count.restype = ctypes.c_long
        self.fail("", 0)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: Properties(self.uuid_of_torch))
        monkeypatch.setattr(torch.cuda, "current_stream", lambda index=None: Stream(self.stream))
        # DLPack's 1 is the CPU.
        monkeypatch.setattr(devices, "CUDA", dataclasses.replace(gpu_driver.CUDA, library=str(library), device_type=1))
        monkeypatch.setattr(devices, "CudaDevice", OnHost)
        monkeypatch.setattr(devices, "from_dlpack", self._from_dlpack)
        self.uuid_of_torch = adapter.uuid

    @property
    def stream(self) -> int:
        """The thread's current stream."""
        return getattr(self._local, "stream", 5)

    @stream.setter
    def stream(self, number: int) -> None:
        self._local.stream = number

    def _from_dlpack(self, array: Any) -> torch.Tensor:
        """Makes a tensor, which the CPU reads without asking a stream."""
        tensor = torch.from_dlpack(array)
        for stream in (0, self.stream):
            self.synchronize(stream)
        return tensor

    def fail(self, call: str, nth: int) -> None:
        """Has the nth of the next calls fail."""
        self.library.fake_cuda_fail(call.encode(), ctypes.c_long(nth))

    def count(self, what: str) -> int:
        """Returns how many there are: memory, mapped, semaphores, events, contexts; and imports so far."""
        return int(self.library.fake_cuda_count(what.encode()))

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream."""
        self.library.cuStreamSynchronize(ctypes.c_void_p(self.stream if stream is None else stream))

    def read_late(self, address: int, nbytes: int, stream: int | None = None) -> ctypes.Array[Any]:
        """Has a stream copy memory once its work so far is done."""
        to = (ctypes.c_ubyte * nbytes)()
        on = ctypes.c_void_p(self.stream if stream is None else stream)
        assert self.library.cuMemcpyDtoHAsync_v2(to, ctypes.c_uint64(address), ctypes.c_size_t(nbytes), on) == 0
        return to


def build(folder: Path) -> Path:
    """Builds the library."""
    library = folder / "libcuda.so.1"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-g", "-O1", "-shared", "-fPIC", "-pthread", "-o", str(library), str(SOURCE)], check=True)
    return library
