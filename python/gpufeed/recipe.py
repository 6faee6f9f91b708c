"""Makes the recipe of a loader: the transforms for the native module, and the one that the device does."""

from __future__ import annotations

import json
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError
from gpufeed.failures import warn_once_outside


def recipe_of(transforms: Any, recipe: Any, batch_transforms: Any) -> tuple[dict[str, Any], tuple[str, ...], int | None]:
    """Returns a recipe's content, notes for explain(), and the number of classes that a batch transform names."""
    if (transforms is None) == (recipe is None):
        raise ArgumentError("transforms: give either transforms=, torchvision's, or recipe=, a name, a file or a dictionary")
    notes: tuple[str, ...] = ()
    classes = None
    if transforms is not None:
        from gpufeed.torchvision import convert

        converted = convert(transforms, batch_transforms)
        _warn_of_two(converted.normalized)
        return dict(converted.recipe), converted.notes, converted.num_classes
    text = json.dumps(recipe) if isinstance(recipe, dict) else arguments.path("recipe", recipe)
    content = json.loads(_gpufeed.recipe_content(text))
    _warn_of_two(_gpufeed.normalized_twice(text) or ())
    if batch_transforms is not None:
        if content.get("batch_transform"):
            raise ArgumentError("batch_transforms: the recipe has a batch_transform of its own; give one of the two")
        from gpufeed.torchvision import convert

        converted = convert([], batch_transforms)
        content["batch_transform"] = converted.recipe["batch_transform"]
        classes = converted.num_classes
    return content, notes, classes


def _warn_of_two(places: tuple[str, ...]) -> None:
    if len(places) > 1:
        warn_once_outside(
            f"gpufeed: Normalize at {places[0]} and at {places[1]}: images are normalised by both; leave one out if they "
            "should be normalised once"
        )


def num_classes_of(mixes: bool, given: Any, named: int | None, data: _gpufeed.Dataset) -> int | None:
    """Returns the number of classes of the soft labels of mixed batches. It is the given number, or else that of
    ``MixUp`` or ``CutMix``, or else that of the data set's classes or label vectors. None if nothing is mixed."""
    if given is not None:
        given = arguments.whole("num_classes", given, 1)
        if not mixes:
            raise ArgumentError(f"num_classes: {given}, but only batch_transforms make soft labels of so many; leave it out")
        if named is not None and named != given:
            raise ArgumentError(f"num_classes: {given}, but batch_transforms has num_classes={named}; give one of the two")
    if not mixes:
        return None
    known = given or named or len(data.classes) or _numbers_of_a_vector(data)
    if not known:
        raise ArgumentError("num_classes: soft labels need it, as the data set names no classes; num_classes=1000 works")
    return int(known)


def _numbers_of_a_vector(data: _gpufeed.Dataset) -> int:
    """Returns the length of the first sample's label if it is a vector, such as a row of a one-hot matrix; else 0."""
    try:
        _, label = data[0]
    except Exception:
        # Here the error is ignored: the run will report what is wrong with the sample, or replace it.
        return 0
    return len(label) if isinstance(label, list) else 0


def cut_normalize(content: dict[str, Any], dtype: Any, keyword: str) -> tuple[list[float], list[float], str]:
    """Takes the last ``Normalize`` off a recipe. Returns its means, its deviations, and the type of its results. Three
    equal numbers become one, so that it also serves images of one channel. ``keyword`` is the argument that asks for
    this."""
    transforms = list(content.get("transform", []))
    if not transforms or transforms[-1].get("type") != "Normalize":
        raise ArgumentError(f"{keyword}: the last transform is no Normalize; it has to be, as it runs last")
    last = transforms.pop()
    content["transform"] = transforms
    output = content.get("output", {})
    found = arguments.dtype("dtype", dtype) if dtype is not None else _DTYPES[output.get("dtype", "F32")]
    content["output"] = output | {"dtype": "U8"}
    mean, std = last["mean"], last["std"]
    if len({*mean}) == 1 and len({*std}) == 1:
        mean, std = mean[:1], std[:1]
    return mean, std, found


_DTYPES = {"F32": "float32", "F16": "float16", "U8": "uint8"}
