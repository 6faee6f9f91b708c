#!/usr/bin/env python3
"""Golden vectors: what torchvision.transforms.v2.functional gives for fixed ("drawn") operations, in Float semantics.

Run (CPU, no network, about a minute, about 3 GB of memory):

    python3 -m venv v && v/bin/pip install torch==2.15.0 torchvision==0.29.2 numpy==2.4.6
    v/bin/python tests/golden/generate.py            # rewrites the files beside this script
    v/bin/python tests/golden/generate.py --check    # regenerates in memory and compares with the files

Everything is deterministic: inputs are integer formulas (see `Input`), every draw is made under torch.manual_seed and
then recorded as a concrete operation, and torch runs on one thread. Another torch build, or another vector width
(the committed files come from an AVX-512 machine), may move the last bits: --check therefore accepts 2e-6.

Writes: cases.json (object: header fields + "cases"), vectors.bin (little-endian f32, CHW, concatenated),
operators.json and operators.bin (`operators.py`: what these cases lack, in floats and bytes), targets.json (`targets.py`: boxes
and keypoints),
sizes.json (Resize's integer-size rule) and tables.json (centre crop, RandomResizedCrop fallback, RandomCrop padding,
Pad argument forms, ColorJitter argument forms, Resize(size=None, max_size)).
"""
import itertools
import json
import os
import re
import sys

import numpy as np
import torch
import torchvision
from torchvision.transforms import InterpolationMode as IM
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F
from torchvision.transforms.v2.functional import _geometry as G

import operators
import targets
from procedural import FORMULA, procedural

HERE = os.path.dirname(os.path.abspath(__file__))
torch.set_num_threads(1)

# --------------------------------------------------------------------------------------------------------------- inputs

KINDS = {
    "procedural": "the formula above; fields seed, width, height, channels",
    "constant": "value[c] everywhere",
    "checkerboard": "((x/cell + y/cell) & 1) == 0 ? low[c] : high[c]   (integer division)",
    "ramp": "r = width==1 ? 0 : x*255/(width-1) (integer division); channel 1: 255-r, other channels: r",
    "pixels": "data: u8 values, row by row, channels interleaved (HWC)",
}


