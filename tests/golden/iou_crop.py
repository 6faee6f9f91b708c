#!/usr/bin/env python3
"""Writes iou_crop.json: what torchvision's RandomIoUCrop does to boxes, and histograms of its draws.

    python tests/golden/iou_crop.py        needs torch and torchvision; about two minutes
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

# Height and width, and boxes as XYXY.
CANVAS = (60, 80)
BOXES = [[3.5, 26.5, 25.5, 37.0], [22.0, 7.25, 47.0, 10.0], [15.0, 38.5, 32.0, 55.5], [44.5, 2.25, 53.0, 19.25], [58.0, 32.0, 80.0, 44.0]]
DRAWS = 20_000
BINS = 8
CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "narrow": {"min_scale": 0.4, "max_scale": 0.8, "min_aspect_ratio": 0.75, "max_aspect_ratio": 1.5, "sampler_options": [0.25, 1.0]},
}


def boxes(format: str) -> tv_tensors.BoundingBoxes:
    made = tv_tensors.BoundingBoxes(torch.tensor(BOXES), format="XYXY", canvas_size=CANVAS)
    return F.convert_bounding_box_format(made, new_format=format)


def rows() -> list[dict[str, Any]]:
    """A crop of RandomIoUCrop with each format of boxes: its rectangle, and the boxes after it."""
    found = []
    for number, format in enumerate(["XYXY", "XYWH", "CXCYWH"] * 4):
        torch.manual_seed(number)
        transform, given = v2.RandomIoUCrop(), boxes(format)
        while not (params := transform.make_params([tv_tensors.Image(torch.zeros(3, *CANVAS)), given])):
            pass
        out = transform.transform(given, params)
        rectangle = {name: int(params[name]) for name in ("left", "top", "width", "height")}
        found.append({"format": format.lower(), "boxes": given.tolist(), **rectangle, "out": out.tolist()})
    return found


def histogram(values: list[float], greatest: float) -> list[int]:
    counts = [0] * BINS
    for value in values:
        counts[min(int(value / greatest * BINS), BINS - 1)] += 1
    return counts


def draws(arguments: dict[str, Any]) -> dict[str, Any]:
    torch.manual_seed(7)
    transform = v2.RandomIoUCrop(**arguments)
    inputs = [tv_tensors.Image(torch.zeros(3, *CANVAS)), boxes("XYXY")]
    made = [params for params in (transform.make_params(inputs) for _ in range(DRAWS)) if params]
    sides = {"left": CANVAS[1], "top": CANVAS[0], "width": CANVAS[1], "height": CANVAS[0]}
    counts = {name: histogram([params[name] for params in made], side) for name, side in sides.items()}
    return {"arguments": arguments, "cropped": len(made), "counts": counts}


def main() -> None:
    versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
    table = {"versions": versions, "canvas_size": CANVAS, "boxes": BOXES, "draws": DRAWS, "rows": rows()}
    table["cases"] = {name: draws(arguments) for name, arguments in CASES.items()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
