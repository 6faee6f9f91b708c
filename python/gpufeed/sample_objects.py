"""Objects in the samples of a data set in Python: boxes and keypoints, which move with their image, and a value of each, such as labels.

A sample has them in a dictionary beside its image, as torchvision's detectors take it: ``(image, {"boxes": ..., "labels": ...})``. They are
found by their types, torchvision's ``BoundingBoxes`` and ``KeyPoints``, or named by the keyword ``fields``. What the dictionary has beside
them is of the whole image, and comes to its batch as it is.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpufeed.draws import Draws
from gpufeed.errors import ArgumentError
from gpufeed.failures import warn_once_outside
from gpufeed.sample_images import place_of

# The objects of an image as ``objects.rs`` takes them: format, width and height, clamping, boxes, keypoints, values.
Given = tuple[str, "tuple[int, int] | None", bool, "bytes | None", "tuple[int, bytes, bytes] | None", list[tuple[str, bool, bytes]]]

# The name of the native field, and of the targets where a choice gives none.
TARGETS = "targets"
BOXES, KEYPOINTS = "boxes", "keypoints"
FORMATS = ("xyxy", "xywh", "cxcywh")

# Names of which a list has a value for each object, and those of which it says something of the image.
_VALUES = {"labels", "label", "area", "areas", "iscrowd", "is_crowd", "difficult", "truncated", "occluded", "id", "ids", "scores", "score"}
_VALUES |= {"category_id", "category_ids", "class_id", "class_ids", "weights", "track_ids", "visible_fraction"}
_OF_IMAGE = {"image_id", "size", "orig_size", "original_size", "orig_shape", "original_shape", "canvas_size", "img_size", "idx", "index"}
# torchvision's classes of which samples have objects, and what code names that makes them.
_DETECTION = {"VisionDatasetTVTensorWrapper", "CocoDetection", "VOCDetection", "Kitti", "WIDERFace"}
_MAKE = {"BoundingBoxes", "KeyPoints", "wrap_dataset_for_transforms_v2", BOXES}


class Left:
    """What is left of a target without its objects: its keys in their order, the values that are of the whole image, and the keys of
    torchvision's ``KeyPoints`` and of keypoints without a visibility."""

    def __init__(self, keys: list[Any], values: dict[Any, Any], kinds: dict[Any, str]) -> None:
        self.keys, self.values, self.kinds = keys, values, kinds


class Lefts:
    """Stands in a batch for the targets of its images."""

    def __init__(self, lefts: list[Left]) -> None:
        self.lefts = lefts


class Choice:
    """The part of samples that has objects: ``source`` is its name, and ``name`` the one of the field. ``format`` is that of boxes that do
    not say it, and ``values`` the names of which each object has a value; None where names decide."""

    def __init__(self, source: str, name: str = TARGETS, format: str | None = None, values: list[str] | None = None) -> None:
        self.source, self.name, self.format, self.values = source, name, format, values

    def divided(self, target: Any, index: int) -> tuple[Left, Given | None]:
        """Divides a target into its objects and what is left of it."""
        if not isinstance(target, Mapping):
            raise TypeError(
                f"sample {index} has a {type(target).__name__} as {self.source!r}; a dictionary with boxes works, as torchvision's detectors take it"
            )
        boxes, points, values, kinds = None, None, {}, {}
        left: dict[Any, Any] = {}
        for key, value in target.items():
            kind = _kind(value)
            if kind == "Mask" or key in ("masks", "mask"):
                raise ArgumentError(
                    f"data: sample {index} has masks, {key!r}, which gpufeed does not move with their image yet; leave them out of the target "
                    '(wrap_dataset_for_transforms_v2 does so with target_keys=["boxes", "labels", "image_id"])'
                )
            if kind == "BoundingBoxes" or key == BOXES:
                if key != BOXES:
                    raise ArgumentError(f'data: sample {index} has boxes as {key!r}; under the name "boxes" they move with their image')
                boxes = value
            elif kind == "KeyPoints" or key == KEYPOINTS:
                if key != KEYPOINTS:
                    raise ArgumentError(f'data: sample {index} has keypoints as {key!r}; under the name "keypoints" they move with their image')
                points = value
            elif self._is_of_objects(key, value, index):
                values[key] = value
            else:
                left[key] = value
        if boxes is None and points is None:
            return Left([*target], dict(target), {}), None
        of_boxes, format, size, clamps = (None, "xyxy", None, True) if boxes is None else _boxes(boxes, self.format, index)
        of_points = None
        if points is not None:
            of_points, kinds[KEYPOINTS], said = _points(points, index)
            size = size or said
        count = len(of_boxes) // 16 if of_boxes is not None else 0 if of_points is None else len(of_points[2]) // max(of_points[0], 1)
        listed = [_values(name, value, count, index) for name, value in values.items()]
        return Left([*target], left, kinds), (format, size, clamps, of_boxes, of_points, listed)

    def _is_of_objects(self, key: Any, value: Any, index: int) -> bool:
        """True if a part of a target has a value for each object."""
        if self.values is not None:
            return key in self.values
        if not _is_list(value) or key in _OF_IMAGE:
            return False
        if key in _VALUES:
            return True
        raise ArgumentError(
            f"data: sample {index} has {key!r} in its target, a {type(value).__name__}, and the name does not say whether that is a value for each object, "
            f'which goes when the object is removed, or of the image; fields={{"{self.source}": {{"name": "{self.name}", "kind": "objects", '
            f'"values": ["labels"]}}}} names all that objects have, and the rest stays as it is'
        )


