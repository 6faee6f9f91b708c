"""Drawn parameters put through ``torchvision.transforms.v2.functional``: what torchvision makes of the same draws."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy
import PIL.ImageFilter
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

_MODES = {
    "Nearest": v2.InterpolationMode.NEAREST,
    "NearestExact": v2.InterpolationMode.NEAREST_EXACT,
    "Bilinear": v2.InterpolationMode.BILINEAR,
    "Bicubic": v2.InterpolationMode.BICUBIC,
}


def philox(key: list[int], width: int, height: int) -> numpy.ndarray[Any, Any]:
    """Philox4x32-10 (Salmon and others, SC 2011) at the counters (column, row, 0, 0): four numbers of 32 bits a pixel."""
    low = numpy.uint64(0xFFFFFFFF)
    half = numpy.uint64(32)
    y, x = numpy.mgrid[:height, :width].astype(numpy.uint64)
    counter = [x, y, numpy.zeros_like(x), numpy.zeros_like(x)]
    keys = [numpy.uint64(word) for word in key]
    for _ in range(10):
        first, second = counter[0] * numpy.uint64(0xD2511F53), counter[2] * numpy.uint64(0xCD9E8D57)
        counter = [
            (second >> half) ^ counter[1] ^ keys[0],
            second & low,
            (first >> half) ^ counter[3] ^ keys[1],
            first & low,
        ]
        keys = [(keys[0] + numpy.uint64(0x9E3779B9)) & low, (keys[1] + numpy.uint64(0xBB67AE85)) & low]
    return numpy.stack(counter)


def normals(key: list[int], shape: torch.Size) -> torch.Tensor:
    """The standard normal numbers of ``Erased::Noise`` in Rust: quantiles of (k + 1/2) / 2^23."""
    channels, height, width = shape
    upper = philox(key, width, height)[:channels] >> numpy.uint64(9)
    quantiles = torch.from_numpy((upper.astype(numpy.float64) + 0.5) / 2**23)
    return torch.special.ndtri(quantiles).float()


def displacement(given: dict[str, Any], shape: torch.Size) -> torch.Tensor:
    """The displacement of ``Op::Elastic`` in Rust, as torchvision's ``ElasticTransform`` makes it of uniform numbers."""
    _, height, width = shape
    words = philox(given["key"], (width + 1) // 2, height)
    moved = []
    for axis, (alpha, sigma) in enumerate(zip(given["alpha"], given["sigma"], strict=True)):
        # The first two numbers belong to an even column, the last two to an odd one.
        pairs = numpy.stack([words[axis], words[axis + 2]], axis=-1).reshape(height, -1)[:, :width] >> numpy.uint64(8)
        field = torch.from_numpy(pairs.astype(numpy.float64) / 2**23 - 1)[None, None].float()
        if sigma > 0:
            side = int(8 * sigma + 1)
            side += side % 2 == 0
            field = F.gaussian_blur(field, [side, side], given["sigma"])
        length = (width, height)[axis]
        moved.append(field * alpha / length)
    return torch.cat(moved, 1).permute(0, 2, 3, 1)


def _warp(given: dict[str, Any]) -> dict[str, Any]:
    return {"interpolation": _MODES[given["interpolation"]], "fill": given["fill"]}


def _policy(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    apply: Callable[..., torch.Tensor] = v2.RandAugment()._apply_image_or_video_transform
    # torchvision's classes take a number of torch.linspace, an f32; the decimal number that it prints as is another.
    magnitude = torch.tensor(given["magnitude"], dtype=torch.float32).item()
    if given["interpolation"] == "Bicubic":
        # Pillow alone has it, and other operations of a policy are torchvision's on tensors.
        if given["id"] not in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"):
            return apply(image, given["id"], magnitude, _MODES["Nearest"], {torch.Tensor: given["fill"]})
        color = tuple(int(255 * number) for number in given["fill"] or (0, 0, 0))
        picture = v2.functional.to_pil_image(image)
        warped: Any = apply(picture, given["id"], magnitude, _MODES["Bicubic"], {type(picture): color})
        return v2.functional.pil_to_tensor(warped)
    return apply(image, given["id"], magnitude, _MODES[given["interpolation"]], {torch.Tensor: given["fill"]})


def _mixture(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    """The sum of v2.AugMix, which has no function of its own."""
    shares = torch.tensor(given["m"]), torch.tensor(given["weights"])
    sums = shares[0][0] * image.float()
    for weight, chain in zip(shares[1] * shares[0][1], given["chains"], strict=True):
        changed = image
        for each in chain:
            changed = apply(each, changed)
        sums = sums + weight * changed
    return sums.to(image.dtype) if image.dtype == torch.uint8 else sums


_NO_NUMBER = ("AutoContrast", "Equalize", "Invert")
# Operations whose number is a whole one.
_COUNTS = ("Posterize", "Solarize")


def _timm_picture(picture: Any, given: dict[str, Any]) -> Any:
    """What timm's function of an operation makes of Pillow's image."""
    import timm.data.auto_augment as timms

    name, number = given["id"], given["argument"]
    if name.startswith("Posterize") and number < 1:
        # Pillow up to 12 makes it black; 13 refuses to.
        return Image.new(picture.mode, picture.size)
    # timm draws the radius inside its function.
    function = timms.NAME_TO_OP["GaussianBlur" if name == "GaussianBlurRand" else name]
    arguments = [] if name in _NO_NUMBER else [int(number) if name.startswith(_COUNTS) else number]
    resample = getattr(Image.Resampling, given["interpolation"].upper())
    return function(picture, *arguments, resample=resample, fillcolor=tuple(int(value) for value in given["fill"]))


def _to_picture(image: torch.Tensor) -> Any:
    return Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())


def _to_tensor(picture: Any) -> torch.Tensor:
    return torch.from_numpy(numpy.array(picture)).permute(2, 0, 1).contiguous()


def _timm(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    return _to_tensor(_timm_picture(_to_picture(image), given))


def _timm_mixture(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    """timm's own code for AugMix, which gets the drawn chains in the place of its choices."""
    import timm.data.auto_augment as timms

    chains = iter(
        [[functools.partial(_timm_picture, given=op["Timm"]) for op in chain] for chain in given["chains"]]
    )
    mixer = timms.AugMixAugment([], width=len(given["chains"]), depth=1, blended=given["blended"])
    mix = mixer._apply_blended if given["blended"] else mixer._apply_basic
    with mock.patch.object(timms.np.random, "choice", lambda *_, **__: next(chains)):
        weights = numpy.array(given["weights"], numpy.float32)
        return _to_tensor(mix(_to_picture(image), weights, numpy.float32(given["m"])))


def _erase(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    top, left, height, width = (given[name] for name in ("top", "left", "height", "width"))
    value = given["value"]
    if "Color" in value:
        color = torch.tensor(value["Color"][: image.shape[0]])[:, None, None]
        return F.erase(image, top, left, height, width, color.to(image.dtype))
    noise = normals(value["Noise"]["key"], torch.Size([image.shape[0], height, width]))
    return F.erase(image, top, left, height, width, noise)


def _noise(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    """v2's gaussian_noise with the same normal numbers, which it takes from no caller."""
    drawn = normals(given["key"], image.shape)
    mean, sigma = given["mean"], given["sigma"]
    if image.dtype != torch.uint8:
        noisy = image + (mean + drawn * sigma)
        return noisy.clamp(0, 1) if given["clip"] else noisy
    noise = (mean * 255 + drawn * sigma * 255).to(torch.int16)
    return (image.to(torch.int16) + noise).clamp(0, 255).to(torch.uint8)


def _resize(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    size = [given["height"], given["width"]]
    return F.resize(image, size, interpolation=_MODES[given["interpolation"]], antialias=given["antialias"])


def _pad(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    sides = [given[side] for side in ("left", "top", "right", "bottom")]
    fill = given["fill"][: image.shape[0]] if given["mode"] == "Constant" else None
    return F.pad(image, sides, fill=fill, padding_mode=given["mode"].lower())


def _affine(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    numbers = {name: given[name] for name in ("angle", "translate", "scale", "shear", "center")}
    return F.affine(image, **numbers, **_warp(given))


def _pillow_blur(image: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
    blurred = F.to_pil_image(image).filter(PIL.ImageFilter.GaussianBlur(tuple(given["radius"])))
    return F.pil_to_tensor(blurred)


_FUNCTIONS: dict[str, Callable[[torch.Tensor, dict[str, Any]], torch.Tensor]] = {
    "Affine": _affine,
    "Brightness": lambda image, given: F.adjust_brightness(image, given["factor"]),
    "Contrast": lambda image, given: F.adjust_contrast(image, given["factor"]),
    "Elastic": lambda image, given: F.elastic(image, displacement(given, image.shape), **_warp(given)),
    "Erase": _erase,
    "GaussianNoise": _noise,
    "Grayscale": lambda image, given: F.rgb_to_grayscale(image, given["channels"]),
    "Hue": lambda image, given: F.adjust_hue(image, given["factor"]),
    "Mixture": _mixture,
    "Objects": lambda image, given: image,
    "Pad": _pad,
    "Perspective": lambda image, given: F.perspective(image, given["startpoints"], given["endpoints"], **_warp(given)),
    "PillowBlur": _pillow_blur,
    "Policy": _policy,
    "Resize": _resize,
    "Rotate": lambda image, given: F.rotate(image, given["angle"], expand=given["expand"], center=given["center"], **_warp(given)),
    "Timm": _timm,
    "TimmMixture": _timm_mixture,
    "Saturation": lambda image, given: F.adjust_saturation(image, given["factor"]),
    "Sharpness": lambda image, given: F.adjust_sharpness(image, given["factor"]),
}


def apply(op: Any, image: torch.Tensor) -> torch.Tensor:
    """One operation of a batch's parameters on an image of [channels, height, width]."""
    ((name, given),) = op.items() if isinstance(op, dict) else [(op, {})]
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](image, given)
    # `AdjustGamma` has the name and the arguments of torchvision's `adjust_gamma`.
    function: Callable[..., torch.Tensor] = getattr(F, re.sub("(?!^)([A-Z])", r"_\1", name).lower())
    return function(image, **given)


# What changes colours, and no place.
_COLORS = ("Brightness", "Contrast", "Hue", "PermuteChannels", "Saturation")


def boxes_through_torchvision(params: dict[str, Any], boxes: Any, labels: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """The boxes of an image with a sample's parameters, and the labels of those that stay."""
    leaves = torch.ones(len(boxes), dtype=torch.bool)
    for each in params["ops"]:
        op = each["op"]
        ((name, given),) = op.items() if isinstance(op, dict) else [(op, {})]
        if name in _COLORS:
            continue
        ((of_objects, their),) = given.items() if name == "Objects" else [("", {})]
        if name == "Crop":
            boxes = F.crop(boxes, **given)
            # RandomIoUCrop: SanitizeBoundingBoxes removes them.
            boxes[~leaves] = 0
        elif of_objects == "EmptyOutside":
            middle = F.convert_bounding_box_format(boxes.as_subclass(torch.Tensor), old_format=boxes.format, new_format="CXCYWH")[:, :2]
            begin = torch.tensor([their["left"], their["top"]])
            leaves = ((middle > begin) & (middle < begin + torch.tensor([their["width"], their["height"]]))).all(1)
        elif of_objects == "ConvertBoundingBoxFormat":
            boxes = F.convert_bounding_box_format(boxes, new_format=their["format"].upper())
        elif of_objects == "SanitizeBoundingBoxes":
            boxes, stays = F.sanitize_bounding_boxes(boxes, **their)
            labels, leaves = labels[stays], leaves[stays]
        elif name == "Resize":
            boxes = F.resize(boxes, [given["height"], given["width"]])
        elif name == "Pad":
            boxes = F.pad(boxes, [given[side] for side in ("left", "top", "right", "bottom")])
        else:
            boxes = getattr(F, re.sub("(?!^)([A-Z])", r"_\1", name).lower())(boxes, **given)
    return boxes, labels


def through_torchvision(params: dict[str, Any], image: torch.Tensor, float_from: int | None) -> torch.Tensor:
    """An image with a sample's parameters; it becomes floats before the slot ``float_from``."""
    for each in params["ops"]:
        if float_from is not None and each["slot"] >= float_from and image.dtype == torch.uint8:
            image = F.to_dtype(image, torch.float32, scale=True)
        image = apply(each["op"], image)
    if float_from is not None and image.dtype == torch.uint8:
        image = F.to_dtype(image, torch.float32, scale=True)
    return image
