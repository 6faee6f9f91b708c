#!/usr/bin/env python3
"""Distributions of what torchvision.transforms.v2 draws: histograms of a million draws of each transform.

Run (CPU, no network, about ten minutes), in the environment that `generate.py` describes:

    v/bin/python tests/golden/generate_draws.py            # rewrites draws.json
    v/bin/python tests/golden/generate_draws.py --check    # draws again and compares

Every number comes from the transforms themselves: `make_params` of crops, RandomErasing and ColorJitter, and for what is applied or
not, a call on a 2x2 image. Bins are cut by a first sample of 100,000 draws, which is not counted, so that their counts are
a sample of their own. Edges have nine digits, so that every reader of the JSON gets the same double; a value
belongs to the first bin whose edge it does not exceed, and the last bin has no edge.
"""
import json
import os
import sys

import numpy as np
import torch
import torchvision
from torchvision.transforms import v2

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, PILOT, DRAWS, BINS, PAIR_BINS = 20, 100_000, 1_000_000, 64, 8
torch.set_num_threads(1)

# ----------------------------------------------------------------------------------------------------------- quantities


def places(top, left, rows, columns):
    """Quantities of a rectangle's corner that may lie in `rows` + 1 and `columns` + 1 places."""
    share = lambda at, places: np.where(places == 0, 0.5, at / np.maximum(places, 1))
    return dict(top=top, left=left, vertical=share(top, rows), horizontal=share(left, columns))


def resized_crop(rows, width, height):
    top, left, h, w = np.array([[r["top"], r["left"], r["height"], r["width"]] for r in rows], np.float64).T
    return dict(area=h * w, ratio=w / h, height=h, width=w, **places(top, left, height - h, width - w))


def random_crop(rows, width, height):
    top, left = np.array([[r["top"], r["left"]] for r in rows], np.float64).T
    return dict(top=top, left=left)


def erased(rows, width, height):
    """As of a crop; all 0 where ten tries gave no rectangle and so nothing is erased."""
    row = lambda r: [0, 0, 0, 0] if r["v"] is None else [r["i"], r["j"], r["h"], r["w"]]
    top, left, h, w = np.array([row(r) for r in rows], np.float64).T
    some = h > 0
    values = dict(area=h * w, ratio=w / np.maximum(h, 1), height=h, width=w, **places(top, left, height - h, width - w))
    return {name: np.where(some, value, 0.0) for name, value in values.items()}


FACTORS = ("brightness", "contrast", "saturation", "hue")


def jitter(rows, width, height):
    out = {}
    for name in FACTORS:
        if rows[0][name + "_factor"] is not None:
            out[name] = np.array([r[name + "_factor"] for r in rows])
    if len(out) == 4:
        # The numbers of the four, in their order, as digits to the base of 4.
        out["order"] = np.array([r["fn_idx"] for r in rows]) @ np.array([64.0, 16.0, 4.0, 1.0])
    return out


# Four colours, so that each flip, both and a loss of colour show.
PROBE = torch.tensor([[[0.0, 1.0], [0.0, 0.5]], [[0.0, 0.0], [1.0, 0.5]], [[0.0, 0.0], [0.0, 1.0]]])


def applied(rows, width, height):
    """0: as it was; 1: mirrored; 2: upside down; 3: both; 4: gray."""
    return dict(applied=np.array(rows, np.float64))


def outcome(image):
    for number, flips in enumerate(([], [2], [1], [1, 2])):
        if torch.equal(image, torch.flip(PROBE, flips)):
            return number
    assert torch.equal(image[0], image[1]) and torch.equal(image[0], image[2])
    return 4


# ---------------------------------------------------------------------------------------------------------------- cases

CASES = []


def add(name, transform, arguments, quantities, pairs, size=(2, 2)):
    """A case: `arguments` are gpufeed's form of the same transform."""
    width, height = size
    if quantities is applied:
        draw = lambda: outcome(transform(PROBE))
    elif quantities is jitter:
        draw = lambda: (lambda p: dict(p, fn_idx=p["fn_idx"].tolist()))(transform.make_params([PROBE]))
    else:
        image = torch.empty(1, 1, 1).expand(3, height, width)
        draw = lambda: transform.make_params([image])
    CASES.append((name, draw, arguments, quantities, pairs, size))


def add_resized_crop(name, width, height, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0)):
    arguments = {"type": "RandomResizedCrop", "size": [8, 8], "scale": scale, "ratio": ratio}
    pairs = [("area", "ratio"), ("vertical", "horizontal"), ("height", "vertical"), ("area", "horizontal")]
    add(name, v2.RandomResizedCrop(8, scale=scale, ratio=ratio), arguments, resized_crop, pairs, (width, height))


def add_random_crop(name, width, height, size, padding=None, pad_if_needed=False):
    transform = v2.RandomCrop(size, padding=padding, pad_if_needed=pad_if_needed)
    arguments = {"type": "RandomCrop", "size": size, "padding": padding, "pad_if_needed": pad_if_needed}
    add(name, transform, arguments, random_crop, [("top", "left")], (width, height))


def add_erasing(name, width, height, scale=(0.02, 0.33), ratio=(0.3, 3.3)):
    arguments = {"type": "RandomErasing", "p": 1.0, "scale": scale, "ratio": ratio}
    pairs = [("area", "ratio"), ("vertical", "horizontal"), ("height", "vertical"), ("area", "horizontal")]
    add(name, v2.RandomErasing(1.0, scale, ratio), arguments, erased, pairs, (width, height))


