#!/usr/bin/env python3
"""What boxes and masks cost, beside torchvision v2 and Albumentations. Needs the wheel, torch, torchvision
and pycocotools; Albumentations and OpenCV for their rows.

    python benches/targets.py [--images N] [--rounds N] [--workers N] [--only NAME]

Draws a data set in COCO's shape (JPEG files of 640 by 480 pixels with 7 boxes each) and masks in PNG files beside them, and reads it by the
recipes coco-ssd, coco-detr, segmentation-train and yolo-mosaic. The others have the lists of torchvision's references, of DETR, and of
Ultralytics. Loaders take turns, in an order that moves on in each round; every figure is the median of the rounds' ratios, with the least and
the greatest. What is not installed is a row that says so. The last table has targets alone: 7 boxes and 17 keypoints of each through flip,
crop, resize and affine.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from PIL import Image, ImageDraw
from torchvision import tv_tensors
from torchvision.datasets import CocoDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import gpufeed
from views import rates

WIDTH, HEIGHT, BOXES = 640, 480, 7
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SSD_MEAN, SSD_STD = [0.48235, 0.45882, 0.40784], [1 / 255] * 3
SIZES = (480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800)
Epoch = Callable[[], int]


def draw(folder: Path, count: int) -> None:
    """Noise of several scales, which JPEG compresses as it does photographs, with a rectangle for each box, and the mask of the rectangles."""
    numbers = random.Random(0)
    noise = numpy.random.default_rng(0)
    images, annotations = [], []
    for kind in ("images", "masks"):
        (folder / kind).mkdir()
    for number in range(count):
        pixels = sum(numpy.kron(noise.integers(0, 64, (HEIGHT // side, WIDTH // side, 3)), numpy.ones((side, side, 1))) for side in (2, 8, 32, 80))
        picture = Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))
        mask = Image.new("L", (WIDTH, HEIGHT))
        for _ in range(BOXES):
            w, h = numbers.randrange(30, 240), numbers.randrange(30, 200)
            x, y = numbers.randrange(WIDTH - w), numbers.randrange(HEIGHT - h)
            label = numbers.randrange(1, 21)
            ImageDraw.Draw(picture).rectangle((x, y, x + w, y + h), outline=tuple(numbers.randrange(256) for _ in range(3)), width=4)
            ImageDraw.Draw(mask).rectangle((x, y, x + w, y + h), fill=label)
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": label, "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0,
            })  # fmt: skip
        picture.save(folder / "images" / f"{number:05}.jpg", quality=90)
        mask.save(folder / "masks" / f"{number:05}.png")
        images.append({"id": number, "file_name": f"{number:05}.jpg", "width": WIDTH, "height": HEIGHT})
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 21)]
    (folder / "instances_all.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def of_gpufeed(data: Path, recipe: str, batch: int, workers: int, **settings: Any) -> Epoch:
    loader = gpufeed.DataLoader(data, recipe=recipe, backend="cpu", batch_size=batch, shuffle=True, drop_last=True, workers=workers, **settings)
    return lambda: sum(len(each["image"]) for each in loader)


def of_torch(data: Any, batch: int, workers: int, collate: Callable[[list[Any]], Any]) -> Epoch:
    loader = torch.utils.data.DataLoader(
        data, batch, shuffle=True, drop_last=True, num_workers=workers, persistent_workers=True, collate_fn=collate
    )
    return lambda: sum(len(images) for images, _ in loader)


def zipped(samples: list[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


def padded(samples: list[Any]) -> Any:
    """DETR's nested tensor: images of one batch with zeros on the right and below, and its mask."""
    images, targets = zipped(samples)
    height, width = (max(image.shape[axis] for image in images) for axis in (-2, -1))
    batch, mask = torch.zeros(len(images), 3, height, width), torch.ones(len(images), height, width, dtype=torch.bool)
    for image, to, of in zip(images, batch, mask, strict=True):
        to[:, : image.shape[1], : image.shape[2]] = image
        of[: image.shape[1], : image.shape[2]] = False
    return batch, (targets, mask)


def coco(folder: Path, transforms: Any) -> Any:
    data = CocoDetection(str(folder / "images"), str(folder / "instances_all.json"), transforms=transforms)
    return wrap_dataset_for_transforms_v2(data, target_keys=["boxes", "labels", "image_id"])


