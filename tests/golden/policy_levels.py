#!/usr/bin/env python3
"""Writes policy_levels.txt beside this script: what torchvision's policies make of all 256 levels of 8 bits.

    python3 tests/golden/policy_levels.py     needs torch and torchvision

A line: 1 or 3 channels, operations one after the other as NAME:MAGNITUDE, and the first 16 digits of the SHA-256 of the result (bytes,
HWC). The image has 16 x 16 pixels; channel c of pixel i is (i * (89 + 12 * c) + 7 * c) mod 256. Magnitudes are those of
TrivialAugmentWide and RandAugment, with both signs. They are f32, as torch.linspace makes them, and stand here as the shortest text
that is that f32: torchvision was called with the f32's value, as it is by its own classes, not with the number in the text.
"""

import hashlib
import itertools
import os

import numpy
import torch
import torchvision
from torchvision.transforms import v2

COLORS = ["Brightness", "Color", "Contrast", "Sharpness"]
# Such as sharpness before colour: what the first operation makes of a level decides the second one's.
PAIRS = [pair for pair in itertools.product(COLORS, repeat=2) if pair[0] != pair[1]]


def image(channels: int) -> torch.Tensor:
    levels = [[(i * (89 + 12 * c) + 7 * c) % 256 for i in range(256)] for c in range(channels)]
    return torch.tensor(levels, dtype=torch.uint8).reshape(channels, 16, 16)


def text(number: float) -> str:
    short = numpy.format_float_positional(numpy.float32(number), unique=True, trim="-")
    assert numpy.float32(short) == numpy.float32(number) == number
    return short


def main() -> None:
    magnitudes = {}
    for name in ("TrivialAugmentWide", "RandAugment"):
        space = getattr(v2, name)._AUGMENTATION_SPACE["Brightness"][0](31, 16, 16)
        magnitudes[name] = [sign * float(number) for number in space for sign in (1, -1)]
    wide, least = magnitudes["TrivialAugmentWide"], magnitudes["TrivialAugmentWide"][-1]
    lists = [[(name, number)] for numbers in magnitudes.values() for number in numbers for name in COLORS]
    for first, second in PAIRS:
        lists += [[(first, number), (second, least)] for number in wide[7::9]]
        lists += [[(first, least), (second, number)] for number in wide[4::9]]
        lists += [[(first, number), (second, wide[(7 * at + 11) % len(wide)])] for at, number in enumerate(wide[2::9])]
    policy = v2.RandAugment()
    lines = [f"# torch {torch.__version__}, torchvision {torchvision.__version__}; made by policy_levels.py"]
    for channels in (1, 3):
        for operations in lists:
            result = image(channels)
            for name, number in operations:
                result = policy._apply_image_or_video_transform(result, name, number, policy.interpolation, policy._fill)
            digest = hashlib.sha256(result.permute(1, 2, 0).contiguous().numpy().tobytes()).hexdigest()[:16]
            lines.append(f"{channels} {' '.join(f'{name}:{text(number)}' for name, number in operations)} {digest}")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policy_levels.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
