"""Converts samples of a data set in Python to the form that the native module takes.

A sample is ``(image, label)``, a tuple or list of any length, a dictionary, a named tuple or a dataclass. The image is an
encoded file (``bytes``, ``bytearray``, ``memoryview``), a uint8 or float32 array of rows, columns and channels (or of rows
and columns, or with the channels first), a torch tensor with the channels first, or a PIL image. What stands beside it is
pickled, and ``collate.py`` makes batches of it; a class number and a vector of float32 need no pickle.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpufeed.errors import ArgumentError
from gpufeed.sample_images import FORMS, Form, image_of, is_image, kind_of, place_of
from gpufeed.sample_labels import label_of
from gpufeed.sample_objects import Given, Left, chosen_in, refuse_unmoved

Item = tuple[bytes, Form, "int | list[float] | None", "bytes | None", "list[tuple[bytes, Form]]", "Given | None"]

# A pickle has the form of the sample, the names that belong to the form, and the values.
Rest = tuple[str, Any, Any]


def item(sample: Any, index: int) -> Item:
    """Makes ``(bytes, form, label, rest, images, objects)`` of an item of a data set; ``form`` is ``None`` for an encoded image, and
    ``rest`` where ``label`` says all that stands beside the image. ``images`` are those of fields, which a choice has, and ``objects``
    those that ``sample_objects.py`` takes out of samples."""
    made = ready_item(sample, index)
    if made[3] is not None:
        refuse_unmoved(sample, index)
    return made


def ready_item(sample: Any, index: int) -> Item:
    """As :func:`item`, of samples whose images are ready for a batch: boxes need not move with them."""
    if type(sample) in (tuple, list) and len(sample) == 2 and (is_image(sample[0]) or not is_image(sample[1])):
        image, given = sample
        data, form = image_of(image, index)
        label, is_all = label_of(given)
        return data, form, label, None if is_all else _pickled(("label", None, given), index), [], None
    image, label, rest = _taken_apart(sample, index)
    data, form = image_of(image, index)
    return data, form, label_of(label)[0], _pickled(rest, index), [], None


class Chosen:
    """Converts the items of a data set as :func:`item` does, and chooses fields of them: all, or those that ``choice`` names by
    their sources. ``paths`` are the paths of the samples, for the source ``"path"``; ``images`` the fields that are images for
    groups of views."""

    def __init__(self, choice: str | Mapping[str, Any], paths: list[str] | None = None, images: Sequence[str] = ()) -> None:
        self.images = tuple(images)
        # The native module looks for this attribute.
        self.chosen = choice
        self._fields = {} if isinstance(choice, str) else _fields(choice)
        self._image = next((source for source, field in self._fields.items() if field["name"] == "image"), None)
        self._paths = paths
        # True where boxes in samples are those of the images as they are.
        self.is_ready = False

    def __call__(self, sample: Any, index: int) -> Item:
        image, found = named_parts(sample, index, self._image)
        data, form = image_of(image, index)
        images = [image_of(self._field_image(found, name, index), index) for name in self.images]
        if self.chosen == "all":
            made = {name: value for name, value in found.items() if name not in self.images}
        else:
            label = found.get("label")
            # A target that a field takes is no label beside it.
            made = {} if label is None or (isinstance(label, Left) and "label" in self._fields) else {"label": label}
            for source, field in self._fields.items():
                if source != self._image and field["name"] not in self.images:
                    made[field["name"]] = self._value(source, field, found, index)
        if not self.is_ready:
            refuse_unmoved(made, index)
        return data, form, label_of(made.get("label"))[0], _pickled(("fields", None, made), index), images, None

    def _field_image(self, found: Mapping[str, Any], name: str, index: int) -> Any:
        source = next((source for source, field in self._fields.items() if field["name"] == name), name)
        if found.get(source) is None:
            there = ", ".join(repr(name) for name, value in found.items() if value is not None)
            raise ValueError(f"sample {index} has no image {source!r}; it has {there or 'an image alone'}")
        return found[source]

    def _value(self, source: str, field: Mapping[str, Any], found: Mapping[str, Any], index: int) -> Any:
        if found.get(source) is not None:
            return found[source]
        if source == "index":
            return index
        if source == "path" and self._paths is not None:
            return self._paths[index]
        if "default" in field:
            return field["default"]
        if field.get("optional"):
            return None
        there = ", ".join(repr(name) for name, value in found.items() if value is not None)
        raise ValueError(
            f"sample {index} has no {source!r}; it has {there or 'an image alone'}; a field with \"optional\": True is None there"
        )


def _fields(choice: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Checks the fields that were chosen, and returns the settings of each by its source."""
    fields = {source: {"name": given} if isinstance(given, str) else dict(given) for source, given in choice.items()}
    chosen_in(choice)
    for source, field in fields.items():
        unknown = sorted({*field} - {"name", "optional", "default"})
        if unknown and field.get("kind") != "objects":
            raise ArgumentError(
                f"fields: {source!r} has {', '.join(map(repr, unknown))}; of an object in Python name, optional and default work, and the kind \"objects\""
            )
        if not isinstance(field.get("name"), str) or not field["name"]:
            raise ArgumentError(f'fields: {source!r} has no name; {{"{source}": {{"name": "{source}", "optional": True}}}} works')
    names = [field["name"] for field in fields.values()]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"fields: two fields have the name {name!r}")
    return fields


