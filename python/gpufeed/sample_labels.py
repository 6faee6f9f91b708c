"""Labels of objects in Python as the native module takes them: a class, or a vector of float32."""

from __future__ import annotations

import numbers
import struct
from typing import Any


def label_of(label: Any) -> tuple[int | list[float] | None, bool]:
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
    found, _ = label_of(label)
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
