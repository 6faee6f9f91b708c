"""Albumentations' transforms as torchvision's, where they do the same, or where the difference is known: ``notes`` says it.

Only exact classes of Albumentations 2 are taken. It computes by OpenCV on 8-bit arrays. Measured on photographs and on noise against
the transforms that are taken here, in levels of 255: posterize, solarize, invert, brightness, crops and flips are equal; bilinear
resizes, contrast, saturation, gray, gamma, blurs and bilinear rotations within 1; hue within 10; bicubic resizes within 35.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import torch
from torchvision.transforms import InterpolationMode, v2

from gpufeed.effects import Made
from gpufeed.operators import Operator, Refused, interpolation_mode

# The most combinations of a SomeOf.
_COMBINATIONS = 24
# OpenCV's numbers of interpolations that torchvision has, too, and of the constant border.
_MODES = {0: "nearest", 1: "bilinear", 2: "bicubic", 6: "nearest-exact"}
_CONSTANT = 0

# The differences in these texts repeat those of docs/guide/pytorch/transforms.md, "Albumentations": change both.
_RESIZES = {
    "bilinear": "resizes as OpenCV does, without antialias: enlarged or shrunk, within 1 level of 255 of it",
    "bicubic": "resizes as OpenCV does, without antialias, but cuts overshoots after each axis: up to 35 levels of 255 differ, "
    "3 % of the values by more than 1",
    "nearest": "takes another pixel than OpenCV where two are as near: up to 1 % of them",
    "nearest-exact": "takes another pixel than OpenCV where two are as near: up to 5 % of them",
}
_COLOURS = "computes contrast, saturation and gray within 1 level of 255 of OpenCV's, hue within 10"
_CENTRE = (
    "crops the centre, a pixel further right or down than Albumentations where an image is 3, 7, 11, ... pixels larger, and "
    "gives smaller images a black border"
)
_BOXES = "leaves a box the fraction of its last pixel, which Albumentations cuts off"
_SHORT = "cuts off the fraction of the long side, which Albumentations rounds: images may be a pixel shorter"

# What comes near those that are refused.
_INSTEAD = {
    "Affine": "v2.RandomAffine(degrees, translate, scale, shear) is torchvision's",
    "CLAHE": "v2.RandomEqualize(p) comes near",
    "CoarseDropout": "v2.RandomErasing(p, scale) erases one rectangle",
    "Equalize": "v2.RandomEqualize(p) is Pillow's, by up to 106 levels of 255 another",
    "GaussNoise": "v2.GaussianNoise(mean, sigma) has one sigma",
    "HueSaturationValue": "A.ColorJitter(saturation=..., hue=...) works, by factors",
    "ImageCompression": "v2.JPEG((75, 95)) takes red as red, which A.ImageCompression compresses as blue",
    "LongestMaxSize": "A.SmallestMaxSize(size) works",
    "PadIfNeeded": "A.CenterCrop(height, width) of the same size behind it works",
    "Perspective": "v2.RandomPerspective(distortion_scale, p) is torchvision's",
    "RandomBrightnessContrast": "A.ColorJitter(brightness=..., contrast=...) works, by factors",
    "RandomRotate90": "A.HorizontalFlip and A.VerticalFlip work",
    "ShiftScaleRotate": "v2.RandomAffine(degrees, translate, scale) is torchvision's",
    "ToRGB": "v2.Grayscale(3) makes three channels of gray",
}


def name_of(transform: Any) -> str | None:
    """Returns the name of the transform's class, if it is exactly one of Albumentations'."""
    # Does not import Albumentations: a list without its transforms does not need it.
    module = sys.modules.get("albumentations")
    name = type(transform).__name__
    return name if module is not None and type(transform) is getattr(module, name, None) else None


def converted(transform: Any, notes: list[str]) -> list[Any]:
    """Returns what does the same as one of Albumentations' transforms, and adds sentences on differences to ``notes``."""
    return _Conversion(notes).one(transform, None)


