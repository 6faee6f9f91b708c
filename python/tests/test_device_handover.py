"""Batches that stay in a GPU's memory: software drivers export it, and a fake CUDA imports it.

``scripts/test-handover.sh`` runs this on lavapipe, which exports no semaphores, and on SwiftShader, which exports binary ones.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpufeed
from gpufeed import ArgumentError, handed_over

numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")
# Before a driver is opened: Triton's LLVM, which torch loads for torchvision, crashes beside Mesa's.
v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from fake_cuda import FakeCuda, Properties, build  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="software drivers export memory on Linux")

FULL = "GPUFEED_FULL" in os.environ
DRIVER_CALLS = (
    "cuInit",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceGetUuid_v2",
    "cuCtxPushCurrent_v2",
    "cuImportExternalMemory",
    "cuExternalMemoryGetMappedBuffer",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
)
SEMAPHORE_CALLS = ("cuImportExternalSemaphore", "cuWaitExternalSemaphoresAsync", "cuSignalExternalSemaphoresAsync")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def cuda(library: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    adapter = next((each for each in gpufeed.adapters() if each.uuid is not None), None)
    if adapter is None:
        if os.environ.get("GPUFEED_REQUIRE_GPU", "0") != "0":
            pytest.fail("no adapter of Vulkan")
        pytest.skip("no adapter of Vulkan")
    return FakeCuda(library, adapter, monkeypatch)


def images(count: int = 16, side: int = 12, channels: int = 3) -> list[tuple[Any, int]]:
    """Pictures whose pixels are their numbers."""
    shape = (side, side, channels) if channels == 3 else (side, side)
    return [(numpy.full(shape, number, numpy.uint8), number % 10) for number in range(count)]


def loader(data: Any = None, transforms: Any = None, **keywords: Any) -> gpufeed.DataLoader:
    given = {"batch_size": 4, "dtype": "uint8", "device": "cuda:0", "backend": "gpu", "workers": 2} | keywords
    if "groups" not in given and transforms is None:
        transforms = [v2.RandomCrop(8)]
    return gpufeed.DataLoader(images() if data is None else data, transforms, **given)


def has_semaphores(cuda: FakeCuda) -> bool:
    """True if the driver's semaphores were imported while a batch was held."""
    with loader() as made:
        held = next(iter(made))
        there = cuda.count("semaphores") > 0
        del held
    return there


def epoch(made: gpufeed.DataLoader, cuda: FakeCuda) -> list[Any]:
    """Copies of an epoch's tensors."""
    found = []
    for batch in made:
        cuda.synchronize()
        found.append([tensor.clone() for tensor in (batch.values() if isinstance(batch, dict) else batch)])
    return found


def same(ours: list[Any], theirs: list[Any]) -> None:
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        for mine, wanted in zip(one, other, strict=True):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape and mine.stride() == wanted.stride()
            assert torch.equal(mine, wanted)


