"""Converts torchvision's transforms, v2 and v1, to operators of a recipe. Each has a function, which uses only public
attributes.

An operator keeps torchvision's numbers: ``fill`` and ``threshold`` count 0 to 255 before ``ToDtype(scale=True)`` and
0 to 1 after it, in a recipe as in torchvision.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image
import torch
from torchvision import tv_tensors

Operator = dict[str, Any]


class Refused(Exception):
    """A transform that gpufeed cannot do. The text says what is impossible, and what works."""


_MODES = {"nearest": "Nearest", "nearest-exact": "NearestExact", "bilinear": "Bilinear", "bicubic": "Bicubic"}
# The numbers of Pillow's modes, which older code passes.
_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def interpolation_mode(given: Any, works: Sequence[str] = tuple(_MODES)) -> str:
    """Returns gpufeed's name of an interpolation. ``works`` has torchvision's names of those that the operator can
    do."""
    mode = _PILLOW.get(given, str(given)) if isinstance(given, int) else str(getattr(given, "value", given))
    if mode not in works:
        raise Refused(f"interpolation {mode!r} is not supported there; {', '.join(works)} are")
    return _MODES[mode]


_OF_WARPS = ("nearest", "bilinear")
# Bicubic warps are Pillow's: torchvision has them for PIL images alone.
_OF_PIL_WARPS = (*_OF_WARPS, "bicubic")


def shortest(number: float) -> float:
    """Returns the shortest decimal that is the same 32-bit float: 0.485 for a tensor's 0.48500001."""
    for digits in range(6, 9):
        candidate = float(f"{number:.{digits}g}")
        if struct.pack("f", candidate) == struct.pack("f", number):
            return candidate
    return number


def numbers(values: Any) -> list[float]:
    """Returns the floats of a number, a sequence of numbers or tensors, or a tensor."""
    if isinstance(values, torch.Tensor):
        found: list[float] = values.double().flatten().tolist()
        return [shortest(value) for value in found] if values.dtype == torch.float32 else found
    if isinstance(values, (tuple, list)):
        return [number for value in values for number in numbers(value)]
    return [float(values)]


def three(values: Any) -> list[float]:
    """Returns three numbers, one for each channel. A single number is repeated."""
    found = numbers(values)
    if len(found) == 1:
        return found * 3
    if len(found) != 3:
        raise Refused(f"{len(found)} numbers are not one or three, one a channel")
    return found


def whole(given: Any) -> int | list[int]:
    """Returns a whole number, or several."""
    return given if isinstance(given, int) else [int(number) for number in given]


def size(given: Any) -> int | list[int]:
    """Returns ``[height, width]``, or one number for a square."""
    if isinstance(given, int):
        return given
    found = [int(side) for side in given]
    return found[0] if len(found) == 1 or found[0] == found[1] else found


def of_images(given: dict[Any, Any], argument: str) -> Any:
    """Returns the entry for images in a dictionary by type, which v2 takes as an argument."""
    found = [given[kind] for kind in (tv_tensors.Image, torch.Tensor, PIL.Image.Image) if kind in given]
    if not found and "others" in given:
        return given["others"]
    if not found and isinstance(given, defaultdict):
        # torchvision looks into the dictionary without its factory, and then fills with 0.
        return None
    if not found:
        raise Refused(f"{argument} is a dictionary without an entry for images; tv_tensors.Image or 'others' is one")
    if any(other != found[0] for other in found[1:]):
        raise Refused(f"{argument} is a dictionary with different values for images: {found}; one value is supported")
    return found[0]


def fill(transform: Any) -> Any:
    """Returns the fill of images: a number, several, or None."""
    given = transform.fill
    return of_images(given, "fill") if isinstance(given, dict) else given


def warp_fill(transform: Any) -> Any:
    """Returns the fill of a warp, for which None and 0 are different."""
    given = fill(transform)
    if given is None:
        return "None"
    found = numbers(given)
    return found[0] if len(found) == 1 else three(found)


def border_fill(transform: Any) -> list[float]:
    """Returns the fill of a border. None means 0."""
    given = fill(transform)
    return three(0 if given is None else given)


def _named(transform: Any) -> str:
    return type(transform).__name__


def resize(transform: Any) -> Operator:
    given = transform.size
    if given is None:
        raise Refused("size=None is not supported; a short side or (height, width) is")
    sides = [given] if isinstance(given, int) else [int(side) for side in given]
    made: Operator = {"type": "Resize", "size": sides[0] if len(sides) == 1 else sides}
    if transform.max_size is not None:
        made["max_size"] = int(transform.max_size)
    return made | resized(transform)


def resized(transform: Any) -> Operator:
    # An antialias of None is False for tensors, as in torchvision.
    return {"interpolation": interpolation_mode(transform.interpolation), "antialias": bool(transform.antialias)}


