"""Tensors that outlive their batch in every way: on other threads, as views, in autograd's graph, without their loader."""

from __future__ import annotations

import faulthandler
import gc
import os
import queue
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import gpufeed  # noqa: E402
from gpufeed import _gpufeed  # noqa: E402
from pictures import NUMBERED, Numbered  # noqa: E402

BATCHES = 10_000 if "GPUFEED_FULL" in os.environ else 400
FLOATS = NUMBERED | {"output": {"layout": "Nchw", "dtype": "F32"}}


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """A hang ends the process with every thread's traceback."""
    faulthandler.dump_traceback_later(400, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def whole(images: Any, ids: list[int]) -> bool:
    """True if each image says its own number everywhere."""
    levels = (images * 255).round().int() if images.dtype == torch.float32 else images.int()
    expected = torch.tensor([[id % 256, id // 256, 7] for id in ids], dtype=torch.int32)
    return bool((levels == expected[:, :, None, None]).all())


class Elsewhere:
    """Threads that check what they are given after a while, and let go of it there."""

    def __init__(self, threads: int) -> None:
        self.given: queue.Queue[Any] = queue.Queue(maxsize=6)
        self.checked, self.torn = 0, 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(seed,)) for seed in range(threads)]
        for thread in self.threads:
            thread.start()

    def work(self, seed: int) -> None:
        numbers = random.Random(seed)
        while (item := self.given.get()) is not None:
            time.sleep(numbers.random() * 0.004)
            good = whole(*item)
            del item
            with self.lock:
                self.checked, self.torn = self.checked + 1, self.torn + (not good)

    def end(self) -> None:
        for _ in self.threads:
            self.given.put(None)
        for thread in self.threads:
            thread.join()


def test_no_batch_is_torn_and_every_buffer_returns() -> None:
    numbers = random.Random(1)
    # Buffers of 8 batches; of 16 that are held, some wait for it.
    made = gpufeed.DataLoader(Numbered(800), recipe=FLOATS, batch_size=16, shuffle=True, memory_budget="2M")
    elsewhere = Elsewhere(3)
    held: list[Any] = []
    weight = torch.ones(3, 6, 6, requires_grad=True)
    seen = 0
    while seen < BATCHES:
        for batch in made.batches():
            ids = batch.ids
            match numbers.randrange(5):
                case 0:
                    elsewhere.given.put((torch.from_dlpack(batch.images), ids))
                case 1:  # a view of a view
                    held.append((torch.from_dlpack(batch.images)[4:].flatten(2)[..., :6].unflatten(2, (1, 6)), ids[4:]))
                case 2:  # autograd keeps the images for the product's gradient
                    images = torch.from_dlpack(batch.images)
                    held.append(((images * weight).sum(), ids))
                    del images
                case 3:
                    batch.images.__dlpack__(max_version=(1, 3))  # a capsule that nobody takes
                case _:
                    assert whole(torch.from_dlpack(batch.images), ids)
            seen += 1
            del batch
            while len(held) > numbers.randrange(6):
                check(*held.pop(numbers.randrange(len(held))), weight)
    run = made.batches()
    last = torch.from_dlpack(next(run).images), next(run)
    # The loader goes first.
    made.close()
    del made, run
    gc.collect()
    elsewhere.end()
    while held:
        check(*held.pop(), weight)
    assert (elsewhere.torn, elsewhere.checked > BATCHES // 10) == (0, True)
    assert whole(torch.from_dlpack(last[1].images), last[1].ids)
    del last
    gc.collect()
    assert _gpufeed.open_runs() == 0


def check(kept: Any, ids: list[int], weight: Any) -> None:
    """The kept images still are those of their batch: looked at, or as the gradient of their weighted sum."""
    if not kept.requires_grad:
        assert whole(kept, ids)
        return
    weight.grad = None
    kept.backward()
    sums = torch.tensor([[id % 256, id // 256, 7] for id in ids], dtype=torch.float64).sum(0) / 255
    assert torch.allclose(weight.grad.double(), sums[:, None, None].expand(3, 6, 6), atol=1e-3)


def test_the_buffers_are_counted() -> None:
    """A buffer stays its tensors' while one lives; once all went, on another thread, epochs need no new one."""
    made = gpufeed.DataLoader(Numbered(64), recipe=FLOATS, batch_size=8)
    kept = [(torch.from_dlpack(batch.images)[1:], batch.ids[1:]) for batch in made.batches()][:3]
    gc.collect()

    def alive(before: set[int]) -> set[int]:
        for is_made, address, _ in made._native.buffer_events():
            before = before | {address} if is_made else before - {address}
        return before

    buffers = alive(set())
    assert buffers >= {images.untyped_storage().data_ptr() for images, _ in kept}
    for _ in range(10):
        for batch in made.batches():
            assert whole(torch.from_dlpack(batch.images), batch.ids)
    assert all(whole(*each) for each in kept)
    buffers = alive(buffers)
    released = threading.Thread(target=kept.clear)
    released.start()
    released.join()
    for _ in range(10):
        for batch in made.batches():
            assert whole(torch.from_dlpack(batch.images), batch.ids)
    assert not any(is_made for is_made, _, _ in made._native.buffer_events())
    made.close()
    assert _gpufeed.open_runs() == 0
