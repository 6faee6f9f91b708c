"""Makes the fields that are packed of what samples of an object in Python have beside their images.

The native module carries a pickle for each sample (``samples.py`` makes it). A field is the value of one name in it: text,
numbers, bytes, an image, or what JSON holds.
"""

from __future__ import annotations

import io
import json
import numbers
import pickle
from collections.abc import Mapping
from typing import Any

from gpufeed.sample_objects import Left
from gpufeed.samples import by_names

# The first bytes of the image files that a pack knows by their content.
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"P1", b"P2", b"P3", b"P4", b"P5", b"P6", b"P7")

# NumPy's types whose numbers a field holds.
_TYPES = ("bool", *(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)), "float16", "float32", "float64")

# A value in the form of the native module: its kind, its bytes or its text, and of numbers their type and shape.
Part = tuple[str, Any, "tuple[str, list[int]] | None"]


def kinds(rest: bytes | None) -> list[tuple[str, str | None]]:
    """Returns the names beside the image of a sample, and the kinds of their values; None for the kind of None."""
    found = ((name, part(name, value)) for name, value in _beside(rest).items() if name != "label")
    return [(str(name), None if made is None else made[0]) for name, made in found]


def parts(rest: bytes | None, labelled: bool, names: list[str]) -> list[Part | None]:
    """Returns the values of fields in the form of the native module. ``labelled`` is true if the native label is all of the
    label."""
    beside = _beside(rest)
    if not labelled and beside.get("label") is not None:
        raise TypeError(
            f"its label is {_kind(beside['label'])}, which is neither a class nor a vector of numbers, as a pack has them: return "
            "a dictionary, in which it has another name"
        )
    unknown = [str(name) for name in beside if name != "label" and beside[name] is not None and str(name) not in names]
    if unknown:
        raise TypeError(f"it has {', '.join(map(repr, unknown))}, which the first samples lack; None stands for no value")
    values = {str(name): value for name, value in beside.items()}
    return [part(name, values.get(name)) for name in names]


def _beside(rest: bytes | None) -> Mapping[Any, Any]:
    if rest is None:
        return {}
    found: dict[Any, Any] = {}
    for name, value in by_names(*pickle.loads(rest)).items():
        # Objects are a field of their own, and what stands beside them in a target is one each.
        found |= value.values if isinstance(value, Left) else {name: value}
    return found


def part(name: Any, value: Any) -> Part | None:
    """Returns a value in the form of the native module; None where there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return "text", value, None
    if isinstance(value, (bytes, bytearray, memoryview)):
        content = bytes(value)
        is_image = content.startswith(_IMAGES) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")
        return "image" if is_image else "bytes", content, None
    if hasattr(value, "getbands"):  # PIL
        file = io.BytesIO()
        # PNG holds the modes of masks and of depths without loss: 1, L, LA, P, RGB, RGBA, I and I;16.
        value.save(file, "PNG")
        return "image", file.getvalue(), None
    if isinstance(value, (bool, numbers.Number)) or hasattr(value, "__array__"):
        return _numbers(name, value)
    try:
        return "json", json.dumps(value, allow_nan=False), None
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name!r} is {_kind(value)}, which a pack has no place for ({error}); text, bytes, numbers, arrays, images, and lists and "
            "dictionaries of such as JSON holds work"
        ) from error


def _numbers(name: Any, value: Any) -> Part:
    import numpy

    array = numpy.asarray(value)
    if array.dtype.name not in _TYPES:
        raise TypeError(f"{name!r} is {_kind(value)} of {array.dtype}; {', '.join(_TYPES)} work")
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))
    # ascontiguousarray makes an array of one value of a number.
    shape = list(numpy.shape(value))
    return "numbers", array.tobytes(), (array.dtype.name, shape)


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