def make_cases():
    add_resized_crop("square", 256, 256)
    add_resized_crop("landscape", 500, 375)
    add_resized_crop("portrait", 375, 500)
    add_resized_crop("wide: some draws fall back", 400, 100)
    add_resized_crop("very wide: all draws fall back", 1000, 50)
    add_resized_crop("very tall: all draws fall back", 50, 1000)
    add_resized_crop("tiny", 7, 5)
    add_resized_crop("two by three", 2, 3)
    add_resized_crop("small areas, wide ratios", 333, 217, (0.01, 0.35), (0.5, 3.0))
    add_resized_crop("squares alone, large", 300, 200, (0.5, 1.0), (1.0, 1.0))
    add_resized_crop("areas down to nothing", 31, 17, (0.0, 0.02), (0.25, 4.0))

    add_random_crop("CIFAR", 32, 32, [32, 32], 4)
    add_random_crop("256 to 224", 256, 256, [224, 224])
    add_random_crop("one row, many columns", 500, 375, [375, 200])
    add_random_crop("padded where needed", 40, 100, [64, 64], None, True)
    add_random_crop("padded, and more where needed", 30, 60, [61, 50], [1, 2, 3, 4], True)

    add_erasing("erased from a square", 224, 224)
    add_erasing("erased from a small portrait", 17, 40)
    add_erasing("erased where most tries fail", 31, 9, (0.5, 1.0), (0.5, 2.0))

    for name, values in (
        ("SimCLR's", (0.8, 0.8, 0.8, 0.2)),
        ("ranges", ((0.5, 1.75), 0.4, 1.5, (-0.1, 0.3))),
        ("two of four", (0.4, 0.0, 0.0, 0.5)),
    ):
        pairs = [("brightness", "hue")]
        if all(values):
            pairs += [("order", "brightness"), ("order", "hue"), ("contrast", "saturation"), ("brightness", "contrast")]
        add(name, v2.ColorJitter(*values), {"type": "ColorJitter"} | dict(zip(FACTORS, values)), jitter, pairs)

    flip = lambda p: (v2.RandomHorizontalFlip(p), {"type": "RandomHorizontalFlip", "p": p})
    flop = lambda p: (v2.RandomVerticalFlip(p), {"type": "RandomVerticalFlip", "p": p})
    gray = lambda p: (v2.RandomGrayscale(p), {"type": "RandomGrayscale", "p": p})
    apply = lambda p, *l: (v2.RandomApply([t for t, _ in l], p), {"type": "RandomApply", "p": p, "transforms": [a for _, a in l]})
    for name, (transform, arguments) in (
        ("half are mirrored", flip(0.5)),
        ("a tenth is upside down", flop(0.1)),
        ("nine of ten are mirrored", flip(0.9)),
        ("one of five is gray", gray(0.2)),
        ("applied or not", apply(0.3, flip(0.5), flop(0.25))),
        ("nested", apply(0.8, flip(0.5), apply(0.5, flop(0.5), apply(0.6, flip(0.7))))),
    ):
        add(name, transform, arguments, applied, [])


# ----------------------------------------------------------------------------------------------------------- histograms


def edges(values, bins):
    """Up to `bins` - 1 borders between values that occur, about equally many draws apart."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= bins:
        last = range(len(distinct) - 1)
    else:
        last = np.unique(np.searchsorted(np.cumsum(counts), len(values) * np.arange(1, bins) / bins))
        last = [i for i in last if i + 1 < len(distinct)]
    return [float(f"{(distinct[i] + distinct[i + 1]) / 2:.9g}") for i in last]


def histogram(case):
    name, draw, arguments, quantities, pairs, (width, height) = case
    torch.manual_seed(SEED)
    pilot = quantities([draw() for _ in range(PILOT)], width, height)
    values = quantities([draw() for _ in range(DRAWS)], width, height)
    cells = lambda name, at: np.searchsorted(at, values[name], side="left")
    single = {}
    for quantity in values:
        at = edges(pilot[quantity], BINS)
        single[quantity] = dict(edges=at, counts=np.bincount(cells(quantity, at), minlength=len(at) + 1).tolist())
    double = []
    for a, b in pairs:
        at_a, at_b = (edges(pilot[name], 24 if name == "order" else PAIR_BINS) for name in (a, b))
        joint = cells(a, at_a) * (len(at_b) + 1) + cells(b, at_b)
        counts = np.bincount(joint, minlength=(len(at_a) + 1) * (len(at_b) + 1)).tolist()
        double.append(dict(of=[a, b], edges=[at_a, at_b], counts=counts))
    for entry in [*single.values(), *double]:
        assert sum(entry["counts"]) == DRAWS
    print(f"{arguments['type']}, {name}", flush=True)
    return dict(name=name, transform=arguments, width=width, height=height, single=single, double=double)


def main():
    make_cases()
    rows = [json.dumps(histogram(case)) for case in CASES]
    versions = dict(torch=torch.__version__, torchvision=torchvision.__version__, numpy=np.__version__)
    head = json.dumps(dict(versions=versions, seed=SEED, draws=DRAWS))
    text = head[:-1] + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n"
    path = os.path.join(HERE, "draws.json")
    if "--check" in sys.argv[1:]:
        assert open(path).read() == text, "the draws differ"
        print("check passed:", len(rows), "cases")
        return
    with open(path, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
