#!/usr/bin/env python3
"""What groups of views and captions cost. Needs the wheel, torch and torchvision.

    python benches/views.py FOLDER [--rounds N] [--workers N]

FOLDER holds class folders of JPEG files. The first table has DINO's two global and eight local crops, by its lists: gpufeed's
groups, two loaders of gpufeed of which one makes the global crops and one the local ones (each with half of the workers, and
each with all of them), and torch's DataLoader with the same lists of torchvision, on tensors and on Pillow's images. The second
has the recipe imagenet-train on tar shards as img2dataset writes them, without fields and with captions and JSON. Loaders take
turns, in an order that moves on in each round; every figure is the median of the rounds' ratios, with the least and the greatest.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import torchvision
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

import gpufeed

BATCH = 32
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def crop(size: int, scale: tuple[float, float], blur: float, solarize: float) -> v2.Compose:
    """A list of DINO: main_dino.py, DataAugmentationDINO, in https://github.com/facebookresearch/dino."""
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=scale, interpolation=v2.InterpolationMode.BICUBIC),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            v2.RandomGrayscale(0.2),
            v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], p=blur),
            v2.RandomSolarize(128, p=solarize),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean=MEAN, std=STD),
        ]
    )


GLOBAL = {"first": (crop(224, (0.4, 1.0), 1.0, 0.0), 1), "second": (crop(224, (0.4, 1.0), 0.1, 0.2), 1)}
LOCAL = {"local": (crop(96, (0.05, 0.4), 0.5, 0.0), 8)}


class TenViews:
    """The ten views of an image, as DINO's own data set makes them."""

    def __init__(self, is_tensor: bool) -> None:
        self.first = [] if is_tensor else [v2.PILToTensor()]

    def __call__(self, image: Any) -> list[torch.Tensor]:
        views = []
        for transforms, count in (GLOBAL | LOCAL).values():
            *steps, to_float, normalize = transforms.transforms
            of_image = v2.Compose([*steps, *self.first, to_float, normalize])
            views += [of_image(image) for _ in range(count)]
        return views


def tensor_of(path: str) -> torch.Tensor:
    return decode_image(path, ImageReadMode.RGB)


def by_torch(folder: Path, workers: int, is_tensor: bool) -> Callable[[], int]:
    reads = {"loader": tensor_of} if is_tensor else {}
    data = torchvision.datasets.ImageFolder(str(folder), TenViews(is_tensor), **reads)
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True, num_workers=workers, persistent_workers=True)
    return lambda: sum(len(labels) for _, labels in loader)


def of_gpufeed(folder: Path, groups: Any, workers: int, seed: int = 1) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(
        folder, groups=groups, backend="cpu", batch_size=BATCH, shuffle=True, drop_last=True, seed=seed, workers=workers
    )


def samples_of(batches: Iterable[Any]) -> int:
    return sum(len(batch["label"]) for batch in batches)


def one_loader(folder: Path, workers: int) -> Callable[[], int]:
    loader = of_gpufeed(folder, GLOBAL | LOCAL, workers)
    return lambda: samples_of(loader)


def two_loaders(folder: Path, workers: int) -> Callable[[], int]:
    loaders = [of_gpufeed(folder, groups, workers) for groups in (GLOBAL, LOCAL)]
    return lambda: samples_of(both[0] for both in zip(*loaders, strict=True))


def captioned(loader: gpufeed.DataLoader) -> Callable[[], int]:
    def epoch() -> int:
        samples = 0
        for batch in loader:
            samples += len(batch["image"] if isinstance(batch, dict) else batch[0])
        return samples

    return epoch


def shards(folder: Path, out: Path) -> str:
    """Each file ten times, in shards of 500, with a caption and the JSON that img2dataset writes."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for first in range(0, 10 * len(files), 500):
        with tarfile.open(out / f"{first // 500:05}.tar", "w") as tar:
            for number in range(first, min(first + 500, 10 * len(files))):
                caption = f"a photograph, number {number}, of something that somebody described in a sentence of the usual length"
                facts = {"caption": caption, "url": f"https://example.com/{number}.jpg", "key": f"{number:09}", "status": "success", "width": 500}
                members = {"jpg": files[number % len(files)].read_bytes(), "txt": caption.encode(), "json": json.dumps(facts).encode()}
                for extension, content in members.items():
                    member = tarfile.TarInfo(f"{number:09}.{extension}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    return f"{out}/{{00000..{(10 * len(files) - 1) // 500:05}}}.tar"


def rates(epochs: dict[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Samples/s of each, a number a round, after an epoch that nothing measures."""
    found: dict[str, list[float]] = {name: [] for name in epochs}
    for epoch in epochs.values():
        epoch()
    for number in range(rounds):
        names = list(epochs)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = time.perf_counter()
            samples = epochs[name]()
            found[name].append(samples / (time.perf_counter() - began))
    return found


def table(found: dict[str, list[float]]) -> None:
    """The first row is the one to which the others are compared."""
    base = next(iter(found.values()))
    print("| loader | samples/s | the first row's rate to this |\n|---|---|---|")
    for name, own in found.items():
        ratios = [first / other for first, other in zip(base, own, strict=True)]
        print(f"| {name} | {statistics.median(own):.1f} | {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) |")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=["views", "captions"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    half = max(given.workers // 2, 1)
    if given.only != "captions":
        epochs = {
            "gpufeed, groups": one_loader(given.folder, given.workers),
            f"two loaders of gpufeed, workers={half} each": two_loaders(given.folder, half),
            f"two loaders of gpufeed, workers={given.workers} each": two_loaders(given.folder, given.workers),
            "torch and torchvision v2, tensors": by_torch(given.folder, given.workers, True),
            "torch and torchvision v2, Pillow's images": by_torch(given.folder, given.workers, False),
        }
        table(rates(epochs, given.rounds))
        for name, groups in {"one loader": GLOBAL | LOCAL, "the global crops alone": GLOBAL, "the local crops alone": LOCAL}.items():
            loader = of_gpufeed(given.folder, groups, given.workers)
            samples = samples_of(loader)
            decode = loader.stats()["stages"]["decode"]
            print(f"{name}: {decode['bytes'] / samples / 1000:.0f} kB decoded a sample, in {1000 * decode['busy'] / samples:.2f} ms")
        print()
    if given.only == "views":
        return
    with tempfile.TemporaryDirectory() as temporary:
        data = shards(given.folder, Path(temporary))
        about = {"recipe": "imagenet-train", "backend": "cpu", "allow_unlabelled": True, "batch_size": 64, "shuffle": True, "workers": given.workers}
        epochs = {
            "imagenet-train without fields": captioned(gpufeed.DataLoader(data, **about)),
            "with captions": captioned(gpufeed.DataLoader(data, fields={"jpg": "image", "txt": "caption"}, **about)),
            "with captions and JSON": captioned(gpufeed.DataLoader(data, fields={"jpg": "image", "txt": "caption", "json": "meta"}, **about)),
        }
        table(rates(epochs, given.rounds))


if __name__ == "__main__":
    main()
