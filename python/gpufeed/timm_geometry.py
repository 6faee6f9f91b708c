"""timm's crops, resizes and borders as operators of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpufeed.operators import Operator, border, border_fill, interpolation_mode, numbers, size


def _interpolated(transform: Any, made: Operator) -> Operator:
    """Adds the filter. timm's transforms work on Pillow's images, which are always antialiased."""
    several = transform.interpolation if isinstance(transform.interpolation, (tuple, list)) else [transform.interpolation]
    each = [made | {"interpolation": interpolation_mode(mode), "antialias": True} for mode in several]
    # interpolation="random" draws one of two for each image.
    return each[0] if len(each) == 1 else {"type": "RandomChoice", "transforms": each}


def random_resized_crop(transform: Any) -> Operator:
    made: Operator = {"type": "RandomResizedCrop", "size": size(transform.size)}
    return _interpolated(transform, made | {"scale": numbers(transform.scale), "ratio": numbers(transform.ratio)})


def resize_keep_ratio(transform: Any) -> Operator:
    made: Operator = {"type": "ResizeKeepRatio", "size": size(transform.size), "longest": float(transform.longest)}
    for name in ("random_scale", "random_aspect"):
        probability = float(getattr(transform, f"{name}_prob"))
        # timm draws nothing at 0, whatever the range.
        if probability > 0:
            made |= {f"{name}_prob": probability, f"{name}_range": numbers(getattr(transform, f"{name}_range"))}
    return _interpolated(transform, made | {"random_scale_area": bool(transform.random_scale_area)})


def crop_or_pad(transform: Any) -> Operator:
    return {"type": type(transform).__name__, "size": size(transform.size)} | border(transform)


def random_pad(transform: Any) -> Operator:
    return {"type": "RandomPad", "size": size(transform.input_size), "fill": border_fill(transform)}


def trim_border(transform: Any) -> Operator:
    return {"type": "TrimBorder", "border_size": int(transform.border_size)}


# The converters by the names of timm's classes.
GEOMETRY: dict[str, Callable[[Any], Operator]] = {
    "CenterCropOrPad": crop_or_pad,
    "RandomCropOrPad": crop_or_pad,
    "RandomPad": random_pad,
    "RandomResizedCropAndInterpolation": random_resized_crop,
    "ResizeKeepRatio": resize_keep_ratio,
    "TrimBorder": trim_border,
}
