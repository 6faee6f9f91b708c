"""A device whose copies finish late and in any order, and a ring that reuses buffers.

A fake copy reads the host buffer when it *finishes*, as a bus does, and a buffer is poisoned as it returns: a buffer
that returns under a running copy gives wrong content."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

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
        self._object_field = None

    def __del__(self) -> None:
        self._ring.put_back(self._buffer)


class Ring:
    """A loader's ring with few buffers: like the native one it fails if the caller holds all of them."""

    def __init__(self, buffers: int, batches: int, fail_at: Sequence[int] = ()) -> None:
        self.free = [Buffer(0x10000 * (index + 1)) for index in range(buffers)]
        self.new = [(True, buffer.address, 65536) for buffer in self.free]
        self.size, self.batches, self.fail_at = buffers, batches, set(fail_at)
        self.taken = self.early = self.asked = self.freed_locked = 0
        self.broken: list[Buffer] = []
        # The one that came back last: the first that a late copy would read.
        self.next_free = -1
        self.locked: Callable[[], Sequence[int]] = tuple

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
        return Batch(self, self.renew(self.free.pop(self.next_free), self.locked()), self.taken - 1)

    def put_back(self, buffer: Buffer) -> None:
        self.early += buffer.readers > 0
        buffer.value = POISON
        self.free.append(buffer)

    def events(self) -> list[tuple[bool, int, int]]:
        events, self.new = self.new, []
        return events

    def stop(self) -> None:
        """Ends a run within a batch: the buffers that it was filling have lost parts, and the next run, as it comes to
        one, frees it and allocates another."""
        self.broken = list(self.free)

    def renew(self, buffer: Buffer, locked: Sequence[int]) -> Buffer:
        if buffer not in self.broken:
            return buffer
        self.broken.remove(buffer)
        self.freed_locked += buffer.address in locked
        new = Buffer(buffer.address + 0x100000)
        self.new += [(True, new.address, 65536), (False, buffer.address, 65536)]
        return new


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
        self.locked: set[int] = set()
        # Noted, not raised: nobody hears of an exception in `__del__`.
        self.wrong_unlocks = 0
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
        self.locked.add(address)

    def unlock(self, address: int) -> None:
        self.wrong_unlocks += address not in self.locked or any(tensor.source is not None for tensor in self.copying)
        self.locks.append(("unlock", address))
        self.locked.discard(address)

    def finish_all(self) -> None:
        for tensor in self.copying:
            tensor.finish()
