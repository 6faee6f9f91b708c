"""The hand-over to a device, with a device whose copies finish late and in any order, and a ring that reuses buffers.

A fake copy reads the host buffer when it *finishes*, as a bus does, and a buffer is poisoned as it returns: a buffer
that returns under a running copy gives wrong content."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from gpufeed.copies import MOST_RUNNING, CopyAhead, HostBuffers
from gpufeed.errors import RunError

POISON = -1


class Buffer:
    """A buffer of the ring; ``value`` stands for its content."""

    def __init__(self, address: int) -> None:
        self.address, self.value, self.readers = address, POISON, 0


class Array:
    def __init__(self, buffer: Buffer) -> None:
        self.buffer, self.data_ptr = buffer, buffer.address

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> Any:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Batch:
    """A batch of a ring: its buffer returns when it is gone."""

    def __init__(self, ring: Ring, buffer: Buffer, number: int) -> None:
        buffer.value = number
        self._ring, self._buffer = ring, buffer
        self.images = Array(buffer)
        # The labels have memory of their own, as the native ones do.
        label = Buffer(address=0)
        label.value = -number
        self.labels: Array | None = Array(label) if number % 3 else None
        self.state = f"after {number}"

    def __del__(self) -> None:
        self._ring.put_back(self._buffer)


class Ring:
    """A loader's ring with few buffers: like the native one it fails if the caller holds all of them."""

    def __init__(self, buffers: int, batches: int, fail_at: Sequence[int] = ()) -> None:
        self.free = [Buffer(0x10000 * (index + 1)) for index in range(buffers)]
        self.new = [(True, buffer.address, 65536) for buffer in self.free]
        self.size, self.batches, self.fail_at = buffers, batches, set(fail_at)
        self.taken = self.early = self.asked = 0

    def next(self) -> Batch | None:
        self.asked += 1
        if self.taken in self.fail_at:
            self.fail_at.remove(self.taken)
            raise OSError(f"batch {self.taken} cannot be read")
        if self.taken == self.batches:
            return None
        if not self.free:
            raise MemoryError("the caller holds all buffers")
        self.taken += 1
        # The one that came back last: the first that a late copy would read.
        return Batch(self, self.free.pop(), self.taken - 1)

    def put_back(self, buffer: Buffer) -> None:
        self.early += buffer.readers > 0
        buffer.value = POISON
        self.free.append(buffer)

    def events(self) -> list[tuple[bool, int, int]]:
        events, self.new = self.new, []
        return events


class Tensor:
    """A tensor on the fake device: its content comes when its copy finishes."""

    def __init__(self, source: Buffer, left: int) -> None:
        self.source: Buffer | None = source
        self.left, self.content, self.waited = left, POISON, False
        source.readers += 1

    def finish(self) -> None:
        if self.source is not None:
            self.content, self.source.readers, self.source = self.source.value, self.source.readers - 1, None


class LateEvent:
    def __init__(self, device: LateDevice, covers: list[Tensor]) -> None:
        self.device, self.covers = device, covers

    def query(self) -> bool:
        self.device.pass_time()
        return all(tensor.source is None for tensor in self.covers)

    def synchronize(self) -> None:
        self.device.waits += 1
        for tensor in self.covers:
            tensor.finish()


class LateDevice:
    """Copies finish after a random number of ticks, in any order; every call is a tick."""

    def __init__(self, seed: int, most_ticks: int = 40) -> None:
        self.random, self.most_ticks = random.Random(seed), most_ticks
        self.begun: list[Tensor] = []
        self.copying: list[Tensor] = []
        self.locks: list[tuple[str, int]] = []
        self.waits = self.copies = self.out_of_order = 0
        self.fail_copies: set[int] = set()

    def pass_time(self) -> None:
        for tensor in self.copying:
            tensor.left -= 1
        late = [tensor.left > 0 for tensor in self.copying]
        # A copy that finishes before one that began earlier.
        self.out_of_order += late != sorted(late)
        for tensor in [tensor for tensor in self.copying if tensor.left <= 0]:
            tensor.finish()
        self.copying = [tensor for tensor in self.copying if tensor.source is not None]

    def copy(self, array: Any) -> Tensor:
        self.pass_time()
        self.copies += 1
        if self.copies in self.fail_copies:
            raise RuntimeError("CUDA out of memory")
        tensor = Tensor(array.buffer, self.random.randint(1, self.most_ticks))
        self.begun.append(tensor)
        self.copying.append(tensor)
        return tensor

    def record(self) -> LateEvent:
        covers, self.begun = self.begun, []
        return LateEvent(self, covers)

    def wait(self, event: Any, tensors: Sequence[Tensor]) -> None:
        assert all(tensor in event.covers for tensor in tensors), "the event of another batch"
        for tensor in tensors:
            tensor.waited = True

    def lock(self, address: int, nbytes: int) -> None:
        assert nbytes == 65536
        self.locks.append(("lock", address))

    def unlock(self, address: int) -> None:
        assert all(tensor.source is None for tensor in self.copying), "unlocked under a running copy"
        self.locks.append(("unlock", address))

    def finish_all(self) -> None:
        for tensor in self.copying:
            tensor.finish()


