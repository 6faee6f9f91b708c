"""torch's devices: what CUDA is asked for, in which order, and the numbers of a ``Normalize`` on the device."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import gpufeed.torch as devices
from gpufeed.copies import CopyAhead
from gpufeed.host_buffers import HostBuffers
from gpufeed.errors import ArgumentError
from gpufeed.handover import Finish, HandOver

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


class Array:
    """A tensor as ``gpufeed.Array`` shows it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.data_ptr = tensor, tensor.data_ptr()

    def __dlpack__(self, **request: Any) -> Any:
        return self.tensor.__dlpack__(**request)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Batch:
    def __init__(self, images: Any, labels: Any, state: str) -> None:
        self._memory, self.labels, self.state = Array(images), None if labels is None else Array(labels), state
        # No object in Python has given more.
        self._rest = self._sample_labels = self._object_field = self._arranged = self.targets = None


class Run:
    """Batches of a list, as a native run gives them."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.left = list(batches)

    def next(self) -> Batch | None:
        return self.left.pop(0) if self.left else None


class NoBuffers:
    def buffer_events(self) -> list[tuple[bool, int, int]]:
        return []


@pytest.mark.parametrize(("mean", "std"), [IMAGENET, ([0.5] * 3, [0.5] * 3), ([0.1307], [0.3081])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("nhwc", [False, True])
def test_normalize_has_the_bits_of_torchvision(mean: list[float], std: list[float], dtype: Any, nhwc: bool) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    expected = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std), v2.ToDtype(dtype)])
    # Every value in every channel.
    images = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).repeat(2, len(mean), 1, 1)
    if nhwc:
        images = images.contiguous(memory_format=torch.channels_last)
    before = images.clone()
    normalize = devices.DeviceNormalize(mean, std, dtype)
    for _ in range(2):
        normalized = normalize(images)
        assert normalized.dtype == dtype and torch.equal(normalized, expected(images))
        if nhwc and len(mean) > 1:
            assert normalized.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(images, before), "the images are the loader's"


def test_what_cannot_be_normalized_is_said() -> None:
    with pytest.raises(ArgumentError, match=r"^dtype: torch.uint8; normalize_on_device=True gives floats"):
        devices.DeviceNormalize(*IMAGENET, torch.uint8)
    with pytest.raises(ArgumentError, match="mean has 3 values and std 1"):
        devices.DeviceNormalize(IMAGENET[0], [0.5])
    with pytest.raises(ArgumentError, match="no channel's may be 0"):
        devices.DeviceNormalize([0.5], [0.0])
    normalize = devices.DeviceNormalize(*IMAGENET)
    with pytest.raises(ArgumentError, match="the images have 1 channels"):
        normalize(torch.zeros(1, 1, 4, 4, dtype=torch.uint8))
    with pytest.raises(ArgumentError, match="not torch.uint8"):
        normalize(torch.zeros(1, 3, 4, 4))


def test_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.xpu, "is_available", lambda: False)
    with pytest.raises(ArgumentError, match=r"^device: 'cuda', but this torch, built .*; device=\"cpu\" works"):
        devices.resolve_device("cuda")
    with pytest.raises(ArgumentError, match="^device: 'mps', but torch finds no Metal device"):
        devices.resolve_device("mps")
    with pytest.raises(ArgumentError, match="^device: 'xpu', but torch finds no Intel GPU"):
        devices.resolve_device(torch.device("xpu"))
    with pytest.raises(ArgumentError, match="^device: 'meta'; "):
        devices.resolve_device("meta")
    with pytest.raises(ArgumentError, match="^device: 'gpu': "):
        devices.resolve_device("gpu")
    assert devices.resolve_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.resolve_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(ArgumentError, match="^device: 'cuda:2': there are 2, \"cuda:0\" to \"cuda:1\""):
        devices.resolve_device("cuda:2")


def test_plain_copies_on_the_cpu_share_the_memory() -> None:
    images = torch.arange(2 * 4 * 5 * 3, dtype=torch.uint8).view(2, 4, 5, 3)
    run = Run([Batch(images, torch.tensor([1, 2]), "first"), Batch(images + 1, None, "second")])
    source = devices.OnDevice(run, devices.host_buffers("cpu", NoBuffers()), HandOver({"image": Finish(channels_last=True)}))
    (first, labels), state = source()
    assert state == "first" and labels is not None and labels.tolist() == [1, 2]
    assert len(run.left) == 1, "nothing is copied ahead"
    assert first.shape == (2, 3, 4, 5) and first.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(first, images.permute(0, 3, 1, 2)) and first.data_ptr() == images.data_ptr()
    (second, labels), state = source()
    assert state == "second" and labels is None and torch.equal(second, first + 1)
    with pytest.raises(StopIteration):
        source()
    source.close()


def test_plain_copies_are_normalized() -> None:
    images = torch.full((1, 2, 2, 3), 255, dtype=torch.uint8)
    buffers = devices.host_buffers("cpu", NoBuffers())
    finish = Finish(channels_last=True, normalize=([0.5] * 3, [0.5] * 3, "float16"))
    source = devices.OnDevice(Run([Batch(images, None, "")]), buffers, HandOver({"image": finish}))
    (normalized, _), _ = source()
    assert torch.equal(normalized, torch.ones(1, 3, 2, 2, dtype=torch.float16))


class Group:
    """The images of a group."""

    def __init__(self, images: Any) -> None:
        self._memory, self._arranged = Array(images), None


def test_dictionaries_are_copied_with_their_groups_and_columns() -> None:
    images = torch.zeros(2, 4, 5, 3, dtype=torch.uint8)
    batch = Batch(images, torch.tensor([1, 2]), "first")
    batch.groups = {"a": Group(images), "b": Group(images.permute(0, 3, 1, 2).contiguous())}  # type: ignore[attr-defined]
    batch.columns = {"text": ["x", None], "score": Array(torch.tensor([0.5, 1.5]))}  # type: ignore[attr-defined]
    batch._sample_labels = batch.labels  # type: ignore[assignment]
    hand = HandOver({"a": Finish(channels_last=True), "b": Finish()}, as_dict=True)
    found, state = devices.OnDevice(Run([batch]), devices.host_buffers("cpu", NoBuffers()), hand)()
    assert [*found] == ["a", "b", "label", "text", "score"] and state == "first"
    assert found["a"].shape == found["b"].shape == (2, 3, 4, 5) and found["text"] == ["x", None]
    assert found["label"].tolist() == [1, 2] and found["score"].tolist() == [0.5, 1.5]


class FakeTensor:
    """A host tensor, and what is done with it."""

    def __init__(self, log: list[Any], name: str, pinned: bool = False) -> None:
        self.log, self.name, self.pinned = log, name, pinned

    def pin_memory(self) -> FakeTensor:
        self.log.append(("pin", self.name))
        return FakeTensor(self.log, self.name, pinned=True)

    def to(self, device: Any, non_blocking: bool = False) -> FakeTensor:
        self.log.append(("to", self.name, str(device), non_blocking, FakeCuda.current))
        return FakeTensor(self.log, self.name)

    def record_stream(self, stream: Any) -> None:
        self.log.append(("record_stream", self.name, stream.name))


class FakeStream:
    def __init__(self, log: list[Any], name: str) -> None:
        self.log, self.name = log, name

    def record_event(self, event: Any) -> None:
        self.log.append(("record", self.name))

    def wait_event(self, event: Any) -> None:
        self.log.append(("wait", self.name))


class FakeCuda:
    """``torch.cuda``, as far as it is used. ``errors`` are what its runtime returns."""

    current = "consumer"

    def __init__(self, errors: dict[int, int] | None = None) -> None:
        self.log: list[Any] = []
        self.errors = errors or {}

    def current_device(self) -> int:
        return 1

    def Stream(self, device: Any) -> FakeStream:
        assert str(device) == "cuda:1"
        return FakeStream(self.log, "side")

    def Event(self, blocking: bool) -> object:
        assert blocking
        return object()

    @contextmanager
    def stream(self, stream: FakeStream) -> Iterator[None]:
        FakeCuda.current = stream.name
        yield
        FakeCuda.current = "consumer"

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        assert str(device) == "cuda:1"
        yield

    def current_stream(self, device: Any) -> FakeStream:
        return FakeStream(self.log, "consumer")

    def cudart(self) -> FakeCuda:
        return self

    def cudaHostRegister(self, address: int, nbytes: int, flags: int) -> int:
        self.log.append(("register", address, nbytes, flags))
        return self.errors.get(address, 0)

    def cudaHostUnregister(self, address: int) -> int:
        self.log.append(("unregister", address))
        return 0

    def cudaGetErrorString(self, error: int) -> str:
        return "out of memory"


class Named:
    """An array at an address."""

    def __init__(self, name: str, address: int) -> None:
        self.name, self.data_ptr = name, address


class NamedBatch:
    def __init__(self, address: int) -> None:
        self.images, self.labels, self.state = Named("images", address), Named("labels", 8), "{}"


def cuda(monkeypatch: pytest.MonkeyPatch, errors: dict[int, int] | None = None) -> tuple[FakeCuda, devices.CudaDevice]:
    fake = FakeCuda(errors)
    monkeypatch.setattr(devices, "_cuda", fake)
    monkeypatch.setattr(devices, "to_tensor", lambda array: FakeTensor(fake.log, array.name))
    return fake, devices.CudaDevice(torch.device("cuda"))


def test_cuda_is_asked_for_a_copy_beside_the_consumers_work(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, device = cuda(monkeypatch)
    buffers = HostBuffers(device, lambda: [(True, 0x1000, 65536)] if not fake.log else [])
    run = Run([NamedBatch(0x1000)])  # type: ignore[list-item]
    monkeypatch.setattr(HostBuffers, "release_done", lambda self: None)
    monkeypatch.setattr(HostBuffers, "wait", lambda self, most=0: self._running.clear())
    next(CopyAhead(run.next, buffers, 0))
    buffers.close()
    assert fake.log == [
        ("register", 0x1000, 65536, 0),
        # The labels' memory is nobody's ring: a copy of torch's own, which torch keeps until it is read.
        ("pin", "labels"),
        ("to", "labels", "cuda:1", True, "side"),
        ("to", "images", "cuda:1", True, "side"),
        ("record", "side"),
        ("wait", "consumer"),
        ("record_stream", "images", "consumer"),
        ("record_stream", "labels", "consumer"),
        ("unregister", 0x1000),
    ]


def test_memory_that_cannot_be_locked_is_copied_synchronously(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, device = cuda(monkeypatch, errors={0x200000: 2, 0x300000: 2})
    launched: list[Any] = []

    def empty(*shape: int, device: Any) -> Any:
        # What torch does after the first kernel behind a failed call of the runtime.
        launched.append(device)
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch, "empty", empty)
    device.lock(0x1000, 2**20)
    text = r"1.0 MiB .* \(out of memory, CUDA error 2\): .* synchronously.*memlock"
    with pytest.warns(RuntimeWarning, match=text) as warned:
        device.lock(0x200000, 2**20)
        device.lock(0x300000, 2**20)
    assert len(warned) == 1 and len(launched) == 2, "one warning, and no error is left for torch's next kernel"
    fake.log.clear()
    for name, address in [("locked", 0x1000), ("not locked", 0x200000), ("labels", 8)]:
        device.copy(Named(name, address))  # type: ignore[arg-type]
    assert fake.log == [
        ("to", "locked", "cuda:1", True, "side"),
        ("to", "not locked", "cuda:1", False, "side"),
        ("to", "labels", "cuda:1", False, "side"),
    ]
    fake.log.clear()
    # A group of views that follows another one in the same buffer.
    device.copy(Named("second group", 0x1000 + 640))  # type: ignore[arg-type]
    assert fake.log == [("to", "second group", "cuda:1", True, "side")]
    fake.log.clear()
    device.unlock(0x200000)
    device.unlock(0x1000)
    assert fake.log == [("unregister", 0x1000)]


class PoisonedRing:
    """Buffers at page borders that are overwritten as they return."""

    BYTES = 1 << 25

    def __init__(self) -> None:
        self.free = [torch.frombuffer(mmap.mmap(-1, self.BYTES), dtype=torch.uint8) for _ in range(4)]
        self.new = [(True, tensor.data_ptr(), self.BYTES) for tensor in self.free]
        self.taken = 0

    def buffer_events(self) -> list[tuple[bool, int, int]]:
        events, self.new = self.new, []
        return events

    def next(self) -> Batch | None:
        if self.taken == 300:
            return None
        self.taken += 1
        memory = self.free.pop()
        memory.fill_(self.taken % 200)
        return Leased(self, memory, self.taken)


class Leased(Batch):
    def __init__(self, ring: PoisonedRing, memory: Any, number: int) -> None:
        super().__init__(memory, torch.tensor([number]), str(number))
        self.ring, self.memory = ring, memory

    def __del__(self) -> None:
        self.memory.fill_(255)
        self.ring.free.append(self.memory)


class SlowCuda(devices.CudaDevice):
    """Copies that begin some milliseconds late: time to poison their source."""

    def copy(self, array: Any) -> Any:
        with torch.cuda.stream(self._stream):
            torch.cuda._sleep(5_000_000)
        return super().copy(array)


class DropsAtOnce(HostBuffers[Any]):
    """The twin without events."""

    def copy(self, batch: Any, arrays: Any) -> Any:
        copied = super().copy(batch, arrays)
        self._running.clear()
        return copied


def torn(buffers: HostBuffers[Any], ring: PoisonedRing) -> int:
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for (images, labels), state in CopyAhead(ring.next, buffers):
        # No synchronization: the consumer's stream alone waits for the copies.
        wrong += torch.ne(images, int(state) % 200).any()
        wrong += torch.ne(labels, int(state)).any()
    return int(wrong)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: the fake ones above stand for it")
def test_no_torn_batch_on_a_real_device() -> None:
    ring = PoisonedRing()
    buffers = HostBuffers(SlowCuda(torch.device("cuda")), ring.buffer_events)
    assert torn(buffers, ring) == 0
    assert len(ring.free) == 4
    buffers.close()
    ring = PoisonedRing()
    twin = DropsAtOnce(SlowCuda(torch.device("cuda")), ring.buffer_events)
    assert torn(twin, ring) > 0, "without the events, a poisoned buffer has to be seen"
    torch.cuda.synchronize()
    twin.close()
