"""torchvision's transforms as a recipe: ``v2``, v1, weights' presets, and timm's crop, in the order in which they stand.

Exact classes only: a subclass may do anything. What stands before ``ToDtype(torch.float32, scale=True)`` has torchvision's
arithmetic on 8-bit numbers, what follows is computed in floats; without it, images stay 8-bit to the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torchvision.transforms as v1
from torchvision.transforms import _presets, v2

from gpufeed.errors import ArgumentError
from gpufeed.operators import OPERATORS, Operator, Refused, interpolation, numbers


class UnsupportedTransform(ArgumentError):
    """A transform that gpufeed does not have: ``place`` is where it stands, ``name`` its class."""

    def __init__(self, place: str, name: str, reason: str) -> None:
        super().__init__(f"{place}: {name} {reason}")
        self.place = place
        self.name = name


@dataclass(frozen=True)
class Converted:
    """A recipe's content, sentences for ``explain()``, and the classes that ``MixUp`` or ``CutMix`` name."""

    recipe: dict[str, Any]
    notes: tuple[str, ...]
    num_classes: int | None


# What only changes the object in which the pixels are.
_DROPPED = ("ToImage", "PILToTensor", "RGB", "ToPureTensor", "Identity")
_NESTED = ("RandomApply", "RandomChoice", "RandomOrder")
_TO_FLOAT = ("ToDtype", "ConvertImageDtype", "ToTensor")

SUPPORTED: tuple[str, ...] = tuple(
    sorted([*OPERATORS, *_DROPPED, *_NESTED, *_TO_FLOAT, "Compose", "RandomResizedCropAndInterpolation", "MaybeToTensor"])
)

_FLOATS = {torch.float32: "F32", torch.float16: "F16"}

_PIL = (
    "a list for PIL images is taken as the same list on tensors, whose pixels are torchvision's; Pillow's resize, rotation and "
    "enhancement round differently, by a level or two"
)


def _is(transform: Any, name: str) -> bool:
    """True if the transform is exactly torchvision's class of that name."""
    return any(type(transform) is getattr(module, name, None) for module in (v2, v1))


def _is_timm(transform: Any, name: str) -> bool:
    # Without an import of timm, which a list that has none of it does not need.
    module = sys.modules.get("timm.data.transforms")
    return module is not None and type(transform) is getattr(module, name, None)