class DropsAtOnce(HostBuffers[Tensor]):
    """The twin without events: a batch returns once its copy has begun."""

    def copy(self, batch: Any) -> Any:
        copied = super().copy(batch)
        self._running.clear()
        return copied


def faults(make: Callable[[LateDevice], HostBuffers[Tensor]], batches: int, seed: int) -> list[str]:
    """Copies ``batches`` batches and says what went wrong."""
    device, ring = LateDevice(seed), Ring(buffers=MOST_RUNNING + 1, batches=batches)
    taken: list[tuple[Tensor, Tensor | None, str]] = list(CopyAhead(ring.next, make(device), depth=2))
    device.finish_all()
    found = []
    if ring.early:
        found.append(f"{ring.early} buffers returned under a running copy")
    for number, (images, labels, state) in enumerate(taken):
        tensors = [images] if labels is None else [images, labels]
        if [tensor.content for tensor in tensors] != [number, -number][: len(tensors)] or state != f"after {number}":
            found.append(f"batch {number}: {images.content}, {state}")
        if not all(tensor.waited for tensor in tensors):
            found.append(f"batch {number}: nothing waits for its copy")
    if len(taken) != batches:
        found.append(f"{len(taken)} batches")
    if len(ring.free) != ring.size:
        found.append(f"{ring.size - len(ring.free)} buffers are missing")
    if not device.out_of_order:
        found.append("all copies finished in order: this device shows nothing")
    return found


@pytest.mark.parametrize("seed", range(3))
def test_no_buffer_returns_before_its_event(seed: int) -> None:
    assert faults(HostBuffers, 1000, seed) == []


def test_a_twin_without_the_event_fails() -> None:
    found = faults(DropsAtOnce, 1000, 0)
    assert any("returned under a running copy" in fault for fault in found), found
    assert sum(fault.startswith("batch ") and "after" in fault for fault in found) > 100, found[:5]


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_depth(depth: int) -> None:
    ring = Ring(buffers=3, batches=20)
    copies = CopyAhead(ring.next, HostBuffers(LateDevice(1)), depth)
    for number, (_, _, state) in enumerate(copies):
        assert ring.taken == min(number + 1 + depth, 20)
        # What is ahead is not in the state.
        assert state == copies.last_state == f"after {number}"
    assert next(copies, None) is None, "the end stays the end"


def test_few_copies_run_at_once() -> None:
    device, ring = LateDevice(2, most_ticks=10**9), Ring(buffers=MOST_RUNNING, batches=50)
    buffers = HostBuffers(device)
    for _ in CopyAhead(ring.next, buffers, depth=6):
        assert buffers.running <= MOST_RUNNING
    # Each of them had to be waited for, and the end waits for the last ones.
    assert device.waits >= 50 and len(ring.free) == MOST_RUNNING


def test_a_batch_on_the_device_does_not_wait_for_a_slow_source() -> None:
    ring, is_ready = Ring(buffers=3, batches=6), False
    copies = CopyAhead(ring.next, HostBuffers(LateDevice(3)), depth=2, ready=lambda: is_ready)
    next(copies)
    assert ring.asked == 1, "only what is due is waited for"
    is_ready = True
    next(copies)
    assert ring.asked == 4
    is_ready = False
    assert [next(copies)[2] for _ in range(2)] == ["after 2", "after 3"] and ring.asked == 4
    assert [state for _, _, state in copies] == ["after 4", "after 5"]


def test_exceptions_come_in_their_place() -> None:
    ring = Ring(buffers=3, batches=8, fail_at=[0, 5])
    copies = CopyAhead(ring.next, HostBuffers(LateDevice(4)), depth=2)
    with pytest.raises(OSError, match="batch 0"):
        next(copies)
    assert copies.last_state is None
    assert [next(copies)[2] for _ in range(5)] == [f"after {number}" for number in range(5)]
    asked = ring.asked
    with pytest.raises(OSError, match="batch 5"):
        next(copies)
    assert copies.last_state == "after 4" and ring.asked == asked, "nothing is taken behind an error that is due"
    assert [state for _, _, state in copies] == ["after 5", "after 6", "after 7"]
    assert len(ring.free) == 3


def test_a_failed_copy_is_made_again() -> None:
    # The images of batch 2 fail after its labels began: their copy runs, and no event was recorded yet.
    device, ring = LateDevice(5), Ring(buffers=4, batches=6)
    device.fail_copies = {5}
    copies = CopyAhead(ring.next, HostBuffers(device), depth=1)
    states = [next(copies)[2] for _ in range(2)]
    with pytest.raises(RuntimeError, match="out of memory"):
        next(copies)
    taken = list(copies)
    device.finish_all()
    assert states + [state for _, _, state in taken] == [f"after {number}" for number in range(6)]
    assert [images.content for images, _, _ in taken] == [2, 3, 4, 5]
    assert not ring.early and len(ring.free) == 4


