"""torchvision's transforms as a recipe: ``v2``, v1, weights' presets, and timm's, in the order in which they stand.

Only exact classes are taken: a subclass may do anything. Functions, and objects that run a list, are taken as the transforms
that do the same to probe images (``probed.py``); what else can be called runs in Python, in its place in the list
(``own_code.py``). Transforms before ``ToDtype(torch.float32, scale=True)`` have
torchvision's arithmetic on 8-bit numbers, those after it compute in floats; without it, images stay 8-bit to the end.

v1's classes are taken as v2's of the same name. On 8-bit tensors v1 itself resizes floats, and rounds otherwise: its bicubic
resizes differ by up to 20 levels of 255 on photographs (31 without antialias), as v2 cuts overshoots after each axis; bilinear
resizes, autocontrast, saturation, hue, sharpness and blurs by one level at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torchvision.transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, _presets, v2

from gpufeed import albumentations, batch_transforms as of_batches, effects, probed, refused_transforms, timm_transforms
from gpufeed.errors import ArgumentError
from gpufeed.operator_checks import WARPS, check, check_range, check_within
from gpufeed.operators import OPERATORS, Operator, Refused, numbers, of_images
from gpufeed.own_code import OnBatch, OnSample, OwnCode, name_of, own_size
from gpufeed.presets import list_with_target, lists_of, takes_target, unchanged
from gpufeed.refused_transforms import UnsupportedTransform

__all__ = ["SUPPORTED", "Converted", "UnsupportedTransform", "convert"]


@dataclass(frozen=True)
class Converted:
    """The result of a conversion: the recipe's content, sentences for ``explain()``, the classes that ``MixUp`` or
    ``CutMix`` name, the places of each ``Normalize`` that works on the same image, and the user's code for finished batches."""

    recipe: dict[str, Any]
    notes: tuple[str, ...]
    num_classes: int | None
    normalized: tuple[str, ...] = ()
    on_batch: tuple[OnBatch, ...] = ()


# The most characters of a class's name in an error.
_LONGEST_NAME = 60

# Transforms that only change the type of the object that holds the pixels.
_DROPPED = ("ToImage", "PILToTensor", "ToPILImage", "RGB", "ToPureTensor", "Identity")
_NESTED = ("RandomApply", "RandomChoice", "RandomOrder")
_CROPS = (v1.RandomResizedCrop, v1.RandomCrop, v1.CenterCrop, v2.RandomResizedCrop, v2.RandomCrop, v2.CenterCrop)
# The objects with the pixels that some of these make.
_FORMS = {"ToImage": "image", "PILToTensor": "tensor", "MaybePILToTensor": "tensor", "ToPureTensor": "tensor", "ToPILImage": "pil"}
_TO_FLOAT = ("ToDtype", "ConvertImageDtype", "ToTensor")

SUPPORTED: tuple[str, ...] = tuple(
    sorted({*OPERATORS, *_DROPPED, *_NESTED, *_TO_FLOAT, *timm_transforms.DROPPED, *timm_transforms.NAMES, "Compose"})
)
_FLOATS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}

# The entry of a choice that does nothing.
_NOTHING: Operator = {"type": "RandomHorizontalFlip", "p": 0.0}

# The differences in this text repeat those of docs/guide/augmentation.md, "Where Pillow differs": change both.
_PIL = (
    "a list for PIL images is taken as the same list on tensors: pixels are those of torchvision's tensors. Pillow's differ from them by a level of 255 "
    "in resizes, bilinear warps, contrast, saturation and gray, by up to 15 in hue and 20 in bicubic enlargements, and "
    "by more at the borders of bilinear warps, where Pillow does not blend the fill"
)

_BICUBIC_WARPS = (
    "bicubic warps are Pillow's, to the byte, as torchvision has them for PIL images alone: it refuses them on tensors"
)
# The differences in this text repeat those of docs/guide/pytorch/transforms.md, "8-bit numbers and floats": change
# both.
_V1 = (
    "a bicubic resize of v1, or of weights' presets, is taken as v2's: v1 resizes 8-bit tensors in floats, and its pixels differ "
    "by up to 20 levels of 255 on photographs, 31 without antialias"
)


_WITH_TARGET = (
    "is code of its own, which torch gives images with their targets; gpufeed does not call it: torchvision's transforms, and an object that hands both "
    "on to its list, move boxes"
)

_SEPARATE = (
    "the three lists of create_transform(separate=True) are taken as one: each image goes through all of them. The clean and "
    "augmented copies that timm's AugMixDataset makes of a sample are not made"
)


