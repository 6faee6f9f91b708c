"""CUDA without a GPU: ``fake_libcuda.c`` in the place of NVIDIA's driver, and a ``torch.cuda`` whose device is the card of
an adapter of this machine. Tensors of that device are on the CPU, as its memory is a file that is mapped here.

    python fake_cuda.py LIBRARY PROGRAM.py [ARGUMENT...]      runs a program beside it; LIBRARY is what ``build`` returns
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import itertools
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpufeed
import pytest
import torch
from gpufeed import gpu_driver, torch as devices

SOURCE = Path(__file__).parents[2] / "scripts" / "hardware" / "external_memory" / "fake_libcuda.c"


class Properties:
    """What torch says of a device; ``bus`` is its PCI bus."""

    name = "a fake card"

    def __init__(self, uuid: str, bus: int | None = None) -> None:
        self.uuid, self.pci_bus_id = uuid, bus


class Stream:
    """A stream of torch."""

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
        self.properties = [Properties(adapter.uuid)]
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(self.properties))
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: self.properties[index])
        monkeypatch.setattr(torch.cuda, "current_stream", lambda index=None: Stream(self.stream))
        numbers = itertools.count(100)
        monkeypatch.setattr(torch.cuda, "Stream", lambda device=None: Stream(next(numbers)))
        monkeypatch.setattr(torch.cuda, "stream", self._on_stream)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: self.synchronize())
        monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
        for name, names in (("CUDA", gpu_driver.CUDA), ("HIP", gpu_driver.HIP)):
            # DLPack's 1 is the CPU.
            monkeypatch.setattr(devices, name, dataclasses.replace(names, library=str(library), device_type=1))
        monkeypatch.setattr(devices, "CudaDevice", OnHost)
        self._of_torch = torch.from_dlpack
        monkeypatch.setattr(devices, "from_dlpack", self.from_dlpack)

    @property
    def stream(self) -> int:
        """The thread's current stream."""
        return getattr(self._local, "stream", 5)

    @stream.setter
    def stream(self, number: int) -> None:
        self._local.stream = number

    @contextlib.contextmanager
    def _on_stream(self, stream: Stream) -> Iterator[None]:
        before, self.stream = self.stream, stream.cuda_stream
        try:
            yield
        finally:
            self.stream = before

    def from_dlpack(self, array: Any) -> torch.Tensor:
        """Makes a tensor, which the CPU reads without asking a stream."""
        tensor = self._of_torch(array)
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


def run(library: Path, program: Path, arguments: list[str]) -> None:
    """Runs a Python program on the fake device, which it has as ``fake``."""
    # Before a driver is opened: Triton's LLVM, which torch loads for torchvision, crashes beside Mesa's.
    import torchvision  # noqa: F401

    adapter = next(each for each in gpufeed.adapters() if each.uuid is not None)
    fake = FakeCuda(library, adapter, pytest.MonkeyPatch())
    torch.from_dlpack = fake.from_dlpack
    sys.path.insert(0, str(program.parent))
    sys.argv = [str(program), *arguments]
    runpy.run_path(str(program), {"fake": fake}, "__main__")


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
