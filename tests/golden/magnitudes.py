#!/usr/bin/env python3
"""Writes magnitudes.txt beside this script: the magnitude of every bin of every operation of torchvision's policies.

    python3 tests/golden/magnitudes.py     needs torch and torchvision

A line: the policy, its bins, width and height of the image, operations that share the numbers, +- if a draw may negate them and +
if not, and the numbers from bin 0 on, or none. Each is the shortest text that is that f32. torch.linspace multiplies and adds with
one rounding where the CPU has such an instruction (AVX2, AVX-512), and with two elsewhere: 547 of the numbers would then be one unit
in the last place off. This script refuses to run there.
"""

import os
from collections import defaultdict

import numpy
import torch
import torchvision
from torchvision.transforms import v2

# Without num_magnitude_bins a policy has one number of bins; the others are asked for a few more.
BINS = {"RandAugment": 31, "TrivialAugmentWide": 31, "AutoAugment": 10, "AugMix": 10}
OTHER_BINS = [2, 3, 4, 5, 10, 15, 16, 30, 32, 33, 50, 64, 100]
SIZES = [(224, 224), (64, 48), (57, 33), (333, 500), (9, 8), (1, 1)]


def lines(name: str, bins: int, width: int, height: int) -> list[str]:
    groups = defaultdict(list)
    for op, (magnitudes, signed) in getattr(v2, name)._AUGMENTATION_SPACE.items():
        values = magnitudes(bins, height, width)
        numbers = [] if values is None else [numpy.float32(value) for value in values]
        texts = [numpy.format_float_positional(number, unique=True, trim="-") for number in numbers]
        assert [numpy.float32(text) for text in texts] == numbers
        groups[" ".join(["+-" if signed else "+", *texts])].append(op)
    return [f"{name} {bins} {width} {height} {','.join(ops)} {numbers}" for numbers, ops in groups.items()]


def main() -> None:
    assert torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"), "torch rounds twice on this CPU"
    text = [f"# torch {torch.__version__}, torchvision {torchvision.__version__}; made by magnitudes.py"]
    for name, bins in BINS.items():
        for width, height in SIZES:
            text += lines(name, bins, width, height)
        if "num_magnitude_bins" in getattr(v2, name).__init__.__annotations__:
            for other in OTHER_BINS:
                text += lines(name, other, 224, 160)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "magnitudes.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


main()
