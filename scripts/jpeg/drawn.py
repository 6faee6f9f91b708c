"""Random images to encode: noise, gradients, drawings, flat colours, extremes, and photographs where there are some."""

import functools
import pathlib

import numpy
from PIL import Image

PHOTOGRAPHS = pathlib.Path(__file__).resolve().parents[2].parent / "shared/data/imagenet"


@functools.cache
def photographs():
    """Sixteen photographs; none where the folder is not there."""
    files = sorted(PHOTOGRAPHS.glob("*/*.*"))
    return [Image.open(file).convert("RGB") for file in files[:: max(1, len(files) // 16)]]


def side(dice):
    """Columns or rows: often a few, often beside a multiple of 8 or 16."""
    form = dice.random()
    if form < 0.15:
        return dice.randint(1, 3)
    if form < 0.45:
        return max(1, dice.choice([8, 16, 24, 32, 48, 64]) + dice.randint(-2, 2))
    return dice.randint(4, 72) if form < 0.9 else dice.randint(72, 200)


def size(dice):
    if dice.random() < 0.01:
        # Pillow reads files in parts of 64 KiB, and a seek index has several entries.
        return dice.randint(200, 700), dice.randint(200, 500)
    width, height = side(dice), side(dice)
    return (width, height) if width * height < 15000 else (width, 1 + height % 60)


def picture(dice, width, height, bands):
    """What it is, and its samples: rows, columns, bands."""
    noise = numpy.random.Generator(numpy.random.PCG64(dice.randrange(2**32)))
    y, x = numpy.mgrid[0:height, 0:width]
    kinds = ["noise", "gradient", "drawing", "flat", "extremes"] + (["photograph"] * 3 if photographs() else [])
    kind = dice.choice(kinds)
    if kind == "photograph":
        whole = dice.choice(photographs())
        times = dice.choice([1, 1, 2, 4])
        wide, high = min(whole.width, width * times), min(whole.height, height * times)
        left, top = dice.randint(0, whole.width - wide), dice.randint(0, whole.height - high)
        part = whole.crop((left, top, left + wide, top + high)).resize((width, height))
        samples = numpy.asarray(part)
        samples = numpy.concatenate([samples, samples[..., 1:2]], axis=-1)[..., :bands]
    elif kind == "noise":
        middle, spread = dice.randint(0, 255), dice.choice([3, 20, 80, 255])
        samples = numpy.clip(middle + noise.integers(-spread, spread + 1, (height, width, bands)), 0, 255)
    elif kind == "gradient":
        planes = [x * dice.uniform(-6, 6) + y * dice.uniform(-6, 6) + dice.randint(0, 255) for _ in range(bands)]
        samples = numpy.stack(planes, axis=-1) + noise.integers(0, dice.choice([1, 8, 40]), (height, width, bands))
        samples = numpy.clip(samples, 0, 255) if dice.random() < 0.5 else samples % 256
    elif kind == "extremes":
        samples = 255 * noise.integers(0, 2, (height, width, bands))
    else:
        samples = numpy.full((height, width, bands), [dice.randint(0, 255) for _ in range(bands)])
        for _ in range(dice.randint(3, 12) if kind == "drawing" else 0):
            left, top = dice.randint(0, width - 1), dice.randint(0, height - 1)
            colour = [dice.randint(0, 255) for _ in range(bands)]
            samples[top : top + dice.randint(1, 30), left : left + dice.randint(1, 30)] = colour
    return kind, samples.astype("u1")
