"""Finds the objects of a data set in Python that may be called by only one thread at a time.

A data set that is right in torch's worker processes may be wrong on threads: one that seeks in a file and then reads it
gives one sample the bytes of another. Therefore one call at a time is inside an object, unless its reads are known to
share no state:

- the caller or the object says so, by ``thread_safe=True`` or an attribute ``thread_safe``;
- it is a ``list`` or a ``tuple``, torch's ``TensorDataset``, or one of torchvision's data sets below, by its exact type: a
  subclass may read in another way. Their loaders and transforms have to be torchvision's own: one of the user's takes turns
  itself;
- it is torch's ``Subset``, ``ConcatDataset`` or ``StackDataset``, and what it wraps is safe.

Turns belong to the objects at the bottom, as far as attributes lead to them: two loaders over two ``Subset`` of one data set
share its turn, and so do two copies of an object that have one open file.
"""

from __future__ import annotations

import io
import sys
from typing import Any

from gpufeed.errors import ArgumentError

# Each of these has its images in memory, or opens a file of its own for a sample. Not among them are FakeData, which
# seeds the process's random numbers for each image, LSUN and PCAM, for which their libraries decide, and data sets of
# videos.
_TORCHVISION = {
    "caltech": ("Caltech101", "Caltech256"),
    "celeba": ("CelebA",),
    "cifar": ("CIFAR10", "CIFAR100"),
    "clevr": ("CLEVRClassification",),
    "country211": ("Country211",),
    "dtd": ("DTD",),
    "eurosat": ("EuroSAT",),
    "fer2013": ("FER2013",),
    "fgvc_aircraft": ("FGVCAircraft",),
    "flowers102": ("Flowers102",),
    "folder": ("DatasetFolder", "ImageFolder"),
    "food101": ("Food101",),
    "gtsrb": ("GTSRB",),
    "imagenet": ("ImageNet",),
    "imagenette": ("Imagenette",),
    "inaturalist": ("INaturalist",),
    "lfw": ("LFWPeople",),
    "mnist": ("EMNIST", "FashionMNIST", "KMNIST", "MNIST", "QMNIST"),
    "omniglot": ("Omniglot",),
    "oxford_iiit_pet": ("OxfordIIITPet",),
    "places365": ("Places365",),
    "rendered_sst2": ("RenderedSST2",),
    "semeion": ("SEMEION",),
    "stanford_cars": ("StanfordCars",),
    "stl10": ("STL10",),
    "sun397": ("SUN397",),
    "svhn": ("SVHN",),
    "usps": ("USPS",),
}
_SAFE = {(f"torchvision.datasets.{module}", name) for module, names in _TORCHVISION.items() for name in names}
_SAFE |= {("builtins", "list"), ("builtins", "tuple"), ("torch.utils.data.dataset", "TensorDataset")}
# A data set of gpufeed.open. If it is around an object in Python, it takes that object's turns by itself.
_SAFE |= {("gpufeed", "Dataset")}
_WRAPPERS = {
    ("torch.utils.data.dataset", "Subset"): "dataset",
    ("torch.utils.data.dataset", "ConcatDataset"): "datasets",
    ("torch.utils.data.dataset", "StackDataset"): "datasets",
    ("gpufeed.blends", "Objects"): "datasets",
}
# The attributes with functions that torchvision's data sets call for each sample.
_CALLED = ("loader", "_loader", "transform", "target_transform", "transforms")
_LOADERS = ("default_loader", "pil_loader", "accimage_loader")

# The modules of objects that have items, too, but no state that a read changes.
_ARRAYS = ("builtins", "collections", "numpy", "pandas", "polars", "pyarrow", "torch")

Parts = list[tuple[Any, bool]]


def parts(data: Any, thread_safe: bool | None) -> Parts:
    """Returns all objects that reading ``data`` is known to call. True with an object means that one thread at a time
    may call it."""
    found: dict[int, tuple[Any, bool]] = {}
    _look(data, thread_safe, found)
    if thread_safe:
        return [(part, False) for part, _ in found.values()]
    return list(found.values())


def _name(value: Any) -> tuple[str, str]:
    return type(value).__module__, type(value).__qualname__


def _look(data: Any, said: bool | None, found: dict[int, tuple[Any, bool]]) -> None:
    if id(data) in found:
        return
    said = _claim(data) if said is None else said
    inner = _inner(data)
    known = _name(data) in _SAFE or _name(data) in _WRAPPERS
    found[id(data)] = data, said is False or (said is None and not known)
    if said is None and _name(data) in _SAFE:
        for called in _called(data):
            found[id(called)] = called, True
    for part in inner:
        # True holds for all objects that the reads of this object call.
        _look(part, True if said else None, found)


def _claim(data: Any) -> bool | None:
    """Returns the attribute ``thread_safe`` of the object itself, or of the class that has its methods. A subclass with
    a read of its own needs an attribute of its own. An attribute that ``__getattr__`` finds in another object does not
    count."""
    kinds = type(data).__mro__
    if "thread_safe" in getattr(data, "__dict__", {}):
        value = data.__dict__["thread_safe"]
    else:
        saying = next((place for place, kind in enumerate(kinds) if "thread_safe" in vars(kind)), None)
        if saying is None:
            return None
        for method in ("__getitem__", "__getitems__"):
            if any(method in vars(kind) for kind in kinds[:saying]):
                return None
        value = data.thread_safe
    if value is not None and not isinstance(value, bool):
        raise ArgumentError(f"thread_safe: the attribute of {type(data).__name__} is {value!r}; True and False work")
    return value


def _inner(data: Any) -> list[Any]:
    """Returns the data sets that an object wraps. torch's classes are known; for any other object, these are the
    attributes from which something can be read."""
    if _name(data) in _SAFE:
        return []
    held = getattr(data, "__dict__", {})
    if (attribute := _WRAPPERS.get(_name(data))) is not None:
        return _listed(held.get(attribute))
    return [part for value in held.values() for part in _listed(value) if _is_read(part)]


def _is_read(part: Any) -> bool:
    """Returns True for a data set, and for an open file, which copies of its owner share. Returns False for arrays and
    their like."""
    if isinstance(part, io.IOBase):
        return True
    kind = type(part)
    if kind.__module__.split(".")[0] in _ARRAYS and not _is_torch_data(part):
        return False
    return _is_torch_data(part) or (hasattr(kind, "__getitem__") and hasattr(kind, "__len__"))


def _is_torch_data(part: Any) -> bool:
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(part, torch_data.Dataset)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    # A longer list holds paths or labels: nobody wraps so many data sets.
    return list(value[:1000]) if isinstance(value, (list, tuple)) else [value]


def _called(data: Any) -> list[Any]:
    """Returns the functions that a data set of torchvision calls for a sample, except for torchvision's own."""
    held = getattr(data, "__dict__", {})
    return [part for name in _CALLED for part in _foreign(held.get(name))]


def _foreign(called: Any) -> list[Any]:
    if called is None:
        return []
    module, kind = _name(called)
    if kind == "function" and called.__module__ == "torchvision.datasets.folder" and called.__name__ in _LOADERS:
        return []
    if (module, kind) == ("torchvision.datasets.vision", "StandardTransform"):
        return _foreign(called.transform) + _foreign(called.target_transform)
    if module.startswith("torchvision.transforms.") and kind != "Lambda":
        # Looks into Compose, RandomApply, RandomChoice and RandomOrder.
        return [part for inner in _listed(getattr(called, "transforms", None)) for part in _foreign(inner)]
    return [called]
