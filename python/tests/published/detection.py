"""The presets of torchvision's references for detection and for segmentation, by the lists that they publish, with ``use_v2`` and images as
tensors; and the parts of their scripts that torchvision itself does not have."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

MEAN = (123.0, 117.0, 104.0)
SIZES = (480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800)


class FixedSizeCrop(torch.nn.Module):
    """As the class of the references: one number places the crop, and padding lies below and to the right."""

    def __init__(self, size: tuple[int, int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.crop_height, self.crop_width = size
        self.fill, self.padding_mode = fill, padding_mode

    def forward(self, image: Any, target: Any = None) -> Any:
        _, height, width = v2.functional.get_dimensions(image)
        place = float(torch.rand(1))
        top, left = int(max(height - self.crop_height, 0) * place), int(max(width - self.crop_width, 0) * place)
        image = v2.functional.crop(image, top, left, min(height, self.crop_height), min(width, self.crop_width))
        beside = [0, 0, max(self.crop_width - width, 0), max(self.crop_height - height, 0)]
        return v2.functional.pad(image, beside, self.fill, self.padding_mode), target


class DetectionTraining:
    """As DetectionPresetTrain."""

    def __init__(self, data_augmentation: str, hflip_prob: float = 0.5, mean: tuple[float, ...] = MEAN, backend: str = "tv_tensor") -> None:
        steps: list[Any] = [v2.ToImage()] if backend == "tv_tensor" else []
        flip = v2.RandomHorizontalFlip(p=hflip_prob)
        if data_augmentation == "hflip":
            steps += [flip]
        elif data_augmentation == "lsj":
            steps += [v2.ScaleJitter(target_size=(1024, 1024), antialias=True), FixedSizeCrop(size=(1024, 1024), fill=mean), flip]
        elif data_augmentation == "multiscale":
            steps += [v2.RandomShortestSize(min_size=SIZES, max_size=1333), flip]
        elif data_augmentation == "ssd":
            fill: Any = defaultdict(lambda: mean, {tv_tensors.Mask: 0})
            steps += [v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=fill), v2.RandomIoUCrop(), flip]
        elif data_augmentation == "ssdlite":
            steps += [v2.RandomIoUCrop(), flip]
        if backend == "pil":
            steps += [v2.ToImage()]
        steps += [v2.ToDtype(torch.float, scale=True)]
        steps += [v2.ConvertBoundingBoxFormat(tv_tensors.BoundingBoxFormat.XYXY), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]
        self.transforms = v2.Compose(steps)

    def __call__(self, img: Any, target: Any) -> Any:
        return self.transforms(img, target)


class DetectionEvaluation:
    """As DetectionPresetEval."""

    def __init__(self) -> None:
        self.transforms = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float, scale=True), v2.ToPureTensor()])

    def __call__(self, img: Any, target: Any) -> Any:
        return self.transforms(img, target)


class PadIfSmaller(v2.Transform):  # type: ignore[misc]
    """As the class of the references for segmentation."""

    def __init__(self, size: int, fill: Any = 0) -> None:
        super().__init__()
        self.size, self.fill = size, v2._utils._setup_fill_arg(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        _, height, width = v2._utils.query_chw(flat_inputs)
        padding = [0, 0, max(self.size - width, 0), max(self.size - height, 0)]
        return {"padding": padding, "needs_padding": any(padding)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params["needs_padding"]:
            return inpt
        return v2.functional.pad(inpt, padding=params["padding"], fill=v2._utils._get_fill(self.fill, type(inpt)))


def segmentation_training(base: int, crop: int) -> list[Any]:
    """As the list of SegmentationPresetTrain."""
    types: Any = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    return [
        v2.ToImage(),
        v2.RandomResize(min_size=int(0.5 * base), max_size=int(2.0 * base)),
        v2.RandomHorizontalFlip(0.5),
        PadIfSmaller(crop, fill={tv_tensors.Mask: 255, "others": 0}),
        v2.RandomCrop(crop),
        v2.ToDtype(dtype=types, scale=True),
        v2.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
        v2.ToPureTensor(),
    ]


class SegmentationEvaluation:
    """As SegmentationPresetEval."""

    def __init__(self, base: int) -> None:
        ends = [v2.ToDtype(torch.float, scale=True), v2.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)), v2.ToPureTensor()]
        self.transforms = v2.Compose([v2.ToImage(), v2.Resize(size=(base, base)), *ends])

    def __call__(self, img: Any, target: Any) -> Any:
        return self.transforms(img, target)
