"""Lists of self-supervised training, by the parameters that their authors published, with minimal classes of the same formulas:

DINO (Caron and others, 2021), iBOT, DINOv2, MoCo v2 and v3, SimCLR and BYOL (by solo-learn's and others' configurations), SwAV, VICReg,
Barlow Twins, MAE, and DeiT III, whose augmentation is of their kind.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy
import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode

BICUBIC = InterpolationMode.BICUBIC
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ENDS = [v1.ToTensor(), v1.Normalize(MEAN, STD)]


class BlurByChance:
    """DINO's, iBOT's and DeiT III's: blurs with probability p, by a radius of a range. Python's random numbers."""

    def __init__(self, p: float = 0.5, radius_min: float = 0.1, radius_max: float = 2.0) -> None:
        self.p, self.radii = p, (radius_min, radius_max)

    def __call__(self, image: Any) -> Any:
        if random.random() <= self.p:
            return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(*self.radii)))
        return image


class Blur:
    """MoCo's, SimCLR's and solo-learn's: always blurs; a RandomApply stands around it."""

    def __init__(self, sigma: tuple[float, float] = (0.1, 2.0)) -> None:
        self.sigma = sigma

    def __call__(self, image: Any) -> Any:
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.sigma[0], self.sigma[1])))


class BlurOfNumpy:
    """VICReg's: NumPy's random numbers, and a range that no attribute says."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        if numpy.random.rand() < self.p:
            sigma = numpy.random.rand() * 1.9 + 0.1
            return image.filter(ImageFilter.GaussianBlur(sigma))
        return image


class BlurOfBoth:
    """SwAV's: NumPy decides, Python draws the radius."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        if numpy.random.rand() > self.p:
            return image
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


class BlurOfArrays:
    """As SwAV's other blur, which is OpenCV's: a kernel of 23 numbers a side, here by NumPy."""

    def __call__(self, image: Any) -> Any:
        if numpy.random.random_sample() >= 0.5:
            return image
        sigma = 1.9 * numpy.random.random_sample() + 0.1
        weights = numpy.exp(-(numpy.arange(-11, 12) ** 2) / (2 * sigma * sigma))
        pixels = numpy.asarray(image, numpy.float64)
        for axis in (0, 1):
            pixels = numpy.apply_along_axis(lambda line: numpy.convolve(line, weights / weights.sum(), "same"), axis, pixels)
        return Image.fromarray(pixels.round().astype(numpy.uint8))


class SolarizeByChance:
    """DINO's, VICReg's and lightly's, whose random numbers are Python's or NumPy's."""

    def __init__(self, p: float, of_numpy: bool = False) -> None:
        self.p, self.of_numpy = p, of_numpy

    def __call__(self, image: Any) -> Any:
        drawn = numpy.random.rand() if self.of_numpy else random.random()
        return ImageOps.solarize(image) if drawn < self.p else image


class Solarize:
    """solo-learn's, with a RandomApply around it."""

    def __call__(self, image: Any) -> Any:
        return ImageOps.solarize(image)


class Equalize:
    """solo-learn's."""

    def __call__(self, image: Any) -> Any:
        return ImageOps.equalize(image)


class GrayByChance:
    """DeiT III's."""

    def __init__(self, p: float) -> None:
        self.p, self.gray = p, v1.Grayscale(3)

    def __call__(self, image: Any) -> Any:
        return self.gray(image) if random.random() < self.p else image


class BlurOfRandomApply(v1.RandomApply):
    """DINOv2's: a RandomApply with other arguments, of torchvision's blur."""

    def __init__(self, *, p: float = 0.5, radius_min: float = 0.1, radius_max: float = 2.0) -> None:
        super().__init__([v1.GaussianBlur(kernel_size=9, sigma=(radius_min, radius_max))], p=1 - p)


