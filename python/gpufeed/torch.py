"""Hands batches over as tensors on torch's devices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch.utils.dlpack import from_dlpack

from gpufeed.adapter import CudaDevice as Card
from gpufeed.copies import CopyAhead
from gpufeed.errors import ArgumentError
from gpufeed.gpu_driver import CUDA, HIP, Names
from gpufeed.handover import HandOver, Host
from gpufeed.host_buffers import Device, Event, HostArray, HostBatch, HostBuffers

# torch's streams, events and runtime have no types.
_cuda: Any = torch.cuda


def to_tensor(array: HostArray | torch.Tensor) -> torch.Tensor:
    """Makes a tensor that shares an array's memory. Collated labels are tensors already."""
    return array if isinstance(array, torch.Tensor) else from_dlpack(array)


def resolve_device(device: str | torch.device) -> torch.device:
    """Returns the device that is meant, or raises an error that says what to write."""
    try:
        parsed = torch.device(device)
    except RuntimeError as error:
        raise ArgumentError(
            f"device: {device!r}: {str(error).splitlines()[0]}; \"cpu\", \"cuda\", \"cuda:1\", \"mps\" and \"xpu\" work"
        ) from None
    if parsed.type == "cuda":
        if not torch.cuda.is_available():
            built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
            raise ArgumentError(
                f"device: {str(device)!r}, but this torch, {built}, finds no CUDA device (torch.cuda.is_available() is "
                "False); device=\"cpu\" works, and so does a torch built for your driver"
            )
        devices = torch.cuda.device_count()
        if parsed.index is not None and parsed.index >= devices:
            last = f"cuda:{devices - 1}"
            raise ArgumentError(f"device: {str(device)!r}: there are {devices}, \"cuda:0\" to \"{last}\"")
    elif parsed.type == "mps" and not torch.backends.mps.is_available():
        raise ArgumentError(f"device: {str(device)!r}, but torch finds no Metal device; device=\"cpu\" works")
    elif parsed.type == "xpu" and not torch.xpu.is_available():
        raise ArgumentError(f"device: {str(device)!r}, but torch finds no Intel GPU; device=\"cpu\" works")
    elif parsed.type not in ("cpu", "cuda", "mps", "xpu"):
        raise ArgumentError(f"device: {str(device)!r}; \"cpu\", \"cuda\", \"mps\" and \"xpu\" work")
    return parsed


def cuda_index(device: str | torch.device) -> int:
    """Returns the number of a CUDA device; without one in its name, that of torch's current device."""
    index = torch.device(device).index
    return int(_cuda.current_device()) if index is None else index


def current_stream(index: int) -> int:
    """Returns the number of the thread's current stream of a CUDA device."""
    return int(_cuda.current_stream(index).cuda_stream)


def driver_names() -> Names:
    """Returns the names of the driver's calls for which torch is built."""
    return HIP if torch.version.hip is not None else CUDA


def cuda_cards() -> list[Card]:
    """Returns the CUDA devices that torch lists, with what tells equal cards apart."""
    return [_card(index, _cuda.get_device_properties(index)) for index in range(_cuda.device_count())]


def _card(index: int, properties: Any) -> Card:
    # Not every version of torch has each of these.
    uuid, bus = getattr(properties, "uuid", None), getattr(properties, "pci_bus_id", None)
    pci = None
    if isinstance(bus, int):
        pci = f"{getattr(properties, 'pci_domain_id', 0):04x}:{bus:02x}:{getattr(properties, 'pci_device_id', 0):02x}.0"
    return Card(index, properties.name, None if uuid is None else str(uuid), pci)


class _Done:
    """The event of copies that were over when their call returned."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


class PlainDevice:
    """A device whose copies are over when ``.to(device)`` returns. On the CPU, the tensor shares the batch's memory,
    and returns that memory when the tensor is freed."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def copy(self, array: HostArray | torch.Tensor) -> torch.Tensor:
        """Returns the array on the device."""
        return to_tensor(array).to(self.device)

    def record(self) -> Event:
        """Returns an event that is done."""
        return _Done()

    def wait(self, event: Event, tensors: Sequence[torch.Tensor]) -> None:
        """Does nothing: the copies are over."""

    def lock(self, address: int, nbytes: int) -> None:
        """Does nothing: memory stays pageable, so that a copy begun by the user is a synchronous one."""

    def unlock(self, address: int) -> None:
        """Does nothing: nothing was locked."""


