"""gpufeed beside torchvision's v2 and nvJPEG on the same card, in turns.

    python torch_rivals.py FOLDER [--gpufeed COMMAND] [--adapter N] [--rounds 3] [--seconds 1] [--device cuda]
                           [--backend gpu]

FOLDER has class folders of JPEGs. Recipe "files": RandomResizedCrop(224), flip, Normalize, floats on the device. Recipe
"resident": 64 pictures of 384×384 that lie on the device, RandomCrop(224), flip, ColorJitter(0.2, 0.2). Without
--backend gpufeed runs no shaders. A rival that torch lacks is said to be missing. Prints lines `RESULT {json}`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import torch_rates
from torch_rates import BATCH


SHADERS = ("files: gpufeed, shaders", "resident: gpufeed, shaders")


class Missing(Exception):
    """A rival that is not to be had here."""


def gpufeed_loader(folder: str, device: str, **settings: str) -> Iterator[torch.Tensor]:
    import gpufeed

    loader = gpufeed.DataLoader(folder, torch_rates.recipe(), batch_size=BATCH, shuffle=True, device=device, **settings)
    return torch_rates.endless(loader)


def decoded(files: List[str], device: str) -> Iterator[List[torch.Tensor]]:
    """Batches of decoded files: by nvJPEG on a card, which takes a list."""
    while True:
        for first in range(0, len(files) - BATCH + 1, BATCH):
            data = [read_file(path) for path in files[first : first + BATCH]]
            try:
                if device == "cpu":
                    yield [decode_jpeg(one, mode=ImageReadMode.RGB) for one in data]
                else:
                    yield decode_jpeg(data, mode=ImageReadMode.RGB, device=device)
            except (RuntimeError, TypeError) as error:
                raise Missing(f"decode_jpeg on {device}: {str(error).splitlines()[0]}") from error


def decoded_and_augmented(files: List[str], device: str) -> Iterator[torch.Tensor]:
    crop = v2.Compose(torch_rates.recipe()[:2])
    rest = v2.Compose(torch_rates.recipe()[2:])
    for pictures in decoded(files, device):
        # Photographs differ in size: each is cropped by itself, and the rest is done for the batch.
        yield rest(torch.stack([crop(picture) for picture in pictures]))


def resident(device: str, by_image: bool) -> Iterator[torch.Tensor]:
    steps = [
        v2.RandomCrop(224),
        v2.RandomHorizontalFlip(),
        v2.ColorJitter(0.2, 0.2),
        v2.ToDtype(torch.float32, scale=True),
    ]
    augment = v2.Compose(steps)
    pictures = torch.randint(0, 256, (BATCH, 3, 384, 384), dtype=torch.uint8, device=device)
    while True:
        # On a batch, v2 draws once for all of its images.
        yield torch.stack([augment(picture) for picture in pictures]) if by_image else augment(pictures)


def gpufeed_resident(command: str, adapter: str, seconds: float) -> float:
    """The same recipe by gpufeed's command: the pictures in a cache on the card, by shaders."""
    more = [
        "--recipe",
        "augment-only",
        "--cache",
        "device",
        "--quick",
        "--workers",
        str(min(16, len(os.sched_getaffinity(0)))),
    ]
    given = [
        command,
        "bench",
        "--adapter",
        adapter,
        "--shaders",
        *more,
        "--seconds",
        str(max(0.1, seconds / 4)),
        "--json",
        "-",
    ]
    done = subprocess.run(given, capture_output=True, text=True, timeout=40)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return json.loads(done.stdout)["images_per_second"]["median"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--gpufeed", default="gpufeed", help="the command")
    parser.add_argument("--adapter", default="0")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backend", help="gpufeed's backend with shaders")
    asked = parser.parse_args()
    folder, device, seconds = asked.folder, asked.device, asked.seconds
    files = sorted(str(path) for path in Path(folder).glob("*/*"))

    def loop(make: Callable[[], Iterator[torch.Tensor]]) -> Callable[[], float]:
        made: List[Iterator[torch.Tensor]] = []

        def turn() -> float:
            if not made:
                made.append(make())
            return torch_rates.rate(made[0], seconds, device)

        return turn

    rivals: Dict[str, Callable[[], float]] = {
        "files: gpufeed, CPU": loop(lambda: gpufeed_loader(folder, device, backend="cpu")),
        "files: gpufeed, shaders": loop(lambda: gpufeed_loader(folder, device, backend=asked.backend, execute="gpu")),
        "files: nvJPEG and v2": loop(lambda: decoded_and_augmented(files, device)),
        "files: nvJPEG, decoding alone": loop(lambda: decoded(files, device)),
        "resident: gpufeed, shaders": lambda: gpufeed_resident(asked.gpufeed, asked.adapter, seconds),
        "resident: v2, image by image": loop(lambda: resident(device, by_image=True)),
        "resident: v2, one draw a batch": loop(lambda: resident(device, by_image=False)),
    }
    runs: Dict[str, List[float]] = {name: [] for name in rivals}
    missing: Dict[str, str] = {} if asked.backend else dict.fromkeys(SHADERS, "there is no adapter")
    failed: List[str] = []
    for _ in range(asked.rounds):
        for name, turn in rivals.items():
            if name in missing or name in failed:
                continue
            try:
                runs[name].append(turn())
            except Missing as error:
                missing[name] = str(error)
            except Exception as error:  # the others go on
                failed.append(name)
                missing[name] = f"{type(error).__name__}: {error}"
            rows = {name: torch_rates.spread(each) for name, each in runs.items() if each}
            says = [f"{name}: {row['median']:,.0f} images/s" for name, row in rows.items()]
            says += [f"{name}: {'FAILED' if name in failed else 'missing'}, {why}" for name, why in missing.items()]
            torch_rates.report(says, failed, {"images_per_second": rows, "missing": missing})


if __name__ == "__main__":
    main()
