"""The boxes and keypoints of a batch as detectors take them: a dictionary of tensors for each image."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

from gpufeed import arguments

FORMS = ("per_image", "flat")

# What says to which image an object belongs, in the flat form.
_OF_BATCH = ("image", "offsets")


def is_flat(name: str, value: Any) -> bool:
    """Checks the form of the targets."""
    return arguments.word(name, value, FORMS) == "flat"


class PerImage:
    """Cuts the flat tensors of a batch's objects into those of each image. It does not hold the batch."""

    def __init__(self, batch: Any) -> None:
        self._field, self._format, self._sizes, self._ids = batch._object_field

    def __call__(self, content: dict[str, Any]) -> dict[str, Any]:
        flat = content[self._field]
        ends = flat["offsets"].tolist()
        wrap = _boxes_of_torchvision()
        rows = []
        for image_id, size, begin, end in zip(self._ids, self._sizes, ends, ends[1:]):
            row = {name: values[begin:end] for name, values in flat.items() if name not in _OF_BATCH}
            if wrap is not None and "boxes" in row:
                row["boxes"] = wrap(row["boxes"], format=self._format, canvas_size=size)
            rows.append({"image_id": image_id, **row})
        return {**content, self._field: rows}


@cache
def _boxes_of_torchvision() -> Callable[..., Any] | None:
    if importlib.util.find_spec("torchvision") is None:
        return None
    from torchvision.tv_tensors import BoundingBoxes

    return BoundingBoxes  # type: ignore[no-any-return]