def _of_factory(fill: Any) -> str | None:
    """Returns what torchvision makes of a fill by type that leaves images to the dictionary's factory."""
    there = any(kind in fill for kind in (tv_tensors.Image, torch.Tensor, "others"))
    return None if there else "fill is a defaultdict without an entry for images, and torchvision, which never asks its factory, fills with 0"


def _is(transform: Any, *names: str) -> bool:
    """True if the transform is exactly torchvision's class of one of these names."""
    name = type(transform).__name__
    return name in names and any(type(transform) is getattr(module, name, None) for module in (v2, v1))


def _unknown(transform: Any, place: str) -> UnsupportedTransform:
    """Returns the error for an unknown transform, with the nearest thing that works."""
    reason = refused_transforms.reason(transform, SUPPORTED)
    return UnsupportedTransform(place, type(transform).__name__[:_LONGEST_NAME], f"is not supported{reason}")


class _RunsInPython(Exception):
    """Code of the user's own stands inside of a transform, which then runs in Python as a whole."""


class _Conversion:
    """Walks over a list, and collects what it finds."""

    def __init__(self, channels: int | None, codes: list[OwnCode] | None, is_joint: bool = False) -> None:
        # True where torch gives the list images with their targets.
        self.is_joint = is_joint
        # The channels of images, where they are known.
        self.channels = channels
        # The pieces of own code, which the list has by their numbers; None where own code is refused.
        self.codes = codes
        self.on_batch: list[OnBatch] = []
        # What own code gets from torchvision at this place, and the piece, with its operator, that may make floats of 8-bit numbers.
        self.form = "pil"
        # Own code whose results the next own code gets, in the form in which that returns them: no transform between makes another form.
        self.behind: OwnCode | None = None
        self.may_make_floats: tuple[OwnCode, Operator] | None = None
        self.output = "U8"
        # The place of a conversion to a type other than float32, for errors: no operator and no conversion to another type
        # may follow it.
        self.last_type: str | None = None
        self.is_float = False
        self.notes: list[str] = []
        self.has_operators = False
        # The places of transforms with antialias=False, which Pillow does not have.
        self.aliased: list[str] = []
        # The places of each Normalize.
        self.normalized: list[str] = []

    def all(self, transforms: Iterable[Any], place: str, top: bool) -> list[Operator]:
        found = []
        for index, transform in enumerate(transforms):
            found += self.one(transform, f"{place}[{index}]", top)
        return found

    def one(self, transform: Any, place: str, top: bool) -> list[Operator]:
        """Returns the operators of one transform: none, one, or those of a list."""
        name = transform.operator["type"] if type(transform) is effects.Made else type(transform).__name__
        of_timm = timm_transforms.name_of(transform)
        if type(transform) is OnBatch:
            return self._of_batches(transform, place, top)
        if self.on_batch:
            raise UnsupportedTransform(place, name, "follows on_batch, which works on finished batches; put on_batch last")
        if isinstance(transform, (list, tuple)) or type(transform) is torch.nn.Sequential:
            return self.all(transform, place, top)
        if _is(transform, "Compose"):
            return self.all(transform.transforms, f"{place}.transforms", top)
        if type(transform) is _presets.ImageClassification:
            self._note_v1(transform.interpolation == InterpolationMode.BICUBIC)
            return self.all(_classification(transform), f"{place} (ImageClassification)", top)
        if albumentations.name_of(transform) is not None:
            return self._of_albumentations(transform, place, name, top)
        if _is(transform, *_DROPPED) or type(transform) is torch.nn.Identity or of_timm in timm_transforms.DROPPED:
            return self._dropped(transform, place, name)
        if _is(transform, *_TO_FLOAT) or of_timm == "MaybeToTensor":
            self._note_pil(name in ("ToTensor", "MaybeToTensor"))
            return self._to_dtype(transform, place, name, top)
        if self.last_type is not None:
            reason = f"is not the last transform: {name} follows, which would compute in that type"
            raise UnsupportedTransform(self.last_type, "ToDtype", reason)
        try:
            if type(transform) is OnSample:
                return self._own(transform, place, name_of(transform), top)
            if type(transform) is effects.Made:
                check(transform.operator, self.is_float)
                self.has_operators = True
                return [transform.operator]
            if _is(transform, *_NESTED):
                return self._nested_or_own(transform, name, place, top)
            if not (of_timm or (name in OPERATORS and _is(transform, name))):
                return self._probed(transform, place, name, top)
            self.has_operators = True
            made = timm_transforms.convert(transform, of_timm) if of_timm else OPERATORS[name](transform)
            before = self._floats_of_own_code(name)
            check_range(made, self.is_float)
            check(made, self.is_float)
        except Refused as refused:
            raise UnsupportedTransform(place, name, f"cannot be converted: {refused}") from None
        is_bicubic, is_warp = made.get("interpolation") == "Bicubic", name in WARPS
        self._note_v1(is_bicubic and not is_warp and type(transform) is getattr(v1, name, None))
        if is_bicubic and is_warp and _BICUBIC_WARPS not in self.notes:
            self.notes.append(_BICUBIC_WARPS)
        if made.get("antialias") is False:
            self.aliased.append(place)
        if name == "Normalize":
            self.normalized.append(place)
        if isinstance(getattr(transform, "fill", None), defaultdict) and (said := _of_factory(transform.fill)) is not None:
            self.notes.append(f"{place}: {said}")
        if name == "Grayscale" and top:
            self.channels = int(made["num_output_channels"])
        return [*before, made]

    def _of_batches(self, transform: OnBatch, place: str, top: bool) -> list[Operator]:
        if self.codes is None or not top:
            raise UnsupportedTransform(place, "on_batch", "works as the last one of a loader's own list, or of a group's")
        self.on_batch.append(transform)
        self.notes.append(f"{place}: {name_of(transform)} runs in Python on each finished batch, in the loop's thread")
        return []

    def _own(self, transform: Any, place: str, name: str, top: bool) -> list[Operator]:
        """Takes code of the user's own, which runs in Python."""
        if self.codes is None:
            raise _unknown(transform, place)
        if self.is_float and getattr(transform, "takes", None) == "pil":
            raise Refused("takes='pil' needs 8-bit images; 'tensor' and 'array' work behind ToTensor and ToDtype")
        if not top:
            raise _RunsInPython
        name = name[:_LONGEST_NAME]
        code = OwnCode(transform, f"{place}: {name}", self.form, self.is_float, self.behind)
        if code.size is None and isinstance(code.function, _CROPS):
            # A subclass makes the size that its class does; another size is an error of the first image.
            code.size = own_size(code.function.size)
        made: Operator = {"type": "HostCode", "number": len(self.codes), "floats": self.is_float or code.makes_floats}
        self.codes.append(code)
        runs = "transforms before and after it run without Python, on the CPU, also where there is a GPU"
        self.notes.append(f"{place}: {name} runs in Python, in the workers under the interpreter's lock, one call at a time; {runs}")
        self.has_operators = True
        self.behind = code
        if code.makes_floats:
            self.is_float, self.output, self.form = True, "F32", "tensor"
            return [made, {"type": "ToDtype"}]
        self.may_make_floats = None if self.is_float else (code, made)
        return [made]

    def _floats_of_own_code(self, name: str) -> list[Operator]:
        """Returns the conversion before a ``Normalize`` to which own code has to give floats, as no transform makes them."""
        if name != "Normalize" or self.is_float or self.may_make_floats is None:
            return []
        code, made = self.may_make_floats
        code.makes_floats = made["floats"] = True
        self.behind = None
        self.is_float, self.output, self.form = True, "F32", "tensor"
        return [{"type": "ToDtype"}]

    def _nested_or_own(self, transform: Any, name: str, place: str, top: bool) -> list[Operator]:
        """Converts a transform with a list. With own code in it, it runs in Python as a whole."""
        kept = {key: list(value) if isinstance(value, list) else value for key, value in vars(self).items() if key != "codes"}
        try:
            return self._nested(transform, name, place)
        except _RunsInPython:
            vars(self).update(kept)
            check_within(transform, place)
            return self._own(transform, place, f"{name} with own code in it", top)

    def _of_albumentations(self, transform: Any, place: str, name: str, top: bool) -> list[Operator]:
        if self.is_float:
            raise UnsupportedTransform(place, name, "works on 8-bit numbers; put it before ToDtype and Normalize")
        try:
            same = albumentations.converted(transform, self.notes)
        except Refused as refused:
            raise UnsupportedTransform(place, name, f"cannot be converted: {refused}") from None
        return self.all(same, f"{place} ({name})", top)

    def _dropped(self, transform: Any, place: str, name: str) -> list[Operator]:
        if name == "ToPILImage" and (self.is_float or transform.mode not in (None, "RGB")):
            reason = "would change the images' numbers; it is supported before ToDtype, with mode=None or 'RGB'"
            raise UnsupportedTransform(place, name, reason)
        self._note_pil(name in ("PILToTensor", "ToImage", *timm_transforms.DROPPED))
        if name != "ToPureTensor" or self.form == "image":
            self.form = _FORMS.get(name, self.form)
            self.behind = None if name in _FORMS else self.behind
        return self._tripled() if name == "RGB" and self.channels == 1 else []

    def _tripled(self) -> list[Operator]:
        """Returns what makes three channels of one."""
        self.channels, self.has_operators = 3, True
        return [{"type": "Grayscale", "num_output_channels": 3}]

    def _probed(self, transform: Any, place: str, name: str, top: bool) -> list[Operator]:
        """Takes code of a user's own as the transforms that do the same to probe images."""
        if takes_target(transform):
            if (listed := list_with_target(transform)) is None:
                raise UnsupportedTransform(place, name, _WITH_TARGET)
            self.notes.append(f"{place}: {name} is taken as its list {listed}: it hands image and target on, and is not called")
            return self.all([lists_of(transform)[listed]], f"{place} ({name})", top)
        if self.is_joint and unchanged(transform) is None:
            raise UnsupportedTransform(place, name, _WITH_TARGET)
        is_tensor = self.is_float or self.form != "pil"
        if self.channels != 3 and top:
            if self.channels == 1 and probed.triples(transform, self.is_float, is_tensor):
                self.notes.append(f"{place}: {name} is taken as Grayscale(3): it makes three channels of one in probe images")
                return self._tripled()
            if self.channels is None and probed.triples(transform, self.is_float, True):
                reason = "makes three channels of one; for gray images v2.Grayscale(3) does so, and colour images need none of it"
                raise UnsupportedTransform(place, name, reason)
        # Probes are images of Pillow, and tensors: what code does to arrays is not known.
        found = None if self.form == "array" else probed.same_as(transform, self.is_float, is_tensor, self.channels == 1)
        if found is None and self.codes is not None and refused_transforms.may_run(transform):
            return self._own(transform, place, name_of(transform), top)
        if found is None:
            raise _unknown(transform, place)
        same, what = found
        self.notes.append(f"{place}: {name} is taken as {what}: it does the same to probe images, and is not called")
        if what == probed.ARRAY:
            self.form, self.behind = "array", None
        return self.all(same, f"{place} ({name})", top)

    def _nested(self, transform: Any, name: str, place: str) -> list[Operator]:
        made: Operator = {"type": name}
        inner = []
        # One entry of a choice works on each image, so the entry with the most Normalize counts.
        before = self.normalized
        most: list[str] = []
        for index, each in enumerate(transform.transforms):
            if name == "RandomChoice":
                self.normalized = []
            found = self.one(each, f"{place}.transforms[{index}]", top=False)
            if name == "RandomChoice" and not found:
                found = [_NOTHING]
            if name != "RandomApply" and len(found) > 1:
                # The operators of a nested list stay together.
                found = [{"type": "RandomApply", "p": 1.0, "transforms": found}]
            inner += found
            if name == "RandomChoice":
                most = max(most, self.normalized, key=len)
        if name == "RandomChoice":
            self.normalized = before + most
        if name == "RandomApply":
            made["p"] = float(transform.p)
        elif name == "RandomChoice" and getattr(transform, "p", None) is not None:
            made["p"] = numbers(transform.p)
        if not inner:
            return []
        made["transforms"] = inner
        check(made, self.is_float)
        return [made]

    def _note_pil(self, leaves_pil: bool) -> None:
        if not (leaves_pil and self.has_operators) or _PIL in self.notes:
            return
        self.notes.append(_PIL)
        self.notes += [f"{place}: antialias=False works, which Pillow ignores" for place in self.aliased]

    def _note_v1(self, bicubic: bool) -> None:
        if bicubic and not self.is_float and _V1 not in self.notes:
            self.notes.append(_V1)

    def _to_dtype(self, transform: Any, place: str, name: str, top: bool) -> list[Operator]:
        scale = bool(transform.scale) if name == "ToDtype" else True
        dtype = getattr(transform, "dtype", torch.float32)
        if isinstance(dtype, dict):
            try:
                dtype = of_images(dtype, "dtype")
            except Refused as refused:
                raise UnsupportedTransform(place, name, f"cannot be converted: {refused}") from None
        if dtype is None or (dtype == torch.uint8 and not self.is_float):
            return []
        if not top:
            raise UnsupportedTransform(place, name, "stands in a nested transform; it works in the list itself")
        if dtype not in _FLOATS:
            raise UnsupportedTransform(
                place, name, f"makes {dtype}; torch.float32, torch.float16 and torch.bfloat16 are supported"
            )
        if self.last_type is not None and _FLOATS[dtype] != self.output:
            raise UnsupportedTransform(self.last_type, "ToDtype", f"is not the last transform: {name} follows")
        if not scale and not self.is_float:
            reason = (
                "has scale=False, which leaves floats from 0 to 255; scale=True, and fill, mean and std of 0 to 1, work"
            )
            raise UnsupportedTransform(place, name, reason)
        self.output, self.form = _FLOATS[dtype], "image" if self.form == "image" and name != "ToTensor" else "tensor"
        self.behind = None
        if dtype != torch.float32:
            self.last_type = place
        if self.is_float:
            return []
        self.is_float = True
        # A list that begins with the conversion is in floats throughout, as recipes are by default.
        return [{"type": "ToDtype"}] if self.has_operators else []


