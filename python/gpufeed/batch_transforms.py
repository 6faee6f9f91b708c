"""Transforms of batches as operators: torchvision's ``MixUp`` and ``CutMix``, alone and chosen at random, those of its references, and timm's."""

from __future__ import annotations

from typing import Any

import torchvision.transforms as v1
from torchvision.transforms import v2

from gpufeed import references_mixing, timm_mixing
from gpufeed.errors import ArgumentError
from gpufeed.operators import Operator, Refused, numbers
from gpufeed.refused_transforms import UnsupportedTransform

_NAMES = ("MixUp", "CutMix", "Identity", "RandomApply", "RandomChoice")


def convert(transform: Any, place: str) -> tuple[Operator, int | None]:
    """Converts a transform of batches. Returns its operator, and the number of classes that it names."""
    name = type(transform).__name__
    if type(transform) in (v2.MixUp, v2.CutMix):
        return {"type": name, "alpha": float(transform.alpha)}, transform.num_classes
    if type(transform) is v2.Identity:
        return {"type": "Identity"}, None
    if type(transform) is v2.RandomApply and len(transform.transforms) == 1:
        mixed, classes = convert(transform.transforms[0], f"{place}.transforms[0]")
        p = float(transform.p)
        return {"type": "RandomChoice", "p": [p, 1.0 - p], "transforms": [mixed, {"type": "Identity"}]}, classes
    if timm_mixing.name_of(transform) is not None:
        try:
            return timm_mixing.convert(transform)
        except Refused as refused:
            raise UnsupportedTransform(place, name, f"cannot be converted: {refused}") from None
    if (found := references_mixing.convert(transform)) is not None:
        return found
    if type(transform) in (v1.RandomChoice, v2.RandomChoice):
        inner = [convert(each, f"{place}.transforms[{index}]") for index, each in enumerate(transform.transforms)]
        counts = {count for _, count in inner if count is not None}
        if len(counts) > 1:
            raise ArgumentError(f"{place}: num_classes differ: {', '.join(map(str, sorted(counts)))}")
        # v1's has p=None for a choice of equals.
        made: Operator = {"type": "RandomChoice"} | ({} if transform.p is None else {"p": numbers(transform.p)})
        return made | {"transforms": [each for each, _ in inner]}, next(iter(counts), None)
    raise UnsupportedTransform(
        place, name, f"is not supported; of v2, {', '.join(_NAMES)} are, for one of them a batch, and timm.data.Mixup"
    )
