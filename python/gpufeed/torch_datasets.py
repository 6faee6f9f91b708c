"""Data sets of torchvision and timm, opened by what they stand on: files with classes, or arrays in memory. gpufeed decodes these on its
own threads, where the object decodes by Pillow under the interpreter's lock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from gpufeed import _gpufeed, timm_datasets, torch_detection
from gpufeed.draws import Draws
from gpufeed.errors import ArgumentError
from gpufeed.timm_datasets import Stays as _Stays

# torchvision's classes with an array, the attributes of the array and of the classes' numbers, and how the array lies: by images,
# rows, columns and channels.
_ARRAYS = (("CIFAR10", "data", "targets", "nhwc"), ("MNIST", "data", "targets", "nhw"), ("SVHN", "data", "labels", "nchw"))
# How often a target_transform is called with each target: one that draws from a generator of its own differs now and then.
_CALLS = 32


# Makes the data set, with or without the names of the classes.
_Maker = Callable[[bool], _gpufeed.Dataset]


def native(data: Any, named: bool = True) -> _gpufeed.Dataset | None:
    """Returns the data set of what an object of torchvision or timm stands on, without its transform; ``None`` for other objects, and for
    those that do more than gpufeed knows. ``named`` gives it the names of the classes."""
    try:
        make = _maker(data)
    except _Stays:
        return None
    return None if make is None else make(named)


def transform_of(data: Any) -> Any:
    """Returns the transform of an object of torchvision or timm that :func:`native` opens. Torch's ``Subset`` and ``ConcatDataset`` have
    that of all of their parts; ``None`` without one, and where parts differ or are other objects."""
    parts = parts_of(data)
    found = [_transform(part) if _is_known(part) else None for part in parts]
    if not found or found[0] is None or any(each is not found[0] for each in found):
        return None
    return found[0] if why_in_python(data) is None else None


def transforms_held(data: Any) -> list[Any]:
    """Returns the transform that each part of torch's ``Subset`` and ``ConcatDataset`` holds now, and of other objects their own."""
    return [_transform(part) for part in parts_of(data)]


def has_transform(data: Any) -> bool:
    """True for an object of torchvision or timm that has a transform, also as a part of torch's ``Subset`` and ``ConcatDataset``."""
    return any(_is_known(part) and _transform(part) is not None for part in parts_of(data))


def is_detection(data: Any) -> bool:
    """True for objects of torchvision, and torch's ``Subset`` and ``ConcatDataset`` of such, whose samples are an image and a target with boxes,
    and whose transforms get both."""
    return all(torch_detection.is_coco(part) for part in parts_of(data))


def _transform(part: Any) -> Any:
    return torch_detection.transform_of(part) if torch_detection.is_wrapped(part) else getattr(part, "transform", None)


def note_of(data: Any) -> str:
    """Returns a sentence about a data set whose transform a loader runs."""
    return f"data: the loader runs the transform of this {type(parts_of(data)[0]).__name__} and reads its samples; its __getitem__ is not called"


def why_in_python(data: Any) -> str | None:
    """Returns why objects of torchvision and timm are read in Python; ``None`` for those that are not, and for other objects."""
    for part in parts_of(data):
        try:
            _maker(part)
        except _Stays as stays:
            return f"{'timm' if timm_datasets.is_one(part) else 'torchvision'}'s {type(part).__name__}: {stays}"
    return None


def image_size(data: Any) -> list[int] | None:
    """Returns height and width of the images of objects of torchvision that have arrays of one size; ``None`` for others."""
    parts, vision = parts_of(data), sys.modules.get("torchvision.datasets")
    if vision is None or not all(any(isinstance(part, getattr(vision, name)) for name, *_ in _ARRAYS) for part in parts):
        return None
    sizes = {tuple(part.data.shape[2:] if isinstance(part, vision.SVHN) else part.data.shape[1:3]) for part in parts}
    return [int(side) for side in sizes.pop()] if len(sizes) == 1 else None


def channels(data: Any) -> int | None:
    """Returns how many channels the images of objects of torchvision and timm have that :func:`native` opens; ``None`` for others."""
    if why_in_python(data) is not None:
        return None
    vision = sys.modules.get("torchvision.datasets")
    found = {1 if vision is not None and isinstance(part, vision.MNIST) else 3 for part in parts_of(data)}
    return found.pop() if len(found) == 1 else None


def is_made_of(data: Any) -> bool:
    """True for an object of torchvision or timm, and for torch's ``Subset`` and ``ConcatDataset`` with such a part."""
    return any(_is_known(part) for part in parts_of(data))


def parts_of(data: Any) -> list[Any]:
    """Returns the objects of which torch's ``Subset`` and ``ConcatDataset`` are made; other objects are their own part."""
    of_torch = sys.modules.get("torch.utils.data")
    if of_torch is not None and type(data) is of_torch.Subset:
        return parts_of(data.dataset)
    if of_torch is not None and type(data) is of_torch.ConcatDataset:
        return [each for part in data.datasets for each in parts_of(part)]
    return [data]