def _classification(preset: Any) -> list[Any]:
    """Returns the transforms of a weights' preset."""
    resize = v2.Resize(preset.resize_size, interpolation=preset.interpolation, antialias=preset.antialias)
    crop = v2.CenterCrop(preset.crop_size)
    return [resize, crop, v2.ToDtype(torch.float32, scale=True), v2.Normalize(preset.mean, preset.std)]


# Transforms that make an array of a PIL image. timm has them in the last of its three lists.
_FROM_PIL = {*_TO_FLOAT, *timm_transforms.DROPPED, "MaybeToTensor", "PILToTensor", "ToImage"}


def _is_separate(transforms: Any) -> bool:
    """True for one list in three parts, as timm's ``create_transform(separate=True)`` makes it: a tuple in which the last part
    alone ends in tensors."""
    if not isinstance(transforms, tuple) or len(transforms) != 3 or not all(_is(each, "Compose") for each in transforms):
        return False
    ends = [any(type(each).__name__ in _FROM_PIL for each in part.transforms) for part in transforms]
    return ends == [False, False, True]


def _is_compose(transform: Any) -> bool:
    return _is(transform, "Compose") or albumentations.name_of(transform) == "Compose"


def _refuse_several(transforms: Any) -> None:
    """Refuses a list of lists, which may have been meant as one for each view."""
    whole = (list, tuple)
    within = transforms.transforms if _is(transforms, "Compose") else transforms
    if not isinstance(within, whole) or len(within) < 2 or _is_separate(transforms):
        return
    # A Compose of two Compose says what it means; of two plain lists, torchvision would run none.
    kinds = whole if within is not transforms else (*whole, torch.nn.Sequential, _presets.ImageClassification)
    if all(isinstance(each, kinds) or (within is transforms and _is_compose(each)) for each in within):
        names = ", ".join(type(each).__name__ for each in within)
        raise ArgumentError(
            f"transforms: a list of {len(within)} lists ({names}); all of them would work on each image, one after the other. "
            f"For that, give v2.Compose of both; for {len(within)} views of each sample by one list, that list and "
            f'views={len(within)}; for views by several lists, groups={{"first": (list, 1), "second": (another, 1)}}'
        )


