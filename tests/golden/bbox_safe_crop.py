#!/usr/bin/env python3
"""Writes bbox_safe_crop.json: histograms of the draws of Albumentations' BBoxSafeRandomCrop.

    python tests/golden/bbox_safe_crop.py        needs albumentations; a minute
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import albumentations
import numpy

# Height and width, and boxes as XYXY.
CANVAS = (60, 80)
BOXES = [[13.0, 26.0, 25.0, 37.0], [22.0, 17.0, 47.0, 20.0], [35.0, 28.0, 52.0, 45.0]]
DRAWS = 20_000
BINS = 10
CASES: dict[str, dict[str, Any]] = {
    "all boxes": {"erosion_rate": 0.0, "boxes": BOXES},
    "eroded": {"erosion_rate": 0.4, "boxes": BOXES},
    "one box, which is not eroded": {"erosion_rate": 0.4, "boxes": BOXES[2:]},
    "a box at the edges": {"erosion_rate": 0.0, "boxes": [[0.0, 12.0, 80.0, 60.0]]},
    "no boxes": {"erosion_rate": 0.5, "boxes": []},
    "no boxes, no erosion": {"erosion_rate": 0.0, "boxes": []},
    "eroded away": {"erosion_rate": 1.0, "boxes": BOXES},
}


def histograms(erosion_rate: float, boxes: list[list[float]]) -> dict[str, list[int]]:
    transform = albumentations.BBoxSafeRandomCrop(erosion_rate=erosion_rate)
    transform.set_random_seed(7)
    height, width = CANVAS
    given = numpy.array(boxes, dtype=numpy.float32).reshape(-1, 4) / numpy.array([width, height] * 2, dtype=numpy.float32)
    counts = {name: [0] * BINS for name in ("left", "top", "right", "bottom", "width", "height")}
    for _ in range(DRAWS):
        left, top, right, bottom = transform.get_params_dependent_on_data({"shape": CANVAS}, {"bboxes": given})["crop_coords"]
        values = {"left": left, "top": top, "right": right, "bottom": bottom, "width": right - left, "height": bottom - top}
        for name, value in values.items():
            side = height if name in ("top", "bottom", "height") else width
            # A side of 0, for which Albumentations raises, is 1 in gpufeed.
            counts[name][min(BINS * max(value, int(name in ("width", "height"))) // (side + 1), BINS - 1)] += 1
    return counts


def main() -> None:
    table: dict[str, Any] = {"albumentations": albumentations.__version__, "canvas_size": CANVAS, "draws": DRAWS}
    table["cases"] = {name: case | {"counts": histograms(**case)} for name, case in CASES.items()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
