#!/usr/bin/env python3
"""Selects a part of torchvision's vectors for the operators of issue 17, so that a clone tests all of them.

    python3 tests/golden/select_transforms.py FOLDER     FOLDER has manifest.json, inputs.bin, vectors.bin, tables.json

Rewrites transforms.json, transforms.bin and transforms_tables.json beside this script. Needs Python alone.

Takes, for each operator and each semantics, SIX cases where there are as many, and one of each variant (interpolation,
antialias, with a fill or without, channels, quality): those with the fewest bytes first, if possible at most two of one
image and at most two of images below 100 values. Operators in floats that cases.json has are left out. A policy's
operations count one by one. Of a large output only some rows are kept
(`rows` is their distance).
"""
import json
import math
import os
import sys
from collections import Counter

SIX = 6
BYTES = {"f32": 4, "u8": 1}
# Bytes of an output that are kept.
MOST = 2500
# Images too large for a clone.
LARGE = {"square", "big"}
# Operators that cases.json has in floats.
IN_FLOATS = {"adjust_" + name for name in ("brightness", "contrast", "gamma", "hue", "saturation")} | {
    "erase", "horizontal_flip", "normalize", "permute_channels", "resized_crop", "rgb_to_grayscale"}
HERE = os.path.dirname(os.path.abspath(__file__))


def operators(case):
    """The operators that a case counts for, and the variants of each."""
    for name, arguments in case["ops"]:
        if case["dtype"] == "u8" or name not in IN_FLOATS:
            operator = (arguments.get("id", name), case["dtype"])
            has_fill = arguments.get("fill") is not None
            channels = case["output"]["shape"][-3]
            if name == "jpeg":
                yield operator, (*operator, arguments["quality"])
            elif name == "policy":
                yield operator, operator
            else:
                how = arguments.get("interpolation"), arguments.get("antialias")
                yield operator, (*operator, *how, has_fill, channels)
        if case.get("fused"):
            yield operator, (*operator, "fused")


def arrays(case):
    """The references to vectors in a case's arguments."""
    return [v for _, arguments in case["ops"] for v in arguments.values() if isinstance(v, dict)]


def row_distance(case):
    return math.ceil(math.prod(case["output"]["shape"]) * BYTES[case["output"]["dtype"]] / MOST)


def selected(cases):
    """Returns which cases are taken, by their numbers, and how many there are of each operator."""
    values = lambda case: math.prod(case["output"]["shape"])
    size = lambda case: values(case) + sum(4 * math.prod(a["shape"]) for a in arrays(case))
    taken, counts, variants, images = set(), Counter(), Counter(), Counter()
    order = sorted((i for i, case in enumerate(cases) if case["input"] not in LARGE), key=lambda i: (size(cases[i]), i))
    # First two of each image; then more of the same, where operators have too few.
    for i, limit in [(i, 2) for i in order] + [(i, SIX) for i in order]:
        case, wanted = cases[i], False
        # An image counts for itself, the tiny ones count together.
        image = "tiny" if values(case) < 100 else case["input"]
        found = set(operators(case))
        for operator, variant in found:
            wanted |= counts[operator] < SIX and images[operator, image] < limit
            wanted |= variants[variant] < 1 and image != "tiny"
        if wanted and i not in taken:
            taken.add(i)
            counts.update({operator for operator, _ in found})
            images.update({(operator, image) for operator, _ in found})
            variants.update({variant for _, variant in found})
    return sorted(taken), counts


def kept_rows(data, shape, step, width):
    """Returns every step-th row of planes of `shape`, whose rows have `width` bytes."""
    planes, height = math.prod(shape[:-2]), shape[-2]
    rows = [data[(p * height + y) * width:][:width] for p in range(planes) for y in range(0, height, step)]
    return b"".join(rows)


def main(folder):
    read = lambda name: open(os.path.join(folder, name), "rb").read()
    manifest, inputs, vectors = json.loads(read("manifest.json")), read("inputs.bin"), read("vectors.bin")
    out, stored = bytearray(), {}

    def store(data):
        data = bytes(data)
        if data in stored:
            return stored[data]
        at = len(out)
        out.extend(data)
        out.extend(b"\0" * (-len(out) % 4))
        stored[data] = at
        return at

    taken, counts = selected(manifest["cases"])
    cases, images = [], []
    for i in taken:
        case = manifest["cases"][i]
        shape, dtype = case["output"]["shape"], case["output"]["dtype"]
        step, width = row_distance(case), shape[-1] * BYTES[dtype]
        whole = vectors[case["output"]["offset"]:][:math.prod(shape) * BYTES[dtype]]
        new = {key: case[key] for key in ("name", "group", "dtype", "input", "ops")}
        new["output"] = {"offset": store(kept_rows(whole, shape, step, width)), "shape": shape, "dtype": dtype}
        if step > 1:
            new["rows"] = step
        if "unsure" in case:
            packed = vectors[case["unsure"]["offset"]:][:(math.prod(shape) + 7) // 8]
            bits = bytes(byte >> (7 - bit) & 1 for byte in packed for bit in range(8))
            bits = kept_rows(bits, shape, step, shape[-1])
            bits += b"\0" * (-len(bits) % 8)
            eights = (bits[k:k + 8] for k in range(0, len(bits), 8))
            new["unsure"] = {"offset": store(bytes(int("".join(map(str, eight)), 2) for eight in eights))}
        if "fused" in case:
            new["fused"] = case["fused"]
        for array in arrays(new):
            array["offset"] = store(vectors[array["offset"]:][:4 * math.prod(array["shape"])])
        cases.append(new)
    for image in manifest["inputs"]:
        if any(case["input"] == image["name"] for case in cases):
            planes = inputs[image["offset"]:][:math.prod(image["shape"])]
            images.append(dict(image, offset=store(planes)))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    head = json.dumps({"versions": manifest["versions"], "inputs": images}, separators=(",", ":"))
    text = f'{head[:-1]},"cases":[\n{lines}\n]}}\n'
    tables = json.loads(read("tables.json"))
    tables = {key: tables[key] for key in ("magnitudes", "expand", "perspective", "blur_kernel")}
    tables = "{\n" + ",\n".join(f'"{k}":{json.dumps(v, separators=(",", ":"))}' for k, v in tables.items()) + "\n}\n"
    files = {"transforms.json": text.encode(), "transforms.bin": out, "transforms_tables.json": tables.encode()}
    for name, data in files.items():
        with open(os.path.join(HERE, name), "wb") as file:
            file.write(data)
        print(name, len(data))
    print(len(cases), "cases;", {n: c for n, c in sorted(counts.items()) if c < SIX})


main(sys.argv[1])
