#!/usr/bin/env python3
"""Trains a small detector on drawn shapes, and measures AP50 on pictures that it has not seen.

    python train_detection.py                 # a few minutes on two cores
    python train_detection.py --unmoved       # its twin: boxes stay where they were before the flips and crops

The data set has COCO's format: JPEG files, and a JSON file of boxes. The loader crops, flips and resizes the pictures, and moves the boxes
with them.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch import nn
from torchvision.ops import box_iou, nms
from torchvision.transforms import v2

import gpufeed

SHAPES = ("ellipse", "rectangle", "triangle")
# Sides of the drawn pictures, of those that the network gets, and pixels of a cell of its grid.
DRAWN, SIDE, CELL = (160, 120), 96, 8
GRID = SIDE // CELL


def draw(folder: Path, name: str, count: int, seed: int) -> Path:
    """Draws pictures with one to four shapes each, and writes their boxes; returns the JSON file."""
    numbers = random.Random(seed)
    width, height = DRAWN
    images: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        picture = Image.new("RGB", DRAWN, tuple(numbers.randrange(100) for _ in range(3)))
        pen = ImageDraw.Draw(picture)
        for _ in range(numbers.randrange(1, 5)):
            shape = numbers.randrange(len(SHAPES))
            w, h = numbers.randrange(24, 60), numbers.randrange(24, 60)
            x, y = numbers.randrange(width - w), numbers.randrange(height - h)
            colour = tuple(numbers.randrange(130, 256) for _ in range(3))
            if SHAPES[shape] == "ellipse":
                pen.ellipse((x, y, x + w, y + h), fill=colour)
            elif SHAPES[shape] == "rectangle":
                pen.rectangle((x, y, x + w, y + h), fill=colour)
            else:
                pen.polygon([(x, y + h), (x + w, y + h), (x + w // 2, y)], fill=colour)
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": shape + 1, "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0,
            })  # fmt: skip
        picture.save(folder / name / f"{number:05}.jpg", quality=92)
        images.append({"id": number, "file_name": f"{number:05}.jpg", "width": width, "height": height})
    categories = [{"id": number + 1, "name": shape} for number, shape in enumerate(SHAPES)]
    file = folder / f"instances_{name}.json"
    file.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return file


def network() -> nn.Module:
    """Returns a network of 0.3 million weights: for each cell of the grid, the classes' logits and the distances from the cell's middle to
    the four edges of a box, in sides of the picture."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((3, 24, 2), (24, 48, 2), (48, 96, 2), (96, 96, 1), (96, 96, 1)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    head = nn.Conv2d(96, len(SHAPES) + 4, 3, padding=1)
    assert head.bias is not None
    nn.init.constant_(head.bias[: len(SHAPES)], -3.0)
    return nn.Sequential(*layers, head)


def middles() -> torch.Tensor:
    """Returns x and y of the middle of each cell, in sides of the picture: [GRID * GRID, 2]."""
    at = (torch.arange(GRID) + 0.5) / GRID
    y, x = torch.meshgrid(at, at, indexing="ij")
    return torch.stack([x, y], -1).reshape(-1, 2)


