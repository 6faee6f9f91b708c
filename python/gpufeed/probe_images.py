"""The images with which code of a user's own is tried, and a trial with one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import PIL.Image
import torch

from gpufeed.draws import Draws

# Seconds of a call with the smallest probe, behind which a trial of so many calls would hold up the program.
LONGEST_CALL = 0.5
# How often a function is called with the smallest probe: one that draws from a generator of its own differs now and then.
CALLS = 64
# Heights and widths of 8-bit probes. Functions treat small, large and long images each in another way.
SIZES = ((5, 7), (64, 6000), (900, 700), (3000, 4000))


class Raised(Exception):
    """User code raised: it is not for such images."""


class Unknown(Exception):
    """User code does what no known transform does."""


def noise(shape: tuple[int, ...]) -> torch.Tensor:
    """Returns 8-bit noise, the same each time."""
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def called(function: Callable[[Any], Any], image: Any, calls: int = 1) -> Any:
    """Returns what a function makes of an image. Random numbers, and results that differ, are unknown."""
    first: Any = None
    # A first call may import, or compile; a second one that takes as long will take so for every image.
    late = 0
    for seed in range(calls):
        with Draws(seed) as draws:
            began = time.monotonic()
            try:
                made = function(image.clone() if isinstance(image, torch.Tensor) else image.copy())
            except Exception as error:  # noqa: BLE001 - any error says that the code is not for such images
                raise Raised from error
            late += time.monotonic() - began > LONGEST_CALL
            if draws.drawn or (calls > 1 and late > 1):
                raise Unknown
        if isinstance(made, torch.Tensor) and made.device.type != "cpu":
            raise Unknown
        if seed == 0:
            first = made
        elif not (equal(made, first) or (isinstance(made, numpy.ndarray) and numpy.array_equal(made, first))):
            raise Unknown
    return first


def equal(one: Any, other: Any) -> bool:
    """True for two tensors, or two of Pillow's images, with the same pixels."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, PIL.Image.Image) and isinstance(other, PIL.Image.Image):
        return bool(one.mode == other.mode and one.size == other.size and one.tobytes() == other.tobytes())
    return False




def byte_images(of_pillow: bool) -> Iterator[Any]:
    """Yields images of several sizes, dark, bright, gray, uniform and with borders: Pillow's, or tensors."""
    for height, width in SIZES:
        yield image_of(noise((height, width, 3)), of_pillow)
    # Borders and uniform images, which some functions cut off.
    framed = noise((60, 80, 3))
    for filled in (framed // 10, 255 - framed // 10, framed[..., :1].repeat(1, 1, 3)):
        # Dark, bright and gray images, which some functions treat in another way.
        yield image_of(filled, of_pillow)
    for border in (0, 255):
        framed[:9], framed[:, -9:] = border, border
        yield image_of(framed, of_pillow)
        yield image_of(torch.full((20, 30, 3), border, dtype=torch.uint8), of_pillow)


def image_of(pixels: torch.Tensor, of_pillow: bool) -> Any:
    """Returns an image of rows, columns and channels: Pillow's, or a tensor."""
    if not of_pillow:
        return pixels.permute(2, 0, 1).contiguous()
    height, width, _ = pixels.shape
    return PIL.Image.frombytes("RGB", (width, height), pixels.numpy().tobytes())
