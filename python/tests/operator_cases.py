"""Each class of torchvision's transforms, with defaults and with arguments, and the operator of a recipe, by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import PIL.Image
import torch
import torchvision.transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@dataclass(frozen=True)
class Case:
    """A class with arguments, in each module that has it, and the operator's arguments."""

    name: str
    given: dict[str, Any]
    expected: dict[str, Any]
    only: Any = None

    def transforms(self) -> list[Any]:
        modules = [module for module in (v1, v2) if hasattr(module, self.name) and self.only in (None, module)]
        assert modules
        return [getattr(module, self.name)(**self.given) for module in modules]


def case(name: str, given: dict[str, Any], only: Any = None, **expected: Any) -> Case:
    return Case(name, given, expected, only)


RESIZED = {"interpolation": "Bilinear", "antialias": True}
WARPED = {"interpolation": "Nearest", "fill": 0.0}
BLACK = {"fill": [0.0] * 3, "padding_mode": "Constant"}
IOU_CROP = {"min_scale": 0.3, "max_scale": 1.0, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0, "trials": 40}
BICUBIC = {"interpolation": InterpolationMode.BICUBIC}

CASES = [
    case("Resize", {"size": 32}, size=32, **RESIZED),
    case("Resize", {"size": [32]}, size=32, **RESIZED),
    case("Resize", {"size": (32, 32), "antialias": False}, size=[32, 32], interpolation="Bilinear", antialias=False),
    # None is False on tensors.
    case(
        "Resize",
        {"size": (30, 40), "antialias": None, **BICUBIC},
        size=[30, 40],
        interpolation="Bicubic",
        antialias=False,
    ),
    case(
        "Resize",
        {"size": 32, "max_size": 60, "interpolation": 0},
        size=32,
        max_size=60,
        interpolation="Nearest",
        antialias=True,
    ),
    case("Resize", {"size": 32, "interpolation": "bicubic"}, v2, size=32, interpolation="Bicubic", antialias=True),
    case(
        "Resize",
        {"size": 32, "interpolation": InterpolationMode.NEAREST_EXACT},
        size=32,
        interpolation="NearestExact",
        antialias=True,
    ),
    case(
        "Resize",
        {"size": 32, "interpolation": PIL.Image.Resampling.BICUBIC},
        size=32,
        interpolation="Bicubic",
        antialias=True,
    ),
    case("CenterCrop", {"size": 20}, size=20),
    case("CenterCrop", {"size": (20, 30)}, size=[20, 30]),
    case("FiveCrop", {"size": 8}, size=8),
    case("FiveCrop", {"size": (8, 9)}, size=[8, 9]),
    case("TenCrop", {"size": 8}, size=8, vertical_flip=False),
    case("TenCrop", {"size": (8, 9), "vertical_flip": True}, size=[8, 9], vertical_flip=True),
    case("RandomResizedCrop", {"size": 24}, size=24, scale=[0.08, 1.0], ratio=[0.75, 4 / 3], **RESIZED),
    case(
        "RandomResizedCrop",
        {"size": (24, 30), "scale": (0.5, 0.9), "ratio": (0.8, 1.2), "interpolation": 3, "antialias": False},
        size=[24, 30],
        scale=[0.5, 0.9],
        ratio=[0.8, 1.2],
        interpolation="Bicubic",
        antialias=False,
    ),
    case("RandomCrop", {"size": 32}, size=32, pad_if_needed=False, **BLACK),
    # v1 keeps one number for four sides; v2 keeps four, in another order than they were given.
    case("RandomCrop", {"size": 32, "padding": 4}, v1, size=32, padding=4, pad_if_needed=False, **BLACK),
    case("RandomCrop", {"size": 32, "padding": 4}, v2, size=32, padding=[4, 4, 4, 4], pad_if_needed=False, **BLACK),
    case(
        "RandomCrop",
        {"size": (32, 30), "padding": (1, 2, 3, 4), "fill": 9, "padding_mode": "edge", "pad_if_needed": True},
        size=[32, 30],
        padding=[1, 2, 3, 4],
        pad_if_needed=True,
        fill=[9.0] * 3,
        padding_mode="Edge",
    ),
    case(
        "RandomCrop",
        {"size": 32, "padding": [5, 6], "fill": (1, 2, 3), "padding_mode": "reflect"},
        v2,
        size=32,
        padding=[5, 6, 5, 6],
        pad_if_needed=False,
        fill=[1.0, 2.0, 3.0],
        padding_mode="Reflect",
    ),
    case("Pad", {"padding": 4}, padding=4, **BLACK),
    case(
        "Pad",
        {"padding": [2, 3], "padding_mode": "symmetric"},
        padding=[2, 3],
        fill=[0.0] * 3,
        padding_mode="Symmetric",
    ),
    case(
        "Pad",
        {"padding": (1, 2, 3, 4), "fill": (1, 2, 3)},
        padding=[1, 2, 3, 4],
        fill=[1.0, 2.0, 3.0],
        padding_mode="Constant",
    ),
    case("Pad", {"padding": [4], "fill": None}, v2, padding=4, **BLACK),
    case("RandomZoomOut", {}, fill=[0.0] * 3, side_range=[1.0, 4.0], p=0.5),
    case(
        "RandomZoomOut",
        {"fill": {tv_tensors.Image: 7, "others": 0}, "side_range": (1, 2), "p": 1},
        fill=[7.0] * 3,
        side_range=[1.0, 2.0],
        p=1.0,
    ),
    case("RandomRotation", {"degrees": 15}, degrees=[-15.0, 15.0], expand=False, **WARPED),
    case(
        "RandomRotation",
        {
            "degrees": (10, 20),
            "interpolation": InterpolationMode.BILINEAR,
            "expand": True,
            "center": (3, 4),
            "fill": (1, 2, 3),
        },
        degrees=[10.0, 20.0],
        expand=True,
        center=[3.0, 4.0],
        interpolation="Bilinear",
        fill=[1.0, 2.0, 3.0],
    ),
    case("RandomAffine", {"degrees": 10}, degrees=[-10.0, 10.0], **WARPED),
    case("RandomAffine", {"degrees": 0, "shear": 5}, degrees=[0.0, 0.0], shear=[-5.0, 5.0], **WARPED),
    case(
        "RandomAffine",
        {
            "degrees": (1, 2),
            "translate": (0.1, 0.2),
            "scale": (0.8, 1.2),
            "shear": (1, 2, 3, 4),
            "interpolation": 2,
            "fill": 9,
            "center": [5, 6],
        },
        degrees=[1.0, 2.0],
        translate=[0.1, 0.2],
        scale=[0.8, 1.2],
        shear=[1.0, 2.0],
        shear_y=[3.0, 4.0],
        center=[5.0, 6.0],
        interpolation="Bilinear",
        fill=9.0,
    ),
    # Absent is not 0: bilinear interpolation does not blend it.
    case(
        "RandomAffine", {"degrees": 10, "fill": None}, v2, degrees=[-10.0, 10.0], interpolation="Nearest", fill="None"
    ),
    case("RandomPerspective", {}, distortion_scale=0.5, p=0.5, interpolation="Bilinear", fill=0.0),
    case(
        "RandomPerspective",
        {"distortion_scale": 0.2, "p": 1, "interpolation": InterpolationMode.NEAREST, "fill": [3]},
        distortion_scale=0.2,
        p=1.0,
        interpolation="Nearest",
        fill=3.0,
    ),
    case("ElasticTransform", {}, alpha=[50.0, 50.0], sigma=[5.0, 5.0], interpolation="Bilinear", fill=0.0),
    case(
        "ElasticTransform",
        {"alpha": [30.0, 40.0], "sigma": 4.0, "interpolation": InterpolationMode.NEAREST, "fill": 8},
        alpha=[30.0, 40.0],
        sigma=[4.0, 4.0],
        interpolation="Nearest",
        fill=8.0,
    ),
    case("RandomResize", {"min_size": 20, "max_size": 40}, min_size=20, max_size=40, **RESIZED),
    case(
        "RandomResize",
        {"min_size": 20, "max_size": 40, "antialias": False, **BICUBIC},
        min_size=20,
        max_size=40,
        interpolation="Bicubic",
        antialias=False,
    ),
    case("RandomShortestSize", {"min_size": 20}, min_size=[20], **RESIZED),
    case("RandomShortestSize", {"min_size": [20, 30], "max_size": 50}, min_size=[20, 30], max_size=50, **RESIZED),
    case("ScaleJitter", {"target_size": (40, 50)}, target_size=[40, 50], scale_range=[0.1, 2.0], **RESIZED),
    case(
        "ScaleJitter",
        {"target_size": (40, 50), "scale_range": (0.5, 1.5), "interpolation": 0},
        target_size=[40, 50],
        scale_range=[0.5, 1.5],
        interpolation="Nearest",
        antialias=True,
    ),
    *[
        case(name, {}, p=0.5)
        for name in ("RandomHorizontalFlip", "RandomVerticalFlip", "RandomInvert", "RandomEqualize")
    ],
    *[
        case(name, {"p": 1}, p=1)
        for name in ("RandomHorizontalFlip", "RandomVerticalFlip", "RandomInvert", "RandomEqualize")
    ],
    case("RandomAutocontrast", {}, p=0.5),
    case("RandomAutocontrast", {"p": 0.1}, p=0.1),
    case("RandomAdjustSharpness", {"sharpness_factor": 2}, sharpness_factor=2, p=0.5),
    case("RandomAdjustSharpness", {"sharpness_factor": 0.5, "p": 0.1}, sharpness_factor=0.5, p=0.1),
    case("RandomPosterize", {"bits": 3}, bits=3, p=0.5),
    case("RandomPosterize", {"bits": 3, "p": 1.0}, bits=3, p=1.0),
    case("RandomSolarize", {"threshold": 128}, threshold=128, p=0.5),
    case("RandomSolarize", {"threshold": 127.5, "p": 0.2}, threshold=127.5, p=0.2),
    case("RandomChannelPermutation", {}),
    case("ColorJitter", {}, brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0),
    case(
        "ColorJitter",
        {"brightness": 0.4, "contrast": (0.5, 1.5), "saturation": 2, "hue": 0.1},
        brightness=[0.6, 1.4],
        contrast=[0.5, 1.5],
        saturation=[0.0, 3.0],
        hue=[-0.1, 0.1],
    ),
    case(
        "RandomPhotometricDistort",
        {},
        brightness=[0.875, 1.125],
        contrast=[0.5, 1.5],
        saturation=[0.5, 1.5],
        hue=[-0.05, 0.05],
        p=0.5,
    ),
    case(
        "RandomPhotometricDistort",
        {"brightness": (0.9, 1.1), "contrast": (0.6, 1.4), "saturation": (0.7, 1.3), "hue": (-0.2, 0.1), "p": 0.3},
        brightness=[0.9, 1.1],
        contrast=[0.6, 1.4],
        saturation=[0.7, 1.3],
        hue=[-0.2, 0.1],
        p=0.3,
    ),
    case("Grayscale", {}, num_output_channels=1),
    case("Grayscale", {"num_output_channels": 3}, num_output_channels=3),
    case("RandomGrayscale", {}, p=0.1),
    case("RandomGrayscale", {"p": 0.2}, p=0.2),
    case("GaussianBlur", {"kernel_size": 23}, kernel_size=[23, 23], sigma=[0.1, 2.0]),
    case("GaussianBlur", {"kernel_size": (3, 5), "sigma": 1.5}, kernel_size=[3, 5], sigma=[1.5, 1.5]),
    case("GaussianNoise", {}, mean=0.0, sigma=0.1, clip=True),
    case("GaussianNoise", {"mean": 1, "sigma": 0.2}, mean=1, sigma=0.2, clip=True),
    # Bicubic warps are Pillow's.
    case(
        "RandomRotation",
        {"degrees": 9, **BICUBIC},
        degrees=[-9.0, 9.0],
        interpolation="Bicubic",
        expand=False,
        fill=0.0,
    ),
    case("RandomAffine", {"degrees": 9, "fill": 3, **BICUBIC}, degrees=[-9.0, 9.0], interpolation="Bicubic", fill=3.0),
    case("JPEG", {"quality": 50}, quality=[50, 50]),
    case("JPEG", {"quality": (5, 50)}, quality=[5, 50]),
    case("RandomErasing", {}, p=0.5, scale=[0.02, 0.33], ratio=[0.3, 3.3], value=0.0),
    case(
        "RandomErasing",
        {"p": 0.1, "scale": (0.1, 0.2), "ratio": (0.5, 2), "value": (1, 2, 3)},
        p=0.1,
        scale=[0.1, 0.2],
        ratio=[0.5, 2.0],
        value=[1.0, 2.0, 3.0],
    ),
    case("Normalize", {"mean": MEAN, "std": STD}, mean=MEAN, std=STD),
    # A tensor's 32-bit numbers in their shortest form.
    case("Normalize", {"mean": torch.tensor(MEAN), "std": torch.tensor(STD)}, mean=MEAN, std=STD),
    case("Normalize", {"mean": [0.5], "std": [0.25]}, mean=[0.5] * 3, std=[0.25] * 3),
    case("RandAugment", {}, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation="Nearest", fill="None"),
    case(
        "RandAugment",
        {
            "num_ops": 3,
            "magnitude": 5,
            "num_magnitude_bins": 11,
            "interpolation": InterpolationMode.BILINEAR,
            "fill": [7, 8, 9],
        },
        num_ops=3,
        magnitude=5,
        num_magnitude_bins=11,
        interpolation="Bilinear",
        fill=[7.0, 8.0, 9.0],
    ),
    case("TrivialAugmentWide", {}, num_magnitude_bins=31, interpolation="Nearest", fill="None"),
    case(
        "TrivialAugmentWide",
        {"num_magnitude_bins": 11, "fill": [7]},
        num_magnitude_bins=11,
        interpolation="Nearest",
        fill=7.0,
    ),
    case("AutoAugment", {}, policy="ImageNet", interpolation="Nearest", fill="None"),
    case(
        "AutoAugment", {"policy": v1.AutoAugmentPolicy.CIFAR10}, policy="Cifar10", interpolation="Nearest", fill="None"
    ),
    case(
        "AutoAugment",
        {"policy": v1.AutoAugmentPolicy.SVHN, "interpolation": InterpolationMode.BILINEAR, "fill": [1]},
        policy="Svhn",
        interpolation="Bilinear",
        fill=1.0,
    ),
    case(
        "AugMix",
        {},
        severity=3,
        mixture_width=3,
        chain_depth=-1,
        alpha=1.0,
        all_ops=True,
        interpolation="Bilinear",
        fill="None",
    ),
    case(
        "AugMix",
        {
            "severity": 5,
            "mixture_width": 2,
            "chain_depth": 2,
            "alpha": 0.5,
            "all_ops": False,
            "interpolation": InterpolationMode.NEAREST,
        },
        severity=5,
        mixture_width=2,
        chain_depth=2,
        alpha=0.5,
        all_ops=False,
        interpolation="Nearest",
        fill="None",
    ),
    case("ClampBoundingBoxes", {}),
    case("ClampKeyPoints", {}),
    case("ConvertBoundingBoxFormat", {"format": "XYXY"}, format="xyxy"),
    case("ConvertBoundingBoxFormat", {"format": tv_tensors.BoundingBoxFormat.CXCYWH}, format="cxcywh"),
    case("RandomIoUCrop", {}, sampler_options=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], **IOU_CROP),
    case("RandomIoUCrop", {**IOU_CROP, "trials": 9, "sampler_options": [0.5, 2]}, sampler_options=[0.5, 2.0], **{**IOU_CROP, "trials": 9}),
    case("SanitizeBoundingBoxes", {}, min_size=1.0, min_area=1.0),
    case("SanitizeBoundingBoxes", {"min_size": 2, "min_area": 9.5, "labels_getter": None}, min_size=2.0, min_area=9.5),
    case("SanitizeKeyPoints", {}),
    case("SetClampingMode", {"clamping_mode": "hard"}, clamping_mode="soft"),
    case("SetClampingMode", {"clamping_mode": None}, clamping_mode="none"),
]
