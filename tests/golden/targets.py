#!/usr/bin/env python3
"""What torchvision makes of boxes and keypoints: the rows of `targets.json`, which `src/targets/tests.rs` reads.

    v/bin/python tests/golden/targets.py             # rewrites targets.json; `generate.py` does so too
    v/bin/python tests/golden/targets.py --check     # makes it in memory and compares

`generate.py` says how `v` is made. A row has a function of `torchvision.transforms.v2.functional`, its arguments, the size of the
image before and after it as [height, width], the boxes or points, and what comes out; of a displacement, the field itself.
"""
import json
import os
import sys

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.json")
HEIGHT, WIDTH = 13, 17
# Corners, of numbers that are rounded in f32; the last four reach out of the image, or have no area.
BOXES = [[1.3, 2.6, 7.7, 9.1], [4.1, 0.3, 16.6, 12.7], [0.0, 0.0, 17.0, 13.0], [-2.3, 3.1, 5.7, 15.2], [12.3, 8.1, 21.4, 12.6], [0.3, 1.1, 23.9, 18.7], [6.1, 6.0, 6.1, 9.0]]
POINTS = [[0.0, 0.0], [16.0, 12.0], [3.3, 7.6], [11.7, 1.4], [17.0, 13.0], [8.6, 6.2]]
START = [[0, 0], [16, 0], [16, 12], [0, 12]]
CALLS = [
    ("horizontal_flip", {}),
    ("vertical_flip", {}),
    ("resize", {"size": [9, 23]}),
    ("resize", {"size": [7]}),
    ("resize", {"size": [20], "max_size": 22}),
    ("crop", {"top": 2, "left": 3, "height": 8, "width": 11}),
    ("crop", {"top": -3, "left": -2, "height": 12, "width": 10}),
    ("center_crop", {"output_size": [6, 9]}),
    ("center_crop", {"output_size": [18, 20]}),
    ("resized_crop", {"top": 1, "left": 2, "height": 9, "width": 12, "size": [15, 8]}),
    ("pad", {"padding": [3, 1, 2, 4]}),
    ("affine", {"angle": 21.5, "translate": [2, -1], "scale": 1.2, "shear": [7.0, -11.0], "center": None}),
    ("affine", {"angle": -64.0, "translate": [0, 3], "scale": 0.7, "shear": [0.0, 13.0], "center": [4.0, 6.0]}),
    ("rotate", {"angle": 33.0, "expand": False, "center": None}),
    ("rotate", {"angle": -118.5, "expand": False, "center": [3.0, 9.0]}),
    ("rotate", {"angle": 52.0, "expand": True, "center": None}),
    ("rotate", {"angle": 90.0, "expand": True, "center": None}),
    ("perspective", {"startpoints": START, "endpoints": [[2, 1], [14, 3], [15, 12], [1, 10]]}),
]


def number(value):
    return round(value, 6) if isinstance(value, float) else value


def rows_of(value):
    return [[number(each) for each in row] for row in value.tolist()]


def boxes_rows():
    rows = []
    for form in ("XYXY", "XYWH", "CXCYWH"):
        for dtype in (torch.float32, torch.int64):
            plain = tv_tensors.BoundingBoxes(torch.tensor(BOXES), format="XYXY", canvas_size=(HEIGHT, WIDTH))
            of_format = F.convert_bounding_box_format(plain, new_format=form).to(dtype)
            for mode in ("soft", None):
                boxes = tv_tensors.BoundingBoxes(of_format, format=form, canvas_size=(HEIGHT, WIDTH), clamping_mode=mode)
                facts = {"format": form, "dtype": str(dtype).removeprefix("torch."), "clamping_mode": mode, "canvas_size": [HEIGHT, WIDTH]}
                given = rows_of(boxes)
                calls = CALLS if mode else CALLS[5:]
                for name, arguments in calls:
                    out = getattr(F, name)(boxes, **arguments)
                    rows.append({"op": name, "args": arguments, **facts, "boxes": given, "out": rows_of(out), "out_canvas_size": list(out.canvas_size)})
                field = displacement()
                out = F.elastic(boxes, displacement=field)
                rows.append({"op": "elastic", "args": {"field": "field"}, **facts, "boxes": given, "out": rows_of(out), "out_canvas_size": [HEIGHT, WIDTH]})
                if mode:
                    out = v2.ClampBoundingBoxes()(boxes)
                    rows.append({"op": "clamp", "args": {}, **facts, "boxes": given, "out": rows_of(out), "out_canvas_size": [HEIGHT, WIDTH]})
                    for other in {"XYXY", "XYWH", "CXCYWH"} - {form}:
                        out = F.convert_bounding_box_format(boxes, new_format=other)
                        rows.append({"op": "convert", "args": {"new_format": other}, **facts, "boxes": given, "out": rows_of(out), "out_canvas_size": [HEIGHT, WIDTH]})
    return sorted(rows, key=json.dumps)