class _Conversion:
    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        # True behind Normalize and ToFloat.
        self.is_float = False

    def note(self, name: str, text: str) -> None:
        if (told := f"Albumentations: {name} {text}") not in self.notes:
            self.notes.append(told)

    def one(self, transform: Any, p: float | None) -> list[Any]:
        """Returns transforms for one of Albumentations'. ``p`` takes the place of its own probability."""
        name = name_of(transform)
        convert = None if name is None else _KNOWN.get(name)
        if name is None or convert is None:
            shown = name or type(transform).__name__[:48]
            instead = f"; {_INSTEAD[shown]}" if shown in _INSTEAD else ""
            raise Refused(f"A.{shown} is not supported{instead}; {_TABLE}")
        if self.is_float and name not in _OF_FLOATS:
            raise Refused(f"A.{name} behind Normalize or ToFloat is not supported; put it before them")
        try:
            return convert(self, transform, float(transform.p) if p is None else p)
        except Refused as refused:
            text = str(refused)
            raise Refused(text if text.startswith("A.") else f"A.{name}: {text}") from None

    def all(self, transforms: Any) -> list[Any]:
        found: list[Any] = []
        for index, each in enumerate(transforms):
            following = transforms[index + 1] if index + 1 < len(transforms) else None
            if name_of(each) == "PadIfNeeded" and _pads_for(each, following):
                continue
            found += self.one(each, None)
        return found


_TABLE = "docs/guide/pytorch/transforms.md has the table"


def _chance(made: list[Any], p: float) -> list[Any]:
    """Returns transforms that work with probability p."""
    return made if p == 1 or not made else [v2.RandomApply(made, p=p)]


def _always(p: float) -> None:
    if p != 1:
        raise Refused(f"p={p:g}: images would differ in size or type; p=1 works")


def _mode(self: _Conversion, transform: Any) -> InterpolationMode:
    name, number = type(transform).__name__, transform.interpolation
    if getattr(transform, "area_for_downscale", None) is not None:
        raise Refused("area_for_downscale is not supported; None works")
    if number not in _MODES:
        raise Refused(f"interpolation={number} is not supported; cv2.INTER_NEAREST, INTER_LINEAR and INTER_CUBIC are")
    self.note(name, _RESIZES[_MODES[number]])
    return InterpolationMode(_MODES[number])


def _compose(self: _Conversion, transform: Any, p: float) -> list[Any]:
    if type(transform).__name__ == "Compose":
        if transform.processors:
            raise Refused("bbox_params and keypoint_params are not supported; images have neither here")
        _always(p)
    return _chance(self.all(transform.transforms), p)


def _one_of(self: _Conversion, transform: Any, p: float) -> list[Any]:
    # The one that is chosen works for certain: its own probability is its weight.
    weights = [float(each.p) for each in transform.transforms]
    if not transform.transforms or not sum(weights) > 0:
        raise Refused("no transform has a probability above 0")
    choices = [_both(self.one(each, 1.0)) for each in transform.transforms]
    return _chance([v2.RandomChoice(choices, p=weights)], p)


def _both(made: list[Any]) -> Any:
    return made[0] if len(made) == 1 else v2.Compose(made) if made else v2.Identity()


def _some_of(self: _Conversion, transform: Any, p: float) -> list[Any]:
    # A SomeOf has its own probability inside a OneOf, too.
    inner, count = transform.transforms, int(transform.n)
    if transform.replace or math.comb(len(inner), count) > _COMBINATIONS:
        raise Refused(f"it is supported with replace=False and up to {_COMBINATIONS} combinations")
    lists = [_both(self.all(some)) for some in itertools.combinations(inner, count)]
    return _chance(lists if len(lists) == 1 else [v2.RandomChoice(lists)], float(transform.p))


def _nothing(self: _Conversion, transform: Any, p: float) -> list[Any]:
    return []