def end(mean: list[float], std: list[float]) -> list[Any]:
    return [v2.SanitizeBoundingBoxes(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std), v2.ToPureTensor()]


def ssd(folder: Path, workers: int) -> dict[str, Epoch]:
    steps = [v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=(123, 117, 104)), v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((300, 300))]
    found = {
        "gpufeed": of_gpufeed(folder / "instances_all.json", "coco-ssd", 32, workers, root=folder / "images"),
        "torchvision v2, tensors": of_torch(coco(folder, v2.Compose([v2.ToImage(), *steps, *end(SSD_MEAN, SSD_STD)])), 32, workers, zipped),
        "torchvision v2, Pillow's images": of_torch(
            coco(folder, v2.Compose([*steps, v2.ToImage(), *end(SSD_MEAN, SSD_STD)])), 32, workers, zipped
        ),
    }
    if importlib.util.find_spec("albumentations") is not None:
        import albumentations as A

        # Its own SSD-like list: colours, zoom out by a border, a crop around boxes, flip.
        listed = [
            A.ColorJitter(0.125, 0.5, 0.5, 0.05, p=0.5),
            A.OneOf([A.RandomScale((-0.5, 0.0), p=1.0), A.NoOp()], p=0.5),
            A.PadIfNeeded(HEIGHT, WIDTH, fill=(123, 117, 104)),
            A.RandomSizedBBoxSafeCrop(300, 300),
            A.HorizontalFlip(p=0.5),
            A.Normalize(SSD_MEAN, SSD_STD),
        ]
        found["Albumentations"] = of_torch(WithAlbumentations(folder, listed), 32, workers, zipped)
    return found


class WithAlbumentations:
    """Files that OpenCV decodes, and boxes of the JSON file."""

    def __init__(self, folder: Path, transforms: list[Any]) -> None:
        import albumentations as A

        document = json.loads((folder / "instances_all.json").read_text())
        self.files = [str(folder / "images" / image["file_name"]) for image in document["images"]]
        self.boxes: list[list[list[float]]] = [[] for _ in self.files]
        self.labels: list[list[int]] = [[] for _ in self.files]
        for each in document["annotations"]:
            self.boxes[each["image_id"]].append(each["bbox"])
            self.labels[each["image_id"]].append(each["category_id"])
        self.transform = A.Compose(transforms, bbox_params=A.BboxParams(format="coco", label_fields=["labels"]))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        import cv2

        image = cv2.cvtColor(cv2.imread(self.files[index]), cv2.COLOR_BGR2RGB)
        made = self.transform(image=image, bboxes=self.boxes[index], labels=self.labels[index])
        boxes = torch.as_tensor(numpy.asarray(made["bboxes"], dtype=numpy.float32).reshape(-1, 4))
        return torch.from_numpy(made["image"].transpose(2, 0, 1).copy()), {"boxes": boxes, "labels": torch.as_tensor(made["labels"])}


class RandomSizeCrop(v2.Transform):
    """DETR's, on torchvision's kernels."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = v2.functional.get_size(flat_inputs[0])
        w, h = random.randint(min(384, width), min(600, width)), random.randint(min(384, height), min(600, height))
        return {"top": random.randint(0, height - h), "left": random.randint(0, width - w), "height": h, "width": w}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(v2.functional.crop, inpt, **params)


def detr(folder: Path, workers: int) -> dict[str, Epoch]:
    resize = v2.RandomShortestSize([*SIZES], max_size=1333)
    cropped = v2.Compose([v2.RandomShortestSize([400, 500, 600]), RandomSizeCrop(), resize])
    steps = [v2.RandomHorizontalFlip(), v2.RandomChoice([resize, cropped])]
    found = {"gpufeed": of_gpufeed(folder / "instances_all.json", "coco-detr", 4, workers, root=folder / "images")}
    for name, first, last in (("tensors", [v2.ToImage()], []), ("Pillow's images", [], [v2.ToImage()])):
        transforms = v2.Compose([*first, *steps, *last, *end(MEAN, STD)])
        found[f"torchvision v2, {name}"] = of_torch(coco(folder, transforms), 4, workers, padded)
    return found


class Masks:
    """Images and masks, as torchvision's references read them."""

    def __init__(self, folder: Path, transforms: Any) -> None:
        self.files = sorted((folder / "images").iterdir())
        self.masks = folder / "masks"
        self.transforms = transforms

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        file = self.files[index]
        mask = v2.functional.pil_to_tensor(Image.open(self.masks / f"{file.stem}.png"))
        return self.transforms(Image.open(file).convert("RGB"), tv_tensors.Mask(mask))


