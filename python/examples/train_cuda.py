#!/usr/bin/env python3
"""Trains a residual network on a CUDA device, with batches that stay in the GPU's memory and with batches that are copied there.

    python train_cuda.py                          # draws pictures; resnet50
    python train_cuda.py FOLDER --model resnet18  # a folder of images for each class

Prints the milliseconds of a training step on one batch that lies on the device, then those of a step behind each loader. A step
takes longer there as it waits for data, and as the shaders of backend="gpu" have a share of the card.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torchvision
from PIL import Image
from torch import nn
from torchvision.transforms import v2

import gpufeed

# Steps before the clock starts: cuDNN chooses its kernels, and the loader fills its queue.
WARM = 5
LOADERS: tuple[tuple[str, bool], ...] = (("gpu", True), ("gpu", False), ("cpu", True))


def draw(folder: Path, count: int) -> None:
    """JPEG files of ImageNet's usual size, in four class folders."""
    numbers, made = random.Random(0), folder.with_suffix(".new")
    for number in range(count):
        areas = Image.frombytes("RGB", (8, 6), numbers.randbytes(8 * 6 * 3)).resize((500, 375), Image.Resampling.BICUBIC)
        grain = Image.effect_noise((500, 375), 24).convert("RGB")
        path = made / f"{number % 4}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.blend(areas, grain, 0.2).save(path, quality=90)
    # A folder that is there is complete.
    made.rename(folder)


def loader(folder: Path, backend: str, handover: bool, given: argparse.Namespace) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(
        folder,
        [
            v2.RandomResizedCrop(given.size, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.4, 0.4, 0.4),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ],
        batch_size=given.batch_size,
        shuffle=True,
        drop_last=True,
        seed=42,
        device=given.device,
        channels_last=True,
        backend=backend,
        handover=handover,
    )


def batches(train: gpufeed.DataLoader) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The batches of one epoch after the other."""
    # In a row: the next epoch is prepared while the last batches of one are consumed.
    yield from train.epochs(range(1 << 30))


class Training:
    """A model of torchvision, trained in bfloat16 by SGD."""

    def __init__(self, name: str, classes: int, device: torch.device) -> None:
        torch.manual_seed(0)
        model: nn.Module = torchvision.models.get_model(name, weights=None, num_classes=classes)
        self.model = model.to(device).to(memory_format=torch.channels_last).train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.device = device
        self.loss = torch.zeros(())

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        with torch.autocast(self.device.type, torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        # Not `loss.item()`, for which the host would wait at each step.
        self.loss = loss.detach()

    def milliseconds(self, source: Iterator[tuple[torch.Tensor, torch.Tensor]], steps: int) -> float:
        """Trains on so many batches. Returns the time of a step, the device's work included."""
        for _ in range(WARM):
            self.step(*next(source))
        self.loss.item()
        began = time.perf_counter()
        for _ in range(steps):
            self.step(*next(source))
        self.loss.item()
        return 1e3 * (time.perf_counter() - began) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="a folder of images for each class")
    parser.add_argument("--out", type=Path, default=Path("train-cuda-out"), help="where pictures are drawn without one")
    parser.add_argument("--images", type=int, default=2048, help="how many are drawn")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=100, help="steps that are timed behind each loader")
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "torch has no CUDA device here; examples/train_torch.py trains on any\n")
    folder: Path = given.folder or given.out / f"{given.images}-pictures"
    if not folder.exists():
        if given.folder is not None:
            parser.error(f"{folder} is not there")
        draw(folder, given.images)
    torch.backends.cudnn.benchmark = True
    classes = len(gpufeed.open(folder).classes)
    alone = 0.0
    # The loaders read the same files, which then are in the page cache, with their seek indexes beside them.
    with loader(folder, "cpu", False, given) as train:
        for _ in itertools.islice(batches(train), 1 + WARM + given.steps):
            pass
    for backend, handover in LOADERS:
        with loader(folder, backend, handover, given) as train:
            source = batches(train)
            images, labels = next(source)
            if not alone:
                batch = images.clone(), labels
                alone = Training(given.model, classes, images.device).milliseconds(itertools.repeat(batch), given.steps)
                print(f"{'a batch that lies there':<58} {alone:8.2f} ms a step")
            training = Training(given.model, classes, images.device)
            del images, labels
            taken = training.milliseconds(source, given.steps)
            said = f'backend="{backend}", {train.stats()["handover"]}'
            print(f"{said:<58} {taken:8.2f} ms a step, {taken / alone - 1:+.0%}; loss {training.loss.item():.3f}")


if __name__ == "__main__":
    main()
