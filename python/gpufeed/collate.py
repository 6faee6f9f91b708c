"""Makes batches of what samples of an object in Python have beside their images, as torch's ``default_collate`` does.

The native module carries a pickle for each sample (``samples.py`` makes it), or a class or vector without one. torch's own
``default_collate`` collates the values, so that shapes, types and errors are torch's. ``labels_of``, ``columns_of`` and
``label_of`` are for ``batches()`` and for single samples, which need no torch: there, values stay as they were given.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from gpufeed.sample_objects import Left, Lefts
from gpufeed.samples import Rest, by_names

# The name of the images in a dictionary, for a loader without groups.
IMAGE = "image"


def opened(batch: Any) -> list[Rest] | None:
    """Returns what stands beside the images of a batch, for each sample; None if the native labels are all of it."""
    pickles = batch._rest
    if pickles is None:
        return None
    # A list came without a pickle, so it was a vector of float32.
    plain = (_Vector(each) if isinstance(each, list) else each for each in pickles)
    return [_opened(each) for each in plain]


def _opened(rest: Any) -> Rest:
    if isinstance(rest, bytes):
        found: Rest = pickle.loads(rest)
        return found
    # The other process has opened the data set already.
    return rest if type(rest) is Opened else ("label", None, rest)


class Opened(tuple[str, Any, Any]):
    """What a pickle had, on its way to another process."""


def label_of(rest: bytes) -> Any:
    """Returns the label in the pickle of one sample; if more stands beside the image, a dictionary of all."""
    kind, key, value = pickle.loads(rest)
    value = _plain(value)
    beside = {name: _plain(each) for name, each in by_names(kind, key, value).items()}
    return value if kind == "label" else beside["label"] if [*beside] == ["label"] else beside


def labels_of(batch: Any) -> list[Any] | None:
    """Returns the labels of a batch as they were given, one for each image; None if the samples have no labels."""
    rests = opened(batch)
    if rests is None:
        return None
    labels = [_plain(by_names(*rest).get("label")) for rest in rests]
    return None if all(label is None for label in labels) else _repeated(labels, batch.views * batch.crops)


def columns_of(batch: Any) -> dict[str, list[Any]]:
    """Returns what the samples of a batch have beside image and label, by names, as it was given: one value a sample."""
    rests = opened(batch) or []
    named = [by_names(*rest) for rest in rests]
    names = dict.fromkeys(name for each in named for name in each if name != "label")
    return {name: [_plain(each.get(name)) for each in named] for name in names}


def _plain(value: Any) -> Any:
    """Returns what a target has beside its objects, and other values as they are."""
    return value.values if isinstance(value, Left) else value


def named(rests: list[Rest]) -> dict[str, Any]:
    """Collates what stands beside the images into a dictionary, with a value for each sample. A field in which some sample has
    None is a list, if the user has chosen the fields."""
    kind = rests[0][0]
    parts = [by_names(*rest) for rest in rests]
    if kind in ("label", "fields"):
        # A first sample without a label says nothing about the others.
        names = dict.fromkeys(name for each in parts for name in each)
        parts = [{name: each.get(name) for name in names} for each in parts]
    return {name: _column([_as_vector(each[name]) for each in parts], kind == "fields") for name in parts[0]}


def _column(values: list[Any], may_lack: bool) -> Any:
    if may_lack and any(value is None for value in values):
        return Kept(values)
    return collate(values)


def collate(values: list[Any]) -> Any:
    """Calls torch's ``default_collate``. Targets of images, whose objects are elsewhere, stay one for each."""
    if values and isinstance(values[0], Left):
        return Lefts(values)
    from torch.utils.data import default_collate

    return default_collate(values)


