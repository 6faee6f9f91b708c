"""Page-locks: a buffer of the ring gets one once, and loses it under no running copy and before it is freed."""

from __future__ import annotations

import gc
import random
import struct
import weakref
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

import gpufeed
from gpufeed.copies import CopyAhead
from gpufeed.host_buffers import HostBuffers
from late_device import Buffer, LateDevice, LateEvent, Ring, Tensor


def test_a_buffer_is_locked_once() -> None:
    device, ring = LateDevice(10), Ring(buffers=3, batches=30)
    ring.next_free = 0
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
    buffers.lock(0x90000)
    assert device.locks == [("unlock", 0x90000), ("lock", 0x90000)]


def test_only_the_ring_is_locked_and_only_what_is_copied() -> None:
    device, ring = LateDevice(13), Ring(buffers=3, batches=1)
    buffers = HostBuffers(device, ring.events)
    # Memory outside the ring: a batch that a GPU backend has read back.
    buffers.lock(0x77000)
    assert device.locks == []
    next(CopyAhead(ring.next, buffers))
    assert device.locks == [("lock", 0x30000)], "the buffer of the one batch"


@pytest.mark.parametrize("fails", [False, True])
def test_no_buffer_is_freed_while_it_is_locked(fails: bool) -> None:
    device, ring = LateDevice(14), Ring(buffers=4, batches=1000)
    ring.locked = lambda: tuple(device.locked)
    buffers = HostBuffers(device, ring.events)
    for _ in range(20):
        if fails:
            ring.fail_at = {ring.taken + 3}
        copies = CopyAhead(ring.next, buffers, depth=1)
        for _ in range(3):
            next(copies)
        if fails:
            with pytest.raises(OSError):
                next(copies)
            # The native run has ended with its error.
            ring.batches, batches = ring.taken, ring.batches
            assert list(copies) == []
            ring.batches = batches
        copies.close()
        assert device.locked == set(), "the next run may free any of them"
        # What is closed again later, by whoever has it, takes no locks from a newer run.
        ring.stop()
        newer = CopyAhead(ring.next, buffers, depth=0)
        next(newer)
        assert device.locked
        copies.close()
        assert device.locked
        newer.close()
        ring.stop()
    assert ring.freed_locked == 0 and not ring.early and not device.wrong_unlocks


def test_what_ends_a_run_as_itself_leaves_no_locks() -> None:
    device, ring = LateDevice(16), Ring(buffers=4, batches=1000)
    buffers = HostBuffers(device, ring.events)

    def source() -> Any:
        if ring.taken == 3:
            # As a data set ends its run; nothing comes after that.
            ring.batches = ring.taken
            ring.taken += 1
            raise SystemExit(3)
        return ring.next() if ring.taken < ring.batches else None

    copies = CopyAhead(source, buffers, depth=1)
    with pytest.raises(SystemExit):
        list(copies)
    list(copies)
    copies.close()
    assert device.locked == set(), "the next run may free any of them"


def png(side: int) -> bytes:
    """A picture that takes a while to decode."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + random.Random(row).randbytes(3 * side) for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


class Pictures:
    def __init__(self, length: int) -> None:
        self.length, self.file = length, png(200)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        return self.file, index


class Counts:
    """A device that only knows what is locked."""

    def __init__(self) -> None:
        self.locked: set[int] = set()

    def copy(self, array: Any) -> int:
        return int(array.data_ptr)

    def record(self) -> LateEvent:
        return LateEvent(LateDevice(0), [])

    def wait(self, event: Any, tensors: Sequence[int]) -> None:
        pass

    def lock(self, address: int, nbytes: int) -> None:
        assert address % 4096 == nbytes % 4096 == 0
        self.locked.add(address)

    def unlock(self, address: int) -> None:
        self.locked.remove(address)


def test_the_native_ring_frees_no_buffer_that_is_locked() -> None:
    recipe = {"transform": [{"type": "RandomResizedCrop", "size": 160}]}
    loader = gpufeed.DataLoader(Pictures(256), recipe=recipe, batch_size=16, workers=2)
    native, device = loader._native, Counts()
    seen = {"freed": 0, "freed while locked": 0, "locked": 0}

    def events() -> list[tuple[bool, int, int]]:
        events = native.buffer_events()
        for made, address, _ in events:
            seen["freed"] += not made
            seen["freed while locked"] += not made and address in device.locked
        return events

    buffers = HostBuffers(device, events)
    # A run that is stopped while its threads fill a batch: which of them did, is up to the threads.
    for epoch in range(50):
        run = native.epochs(epoch, epoch + 1)
        copies = CopyAhead(run.next, buffers, 1, run.ready)
        for _ in range(3):
            next(copies)
        seen["locked"] += len(device.locked)
        copies.close()
        run.close()
        if seen["freed"] >= 5:
            break
    buffers.close()
    loader.close()
    assert seen["freed"] >= 5 and seen["locked"] > 0, f"nothing was shown: {seen}"
    assert seen["freed while locked"] == 0 and not device.locked, seen


def test_a_run_that_came_to_its_end_leaves_the_locks() -> None:
    device, ring = LateDevice(15), Ring(buffers=3, batches=10)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers)
    assert len(list(copies)) == 10
    copies.close()
    assert device.locked and not any(lock == "unlock" for lock, _ in device.locks)


def test_unlocking_waits_for_the_copies() -> None:
    device, ring = LateDevice(11, most_ticks=10**9), Ring(buffers=3, batches=30)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers)
    next(copies)
    locked = set(device.locked)
    device.locks.clear()
    assert buffers.running and locked
    buffers.unlock()
    assert set(device.locks) == {("unlock", address) for address in locked} and not device.locked
    assert device.wrong_unlocks == 0, "unlocked under a running copy"
    next(copies)
    assert device.locked, "the next copies lock again"


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

    loader, device = Loader(), Logs(12, most_ticks=10**9)
    loader.buffers = HostBuffers(device, loader.events)
    copies = CopyAhead(loader.ring.next, loader.buffers)
    next(copies)
    locked = len(device.locked)
    del loader, copies
    gc.collect()
    assert locked and order == ["unlocked"] * locked + ["freed"] and not device.wrong_unlocks
