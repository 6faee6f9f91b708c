"""Images among the parts of a sample of an object in Python: which parts are images, and their bytes.

An image is an encoded file, a PIL image, or an array of rows, columns and channels; ``samples.py`` says which arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Form: TypeAlias = "tuple[int, int, str] | None"

# gpufeed's name of the pixels, for an array's type and number of channels.
_FORMATS = {
    ("uint8", 1): "R8",
    ("uint8", 3): "Rgb8",
    ("uint8", 4): "Rgba8",
    ("float32", 1): "F32x1",
    ("float32", 3): "F32x3",
}

FORMS = (
    "a data set returns (image, label), with None where there is no label, or a tuple, a dictionary, a named tuple or a "
    "dataclass with an image in it"
)

# The first bytes of JPEG, PNG, GIF, TIFF and WebP files.
_FILES = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"II*\0", b"MM\0*", b"RIFF")


def image_of(image: Any, index: int) -> tuple[bytes, Form]:
    """Returns the bytes of an image of sample ``index``, and their form: columns, rows and format, or None for a file."""
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

    if not hasattr(image, "__array__") and not hasattr(image, "__dlpack__"):
        raise TypeError(
            f"the image of sample {index} is {kind_of(image)}; bytes of an image file, a uint8 or float32 array, and a PIL "
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
    if has_channels_first(image, array.shape):
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


def has_channels_first(image: Any, shape: tuple[int, ...]) -> bool:
    """True if the three dimensions of an image are channels, rows and columns: in a tensor wherever they may be, in an array where they
    cannot be rows, columns and channels."""
    of_torch = type(image).__module__.startswith("torch")
    return (of_torch and shape[0] in (1, 3, 4)) or shape[2] not in (1, 3, 4)


def is_image(part: Any) -> bool:
    """Returns True for a file's bytes, a PIL image, and an array whose type and shape may be an image's."""
    if isinstance(part, (bytes, bytearray, memoryview)) or hasattr(part, "getbands"):
        return True
    shape, dtype = getattr(part, "shape", None), str(getattr(part, "dtype", "")).removeprefix("torch.")
    return shape is not None and len(shape) in (2, 3) and dtype in ("uint8", "float32")


def may_be_rows(part: Any) -> bool:
    shape = getattr(part, "shape", ())
    return len(shape) == 2 and "float32" in str(part.dtype)


def is_surely_image(part: Any) -> bool:
    if isinstance(part, (bytes, bytearray, memoryview)):
        return bytes(part[:4]).startswith(_FILES)
    shape = getattr(part, "shape", None)
    return shape is None or (len(shape) == 3 and (shape[0] in (1, 3, 4) or shape[2] in (1, 3, 4)))


def sizes(part: Any) -> set[tuple[int, ...]]:
    """Returns what may be the rows and columns of a PIL image or an array."""
    if hasattr(part, "getbands"):
        return {(part.height, part.width)}
    shape = tuple(getattr(part, "shape", None) or ())
    return {shape[:2], shape[-2:]} if len(shape) in (2, 3) else set()


def kind_of(value: Any) -> str:
    return f"a {type(value).__name__}"


def place_of(parts: Mapping[Any, Any], index: int, sample: Any) -> Any:
    """Returns the key of the first part that is an image. Boxes and other rows of float32 are the image only where nothing
    else is; an array before it that has its size, but whose numbers are none of an image, is an error."""
    found = [key for key, part in parts.items() if is_image(part)]
    if found:
        key = found[0]
        if may_be_rows(parts[key]):
            sure = (each for each in found if is_surely_image(parts[each]))
            key = next((each for each in sure if not sizes(parts[each]) & sizes(parts[key])), key)
        for before, part in parts.items():
            if before == key:
                break
            if not is_image(part) and hasattr(part, "dtype") and sizes(part) & sizes(parts[key]):
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
    raise TypeError(f"sample {index} is {kind_of(sample)} without an image ({kinds}); {FORMS}")