def cropped(transform: Any) -> Operator:
    return {"type": _named(transform), "size": size(transform.size)}


def padding(given: Any, is_v2: bool = False) -> int | list[int]:
    """Returns left, top, right and bottom, or fewer numbers. v2's RandomCrop has them in the order left, right, top,
    bottom."""
    if isinstance(given, int):
        return given
    sides = [int(side) for side in given]
    if len(sides) == 1:
        return sides[0]
    if len(sides) == 4 and is_v2:
        left, right, top, bottom = sides
        return [left, top, right, bottom]
    return sides


_BORDERS = {"constant": "Constant", "edge": "Edge", "reflect": "Reflect", "symmetric": "Symmetric"}


def filled(transform: Any) -> Operator:
    return {"fill": border_fill(transform)}


def border(transform: Any) -> Operator:
    return filled(transform) | {"padding_mode": _BORDERS[str(transform.padding_mode)]}


def random_crop(transform: Any) -> Operator:
    made = cropped(transform)
    if transform.padding is not None:
        made["padding"] = padding(transform.padding, ".v2." in type(transform).__module__)
    return made | {"pad_if_needed": bool(transform.pad_if_needed)} | border(transform)


def warped(transform: Any, works: Sequence[str] = _OF_WARPS) -> Operator:
    return {"interpolation": interpolation_mode(transform.interpolation, works), "fill": warp_fill(transform)}


def pil_warped(transform: Any) -> Operator:
    made = warped(transform, _OF_PIL_WARPS)
    if made["interpolation"] == "Bicubic" and getattr(transform, "expand", False):
        raise Refused("interpolation 'bicubic' is not supported with expand=True; nearest, bilinear are")
    return made


def center(transform: Any) -> Operator:
    return {} if transform.center is None else {"center": numbers(transform.center)}


def random_affine(transform: Any) -> Operator:
    made: Operator = {"type": "RandomAffine", "degrees": numbers(transform.degrees)}
    if transform.translate is not None:
        made["translate"] = numbers(transform.translate)
    if transform.scale is not None:
        made["scale"] = numbers(transform.scale)
    if transform.shear is not None:
        shear = numbers(transform.shear)
        made["shear"] = shear[:2]
        if len(shear) == 4:
            made["shear_y"] = shear[2:]
    return made | center(transform) | pil_warped(transform)


def elastic_transform(transform: Any) -> Operator:
    two = [numbers(value) for value in (transform.alpha, transform.sigma)]
    alpha, sigma = (value if len(value) == 2 else value * 2 for value in two)
    return {"type": "ElasticTransform", "alpha": alpha, "sigma": sigma} | warped(transform)


def color_jitter(transform: Any) -> Operator:
    made: Operator = {"type": "ColorJitter"}
    for name in ("brightness", "contrast", "saturation", "hue"):
        given = getattr(transform, name)
        made[name] = 0.0 if given is None else numbers(given)
    return made


def gaussian_blur(transform: Any) -> Operator:
    given = whole(transform.kernel_size)
    sides = [given, given] if isinstance(given, int) else given
    return {"type": "GaussianBlur", "kernel_size": sides, "sigma": numbers(transform.sigma)}


def random_erasing(transform: Any) -> Operator:
    value: Any = transform.value
    if value is None or value == "random":
        value = "random"
    else:
        found = numbers(value)
        value = found[0] if len(found) == 1 else three(found)
    made: Operator = {"type": "RandomErasing", "p": float(transform.p), "scale": numbers(transform.scale)}
    return made | {"ratio": numbers(transform.ratio), "value": value}


def several_sizes(transform: Any) -> Operator:
    made: Operator = {"type": _named(transform)} | resized(transform)
    if _named(transform) == "ScaleJitter":
        sides = [int(side) for side in transform.target_size]
        return made | {"target_size": sides, "scale_range": numbers(transform.scale_range)}
    small = transform.min_size
    made["min_size"] = int(small) if isinstance(small, int) else [int(side) for side in small]
    if transform.max_size is not None:
        made["max_size"] = int(transform.max_size)
    return made


def policy(transform: Any) -> Operator:
    made: Operator = {"type": _named(transform)} | pil_warped(transform)
    for name in ("num_ops", "magnitude", "num_magnitude_bins", "severity", "mixture_width", "chain_depth"):
        if hasattr(transform, name):
            made[name] = int(getattr(transform, name))
    if hasattr(transform, "all_ops"):
        made |= {"all_ops": bool(transform.all_ops), "alpha": float(transform.alpha)}
    if hasattr(transform, "policy"):
        made["policy"] = {"imagenet": "ImageNet", "cifar10": "Cifar10", "svhn": "Svhn"}[transform.policy.value]
    return made


