"""Opens data sets: those of a path, with the keywords of ``gpufeed.open``, and objects in Python."""

from __future__ import annotations

import json
import numbers
import operator
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpufeed import _gpufeed, arguments, hugging_face, keywords, sample_objects, samples, torch_datasets, torch_detection, turns
from gpufeed.errors import ArgumentError
from gpufeed.failures import warn_once_outside


class Known(Protocol):
    """What knows the data sets of a library: ``torch_datasets`` and ``hugging_face``."""

    def is_made_of(self, data: Any) -> bool:
        """True for a data set of the library, and for torch's wrappers of one."""

    def transform_of(self, data: Any) -> Any:
        """Returns the transforms of its own, which a loader can run in its place."""

    def has_transform(self, data: Any) -> bool:
        """True if there are any."""

    def note_of(self, data: Any) -> str:
        """Returns a sentence for ``explain()`` where a loader runs them."""

    def why_in_python(self, data: Any) -> str | None:
        """Returns why its samples are made in Python; None if they are not."""

    def transforms_held(self, data: Any) -> list[Any]:
        """Returns the transforms that it holds now."""


_LIBRARIES: tuple[Known, ...] = (torch_datasets, hugging_face)


def known(data: Any) -> Known | None:
    """Returns what knows the library of a data set; None for other objects."""
    return next((library for library in _LIBRARIES if library.is_made_of(data)), None)


def has_transform(data: Any) -> bool:
    """True for a data set of a known library that has transforms of its own."""
    library = known(data)
    return library is not None and library.has_transform(data)


def transforms_taken(data: Any) -> list[Any] | None:
    """Returns the transforms that a data set of a known library holds now, if its samples are not made in Python: a later one is not seen
    by the loader then. None for other objects."""
    library = known(data)
    return None if library is None or library.why_in_python(data) is not None else library.transforms_held(data)


def same_transforms(data: Any, taken: list[Any] | None) -> bool:
    """True if a data set holds the transforms of :func:`transforms_taken` still."""
    library = known(data)
    if taken is None or library is None:
        return True
    held = library.transforms_held(data)
    return len(held) == len(taken) and all(one is other for one, other in zip(held, taken))


def leaves_transform(given: Mapping[str, Any]) -> str | None:
    """Returns the keyword with which an object of a known library makes its samples itself, its own transform included; None without
    one."""
    if given.get("thread_safe") is not None:
        return "thread_safe"
    return None if given.get("fields") in (None, "none") else "fields"


def note_of(data: Any) -> str:
    """Returns a sentence for ``explain()`` about a data set whose own transforms the loader runs."""
    library = known(data)
    return "" if library is None else library.note_of(data)


def with_transform_of(data: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any], bool]:
    """Returns the transforms of a loader, its keywords with them, and whether the object's own transform runs in Python. ``given`` are the
    keywords. Without transforms, those of an object of a known library are the loader's, which runs them in the object's place."""
    library = known(data)
    if library is None:
        return given["transforms"], given, False
    for part in torch_datasets.parts_of(data):
        torch_detection.refuse_unmoved(part)
    own = library.transform_of(data)
    is_free = all(given[name] is None for name in ("transforms", "recipe", "groups"))
    chosen = leaves_transform(given) is not None
    takes = own is not None and is_free and not chosen
    in_python = library.has_transform(data) and not takes
    why = library.why_in_python(data)
    if why is None and in_python:
        why = "its own transform runs before the loader's; leave one out" if own is not None else "its parts have other transforms"
    if why is not None and not chosen:
        warn_once_outside(f"gpufeed: data: read in Python, under the interpreter's lock: {why}")
    transforms = own if takes else given["transforms"]
    return transforms, given | {"transforms": transforms}, in_python


def refuse_streams(data: Any) -> None:
    """Raises an error for data sets that give their samples in an order of their own, and for those that are several."""
    hugging_face.refuse_others(data)
    of_torch = sys.modules.get("torch.utils.data")
    # A gpufeed loader is registered as such a data set, but is none of its subclasses.
    if of_torch is not None and of_torch.IterableDataset in type(data).__mro__:
        raise ArgumentError(
            f"data: a {type(data).__name__} is an IterableDataset of torch, which has one order alone, and gpufeed reads samples by their "
            'numbers; gpufeed.open("shards-{000..146}.tar") reads tar shards; others work with __len__ and __getitem__'
        )


