"""Converts samples of a data set in Python to the form that the native module takes.

A sample is ``(image, label)``, a tuple or list of any length, a dictionary, a named tuple or a dataclass. The image is an
encoded file (``bytes``, ``bytearray``, ``memoryview``), a uint8 or float32 array of rows, columns and channels (or of rows
and columns, or with the channels first), a torch tensor with the channels first, or a PIL image. What stands beside it is
pickled, and ``collate.py`` makes batches of it; a class number and a vector of float32 need no pickle.
"""

from __future__ import annotations

import dataclasses
import io
import numbers
import pickle
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gpufeed.errors import ArgumentError


Form: TypeAlias = "tuple[int, int, str] | None"
Item = tuple[bytes, Form, "int | list[float] | None", "bytes | None", "list[tuple[bytes, Form]]"]

# A pickle has the form of the sample, the names that belong to the form, and the values.
Rest = tuple[str, Any, Any]

# gpufeed's name of the pixels, for an array's type and number of channels.
_FORMATS = {
    ("uint8", 1): "R8",
    ("uint8", 3): "Rgb8",
    ("uint8", 4): "Rgba8",
    ("float32", 1): "F32x1",
    ("float32", 3): "F32x3",
}

# The first bytes of JPEG, PNG, GIF, TIFF and WebP files.
_FILES = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"II*\0", b"MM\0*", b"RIFF")

_FORMS = (
    "a data set returns (image, label), with None where there is no label, or a tuple, a dictionary, a named tuple or a "
    "dataclass with an image in it"
)


