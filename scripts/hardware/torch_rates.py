"""Rates of loops over batches on a device of torch, for `torch_rivals.py` and `torch_loader.py`."""

from __future__ import annotations

import json
import statistics
import time
from typing import Any, Callable, Dict, Iterator, List

import torch
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BATCH = 64
# Batches before the clock starts: a loader has some ready.
WARM = 6


def synchronize(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def recipe() -> List[v2.Transform]:
    """Training on ImageNet as torchvision's reference does it."""
    steps = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
    return [*steps, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


def endless(loader: Any) -> Iterator[torch.Tensor]:
    """The images of one epoch after the other, from the second one on: the first builds the seek indexes."""
    for _ in loader:
        pass
    # In a row, as an epoch of a few batches would end before its queue is full.
    for images, _labels in loader.epochs(range(1, 1 << 30)):
        yield images


def rate(
    batches: Iterator[torch.Tensor],
    seconds: float,
    device: str,
    step: Callable[[torch.Tensor], object] = lambda _: None,
) -> float:
    """Images a second, the device's work included."""
    for _ in range(WARM):
        step(next(batches))
    synchronize(device)
    images, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        batch = next(batches)
        step(batch)
        images += len(batch)
    synchronize(device)
    return images / (time.monotonic() - began)


def spread(runs: List[float]) -> Dict[str, object]:
    return {"median": statistics.median(runs), "min": min(runs), "max": max(runs), "runs": runs}


def report(says: List[str], failed: List[str], data: Dict[str, object]) -> None:
    """Prints what is known so far. The last line counts: a program that is stopped has said what it had."""
    print(f"RESULT {json.dumps({'says': says, 'failed': failed, **data})}", flush=True)
