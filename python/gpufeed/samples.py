"""Converts samples of a data set in Python to the form that the native module takes.

A data set returns ``(image, label)``. The image is an encoded file (``bytes``, ``bytearray``, ``memoryview``), a uint8 or
float32 array of rows, columns and channels (or of rows and columns, or with the channels first), a torch tensor with the
channels first, or a PIL image.
"""

from __future__ import annotations

import numbers
import operator
import struct
from typing import Any

Item = tuple[bytes, "tuple[int, int, str] | None", "int | list[float] | None"]

# gpufeed's name of the pixels, for an array's type and number of channels.
_FORMATS = {
    ("uint8", 1): "R8",
    ("uint8", 3): "Rgb8",
    ("uint8", 4): "Rgba8",
    ("float32", 1): "F32x1",
    ("float32", 3): "F32x3",
}


def item(sample: Any, index: int) -> Item:
    """Makes ``(bytes, form, label)`` of an item of a data set; ``form`` is ``None`` for an encoded image."""
    if not isinstance(sample, (tuple, list)) or len(sample) != 2:
        raise TypeError(
            f"sample {index} is {_kind(sample)}; a data set returns (image, label), with None where there is no label"
        )
    image, label = sample
    data, form = _image(image, index)
    return data, form, _label(label, index)


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


def _label(label: Any, index: int) -> int | list[float] | None:
    if label is None:
        return None
    if isinstance(label, (str, bytes)):
        raise TypeError(
            f"the label of sample {index} is the text {label!r}; labels are class numbers, vectors of floats or None: map "
            "names to numbers in the data set"
        )
    if isinstance(label, (bytearray, memoryview, dict, set, frozenset)):
        raise TypeError(
            f"the label of sample {index} is {_kind(label)}; labels are class numbers, vectors of floats or None"
        )
    if isinstance(label, float):
        if not abs(label) <= 2**24:
            _check_numbers([label], index)
        return [float(label)]
    if getattr(getattr(label, "dtype", None), "kind", None) in ("b", "i", "u") and getattr(label, "size", 0) == 1:
        # NumPy's bool_, arrays of one whole number and torch's tensors of one are classes.
        label = int(label.item())
    try:
        number = operator.index(label)
    except TypeError:
        pass
    else:
        if not 0 <= number < 2**32:
            raise ValueError(f"the label of sample {index} is {number}; class numbers run from 0 to 4294967295")
        return number
    try:
        values = label.tolist() if hasattr(label, "tolist") else list(label)
        values = values if isinstance(values, list) else [values]
        if any(isinstance(value, (str, bytes)) for value in values):
            raise TypeError
        floats = [float(value) for value in values]
    except OverflowError:
        _check_numbers(values, index)
        raise
    except (TypeError, ValueError):
        raise TypeError(
            f"the label of sample {index} is {_kind(label)}; labels are class numbers, vectors of floats or None"
        ) from None
    if floats and not _is_held(label) and not max(map(abs, floats)) <= 2**24:
        _check_numbers(values, index)
    return floats


def _is_held(label: Any) -> bool:
    """Returns True for an array or tensor whose type has only numbers that float32 can hold."""
    dtype = getattr(label, "dtype", None)
    return str(dtype).removeprefix("torch.") == "float32" or getattr(dtype, "itemsize", 8) <= 2


def _check_numbers(values: list[Any], index: int) -> None:
    """Refuses numbers of a vector that float32 cannot hold. These are numbers outside of its range, and whole numbers,
    such as ids, that it would round to others."""
    for value in values:
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        try:
            near = struct.unpack("<f", struct.pack("<f", float(number)))[0]
        except OverflowError:
            near = None
        # A whole number beyond 64 bits is a magnitude, not an id.
        is_id = abs(number) < 2**64 and (isinstance(number, int) or number.is_integer())
        if near is None or (is_id and near != number):
            becomes = "it is outside of its range" if near is None else f"it would become {near:.0f}"
            raise ValueError(
                f"the label of sample {index} has the number {value!s:.40}, which float32 does not hold: {becomes}; scale such numbers, "
                "or give ids as class numbers"
            )