def _is_torchvisions(data: Any) -> bool:
    # Does not import torchvision: who has one of its objects has imported it.
    vision = sys.modules.get("torchvision.datasets")
    return vision is not None and isinstance(data, vision.VisionDataset)


def _is_known(data: Any) -> bool:
    return _is_torchvisions(data) or timm_datasets.is_one(data)


def _maker(data: Any) -> _Maker | None:
    """Checks an object, and returns what opens it; ``None`` for objects that are neither torchvision's nor timm's."""
    if not _is_known(data):
        return None
    of_timm, vision = timm_datasets.is_one(data), sys.modules.get("torchvision.datasets")
    if vision is not None and isinstance(data, vision.FakeData):
        raise ArgumentError(
            'data: FakeData makes random images in Python; a folder of images works, and "gpufeed bench --data procedural" '
            "measures without one"
        )
    try:
        if of_timm:
            reader = timm_datasets.folder_of(data)
            return _of_files(data, reader.root, reader.samples, reader)
        assert vision is not None, "the object is torchvision's"
        if torch_detection.is_coco(data):
            return torch_detection.maker(data)
        # A subclass may choose files and classes as it likes, but not read samples, nor have others than those of the lists.
        if _reads_as(data, vision.DatasetFolder):
            if data.loader not in (vision.folder.default_loader, vision.folder.pil_loader):
                raise _Stays("it has a loader of its own")
            return _of_files(data, data.root, data.samples, data)
        for name, images, numbers, layout in _ARRAYS:
            if _reads_as(data, getattr(vision, name)):
                return _of_array(data, getattr(data, images), getattr(data, numbers), layout)
    except _Stays:
        raise
    except Exception as error:
        raise _Stays(f"looking at it raised {type(error).__name__}: {error}") from error
    raise _Stays("its __getitem__ is not one that gpufeed knows")


def _reads_as(data: Any, known: Any) -> bool:
    kind = type(data)
    return kind.__getitem__ is known.__getitem__ and kind.__len__ is known.__len__ and not hasattr(data, "__getitems__")


def _of_files(data: Any, root: Any, files: list[tuple[str, int]], named_by: Any) -> _Maker:
    table = _target_table(data, (target for _, target in files))
    names = [] if data.target_transform is not None else _names(named_by, table.values())

    def make(named: bool) -> _gpufeed.Dataset:
        # Relative paths are those of the process's folder, and not of the root.
        here = os.getcwd()
        samples = [(os.path.join(here, path), table[target]) for path, target in files]
        return _gpufeed.Dataset.files(data, os.path.join(here, root), samples, names if named else [], named)

    return make


def _of_array(data: Any, images: Any, numbers: Any, layout: str) -> _Maker:
    import numpy

    array, targets = numpy.asarray(images), numpy.asarray(numbers)
    if array.dtype != numpy.uint8 or targets.shape != (len(array),) or targets.dtype.kind not in "iu":
        raise _Stays(f"its images are {array.dtype}, and its labels {targets.dtype} {list(targets.shape)}")
    shape = [*array.shape]
    if array.ndim == len(layout):
        array = array[..., None] if layout == "nhw" else array.transpose(0, 2, 3, 1) if layout == "nchw" else array
    if array.ndim != 4 or array.shape[3] != (1 if layout == "nhw" else 3):
        raise _Stays(f"its images are an array of {shape}")
    known: list[int] = targets.tolist()
    table = _target_table(data, known)
    labels = [table[target] for target in known]
    names = [] if data.target_transform is not None else _names(data, table.values())
    return lambda named: _gpufeed.Dataset.array(data, array.shape, array.tobytes(), labels, names if named else [], named)


def _target_table(data: Any, targets: Iterable[Any]) -> dict[Any, int]:
    """Returns the class's number of each target: what ``target_transform`` makes of it, if there is one."""
    table = {}
    for target in {*targets}:
        made = target if data.target_transform is None else _transformed(data.target_transform, target)
        if isinstance(made, bool) or not isinstance(made, int) or not 0 <= made < 2**32:
            raise _Stays(f"its target {target!r} becomes {made!r:.60}, which is no class's number")
        table[target] = int(made)
    return table


def _transformed(transform: Callable[[Any], Any], target: Any) -> Any:
    first: Any = None
    for seed in range(_CALLS):
        with Draws(seed) as draws:
            made = transform(target)
            if draws.drawn:
                raise _Stays("its target_transform draws random numbers")
        if type(made) is not int:
            return made
        if seed > 0 and made != first:
            raise _Stays("its target_transform gives other numbers each time")
        first = made
    return first


def _names(data: Any, numbers: Iterable[int]) -> list[str]:
    """Returns the names of the classes by their numbers; none where they are not known."""
    known = getattr(data, "class_to_idx", None)
    classes = getattr(data, "classes", None)
    if isinstance(known, dict) and sorted(known.values()) == list(range(len(known))):
        names = sorted(known, key=lambda name: known[name])
    elif isinstance(classes, list):
        # ImageNet's classes have several names each.
        names = [", ".join(name) if isinstance(name, tuple) else name for name in classes]
    else:
        return []
    fit = all(isinstance(name, str) for name in names) and max(numbers, default=0) < len(names)
    return [str(name) for name in names] if fit else []
