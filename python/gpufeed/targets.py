"""The boxes and keypoints of a batch as detectors take them: a dictionary of tensors for each image."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

from gpufeed import arguments
from gpufeed.sample_objects import BOXES, KEYPOINTS, Left, Lefts

FORMS = ("per_image", "flat")

# What says to which image an object belongs, in the flat form.
_OF_BATCH = ("image", "offsets")


class Here:
    """Stands for the targets of a batch in its form."""


def is_flat(name: str, value: Any) -> bool:
    """Checks the form of the targets."""
    return arguments.word(name, value, FORMS) == "flat"


def stand_in(value: Any) -> bool:
    """True for what stands for the targets in a batch's form."""
    return isinstance(value, (Here, Lefts))


class PerImage:
    """Cuts the flat tensors of a batch's objects into those of each image. It does not hold the batch."""

    def __init__(self, batch: Any) -> None:
        _, self._format, self._sizes, self._ids = batch._object_field

    def rows(self, flat: dict[str, Any], lefts: list[Left] | None = None) -> list[dict[Any, Any]]:
        """Returns the targets of each image: the objects with the id of the sample, or, of samples of an object in Python, with what stands
        beside them in the target that it gave."""
        ends = flat["offsets"].tolist()
        rows = []
        for number, (image_id, size, begin, end) in enumerate(zip(self._ids, self._sizes, ends, ends[1:])):
            row = {name: values[begin:end] for name, values in flat.items() if name not in _OF_BATCH}
            classes = _of_torchvision()
            if classes is not None and BOXES in row:
                row[BOXES] = classes[0](row[BOXES], format=self._format, canvas_size=size)
            if lefts is None:
                rows.append({"image_id": image_id, **row})
            else:
                # A sample whose target is of its images has several of them.
                rows.append(self._like(row, lefts[number * len(lefts) // len(self._ids)], size))
        return rows

    def _like(self, row: dict[str, Any], left: Left, size: tuple[int, int]) -> dict[Any, Any]:
        """Returns the target of an image with the keys of the one that was given."""
        made = {}
        for key in left.keys:
            if key in left.values:
                made[key] = left.values[key]
            elif key == KEYPOINTS:
                made[key] = self._points(row[key], left.kinds[key], size)
            else:
                # An image without objects, in a batch of such, has no values.
                made[key] = row[key] if key in row else row[BOXES].new_zeros(0)
        return made

    def _points(self, points: Any, kind: str, size: tuple[int, int]) -> Any:
        if kind == "xyv":
            return points
        places = points[..., 0, :2] if kind == "tv1" else points[..., :2]
        classes = _of_torchvision()
        return places if kind == "xy" or classes is None else classes[1](places, canvas_size=size)


def flat_with(flat: dict[str, Any], lefts: list[Left] | None) -> dict[Any, Any]:
    """Returns the flat tensors of a batch's objects, with what the targets of samples of an object in Python have beside them."""
    if not lefts:
        return flat
    from gpufeed.collate import collate

    shared = [key for key in lefts[0].values if all(key in left.values for left in lefts)]
    return flat | {key: collate([left.values[key] for left in lefts]) for key in shared if key not in flat}


@cache
def _of_torchvision() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Returns torchvision's classes of boxes and keypoints."""
    if importlib.util.find_spec("torchvision") is None:
        return None
    from torchvision import tv_tensors

    return tv_tensors.BoundingBoxes, getattr(tv_tensors, "KeyPoints", lambda places, canvas_size: places)
