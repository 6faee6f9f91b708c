"""Images of different sizes in one batch: views of the memory that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The shape of the padded images, none where each has its own, and the shape of each.
Arranged = tuple[list[int], list[list[int]]]


def shown(arranged: Arranged | None) -> Callable[[Any], Any] | None:
    """Returns what makes images of a tensor of the memory that they share: a part of it where they are padded, a list of parts where
    each has a size of its own. None where all have one size."""
    if arranged is None:
        return None
    padded, _ = arranged
    if not padded:
        return lambda memory: each(memory, arranged)
    part = tuple(slice(length) for length in padded)
    return lambda memory: memory[part]


def each(memory: Any, arranged: Arranged) -> list[Any]:
    """Returns the images without padding."""
    padded, shapes = arranged
    if padded:
        return [image[tuple(slice(length) for length in shape)] for image, shape in zip(memory, shapes)]
    rows = (row.reshape(-1) for row in memory)
    return [row[: shape[0] * shape[1] * shape[2]].reshape(shape) for row, shape in zip(rows, shapes)]


def on_each(work: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """Returns ``work`` on a batch of images, done on each image of a list."""
    if work is None:
        return None
    return lambda images: [work(image[None])[0] for image in images] if isinstance(images, list) else work(images)