def like_samples(rests: list[Rest], images: Any, outputs: int, soft: Any = None) -> Any:
    """Returns a batch in the form of its samples, with the images in the place of the image. A dictionary has one value for each
    sample; a tuple one for each image, of which a sample has ``outputs``. ``soft`` are the labels of a mixed batch, one for each
    image, which stand in the place of the label."""
    kind, key, _ = rests[0]
    if any(rest[0] != kind or (rest[1] != key and kind != "label") for rest in rests):
        forms = " and ".join(sorted({_form(rest) for rest in rests}))
        raise TypeError(f"the samples of a batch differ in form: {forms}; each sample of a data set has the same")
    if kind == "label":
        if soft is not None:
            return images, soft
        labels = _alike([_as_vector(value) for _, _, value in rests])
        return images, (None if all(label is None for label in labels) else collate(_repeated(labels, outputs)))
    if kind == "dict":
        # The keys are those of the first sample, as in torch.
        of_first: dict[str, Any] = rests[0][2]
        made = {key: images} if soft is None else {key: images, "label": soft}
        collated = {name: collate([rest[2][name] for rest in rests]) for name in of_first if name not in made}
        return {name: made[name] if name in made else collated[name] for name in of_first}
    if kind == "fields":
        return {IMAGE: images, **named(rests)}
    of, place = key if kind == "named" else (None, key)
    lengths = {len(rest[2]) for rest in rests}
    if len(lengths) > 1:
        raise RuntimeError("each element in list of batch should be of equal size")
    names = [*by_names(*rests[0])]
    at = names.index("label") if soft is not None and "label" in names else None
    columns = [
        soft if number == at else collate(_repeated(list(column), outputs))
        for number, column in enumerate(zip(*(rest[2] for rest in rests)))
    ]
    columns.insert(place, images)
    return tuple(columns) if of is None else of(*columns)


def with_image(rest: Rest, image: Any, soft: Any = None) -> Any:
    """Returns one sample in its own form, with ``image`` in the place of its image. ``soft`` is the label of a mixed batch, which stands in
    the place of its own."""
    kind, key, value = rest
    if kind == "label":
        return image, _as_vector(value) if soft is None else soft
    label = {} if soft is None else {"label": soft}
    if kind == "fields":
        return {IMAGE: image, **value, **label}
    if kind == "dict":
        return {name: image if name == key else label.get(name, each) for name, each in value.items()}
    of, place = key if kind == "named" else (None, key)
    names = [*by_names(*rest)]
    parts = [label.get(name, each) for name, each in zip(names, value, strict=True)]
    parts.insert(place, image)
    return tuple(parts) if of is None else of(*parts)


def _form(rest: Rest) -> str:
    kind, key, _ = rest
    names = {"label": "an image with a label", "tuple": "a tuple", "dict": "a dictionary", "fields": "chosen fields"}
    return f"a {key[0].__name__}" if kind == "named" else f"{names[kind]}" + (f" whose image is {key!r}" if key is not None else "")


def _as_vector(value: Any) -> Any:
    """Returns a label of the native module for ``default_collate``: a vector, which comes without a pickle, is float32."""
    if type(value) is not _Vector:
        return value
    import torch

    return torch.tensor(value, dtype=torch.float32)


def _alike(labels: list[Any]) -> list[Any]:
    """Makes tensors of class numbers that stand beside tensors: a number came without a pickle, whatever held it, and one below 0, which
    is no class, with one."""
    import torch

    if not any(isinstance(label, torch.Tensor) for label in labels):
        return labels
    return [torch.tensor(label) if type(label) is int else label for label in labels]


class _Vector(list[float]):
    """A vector that came without a pickle."""


def _repeated(values: list[Any], times: int) -> list[Any]:
    return values if times == 1 else [value for value in values for _ in range(times)]


class Kept:
    """A list of texts, bytes or other values that is handed over as it is: nothing looks into it."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


def changed(value: Any, is_part: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    """Returns nested mappings and sequences in which ``change`` was called on each part, in their order."""
    if is_part(value):
        return change(value)
    if type(value) is Kept:
        return value.values
    if isinstance(value, Mapping):
        made = {key: changed(each, is_part, change) for key, each in value.items()}
        if type(value) is dict or not isinstance(value, MutableMapping):
            return made
        clone = copy.copy(value)
        clone.update(made)
        return clone
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(each, is_part, change) for each in value))
    if isinstance(value, tuple):
        return tuple(changed(each, is_part, change) for each in value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = [changed(each, is_part, change) for each in value]
        if type(value) is list or not isinstance(value, MutableSequence):
            return items
        same = copy.copy(value)
        for number, each in enumerate(items):
            same[number] = each
        return same
    return value
