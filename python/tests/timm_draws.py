"""Draws of timm's policies, by timm's own objects and by gpufeed: lists of operations with their numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy
import timm.data.auto_augment as timms
from PIL import Image
from torchvision.transforms import v2

import gpufeed

# An operation of an image: its name, its number, its interpolation.
Drawn = tuple[str, float, str]


def operations(policy: Any) -> list[Any]:
    """The AugmentOps of a policy."""
    if isinstance(policy, timms.AutoAugment):
        return [op for ops in policy.policy for op in ops]
    return list(policy.ops) if hasattr(policy, "ops") else [policy]


def by_timm(policy: Any, count: int, seed: int) -> Iterator[list[Drawn]]:
    """Draws of timm's object, whose operations note their numbers instead of changing an image. The object is changed."""
    noted: list[Drawn] = []

    def noting(name: str) -> Any:
        def note(image: Any, *numbers: float, **kwargs: Any) -> Any:
            number = float(numbers[0]) if numbers else 0.0
            if name == "GaussianBlurRand":  # which draws inside its function
                number = random.uniform(0.1, 2.0 * number)
            noted.append((name, number, Image.Resampling(timms._interpolation(kwargs)).name.capitalize()))
            return image

        return note

    for op in operations(policy):
        op.aug_fn = noting(op.name)
    random.seed(seed)
    numpy.random.seed(seed)
    image = Image.new("RGB", (4, 4))
    for _ in range(count):
        noted.clear()
        policy(image)
        yield list(noted)


class _Small:
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return numpy.zeros((4, 4, 3), numpy.uint8), 0


def by_gpufeed(policy: Any, count: int, seed: int) -> Iterator[list[Drawn]]:
    """Draws of the converted object. The operations of a mixture's chains follow each other."""
    for params in parameters(policy, count, seed):
        yield [_noted(op) for op in params]


def parameters(policy: Any, count: int, seed: int) -> Iterator[list[dict[str, Any]]]:
    """The drawn operations of the converted object, with all their numbers."""
    for ops in emitted(policy, count, seed):
        chains = [chain for op in ops if "TimmMixture" in op for chain in op["TimmMixture"]["chains"]]
        yield [op["Timm"] for op in ([op for chain in chains for op in chain] if chains else ops) if "Timm" in op]


def emitted(policy: Any, count: int, seed: int) -> Iterator[list[dict[str, Any]]]:
    """The ops of each image, as ``batch.params`` has them."""
    loader = gpufeed.DataLoader(_Small(count), [policy, v2.CenterCrop(4)], batch_size=1000, seed=seed, shuffle=False)
    for batch in loader.batches():
        for params in batch.params:
            yield [each["op"] for each in json.loads(params)["ops"]]


def _noted(op: dict[str, Any]) -> Drawn:
    return op["id"], op["argument"], op["interpolation"]