class WithObjects:
    """Converts the items of a data set as ``item`` does, and takes the objects out of them."""

    def __init__(self, item: Callable[[Any, int], Any], choice: Choice) -> None:
        self.item, self.choice = item, choice
        # The name of the native field, which is no name of the sample's own image or label.
        self.objects = choice.name if choice.name not in ("image", "label") else TARGETS
        self.images = getattr(item, "images", ())
        if hasattr(item, "chosen"):
            self.chosen = item.chosen

    def __call__(self, sample: Any, index: int) -> Any:
        key = parts_of(sample, index).get(self.choice.source)
        if key is None:
            # The converter says what is wrong with such a sample.
            return self.item(sample, index)
        left, objects = self.choice.divided(_part(sample, key), index)
        return (*self.item(_replaced(sample, key, left), index)[:5], objects)


def parts_of(sample: Any, index: int) -> dict[str, Any]:
    """Returns the keys of what stands beside the image of a sample by the names that ``fields`` have for them."""
    if isinstance(sample, (tuple, list)):
        place = place_of(dict(enumerate(sample)), index, sample)
        others = [number for number in range(len(sample)) if number != place]
        names = [sample._fields[number] for number in others] if hasattr(sample, "_fields") else ["label", *map(str, others[1:])]
        return dict(zip(names, others))
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        return {field.name: field.name for field in dataclasses.fields(sample)}
    return {name: name for name in sample} if isinstance(sample, Mapping) else {}


def _part(sample: Any, key: Any) -> Any:
    return getattr(sample, key) if dataclasses.is_dataclass(sample) else sample[key]


def _replaced(sample: Any, key: Any, value: Any) -> Any:
    """Returns a sample with another value in the place of a part."""
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        return {field.name: value if field.name == key else getattr(sample, field.name) for field in dataclasses.fields(sample)}
    if isinstance(sample, Mapping):
        return {name: value if name == key else each for name, each in sample.items()}
    parts = [value if number == key else each for number, each in enumerate(sample)]
    return type(sample)(*parts) if hasattr(sample, "_fields") else tuple(parts)


def refuse_unmoved(sample: Any, index: int) -> None:
    """Raises an error for objects that were not named: they would stay where they are while their image moves."""
    parts = sample.items() if isinstance(sample, Mapping) else enumerate(sample) if isinstance(sample, (tuple, list)) else ()
    for name, part in parts:
        inner = part.values() if isinstance(part, Mapping) else (part,)
        found = next((kind for kind in map(_kind, inner) if kind), None)
        if found is None:
            continue
        if found == "Mask":
            raise ArgumentError(f"data: sample {index} has a mask of torchvision's at {name!r}, which gpufeed does not move with its image yet")
        if not isinstance(part, Mapping):
            raise ArgumentError(
                f"data: sample {index} has torchvision's {found} at {name!r}, beside its image; in a dictionary of its own they move with it: "
                '(image, {"boxes": boxes, "labels": labels})'
            )
        source = "label" if isinstance(sample, (tuple, list)) and name == 1 else name
        raise ArgumentError(
            f"data: sample {index} has torchvision's {found}, of which this data set's class does not show that they come; "
            f'fields={{"{source}": {{"name": "targets", "kind": "objects"}}}} has them moved with their image'
        )


