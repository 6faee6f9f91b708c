#!/usr/bin/env python3
"""Trains a small network on drawn shapes with torch, and goes on in mid-epoch after a stop.

    python train_torch.py --stop-after 20    # ends in mid-epoch, as a preempted job does
    python train_torch.py --resume           # goes on with the batch that was due

Under torchrun every rank takes its share of each epoch: torchrun --nproc-per-node 2 train_torch.py
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch import nn
from torchvision.transforms import v2

import gpufeed

SHAPES = ("ellipse", "rectangle", "triangle", "cross")


def draw(folder: Path, count: int) -> None:
    """JPEG files of one shape each, in a folder for each class."""
    numbers = random.Random(0)
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        image = Image.new("RGB", (64, 64), tuple(numbers.randrange(256) for _ in range(3)))
        pen, colour = ImageDraw.Draw(image), tuple(numbers.randrange(256) for _ in range(3))
        x, y, side = numbers.randrange(4, 24), numbers.randrange(4, 24), numbers.randrange(20, 36)
        box = (x, y, x + side, y + side)
        if shape == "ellipse":
            pen.ellipse(box, fill=colour)
        elif shape == "rectangle":
            pen.rectangle(box, fill=colour)
        elif shape == "triangle":
            pen.polygon([(x, y + side), (x + side, y + side), (x + side // 2, y)], fill=colour)
        else:
            pen.line(box, fill=colour, width=6)
            pen.line((x, y + side, x + side, y), fill=colour, width=6)
        path = folder / shape / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, quality=92)


def network() -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, len(SHAPES)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("train-out"), help="where data and checkpoint go")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--stop-after", type=int, metavar="BATCHES")
    parser.add_argument("--resume", action="store_true")
    given = parser.parse_args()
    if not (given.out / "shapes").exists():
        draw(given.out / "shapes", given.images)
    train = gpufeed.DataLoader(
        given.out / "shapes",
        v2.Compose([
            v2.RandomResizedCrop(48, scale=(0.5, 1.0)),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.2, 0.2),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25]),
        ]),
        batch_size=given.batch_size,
        shuffle=True,
        drop_last=True,
        seed=42,
    )
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    checkpoint = given.out / "last.pt"
    if given.resume:
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        train.load_state_dict(saved["loader"])
    batches = 0
    for epoch in range(train.epoch, given.epochs):
        train.set_epoch(epoch)
        for images, labels in train:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            batches += 1
            print(f"epoch {epoch} loss {loss.item():.6f}")
            if batches == given.stop_after:
                save(checkpoint, model, optimizer, train)
                return
        save(checkpoint, model, optimizer, train)


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, train: gpufeed.DataLoader) -> None:
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": train.state_dict()}
    torch.save(state, path)


if __name__ == "__main__":
    main()
