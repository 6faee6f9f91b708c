"""The GPU adapters of this machine, and the one that is the card of a CUDA device."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpufeed import _gpufeed
from gpufeed.errors import ArgumentError


@dataclass(frozen=True)
class Adapter:
    """An adapter on which the shaders can run. Its number, UUID, PCI address, or a part of its name is a value of
    ``backend=``."""

    #: The place in the list.
    number: int
    #: The driver's name of the card.
    name: str
    #: ``"discrete"``, ``"integrated"``, ``"virtual"``, ``"other"``, or ``"software"``.
    kind: str
    #: The API: ``"vulkan"``, ``"metal"``, ``"dx12"`` or ``"gl"``.
    api: str
    #: The driver and its version.
    driver: str
    #: The UUID, in lower case. Vulkan alone has it; NVIDIA's is CUDA's.
    uuid: str | None
    #: The PCI address, ``0000:65:00.0``. Vulkan alone has it.
    pci: str | None
    #: The 16 digits of ROCm's UUID, of AMD's cards on Linux.
    rocm: str | None


@dataclass(frozen=True)
class CudaDevice:
    """A device as torch lists it."""

    #: The number behind ``cuda:``.
    index: int
    #: The name of the card.
    name: str
    #: The UUID, as torch gives it; None in a torch that does not.
    uuid: str | None
    #: The PCI address; None in a torch that does not know it.
    pci: str | None


def adapters() -> list[Adapter]:
    """Returns the adapters of this machine, the best first. ``backend="auto"`` takes none that is in software."""
    return [Adapter(*row) for row in _gpufeed.adapters()]


def follows_device(backend: str, device: str) -> bool:
    """Returns True if the backend's adapter has to be the card of the tensors' device. A variable that names an adapter
    stands above it."""
    return backend in ("gpu", "auto") and device.split(":")[0] == "cuda" and not os.environ.get("GPUFEED_ADAPTER", "").strip()


def of_device(backend: str, device: CudaDevice, devices: Sequence[CudaDevice], there: Sequence[Adapter]) -> Adapter | None:
    """Returns the adapter that is the card of a CUDA device. Without one, ``"auto"`` is None, and ``"gpu"`` an error with
    both lists."""
    found = next((adapter for adapter in there if _is_card(adapter, device)), None)
    if found is not None or backend == "auto":
        return found
    ours = [f"{adapter.number}: {_shown(adapter.name, adapter.uuid, adapter.pci)}" for adapter in there]
    torchs = [f"cuda:{each.index}: {_shown(each.name, each.uuid, each.pci)}" for each in devices]
    missing = _gpufeed.missing_gpus()
    raise ArgumentError(
        f'backend: "gpu" augments on the card of device="cuda:{device.index}", and no adapter is that card; torch has '
        f"{'; '.join(torchs)}; gpufeed has {'; '.join(ours) or 'none'}{'. ' + missing if missing else ''}; "
        'backend="NUMBER" takes another one of gpufeed\'s, and backend="cpu" none'
    )


def _is_card(adapter: Adapter, device: CudaDevice) -> bool:
    if device.pci is not None and adapter.pci is not None:
        return _numbers(device.pci) == _numbers(adapter.pci)
    if device.uuid is None:
        return False
    uuid = device.uuid.lower().removeprefix("gpu-")
    if adapter.uuid is not None and uuid == adapter.uuid:
        return True
    # HIP's UUID is made of the characters of ROCm's sixteen digits.
    return adapter.rocm is not None and uuid.replace("-", "") == adapter.rocm.encode().hex()


def _numbers(address: str) -> list[int]:
    """Returns the numbers of a PCI address, because tools write them with more digits or fewer."""
    return [int(part, 16) for part in re.split("[:.]", address)]


def _shown(name: str, uuid: str | None, pci: str | None) -> str:
    facts = [f"UUID {uuid}" if uuid else "no UUID", *([f"PCI {pci}"] if pci else [])]
    return f"{name} ({', '.join(facts)})"
