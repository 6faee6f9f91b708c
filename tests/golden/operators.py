#!/usr/bin/env python3
"""Cases of the operators of which `transforms.json`, `cases.json` and `batches.json` have fewer than six in one semantics.

    v/bin/python tests/golden/operators.py             # rewrites operators.json and operators.bin; `generate.py` does so too
    v/bin/python tests/golden/operators.py --check     # makes them in memory and compares

`generate.py` says how `v` is made. The form is that of `transforms.json` (README.md), besides the key `batches`, which has
that of `batches.json`. The images are small: odd sides, one row, one column, one pixel, one channel. No value is one that a
last bit decides: every float is compared with what f64 gives, and no warp here reads the nearest pixel.
"""
import json
import math
import os
import random
import sys

import numpy as np
import torch
import torchvision
from PIL import Image, ImageFilter
from torchvision.transforms import InterpolationMode as IM
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from procedural import procedural

HERE = os.path.dirname(os.path.abspath(__file__))
# The seed, width, height and channels of each image.
IMAGES = {"odd": (201, 19, 13, 3), "square": (202, 12, 12, 3), "column": (203, 1, 17, 3), "row": (204, 23, 1, 3), "gray": (205, 11, 9, 1),
          "gray column": (206, 1, 7, 1), "pixel": (207, 1, 1, 3)}  # fmt: skip
SIX = ["odd", "square", "column", "row", "gray", "gray column"]
BOTH = ("u8", "f32")
# Operations of policies that amplify what was rounded before them.
STEPS = {"Equalize", "Posterize", "Solarize"}


def image(name, dtype):
    x = torch.from_numpy(procedural(*IMAGES[name]))
    return x if dtype == "u8" else F.to_dtype(x, torch.float32, scale=True)


def run(x, op, arguments, array):
    """Calls torchvision's function `op`; `array` finds the numbers that an argument refers to."""
    a = dict(arguments)
    if op == "policy":
        t = v2.RandAugment(interpolation=IM.BILINEAR, fill=a["fill"])
        return t._apply_image_or_video_transform(x, a["id"], a["magnitude"], IM.BILINEAR, t._fill)
    if op == "mix":  # what AugMix does with its draws
        chains = []
        for chain in a["chains"]:
            chains.append(x)
            for operation in chain:
                chains[-1] = run(chains[-1], "policy", operation, array)
        m, weights = torch.tensor([a["m"]], dtype=x.dtype), torch.tensor([a["weights"]], dtype=x.dtype)
        combined = weights * m[:, 1].reshape([1, -1])
        mixed = m[:, 0].reshape(1, 1, 1, 1) * x[None]
        for k, result in enumerate(chains):
            mixed.add_(combined[:, k].reshape(1, 1, 1, 1) * result[None])
        return mixed[0]
    if op == "gaussian_noise":
        normal, real = torch.from_numpy(array(a.pop("noise")).copy()), torch.randn_like
        torch.randn_like = lambda tensor, dtype=None: normal.to(dtype or tensor.dtype)
        try:
            return F.gaussian_noise(x, **a)
        finally:
            torch.randn_like = real
    if op in ("pillow_affine", "pillow_blur"):
        return pillow(x, op, a)
    if op == "erase":
        return F.erase(x, a["i"], a["j"], a["h"], a["w"], torch.tensor(a["v"]).to(x.dtype).reshape(-1, 1, 1))
    out = getattr(F, op)(x, **a)
    return torch.stack(out) if isinstance(out, tuple) else out


def pillow(x, op, a):
    """What Pillow makes of the bytes of a tensor."""
    picture = Image.fromarray(x[0].numpy()) if len(x) == 1 else Image.fromarray(x.permute(1, 2, 0).numpy())
    if op == "pillow_blur":
        picture = picture.filter(ImageFilter.GaussianBlur(a["radius"]))
    else:
        fill = [int(number) for number in a["fill"]]
        resample = getattr(Image.Resampling, a["interpolation"].upper())
        fill = fill[0] if len(x) == 1 else tuple(fill)
        picture = picture.transform(picture.size, Image.Transform.AFFINE, a["matrix"], resample, fillcolor=fill)
    return torch.from_numpy(np.array(picture).reshape(*x.shape[1:], len(x))).permute(2, 0, 1)


