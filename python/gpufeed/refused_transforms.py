"""What to write in the place of a transform that gpufeed does not have: the sentence of its refusal."""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Collection
from typing import Any

import torch
import torchvision.transforms as v1
from torchvision.transforms import v2

# The page that lists what is supported.
_PAGE = "docs/guide/pytorch/transforms.md has the table"
# The most characters of a class's name and of its module.
_LONGEST = 48

# What does the same, or nearly so, for classes of torchvision and timm.
_INSTEAD = {
    "LinearTransformation": "v2.Normalize scales each channel",
    "RandomIoUCrop": "v2.RandomResizedCrop crops images without boxes",
    "FixedSizeCrop": "v2.RandomCrop(size, pad_if_needed=True) does so",
    "ResizeKeepRatio": "v2.Resize and v2.RandomCrop(size, pad_if_needed=True) come near",
    "RandomCropOrPad": "v2.RandomCrop(size, pad_if_needed=True) does so",
    "CenterCropOrPad": "v2.CenterCrop(size) pads and crops, too",
    "RandAugment": "v2.RandAugment(num_ops=2, magnitude=9) is torchvision's",
    "AutoAugment": "v2.AutoAugment() is torchvision's",
    "AugMixAugment": "v2.AugMix() is torchvision's",
    "GaussianBlur": "v2.GaussianBlur(23, (0.1, 2.0)) is torchvision's, whose pixels differ from Pillow's",
    "Solarization": "v2.RandomSolarize(threshold=128, p=0.2) does so",
}
_OWN_CODE = "put its work into the data set's __getitem__, or into the loop, on the whole batch"


def reason(transform: Any, supported: Collection[str]) -> str:
    """Returns why a transform is not supported, and the nearest that is, in at most 250 characters."""
    kind = type(transform)
    why, instead = "", _instead(kind.__name__, supported)
    if kind in (v2.MixUp, v2.CutMix):
        return " there: it mixes a batch, and is given as batch_transforms="
    if isinstance(transform, functools.partial) and isinstance(transform.func, type):
        return ": it makes transforms and has to be called: weights.transforms()"
    held = _lists(transform)
    base = next((base for base in kind.__mro__[1:] if _is_torchvisions(base) and base.__name__ in supported), None)
    if _is_function(transform):
        why, instead = f" ({_short(_name(transform))}): own code, and no scaling that is known", _OWN_CODE
    elif base is not None:
        why = f": it is a subclass of {base.__name__}, which may do anything"
        instead = f"if it changes nothing, pass v2.{base.__name__}(...) itself"
    elif len(held) > 1:
        names = ", ".join(f"it.{name}" for name in held[:3])
        why = f": it holds {len(held)} lists of transforms ({names}{', ...' if len(held) > 3 else ''})"
        instead = f'give each as a group: groups={{"{held[0][:20]}": (it.{held[0]}, 1), ...}}'
    elif held:
        why = f": it may do other things than its list, it.{held[0]}"
        instead = f"for that list alone pass it.{held[0]}; for two views by it, views=2, too"
    elif not _is_torchvisions(kind):
        why = f": it is {_short(kind.__module__)}'s, not torchvision's"
    return f"{why}; {instead}; {_PAGE}"


def _instead(name: str, supported: Collection[str]) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name]
    if name in supported:
        return f"v2.{name} is"
    near = difflib.get_close_matches(name, supported, 1, 0.75)
    return f"did you mean v2.{near[0]}?" if near else _OWN_CODE


def _is_torchvisions(kind: type) -> bool:
    return kind.__module__.startswith("torchvision.transforms")


def _is_function(transform: Any) -> bool:
    kinds = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
    return type(transform) in (v1.Lambda, v2.Lambda) or isinstance(transform, kinds)


def _name(transform: Any) -> str:
    function = getattr(transform, "lambd", transform)
    return str(getattr(function, "__qualname__", type(function).__name__))


def _lists(transform: Any) -> list[str]:
    """Returns the names of an object's attributes that are lists of transforms."""
    kinds = (v1.Compose, v2.Compose, torch.nn.Sequential)
    found = getattr(transform, "__dict__", {})
    modules = found.get("_modules", {}) if isinstance(found, dict) else {}
    return [name for name, value in {**found, **modules}.items() if type(value) in kinds and name.isidentifier()]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