def item(sample: Any, index: int) -> Item:
    """Makes ``(bytes, form, label, rest, images)`` of an item of a data set; ``form`` is ``None`` for an encoded image, and
    ``rest`` where ``label`` says all that stands beside the image. ``images`` are those of fields, which a choice has."""
    if type(sample) in (tuple, list) and len(sample) == 2 and (_is_image(sample[0]) or not _is_image(sample[1])):
        image, given = sample
        data, form = _image(image, index)
        label, is_all = _label(given)
        return data, form, label, None if is_all else _pickled(("label", None, given), index), []
    image, label, rest = _taken_apart(sample, index)
    data, form = _image(image, index)
    return data, form, _label(label)[0], _pickled(rest, index), []


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

    def __call__(self, sample: Any, index: int) -> Item:
        image, found = named_parts(sample, index, self._image)
        data, form = _image(image, index)
        images = [_image(self._field_image(found, name, index), index) for name in self.images]
        if self.chosen == "all":
            made = {name: value for name, value in found.items() if name not in self.images}
        else:
            made = {"label": found["label"]} if found.get("label") is not None else {}
            for source, field in self._fields.items():
                if source != self._image and field["name"] not in self.images:
                    made[field["name"]] = self._value(source, field, found, index)
        return data, form, _label(made.get("label"))[0], _pickled(("fields", None, made), index), images

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
    for source, field in fields.items():
        unknown = sorted({*field} - {"name", "optional", "default"})
        if unknown:
            raise ArgumentError(
                f"fields: {source!r} has {', '.join(map(repr, unknown))}; of an object in Python name, optional and default work"
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
        place = names.index(chosen) if chosen is not None else _place(dict(enumerate(sample)), index, sample)
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
        key = chosen or ("image" if "image" in sample else _place(sample, index, sample))
        # The image's place is kept, for the order of a batch's keys.
        values = {name: None if name == key else value for name, value in sample.items()}
        return sample[key], sample.get("label"), ("dict", key, values)
    raise TypeError(f"sample {index} is {_kind(sample)}; {_FORMS}")


def _place(parts: Mapping[Any, Any], index: int, sample: Any) -> Any:
    """Returns the key of the first part that is an image. Boxes and other rows of float32 are the image only where nothing
    else is; an array before it that has its size, but whose numbers are none of an image, is an error."""
    found = [key for key, part in parts.items() if _is_image(part)]
    if found:
        key = found[0]
        if _may_be_rows(parts[key]):
            sure = (each for each in found if _is_surely_image(parts[each]))
            key = next((each for each in sure if not _sizes(parts[each]) & _sizes(parts[key])), key)
        for before, part in parts.items():
            if before == key:
                break
            if not _is_image(part) and hasattr(part, "dtype") and _sizes(part) & _sizes(parts[key]):
                raise ValueError(
                    f"sample {index} has an array of {part.dtype} with the shape {tuple(part.shape)} at {before!r}, and an image of "
                    f"the same size at {key!r}: an image is uint8 or float32 (0 is black, 1 white); convert it, or call the image that "
                    'is meant "image" in a dictionary'
                )
        return key
    if parts and not isinstance(sample, Mapping):
        # An error about the first part, which should be the image, says the most.
        return next(iter(parts))
    kinds = ", ".join(f"{key!r}: {type(part).__name__}" for key, part in parts.items())
    raise TypeError(f"sample {index} is {_kind(sample)} without an image ({kinds}); {_FORMS}")


def _is_image(part: Any) -> bool:
    """Returns True for a file's bytes, a PIL image, and an array whose type and shape may be an image's."""
    if isinstance(part, (bytes, bytearray, memoryview)) or hasattr(part, "getbands"):
        return True
    shape, dtype = getattr(part, "shape", None), str(getattr(part, "dtype", "")).removeprefix("torch.")
    return shape is not None and len(shape) in (2, 3) and dtype in ("uint8", "float32")


def _may_be_rows(part: Any) -> bool:
    shape = getattr(part, "shape", ())
    return len(shape) == 2 and "float32" in str(part.dtype)


def _is_surely_image(part: Any) -> bool:
    if isinstance(part, (bytes, bytearray, memoryview)):
        return bytes(part[:4]).startswith(_FILES)
    shape = getattr(part, "shape", None)
    return shape is None or (len(shape) == 3 and (shape[0] in (1, 3, 4) or shape[2] in (1, 3, 4)))


def _sizes(part: Any) -> set[tuple[int, ...]]:
    """Returns what may be the rows and columns of a PIL image or an array."""
    if hasattr(part, "getbands"):
        return {(part.height, part.width)}
    shape = tuple(getattr(part, "shape", None) or ())
    return {shape[:2], shape[-2:]} if len(shape) in (2, 3) else set()


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


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _image(image: Any, index: int) -> tuple[bytes, tuple[int, int, str] | None]:
    if isinstance(image, bytes):
        return image, None
    if isinstance(image, (bytearray, memoryview)):
        return bytes(image), None
    if hasattr(image, "getbands"):  # PIL
        if image.mode == "F" or image.mode.startswith("I"):
            # Pillow's conversion would clip the pixels to bytes without an error.
            raise ValueError(
                f"the image of sample {index} is a PIL image of mode {image.mode}, whose numbers do not fit 8 bits: return an "
                "array, uint8 or float32 (0 is black, 1 white)"
            )
        image = image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB")
        return image.tobytes(), (*image.size, {"L": "R8", "RGB": "Rgb8", "RGBA": "Rgba8"}[image.mode])
    return _array(image, index)


def _array(image: Any, index: int) -> tuple[bytes, tuple[int, int, str]]:
    import numpy

    channels_first = type(image).__module__.startswith("torch")
    if not hasattr(image, "__array__") and not hasattr(image, "__dlpack__"):
        raise TypeError(
            f"the image of sample {index} is {_kind(image)}; bytes of an image file, a uint8 or float32 array, and a PIL "
            "image work"
        )
    array = numpy.asarray(image)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise ValueError(
            f"the image of sample {index} has the shape {tuple(array.shape)}; (rows, columns), (rows, columns, channels) "
            "and (channels, rows, columns) work"
        )
    last = array.shape[2] in (1, 3, 4)
    if (channels_first and array.shape[0] in (1, 3, 4)) or not last:
        array = numpy.moveaxis(array, 0, 2)
    format = _FORMATS.get((array.dtype.name, array.shape[2]))
    if format is None:
        raise ValueError(
            f"the image of sample {index} is an array of {array.dtype.name} with the shape {tuple(array.shape)}; uint8 with "
            "1, 3 or 4 channels and float32 (0 is black, 1 white) with 1 or 3 work"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    rows, columns, _ = array.shape
    return array.tobytes(), (columns, rows, format)


def _label(label: Any) -> tuple[int | list[float] | None, bool]:
    """Returns a label as a class or as a vector, which mixing takes; None if it is neither. True if a batch of them is what
    torch's ``default_collate`` makes of the labels."""
    kind = type(label)
    if label is None:
        return None, True
    if kind is int:
        return (label, True) if 0 <= label < 2**32 else (None, False)
    if isinstance(label, int):
        # True, and numbers with names, such as those of an IntEnum.
        return (int(label) if 0 <= label < 2**32 else None), False
    if kind is float:
        return _vector([label]), False
    if hasattr(label, "dtype") and hasattr(label, "shape"):
        return _label_of_array(label)
    return _vector(list(label)) if isinstance(label, (list, tuple)) else None, False


def vector_of(label: Any) -> list[float]:
    """Returns the numbers of a label that mixing takes as a vector; none for other labels."""
    found, _ = _label(label)
    return found if isinstance(found, list) else []


def _label_of_array(label: Any) -> tuple[int | list[float] | None, bool]:
    dtype, dimensions = str(label.dtype).removeprefix("torch."), len(label.shape)
    if dtype.startswith(("int", "uint", "bool")) and _size(label) == 1:
        number = int(label.item())
        is_class = 0 <= number < 2**32
        return number if is_class else None, is_class and dtype == "int64" and dimensions == 0
    if dimensions > 1 or not dtype.startswith(("int", "uint", "bool", "float", "bfloat")) or _size(label) == 0:
        return None, False
    values = label.tolist()
    if dtype == "float32" and dimensions == 1:
        return values, True
    return _vector(values if dimensions else [values]), False


def _size(array: Any) -> int:
    size = 1
    for length in array.shape:
        size *= length
    return size


def _vector(values: list[Any]) -> list[float] | None:
    """Returns numbers as floats; None if some are no numbers, or if float32 does not hold them: numbers outside of its range,
    and whole numbers, such as ids, that it would round to others."""
    if values and {*map(type, values)} <= {int, float, bool} and max(map(abs, values)) <= 2**24:
        # float32 holds all whole numbers of this range; a vector has a number for each of many classes.
        return [*map(float, values)]
    floats = []
    for value in values:
        if not isinstance(value, (float, numbers.Real)):
            return None
        try:
            number = float(value)
            near = struct.unpack("<f", struct.pack("<f", number))[0]
        except (OverflowError, TypeError, ValueError):
            return None
        # A whole number beyond 64 bits is a magnitude, not an id.
        is_id = abs(number) < 2**64 and (isinstance(value, numbers.Integral) or number.is_integer())
        if is_id and near != value:
            return None
        floats.append(number)
    return floats or None