class Cases:
    """The cases, and the bytes that they refer to."""

    def __init__(self):
        self.blob, self.cases, self.stored, self.random = bytearray(), [], {}, random.Random(17)

    def store(self, array):
        data = np.ascontiguousarray(array).tobytes()
        if data not in self.stored:
            self.stored[data] = len(self.blob)
            self.blob += data + b"\0" * (-len(data) % 4)
        return dict(offset=self.stored[data], shape=list(array.shape), dtype={"uint8": "u8", "float32": "f32"}[str(array.dtype)])

    def array(self, place):
        return np.frombuffer(bytes(self.blob), np.float32, math.prod(place["shape"]), place["offset"]).reshape(place["shape"])

    def add(self, group, name, dtype, *ops, expected=None):
        """Adds a case; `expected` is what the function of the whole gives, where `ops` are its parts."""
        x = image(name, dtype)
        wide = x.double()
        for op, arguments in ops:
            x = run(x, op, arguments, self.array)
            wide = run(wide, op, arguments, self.array) if dtype == "f32" else wide
        assert expected is None or torch.equal(x, expected), group
        assert dtype == "u8" or (x - wide).abs().max() <= 1e-6, (group, ops)
        number = sum(case["group"] == group and case["dtype"] == dtype for case in self.cases)
        case = dict(name=f"{group}/{dtype}/{number}", group=group, dtype=dtype, input=name, ops=list(ops))
        self.cases.append(case | dict(output=self.store(x.numpy())))


