#!/usr/bin/env python3
"""What a data set of Hugging Face's ``datasets`` costs as an object, beside its Parquet file that gpufeed reads itself, ``datasets``
decoding by Pillow, and torch's DataLoader. Needs the release wheel, torch, torchvision and datasets.

    python benches/hugging_face.py [--photos N] [--rounds N] [--workers N]

Images/s, and microseconds of CPU time for each image in all threads and processes, round by round in one process; the medians. CPU
time is what a busy machine leaves comparable. Photographs of 500x375 with RandomResizedCrop(224), and PNGs of 32x32.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import datasets  # noqa: E402
import torch  # noqa: E402
import torchvision.transforms as v1  # noqa: E402
from PIL import Image  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.torch_compat import DataLoader  # noqa: E402
from pictures import jpeg  # noqa: E402

END = [v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
LISTS = {"photographs": v1.Compose([v1.RandomResizedCrop(224), *END]), "small": v1.Compose([v1.RandomCrop(32, padding=4), *END])}
FEATURES = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=10)})


def file(kind: str, number: int) -> bytes:
    if kind == "photographs":
        return jpeg(number, 500, 375)
    out = io.BytesIO()
    Image.open(io.BytesIO(jpeg(number, 32, 32))).save(out, "PNG")
    return out.getvalue()


def measured(loader: Any, count: int) -> tuple[float, float]:
    """Images a second, and microseconds of CPU time an image, of an epoch."""
    began, before = time.perf_counter(), sum(os.times()[:4])
    for _ in loader:
        pass
    return count / (time.perf_counter() - began), (sum(os.times()[:4]) - before) / count * 1e6


def loaders(kind: str, count: int, workers: int, under: Path) -> dict[str, Any]:
    images = [{"bytes": file(kind, number), "path": None} for number in range(count)]
    made = datasets.Dataset.from_dict({"image": images, "label": [number % 10 for number in range(count)]}, features=FEATURES)
    made.to_parquet(under / f"{kind}.parquet")
    # Mapped into memory, as load_dataset leaves it.
    data = datasets.Dataset.from_parquet(str(under / f"{kind}.parquet"), cache_dir=str(under / "cache"))
    transforms = LISTS[kind]

    def preprocess(rows: dict[str, list[Any]]) -> dict[str, Any]:
        return {"image": [transforms(image.convert("RGB")) for image in rows["image"]], "label": rows["label"]}

    given = data.with_transform(preprocess)
    ours: Callable[..., Any] = gpufeed.DataLoader
    settings: dict[str, Any] = {"batch_size": 64, "shuffle": True, "workers": workers, "seek_indexes": "off"}
    return {
        "Parquet, read by gpufeed": ours(under / f"{kind}.parquet", transforms, **settings),
        "datasets, as an object": DataLoader(given, 64, shuffle=True, num_workers=workers, seek_indexes="off"),
        "datasets decodes": ours(data, transforms, thread_safe=True, **settings),
        "torch's DataLoader": torch.utils.data.DataLoader(given, 64, shuffle=True, num_workers=workers),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--photos", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as under:
        for kind, count in (("photographs", given.photos), ("small", 2 * given.photos)):
            made = loaders(kind, count, given.workers, Path(under))
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
            for _ in range(given.rounds):
                for name, loader in made.items():
                    found[name].append(measured(loader, count))
            print(f"{kind}: {count} images, {given.workers} workers, {given.rounds} rounds")
            for name, pairs in found.items():
                rate, cpu = (statistics.median(column) for column in zip(*pairs, strict=True))
                print(f"  {name:26} {rate:8.0f} images/s {cpu:8.0f} us of CPU time an image", flush=True)


main()
