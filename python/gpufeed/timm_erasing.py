"""timm's ``RandomErasing``: its rectangles, their values, and how many there are."""

from __future__ import annotations

import math
from typing import Any

from gpufeed.operators import Operator

# What is written, by timm's name of the mode.
_VALUES = {"": 0.0, "const": 0.0, "rand": "random_color", "pixel": "random"}


def random_erasing(transform: Any) -> Operator:
    # timm stores logarithms. 12 digits leave out their rounding.
    ratio = [float(f"{math.exp(bound):.12g}") for bound in transform.log_aspect_ratio]
    made: Operator = {"type": "RandomErasing", "p": float(transform.probability)}
    made |= {"scale": [float(transform.min_area), float(transform.max_area)], "ratio": ratio}
    made["value"] = _VALUES[transform.mode]
    # num_splits spares the first part of a batch, and so nothing in a list, which gets single images.
    count = [int(transform.min_count), int(transform.max_count)]
    return made if count == [1, 1] else made | {"count": count}
