"""Makes a loader's recipe from its arguments, and cuts off the last ``Normalize`` if the device is to compute it."""

from __future__ import annotations

import json
from typing import Any

from gpufeed import _gpufeed, arguments, sample_labels
from gpufeed.errors import ArgumentError
from gpufeed.failures import warn_once_outside
from gpufeed.own_code import Own


def recipe_of(
    transforms: Any,
    recipe: Any,
    batch_transforms: Any,
    place: str = "transforms",
    channels: int | None = None,
    own: Own | None = None,
    is_joint: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...], int | None]:
    """Makes a recipe of ``transforms`` or of ``recipe``, one of which is None. Returns the recipe as a dictionary,
    sentences for ``explain()``, and the ``num_classes`` of ``MixUp`` or ``CutMix`` (None if they name none). ``channels`` is how many
    the data set's images have, where that is known before it is opened. Code of the user's own goes to ``own``; without it such
    code is refused, as it is in a list that ``is_joint`` and gets targets, too."""
    if (transforms is None) == (recipe is None):
        raise ArgumentError("transforms: give either transforms=, torchvision's, or recipe=, a name, a file or a dictionary")
    notes: tuple[str, ...] = ()
    classes = None
    if transforms is not None:
        from gpufeed.torchvision import convert

        converted = convert(transforms, batch_transforms, place, channels, None if own is None else own.codes, is_joint)
        if own is not None:
            own.on_batch = converted.on_batch
        _warn_of_two(converted.normalized)
        return dict(converted.recipe), converted.notes, converted.num_classes
    text = json.dumps(recipe) if isinstance(recipe, dict) else arguments.path("recipe", recipe)
    content = json.loads(_gpufeed.recipe_content(text))
    if groups := content.get("group"):
        names = ", ".join(group["name"] for group in groups)
        raise ArgumentError(f"recipe: it has the groups of views {names}, but a recipe with one list works here")
    _warn_of_two(_gpufeed.normalized_twice(text) or ())
    if batch_transforms is not None:
        if content.get("batch_transform"):
            raise ArgumentError("batch_transforms: the recipe has a batch_transform of its own; give one of the two")
        from gpufeed.torchvision import convert

        converted = convert([], batch_transforms)
        content["batch_transform"] = converted.recipe["batch_transform"]
        classes = converted.num_classes
    return content, notes, classes


def notes_of_mixing(batch_transforms: Any, dtype: str | None, content: dict[str, Any]) -> tuple[str, ...]:
    """Checks that a transform of batches is for images of the loader's type. Returns sentences for ``explain()``."""
    if batch_transforms is None:
        return ()
    from gpufeed import timm_mixing

    return timm_mixing.check_output(batch_transforms, dtype or _DTYPES[content.get("output", {}).get("dtype", "F32")])


def groups_in(recipe: Any) -> dict[str, dict[str, Any]] | None:
    """Returns the groups of views of a recipe by their names, each as the content of a recipe with one list; None for a
    recipe without groups."""
    if recipe is None:
        return None
    text = json.dumps(recipe) if isinstance(recipe, dict) else arguments.path("recipe", recipe)
    content = json.loads(_gpufeed.recipe_content(text))
    shared = {key: content[key] for key in ("output", "semantics") if key in content}
    groups = {group["name"]: shared | {key: group[key] for key in group if key != "name"} for group in content.get("group", [])}
    return groups or None


def _warn_of_two(places: tuple[str, ...]) -> None:
    if len(places) > 1:
        warn_once_outside(
            f"gpufeed: Normalize at {places[0]} and at {places[1]}: images are normalised by both; leave one out if they "
            "should be normalised once"
        )


def num_classes_of(mixes: bool, given: Any, named: int | None, data: _gpufeed.Dataset) -> int | None:
    """Returns the number of classes in the soft labels of mixed batches; None if ``mixes`` is false. The number is
    ``given``, else ``named``, which ``MixUp`` or ``CutMix`` names, else the number of the data set's class names, else
    the length of its label vectors."""
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
        # The error is ignored here: a run of the loader will report what is wrong with the sample, or replace it.
        return 0
    if isinstance(label, dict):
        # An object in Python has given more than a label.
        label = label.get("label")
    return len(sample_labels.vector_of(label))


def cut_normalize(content: dict[str, Any], dtype: Any, keyword: str) -> tuple[list[float], list[float], str]:
    """Removes the last transform of a recipe, a ``Normalize``, so that its batches are uint8. Returns the means and the
    standard deviations of the ``Normalize``, and the type of normalised batches. If all three means are equal, and all
    three deviations, one of each is returned, which also fits images of one channel. Errors name ``keyword``, the
    argument that asked for the removal."""
    transforms = list(content.get("transform", []))
    if any(each.get("floats") for each in transforms):
        raise ArgumentError(f"{keyword}: own code in the list has floats; the batch has to be 8-bit numbers up to the last Normalize")
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


_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "U8": "uint8"}