def found_in(data: Any, parts: list[Any]) -> Choice | None:
    """Returns the part of a data set's samples that has torchvision's boxes or keypoints; ``None`` without one. The first sample says it,
    which is read where the code of the data set's ``parts`` names them."""
    if sys.modules.get("torchvision.tv_tensors") is None or not any(_may_make(part) for part in parts):
        return None
    with Draws(0):
        try:
            if len(data) == 0:
                return None
            sample = data[0] if hasattr(data, "__getitem__") else data.__getitems__([0])[0]
            keys = parts_of(sample, 0)
        except Exception:  # noqa: BLE001 - a run of the loader says what is wrong with the sample
            return None
    targets = {name: _part(sample, key) for name, key in keys.items()}
    having = [name for name, part in targets.items() if isinstance(part, Mapping) and any(_kind(value) for value in part.values())]
    if len(having) > 1:
        raise ArgumentError(f"data: sample 0 has boxes in {' and in '.join(map(repr, having))}; one dictionary with the objects of its image works")
    if not having:
        refuse_unmoved(sample, 0)
        _warn_of_plain(targets)
        return None
    choice = Choice(having[0], having[0] if isinstance(sample, Mapping) else TARGETS)
    choice.divided(targets[having[0]], 0)
    return choice


def _warn_of_plain(targets: dict[str, Any]) -> None:
    """Warns of boxes that are plain tensors: no transform moves them, as in torchvision."""
    for name, target in targets.items():
        boxes = target.get(BOXES) if isinstance(target, Mapping) else None
        shape: tuple[int, ...] = tuple(getattr(boxes, "shape", ()))
        if len(shape) == 2 and shape[1] == 4:
            warn_once_outside(
                f"gpufeed: data: sample 0 has boxes that are a plain {type(boxes).__name__}: they stay where they are while transforms move the image, as with "
                f'torchvision; tv_tensors.BoundingBoxes move with it, and so do those of fields={{"{name}": {{"name": "targets", "kind": "objects"}}}}'
            )


def chosen_in(choice: Any) -> Choice | None:
    """Returns the part of samples that the keyword ``fields`` names as objects; ``None`` without one."""
    fields = choice.items() if isinstance(choice, Mapping) else ()
    named = [(source, field) for source, field in fields if isinstance(field, Mapping) and field.get("kind") == "objects"]
    if len(named) > 1:
        raise ArgumentError(f"fields: {named[0][0]!r} and {named[1][0]!r} are objects of the samples' own images; one field of objects works")
    for source, field in named:
        unknown = sorted({*field} - {"name", "kind", "format", "values", "optional"})
        if unknown:
            raise ArgumentError(f"fields: {source!r} has {', '.join(map(repr, unknown))}; of objects in Python name, kind, format and values work")
        format, values = field.get("format"), field.get("values")
        if format is not None and format not in FORMATS:
            raise ArgumentError(f'fields: {source!r} has the format {format!r}; "xyxy", "xywh" and "cxcywh" work')
        if values is not None and not all(isinstance(name, str) for name in values):
            raise ArgumentError(f"fields: {source!r} has the values {values!r}; a list of names works")
        return Choice(source, field.get("name", TARGETS), format, None if values is None else [*values])
    return None


def _kind(value: Any) -> str | None:
    """Returns the name of torchvision's class of boxes, keypoints or masks; ``None`` for other values."""
    tensors = sys.modules.get("torchvision.tv_tensors")
    if tensors is None or type(value).__module__.split(".")[0] != "torchvision":
        return None
    return next((name for name in ("BoundingBoxes", "KeyPoints", "Mask") if isinstance(value, getattr(tensors, name, ()))), None)


def _is_list(value: Any) -> bool:
    """True for lists and arrays that are no single number and no text."""
    shape = getattr(value, "shape", None)
    return len(shape) > 0 if shape is not None else isinstance(value, (list, tuple))


def _array(value: Any) -> Any:
    import numpy

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().as_subclass(torch.Tensor).cpu()
        value = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
    return numpy.asarray(value)