def _resize(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    return [v2.Resize((transform.height, transform.width), _mode(self, transform), antialias=False)]


def _smallest(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    if transform.max_size is None:
        raise Refused("max_size_hw is not supported; max_size is")
    mode = _mode(self, transform)
    self.note("SmallestMaxSize", _SHORT)
    if isinstance(transform.max_size, int):
        return [v2.Resize(transform.max_size, mode, antialias=False)]
    return [v2.RandomShortestSize([int(each) for each in transform.max_size], interpolation=mode, antialias=False)]


def _random_resized_crop(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    mode = _mode(self, transform)
    return [v2.RandomResizedCrop(tuple(transform.size), tuple(transform.scale), tuple(transform.ratio), mode, antialias=False)]


def _crop(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    if transform.pad_if_needed:
        raise Refused("pad_if_needed=True is not supported; v2.RandomCrop(size, pad_if_needed=True) pads on all sides")
    size = (transform.height, transform.width)
    if type(transform).__name__ == "RandomCrop":
        return [v2.RandomCrop(size)]
    self.note("CenterCrop", _CENTRE)
    return [v2.CenterCrop(size)]


def _bbox_safe(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    name = type(transform).__name__
    self.note(name, _BOXES)
    made: Operator = {"type": "BBoxSafeRandomCrop", "erosion_rate": float(transform.erosion_rate)}
    if name == "RandomSizedBBoxSafeCrop":
        mode = interpolation_mode(_mode(self, transform))
        made |= {"size": [int(transform.height), int(transform.width)], "interpolation": mode, "antialias": False}
    return [Made(made)]


def _pads_for(pad: Any, crop: Any) -> bool:
    """True for a border that the centre crop behind it makes, too."""
    plain = pad.p == 1 and pad.position == "center" and pad.border_mode == _CONSTANT and not any(_three(pad.fill))
    sizes = (pad.min_height, pad.min_width, pad.pad_height_divisor, pad.pad_width_divisor)
    return plain and name_of(crop) == "CenterCrop" and crop.p == 1 and sizes == (crop.height, crop.width, None, None)


def _three(values: Any) -> list[float]:
    return [float(each) for each in values] if isinstance(values, (list, tuple)) else [float(values)]


def _rotate(self: _Conversion, transform: Any, p: float) -> list[Any]:
    is_black = transform.border_mode == _CONSTANT and not any(_three(transform.fill))
    if transform.interpolation not in (0, 1) or transform.crop_border or not is_black:
        raise Refused("it is supported with cv2.INTER_NEAREST or INTER_LINEAR, a constant black border, and crop_border=False")
    mode = InterpolationMode(_MODES[transform.interpolation])
    is_nearest = mode == InterpolationMode.NEAREST
    self.note("Rotate", "takes another pixel than OpenCV for one of 4,000" if is_nearest else "is within 1 level of 255 of OpenCV")
    # OpenCV mixes the border into the edge once, as torchvision does without a fill.
    return _chance([v2.RandomRotation(tuple(transform.limit), mode, fill=None)], p)


def _color_jitter(self: _Conversion, transform: Any, p: float) -> list[Any]:
    self.note("ColorJitter", _COLOURS)
    ranges = [tuple(float(end) for end in getattr(transform, name)) for name in ("brightness", "contrast", "saturation", "hue")]
    return _chance([v2.ColorJitter(*ranges)], p)


def _to_gray(self: _Conversion, transform: Any, p: float) -> list[Any]:
    if transform.method != "weighted_average" or (transform.num_output_channels != 3 and p != 1):
        raise Refused("it is supported with method='weighted_average', and with num_output_channels=3 or p=1")
    self.note("ToGray", "is within 1 level of 255 of OpenCV's")
    return [v2.RandomGrayscale(p)] if transform.num_output_channels == 3 else [v2.Grayscale(1)]


def _blur(self: _Conversion, transform: Any, p: float) -> list[Any]:
    least, most = (int(each) for each in transform.blur_limit)
    sigma = tuple(float(each) for each in transform.sigma_limit)
    if sigma[0] <= 0 or (least == 0 < most):
        raise Refused("it is supported with sigma_limit above 0, and with blur_limit=0 or a range above 0")
    self.note("GaussianBlur", "is within 1 level of 255 of Albumentations'")
    if most == 0:
        # Albumentations' kernel ends at 3.5 of this draw's sigma, that of the greatest sigma here.
        return _chance([v2.GaussianBlur(int(sigma[1] * 3.5) * 2 + 1, sigma)], p)
    # An even number of pixels becomes the next odd one.
    sizes = [each | 1 for each in range(least, most + 1)]
    several = dict.fromkeys(sizes)
    blurs = [v2.GaussianBlur(each, sigma) for each in several]
    return _chance(blurs if len(blurs) == 1 else [v2.RandomChoice(blurs, p=[sizes.count(each) / len(sizes) for each in several])], p)


def _solarize(self: _Conversion, transform: Any, p: float) -> list[Any]:
    least, most = transform.threshold_range
    if least != most:
        raise Refused(f"threshold_range={(least, most)} is not supported; one threshold, ({least:g}, {least:g}), is")
    return [v2.RandomSolarize(float(least) * 255, p)]


def _posterize(self: _Conversion, transform: Any, p: float) -> list[Any]:
    if isinstance(transform.num_bits, list):
        raise Refused("num_bits of each channel are not supported; a number or a range is")
    least, most = (int(each) for each in transform.num_bits)
    bits = [v2.RandomPosterize(each, 1.0 if least != most else p) for each in range(least, most + 1)]
    return bits if len(bits) == 1 else _chance([v2.RandomChoice(bits)], p)


def _gamma(self: _Conversion, transform: Any, p: float) -> list[Any]:
    least, most = (float(each) for each in transform.gamma_limit)
    if least != most:
        raise Refused(f"gamma_limit={(least, most)} is not supported; one gamma, ({least:g}, {least:g}), is")
    self.note("RandomGamma", "is within 1 level of 255 of Albumentations'")
    fixed: list[Any] = [Made({"type": "AdjustGamma", "gamma": least / 100})]
    return fixed if p == 1 else [Made({"type": "RandomApply", "p": p, "transforms": [each.operator for each in fixed]})]


def _to_float(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    if transform.max_value not in (None, 255, 255.0):
        raise Refused(f"max_value={transform.max_value} is not supported; 255 is")
    self.is_float = True
    return [v2.ToDtype(torch.float32, scale=True)]


def _normalize(self: _Conversion, transform: Any, p: float) -> list[Any]:
    _always(p)
    if transform.normalization != "standard" or transform.mean is None or transform.std is None:
        raise Refused("it is supported with normalization='standard', mean and std")
    # Images are divided by 255 first, unless ToFloat has done so.
    scale = float(transform.max_pixel_value) / (1 if self.is_float else 255)
    mean, std = ([each * scale for each in _three(values)] for values in (transform.mean, transform.std))
    first = [] if self.is_float else [v2.ToDtype(torch.float32, scale=True)]
    self.is_float = True
    return [*first, v2.Normalize(mean, std)]


# What may stand behind Normalize and ToFloat: what moves pixels, and no number of them.
_OF_FLOATS = {"CenterCrop", "Compose", "HorizontalFlip", "NoOp", "Normalize", "RandomCrop", "Sequential", "ToTensorV2", "VerticalFlip"}

_Convert = Callable[[_Conversion, Any, float], list[Any]]
_KNOWN: dict[str, _Convert] = {
    "BBoxSafeRandomCrop": _bbox_safe,
    "CenterCrop": _crop,
    "ColorJitter": _color_jitter,
    "Compose": _compose,
    "GaussianBlur": _blur,
    "HorizontalFlip": lambda self, transform, p: [v2.RandomHorizontalFlip(p)],
    "InvertImg": lambda self, transform, p: [v2.RandomInvert(p)],
    "NoOp": _nothing,
    "Normalize": _normalize,
    "OneOf": _one_of,
    "Posterize": _posterize,
    "RandomCrop": _crop,
    "RandomGamma": _gamma,
    "RandomResizedCrop": _random_resized_crop,
    "RandomSizedBBoxSafeCrop": _bbox_safe,
    "Resize": _resize,
    "Rotate": _rotate,
    "Sequential": _compose,
    "SmallestMaxSize": _smallest,
    "Solarize": _solarize,
    "SomeOf": _some_of,
    "ToFloat": _to_float,
    "ToGray": _to_gray,
    "ToTensorV2": _nothing,
    "VerticalFlip": lambda self, transform, p: [v2.RandomVerticalFlip(p)],
}