@pytest.mark.parametrize("execute", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "keywords",
    [
        {"dtype": "float32"},
        {"dtype": "float16"},
        {"dtype": "bfloat16", "layout": "nhwc"},
        {"channels_last": True},
        {"views": 2},
        {"cache": "device:16M"},
        {"data": images(channels=1), "dtype": "float32"},
        {"normalize": True},
        {"mixed": True, "dtype": "float32"},
        {"groups": True},
    ],
    ids=lambda keywords: "-".join(keywords),
)
def test_the_tensors_are_those_of_batches_that_are_read_back(cuda: FakeCuda, execute: str, keywords: dict[str, Any]) -> None:
    given: dict[str, Any] = {"execute": execute, **keywords}
    if given.pop("normalize", None):
        mean = std = [0.5, 0.25, 0.125]
        given["transforms"] = [v2.RandomCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)]
        given |= {"normalize_on_device": True, "dtype": None}
    if given.pop("mixed", None):
        floats = [v2.RandomCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
        given |= {"batch_transforms": v2.MixUp(num_classes=10), "transforms": floats}
    if given.pop("groups", None):
        given |= {"groups": {"global": ([v2.RandomCrop(8)], 2), "local": ([v2.RandomCrop(4)], 3)}}
    with loader(**given) as ours:
        assert ours.stats()["handover"].startswith("not tried yet")
        found = [epoch(ours, cuda) for _ in range(2)]
        assert ours.stats()["handover"] == "handed over on the GPU" and cuda.count("memory") > 0
        assert "handed over on the GPU: each batch stays in the GPU's memory, where cuda:0 has it" in ours.explain()
    with loader(**given | {"device": "cpu", "backend": str(cuda.adapter.number)}) as theirs:
        for mine in found:
            same(mine, epoch(theirs, cuda))


def test_a_state_goes_on_in_the_middle(cuda: FakeCuda) -> None:
    with loader(shuffle=True) as whole, loader(shuffle=True) as resumed:
        every = epoch(whole, cuda)
        iterator = iter(resumed)
        next(iterator)
        state = resumed.state_dict()
        again = loader(shuffle=True)
        again.load_state_dict(state)
        same(epoch(again, cuda), every[1:])
        again.close()


def test_batches_have_the_arrays_of_the_device(cuda: FakeCuda) -> None:
    with loader() as made:
        for batch in made.batches():
            array = batch.images
            assert array.handed_over and array.__dlpack_device__() == (1, 0) and len(array) == 4
            with pytest.raises(TypeError, match=r"in a GPU's memory; torch.from_dlpack\(array\).cpu\(\) copies it"):
                numpy.asarray(array)
            # -1 waits for nothing.
            array.__dlpack__(stream=-1)
            array.__dlpack__(stream=77)
            late = cuda.read_late(array.data_ptr, array.nbytes, 77)
            cuda.synchronize(77)
            wanted = b"".join(bytes([number]) * (array.nbytes // 4) for number in batch.ids)
            assert bytes(late) == wanted and not batch.labels.handed_over


def test_no_batch_is_torn_and_no_buffer_is_used_before_its_release(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(3)
    epochs = 625 if FULL else 40
    held: list[tuple[Any, int, Any, bytes]] = []
    read: list[tuple[Any, bytes]] = []
    with loader(images(64)) as made:
        for _ in range(epochs):
            for batch in made.batches():
                cuda.stream = dice.choice([5, 6, 7])
                tensor = torch.from_dlpack(batch.images.__dlpack__(stream=cuda.stream))
                wanted = b"".join(bytes([each]) * (tensor.numel() // 4) for each in batch.ids)
                # The consumer's kernel, which reads when its stream comes to it.
                late = cuda.read_late(tensor.data_ptr(), tensor.numel())
                held.append((tensor, cuda.stream, late, wanted))
                del batch, tensor
                while len(held) > dice.randrange(3):
                    # Freed while the stream may not have come to the kernel yet.
                    tensor, cuda.stream, late, wanted = held.pop(dice.randrange(len(held)))
                    read.append((late, wanted))
                    del tensor
    held.clear()
    for stream in (5, 6, 7):
        cuda.synchronize(stream)
    assert len(read) >= epochs * 16 - 2
    assert all(bytes(late) == wanted for late, wanted in read)


class Calls:
    """A driver that notes its calls. Events are numbered."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, ...]] = []
        self.events = 0

    def event(self, stream: int) -> str:
        self.events += 1
        self.made.append(("event", f"e{self.events}", stream))
        return f"e{self.events}"

    def free_event(self, event: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.made.append((name, *arguments))


def test_no_wait_overtakes_that_for_the_batch_before() -> None:
    """A wait for the next batch in a buffer, on another stream, would take the signal of a binary semaphore for itself."""
    driver, stream = Calls(), [5]
    importer = handed_over.Importer(driver, lambda: stream[0], lambda text: None)  # type: ignore[arg-type]
    imported = handed_over._Imported(None, ("ready", "free"), alive=2)  # type: ignore[arg-type]
    first = handed_over._Use(importer, imported, None)
    first.stream(5)
    # Another stream of the same batch waits for the first one.
    first.stream(7)
    first.stream(7)
    stream[0] = 7
    assert first.drop()
    second = handed_over._Use(importer, imported, None)
    second.stream(6)
    assert driver.made == [
        ("wait", "ready", None, 5),
        ("event", "e1", 5),
        ("wait_for_event", "e1", 7),
        # Freed on stream 7: what stream 5 does with it ends before the signal.
        ("event", "e2", 5),
        ("wait_for_event", "e2", 7),
        ("signal", "free", None, 7),
        ("event", "e3", 7),
        ("wait_for_event", "e1", 6),
        ("wait", "ready", None, 6),
        ("event", "e4", 6),
    ]


def balanced(cuda: FakeCuda) -> tuple[int, ...]:
    gc.collect()
    return tuple(cuda.count(what) for what in ("memory", "mapped", "semaphores", "events", "contexts"))


def handles() -> int:
    """Returns the number of open handles, without those of code that SwiftShader's devices leave behind."""
    def name(number: str) -> str:
        try:
            return os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            return "closed"

    return sum("swiftshader_jit" not in name(number) for number in os.listdir("/proc/self/fd"))


def test_nothing_is_left_behind(cuda: FakeCuda) -> None:
    before = balanced(cuda)
    loaders = 200 if FULL else 20
    open_before = 0
    for number in range(loaders):
        made = loader()
        iterator = iter(made)
        kept = next(iterator)
        if number % 3 == 0:
            made.close()
        elif number % 3 == 1:
            with pytest.raises(ZeroDivisionError):
                for _ in iterator:
                    raise ZeroDivisionError
        else:
            assert len(list(iterator)) == 3
        made.close()
        # Tensors outlive their loader.
        cuda.synchronize()
        assert kept[0].float().mean() >= 0
        _ = kept = iterator = made = None
        if number == 4:
            open_before = handles()
    assert balanced(cuda) == before and handles() == open_before


@pytest.mark.parametrize("call", [*DRIVER_CALLS, *SEMAPHORE_CALLS])
def test_a_call_that_fails_at_first_reads_batches_back(cuda: FakeCuda, call: str) -> None:
    if call in SEMAPHORE_CALLS and not has_semaphores(cuda):
        pytest.skip("the driver exports no semaphores")
    before = balanced(cuda)
    cuda.fail(call, 1)
    with loader() as made, pytest.warns(RuntimeWarning, match="cannot be handed over") as warned:
        assert "handed over: " in made._native.explain()
        found = epoch(made, cuda)
        assert "handed over: " not in made._native.explain()
        said = made.stats()["handover"]
    reason = f"{call.removesuffix('_v2')} returns CUDA_ERROR_NOT_SUPPORTED (801)"
    assert said == f"copied through the host: {reason}" and str(warned[0].message).endswith(reason)
    with loader(device="cpu", backend=str(cuda.adapter.number)) as theirs:
        same(found, epoch(theirs, cuda))
    del made
    assert balanced(cuda) == before


@pytest.mark.parametrize("call", ["cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuEventRecord", *SEMAPHORE_CALLS[:2]])
def test_a_call_that_fails_later_reads_the_rest_back(cuda: FakeCuda, call: str) -> None:
    if call in SEMAPHORE_CALLS and not has_semaphores(cuda):
        pytest.skip("the driver exports no semaphores")
    with loader(images(40)) as made:
        iterator = iter(made)
        found = []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for number, batch in enumerate(iterator):
                cuda.synchronize()
                found.append([tensor.clone() for tensor in batch])
                if number == 0:
                    cuda.fail(call, 1)
        assert [str(each.message) for each in warned if "cannot be handed over" in str(each.message)], [str(w.message) for w in warned]
        assert call.removesuffix("_v2") in made.stats()["handover"]
        # The next epoch has buffers of the usual kind.
        assert "handed over: " in made._native.explain()
        found += epoch(made, cuda)
        assert "handed over: " not in made._native.explain() and cuda.count("memory") == 0
        assert call.removesuffix("_v2") in made.stats()["handover"]
    with loader(images(40), device="cpu", backend=str(cuda.adapter.number)) as theirs:
        same(found, epoch(theirs, cuda) + epoch(theirs, cuda))


def test_another_cards_uuid_is_seen(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    # Torch says that the device is the adapter's card, as a part of a card does by its PCI address, and the driver does not.
    monkeypatch.setenv("FAKE_CUDA_UUID", "12" * 16)
    with loader() as made, pytest.warns(RuntimeWarning, match="the adapter has the UUID .*, and device 0 of CUDA 12121212-1212-"):
        epoch(made, cuda)
        assert made.stats()["handover"].startswith("copied through the host: the adapter has the UUID")
    cuda.properties = [Properties("34" * 16)]
    with pytest.raises(ArgumentError, match='backend: "gpu" augments on the card of device="cuda:0", and no adapter is that card'):
        loader()


def test_two_cards_of_one_name_are_told_apart(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other = cuda.adapter.uuid, "34" * 16
    assert ours is not None
    cuda.properties = [Properties(other), Properties(ours)]
    monkeypatch.setenv("FAKE_CUDA_UUID", f"{other},{ours.replace('-', '')}")
    monkeypatch.setenv("FAKE_CUDA_CARD", "1")
    with loader(device="cuda:1") as made:
        found = epoch(made, cuda)
        assert made.stats()["handover"] == "handed over on the GPU"
        same(found, epoch(loader(device="cpu", backend="cpu"), cuda))
    with pytest.raises(ArgumentError, match="no adapter is that card; torch has cuda:0: a fake card .*; cuda:1: a fake card"):
        loader(device="cuda:0")
    # The driver counts its devices in another order than torch.
    monkeypatch.setenv("FAKE_CUDA_UUID", f"{ours.replace('-', '')},{other}")
    with loader(device="cuda:1") as made, pytest.warns(RuntimeWarning, match="and device 1 of CUDA 34343434-3434-"):
        same(epoch(made, cuda), found)


def test_a_part_of_a_card_has_a_uuid_of_its_own(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice of a card (MIG) has the card's address and another UUID, and no memory of Vulkan's."""
    slot = dataclasses.replace(cuda.adapter, pci="0000:65:00.0")
    monkeypatch.setattr("gpufeed.adapter.adapters", lambda: [slot])
    monkeypatch.setenv("FAKE_CUDA_UUID", "56" * 16)
    cuda.properties = [Properties(f"MIG-{'56' * 16}", bus=0x65)]
    with loader() as made, pytest.warns(RuntimeWarning, match="cannot be handed over: the adapter has the UUID"):
        found = epoch(made, cuda)
    same(found, epoch(loader(device="cpu", backend="cpu"), cuda))


def test_hip_does_the_same_by_its_own_names(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0")
    # The UUID of HIP is none of Vulkan's.
    monkeypatch.setenv("FAKE_CUDA_UUID", "78" * 16)
    before = balanced(cuda)
    with loader(views=2) as made, loader(views=2, device="cpu", backend="cpu") as theirs:
        found = epoch(made, cuda)
        assert made.stats()["handover"] == "handed over on the GPU" and cuda.count("memory") > 0
        same(found, epoch(theirs, cuda))
    del made
    assert balanced(cuda) == before
    cuda.fail("cuImportExternalMemory", 1)
    with loader() as made, pytest.warns(RuntimeWarning, match="hipImportExternalMemory returns CUDA_ERROR_NOT_SUPPORTED"):
        epoch(made, cuda)


def test_handover_false_copies(cuda: FakeCuda) -> None:
    imports = cuda.count("imports")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backend, made in (("gpu", loader(handover=False)), ("auto", loader(handover=False, backend="auto"))):
            for each in (made, pickle.loads(pickle.dumps(made))):
                with each:
                    before = each.explain()
                    found = epoch(each, cuda)
                    assert ("the CPU executor augments" in before) == (backend == "auto")
                    assert each.stats()["handover"] == "copied through the host: handover=False"
                    # A GPU that would have to copy is none for "auto".
                    assert ("the CPU executor augments" in each.explain()) == (backend == "auto")
                    same(found, epoch(loader(device="cpu", backend="cpu"), cuda))
    assert cuda.count("imports") == imports
    with pytest.raises(ArgumentError, match="handover: "):
        loader(handover="off")


def test_auto_takes_the_cpu_where_batches_cannot_be_handed_over(cuda: FakeCuda) -> None:
    with loader(backend="auto") as made:
        epoch(made, cuda)
        assert made.stats()["handover"] == "handed over on the GPU"
    cuda.fail("cuImportExternalMemory", 1)
    with loader(backend="auto") as made:
        found = epoch(made, cuda)
        assert "CPU executor" in made.explain() and "cuImportExternalMemory" in made.explain()
        assert made.stats()["handover"].startswith("copied through the host: cuImportExternalMemory")
        same(found, epoch(loader(device="cpu", backend="cpu"), cuda))


def test_auto_keeps_its_gpu_after_a_later_failure(cuda: FakeCuda) -> None:
    with loader(images(40), backend="auto", cache="host:16M") as made:
        iterator = iter(made)
        found = [[tensor.clone() for tensor in next(iterator)]]
        cuda.fail("cuEventRecord", 1)
        with pytest.warns(RuntimeWarning, match="cannot be handed over: cuEventRecord"):
            found += [[tensor.clone() for tensor in batch] for batch in iterator]
        found += epoch(made, cuda)
        # What is in the cache stays there.
        assert "handed over: " in made._native.explain() and made.stats()["cache_hits"] > 0
    with loader(images(40), device="cpu", backend="cpu") as theirs:
        same(found, epoch(theirs, cuda) + epoch(theirs, cuda))


def test_an_interrupt_while_the_loader_is_built_again_builds_it_later(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda.fail("cuImportExternalMemory", 1)
    with loader(backend="auto") as made:
        native, left = gpufeed._gpufeed.Loader, [1]

        def interrupted(*given: Any, **keywords: Any) -> Any:
            if left:
                left.pop()
                raise KeyboardInterrupt
            return native(*given, **keywords)

        monkeypatch.setattr(gpufeed._gpufeed, "Loader", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(iter(made))
        found = epoch(made, cuda)
        assert "the CPU executor augments" in made.explain() and not made._native.backend()[2]
        same(found, epoch(loader(device="cpu", backend="cpu"), cuda))


def test_auto_keeps_a_gpu_that_is_asked_for(cuda: FakeCuda) -> None:
    cuda.fail("cuImportExternalMemory", 1)
    with loader(backend="auto", execute="gpu") as made, pytest.warns(RuntimeWarning, match="cannot be handed over"):
        found = epoch(made, cuda)
        assert "one more copy by the bus: cuImportExternalMemory" in made.explain()
        same(found, epoch(loader(device="cpu", backend="cpu"), cuda))


def test_a_loader_that_is_not_closed_leaves_nothing(cuda: FakeCuda) -> None:
    before = balanced(cuda)
    for _ in range(3):
        made = loader()
        iterator = iter(made)
        kept = next(iterator)
        del made, iterator
        gc.collect()
        assert kept[0].float().mean() >= 0
        del kept
    assert balanced(cuda) == before


def test_imports_of_a_forgotten_loader_need_no_garbage_collector(cuda: FakeCuda) -> None:
    before = balanced(cuda)
    gc.disable()
    try:
        made = loader()
        for batch in made:
            del batch
        assert cuda.count("memory") > before[0]
        del made
        assert cuda.count("memory") == before[0]
    finally:
        gc.enable()


def test_an_interrupt_loses_no_batch(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    current = torch.cuda.current_stream
    with loader(images(40)) as made, loader(images(40), device="cpu", backend="cpu") as theirs:
        iterator = iter(made)
        found = [[tensor.clone() for tensor in next(iterator)]]
        for _ in range(2):
            left = [1]

            def interrupted(index: Any = None, left: list[int] = left) -> Any:
                if left:
                    left.pop()
                    raise KeyboardInterrupt
                return current(index)

            monkeypatch.setattr(torch.cuda, "current_stream", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(iterator)
            monkeypatch.setattr(torch.cuda, "current_stream", current)
            found.append([tensor.clone() for tensor in next(iterator)])
        for batch in iterator:
            found.append([tensor.clone() for tensor in batch])
            del batch
        same(found, epoch(theirs, cuda))


def test_an_interrupt_right_behind_the_call_gives_the_batch_back(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python may raise an interrupt when a native call returns."""

    class Interrupting:
        def __init__(self, batch: Any) -> None:
            self.batch = batch

        def __getattr__(self, name: str) -> Any:
            return getattr(self.batch, name)

        def _hand_over(self, *given: Any) -> None:
            self.batch._hand_over(*given)
            raise KeyboardInterrupt

    hand_over = handed_over.Importer.hand_over
    left = [1]

    def interrupted(self: Any, batch: Any) -> None:
        hand_over(self, Interrupting(batch) if left and left.pop() else batch)

    monkeypatch.setattr(handed_over.Importer, "hand_over", interrupted)
    before = balanced(cuda)
    with loader(images(40)) as made, loader(images(40), device="cpu", backend="cpu") as theirs:
        iterator = iter(made)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        found = []
        for batch in iterator:
            found.append([tensor.clone() for tensor in batch])
            del batch
        same(found, epoch(theirs, cuda))
        del iterator
    del made
    assert balanced(cuda) == before


def test_an_exception_on_its_way_stays_what_it_is(cuda: FakeCuda) -> None:
    with loader(images(40)) as made, warnings.catch_warnings():
        warnings.simplefilter("error")
        iterator = iter(made)
        for _ in range(6):
            # The arguments are freed while torch's error is set.
            with pytest.raises(TypeError, match="must be Tensor"):
                torch.mm(next(iterator)[0], "no matrix")
        assert len(list(iterator)) == 4


def test_a_fork_is_refused(cuda: FakeCuda) -> None:
    with loader() as made:
        iterator = iter(made)
        next(iterator)
        child = os.fork()
        if child == 0:
            try:
                next(iterator)
            except gpufeed.RunError as error:
                os._exit(0 if "fork" in str(error) else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_batch_that_cannot_be_given_back_is_said(cuda: FakeCuda) -> None:
    call = "cuSignalExternalSemaphoresAsync" if has_semaphores(cuda) else "cuEventSynchronize"
    with loader(images(40)) as made:
        iterator = iter(made)
        batch = next(iterator)
        cuda.synchronize()
        cuda.fail(call, 1)
        with pytest.warns(RuntimeWarning, match="a batch was not given back, and its buffer is lost to the loader"):
            del batch
        # The others go on.
        assert len(list(iterator)) == 9


@pytest.fixture(autouse=True)
def quiet(cuda: FakeCuda) -> Iterator[None]:
    yield
    cuda.fail("", 0)
    for stream in (0, 5, 6, 7, 77):
        cuda.synchronize(stream)