class CropWithoutRetries(v1.RandomResizedCrop):
    """MAE's of linear probing: a crop that does not fit is made smaller, where torchvision's draws another one."""

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        width, height = v1.functional.get_image_size(img)
        area = height * width * torch.empty(1).uniform_(scale[0], scale[1]).item()
        bounds = torch.log(torch.tensor(ratio))
        aspect = torch.exp(torch.empty(1).uniform_(float(bounds[0]), float(bounds[1]))).item()
        w, h = min(round(math.sqrt(area * aspect)), width), min(round(math.sqrt(area / aspect)), height)
        top, left = (int(torch.randint(0, most + 1, (1,)).item()) for most in (height - h, width - w))
        return top, left, h, w


def flip_and_jitter(brightness: float, contrast: float, saturation: float, hue: float, gray: float = 0.2) -> list[Any]:
    jitter = v1.ColorJitter(brightness, contrast, saturation, hue)
    return [v1.RandomHorizontalFlip(p=0.5), v1.RandomApply([jitter], p=0.8), v1.RandomGrayscale(p=gray)]


def dinos(size: int, scale: tuple[float, float], *more: Any) -> Any:
    crop = v1.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC)
    return v1.Compose([crop, v1.Compose(flip_and_jitter(0.4, 0.4, 0.2, 0.1)), *more, v1.Compose(ENDS)])


class CropsOfDino:
    """DINO's DataAugmentationDINO: two global crops by a list each, and ``local`` small ones by a third."""

    def __init__(self, local: int = 8) -> None:
        self.global_transfo1 = dinos(224, (0.4, 1.0), BlurByChance(1.0))
        self.global_transfo2 = dinos(224, (0.4, 1.0), BlurByChance(0.1), SolarizeByChance(0.2))
        self.local_transfo = dinos(96, (0.05, 0.4), BlurByChance(0.5))
        self.local_crops_number = local

    def __call__(self, image: Any) -> Any:
        crops = [self.global_transfo1(image), self.global_transfo2(image)]
        return crops + [self.local_transfo(image) for _ in range(self.local_crops_number)]


class CropsOfDinoV2:
    """DINOv2's: each crop is cut and flipped by one list, and coloured by another. The views are in a dictionary, some of them twice."""

    def __init__(self, local: int = 8) -> None:
        def cut(size: int, scale: tuple[float, float]) -> Any:
            return v1.Compose([v1.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC), v1.RandomHorizontalFlip(p=0.5)])

        def colours(*more: Any) -> Any:
            return v1.Compose([v1.Compose(flip_and_jitter(0.4, 0.4, 0.2, 0.1)[1:]), *more, v1.Compose(ENDS)])

        self.cut_global, self.cut_local = cut(224, (0.32, 1.0)), cut(98, (0.05, 0.32))
        self.first = colours(BlurOfRandomApply(p=1.0))
        self.second = colours(BlurOfRandomApply(p=0.1), v1.RandomSolarize(threshold=128, p=0.2))
        self.local, self.count = colours(BlurOfRandomApply(p=0.5)), local

    def __call__(self, image: Any) -> Any:
        two = [self.first(self.cut_global(image)), self.second(self.cut_global(image))]
        small = [self.local(self.cut_local(image)) for _ in range(self.count)]
        return {"global_crops": two, "global_crops_teacher": two, "local_crops": small, "offsets": ()}


class TwoCrops:
    """MoCo v2's TwoCropsTransform."""

    def __init__(self, base_transform: Any) -> None:
        self.base_transform = base_transform

    def __call__(self, image: Any) -> Any:
        return [self.base_transform(image), self.base_transform(image)]


class TwoLists:
    """MoCo v3's, BYOL's, VICReg's and Barlow Twins' objects: one list for each of two views."""

    def __init__(self, first: Any, second: Any) -> None:
        self.transform, self.transform_prime = first, second

    def __call__(self, image: Any) -> Any:
        return self.transform(image), self.transform_prime(image)