def attributes(*others: Callable[[Any], Operator], **by_name: Callable[[Any], Any]) -> Callable[[Any], Operator]:
    """Makes a converter. The operator's arguments are attributes of the same names, each converted by a function.
    ``others`` add more arguments."""

    def convert(transform: Any) -> Operator:
        made = {"type": _named(transform)} | {name: of(getattr(transform, name)) for name, of in by_name.items()}
        for each in others:
            made |= each(transform)
        return made

    return convert


def number(given: Any) -> Any:
    """Returns a number, as a whole number if it was given as one."""
    return given if isinstance(given, int) else numbers(given)[0]


def plain(*names: str) -> Callable[[Any], Operator]:
    """Makes a converter. The operator's arguments are numeric attributes of the same names."""
    return attributes(**dict.fromkeys(names, number))


def box_format(given: Any) -> str:
    """Returns the format of boxes."""
    word = str(getattr(given, "name", given)).lower()
    if word not in ("xyxy", "xywh", "cxcywh"):
        raise Refused(f"boxes of the format {word.upper()} are not supported; XYXY, XYWH and CXCYWH are")
    return word


def clamping(given: Any) -> str:
    """Returns the clamping mode. Of boxes whose sides are parallel to the image's, "hard" and "soft" clamp the same."""
    return "none" if given is None else "soft"


def clamped(transform: Any) -> Operator:
    """Checks that boxes are clamped as their own mode says."""
    if (given := getattr(transform, "clamping_mode", "auto")) != "auto":
        raise Refused(f"clamping_mode={given!r} is not supported there; SetClampingMode({given!r}) before it is")
    return {}


def iou_crop(transform: Any) -> Operator:
    """Converts ``RandomIoUCrop``."""
    names = ("min_scale", "max_scale", "min_aspect_ratio", "max_aspect_ratio", "trials")
    return {"type": "RandomIoUCrop", "sampler_options": numbers(transform.options)} | {name: getattr(transform, name) for name in names}


def labels_follow(transform: Any) -> Operator:
    """Checks that the labels follow the objects, as all of their values do."""
    if callable(transform.labels_getter):
        raise Refused("a labels_getter of your own is not called: all values of an object are removed with it; leave it out")
    return {}


# The converters by the names of classes, which v2 and v1 share.
OPERATORS: dict[str, Callable[[Any], Operator]] = {
    "AugMix": policy,
    "AutoAugment": policy,
    "CenterCrop": cropped,
    "ClampBoundingBoxes": attributes(clamped),
    "ClampKeyPoints": plain(),
    "ColorJitter": color_jitter,
    "ConvertBoundingBoxFormat": attributes(format=box_format),
    "ElasticTransform": elastic_transform,
    "FiveCrop": cropped,
    "GaussianBlur": gaussian_blur,
    "GaussianNoise": plain("mean", "sigma", "clip"),
    "Grayscale": plain("num_output_channels"),
    "JPEG": attributes(quality=whole),
    "Normalize": attributes(mean=three, std=three),
    "Pad": attributes(border, padding=padding),
    "RandAugment": policy,
    "RandomAdjustSharpness": plain("sharpness_factor", "p"),
    "RandomAffine": random_affine,
    "RandomAutocontrast": plain("p"),
    "RandomChannelPermutation": plain(),
    "RandomCrop": random_crop,
    "RandomEqualize": plain("p"),
    "RandomErasing": random_erasing,
    "RandomGrayscale": plain("p"),
    "RandomHorizontalFlip": plain("p"),
    "RandomInvert": plain("p"),
    "RandomIoUCrop": iou_crop,
    "RandomPerspective": attributes(warped, distortion_scale=float, p=float),
    "RandomPhotometricDistort": attributes(
        brightness=numbers, contrast=numbers, saturation=numbers, hue=numbers, p=float
    ),
    "RandomPosterize": plain("bits", "p"),
    "RandomResize": several_sizes,
    "RandomResizedCrop": attributes(resized, size=size, scale=numbers, ratio=numbers),
    "RandomRotation": attributes(center, pil_warped, degrees=numbers, expand=bool),
    "RandomShortestSize": several_sizes,
    "RandomSolarize": plain("threshold", "p"),
    "RandomVerticalFlip": plain("p"),
    "RandomZoomOut": attributes(filled, side_range=numbers, p=float),
    "Resize": resize,
    "SanitizeBoundingBoxes": attributes(labels_follow, min_size=float, min_area=float),
    "SanitizeKeyPoints": attributes(labels_follow),
    "ScaleJitter": several_sizes,
    "SetClampingMode": attributes(clamping_mode=clamping),
    "TenCrop": attributes(size=size, vertical_flip=bool),
    "TrivialAugmentWide": policy,
}
