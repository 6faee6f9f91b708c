"""Lists of supervised training, by the parameters that their authors published: torchvision's references, timm's ``create_transform`` as
its users call it (DeiT, MAE's finetuning), MAE's linear probing, weights' presets."""

from __future__ import annotations

from typing import Any

import torch
from torchvision import transforms as v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from published.self_supervised import BICUBIC, ENDS, MEAN, STD, CropWithoutRetries

BILINEAR = InterpolationMode.BILINEAR


class TrainingPreset:
    """As ClassificationPresetTrain of torchvision's references: an object that runs its list, ``transforms``."""

    def __init__(self, crop: int, policy: str | None = None, erasing: float = 0.0, interpolation: Any = BILINEAR) -> None:
        steps: list[Any] = [v1.RandomResizedCrop(crop, interpolation=interpolation, antialias=True), v1.RandomHorizontalFlip(0.5)]
        if policy == "ra":
            steps.append(v1.RandAugment(interpolation=interpolation, magnitude=9))
        elif policy == "ta_wide":
            steps.append(v1.TrivialAugmentWide(interpolation=interpolation))
        elif policy == "augmix":
            steps.append(v1.AugMix(interpolation=interpolation, severity=3))
        elif policy is not None:
            steps.append(v1.AutoAugment(AutoAugmentPolicy(policy), interpolation=interpolation))
        steps += [v1.PILToTensor(), v1.ConvertImageDtype(torch.float), v1.Normalize(MEAN, STD)]
        if erasing > 0:
            steps.append(v1.RandomErasing(p=erasing))
        self.transforms = v1.Compose(steps)

    def __call__(self, image: Any) -> Any:
        return self.transforms(image)


class EvaluationPreset:
    """As ClassificationPresetEval."""

    def __init__(self, crop: int, resize: int) -> None:
        steps = [v1.Resize(resize, interpolation=BILINEAR, antialias=True), v1.CenterCrop(crop), v1.PILToTensor()]
        self.transforms = v1.Compose([*steps, v1.ConvertImageDtype(torch.float), v1.Normalize(MEAN, STD)])

    def __call__(self, image: Any) -> Any:
        return self.transforms(image)


def timm(size: int = 224, training: bool = True, **options: Any) -> Any:
    from timm.data import create_transform

    return create_transform(size, is_training=training, **options)


# DeiT's training, and MAE's finetuning, by timm.
RAND_AUGMENT = {"color_jitter": None, "auto_augment": "rand-m9-mstd0.5-inc1", "interpolation": "bicubic", "re_prob": 0.25}
RAND_AUGMENT |= {"re_mode": "pixel", "re_count": 1}


def evaluation() -> Any:
    """DeiT's and MAE's."""
    return v1.Compose([v1.Resize(256, interpolation=BICUBIC), v1.CenterCrop(224), *ENDS])


def linear_probing() -> Any:
    return v1.Compose([CropWithoutRetries(224, interpolation=3), v1.RandomHorizontalFlip(), *ENDS])


class OfKornia(torch.nn.Sequential):
    """As Kornia's AugmentationSequential: modules that work on a batch."""

    def forward(self, images: Any) -> Any:
        return super().forward(images[None] if images.ndim == 3 else images)


def double(x: Any) -> Any:
    return x * 2 - 1


def plain(image: Any) -> Any:
    """A user's own code, which no known transform does."""
    return image.rotate(3)
