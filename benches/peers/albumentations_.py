"""Albumentations on NumPy arrays decoded by OpenCV, one sample at a time in DataLoader's processes.

Variant "area": antialiases, by INTER_AREA where a picture gets smaller.
"""

import albumentations as A
import cv2
import numpy
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader

import data
import peer
import recipes


def jitter(recipe):
    brightness, contrast, saturation, hue = recipe.jitter
    if not saturation and not hue and recipe.jitter_p < 1:
        # One table look-up for both, the library's own idiom.
        return A.RandomBrightnessContrast(brightness, contrast, p=recipe.jitter_p)
    around = [(1 - strength, 1 + strength) for strength in (brightness, contrast, saturation)]
    return A.ColorJitter(*around, hue=(-hue, hue), p=recipe.jitter_p)


def transform(recipe, variant):
    smaller = {"area_for_downscale": "image"} if variant == "area" else {}
    side, steps = recipe.side, []
    if recipe.random_resized:
        steps.append(A.RandomResizedCrop((side, side), interpolation=cv2.INTER_LINEAR, **smaller))
    if recipe.resize:
        steps.append(A.Resize(recipe.resize, recipe.resize, interpolation=cv2.INTER_LINEAR, **smaller))
    if recipe.padding:
        padded = recipes.SMALL_SIDE + 2 * recipe.padding
        steps.append(A.PadIfNeeded(padded, padded, border_mode=cv2.BORDER_CONSTANT, fill=0))
    if recipe.crop:
        steps.append(A.RandomCrop(side, side))
    if recipe.vertical:
        steps.append(A.VerticalFlip(p=recipe.vertical))
    steps.append(A.HorizontalFlip(p=recipe.horizontal))
    if any(recipe.jitter):
        steps.append(jitter(recipe))
    if recipe.gray:
        steps.append(A.ToGray(p=recipe.gray))
    steps.append(A.Normalize(*recipe.normalize) if recipe.normalize else A.ToFloat(max_value=255))
    return A.Compose([*steps, ToTensorV2()])


class Pictures:
    """Paths, or arrays in memory."""

    def __init__(self, sources, labels, steps, times=1):
        self.sources, self.labels, self.steps, self.times = sources, labels, steps, times

    def __len__(self):
        return len(self.sources) * self.times

    def __getitem__(self, i):
        i %= len(self.sources)
        picture = self.sources[i]
        if isinstance(picture, str):
            picture = cv2.imread(picture, cv2.IMREAD_COLOR_RGB)
        return self.steps(image=picture)["image"], self.labels[i]


def build(arguments, recipe):
    # DataLoader's processes are the parallelism.
    cv2.setNumThreads(0)
    if recipe.source == "bytes":
        epoch = peer.decode_in_threads(
            arguments, lambda file: cv2.imdecode(numpy.frombuffer(file, numpy.uint8), cv2.IMREAD_COLOR_RGB)
        )
        return peer.Peer(epoch, lambda batch: batch)
    steps = transform(recipe, arguments.variant)
    if recipe.source == "files":
        paths = data.files(arguments.data)
        pictures = Pictures(paths, peer.labels(paths), steps)
    elif recipe.source == "small":
        pixels = peer.small(arguments)
        pictures = Pictures(pixels, [0] * len(pixels), steps)
    else:
        pixels = peer.resident(arguments)
        pictures = Pictures(pixels, [0] * len(pixels), steps, recipes.RESIDENT_TIMES)
    loader = DataLoader(
        pictures,
        batch_size=arguments.batch,
        shuffle=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
    )

    def epoch():
        for images, _labels in loader:
            yield images

    return peer.Peer(epoch, lambda batch: [batch.numpy()])


if __name__ == "__main__":
    peer.main(build, "albumentations", ["opencv-python-headless", "torch"])