class _Conversion:
    """The walk over a list."""

    def __init__(self) -> None:
        self.output = "U8"
        # The place of a conversion to anything but float32, which only the last one may be.
        self.last_type: str | None = None
        self.is_float = False
        self.notes: list[str] = []
        self.has_operators = False

    def all(self, transforms: Iterable[Any], place: str, top: bool) -> list[Operator]:
        found = []
        for index, transform in enumerate(transforms):
            found += self.one(transform, f"{place}[{index}]", top)
        return found

    def one(self, transform: Any, place: str, top: bool) -> list[Operator]:
        name = type(transform).__name__
        if isinstance(transform, (list, tuple)):
            return self.all(transform, place, top)
        if _is(transform, "Compose"):
            return self.all(transform.transforms, f"{place}.transforms", top)
        if type(transform) is torch.nn.Sequential:
            return self.all(transform, place, top)
        if type(transform) is _presets.ImageClassification:
            return self.all(_classification(transform), f"{place} (ImageClassification)", top)
        if any(_is(transform, dropped) for dropped in _DROPPED):
            self._note_pil(name in ("PILToTensor", "ToImage"))
            return []
        if any(_is(transform, float_) for float_ in _TO_FLOAT) or _is_timm(transform, "MaybeToTensor"):
            self._note_pil(name in ("ToTensor", "MaybeToTensor"))
            return self._to_dtype(transform, place, name, top)
        if self.last_type is not None:
            raise UnsupportedTransform(
                self.last_type, "ToDtype", f"is not the last transform: {name} follows, which would compute in that type"
            )
        for nested in _NESTED:
            if _is(transform, nested):
                return [self._nested(transform, nested, place)]
        self.has_operators = True
        convert = OPERATORS.get(name)
        if _is_timm(transform, "RandomResizedCropAndInterpolation"):
            convert = OPERATORS["RandomResizedCrop"]
            if isinstance(transform.interpolation, (tuple, list)):
                raise UnsupportedTransform(place, name, 'has interpolation="random"; one interpolation is supported')
        elif convert is None or not _is(transform, name):
            raise UnsupportedTransform(place, name, f"is not supported; supported are {', '.join(SUPPORTED)}")
        try:
            return [convert(transform)]
        except Refused as refused:
            raise UnsupportedTransform(place, name, f"cannot be converted: {refused}") from None

    def _nested(self, transform: Any, name: str, place: str) -> Operator:
        made: Operator = {"type": name}
        inner = []
        for index, each in enumerate(transform.transforms):
            at = f"{place}.transforms[{index}]"
            found = self.one(each, at, top=False)
            if len(found) != 1 and name != "RandomApply":
                raise UnsupportedTransform(at, type(each).__name__, f"is a list of {len(found)}; {name} takes single transforms")
            inner += found
        if name == "RandomApply":
            made["p"] = float(transform.p)
        elif name == "RandomChoice" and getattr(transform, "p", None) is not None:
            made["p"] = numbers(transform.p)
        return made | {"transforms": inner}

    def _note_pil(self, leaves_pil: bool) -> None:
        if leaves_pil and self.has_operators and _PIL not in self.notes:
            self.notes.append(_PIL)

    def _to_dtype(self, transform: Any, place: str, name: str, top: bool) -> list[Operator]:
        scale = bool(transform.scale) if name == "ToDtype" else True
        dtype = getattr(transform, "dtype", torch.float32)
        if isinstance(dtype, dict):
            from torchvision import tv_tensors

            dtype = next((dtype[kind] for kind in (tv_tensors.Image, torch.Tensor, "others") if kind in dtype), None)
        if dtype is None or (dtype == torch.uint8 and not self.is_float):
            return []
        if not top:
            raise UnsupportedTransform(place, name, "stands in a nested transform; it works in the list itself")
        if dtype not in _FLOATS:
            hint = "; float16 has the same size" if dtype == torch.bfloat16 else ""
            raise UnsupportedTransform(place, name, f"makes {dtype}; torch.float32 and torch.float16 are supported{hint}")
        if not scale and not self.is_float:
            raise UnsupportedTransform(
                place, name, "has scale=False, which leaves floats from 0 to 255; scale=True is supported"
            )
        self.output = _FLOATS[dtype]
        if dtype != torch.float32:
            self.last_type = place
        if self.is_float:
            return []
        self.is_float = True
        # A list that begins with it has floats all along, which recipes have by default.
        return [{"type": "ToDtype"}] if self.has_operators else []


def _classification(preset: Any) -> list[Any]:
    """The transforms of a weights' preset."""
    resize = v2.Resize(preset.resize_size, interpolation=preset.interpolation, antialias=preset.antialias)
    crop = v2.CenterCrop(preset.crop_size)
    return [resize, crop, v2.ToDtype(torch.float32, scale=True), v2.Normalize(preset.mean, preset.std)]


def _batch(transform: Any, place: str) -> tuple[Operator, int | None]:
    name = type(transform).__name__
    if type(transform) in (v2.MixUp, v2.CutMix):
        return {"type": name, "alpha": float(transform.alpha)}, transform.num_classes
    if type(transform) is v2.Identity:
        return {"type": "Identity"}, None
    if type(transform) is v2.RandomChoice:
        inner = [_batch(each, f"{place}.transforms[{index}]") for index, each in enumerate(transform.transforms)]
        counts = {count for _, count in inner if count is not None}
        if len(counts) > 1:
            raise ArgumentError(f"{place}: num_classes differ: {', '.join(map(str, sorted(counts)))}")
        made: Operator = {"type": "RandomChoice", "p": numbers(transform.p)}
        return made | {"transforms": [each for each, _ in inner]}, next(iter(counts), None)
    raise UnsupportedTransform(place, name, "is not supported; supported are MixUp, CutMix, Identity and RandomChoice of them")


def convert(transforms: object, batch_transforms: object = None) -> Converted:
    """Converts a list of torchvision's transforms, and a transform of batches.

    Raises :class:`UnsupportedTransform` with the place of what gpufeed does not have.
    """
    conversion = _Conversion()
    found = conversion.one(transforms, "transforms", top=True)
    recipe: dict[str, Any] = {"output": {"layout": "Nchw", "dtype": conversion.output}, "transform": found}
    if not conversion.is_float or {"type": "ToDtype"} in found:
        recipe["semantics"] = "Uint8"
    num_classes = None
    if batch_transforms is not None:
        mixed, num_classes = _batch(batch_transforms, "batch_transforms")
        recipe["batch_transform"] = [mixed]
    return Converted(recipe, tuple(conversion.notes), num_classes)
