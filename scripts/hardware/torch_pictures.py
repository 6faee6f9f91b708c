"""Draws JPEGs for the programs of torch, where no photographs were packed.

    python torch_pictures.py FOLDER

64 pictures of ImageNet's usual sizes in a class folder, each under 16 names: an epoch of 64 files would be one batch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torchvision.io import write_jpeg

PICTURES, NAMES = 64, 16
SIZES = ((375, 500), (375, 500), (500, 375), (333, 500))


def main() -> None:
    # Renamed as a whole: a folder that is there is complete.
    new = Path(sys.argv[1]).with_suffix(".new")
    folder = new / "drawn"
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for number in range(PICTURES):
        size = SIZES[number % len(SIZES)]
        # Large areas, edges, and the grain of a sensor; at quality 90 about 40 KB.
        areas = torch.nn.functional.interpolate(torch.rand(1, 3, 7, 7), size=size, mode="bicubic")[0]
        details = torch.nn.functional.interpolate(torch.randn(1, 3, 90, 90), size=size, mode="nearest")[0]
        picture = 255 * areas + 6 * details + 3 * torch.randn(3, *size)
        first = folder / f"{number:03}.jpg"
        write_jpeg(picture.round().clamp(0, 255).to(torch.uint8), str(first), quality=90)
        for other in range(1, NAMES):
            os.link(first, folder / f"{number:03}-{other:02}.jpg")
    new.rename(sys.argv[1])


if __name__ == "__main__":
    main()