class Interrupted(LateDevice):
    """Ctrl-C comes once, after a copy began and instead of its event."""

    def record(self) -> LateEvent:
        if self.copies == 5:
            self.copies += 1
            raise KeyboardInterrupt
        return super().record()


def test_an_interrupt_loses_no_batch_and_no_buffer() -> None:
    device, ring = Interrupted(6), Ring(buffers=4, batches=6)
    copies = CopyAhead(ring.next, HostBuffers(device), depth=0)
    taken = [next(copies) for _ in range(2)]
    with pytest.raises(KeyboardInterrupt):
        next(copies)
    taken += list(copies)
    device.finish_all()
    assert [images.content for images, _, _ in taken] == list(range(6))
    assert not ring.early and len(ring.free) == 4


def test_an_interrupted_source_is_asked_again() -> None:
    ring = Ring(buffers=3, batches=4)
    signals = [False, False, True]

    def source() -> Batch | None:
        if signals and signals.pop(0):
            raise KeyboardInterrupt
        return ring.next()

    copies = CopyAhead(source, HostBuffers(LateDevice(7)), depth=2)
    with pytest.raises(KeyboardInterrupt):
        next(copies)
    assert copies.last_state is None, "two batches are ahead, none was handed out"
    assert [state for _, _, state in copies] == [f"after {number}" for number in range(4)]


def test_close_in_the_middle() -> None:
    device, ring = LateDevice(8, most_ticks=10**9), Ring(buffers=3, batches=100)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers, depth=2)
    taken = [next(copies) for _ in range(10)]
    assert buffers.running > 0
    copies.close()
    assert buffers.running == 0 and len(ring.free) == 3 and not ring.early
    assert [images.content for images, _, _ in taken] == list(range(10))
    assert copies.last_state == "after 9"
    with pytest.raises(RunError, match="has ended"):
        next(copies)
    copies.close()


def test_a_dropped_iteration_keeps_its_buffers_until_the_copies_end() -> None:
    device, ring = LateDevice(9, most_ticks=10**9), Ring(buffers=4, batches=100)
    buffers = HostBuffers(device, ring.events)
    first = next(CopyAhead(ring.next, buffers, depth=2))
    assert buffers.running > 0 and not ring.early
    rest = CopyAhead(ring.next, buffers, depth=2)
    assert next(rest)[2] == "after 3", "another run goes on with the same buffers"
    rest.close()
    assert first[0].content == 0 and not ring.early and len(ring.free) == 4


def test_a_buffer_is_locked_once() -> None:
    device, ring = LateDevice(10), Ring(buffers=3, batches=30)
    buffers = HostBuffers(device, ring.events)
    addresses = {buffer.address for buffer in ring.free}
    for _ in range(3):
        ring.taken = 0
        for number, _ in enumerate(CopyAhead(ring.next, buffers)):
            if number == 10 and ring.size == 3:
                # The ring grows: a new buffer, and its event before the first batch in it.
                ring.size += 1
                ring.free.append(Buffer(0x90000))
                ring.new.append((True, 0x90000, 65536))
    assert len(device.locks) == 4
    assert set(device.locks) == {("lock", address) for address in addresses | {0x90000}}
    # A buffer that was freed, and another one at its address.
    ring.new += [(False, 0x90000, 65536), (True, 0x90000, 65536)]
    device.locks.clear()
    buffers.lock()
    assert device.locks == [("unlock", 0x90000), ("lock", 0x90000)]


def test_unlocking_waits_for_the_copies() -> None:
    # The device asserts that nothing is unlocked under a copy.
    device, ring = LateDevice(11, most_ticks=10**9), Ring(buffers=3, batches=30)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers)
    next(copies)
    device.locks.clear()
    assert buffers.running
    buffers.unlock()
    assert sorted(device.locks) == [("unlock", address) for address in (0x10000, 0x20000, 0x30000)]
    next(copies)
    assert device.locks[3:] == [("lock", address) for _, address in device.locks[3:]] and len(device.locks) == 6


def test_locks_go_before_the_loader_also_in_a_cycle() -> None:
    order: list[str] = []

    # Not tracked by the collector, as the native loader's memory: it goes when what refers to it is cleared.
    memory: list[Any] = [compile("0", "memory", "eval")]
    weakref.finalize(memory[0], order.append, "freed")

    class Loader:
        def __init__(self) -> None:
            self.ring, self.memory = Ring(buffers=3, batches=30), memory.pop()
            self.buffers: HostBuffers[Tensor] | None = None

        def events(self) -> list[tuple[bool, int, int]]:
            return self.ring.events()

    class Logs(LateDevice):
        def unlock(self, address: int) -> None:
            order.append("unlocked")
            super().unlock(address)

    loader = Loader()
    loader.buffers = HostBuffers(Logs(12, most_ticks=10**9), loader.events)
    copies = CopyAhead(loader.ring.next, loader.buffers)
    next(copies)
    del loader, copies
    gc.collect()
    assert order == ["unlocked"] * 3 + ["freed"]


def test_the_logic_needs_no_torch() -> None:
    code = "import sys, gpufeed.copies; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
