"""Converts timm's own transforms that ``timm.data.create_transform`` makes by default. They are torchvision's under
other names."""

from __future__ import annotations

import math
import sys
from typing import Any

from gpufeed.operators import Operator, Refused, interpolation_mode, numbers, size

# Transforms that only change the type of the object that holds the pixels.
DROPPED = ("MaybePILToTensor", "ToNumpy")
NAMES = ("MaybeToTensor", "RandomErasing", "RandomResizedCropAndInterpolation")


def name_of(transform: Any) -> str | None:
    """Returns the name of the transform's class, if it is exactly one of timm's classes that are known here."""
    # Does not import timm: a list without its transforms does not need it.
    for module in ("timm.data.transforms", "timm.data.random_erasing"):
        name = type(transform).__name__
        if module in sys.modules and type(transform) is getattr(sys.modules[module], name, None):
            return name if name in (*DROPPED, *NAMES) else None
    return None


def convert(transform: Any, name: str) -> Operator:
    """Converts one of timm's transforms to an operator of a recipe."""
    return _random_erasing(transform) if name == "RandomErasing" else _random_resized_crop(transform)


def _random_resized_crop(transform: Any) -> Operator:
    several = (
        transform.interpolation if isinstance(transform.interpolation, (tuple, list)) else [transform.interpolation]
    )
    made: Operator = {"type": "RandomResizedCrop", "size": size(transform.size)}
    made |= {"scale": numbers(transform.scale), "ratio": numbers(transform.ratio)}
    # The transform works on Pillow's images, which are always antialiased.
    crops = [made | {"interpolation": interpolation_mode(each), "antialias": True} for each in several]
    # interpolation="random" draws one of two for each image.
    return crops[0] if len(crops) == 1 else {"type": "RandomChoice", "transforms": crops}


def _random_erasing(transform: Any) -> Operator:
    if transform.mode == "rand":
        raise Refused("mode='rand' is not supported; 'pixel' and 'const' are")
    if (transform.min_count, transform.max_count) != (1, 1):
        raise Refused("it erases several rectangles of an image; one (min_count=max_count=1) is supported")
    # timm stores logarithms. 12 digits leave out their rounding.
    ratio = [float(f"{math.exp(bound):.12g}") for bound in transform.log_aspect_ratio]
    made: Operator = {"type": "RandomErasing", "p": float(transform.probability)}
    made |= {"scale": [float(transform.min_area), float(transform.max_area)], "ratio": ratio}
    return made | {"value": "random" if transform.mode == "pixel" else 0.0}