def open_path(data: Any, given: dict[str, Any]) -> _gpufeed.Dataset:
    """Opens the data set at a path or an address. The keywords were checked already."""
    written = {name: value for name, value in given.items() if (name, value) != ("fields", "none")}
    if isinstance(written.get("fields"), dict):
        # Pairs keep the order of the fields; the native module reads a JSON object with its keys sorted.
        written["fields"] = list(written["fields"].items())
    return _gpufeed.Dataset.open(arguments.path("data", data), json.dumps(written))


def reopen(path: str, keywords: str, test: bool, *older: Any) -> _gpufeed.Dataset:
    """Makes the data set of a pickle again: that of a path, or its test split."""
    if older:
        raise ArgumentError("data: the data set was pickled by an older gpufeed; open its path again")
    data = _gpufeed.Dataset.open(path, keywords)
    if not test:
        return data
    if data.test is None:
        raise ArgumentError(f"data: {data.description} had a test split when it was pickled, and has none here")
    return data.test


def wrap(data: Any, item: Any, channels: int, classes: list[str], thread_safe: bool | None = None) -> _gpufeed.Dataset:
    """Makes a data set of an object in Python. Pickles call this, too."""
    images, objects = [*getattr(item, "images", ())], getattr(item, "objects", None)
    return _gpufeed.Dataset.wrap(data, item, channels, classes, turns.parts(data, thread_safe), thread_safe, images, objects)


def open_data(
    data: Any,
    given: dict[str, Any],
    thread_safe: bool | None = None,
    images: Sequence[str] = (),
    in_python: bool = False,
) -> _gpufeed.Dataset:
    """Makes the data set of whatever a loader takes: a path with its keywords, a data set that is open, or an object, of
    which ``images`` are the fields from which groups of views are made. ``in_python`` is true if the object's own transform
    has to run, so that its samples are read in Python."""
    if thread_safe is not None and (arguments.is_path(data) or isinstance(data, _gpufeed.Dataset)):
        raise ArgumentError("thread_safe: it belongs to a data set in Python; gpufeed's own are always read by all workers")
    if arguments.is_path(data):
        return open_path(data, given)
    if "counts" in given:
        raise ArgumentError("counts: it belongs to the path of tar shards or Parquet files; gpufeed.open takes it, too")
    # Fields such as "index" are what an object in Python has, and its transform may make them.
    plain = not (in_python or images or given.get("fields", "none") != "none")
    native = _native(data, plain) if thread_safe is None else None
    for name in given:
        # The settings of the loader have this keyword, too. Objects in Python have fields that may be chosen.
        if name not in keywords.LOADER and (name != "fields" or native is not None):
            raise ArgumentError(f"{name}: it belongs to a path, and data is {arguments.given(data)}; gpufeed.open(path, {name}=...) takes it")
    if native is not None:
        return native
    refuse_streams(data)
    if isinstance(data, (bytearray, memoryview)):
        raise ArgumentError(f"data: {arguments.given(data)}; a path as text, as bytes and as a Path works")
    if not hasattr(data, "__len__") or not (hasattr(data, "__getitem__") or hasattr(data, "__getitems__")):
        raise ArgumentError(
            f"data: {arguments.given(data)}; a path, a data set of gpufeed.open, and an object with __len__ and "
            "__getitem__ work"
        )
    chosen = given.get("fields", "none")
    if images and chosen == "none":
        chosen = "all"
    rows = None if in_python or thread_safe is not None else hugging_face.rows(data)
    data = data if rows is None else rows
    item: Any = samples.item if rows is None else hugging_face.item
    item = item if chosen == "none" else samples.Chosen(chosen, samples.paths_of(data), images)
    if getattr(data, "has_ready_images", False):
        if isinstance(item, samples.Chosen):
            item.is_ready = True
        else:
            item = samples.ready_item
    elif rows is None and (found := sample_objects.chosen_in(chosen) or sample_objects.found_in(data, torch_datasets.parts_of(data))) is not None:
        item = sample_objects.WithObjects(item, found)
    return wrap(data, item, channels_of(data), classes_of(data), thread_safe)