def assigned(targets: list[dict[str, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gives each cell whose middle lies in the inner half of a box that box, of several the smallest. Returns the class of each cell or -1, the
    edges of its box, and which cells count for the classes: not those in the outer half of a box."""
    classes = torch.full((len(targets), GRID * GRID), -1)
    edges = torch.zeros(len(targets), GRID * GRID, 4)
    counts = torch.ones(len(targets), GRID * GRID, dtype=torch.bool)
    x, y = middles().unbind(1)
    for image, target in enumerate(targets):
        boxes = target["boxes"].as_subclass(torch.Tensor) / SIDE
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        for number in areas.argsort(descending=True).tolist():
            x0, y0, x1, y1 = boxes[number].tolist()
            w, h = (x1 - x0) / 4, (y1 - y0) / 4
            inside = (x > x0) & (x < x1) & (y > y0) & (y < y1)
            inner = (x > x0 + w) & (x < x1 - w) & (y > y0 + h) & (y < y1 - h)
            classes[image, inside], counts[image, inside] = -1, False
            classes[image, inner], counts[image, inner] = int(target["labels"][number]) - 1, True
            edges[image, inner] = boxes[number]
    return classes, edges, counts


def found(out: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the logits [images, cells, classes] and the edges [images, cells, 4] of what the network says."""
    out = out.flatten(2).transpose(1, 2)
    to_edges = nn.functional.softplus(out[..., len(SHAPES) :])
    at = middles()
    return out[..., : len(SHAPES)], torch.cat([at - to_edges[..., :2], at + to_edges[..., 2:]], -1)


def loss_of(out: torch.Tensor, targets: list[dict[str, torch.Tensor]]) -> torch.Tensor:
    """Focal loss of the classes (Lin and others, 2017), and 1 - IoU of the boxes."""
    logits, boxes = found(out)
    classes, edges, counts = assigned(targets)
    wanted = nn.functional.one_hot(classes + 1, len(SHAPES) + 1)[..., 1:].float()
    plain = nn.functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    p = logits.sigmoid()
    miss = torch.where(wanted > 0, 1 - p, p)
    weights = torch.where(wanted > 0, 0.25, 0.75)
    positive = classes >= 0
    of_classes = (weights * miss**2 * plain)[counts].sum() / positive.sum().clamp(min=1)
    ours, theirs = boxes[positive], edges[positive]
    if len(ours) == 0:
        return of_classes
    overlap = (torch.minimum(ours[:, 2:], theirs[:, 2:]) - torch.maximum(ours[:, :2], theirs[:, :2])).clamp(min=0).prod(1)
    union = (ours[:, 2:] - ours[:, :2]).prod(1) + (theirs[:, 2:] - theirs[:, :2]).prod(1) - overlap
    return of_classes + (1 - overlap / union).mean()


def average_precision(model: nn.Module, loader: gpufeed.DataLoader) -> float:
    """Returns the mean over the classes of the area below precision and recall, of boxes that overlap by half: AP50 as Pascal VOC's from
    2010 on."""
    model.eval()
    scored: list[list[tuple[float, bool]]] = [[] for _ in SHAPES]
    there = [0] * len(SHAPES)
    with torch.no_grad():
        for batch in loader:
            logits, boxes = found(model(batch["image"]))
            for number, target in enumerate(batch["objects"]):
                truth = target["boxes"].as_subclass(torch.Tensor) / SIDE
                for shape in range(len(SHAPES)):
                    wanted = truth[target["labels"] == shape + 1]
                    there[shape] += len(wanted)
                    scores = logits[number, :, shape].sigmoid()
                    keep = (scores > 0.02).nonzero().flatten()
                    keep = keep[nms(boxes[number, keep], scores[keep], 0.5)]
                    taken = torch.zeros(len(wanted), dtype=torch.bool)
                    for each in keep.tolist():
                        overlaps = box_iou(boxes[number, each : each + 1], wanted)[0]
                        best = int(overlaps.argmax()) if len(wanted) else -1
                        hit = best >= 0 and float(overlaps[best]) >= 0.5 and not bool(taken[best])
                        if hit:
                            taken[best] = True
                        scored[shape].append((float(scores[each]), hit))
    model.train()
    return sum(area(each, count) for each, count in zip(scored, there)) / len(SHAPES)


def area(scored: list[tuple[float, bool]], there: int) -> float:
    hits, points = 0, []
    for number, (_, hit) in enumerate(sorted(scored, reverse=True), 1):
        hits += hit
        points.append((hits / max(there, 1), hits / number))
    total, best, before = 0.0, 0.0, None
    for recall, precision in reversed(points):
        if before is not None:
            total += (before - recall) * best
        best, before = max(best, precision), recall
    return total + (before or 0.0) * best


class Unmoved:
    """The boxes of a file as if no picture had been flipped or cropped, in pixels of the network's pictures."""

    def __init__(self, file: Path) -> None:
        self.boxes: dict[int, list[tuple[list[float], int]]] = {}
        for each in json.loads(file.read_text())["annotations"]:
            x, y, w, h = each["bbox"]
            self.boxes.setdefault(each["image_id"], []).append(([x, y, x + w, y + h], each["category_id"]))

    def of(self, targets: list[dict[str, torch.Tensor]]) -> list[dict[str, torch.Tensor]]:
        scale = torch.tensor([SIDE / DRAWN[0], SIDE / DRAWN[1]] * 2)
        found = [self.boxes[int(target["image_id"])] for target in targets]
        return [
            {"boxes": torch.tensor([box for box, _ in each]) * scale, "labels": torch.tensor([label for _, label in each])} for each in found
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("detection-out"), help="where the drawn pictures go")
    parser.add_argument("--images", type=int, default=1600)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--unmoved", action="store_true", help="train on boxes that do not follow the flips and crops")
    given = parser.parse_args()
    files = {}
    for name, count, seed in (("train", given.images, 0), ("val", 200, 1)):
        files[name] = given.out / f"instances_{name}.json"
        if not files[name].exists():
            draw(given.out, name, count, seed)
    moves = [v2.RandomZoomOut(side_range=(1.0, 1.6)), v2.RandomResizedCrop(SIDE, scale=(0.3, 0.8)), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]
    end = [
        v2.ConvertBoundingBoxFormat("XYXY"),
        v2.SanitizeBoundingBoxes(min_size=4),
        v2.Resize((SIDE, SIDE)),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(mean=[0.4] * 3, std=[0.3] * 3),
    ]
    train = gpufeed.DataLoader(
        files["train"], v2.Compose([*moves, *end]), root=given.out / "train", batch_size=32, shuffle=True, drop_last=True, seed=42
    )
    val = gpufeed.DataLoader(files["val"], v2.Compose(end), root=given.out / "val", batch_size=32)
    model = network()
    print(f"{sum(weight.numel() for weight in model.parameters())} weights, {len(train)} batches an epoch")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=given.epochs * len(train))
    before = Unmoved(files["train"]) if given.unmoved else None
    began = time.monotonic()
    for epoch in range(given.epochs):
        train.set_epoch(epoch)
        losses = []
        for batch in train:
            targets = batch["objects"] if before is None else before.of(batch["objects"])
            loss = loss_of(model(batch["image"]), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"AP50 {average_precision(model, val):.3f}")


if __name__ == "__main__":
    main()