class CudaDevice:
    """A CUDA device that copies from page-locked memory on a stream of its own, beside the consumer's work."""

    def __init__(self, device: torch.device) -> None:
        index = _cuda.current_device() if device.index is None else device.index
        self.device = torch.device("cuda", index)
        self._stream = _cuda.Stream(device=self.device)
        self._locked: dict[int, int] = {}
        self._can_lock = True

    def copy(self, array: HostArray | torch.Tensor) -> torch.Tensor:
        """Begins to copy an array."""
        host = to_tensor(array)
        # The tensor's memory belongs to the side stream. `wait` tells torch's allocator that the consumer's stream uses
        # it.
        with _cuda.stream(self._stream):
            if self._is_locked(array):
                return host.to(self.device, non_blocking=True)
            if not self._can_lock:
                return host.to(self.device)
            # Labels, and images that a GPU backend has read back, are outside of the ring, in pageable memory. A copy
            # from there would wait for the stream. torch's own blocks are page-locked, and torch keeps them until they
            # are read.
            return host.pin_memory().to(self.device, non_blocking=True)

    def _is_locked(self, array: HostArray | torch.Tensor) -> bool:
        # The groups of a batch lie in one buffer, one after the other.
        if isinstance(array, torch.Tensor):
            return False
        address: Any = array.data_ptr
        return any(begin <= address < begin + nbytes for begin, nbytes in self._locked.items())

    def record(self) -> Event:
        """Returns an event after the copies that were begun so far. A thread that waits for it sleeps, because the
        loader's threads need the core."""
        event: Event = _cuda.Event(blocking=True)
        self._stream.record_event(event)
        return event

    def wait(self, event: Event, tensors: Sequence[torch.Tensor]) -> None:
        """Makes the current stream wait for the copies."""
        consumer = _cuda.current_stream(self.device)
        consumer.wait_event(event)
        for tensor in tensors:
            # Without this, the memory could go to the next copy when Python drops the tensor, while kernels still read
            # from it.
            tensor.record_stream(consumer)

    def lock(self, address: int, nbytes: int) -> None:
        """Page-locks a buffer. If that fails, copies from the buffer are synchronous, and a warning says so once."""
        with _cuda.device(self.device):
            cudart = _cuda.cudart()
            error = cudart.cudaHostRegister(address, nbytes, 0)
        if int(error) == 0:
            self._locked[address] = nbytes
            return
        self._forget_error()
        if self._can_lock:
            self._can_lock = False
            warnings.warn(
                f"gpufeed: {nbytes / 2**20:.1f} MiB of host memory could not be page-locked "
                f"({cudart.cudaGetErrorString(error)}, CUDA error {int(error)}): batches are copied to {self.device} "
                "synchronously, and the training loop waits for each copy. Raise the limit of locked memory (ulimit -l "
                "unlimited; docker run --ulimit memlock=-1), or lower memory_budget=, queue_depth= or batch_size=",
                RuntimeWarning,
                stacklevel=2,
            )

    def unlock(self, address: int) -> None:
        """Undoes ``lock``. No copy from the buffer may be under way."""
        if address not in self._locked:
            return
        del self._locked[address]
        with _cuda.device(self.device):
            cudart = _cuda.cudart()
            error = cudart.cudaHostUnregister(address)
        if int(error) != 0:
            self._forget_error()
            reason = f"{cudart.cudaGetErrorString(error)}, CUDA error {int(error)}"
            warnings.warn(f"gpufeed: host memory could not be unlocked: {reason}", RuntimeWarning, stacklevel=2)

    def _forget_error(self) -> None:
        # A failed call leaves its error in the CUDA runtime. torch would find it after its next kernel, and blame that
        # kernel. torch clears the error as it raises it, so this kernel is launched only to clear the error.
        try:
            torch.empty(1, device=self.device).fill_(0.0)
        except RuntimeError:
            pass