def convert(
    transforms: object,
    batch_transforms: object = None,
    place: str = "transforms",
    channels: int | None = None,
    codes: list[OwnCode] | None = None,
    is_joint: bool = False,
) -> Converted:
    """Converts a list of torchvision's transforms, and a transform of batches. ``place`` is where the list stands, for errors, and
    ``channels`` how many the data set's images have, where that is known. Code of the user's own is appended to ``codes``, and has its
    number there in the recipe; without ``codes`` it is refused, and where the list ``is_joint``: torch would give it the target, too.

    Raises :class:`UnsupportedTransform` with the place of what gpufeed does not have.
    """
    conversion = _Conversion(channels, None if is_joint else codes, is_joint)
    _refuse_several(transforms)
    # Places count from the argument's own list: transforms[3], whether it is a Compose or not.
    root: Any = transforms
    found = conversion.one(list(root.transforms) if _is(root, "Compose") else root, place, top=True)
    recipe: dict[str, Any] = {"output": {"layout": "Nchw", "dtype": conversion.output}, "transform": found}
    if not conversion.is_float or {"type": "ToDtype"} in found:
        recipe["semantics"] = "Uint8"
    if _is_separate(transforms):
        conversion.notes.append(_SEPARATE)
    num_classes = None
    if batch_transforms is not None:
        mixed, num_classes = of_batches.convert(batch_transforms, "batch_transforms")
        recipe["batch_transform"] = [mixed]
    return Converted(recipe, tuple(conversion.notes), num_classes, tuple(conversion.normalized), tuple(conversion.on_batch))
