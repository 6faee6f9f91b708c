#!/usr/bin/env python3
"""Trains a small segmenter on drawn shapes, and measures the IoU on pictures that it has not seen.

    python train_segmentation.py                 # a few minutes on two cores
    python train_segmentation.py --unmoved       # its twin: masks stay as they were before the flips and crops

The data set is a folder of images beside a folder of masks, PNG files whose palette has a colour for each class. The loader moves each mask
with its picture, and what a rotation leaves outside of it has the class 255, which the loss ignores.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch import nn
from torchvision.transforms import v2

import gpufeed

CLASSES = ("background", "ellipse", "rectangle", "triangle")
PALETTE = [0, 0, 0, 220, 40, 40, 40, 180, 40, 40, 80, 220]
# Sides of the drawn pictures, and of those that the network gets.
DRAWN, SIDE = (160, 120), 96
IGNORED = 255


def draw(folder: Path, split: str, count: int, seed: int) -> None:
    """Draws pictures with one to four shapes each, and the mask of each."""
    numbers = random.Random(seed)
    width, height = DRAWN
    for kind in ("images", "masks"):
        (folder / kind / split).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        picture = Image.new("RGB", DRAWN, tuple(numbers.randrange(100) for _ in range(3)))
        mask = Image.new("P", DRAWN)
        mask.putpalette(PALETTE)
        pens = ImageDraw.Draw(picture), ImageDraw.Draw(mask)
        for _ in range(numbers.randrange(1, 5)):
            shape = numbers.randrange(1, len(CLASSES))
            w, h = numbers.randrange(24, 60), numbers.randrange(24, 60)
            x, y = numbers.randrange(width - w), numbers.randrange(height - h)
            colour = tuple(numbers.randrange(130, 256) for _ in range(3))
            fills: tuple[tuple[int, ...] | int, ...] = (colour, shape)
            for pen, fill in zip(pens, fills):
                if CLASSES[shape] == "ellipse":
                    pen.ellipse((x, y, x + w, y + h), fill=fill)
                elif CLASSES[shape] == "rectangle":
                    pen.rectangle((x, y, x + w, y + h), fill=fill)
                else:
                    pen.polygon([(x, y + h), (x + w, y + h), (x + w // 2, y)], fill=fill)
        picture.save(folder / "images" / split / f"{number:05}.jpg", quality=92)
        mask.save(folder / "masks" / split / f"{number:05}.png")


class Network(nn.Module):
    """A network of 0.2 million weights: three halvings, and back by nearest pixels, with what was there beside."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        widths = (3, 16, 32, 64)
        self.down = nn.ModuleList(self._block(inputs, outputs) for inputs, outputs in zip(widths, widths[1:]))
        self.middle = self._block(64, 96)
        self.up = nn.ModuleList(self._block(inputs, outputs) for inputs, outputs in ((96 + 64, 48), (48 + 32, 24), (24 + 16, 16)))
        self.out = nn.Conv2d(16, len(CLASSES), 1)

    @staticmethod
    def _block(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        beside = []
        for block in self.down:
            images = block(images)
            beside.append(images)
            images = nn.functional.max_pool2d(images, 2)
        images = self.middle(images)
        for block, other in zip(self.up, reversed(beside)):
            images = block(torch.cat([nn.functional.interpolate(images, scale_factor=2), other], 1))
        logits: torch.Tensor = self.out(images)
        return logits


def mean_iou(model: nn.Module, loader: gpufeed.DataLoader) -> float:
    """Returns the mean over the classes of the pixels that both say over those that either says, of all pictures together."""
    model.eval()
    both, either = torch.zeros(len(CLASSES)), torch.zeros(len(CLASSES))
    with torch.no_grad():
        for batch in loader:
            masks, found = batch["mask"].squeeze(1), model(batch["image"]).argmax(1)
            for number in range(len(CLASSES)):
                both[number] += ((masks == number) & (found == number)).sum()
                either[number] += ((masks == number) | (found == number)).sum()
    model.train()
    return float((both / either).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("segmentation-out"), help="where the drawn pictures go")
    parser.add_argument("--images", type=int, default=800)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--unmoved", action="store_true", help="train on masks that do not follow the flips and crops")
    given = parser.parse_args()
    if not (given.out / "masks" / "val").exists():
        draw(given.out, "train", given.images, 0)
        draw(given.out, "val", 100, 1)
    moves = [v2.RandomRotation(15), v2.RandomResizedCrop(SIDE, scale=(0.5, 1)), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]
    end = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean=[0.4] * 3, std=[0.3] * 3)]
    mask = gpufeed.Views(source="mask", follows="image", read_mode="mask", fill=IGNORED)
    # The twin's masks are resized, and follow nothing.
    resize = v2.Resize((SIDE, SIDE), interpolation=v2.InterpolationMode.NEAREST)
    trained = gpufeed.Views(v2.Compose([resize]), source="mask", read_mode="mask") if given.unmoved else mask
    train = gpufeed.DataLoader(
        given.out, groups={"image": v2.Compose([*moves, *end]), "mask": trained}, split="train", batch_size=16, shuffle=True, drop_last=True, seed=42
    )
    val = gpufeed.DataLoader(
        given.out, groups={"image": v2.Compose([v2.Resize((SIDE, SIDE)), *end]), "mask": mask}, split="val", batch_size=16
    )
    model = Network()
    print(f"{sum(weight.numel() for weight in model.parameters())} weights, {len(train)} batches an epoch")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=given.epochs * len(train))
    began = time.monotonic()
    for epoch in range(given.epochs):
        train.set_epoch(epoch)
        losses = []
        for batch in train:
            loss = nn.functional.cross_entropy(model(batch["image"]), batch["mask"].squeeze(1).long(), ignore_index=IGNORED)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"IoU {mean_iou(model, val):.3f}")


if __name__ == "__main__":
    main()