class PadIfSmaller(v2.Transform):
    """That of torchvision's segmentation references."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = v2.functional.get_size(flat_inputs[0])
        return {"padding": [0, 0, max(480 - width, 0), max(480 - height, 0)]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(v2.functional.pad, inpt, **params, fill=255 if isinstance(inpt, tv_tensors.Mask) else 0)


def segmentation(folder: Path, workers: int) -> dict[str, Epoch]:
    types = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    steps = [v2.RandomResize(260, 1040), v2.RandomHorizontalFlip(), PadIfSmaller(), v2.RandomCrop(480)]
    last = [v2.ToDtype(types, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor()]
    stacked = torch.utils.data.default_collate
    found = {"gpufeed": of_gpufeed(folder, "segmentation-train", 16, workers)}
    for name, first, then in (("tensors", [v2.ToImage()], []), ("Pillow's images", [], [v2.ToImage()])):
        data = Masks(folder, v2.Compose([*first, *steps, *then, *last]))
        found[f"torchvision v2, {name}"] = of_torch(data, 16, workers, stacked)
    return found


class Mosaics(WithAlbumentations):
    """Ultralytics' mosaic: a file is decoded for each output, and three images come from a buffer of decoded ones; then the scale and the
    crop of its affine transform, by OpenCV."""

    def __init__(self, folder: Path, buffered: int) -> None:
        import albumentations as A

        super().__init__(folder, [A.NoOp()])
        self.buffered = buffered
        self.buffer: list[tuple[Any, Any]] = []

    def loaded(self, index: int) -> tuple[Any, Any]:
        import cv2

        image = cv2.imread(self.files[index])
        ratio = 640 / max(image.shape[:2])
        if ratio != 1:
            image = cv2.resize(image, (int(image.shape[1] * ratio), int(image.shape[0] * ratio)), interpolation=cv2.INTER_LINEAR)
        return image, numpy.asarray(self.boxes[index], dtype=numpy.float32) * ratio

    def __getitem__(self, index: int) -> Any:
        import cv2

        self.buffer.append(self.loaded(index))
        del self.buffer[: max(len(self.buffer) - self.buffered, 0)]
        chosen = [self.buffer[-1], *random.choices(self.buffer, k=3)]
        canvas = numpy.full((1280, 1280, 3), 114, dtype=numpy.uint8)
        xc, yc = random.randint(320, 960), random.randint(320, 960)
        moved = []
        for number, (image, boxes) in enumerate(chosen):
            h, w = image.shape[:2]
            x, y = (xc - w if number % 2 == 0 else xc), (yc - h if number < 2 else yc)
            x1, y1, x2, y2 = max(x, 0), max(y, 0), min(x + w, 1280), min(y + h, 1280)
            canvas[y1:y2, x1:x2] = image[y1 - y : y2 - y, x1 - x : x2 - x]
            moved.append(boxes + numpy.array([x, y, 0, 0], dtype=numpy.float32))
        scale = random.uniform(0.5, 1.5)
        tx, ty = random.uniform(0.4, 0.6) * 640 - scale * 640, random.uniform(0.4, 0.6) * 640 - scale * 640
        matrix = numpy.array([[scale, 0, tx], [0, scale, ty]])
        image = cv2.warpAffine(canvas, matrix, dsize=(640, 640), borderValue=(114, 114, 114))
        hue, saturation, value = cv2.split(cv2.cvtColor(image, cv2.COLOR_BGR2HSV))
        r = numpy.random.uniform(-1, 1, 3) * [0.015, 0.7, 0.4] + 1
        levels = numpy.arange(256)
        tables = (levels * r[0] % 180, numpy.clip(levels * r[1], 0, 255), numpy.clip(levels * r[2], 0, 255))
        channels = [cv2.LUT(channel, table.astype(numpy.uint8)) for channel, table in zip((hue, saturation, value), tables, strict=True)]
        image = cv2.cvtColor(cv2.merge(channels), cv2.COLOR_HSV2RGB)
        boxes = numpy.concatenate(moved) * scale + numpy.array([tx, ty, 0, 0])
        if random.random() < 0.5:
            image = image[:, ::-1]
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1))).float() / 255, torch.from_numpy(boxes)


def mosaic(folder: Path, workers: int) -> dict[str, Epoch]:
    found = {"gpufeed": of_gpufeed(folder / "instances_all.json", "yolo-mosaic", 16, workers, root=folder / "images")}
    if importlib.util.find_spec("cv2") is not None and importlib.util.find_spec("albumentations") is not None:
        found["OpenCV, with a buffer of 8 batches"] = of_torch(Mosaics(folder, 8 * 16), 16, workers, zipped)
    return found


def table(title: str, found: dict[str, list[float]]) -> None:
    """The first row is the one to which the others are compared."""
    base = next(iter(found.values()))
    print(f"| {title} | images/s | gpufeed's rate to this |\n|---|---|---|")
    for name, own in found.items():
        ratios = [first / other for first, other in zip(base, own, strict=True)]
        print(f"| {name} | {statistics.median(own):.1f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
    print(flush=True)


def targets_alone(rounds: int, count: int = 256) -> dict[str, list[float]]:
    """Images/s of targets alone, on one thread: 7 boxes, and 17 keypoints of each, through flip, crop, resize and affine."""
    numbers = numpy.random.default_rng(0)
    corners = numbers.uniform(0, 300, (BOXES, 2, 2)).cumsum(1).reshape(BOXES, 4).astype(numpy.float32)
    points = numbers.uniform(0, 400, (BOXES, 17, 2)).astype(numpy.float32)
    transforms = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomCrop(400), v2.Resize((300, 300)), v2.RandomAffine(10, translate=(0.1, 0.1))])

    class Alone:
        """Black pixels in memory: the image's own cost is the same without targets, and taken off."""

        def __init__(self, has_targets: bool) -> None:
            self.pixels = numpy.zeros((HEIGHT, WIDTH, 3), dtype=numpy.uint8)
            self.has_targets = has_targets

        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> Any:
            boxes = tv_tensors.BoundingBoxes(torch.from_numpy(corners), format="XYXY", canvas_size=(HEIGHT, WIDTH))
            keypoints = numpy.concatenate([points, numpy.full((BOXES, 17, 1), 2, dtype=numpy.float32)], -1)
            return self.pixels, {"boxes": boxes, "keypoints": keypoints} if self.has_targets else 0

    found: dict[str, list[float]] = {"gpufeed, the busy time of moving them": [], "torchvision v2": []}
    loader = gpufeed.DataLoader(Alone(True), transforms, backend="cpu", batch_size=32, workers=1)
    for _ in range(rounds):
        before = loader.stats()["stages"]["params"]["busy"]
        for _ in loader:
            pass
        found["gpufeed, the busy time of moving them"].append(count / (loader.stats()["stages"]["params"]["busy"] - before))
        began = time.perf_counter()
        for _ in range(count):
            transforms({
                "boxes": tv_tensors.BoundingBoxes(torch.from_numpy(corners), format="XYXY", canvas_size=(HEIGHT, WIDTH)),
                "keypoints": tv_tensors.KeyPoints(torch.from_numpy(points), canvas_size=(HEIGHT, WIDTH)),
            })  # fmt: skip
        found["torchvision v2"].append(count / (time.perf_counter() - began))
    return found


TABLES = {"coco-ssd": ssd, "coco-detr": detr, "segmentation-train": segmentation, "yolo-mosaic": mosaic}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=[*TABLES, "targets"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        draw(folder, given.images)
        for name, rows in TABLES.items():
            if given.only in (None, name):
                table(name, rates(rows(folder, given.workers), given.rounds))
    if given.only in (None, "targets"):
        table("targets alone, images/s of one thread", targets_alone(given.rounds))


if __name__ == "__main__":
    main()