def u8_image(d):
    """The u8 CHW array of an input description."""
    w, h, n = d["width"], d["height"], d["channels"]
    if d["kind"] == "procedural":
        return procedural(d["seed"], w, h, n)
    out = np.empty((n, h, w), np.uint8)
    x, y = np.arange(w)[None, :], np.arange(h)[:, None]
    for c in range(n):
        if d["kind"] == "constant":
            out[c] = d["value"][c]
        elif d["kind"] == "checkerboard":
            out[c] = np.where(((x // d["cell"] + y // d["cell"]) & 1) == 0, d["low"][c], d["high"][c])
        elif d["kind"] == "ramp":
            r = np.zeros_like(x) if w == 1 else x * 255 // (w - 1)
            out[c] = 255 - r if c == 1 else r
        elif d["kind"] == "pixels":
            out[c] = np.array(d["data"], np.uint8).reshape(h, w, n)[:, :, c]
        else:
            raise ValueError(d["kind"])
    return out


_cache = {}


def image(d):
    """The f32 [0,1] tensor, as ToDtype(float32, scale=True) makes it."""
    key = json.dumps(d)
    if key not in _cache:
        if len(_cache) > 12:
            _cache.clear()
        _cache[key] = F.to_dtype(torch.from_numpy(u8_image(d)), torch.float32, scale=True)
    return _cache[key]


def proc(w, h, seed=1, c=3):
    return dict(kind="procedural", seed=seed, width=w, height=h, channels=c)


def constant(w, h, *value):
    return dict(kind="constant", width=w, height=h, channels=len(value), value=list(value))


def checker(w, h, cell, low=(0, 0, 0), high=(255, 255, 255)):
    return dict(kind="checkerboard", width=w, height=h, channels=len(low), cell=cell, low=list(low), high=list(high))


def ramp(w, h, c=3):
    return dict(kind="ramp", width=w, height=h, channels=c)


def pixels(w, h, px):
    assert len(px) == w * h
    return dict(kind="pixels", width=w, height=h, channels=len(px[0]), data=[v for p in px for v in p])


# Pure colours, greys, black, white, ties between channels, near-greys, hue sector borders.
PALETTE = pixels(8, 5, [
    (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255), (255, 0, 255),
    (128, 128, 128), (1, 1, 1), (254, 254, 254), (127, 128, 128), (128, 127, 128), (128, 128, 127), (1, 0, 0), (0, 0, 1),
    (255, 128, 0), (128, 255, 0), (0, 255, 128), (0, 128, 255), (128, 0, 255), (255, 0, 128), (255, 1, 0), (255, 0, 1),
    (200, 200, 10), (10, 200, 200), (200, 10, 200), (255, 254, 254), (254, 255, 254), (254, 254, 255), (64, 32, 32), (32, 64, 64),
    (17, 99, 203), (203, 17, 99), (99, 203, 17), (17, 203, 99), (203, 99, 17), (99, 17, 203), (90, 60, 30), (250, 128, 114),
])  # fmt: skip

# ------------------------------------------------------------------------------------------------------------------ ops

MODES = {"Nearest": IM.NEAREST, "NearestExact": IM.NEAREST_EXACT, "Bilinear": IM.BILINEAR, "Bicubic": IM.BICUBIC}
NAMES = {v: k for k, v in MODES.items()}
PAD_MODES = {"Constant": "constant", "Edge": "edge", "Reflect": "reflect", "Symmetric": "symmetric"}
IMAGENET = {"Normalize": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}


def resize(h, w, interpolation="Bilinear", antialias=True):
    return {"Resize": {"height": h, "width": w, "interpolation": interpolation, "antialias": antialias}}


def crop(top, left, height, width):
    return {"Crop": {"top": top, "left": left, "height": height, "width": width}}


def pad(left, top, right, bottom, mode="Constant", fill=(0.0, 0.0, 0.0)):
    return {"Pad": {"left": left, "top": top, "right": right, "bottom": bottom, "mode": mode, "fill": list(fill)}}


def op1(kind, factor):
    return {kind: {"factor": factor}}


def resize_image(img, h, w, mode, antialias):
    """F.resize, around one defect of this torch on the CPU.

    An antialiased float resize of a contiguous CHW image that changes the height and gives width 1, height > 1 repeats
    the first row in all rows. The same call on a channels-last image, the u8 path and Pillow are right. So that the
    vectors hold the right values, this one shape is computed on the transposed image.
    """
    if antialias and mode in (IM.BILINEAR, IM.BICUBIC) and w == 1 and h > 1 and h != img.shape[-2]:
        return F.resize(img.transpose(1, 2).contiguous(), [w, h], mode, antialias=True).transpose(1, 2).contiguous()
    return F.resize(img, [h, w], mode, antialias=antialias)


def apply(img, ops):
    """Applies concrete operations. Three-element `fill`, `mean` and `std` lists serve 1-channel images by their first."""
    for op in ops:
        kind, a = (op, {}) if isinstance(op, str) else next(iter(op.items()))
        n, height, width = img.shape
        if kind == "Crop":
            assert 0 <= a["top"] and a["top"] + a["height"] <= height and 0 <= a["left"] and a["left"] + a["width"] <= width
            img = F.crop(img, **a)
        elif kind == "Pad":
            ltrb = [a["left"], a["top"], a["right"], a["bottom"]]
            fill = a["fill"][:n] if a["mode"] == "Constant" else None
            img = F.pad(img, ltrb, fill=fill, padding_mode=PAD_MODES[a["mode"]])
        elif kind == "Resize":
            img = resize_image(img, a["height"], a["width"], MODES[a["interpolation"]], a["antialias"])
        elif kind == "Grayscale":
            img = F.rgb_to_grayscale(img, num_output_channels=a["channels"])
        elif kind == "PermuteChannels":
            img = F.permute_channels(img, a["permutation"]) if n == 3 else F.permute_channels(img, [0])
        elif kind == "Erase":
            v = torch.tensor(a["value"]["Color"][:n], dtype=img.dtype)[:, None, None]
            img = F.erase(img, a["top"], a["left"], a["height"], a["width"], v)
        elif kind == "Normalize":
            img = F.normalize(img, a["mean"][:n], a["std"][:n])
        elif kind in ("Brightness", "Contrast", "Saturation", "Hue"):
            img = getattr(F, f"adjust_{kind.lower()}")(img, a["factor"])
        else:  # AdjustGamma has the name and the arguments of F.adjust_gamma
            img = getattr(F, re.sub("(?!^)([A-Z])", r"_\1", kind).lower())(img, **a)
    return img


def recorded(transforms, img):
    """Runs v2 transforms, records what they drew, and returns (concrete ops in applied order, output)."""
    ops = []
    for t in transforms:
        drawn, make = [], t.make_params
        t.make_params = lambda flat, make=make, drawn=drawn: drawn.append(make(flat)) or drawn[-1]
        n, height, width = img.shape
        img = t(img)
        del t.make_params
        if not drawn:  # a random transform that was skipped
            continue
        p = drawn[0]
        if isinstance(t, v2.RandomResizedCrop):
            ops.append(crop(p["top"], p["left"], p["height"], p["width"]))
            ops.append(resize(*t.size, NAMES[IM(t.interpolation)], t.antialias))
        elif isinstance(t, v2.RandomCrop):
            if p["needs_pad"]:
                fill = t.fill if isinstance(t.fill, (tuple, list)) else [float(t.fill)] * 3
                mode = next(k for k, v in PAD_MODES.items() if v == t.padding_mode)
                ops.append(pad(*p["padding"], mode, fill))
            if p["needs_crop"]:
                ops.append(crop(p["top"], p["left"], p["height"], p["width"]))
        elif isinstance(t, v2.RandomHorizontalFlip):
            ops.append("HorizontalFlip")
        elif isinstance(t, v2.RandomVerticalFlip):
            ops.append("VerticalFlip")
        elif isinstance(t, v2.RandomGrayscale):
            ops.append({"Grayscale": {"channels": n}})
        elif isinstance(t, v2.ColorJitter):
            for i in p["fn_idx"].tolist():
                kind = ("Brightness", "Contrast", "Saturation", "Hue")[i]
                if p[kind.lower() + "_factor"] is not None:
                    ops.append(op1(kind, p[kind.lower() + "_factor"]))
        elif isinstance(t, v2.Normalize):
            ops.append({"Normalize": {"mean": list(t.mean), "std": list(t.std)}})
        elif isinstance(t, v2.RandomErasing):
            if p["v"] is not None:
                ops.append(erase(p["i"], p["j"], p["h"], p["w"], *p["v"].flatten().expand(3).tolist()))
        elif isinstance(t, v2.Resize):
            oh, ow = G._compute_resized_output_size((height, width), t.size, t.max_size)
            ops.append(resize(oh, ow, NAMES[IM(t.interpolation)], t.antialias))
        elif isinstance(t, v2.CenterCrop):
            ops += center_crop_ops(width, height, *t.size)
        else:
            raise ValueError(t)
    return ops, img


def center_crop_ops(w, h, ch, cw):
    """A centre crop as [Pad], Crop: torchvision pads with zeros first when a side is too small."""
    ops = []
    if ch > h or cw > w:
        l, t, r, b = G._center_crop_compute_padding(ch, cw, h, w)
        ops.append(pad(l, t, r, b))
        h, w = h + t + b, w + l + r
    top, left = G._center_crop_compute_crop_anchor(ch, cw, h, w)
    return ops + [crop(top, left, ch, cw)]


# ---------------------------------------------------------------------------------------------------------------- cases

CASES, BLOB, OFFSET = [], [], 0


def case(name, inp, ops, expected=None):
    """Adds a case; `expected`, where given, is what the v2 transform itself gave, and must be equal to the bit."""
    global OFFSET
    src = image(inp)
    out = apply(src, ops)
    if expected is not None:
        assert torch.equal(out, expected), name
    assert out.dtype == torch.float32 and torch.isfinite(out).all(), name
    # How far torch's own f32 result is from the same ops in f64: the noise floor of this case.
    noise = (apply(src.double(), ops) - out.double()).abs().max().item()
    resized = any(isinstance(o, dict) and "Resize" in o and not o["Resize"]["interpolation"].startswith("Nearest") for o in ops)
    data = out.contiguous().numpy().astype("<f4").tobytes()
    CASES.append(dict(
        name=name, input=inp, ops=ops, output=dict(offset=OFFSET, shape=list(out.shape)),
        tolerance="resize" if resized else "pointwise", f32_vs_f64=float(f"{noise:.2g}"),
    ))  # fmt: skip
    BLOB.append(data)
    OFFSET += len(data)


INTERP = [("Nearest", False), ("NearestExact", False), ("Bilinear", True), ("Bilinear", False), ("Bicubic", True), ("Bicubic", False)]


def tag(interp, aa):
    return interp.lower() + ("-aa" if aa else "")


def resize_cases():
    shapes = [  # label, input, out h, out w, crop after
        ("reduce", proc(64, 48), 20, 24, None),
        ("half", proc(64, 48, 2), 24, 32, None),
        ("double", proc(64, 48, 3), 96, 128, (30, 40, 16, 20)),
        ("double-corner", proc(64, 48, 3), 96, 128, (80, 112, 16, 16)),
        ("odd", proc(37, 23, 4), 11, 19, None),
        ("enlarge", proc(12, 9, 5), 23, 31, None),
        ("enlarge-small", proc(3, 2, 6), 5, 7, None),
        ("x-down-y-up", proc(40, 13, 7), 29, 17, None),
        ("x-up-y-down", proc(9, 41, 8), 12, 22, None),
        ("identity", proc(13, 11, 9), 11, 13, None),
        ("1x1-to-5x7", proc(1, 1, 10), 7, 5, None),
        ("to-1x1", proc(17, 13, 11), 1, 1, None),
        ("to-1-wide", proc(18, 14, 12), 6, 1, None),
        ("to-1-wide-up", proc(5, 4, 28), 9, 1, None),
        ("column-to-column", proc(1, 14, 29), 6, 1, None),
        ("1ch-to-1-wide", proc(18, 14, 12, 1), 6, 1, None),
        ("1x1-to-1x1", proc(1, 1, 13), 1, 1, None),
        ("panorama-x-only", proc(200, 7, 14), 7, 20, None),
        ("panorama", proc(200, 7, 15), 5, 33, None),
        ("panorama-to-square", proc(200, 7, 16), 16, 16, None),
        ("row", proc(31, 1, 17), 1, 9, None),
        ("row-up", proc(31, 1, 18), 3, 44, None),
        ("column", proc(1, 29, 19), 11, 2, None),
        ("plus-one", proc(20, 20, 20), 21, 21, None),
        ("minus-one", proc(20, 20, 21), 19, 19, None),
        ("checker1", checker(16, 16, 1), 9, 9, None),
        ("checker3", checker(17, 15, 3, (10, 200, 0), (250, 30, 255)), 20, 11, None),
        ("ramp", ramp(64, 3), 3, 21, None),
        ("ramp-up", ramp(9, 3), 4, 31, None),
        ("constant", constant(30, 21, 255, 37, 0), 10, 8, None),
        ("large", proc(1200, 900, 22), 24, 32, None),
        ("large-square", proc(1200, 900, 23), 32, 32, (3, 5, 16, 16)),
        ("huge", proc(4000, 3000, 24), 224, 224, (0, 0, 16, 16)),
        ("huge-mid", proc(4000, 3000, 24), 224, 224, (101, 97, 16, 16)),
        ("huge-end", proc(4000, 3000, 24), 224, 224, (208, 208, 16, 16)),
        ("huge-aspect", proc(4000, 3000, 24), 168, 224, (57, 200, 16, 24)),
        ("1ch-reduce", proc(45, 33, 25, 1), 14, 16, None),
        ("1ch-enlarge", proc(7, 5, 26, 1), 18, 13, None),
        ("1ch-x-down-y-up", proc(30, 4, 27, 1), 9, 11, None),
    ]
    for label, inp, h, w, then in shapes:
        for interp, aa in INTERP:
            if label == "huge-mid" and interp.startswith("Nearest"):
                continue
            case(f"resize/{label}/{tag(interp, aa)}", inp, [resize(h, w, interp, aa)] + ([crop(*then)] if then else []))


def geometry_cases():
    for label, inp in [("proc", proc(13, 9, 30)), ("1x1", proc(1, 1, 31)), ("3x2", proc(3, 2, 32)), ("row", proc(12, 1, 33)), ("1ch", proc(6, 5, 34, 1))]:
        case(f"none/{label}", inp, [])
        case(f"hflip/{label}", inp, ["HorizontalFlip"])
        case(f"vflip/{label}", inp, ["VerticalFlip"])
        case(f"hvflip/{label}", inp, ["HorizontalFlip", "VerticalFlip"])
    for t, l, h, w in [(0, 0, 1, 1), (8, 12, 1, 1), (0, 0, 9, 13), (2, 3, 5, 7), (4, 0, 5, 13), (0, 6, 9, 7)]:
        case(f"crop/{t}-{l}-{h}-{w}", proc(13, 9, 35), [crop(t, l, h, w)])
    case("crop/crop-flip-crop", proc(40, 30, 36), [crop(3, 5, 20, 25), "HorizontalFlip", crop(2, 1, 10, 12), "VerticalFlip"])
    case("crop/resize-flip-crop", proc(40, 30, 36), [resize(23, 27), "HorizontalFlip", crop(2, 1, 12, 9)])
    pads = [
        (proc(7, 5, 40), [(1, 2, 3, 4), (0, 0, 0, 0), (2, 2, 2, 2), (4, 0, 0, 0), (0, 4, 0, 0), (0, 0, 6, 0), (0, 0, 0, 4), (6, 4, 6, 4)]),
        (proc(2, 3, 41), [(1, 2, 1, 1), (0, 1, 1, 2)]),
        (proc(5, 4, 42, 1), [(2, 1, 3, 3)]),
    ]
    for inp, sides in pads:
        for s in sides:
            for mode in PAD_MODES:
                name = f"pad/{mode.lower()}/{inp['width']}x{inp['height']}x{inp['channels']}/" + "-".join(map(str, s))
                case(name, inp, [pad(*s, mode, (0.5, 0.25, 0.0) if mode == "Constant" else (0.0, 0.0, 0.0))])
    for mode in ("Edge", "Symmetric", "Constant"):  # a full-width mirror, and edge and constant beyond the image's size
        s = (1, 1, 1, 1) if mode == "Symmetric" else (5, 3, 2, 7)
        case(f"pad/{mode.lower()}/1x1x3/" + "-".join(map(str, s)), proc(1, 1, 43), [pad(*s, mode, (1.0, 0.1, 0.9))])
    case("pad/symmetric/7x5x3/full", proc(7, 5, 40), [pad(7, 5, 7, 5, "Symmetric")])
    case("pad/resize-after", proc(20, 15, 44), [pad(3, 0, 1, 5, "Reflect"), resize(12, 14)])
    for (w, h), (ch, cw) in itertools.product([(13, 9), (12, 8), (3, 2), (1, 1), (200, 7), (8, 21)], [(8, 8), (7, 7), (9, 10), (1, 1), (4, 15)]):
        inp = proc(w, h, 50)
        case(f"center_crop/{w}x{h}-to-{cw}x{ch}", inp, center_crop_ops(w, h, ch, cw), F.center_crop(image(inp), [ch, cw]))
    rects = [
        (proc(64, 48, 60), (5, 7, 30, 41), (16, 16)), (proc(64, 48, 60), (0, 0, 48, 64), (12, 20)),
        (proc(64, 48, 60), (20, 30, 6, 5), (16, 16)), (proc(64, 48, 60), (47, 63, 1, 1), (4, 5)),
        (proc(64, 48, 60), (10, 0, 3, 64), (9, 9)), (proc(64, 48, 60), (3, 50, 16, 14), (16, 14)),
        (proc(1200, 900, 22), (101, 203, 777, 901), (16, 16)), (proc(200, 7, 61), (1, 20, 5, 150), (12, 12)),
    ]  # fmt: skip
    for i, (inp, (t, l, h, w), (oh, ow)) in enumerate(rects):
        for interp, aa in INTERP:
            want = F.resized_crop(image(inp), t, l, h, w, [oh, ow], MODES[interp], aa)
            case(f"resized_crop/{i}-{w}x{h}-to-{ow}x{oh}/{tag(interp, aa)}", inp, [crop(t, l, h, w), resize(oh, ow, interp, aa)], want)
    case("resized_crop/huge/bilinear-aa", proc(4000, 3000, 24), [crop(37, 411, 2900, 3203), resize(224, 224), crop(100, 60, 16, 16)])
    case("resized_crop/huge/bicubic-aa", proc(4000, 3000, 24), [crop(37, 411, 2900, 3203), resize(224, 224, "Bicubic"), crop(208, 208, 16, 16)])


def color_cases():
    images = [
        ("palette", PALETTE), ("proc", proc(13, 9, 70)), ("1x1", proc(1, 1, 71)), ("row", proc(12, 1, 72)), ("1ch", proc(9, 7, 73, 1)),
        ("white", constant(3, 2, 255, 255, 255)), ("black", constant(2, 3, 0, 0, 0)), ("gray", constant(3, 3, 77, 77, 77)), ("red", constant(2, 2, 255, 0, 0)),
    ]  # fmt: skip
    factors = {
        "Brightness": [0.0, 0.123, 0.5, 1.0, 1.7, 20.0],
        "Contrast": [0.0, 0.4, 1.0, 1.6, 7.5],
        "Saturation": [0.0, 0.3, 1.0, 1.9, 9.0],
        "Hue": [-0.5, -0.25, -0.1, 0.0, 0.03, 1 / 3, 0.5],
    }
    for label, inp in images:
        for kind, values in factors.items():
            for f in values if label in ("palette", "proc") else values[1:4]:
                case(f"{kind.lower()}/{label}/{f:.4g}", inp, [op1(kind, f)])
        for n in (1, 3):
            case(f"grayscale/{label}/{n}", inp, [{"Grayscale": {"channels": n}}])
        case(f"normalize/{label}", inp, [IMAGENET])
    case("normalize/half", proc(8, 8, 74), [{"Normalize": {"mean": [0.5] * 3, "std": [0.5] * 3}}])
    # Contrast's mean is over the whole image that reaches it, not over what is kept afterwards.
    for f in (0.3, 1.8):
        case(f"contrast/then-crop/{f}", proc(211, 133, 75), [op1("Contrast", f), crop(50, 60, 12, 16)])
        case(f"contrast/large-then-crop/{f}", proc(1200, 900, 22), [op1("Contrast", f), crop(700, 900, 12, 16)])
        case(f"contrast/after-pad/{f}", proc(20, 15, 76), [pad(3, 4, 5, 6, "Constant", (0.9, 0.1, 0.5)), op1("Contrast", f)])
        case(f"contrast/after-resize/{f}", proc(64, 48, 60), [resize(15, 20), op1("Contrast", f)])
        case(f"contrast/after-clamp/{f}", proc(20, 15, 77), [op1("Brightness", 2.5), op1("Contrast", f)])
        case(f"contrast/twice/{f}", proc(20, 15, 77), [op1("Contrast", f), op1("Saturation", 0.2), op1("Contrast", 2.0 - f)])
        case(f"contrast/gray1/{f}", proc(20, 15, 78), [{"Grayscale": {"channels": 1}}, op1("Contrast", f)])
    # Bicubic leaves [0,1]: brightness clamps it, hue does not clamp V, normalise keeps it.
    for label, op in [("brightness", op1("Brightness", 1.0)), ("contrast", op1("Contrast", 1.2)), ("saturation", op1("Saturation", 0.7)), ("hue", op1("Hue", 0.1)),
                      ("grayscale", {"Grayscale": {"channels": 3}}), ("normalize", IMAGENET)]:  # fmt: skip
        src = checker(11, 7, 3, (20, 40, 0), (255, 240, 250))
        case(f"overshoot/{label}", src, [resize(16, 20, "Bicubic", True), op])


JITTER_ARGS = dict(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)


def jitter_cases():
    # One seed for each of the 24 orders, found by walking the seeds; every op so comes first and last six times.
    seen, seed = set(), 0
    sources = [proc(24, 16, 80), proc(17, 11, 81), PALETTE]
    while len(seen) < 24:
        torch.manual_seed(seed)
        order = tuple(torch.randperm(4).tolist())
        if order not in seen:
            inp = sources[len(seen) % len(sources)]
            torch.manual_seed(seed)
            ops, out = recorded([v2.ColorJitter(**JITTER_ARGS)], image(inp))
            assert tuple({"Brightness": 0, "Contrast": 1, "Saturation": 2, "Hue": 3}[next(iter(o))] for o in ops) == order
            case(f"jitter/order-{''.join(map(str, order))}/seed-{seed}", inp, ops, out)
            seen.add(order)
        seed += 1
    others = [
        dict(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.5), dict(brightness=(0.2, 0.3), contrast=(1.8, 2.5), saturation=(2.0, 3.0), hue=(-0.5, -0.3)),
        dict(brightness=0.4), dict(contrast=0.9), dict(saturation=2.0), dict(hue=0.5), dict(brightness=0.3, hue=0.2), dict(contrast=0.5, saturation=0.5),
        dict(brightness=0.0, contrast=0.6, saturation=0.0, hue=0.0), dict(brightness=(1.0, 1.0), contrast=(0.5, 0.5), saturation=(1.0, 1.2), hue=(0.25, 0.25)),
    ]  # fmt: skip
    for i, args in enumerate(others):
        for k, inp in enumerate([proc(19, 13, 82), PALETTE if i < 2 else proc(6, 4, 83)]):
            torch.manual_seed(1000 + 10 * i + k)
            ops, out = recorded([v2.ColorJitter(**args)], image(inp))
            case(f"jitter/args-{i}/seed-{1000 + 10 * i + k}", inp, ops, out)
    for k in range(3):
        inp = proc(14, 10, 84, 1)
        torch.manual_seed(2000 + k)
        ops, out = recorded([v2.ColorJitter(**JITTER_ARGS)], image(inp))
        case(f"jitter/1ch/seed-{2000 + k}", inp, ops, out)


def recipe_cases():
    sources = [proc(200, 150, 90), proc(97, 61, 91), proc(640, 480, 92), proc(50, 33, 93), proc(24, 90, 94), proc(200, 7, 95)]
    for i in range(18):
        interp = "bicubic" if i % 3 == 2 else "bilinear"
        inp = sources[i % len(sources)]
        train = [
            v2.RandomResizedCrop(32, interpolation=interp, antialias=i % 6 != 5),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(**JITTER_ARGS),
            v2.RandomGrayscale(0.25),
            v2.Normalize(IMAGENET["Normalize"]["mean"], IMAGENET["Normalize"]["std"]),
        ]
        torch.manual_seed(3000 + i)
        ops, out = recorded(train, image(inp))
        case(f"train/{interp}/seed-{3000 + i}", inp, ops, out)
    for w, h in [(64, 48), (48, 65), (41, 40), (200, 90), (30, 30), (640, 480), (25, 39)]:
        for interp in ("bilinear", "bicubic") if w == 64 else ("bilinear",):
            inp = proc(w, h, 96)
            evaluate = [v2.Resize(40, interpolation=interp), v2.CenterCrop(32), v2.Normalize(IMAGENET["Normalize"]["mean"], IMAGENET["Normalize"]["std"])]
            ops, out = recorded(evaluate, image(inp))
            case(f"eval/{interp}/{w}x{h}", inp, ops, out)
    for w, h in [(100, 20), (20, 100)]:  # the centre crop must pad: Resize(30) keeps the short side at 30
        inp = proc(w, h, 97)
        ops, out = recorded([v2.Resize(30, max_size=40), v2.CenterCrop(32), v2.Normalize([0.5] * 3, [0.25] * 3)], image(inp))
        case(f"eval/max_size/{w}x{h}", inp, ops, out)
    for i, mode in enumerate(PAD_MODES.values()):
        for k in range(2):
            inp = proc(32, 32, 98)
            torch.manual_seed(4000 + 10 * i + k)
            fill = (0.485, 0.456, 0.406) if mode == "constant" and k else 0
            ops, out = recorded([v2.RandomCrop(32, padding=4, padding_mode=mode, fill=fill), v2.RandomHorizontalFlip()], image(inp))
            case(f"random_crop/{mode}/seed-{4000 + 10 * i + k}", inp, ops, out)
        inp = proc(9, 21, 99)
        torch.manual_seed(4100 + i)
        ops, out = recorded([v2.RandomCrop(16, pad_if_needed=True, padding_mode=mode)], image(inp))
        case(f"random_crop/pad_if_needed-{mode}/seed-{4100 + i}", inp, ops, out)


def point_cases():
    """Invert, solarize, posterize and channel permutations."""
    permute = lambda *order: {"PermuteChannels": {"permutation": list(order)}}
    solarize = lambda threshold: {"Solarize": {"threshold": threshold}}
    posterize = lambda bits: {"Posterize": {"bits": bits}}
    images = [("palette", PALETTE), ("proc", proc(19, 13, 105)), ("1x1", proc(1, 1, 111)), ("1ch", proc(9, 7, 112, 1)), ("ramp", ramp(64, 2))]
    for label, inp in images:
        case(f"invert/{label}", inp, ["Invert"], v2.RandomInvert(1.0)(image(inp)))
        for threshold in (0.0, 0.25, 0.5, 128 / 255, 1.0):
            case(f"solarize/{label}/{threshold:.3g}", inp, [solarize(threshold)], v2.RandomSolarize(threshold, 1.0)(image(inp)))
        for bits in range(9) if label == "ramp" else (0, 2, 4, 7):
            case(f"posterize/{label}/{bits}", inp, [posterize(bits)], v2.RandomPosterize(bits, 1.0)(image(inp)))
    for label, inp in images[:2]:
        for order in itertools.permutations(range(3)):
            case(f"permute/{label}/" + "".join(map(str, order)), inp, [permute(*order)])
    case("permute/1ch", proc(9, 7, 112, 1), [permute(2, 0, 1)])
    big = proc(64, 48, 60)
    for label, op in [("invert", "Invert"), ("solarize", solarize(0.5)), ("posterize", posterize(2)), ("permute", permute(1, 2, 0))]:
        case(f"point/after-bilinear/{label}", big, [resize(15, 20), op])
        case(f"point/after-bicubic/{label}", checker(11, 7, 3, (20, 40, 0), (255, 240, 250)), [resize(16, 20, "Bicubic", True), op])
        case(f"point/before-resize/{label}", big, [op, resize(11, 13)])
        case(f"point/before-contrast/{label}", proc(20, 15, 77), [op, op1("Contrast", 1.7)])
        case(f"point/after-contrast/{label}", proc(20, 15, 77), [op1("Contrast", 0.6), op])
        case(f"point/before-pad/{label}", proc(9, 8, 113), [op, pad(1, 2, 3, 1, "Constant", (0.5, 0.25, 0.0)), crop(1, 0, 8, 11)])
        case(f"point/after-normalize/{label}", proc(20, 15, 77), [IMAGENET, op])
        case(f"point/before-hue/{label}", proc(9, 8, 113), [op, op1("Hue", 0.2), "HorizontalFlip", op1("Saturation", 1.4)])
    case("point/all", big, [posterize(5), "VerticalFlip", permute(2, 0, 1), crop(3, 4, 12, 14), solarize(0.4), "Invert", IMAGENET])
    case("point/1ch-to-3", proc(9, 7, 112, 1), ["Invert", solarize(0.6), permute(1, 2, 0), {"Grayscale": {"channels": 3}}, permute(1, 2, 0)])


def erase(top, left, height, width, *color):
    return {"Erase": {"top": top, "left": left, "height": height, "width": width, "value": {"Color": list(color)}}}


def erase_cases():
    for label, inp in [("proc", proc(13, 9, 120)), ("1ch", proc(9, 7, 121, 1)), ("2x2", proc(2, 2, 122))]:
        w, h = inp["width"], inp["height"]
        for i, (t, l, eh, ew) in enumerate([(0, 0, 1, 1), (h - 1, w - 1, 1, 1), (1, 0, h - 1, w - 1), (0, 0, h, w), (h // 3, w // 4, (h + 1) // 2, w // 2)]):
            case(f"erase/{label}/{i}", inp, [erase(t, l, eh, ew, 0.5, 0.25, 0.75)])
    for value in (0.0, -1.5, 3.0):  # not only colours
        case(f"erase/value/{value}", proc(13, 9, 120), [erase(2, 3, 4, 5, value, value, value)])
    inp, op = proc(20, 15, 123), erase(3, 4, 7, 9, 0.9, 0.1, 0.4)
    case("erase/before-normalize", inp, [op, IMAGENET])
    case("erase/after-normalize", inp, [IMAGENET, op])
    case("erase/before-contrast", inp, [op, op1("Contrast", 1.8), op1("Hue", 0.1)])
    case("erase/between-contrasts", inp, [op1("Contrast", 0.5), op, op1("Contrast", 1.8)])
    case("erase/twice", inp, [op, erase(6, 1, 5, 11, 0.2, 0.2, 0.8), op1("Brightness", 1.2)])
    case("erase/after-resize-flip", proc(64, 48, 60), [resize(15, 20), "HorizontalFlip", op])
    case("erase/after-crop-pad", inp, [crop(2, 3, 10, 12), pad(1, 4, 2, 1, "Reflect"), op])
    for label, after in [("hflip", "HorizontalFlip"), ("vflip", "VerticalFlip"), ("crop", crop(2, 3, 9, 11)), ("resize", resize(9, 31)), ("enlarge", resize(31, 9, "Bicubic")),
                         ("pad", pad(1, 2, 3, 4, "Symmetric")), ("grayscale", {"Grayscale": {"channels": 1}})]:  # fmt: skip
        case(f"erase/then-{label}", inp, [op, after])
    for i, value in enumerate([0, (0.3, 0.6, 0.9), 0, (2.0, -2.0, 0.5)]):
        t = v2.RandomErasing(1.0, value=value)
        torch.manual_seed(5000 + i)
        ops, out = recorded([t], image(inp))
        assert len(ops) == 1
        case(f"erase/drawn/seed-{5000 + i}", inp, ops, out)


def gamma_cases():
    """Gamma with gains. Never on values below 0, of which torch makes NaN."""
    gamma = lambda exponent, gain=1.0: {"AdjustGamma": {"gamma": exponent, "gain": gain}}
    numbers = [(exponent, 1.0) for exponent in (0.0, 0.1, 1 / 2.2, 1.0, 2.2, 30.0)]
    numbers += [(0.5, 1.5), (2.2, 0.5), (1.0, 3.0), (2.0, 0.0), (0.0, 0.25), (1.5, -1.0)]
    images = [("palette", PALETTE), ("proc", proc(19, 13, 130)), ("1x1", proc(1, 1, 131)), ("1ch", proc(9, 7, 132, 1))]
    images += [("ramp", ramp(256, 2))]
    for label, inp in images:
        for exponent, gain in numbers:
            case(f"gamma/{label}/{exponent:.3g}-{gain:.3g}", inp, [gamma(exponent, gain)])
    big = proc(64, 48, 60)
    bright = checker(11, 7, 3, (90, 100, 110), (255, 240, 250))  # bicubic leaves [0, 1] above alone
    for label, op in [("darker", gamma(2.2)), ("gain", gamma(1.7, 1.3))]:
        case(f"gamma/after-bilinear/{label}", big, [resize(15, 20), op])
        case(f"gamma/after-bicubic/{label}", bright, [resize(16, 20, "Bicubic", True), op])
        case(f"gamma/after-erase/{label}", proc(13, 9, 120), [erase(2, 3, 4, 5, 2.0, 0.5, 1.0), op])
        case(f"gamma/before-resize/{label}", big, [op, resize(11, 13)])
        case(f"gamma/before-contrast/{label}", proc(20, 15, 77), [op, op1("Contrast", 1.7)])
        case(f"gamma/after-contrast/{label}", proc(20, 15, 77), [op1("Contrast", 0.6), op])
        padded = [op, pad(1, 2, 3, 1, "Constant", (0.5, 0.25, 0.0)), crop(1, 0, 8, 11)]
        case(f"gamma/before-pad/{label}", proc(9, 8, 113), padded)
        hued = [op, op1("Hue", 0.2), "HorizontalFlip", op1("Saturation", 1.4)]
        case(f"gamma/before-hue/{label}", proc(9, 8, 113), hued)
        case(f"gamma/before-normalize/{label}", big, [crop(5, 6, 20, 25), op, IMAGENET])
    case("gamma/twice", big, [gamma(1 / 2.2), crop(3, 4, 12, 14), gamma(2.2), "Invert", gamma(1.5, 1.2)])
    case("gamma/1ch-to-3", proc(9, 7, 112, 1), [gamma(0.7, 1.1), {"Grayscale": {"channels": 3}}, gamma(1.3)])


# --------------------------------------------------------------------------------------------------------------- tables


def size_rows():
    rows = []
    sides = [(1, 1), (3, 2), (2, 3), (5, 5), (31, 17), (17, 31), (64, 48), (97, 61), (200, 7), (7, 200), (333, 500), (500, 333), (640, 480), (640, 427), (427, 640),
             (1024, 683), (1200, 900), (1920, 1080), (1080, 1920), (4000, 3000), (3024, 4032), (8191, 17), (299, 300), (300, 299), (65535, 65534)]  # fmt: skip
    for w, h in sides:
        for size in (1, 2, 7, 32, 40, 224, 225, 256, 299, 384, 500, 800):
            for max_size in (None, size + 1, size * 4 // 3 + 1, 1333):
                if max_size is not None and max_size <= size:
                    continue
                oh, ow = G._compute_resized_output_size((h, w), [size], max_size)
                if min(oh, ow) > 0 and max(oh, ow) < 1_000_000:
                    rows.append(dict(w=w, h=h, size=size, max_size=max_size, out_h=oh, out_w=ow))
    return rows


def table_rows():
    t = {}
    t["resize_size_none"] = [
        dict(w=w, h=h, max_size=m, out_h=o[0], out_w=o[1])
        for w, h in [(64, 48), (48, 64), (5, 5), (200, 7), (333, 500), (1200, 900), (17, 31)]
        for m in (1, 13, 32, 224, 500)
        for o in [G._compute_resized_output_size((h, w), None, m)]
    ]  # a zero side is what torchvision computes; its resize then fails
    t["resize_zero_side"] = [
        dict(w=w, h=h, size=s, max_size=m, out_h=o[0], out_w=o[1])
        for w, h, s, m in [(200, 1, 7, 32), (1, 200, 7, 32), (2000, 7, 32, 224), (8191, 17, 40, 224)]
        for o in [G._compute_resized_output_size((h, w), [s], m)]
    ]
    rows = []
    for w, h in [(13, 9), (12, 8), (3, 2), (1, 1), (200, 7), (8, 21), (33, 34), (35, 36), (256, 341), (40, 53)]:
        for ch, cw in [(8, 8), (7, 7), (9, 10), (1, 1), (32, 32), (224, 224), (35, 33), (6, 3)]:
            ops = center_crop_ops(w, h, ch, cw)
            p = ops[0]["Pad"] if "Pad" in ops[0] else dict(left=0, top=0, right=0, bottom=0)
            rows.append(dict(w=w, h=h, crop_h=ch, crop_w=cw, pad=[p["left"], p["top"], p["right"], p["bottom"]], top=ops[-1]["Crop"]["top"], left=ops[-1]["Crop"]["left"]))
    t["center_crop"] = rows  # pad = [left, top, right, bottom]; top, left are in the padded image

    # RandomResizedCrop where no draw can fit: torch.randint, which only an accepted draw calls, must not be called.
    rows, real = [], torch.randint

    def forbidden(*a, **k):
        raise AssertionError("a draw was accepted")

    torch.randint = forbidden
    try:
        for w, h in [(64, 48), (48, 64), (50, 50), (200, 7), (7, 200), (31, 17), (1, 9), (9, 1), (1200, 900), (333, 500)]:
            for ratio in [(3 / 4, 4 / 3), (0.9, 1.1), (1.0, 1.0), (2.0, 3.0), (0.3, 0.4), (0.5, 2.0), (1.5, 1.5)]:
                torch.manual_seed(5)
                p = v2.RandomResizedCrop(32, scale=(4.0, 9.0), ratio=ratio).make_params([torch.empty(3, h, w)])
                rows.append(dict(w=w, h=h, ratio=list(ratio), top=p["top"], left=p["left"], height=p["height"], width=p["width"]))
        t["rrc_fallback"] = rows
        # The fallback formula can give a zero side; torchvision then fails in the resize.
        t["rrc_fallback_zero_side"] = [
            dict(w=w, h=h, ratio=list(ratio), top=p["top"], left=p["left"], height=p["height"], width=p["width"])
            for w, h, ratio in [(1, 9, (20.0, 30.0)), (9, 1, (0.03, 0.04))]
            for p in [v2.RandomResizedCrop(32, scale=(4.0, 9.0), ratio=ratio).make_params([torch.empty(3, h, w)])]
        ]
    finally:
        torch.randint = real

    rows = []
    for w, h in [(9, 21), (32, 32), (31, 33), (5, 5), (40, 10)]:
        for size in [(16, 16), (32, 32), (33, 8)]:
            for padding in (None, 0, 4, [1, 2], [1, 2, 3, 4]):
                torch.manual_seed(6)
                p = v2.RandomCrop(size, padding=padding, pad_if_needed=True).make_params([torch.empty(3, h, w)])
                l, tp, r, b = p["padding"]
                pw, ph = w + l + r, h + tp + b
                rows.append(dict(w=w, h=h, size_h=size[0], size_w=size[1], padding=padding, pad=p["padding"], padded_h=ph, padded_w=pw,
                                 max_top=ph - size[0], max_left=pw - size[1], needs_pad=p["needs_pad"]))  # fmt: skip
    t["random_crop_pad_if_needed"] = rows  # pad = [left, top, right, bottom]; top is drawn from 0..=max_top, left likewise

    t["pad_argument"] = []  # pad = [left, top, right, bottom]
    for a in (3, [3], [1, 2], [1, 2, 3, 4]):
        l, r, tp, b = G._parse_pad_padding(a)
        t["pad_argument"].append(dict(padding=a, pad=[l, tp, r, b]))
    t["color_jitter_argument"] = []  # the stored range, null: the op is skipped and nothing is drawn for it
    for v in (None, 0, 0.0, 0.4, 1, 1.5, [0.5, 0.5], [1.0, 1.0], [0.2, 1.7]):
        j = v2.ColorJitter(brightness=v)
        t["color_jitter_argument"].append(dict(op="brightness", value=v, range=j.brightness))
    for v in (None, 0, 0.1, 0.5, [0.0, 0.0], [0.25, 0.25], [-0.5, 0.5], [-0.3, -0.1]):
        t["color_jitter_argument"].append(dict(op="hue", value=v, range=v2.ColorJitter(hue=v).hue))
    return t


# ----------------------------------------------------------------------------------------------------------------- main


def rows_json(rows):
    return "[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]"


def main():
    check = "--check" in sys.argv[1:]
    for make in (resize_cases, geometry_cases, color_cases, jitter_cases, recipe_cases, point_cases, erase_cases,
                 gamma_cases):  # fmt: skip
        make()
    assert len({c["name"] for c in CASES}) == len(CASES), "names must be unique"
    header = dict(
        versions=dict(torch=torch.__version__, torchvision=torchvision.__version__, numpy=np.__version__, cpu=torch.backends.cpu.get_cpu_capability()),
        formula=FORMULA, kinds=KINDS, vectors="vectors.bin", layout="little-endian f32, CHW; offset in bytes",
    )  # fmt: skip
    text = json.dumps(header, indent=1)[:-2] + ',\n "cases": ' + rows_json(CASES) + "\n}\n"
    blob = b"".join(BLOB)
    tables = table_rows()
    outputs = {
        "cases.json": text,
        "sizes.json": rows_json(size_rows()) + "\n",
        "tables.json": "{\n" + ",\n".join(f"{json.dumps(k)}: {rows_json(v)}" for k, v in tables.items()) + "\n}\n",
    }
    operators.main(check)
    targets.main(check)
    if check:
        old = np.frombuffer(open(os.path.join(HERE, "vectors.bin"), "rb").read(), "<f4")
        new = np.frombuffer(blob, "<f4")
        assert old.size == new.size, (old.size, new.size)
        print("vectors.bin: largest difference", np.abs(old - new).max())
        assert np.abs(old - new).max() <= 2e-6
        for name in ("sizes.json", "tables.json"):
            assert open(os.path.join(HERE, name)).read() == outputs[name], name
        for a, b in zip(json.load(open(os.path.join(HERE, "cases.json")))["cases"], CASES, strict=True):
            assert all(a[k] == json.loads(json.dumps(b[k])) for k in ("name", "input", "ops", "output", "tolerance")), b["name"]
        print("check passed:", len(CASES), "cases")
        return
    for name, body in outputs.items():
        with open(os.path.join(HERE, name), "w") as f:
            f.write(body)
    with open(os.path.join(HERE, "vectors.bin"), "wb") as f:
        f.write(blob)
    reread()


def reread():
    """Reads the files back, applies the ops once more from the descriptions alone, and compares to the bit."""
    data = open(os.path.join(HERE, "vectors.bin"), "rb").read()
    cases = json.load(open(os.path.join(HERE, "cases.json")))["cases"]
    end = 0
    for c in cases:
        shape, offset = c["output"]["shape"], c["output"]["offset"]
        assert offset == end, c["name"]
        end = offset + 4 * int(np.prod(shape))
        got = np.frombuffer(data[offset:end], "<f4").reshape(shape)
        want = apply(image(c["input"]), c["ops"]).numpy()
        assert got.shape == want.shape and np.array_equal(got, want), c["name"]
    assert end == len(data)
    print(f"{len(cases)} cases, {len(data)} bytes of vectors: re-read and equal")


if __name__ == "__main__":
    main()
