"""The adapters of the machine, and the one that is the card of a CUDA device."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import gpufeed
from gpufeed.adapter import Adapter, CudaDevice, follows_device, of_device
from pictures import Jpegs

RECIPE = {"transform": [{"type": "CenterCrop", "size": 16}]}


@pytest.fixture(autouse=True)
def _no_opengl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mesa's OpenGL shows its LLVM to the whole process, and triton's, which torch imports in other tests, then crashes."""
    if sys.platform == "linux":
        monkeypatch.setenv("WGPU_BACKEND", "vulkan")


def uuid(digit: int) -> str:
    return f"{digit:08x}-d72c-4106-c12f-20bd9faed9f6"


def adapter(number: int, digit: int | None, bus: int | None, rocm: str | None = None) -> Adapter:
    pci = None if bus is None else f"0000:{bus:02x}:00.0"
    return Adapter(number, "NVIDIA H100", "discrete", "vulkan", "NVIDIA 550", digit and uuid(digit), pci, rocm)


def device(index: int, digit: int | None, bus: int | None = None) -> CudaDevice:
    pci = None if bus is None else f"0000:{bus:02x}:00.0"
    return CudaDevice(index, "NVIDIA H100", None if digit is None else uuid(digit), pci)


# Vulkan's order is not CUDA's.
ADAPTERS = [adapter(0, 3, 0x30), adapter(1, 1, 0x10), adapter(2, 2, 0x20), adapter(3, None, None)]
DEVICES = [device(0, 1), device(1, 2), device(2, 3)]


def number(wanted: CudaDevice, there: list[Adapter] = ADAPTERS) -> int | None:
    found = of_device("auto", wanted, DEVICES, there)
    return None if found is None else found.number