def moves(cases):
    """What moves pixels and computes none."""
    for name in SIX:
        for group in ("horizontal_flip", "vertical_flip"):
            cases.add(group, name, "u8", (group, {}))
        _, w, h, channels = IMAGES[name]
        top, left = h // 3, w // 4
        cases.add("crop", name, "u8", ("crop", dict(top=top, left=left, height=h - top - h // 5, width=max(w // 2, 1))))
        for size in [(h - h // 3, w - w // 4)] if name != "odd" else [(8, 7), (5, 10)]:
            top, left = (round((whole - part) / 2.0) for whole, part in zip((h, w), size))
            part = ("crop", dict(top=top, left=left, height=size[0], width=size[1]))
            cases.add("center_crop", name, "u8", part, expected=F.center_crop(image(name, "u8"), list(size)))
        size = [max(h - 4, 1), max(w - 5, 1)]
        for dtype in BOTH:
            cases.add("five_crop", name, dtype, ("five_crop", dict(size=size)))
            cases.add("ten_crop", name, dtype, ("ten_crop", dict(size=[max(h // 2, 1), max(w // 2, 1)], vertical_flip=name in SIX[::2])))
    pads = [("odd", "constant", [1, 2, 3, 4], [200, 0, 7]), ("gray", "constant", [0, 3, 2, 0], [77]), ("odd", "edge", [5, 0, 1, 30], None),
            ("pixel", "edge", [3, 1, 2, 4], None), ("square", "reflect", [11, 3, 0, 2], None), ("gray", "reflect", [2, 8, 10, 1], None),
            ("column", "symmetric", [1, 17, 0, 4], None), ("row", "symmetric", [23, 0, 5, 1], None)]  # fmt: skip
    for name, mode, sides, fill in pads:
        cases.add("pad", name, "u8", ("pad", dict(padding=sides, fill=fill, padding_mode=mode)))
    # Too small for the centre crop: torchvision pads with zeros.
    for name, size in (("gray", [12, 4]), ("row", [3, 9])):
        _, w, h, _ = IMAGES[name]
        sides = [max(size[1] - w, 0) // 2, max(size[0] - h, 0) // 2, (max(size[1] - w, 0) + 1) // 2, (max(size[0] - h, 0) + 1) // 2]
        h, w = h + sides[1] + sides[3], w + sides[0] + sides[2]
        top, left = (round((whole - part) / 2.0) for whole, part in zip((h, w), size))
        parts = ("pad", dict(padding=sides, fill=None, padding_mode="constant")), ("crop", dict(top=top, left=left, height=size[0], width=size[1]))
        cases.add("center_crop", name, "u8", *parts, expected=F.center_crop(image(name, "u8"), size))


def values(cases):
    """What changes values where they are."""
    r = cases.random
    for name in [*SIX, "pixel"]:
        _, w, h, channels = IMAGES[name]
        cases.add("invert", name, "u8", ("invert", {}))
        top, left = r.randrange(h), r.randrange(w)
        sides = dict(i=top, j=left, h=r.randint(1, h - top), w=r.randint(1, w - left))
        cases.add("erase", name, "u8", ("erase", sides | dict(v=[float(r.randrange(256)) for _ in range(channels)])))
        normal = cases.store(np.random.default_rng(h).standard_normal((channels, h, w), np.float32))
        noise = dict(mean=r.choice([0.0, 0.031, -0.12]), sigma=r.choice([0.1, 0.04, 0.5]), noise=normal)
        cases.add("gaussian_noise", name, "u8", ("gaussian_noise", noise | dict(clip=True)))
        cases.add("gaussian_noise", name, "f32", ("gaussian_noise", noise | dict(clip=name in SIX[::2])))


def policies(cases):
    """Operations of policies and AugMix, in floats."""
    r = cases.random
    operation = lambda name, magnitude=0.0: dict(id=name, magnitude=magnitude, interpolation="bilinear", fill=None)
    for k, name in enumerate(SIX):
        for plain in ("Identity", "AutoContrast", "Equalize", "Invert"):
            cases.add("policy", name, "f32", ("policy", operation(plain)))
        cases.add("policy", name, "f32", ("policy", operation("Posterize", float(8 - k))))
        cases.add("policy", name, "f32", ("policy", operation("Solarize", 0.83 - 0.15 * k)))
    space = v2.AugMix._PARTIAL_AUGMENTATION_SPACE | v2.AugMix._AUGMENTATION_SPACE
    for name in SIX:
        chains = []
        for _ in range(3):
            drawn = r.choices(list(space), k=r.randint(1, 3))
            drawn = [key for k, key in enumerate(drawn) if k == 0 or key not in STEPS]
            chains.append([])
            for key in drawn:
                magnitudes, signed = space[key]
                found = magnitudes(10, *image(name, "u8").shape[1:])
                magnitude = 0.0 if found is None else float(found[r.randrange(10)])
                chains[-1].append(operation(key, magnitude * r.choice([1, -1]) if signed else magnitude))
        m, weights = round(r.uniform(0.05, 0.95), 3), [r.random() + 0.05 for _ in range(3)]
        weights = [round(weight / sum(weights), 4) for weight in weights]
        cases.add("augmix", name, "f32", ("mix", dict(m=[m, round(1 - m, 3)], weights=weights, chains=chains)))


def pillows(cases):
    """Pillow's own arithmetic, in bytes. Numbers are written so that JSON gives the same f64 back."""
    r = random.Random(47)
    for name in [*SIX, "pixel"]:
        _, w, h, _ = IMAGES[name]
        x, y = w / 2, h / 2
        for k, interpolation in enumerate(("Nearest", "Bilinear", "Bicubic")):
            turn, scale = math.radians(r.uniform(-60, 60)), r.uniform(0.6, 1.7)
            a, b = math.cos(turn) / scale, math.sin(turn) / scale
            for matrix in (
                [a, b, x - a * x - b * y, -b, a, y + b * x - a * y],
                [1.0, r.uniform(-0.3, 0.3), 0.0, 0.0, 1.0, 0.0],
                [1.0, 0.0, float(r.randint(-3, 3)), 0.0, 1.0, float(r.randint(-3, 3))],
                [scale, 0.0, x - scale * x, 0.0, 1 / scale, y - y / scale],
                # Half a pixel, where a last bit would decide.
                [-1.0, 0.0, w - 0.5, 0.0, 1.0, 0.5],
            ):
                fill = [float(r.randrange(256)) for _ in range(3)] if k else [0.0] * 3
                cases.add("pillow_affine", name, "u8", ("pillow_affine", dict(matrix=matrix, interpolation=interpolation, fill=fill)))
        for radius in ([r.uniform(0.1, 2.0)] * 2, [r.uniform(0, 1), r.uniform(2, 9)], [0.0, 2.0], [1.0, 0.0]):
            cases.add("pillow_blur", name, "u8", ("pillow_blur", dict(radius=radius)))


def batches(random):
    """CutMix of four images, in the form of `batches.json`."""
    shape, labels, classes = (4, 3, 5, 3), [2, 0, 4, 2], 5
    images = torch.from_numpy(np.stack([procedural(300 + k, shape[3], shape[2], 3) for k in range(shape[0])]))
    table = dict(shape=list(shape), images={}, cases=[])
    for dtype in BOTH:
        x = images if dtype == "u8" else F.to_dtype(images, torch.float32, scale=True)
        table["images"][dtype] = shortest(x)
        for x1, y1, x2, y2 in ((1, 2, 3, 4), (0, 1, 2, 5)):
            lam = 1.0 - (x2 - x1) * (y2 - y1) / (shape[2] * shape[3])
            t = v2.CutMix(num_classes=classes)
            t.make_params = lambda flat, box=(x1, y1, x2, y2), lam=lam: dict(box=box, lam_adjusted=lam)
            out, soft = t(x, torch.tensor(labels))
            table["cases"].append(dict(kind="cutmix", lam=lam, dtype=dtype, labels=labels, num_classes=classes, output=shortest(out),
                                       soft=shortest(soft), box=[x1, y1, x2, y2]))  # fmt: skip
    return table


def shortest(tensor):
    """The values, floats with as few digits as give them back."""
    return [value if tensor.dtype == torch.uint8 else float(str(np.float32(value))) for value in tensor.flatten().tolist()]


def build():
    """Returns the JSON's text and the bytes."""
    torch.set_num_threads(1)
    cases = Cases()
    places = {name: cases.store(procedural(*description)) for name, description in IMAGES.items()}
    moves(cases)
    values(cases)
    policies(cases)
    pillows(cases)
    used = [name for name in IMAGES if any(case["input"] == name for case in cases.cases)]
    inputs = [dict(name=name, offset=places[name]["offset"], shape=places[name]["shape"]) for name in used]
    head = dict(versions=dict(torch=torch.__version__, torchvision=torchvision.__version__, numpy=np.__version__), inputs=inputs,
                batches=batches(cases.random))  # fmt: skip
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases.cases)
    return f'{json.dumps(head, separators=(",", ":"))[:-1]},"cases":[\n{lines}\n]}}\n', bytes(cases.blob)


def same(old_text, old_blob, text, blob):
    """Asserts that the files hold what was made, floats within 2e-6."""
    old, new = json.loads(old_text), json.loads(text)
    assert [case["name"] for case in old["cases"]] == [case["name"] for case in new["cases"]]
    assert (old["inputs"], old["batches"], len(old_blob)) == (new["inputs"], new["batches"], len(blob))
    for a, b in zip(old["cases"], new["cases"]):
        assert a == b, b["name"]
        kind = {"u8": np.uint8, "f32": np.float32}[b["output"]["dtype"]]
        read = lambda data: np.frombuffer(data, kind, math.prod(b["output"]["shape"]), b["output"]["offset"])
        assert np.abs(read(old_blob).astype(np.float64) - read(blob)).max() <= (2e-6 if kind == np.float32 else 0), b["name"]


def main(check):
    text, blob = build()
    paths = [os.path.join(HERE, name) for name in ("operators.json", "operators.bin")]
    if check:
        same(open(paths[0]).read(), open(paths[1], "rb").read(), text, blob)
        print("check passed:", text.count('"group"'), "cases of operators")
        return
    for path, data in zip(paths, (text.encode(), blob)):
        with open(path, "wb") as file:
            file.write(data)
        print(os.path.basename(path), len(data))


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
