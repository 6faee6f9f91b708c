"""torchvision's ``wrap_dataset_for_transforms_v2(CocoDetection(...))``, opened by what it stands on: image files, and the annotations that
it holds in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from gpufeed import _gpufeed
from gpufeed.errors import ArgumentError
from gpufeed.timm_datasets import Stays

_DEFAULT = {"image_id", "boxes", "labels"}
# The keys of a target that objects have, with the names of annotations and True for whole numbers.
_VALUES = {"labels": ("category_id", True), "area": ("area", False), "iscrowd": ("iscrowd", True)}
# The largest number of a class whose names are kept: they are a list by these numbers.
_MOST_CLASSES = 65_535
_WRAP = 'wrap_dataset_for_transforms_v2(it, target_keys=["boxes", "labels", "image_id"])'


def is_wrapped(data: Any) -> bool:
    """True for what ``wrap_dataset_for_transforms_v2`` returns."""
    wrapper = getattr(sys.modules.get("torchvision.tv_tensors._dataset_wrapper"), "VisionDatasetTVTensorWrapper", None)
    return wrapper is not None and isinstance(data, wrapper) and type(data).__getitem__ is wrapper.__getitem__


def is_coco(data: Any) -> bool:
    """True for a wrapped ``CocoDetection``, of whatever subclass."""
    return is_wrapped(data) and isinstance(data, sys.modules["torchvision.datasets"].CocoDetection) and not _is_captions(data)


def transform_of(data: Any) -> Any:
    """Returns the transforms of a wrapped data set, which get an image with its target."""
    return data.transforms if type(data.transforms).__name__ != "StandardTransform" else data.transform


def refuse_unmoved(data: Any) -> None:
    """Raises an error for torchvision's data sets for detection whose targets have what gpufeed does not move with images: annotations as they
    are in files, and masks."""
    vision = sys.modules.get("torchvision.datasets")
    if vision is None:
        return
    if is_coco(data) and (masks := _masks(data._target_keys)):
        raise ArgumentError(
            f"data: target_keys of this {type(data).__name__} ask for {' and '.join(masks)}, and gpufeed has no masks yet; "
            'target_keys=["boxes", "labels", "image_id"] works'
        )
    if is_wrapped(data):
        return
    for name in ("CocoDetection", "VOCDetection", "Kitti", "WIDERFace"):
        known = getattr(vision, name)
        if not isinstance(data, known) or type(data).__getitem__ is not known.__getitem__ or _is_captions(data):
            continue
        joint = data.transforms is not None and type(data.transforms).__name__ != "StandardTransform"
        if not joint and data.target_transform is None:
            raise ArgumentError(
                f"data: the targets of this {type(data).__name__} are annotations as its files have them, with boxes that stay where they are while "
                f"images are cut and resized; {_WRAP} makes boxes of them that move"
            )


def maker(data: Any) -> Callable[[bool], _gpufeed.Dataset]:
    """Checks a wrapped ``CocoDetection``, and returns what opens it."""
    inner, known = data._dataset, sys.modules["torchvision.datasets"].CocoDetection
    changed = [name for name in ("__getitem__", "__len__", "_load_image", "_load_target") if getattr(type(inner), name) is not getattr(known, name)]
    changed += [name for name in ("_load_image", "_load_target") if name in vars(inner)]
    if changed or hasattr(inner, "__getitems__"):
        raise Stays(f"{type(inner).__name__} has a {changed[0] if changed else '__getitems__'} of its own")
    if inner.transforms is not None:
        raise Stays("the data set in the wrapper has transforms of its own")
    if data.target_transform is not None:
        raise Stays("it has a target_transform; transforms= gets image and target together")
    if data.transform is not None:
        raise Stays("its transform= works on images alone, so that boxes stay where they are; transforms= moves both")
    keys = _keys(data._target_keys)
    coco, ids = inner.coco, [*inner.ids]
    if not all(type(each) is int and 0 <= each < 2**64 for each in ids) or len({*ids}) < len(ids):
        raise Stays("its ids are no whole numbers that differ")

    def make(named: bool) -> _gpufeed.Dataset:
        import numpy

        files, counts, boxes = [], [], []
        values: dict[str, list[Any]] = {name: [] for name in _VALUES if name in keys}
        for image in ids:
            files.append(coco.loadImgs(image)[0]["file_name"])
            annotations = coco.loadAnns(coco.getAnnIds(image))
            counts.append(len(annotations))
            try:
                boxes += [annotation["bbox"] for annotation in annotations]
                for name, found in values.items():
                    found += [annotation[_VALUES[name][0]] for annotation in annotations]
            except KeyError as error:
                raise ArgumentError(f"data: an annotation of image {image} has no {error.args[0]!r}") from None
        edges = numpy.asarray(boxes, numpy.float32).reshape(-1, 4)
        # XYXY, as the wrapper gives them; sums are rounded as torch's.
        edges[:, 2:] += edges[:, :2]
        columns = []
        for name, found in values.items():
            are_whole = _VALUES[name][1]
            columns.append((name, are_whole, numpy.asarray(found).astype(numpy.int64 if are_whole else numpy.float32).tobytes()))
        here = os.getcwd()
        root = os.path.join(here, inner.root)
        return _gpufeed.Dataset.detection(
            data, (root, files), ids, (counts, "xyxy", edges.tobytes(), columns), _names(coco) if named else [], named
        )

    return make


def _keys(given: Any) -> set[str]:
    """Returns the keys that targets are to have."""
    if masks := _masks(given):
        raise Stays(f"its target_keys ask for {' and '.join(masks)}, and gpufeed has no masks yet")
    keys = _DEFAULT if given is None else {*given}
    if plain := sorted(keys & {"bbox", "category_id"}):
        raise Stays(f"its target_keys ask for {' and '.join(plain)}, which no transform changes; boxes and labels move with the image")
    if "boxes" not in keys:
        raise Stays("its target_keys ask for no boxes")
    return keys


def _masks(keys: Any) -> list[str]:
    """Returns the keys of masks among those that targets are to have."""
    masks = {"masks", "segmentation"}
    return sorted(masks if keys == "all" else masks & {*(keys or ())})


def _names(coco: Any) -> list[str]:
    """Returns the names of the categories by their numbers; none where a number is large or below 0."""
    found = {each["id"]: each["name"] for each in getattr(coco, "cats", {}).values() if "name" in each}
    if not found or not all(type(number) is int and 0 <= number <= _MOST_CLASSES for number in found):
        return []
    return [str(found.get(number, "")) for number in range(max(found) + 1)]


def _is_captions(data: Any) -> bool:
    return isinstance(data, sys.modules["torchvision.datasets"].CocoCaptions)