def moco_v2() -> Any:
    jitter = v1.RandomApply([v1.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
    begins = [v1.RandomResizedCrop(224, scale=(0.2, 1.0)), jitter, v1.RandomGrayscale(p=0.2)]
    return v1.Compose([*begins, v1.RandomApply([Blur()], p=0.5), v1.RandomHorizontalFlip(), *ENDS])


def byols(blur: float, solarize: float, of_numpy: bool = False) -> Any:
    """BYOL's table of augmentations, which Barlow Twins, MoCo v3 and VICReg have, too: the two views differ in blur and solarization."""
    crop = v1.RandomResizedCrop(224, scale=(0.08, 1.0), interpolation=BICUBIC)
    blurs = BlurOfNumpy(blur) if of_numpy else BlurByChance(blur)
    return v1.Compose([crop, *flip_and_jitter(0.4, 0.4, 0.2, 0.1), blurs, SolarizeByChance(solarize, of_numpy), *ENDS])


def solo_learn() -> Any:
    """solo-learn's SimCLR on ImageNet, with its equalization and solarization, which are off there, at a tenth."""
    jitter = v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    begins = [v1.RandomResizedCrop(224, scale=(0.08, 1.0), interpolation=BICUBIC), jitter, v1.RandomGrayscale(p=0.2)]
    rest = [v1.RandomApply([Blur()], p=0.5), v1.RandomApply([Solarize()], p=0.1), v1.RandomApply([Equalize()], p=0.1)]
    return v1.Compose([*begins, *rest, v1.RandomHorizontalFlip(p=0.5), *ENDS])


def swav() -> list[Any]:
    """The lists of SwAV's two sizes of crops."""
    jitter = v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    lists = []
    for size, scale in ((224, (0.14, 1.0)), (96, (0.05, 0.14))):
        colours = v1.Compose([jitter, v1.RandomGrayscale(p=0.2), BlurOfBoth()])
        lists.append(v1.Compose([v1.RandomResizedCrop(size, scale=scale), v1.RandomHorizontalFlip(p=0.5), colours, *ENDS]))
    return lists


class CropsOfSwav:
    """SwAV's: two large crops, and six small ones."""

    def __init__(self) -> None:
        large, small = swav()
        self.trans = [large] * 2 + [small] * 6

    def __call__(self, image: Any) -> Any:
        return [each(image) for each in self.trans]


class RotateByChance:
    """lightly's, which is off by default: a rotation that never happens."""

    def __init__(self, p: float = 0.0) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        return v1.functional.rotate(image, 90) if numpy.random.random_sample() < self.p else image


class ViewOfLightly:
    """lightly's SimCLRViewTransform: an object that runs its list, ``transform``."""

    def __init__(self) -> None:
        flips = [v1.RandomHorizontalFlip(p=0.5), v1.RandomVerticalFlip(p=0.0), RotateByChance()]
        jitter = v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
        colours = [jitter, v1.RandomGrayscale(p=0.2), BlurOfNumpy(0.5)]
        self.transform = v1.Compose([v1.RandomResizedCrop(224, scale=(0.08, 1.0)), *flips, *colours, *ENDS])

    def __call__(self, image: Any) -> Any:
        return self.transform(image)


class ViewsOfLightly:
    """lightly's MultiViewTransform: a view by each object of a list, which is one object twice."""

    def __init__(self) -> None:
        view = ViewOfLightly()
        self.transforms = [view, view]

    def __call__(self, image: Any) -> Any:
        return [view(image) for view in self.transforms]


def mae_pretraining() -> Any:
    return v1.Compose([v1.RandomResizedCrop(224, scale=(0.2, 1.0), interpolation=3), v1.RandomHorizontalFlip(), *ENDS])


def deit_iii() -> Any:
    """DeiT III's three augmentations, of which one works on an image."""
    three = v1.RandomChoice([GrayByChance(1.0), SolarizeByChance(1.0), BlurByChance(1.0)])
    crop = v1.RandomResizedCrop(224, scale=(0.08, 1.0), interpolation=BICUBIC)
    return v1.Compose([crop, v1.RandomHorizontalFlip(), three, v1.ColorJitter(0.3, 0.3, 0.3), *ENDS])
