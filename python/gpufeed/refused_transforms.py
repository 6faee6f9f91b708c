"""The refusal of a transform that gpufeed does not have, and what to write in its place."""

from __future__ import annotations

import difflib
import enum
import functools
import types
from collections.abc import Collection
from typing import Any

import torchvision.transforms as v1
from torchvision.transforms import v2

from gpufeed import own_views, presets
from gpufeed.errors import ArgumentError

# The page that lists what is supported.
_PAGE = "docs/guide/pytorch/transforms.md has the table"
# The most characters of a class's name and of its module.
_LONGEST = 48

# What does the same, or nearly so, for classes of torchvision and timm.
_INSTEAD = {
    "LinearTransformation": "v2.Normalize scales each channel",
    "RandomIoUCrop": "v2.RandomResizedCrop crops images without boxes",
    "FixedSizeCrop": "v2.RandomCrop(size, pad_if_needed=True) crops and pads to one size, too",
    "RandAugment": "v2.RandAugment(num_ops=2, magnitude=9) is torchvision's; timm's converts, too",
    "AutoAugment": "v2.AutoAugment() is torchvision's; timm's converts, too",
    "AugMixAugment": "timm's own class converts",
    "GaussianBlur": "v2.GaussianBlur(23, (0.1, 2.0)) is torchvision's, whose pixels differ from Pillow's",
    "Solarization": "v2.RandomSolarize(threshold=128, p=0.2) does so",
}
_OWN_CODE = "put its work into the data set's __getitem__, or into the loop, on the whole batch"


class UnsupportedTransform(ArgumentError):
    """A transform that gpufeed does not have. ``place`` is its place in the list, and ``name`` its class."""

    def __init__(self, place: str, name: str, reason: str) -> None:
        super().__init__(f"{place}: {name} {reason}")
        self.place = place
        self.name = name

    def __reduce__(self) -> Any:
        # An exception that travels between processes is made again from its arguments: its text alone would not do.
        reason = str(self).removeprefix(f"{self.place}: {self.name} ")
        return UnsupportedTransform, (self.place, self.name, reason)


def may_run(transform: Any) -> bool:
    """Returns true for what can run as code of the user's own: it can be called with an image, and is not known to be something
    else than a transform of one image."""
    kind = type(transform)
    if not callable(transform) or isinstance(transform, type) or kind in (v2.MixUp, v2.CutMix):
        return False
    makes = isinstance(transform, functools.partial) and isinstance(transform.func, type)
    if makes or len([*presets.lists_of(transform)]) > 1:
        return False
    return _is_function(transform) or own_views.views_of(transform) is None


def reason(transform: Any, supported: Collection[str]) -> str:
    """Returns why a transform is not supported, and the nearest that is, in at most 250 characters."""
    kind = type(transform)
    why, instead = "", _instead(kind.__name__, supported)
    if kind in (v2.MixUp, v2.CutMix):
        return " there: it mixes a batch, and is given as batch_transforms="
    if isinstance(transform, enum.Enum) and hasattr(transform, "transforms"):
        return ": it is weights, whose list is weights.transforms()"
    if isinstance(transform, functools.partial) and isinstance(transform.func, type):
        return ": it makes transforms and has to be called: weights.transforms()"
    held = [*presets.lists_of(transform)]
    views = None if _is_function(transform) else own_views.views_of(transform)
    base = next((base for base in kind.__mro__[1:] if _is_torchvisions(base) and base.__name__ in supported), None)
    if _is_function(transform):
        why, instead = f" ({_short(_name(transform))}): own code, and no scaling that is known", _OWN_CODE
    elif base is not None:
        changed = ", ".join(name for name in presets.changed_methods(kind, base))[:_LONGEST]
        why = f": it is a subclass of {base.__name__} with a {changed or 'state'} of its own, which may do anything"
        instead = f"v2.{base.__name__}(...) itself is torchvision's"
    elif views is not None:
        why, instead = _of_views(views)
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


def _of_views(views: dict[str, tuple[Any, int]]) -> tuple[str, str]:
    """Returns what an object does that makes several views, and how these are asked for."""
    count = sum(number for _, number in views.values())
    names = [f"it.{name.replace('+', ' + it.')}"[:32] for name in views]
    if len(views) == 1:
        return f": it makes {count} views by one list", f"pass transforms={names[0]}, views={count} in its place"
    numbers = [number for _, number in views.values()]
    told = ", ".join(f"{number} by {name}" for number, name in zip(numbers[:3], names, strict=False))
    return f": it makes {count} views: {told}{', ...' if len(names) > 3 else ''}", "pass groups=it in its place"


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


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
