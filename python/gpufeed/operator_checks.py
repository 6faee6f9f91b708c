"""Checks of a list's operators: whether each works in its place, on 8-bit numbers or floats, and with its numbers."""

from __future__ import annotations

import json
import re
from typing import Any

import torch

from gpufeed import _gpufeed, timm_policies
from gpufeed.errors import ArgumentError
from gpufeed.operators import Operator, Refused, numbers
from gpufeed.own_code import OnBatch, OnSample
from gpufeed.refused_transforms import UnsupportedTransform

# The operators whose bicubic interpolation is that of a warp.
WARPS = ("AugMix", "AutoAugment", "RandAugment", "RandomAffine", "RandomRotation", "TrivialAugmentWide")


def check_within(transform: Any, place: str) -> None:
    """Refuses what has no meaning inside of a transform that runs in Python as a whole: code for batches, and what on_sample says of the
    images behind it."""
    if type(transform) is OnBatch:
        raise UnsupportedTransform(place, "on_batch", "works as the last one of a loader's own list, or of a group's")
    if type(transform) is OnSample:
        name = "size" if transform.size is not None else "makes_floats" if transform.makes_floats else None
        if name is not None:
            reason = f"has {name}=, which says what follows the list itself; give it to the whole: gpufeed.on_sample(v2.RandomApply([...]), {name}=...)"
            raise UnsupportedTransform(place, "on_sample", reason)
        return
    held = isinstance(transform, (list, tuple, torch.nn.Sequential, torch.nn.ModuleList))
    inner = transform if held else getattr(transform, "transforms", ())
    for index, each in enumerate(inner if held or isinstance(inner, (list, tuple, torch.nn.ModuleList)) else ()):
        check_within(each, f"{place}[{index}]" if held else f"{place}.transforms[{index}]")


def check(made: Operator, is_float: bool) -> None:
    """Validates the operator in Rust, and adds the place in the list to its error."""
    try:
        _gpufeed.recipe_toml(json.dumps({"semantics": "Float" if is_float else "Uint8", "transform": [made]}))
    except ArgumentError as error:
        raise Refused(re.sub(r"^recipe: (line \d+(, \w+)?: )?", "", str(error))) from None


def check_range(made: Operator, is_float: bool) -> None:
    """Refuses an operator in the wrong place: some work on floats alone, some on 8-bit numbers, in torchvision, too."""
    name = made["type"]
    if is_float and (name == "JPEG" or name in timm_policies.NAMES.values()):
        raise Refused("it needs 8-bit images; put it before ToDtype")
    if is_float and name in WARPS and made.get("interpolation") == "Bicubic":
        raise Refused("bicubic warps are Pillow's and need 8-bit images; put them before ToDtype or ToTensor")
    if is_float:
        return
    for key in ("fill", "value"):
        given = made.get(key)
        outside = (
            [number for number in numbers(given) if not 0 <= number <= 255] if isinstance(given, (float, list)) else []
        )
        if outside:
            raise Refused(f"{key}: {outside[0]:g}; 0 to 255 work on 8-bit images")
    if name == "Normalize":
        raise Refused("it needs floats; put v2.ToDtype(torch.float32, scale=True) before it")
    if name == "RandomErasing" and made["value"] == "random":
        raise Refused("value='random' needs floats; put it after v2.ToDtype(torch.float32, scale=True)")
    if name == "RandomErasing" and made["value"] == "random_color":
        raise Refused("mode='rand' needs floats; put it after v2.ToDtype(torch.float32, scale=True)")
    if name == "GaussianNoise" and not made["clip"]:
        raise Refused("clip=False lets 8-bit numbers overflow in torchvision; clip=True works, or put it after ToDtype")
