"""Converts timm's own transforms that ``timm.data.create_transform`` makes: some are torchvision's under other names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gpufeed import timm_policies
from gpufeed.operators import Operator
from gpufeed.timm_erasing import random_erasing
from gpufeed.timm_geometry import GEOMETRY

# The converters by the names of timm's classes.
_OPERATORS: dict[str, Callable[[Any], Operator]] = {
    **GEOMETRY,
    **dict.fromkeys(timm_policies.NAMES, timm_policies.convert),
    "RandomErasing": random_erasing,
}

# Transforms that only change the type of the object that holds the pixels.
DROPPED = ("MaybePILToTensor", "ToNumpy")
NAMES = ("MaybeToTensor", *_OPERATORS)


def name_of(transform: Any) -> str | None:
    """Returns the name of the transform's class, if it is exactly one of timm's classes that are known here."""
    # Does not import timm: a list without its transforms does not need it.
    for module in ("timm.data.transforms", "timm.data.random_erasing", timm_policies.MODULE):
        name = type(transform).__name__
        if module in sys.modules and type(transform) is getattr(sys.modules[module], name, None):
            return name if name in (*DROPPED, *NAMES) else None
    return None


def convert(transform: Any, name: str) -> Operator:
    """Converts one of timm's transforms to an operator of a recipe."""
    return _OPERATORS[name](transform)