def paths_of(data: Any) -> list[str] | None:
    """Returns the paths of an object's samples: those of the attribute ``samples`` or ``imgs``, as torchvision's ``ImageFolder``
    has them, also of a ``Subset`` of it; None without such an attribute."""
    of_torch = sys.modules.get("torch.utils.data")
    if of_torch is not None and type(data) is of_torch.Subset:
        paths = paths_of(data.dataset)
        return None if paths is None else [paths[index] for index in data.indices]
    for name in ("samples", "imgs"):
        found = getattr(data, name, None)
        if isinstance(found, (list, tuple)) and all(isinstance(each, tuple) and isinstance(each[0], str) for each in found):
            return [each[0] for each in found]
    return None


def named_parts(sample: Any, index: int, chosen: str | None = None) -> tuple[Any, dict[str, Any]]:
    """Returns the image of a sample, which may be chosen by its name, and what stands beside it by names: keys, the names of a
    named tuple's or a dataclass's fields; in a tuple ``"label"`` is the first part beside the image, and others have their
    places as names."""
    image, _, (kind, key, values) = _taken_apart(sample, index, chosen)
    return image, by_names(kind, key, values)


def by_names(kind: str, key: Any, values: Any) -> dict[str, Any]:
    """Returns what stands beside an image by names."""
    if kind == "label":
        return {} if values is None else {"label": values}
    if kind == "fields":
        return dict(values)
    if kind == "dict":
        return {name: value for name, value in values.items() if name != key}
    if kind == "named":
        of, place = key
        return dict(zip((name for number, name in enumerate(of._fields) if number != place), values))
    places = [number for number in range(len(values) + 1) if number != key]
    return dict(zip(["label", *map(str, places[1:])], values))


def _taken_apart(sample: Any, index: int, chosen: str | None = None) -> tuple[Any, Any, Rest]:
    """Returns the image of a sample, what may be its label, and what stands beside the image. ``chosen`` is the name of the
    image, or its place in a tuple; without it, the first part that is an image is the one."""
    if isinstance(sample, (tuple, list)):
        names = getattr(sample, "_fields", tuple(map(str, range(len(sample)))))
        if chosen is not None and chosen not in names:
            raise ValueError(f"sample {index} has no {chosen!r}, which is to be the image; it has {', '.join(names)}")
        place = names.index(chosen) if chosen is not None else place_of(dict(enumerate(sample)), index, sample)
        others = [value for number, value in enumerate(sample) if number != place]
        rest: Rest = ("tuple", place, others)
        if hasattr(sample, "_fields"):
            rest = ("named", (type(sample), place), others)
        beside = by_names(*rest)
        return sample[place], beside.get("label"), rest
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        sample = {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}
    if isinstance(sample, Mapping):
        if chosen is not None and chosen not in sample:
            names = ", ".join(map(repr, sample))
            raise ValueError(f"sample {index} has no {chosen!r}, which is to be the image; it has {names}")
        key = chosen or ("image" if "image" in sample else place_of(sample, index, sample))
        # The image's place is kept, for the order of a batch's keys.
        values = {name: None if name == key else value for name, value in sample.items()}
        return sample[key], sample.get("label"), ("dict", key, values)
    raise TypeError(f"sample {index} is {kind_of(sample)}; {FORMS}")


def _pickled(rest: Rest, index: int) -> bytes:
    out = io.BytesIO()
    try:
        _Pickler(out, 5).dump(rest)
    except Exception as error:
        what = "label" if rest[0] == "label" else "sample"
        raise TypeError(
            f"the {what} {'of sample ' if what == 'label' else ''}{index} cannot be pickled, by which it comes to its batch: {error}"
        ) from error
    return out.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles tensors as arrays, because torch's own way costs a hundred microseconds each."""

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or type(value) is not torch.Tensor or value.requires_grad:
            return NotImplemented
        try:
            return _tensor, (value.numpy(),)
        except (TypeError, RuntimeError):
            # Such as tensors on a device, and of bfloat16.
            return NotImplemented


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)