def test_the_adapter_of_a_device_has_its_uuid_or_its_address() -> None:
    assert [number(each) for each in DEVICES] == [1, 2, 0]
    marked = CudaDevice(0, "NVIDIA H100", f"GPU-{uuid(2).upper()}", None)
    assert number(marked) == 2
    # An address is exact where both sides have one: AMD's UUIDs in HIP are not Vulkan's.
    assert number(device(0, 9, 0x20)) == 2
    assert number(device(0, 1, 0x20)) == 2
    assert number(device(0, None, 0x30)) == 0
    # HIP writes the sixteen digits of ROCm's number as bytes of a UUID.
    digits = "18f7c4c4a1d1b3a6".encode().hex()
    hip = CudaDevice(0, "AMD Instinct MI300X", "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]), None)
    assert number(hip, [adapter(0, 5, 0x10, 16 * "0"), adapter(1, 6, 0x20, "18f7c4c4a1d1b3a6")]) == 1
    for stranger in (device(0, 9), device(0, None), device(0, None, 0x99)):
        assert number(stranger) is None
    assert number(DEVICES[0], []) is None


def test_a_device_without_an_adapter_is_an_error_with_both_lists() -> None:
    with pytest.raises(gpufeed.ArgumentError) as raised:
        of_device("gpu", device(1, 9), [device(0, 1), device(1, 9)], ADAPTERS)
    text = str(raised.value)
    assert text.startswith('backend: "gpu" augments on the card of device="cuda:1", and no adapter is that card; ')
    assert f"torch has cuda:0: NVIDIA H100 (UUID {uuid(1)}); cuda:1: NVIDIA H100 (UUID {uuid(9)}); gpufeed has " in text
    assert f"1: NVIDIA H100 (UUID {uuid(1)}, PCI 0000:10:00.0); 2: " in text and "3: NVIDIA H100 (no UUID)" in text
    with pytest.raises(gpufeed.ArgumentError, match="gpufeed has none"):
        of_device("gpu", DEVICES[0], DEVICES, [])


def test_the_backend_follows_cuda_devices_unless_an_adapter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUFEED_ADAPTER", raising=False)
    for backend in ("gpu", "auto"):
        assert follows_device(backend, "cuda") and follows_device(backend, "cuda:3")
        for other in ("cpu", "mps", "xpu:1", "cudax"):
            assert not follows_device(backend, other)
    for backend in ("cpu", "0", "H100", uuid(1)):
        assert not follows_device(backend, "cuda:3")
    monkeypatch.setenv("GPUFEED_ADAPTER", "1")
    assert not follows_device("gpu", "cuda:3")
    # The library takes this for a variable that is not set, too.
    monkeypatch.setenv("GPUFEED_ADAPTER", " \n")
    assert follows_device("gpu", "cuda:3")


def test_the_list_is_that_of_the_library() -> None:
    there = gpufeed.adapters()
    assert [each.number for each in there] == list(range(len(there)))
    for each in there:
        assert each.kind in ("discrete", "integrated", "virtual", "other", "software")
        assert each.api in ("vulkan", "metal", "dx12", "gl") and each.name
        assert (each.uuid is not None and len(each.uuid) == 36) or each.api != "vulkan"


class Properties:
    """What torch says of a CUDA device, here of an adapter."""

    def __init__(self, adapter: Adapter | None) -> None:
        self.name = "fake" if adapter is None else adapter.name
        self.uuid = uuid(9) if adapter is None or adapter.uuid is None else adapter.uuid


def test_a_loader_takes_the_adapter_of_its_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's devices are fakes: the first is a strange card, the second the adapter of this machine."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    there = next((each for each in gpufeed.adapters() if each.uuid is not None), None)
    if there is None:
        pytest.skip("no adapter with a UUID")
    current = [1]
    monkeypatch.delenv("GPUFEED_ADAPTER", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current[0])
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: Properties((None, there)[index]))

    def loader(device: str, backend: str = "gpu") -> Any:
        return gpufeed.DataLoader(Jpegs(), recipe=RECIPE, device=device, backend=backend, seek_indexes="memory")

    for named in ("cuda:1", "cuda"):
        for backend in ("gpu", "auto"):
            line = f"backend: {there.name} "
            said = next(text for text in loader(named, backend).explain().splitlines() if text.startswith("backend: "))
            assert said.startswith(line) and said.endswith("; it is the card of torch's cuda:1"), said
            # Where its driver exports memory, the first iteration tries to hand batches over.
            lines = [line for line in loader(named, backend).explain().splitlines() if line.startswith("handed over: ")]
            assert len(lines) == 1 and ("not tried yet" in lines[0] or "read back from the GPU" in lines[0])
    with pytest.raises(gpufeed.ArgumentError, match=r'device="cuda:0", and no adapter is that card; torch has cuda:0: fake'):
        loader("cuda:0")
    assert "no adapter is the card of torch's cuda:0" in loader("cuda:0", "auto").explain()
    # torch's current device may change until the first iteration.
    moved = loader("cuda", "auto")
    current[0] = 0
    assert "no adapter is the card of torch's cuda:0" in moved.explain()
    current[0] = 1
    assert "it is the card of torch's cuda:1" in moved.explain()
    # Without CUDA, batches cannot be handed over, and `auto` augments on the CPU in the place of copying them twice.
    next(moved.batches())
    assert "not by a GPU, which would have to copy" in moved.explain()
    # From then on a loader keeps its card: `with torch.cuda.device(0)` around `len(loader)` makes no other one.
    moved = loader("cuda", "gpu")
    with pytest.warns(RuntimeWarning, match="copied through the host, as they cannot be handed over: "):
        next(moved.batches())
    current[0] = 0
    native = moved._loader()
    assert "it is the card of torch's cuda:1" in moved.explain() and moved._loader() is native and len(moved) > 0
    moved.close()
    # An adapter that is named stays, whatever the device.
    assert "torch's cuda" not in loader("cuda:0", str(there.number)).explain()


def test_without_a_gpu_the_error_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUFEED_ADAPTER", "cpu")
    with pytest.raises(gpufeed.RunError) as raised:
        gpufeed.DataLoader(Jpegs(), recipe=RECIPE, backend="gpu")
    text = str(raised.value)
    assert raised.value.kind == "NoAdapter"
    assert text.startswith("no GPU adapter: GPUFEED_ADAPTER=cpu asks for the CPU; ")
    assert 'backend="auto" falls back to the CPU, and backend="cpu" asks for it; backend="NAME" takes' in text
    made = gpufeed.DataLoader(Jpegs(), recipe=RECIPE, backend="auto")
    said = made.explain()
    assert "; GPUFEED_ADAPTER=cpu asks for the CPU" in said and "read back from the GPU" not in said