def _native(data: Any, of_torchvision: bool = False, named: bool = True) -> _gpufeed.Dataset | None:
    """Returns a data set of ``gpufeed.open``, and torch's ``Subset`` and ``ConcatDataset`` of such, as a data set that the
    workers read without Python; None for other objects. ``random_split`` makes subsets. ``of_torchvision`` takes objects of
    torchvision by what they stand on, too, and ``named`` gives these the names of their classes."""
    if isinstance(data, _gpufeed.Dataset):
        return data
    of_torch = sys.modules.get("torch.utils.data")
    if of_torch is None:
        return None
    # A class that is derived from one of these may have a __getitem__ of its own.
    if type(data) is of_torch.Subset:
        of = _native(data.dataset, of_torchvision, named)
        if of is None:
            return None
        indices = [operator.index(index) for index in data.indices]
        return of.subset([index + len(of) if index < 0 else index for index in indices])
    if type(data) is of_torch.ConcatDataset:
        parts = [_native(part, of_torchvision, named) for part in data.datasets]
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        if of_torchvision and torch_datasets.is_made_of(data):
            if len({part.channels for part in known}) > 1:
                return None
            if named and len({tuple(part.classes) for part in known}) > 1:
                # In torch numbers alone are classes. gpufeed's own parts keep their names, which concat compares.
                return _native(data, of_torchvision, named=False)
        return known[0].concat(*known[1:])
    return torch_datasets.native(data, named) if of_torchvision else None


def is_object(data: Any) -> bool:
    """True for what is read by Python: neither a path nor anything that the workers read alone."""
    if torch_datasets.is_detection(data):
        # Opening one sorts the annotations of all images.
        return torch_datasets.why_in_python(data) is not None
    return not arguments.is_path(data) and _native(data, True) is None


def gives_pairs(data: Any) -> bool:
    """True for a data set whose samples with objects are an image and a target: those of objects in Python, and of torchvision's for
    detection."""
    return torch_datasets.is_detection(data) or is_object(data)


def has_fields(data: Any) -> bool:
    """Returns True for a data set that was opened with fields, and for torch's ``Subset`` and ``ConcatDataset`` of such."""
    native = _native(data)
    return native is not None and bool(native.fields)


def known_channels(data: Any, in_python: bool) -> int | None:
    """Returns how many channels the images of an object have; ``None`` for what is not open yet. ``in_python`` is true for an object
    of torchvision that stays in Python."""
    if isinstance(data, (str, bytes, os.PathLike)):
        return None
    if (native := _native(data)) is not None:
        return native.channels
    if torch_datasets.is_made_of(data) and not in_python:
        return torch_datasets.channels(data)
    return channels_of(data)


def channels_of(data: Any) -> int:
    """Returns the attribute ``channels`` of an object: the number of channels of its images."""
    channels = getattr(data, "channels", 3)
    if isinstance(channels, bool) or not isinstance(channels, numbers.Integral) or channels not in (1, 3):
        raise ArgumentError(
            f"data: the attribute channels of this {type(data).__name__} is {channels!r}; 1, which promises gray images, and 3 "
            "work, and 3 is the default"
        )
    return int(channels)


def classes_of(data: Any) -> list[str]:
    """Returns the attribute ``classes`` of an object as a list: the classes' names, in the order of their numbers."""
    classes = getattr(data, "classes", None)
    if classes is None:
        return []
    what = f"data: the attribute classes of this {type(data).__name__}"
    if isinstance(classes, Mapping):
        return _classes_by_name(classes, what)
    if isinstance(classes, (set, frozenset)):
        raise ArgumentError(f"{what} is a {type(classes).__name__}, which has no order; a list of the classes' names works")
    if isinstance(classes, (str, bytes)) or not hasattr(classes, "__iter__"):
        raise ArgumentError(f"{what} is {classes!r}; a list of the classes' names works")
    return [str(name) for name in classes]


def _classes_by_name(classes: Mapping[Any, Any], what: str) -> list[str]:
    """Returns the names in a dictionary such as torchvision's ``class_to_idx``, which has the number of each name."""
    plain = all(isinstance(name, str) for name in classes) and all(
        isinstance(number, numbers.Integral) and not isinstance(number, bool) for number in classes.values()
    )
    if not plain or sorted(classes.values()) != list(range(len(classes))):
        raise ArgumentError(
            f"{what} is a {type(classes).__name__}, and not one of each name and its number, from 0 to {len(classes) - 1} "
            "once each; a list of the classes' names works, too"
        )
    return sorted(classes, key=lambda name: classes[name])