class DeviceNormalize:
    """Does the last ``Normalize`` on the device. It converts uint8 images, NCHW in either memory format, to floats. The
    result is that of torchvision's ``ToDtype(torch.float32, scale=True)``, ``Normalize(mean, std)`` and
    ``ToDtype(dtype)``, bit for bit."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], dtype: torch.dtype = torch.float32) -> None:
        if not dtype.is_floating_point:
            raise ArgumentError(
                f"dtype: {dtype}; normalize_on_device=True gives floats: torch.float32, torch.float16 and "
                "torch.bfloat16 work"
            )
        if len(mean) != len(std):
            raise ArgumentError(
                f"normalize_on_device: mean has {len(mean)} values and std {len(std)}; give one a channel"
            )
        self._mean = torch.as_tensor(list(mean), dtype=torch.float32).view(-1, 1, 1)
        self._std = torch.as_tensor(list(std), dtype=torch.float32).view(-1, 1, 1)
        if not bool(self._std.all()):
            raise ArgumentError(f"normalize_on_device: std is {list(std)}; no channel's may be 0")
        self._dtype = dtype

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Normalizes a batch on the consumer's stream."""
        if images.dtype != torch.uint8:
            raise ArgumentError(f"normalize_on_device: the images are {images.dtype}, not torch.uint8")
        channels = self._mean.shape[0]
        if channels not in (1, images.shape[-3]):
            raise ArgumentError(
                f"normalize_on_device: mean has {channels} values, but the images have {images.shape[-3]} channels"
            )
        if self._mean.device != images.device:
            self._mean, self._std = self._mean.to(images.device), self._std.to(images.device)
        # Each step rounds as torchvision's does: one multiplication and addition would not give the same bits.
        return images.to(torch.float32).mul_(1.0 / 255).sub_(self._mean).div_(self._std).to(self._dtype)


class Run(Protocol):
    """The part of a native run that this module uses."""

    def next(self) -> HostBatch | None:
        """Returns the next batch, or None after the last one."""


class Loader(Protocol):
    """The part of a native loader that this module uses."""

    def buffer_events(self) -> Sequence[tuple[bool, int, int]]:
        """Returns the host buffers that were made (True) and freed (False) since the last call, each with its address
        and its bytes."""


def host_buffers(device: str | torch.device, loader: Loader) -> HostBuffers[torch.Tensor]:
    """Makes the buffers of a native loader for a device. A loader has one such object for its whole life, because only
    one object may get its events. Called at the first iteration: before that, the process may not have chosen its CUDA
    device."""
    resolved = resolve_device(device)
    made: Device[torch.Tensor] = CudaDevice(resolved) if resolved.type == "cuda" else PlainDevice(resolved)
    return HostBuffers(made, loader.buffer_events)


class OnDevice:
    """The source of an iteration on a device. A call returns what the loop gets of a batch and the state after it, and raises
    ``StopIteration`` after the last batch."""

    def __init__(
        self,
        run: Run,
        buffers: HostBuffers[torch.Tensor],
        hand: HandOver,
        ready: Callable[[], bool] | None = None,
    ) -> None:
        # For a device whose copies are synchronous, no batch is copied ahead of the consumer.
        depth = 2 if isinstance(buffers.device, CudaDevice) else 0
        self._copies = CopyAhead(run.next, buffers, depth, ready, hand.begin())

    def __call__(self) -> tuple[Any, str]:
        return next(self._copies)

    def close(self) -> None:
        """Waits for the copies, and drops the batches that were not handed out."""
        self._copies.close()


class HandedOver(Host):
    """The source of an iteration whose images are in the device's memory already. Labels and the numbers of fields are copied."""

    def __init__(self, run: Any, device: str | torch.device, hand: HandOver) -> None:
        super().__init__(run, hand)
        self._device = CudaDevice(resolve_device(device))

    def _tensors(self, arrays: Sequence[Any]) -> list[torch.Tensor]:
        stays = [getattr(array, "handed_over", False) for array in arrays]
        tensors = [from_dlpack(array) if there else self._device.copy(array) for array, there in zip(arrays, stays, strict=True)]
        copied = [tensor for tensor, there in zip(tensors, stays, strict=True) if not there]
        if copied:
            self._device.wait(self._device.record(), copied)
        return tensors