def _boxes(boxes: Any, format: str | None, index: int) -> tuple[bytes, str, tuple[int, int] | None, bool]:
    """Returns boxes as float32, their format, the width and height of their image, and whether they are cut to it."""
    size, clamps = None, True
    if _kind(boxes) == "BoundingBoxes":
        own = boxes.format.name.lower()
        if own not in FORMATS:
            raise ArgumentError(f"data: sample {index} has boxes of the format {boxes.format.name}; XYXY, XYWH and CXCYWH work")
        if format not in (None, own):
            raise ArgumentError(f"fields: the format {format!r}, but sample {index} has boxes of the format {own!r}")
        format = own
        size = (int(boxes.canvas_size[1]), int(boxes.canvas_size[0]))
        clamps = getattr(boxes, "clamping_mode", "soft") is not None
    array = _array(boxes)
    if array.size == 0:
        array = array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != 4 or array.dtype.kind not in "iuf":
        raise ValueError(f"sample {index} has boxes of {array.dtype} and the shape {list(array.shape)}; [objects, 4] works")
    return array.astype("float32").tobytes(), format or "xyxy", size, clamps


def _points(points: Any, index: int) -> tuple[tuple[int, bytes, bytes], str, tuple[int, int] | None]:
    """Returns keypoints as float32, with the number of each object's and their visibility; what they were; and their image's width and
    height."""
    import numpy

    of_torchvision = _kind(points) == "KeyPoints"
    size = (int(points.canvas_size[1]), int(points.canvas_size[0])) if of_torchvision else None
    array = _array(points)
    if array.size == 0:
        array = array.reshape(0, *(array.shape[1:] if array.ndim == 3 else (1, 2 if of_torchvision else 3)))
    if array.ndim == 2 and of_torchvision:
        # One point of each object.
        array = array[:, None]
    if array.ndim != 3 or array.shape[2] not in (2, 3) or array.dtype.kind not in "iuf":
        raise ValueError(f"sample {index} has keypoints of {array.dtype} and the shape {list(array.shape)}; [objects, keypoints, 3] works: x, y, visibility")
    seen = array[..., 2] if array.shape[2] == 3 else numpy.full(array.shape[:2], 2)
    if not numpy.isin(seen, (0, 1, 2)).all():
        raise ValueError(f"sample {index} has keypoints of another visibility than 0, 1 and 2")
    kind = "tv" if of_torchvision else "xyv" if array.shape[2] == 3 else "xy"
    if of_torchvision and points.ndim == 2:
        kind = "tv1"
    return (array.shape[1], array[..., :2].astype("float32").tobytes(), seen.astype("uint8").tobytes()), kind, size


def _values(name: Any, value: Any, count: int, index: int) -> tuple[str, bool, bytes]:
    """Returns the values of objects: their name, True for whole numbers, and int64 or float32."""
    array = _array(value)
    if array.shape != (count,) or array.dtype.kind not in "biuf":
        raise ValueError(
            f"sample {index} has {name!r} of {array.dtype} and the shape {list(array.shape)}, and {count} objects; a number for each object works"
        )
    are_whole = array.dtype.kind != "f"
    return str(name), are_whole, array.astype("int64" if are_whole else "float32").tobytes()


def _may_make(data: Any) -> bool:
    """True for a data set whose code names torchvision's boxes or keypoints, and for lists that have them."""
    if type(data) in (list, tuple):
        return True
    for kind in type(data).__mro__:
        if kind.__module__.split(".")[0] in ("builtins", "torch", "abc", "typing"):
            continue
        for method in vars(kind).values():
            function = getattr(method, "__func__", method)
            if isinstance(function, types.FunctionType) and any(_names_objects(code) for code in _codes(function)):
                return True
    return any(kind.__name__ in _DETECTION for kind in type(data).__mro__)


def _names_objects(code: types.CodeType) -> bool:
    return any(name in _MAKE for name in (*code.co_names, *code.co_consts) if isinstance(name, str))


def _codes(function: types.FunctionType) -> Iterator[types.CodeType]:
    """Yields the code of a function, of the functions in it, and of those that it calls by their names in its module."""
    yield from _within(function.__code__)
    for code in _within(function.__code__):
        for name in code.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, types.FunctionType) and called.__module__ == function.__module__:
                yield from _within(called.__code__)


def _within(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _within(each)