def displacement():
    """A field as `ElasticTransform` makes them: shares of half of the image."""
    generator = torch.Generator().manual_seed(7)
    return (torch.rand(1, HEIGHT, WIDTH, 2, generator=generator) * 2 - 1) * 0.15


def keypoint_rows():
    rows = []
    for dtype in (torch.float32, torch.int64):
        points = tv_tensors.KeyPoints(torch.tensor(POINTS).to(dtype), canvas_size=(HEIGHT, WIDTH))
        facts = {"dtype": str(dtype).removeprefix("torch."), "canvas_size": [HEIGHT, WIDTH]}
        given = rows_of(points)
        calls = [*CALLS, ("elastic", {"field": "field"}), ("clamp", {}), ("sanitize", {})]
        for name, arguments in calls:
            if name == "elastic":
                out = F.elastic(points, displacement=displacement())
            elif name == "sanitize":
                _, valid = F.sanitize_keypoints(points)
                rows.append({"op": name, "args": {}, **facts, "points": given, "valid": valid.tolist()})
                continue
            elif name == "clamp":
                out = v2.ClampKeyPoints()(points)
            else:
                out = getattr(F, name)(points, **arguments)
            rows.append({"op": name, "args": arguments, **facts, "points": given, "out": rows_of(out), "out_canvas_size": list(out.canvas_size)})
    return rows


def sanitize_rows():
    rows = []
    for form in ("XYXY", "XYWH", "CXCYWH"):
        for least, area in ((1.0, 1.0), (5.0, 1.0), (1.0, 60.0)):
            plain = tv_tensors.BoundingBoxes(torch.tensor(BOXES), format="XYXY", canvas_size=(HEIGHT, WIDTH))
            boxes = F.convert_bounding_box_format(plain, new_format=form)
            whole, cut = F.to_dtype(boxes.as_subclass(torch.Tensor), torch.int64), F.clamp_bounding_boxes(boxes)
            for given in (boxes, tv_tensors.wrap(whole, like=boxes), cut, F.horizontal_flip(cut), F.vertical_flip(cut)):
                _, valid = F.sanitize_bounding_boxes(given, min_size=least, min_area=area)
                rows.append({"format": form, "dtype": str(given.dtype).removeprefix("torch."), "canvas_size": [HEIGHT, WIDTH], "min_size": least,
                             "min_area": area, "boxes": given.tolist(), "valid": valid.tolist()})  # fmt: skip
    return rows


def same(old, new):
    """True for equal rows whose floats may be 1e-5 apart, and whose whole numbers in `out` one."""
    if not isinstance(old, dict):
        return abs(old - new) <= 1e-5
    bar = 1e-5 if old["dtype"] == "float32" else 1
    flat = lambda row: [value for each in row.get("out", []) for value in each]
    near = all(abs(a - b) <= bar for a, b in zip(flat(old), flat(new), strict=True))
    return near and {**old, "out": 0} == {**new, "out": 0}


def main(check):
    field = [number(each) for each in displacement().flatten().tolist()]
    made = {"boxes": boxes_rows(), "keypoints": keypoint_rows(), "sanitize": sanitize_rows(), "field": field}
    parts = [f'"{name}":[\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]" for name, rows in made.items() if name != "field"]
    text = "{" + ",\n".join([*parts, f'"field":{json.dumps(field)}']) + "}\n"
    if check:
        # Another CPU may move last bits, and with them a whole number.
        for name, rows in json.load(open(PATH)).items():
            for old, new in zip(rows, json.loads(text)[name], strict=True):
                assert same(old, new), (old, new)
        print("targets.json is what torchvision makes")
        return
    with open(PATH, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
