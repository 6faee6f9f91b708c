"""The hand-over to a device: one whose copies finish late and in any order, and a ring that reuses buffers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gpufeed.copies import MOST_RUNNING, CopyAhead, images_and_labels
from gpufeed.host_buffers import HostBuffers
from gpufeed.errors import RunError
from gpufeed.handover import HandOver, Host
from late_device import Batch, LateDevice, LateEvent, Ring, Tensor


class DropsAtOnce(HostBuffers[Tensor]):
    """The twin without events: a batch returns once its copy has begun."""

    def copy(self, batch: Any, arrays: Any) -> Any:
        copied = super().copy(batch, arrays)
        self._running.clear()
        return copied


def faults(make: Callable[[LateDevice], HostBuffers[Tensor]], batches: int, seed: int) -> list[str]:
    """Copies ``batches`` batches and says what went wrong."""
    device, ring = LateDevice(seed), Ring(buffers=MOST_RUNNING + 1, batches=batches)
    taken: list[tuple[Any, str]] = list(CopyAhead(ring.next, make(device), depth=2))
    device.finish_all()
    found = []
    if ring.early:
        found.append(f"{ring.early} buffers returned under a running copy")
    for number, ((images, labels), state) in enumerate(taken):
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
    for number, (_, state) in enumerate(copies):
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
    assert [next(copies)[1] for _ in range(2)] == ["after 2", "after 3"] and ring.asked == 4
    assert [state for _, state in copies] == ["after 4", "after 5"]


def test_exceptions_come_in_their_place() -> None:
    ring = Ring(buffers=3, batches=8, fail_at=[0, 5])
    copies = CopyAhead(ring.next, HostBuffers(LateDevice(4)), depth=2)
    with pytest.raises(OSError, match="batch 0"):
        next(copies)
    assert copies.last_state is None
    assert [next(copies)[1] for _ in range(5)] == [f"after {number}" for number in range(5)]
    asked = ring.asked
    with pytest.raises(OSError, match="batch 5"):
        next(copies)
    assert copies.last_state == "after 4" and ring.asked == asked, "nothing is taken behind an error that is due"
    assert [state for _, state in copies] == ["after 5", "after 6", "after 7"]
    assert len(ring.free) == 3


def test_a_failed_copy_is_made_again() -> None:
    # The images of batch 2 fail after its labels began: their copy runs, and no event was recorded yet.
    device, ring = LateDevice(5), Ring(buffers=4, batches=6)
    device.fail_copies = {5}
    copies = CopyAhead(ring.next, HostBuffers(device), depth=1)
    states = [next(copies)[1] for _ in range(2)]
    with pytest.raises(RuntimeError, match="out of memory"):
        next(copies)
    taken = list(copies)
    device.finish_all()
    assert states + [state for _, state in taken] == [f"after {number}" for number in range(6)]
    assert [images.content for (images, _), _ in taken] == [2, 3, 4, 5]
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
    assert [images.content for (images, _), _ in taken] == list(range(6))
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
    assert [state for _, state in copies] == [f"after {number}" for number in range(4)]


def test_an_interrupt_of_collating_loses_no_batch() -> None:
    device, ring = LateDevice(9), Ring(buffers=4, batches=6)
    calls: list[Any] = []

    def parts(batch: Any) -> Any:
        calls.append(batch.state)
        if len(calls) == 3:
            raise KeyboardInterrupt
        if batch.state == "after 4":
            raise TypeError("no labels that can be collated")
        return images_and_labels(batch)

    copies = CopyAhead(ring.next, HostBuffers(device), depth=1, parts=parts)
    states = [next(copies)[1]]
    with pytest.raises(KeyboardInterrupt):
        next(copies)
    states += [next(copies)[1] for _ in range(3)]
    with pytest.raises(TypeError, match="no labels"):
        next(copies)
    states += [state for _, state in copies]
    assert states == [f"after {number}" for number in (0, 1, 2, 3, 5)] and not ring.early and len(ring.free) == 4


def test_an_interrupt_of_collating_loses_no_batch_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    due: list[BaseException | None] = [None, KeyboardInterrupt(), None, TypeError("labels"), None]

    def parts(_: HandOver) -> Any:
        def divide(batch: Any) -> Any:
            error = due.pop(0)
            if error is not None:
                raise error
            return [], lambda _: batch.state

        return divide

    monkeypatch.setattr(HandOver, "begin", parts)
    ring = Ring(buffers=4, batches=4)
    host = Host(ring, HandOver())  # type: ignore[arg-type]
    states = [host()[1]]
    with pytest.raises(KeyboardInterrupt):
        host()
    states.append(host()[1])
    with pytest.raises(TypeError, match="labels"):
        host()
    states.append(host()[1])
    with pytest.raises(StopIteration):
        host()
    assert states == ["after 0", "after 1", "after 3"]


def test_close_in_the_middle() -> None:
    device, ring = LateDevice(8, most_ticks=10**9), Ring(buffers=3, batches=100)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers, depth=2)
    taken = [next(copies) for _ in range(10)]
    assert buffers.running > 0
    copies.close()
    assert buffers.running == 0 and len(ring.free) == 3 and not ring.early and not device.wrong_unlocks
    assert [images.content for (images, _), _ in taken] == list(range(10))
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
    assert next(rest)[1] == "after 3", "another run goes on with the same buffers"
    rest.close()
    assert first[0][0].content == 0 and not ring.early and len(ring.free) == 4


def test_after_a_fork_the_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    device, ring = LateDevice(16, most_ticks=10**9), Ring(buffers=3, batches=10)
    buffers = HostBuffers(device, ring.events)
    copies = CopyAhead(ring.next, buffers)
    next(copies)
    with monkeypatch.context() as child:
        # Any call of the device would be an error of CUDA's in the child.
        child.setattr(buffers, "device", None)
        process = os.getpid()
        child.setattr(os, "getpid", lambda: process + 1)
        text = f"belongs to process {process}, .* to process {process + 1}; .*spawn"
        with pytest.raises(RunError, match=text) as raised:
            next(copies)
        assert raised.value.kind == "Fork"
        running, waits = buffers.running, device.waits
        copies.close()
        buffers.unlock()
        buffers.close()
        assert buffers.running == running > 0 and device.waits == waits
    # The parent's are as they were.
    buffers.close()
    assert device.locks and not device.locked and not device.wrong_unlocks and not ring.early


def test_the_logic_needs_no_torch() -> None:
    code = "import sys, gpufeed.copies; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
