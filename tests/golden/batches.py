#!/usr/bin/env python3
"""What torchvision's MixUp and CutMix make of batches, and what they draw: a part of a larger set of vectors.

Run: python3 tests/golden/batches.py FOLDER

FOLDER has `manifest.json` (key `batches`), `vectors.bin` and `draws.json`, made with torch 2.15.0 and torchvision 0.29.2.
`batches.json` gets rows 11 and 12, columns 10 to 12 of each of the five images: both transforms work pixel by pixel, and the
boxes are moved with the window. Draws are copied: quantiles of 20,000 draws for images of 200x150 pixels.
"""
import json
import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP, LEFT, ROWS, COLUMNS = 11, 10, 2, 3


def shortest(value):
    """The f32 `value` with as few digits as give it back."""
    bits = lambda number: struct.pack("<f", number)
    return next(short for short in (float(f"{value:.{digits}g}") for digits in range(1, 18)) if bits(short) == bits(value))


def main(folder):
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    draws = json.load(open(os.path.join(folder, "draws.json")))
    vectors = open(os.path.join(folder, "vectors.bin"), "rb").read()

    def read(place):
        count = math.prod(place["shape"])
        if place["dtype"] == "u8":
            return list(vectors[place["offset"]:place["offset"] + count])
        return [shortest(value) for value in struct.unpack_from(f"<{count}f", vectors, place["offset"])]

    def window(place):
        images, channels, height, width = place["shape"]
        values = read(place)
        rows = [values[(plane * height + y) * width:][:width] for plane in range(images * channels) for y in range(TOP, TOP + ROWS)]
        return [value for row in rows for value in row[LEFT:LEFT + COLUMNS]]

    inputs, cases = {}, []
    for batch in manifest["batches"]:
        if not isinstance(batch["labels"], list):
            continue
        dtype = batch["images"]["dtype"]
        inputs[dtype] = window(batch["images"])
        case = dict(kind=batch["kind"], lam=batch.get("lam", batch.get("lam_adjusted")), dtype=dtype, labels=batch["labels"],
                    num_classes=batch["num_classes"], output=window(batch["output"]), soft=read(batch["soft"]))
        if "box" in batch:
            clip = lambda value, most: min(max(value, 0), most)
            x1, y1, x2, y2 = batch["box"]
            case["box"] = [clip(x1 - LEFT, COLUMNS), clip(y1 - TOP, ROWS), clip(x2 - LEFT, COLUMNS), clip(y2 - TOP, ROWS)]
        cases.append(json.dumps(case))
    kept = [json.dumps(case) for case in draws["draws"] if case["cls"] in ("MixUp", "CutMix")]
    head = json.dumps(dict(versions=manifest["versions"], shape=[5, 3, ROWS, COLUMNS], images=inputs, quantiles=draws["quantiles"]))
    with open(os.path.join(HERE, "batches.json"), "w") as file:
        file.write(head[:-1] + ', "cases": [\n' + ",\n".join(cases) + '\n], "draws": [\n' + ",\n".join(kept) + "\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1])
