"""Objects of a user's own that run a list of transforms and do no more, and objects of subclasses that change arguments alone."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import torch
import torchvision.transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from gpufeed import settled
from gpufeed.draws import Draws
from gpufeed.probe_images import byte_images, equal, image_of, noise
from gpufeed.remembered import of_object

# Heights and widths of probes: crops may be larger than the image, or treat large ones differently.
_SIZES = ((130, 96), (300, 400), (1300, 900))
_LONG_SIZES = ((64, 6000), (3000, 4000))
_SEEDS = 3

# What a subclass may define without changing what its objects do to images.
_HARMLESS = {"__doc__", "__init__", "__repr__", "__module__", "__qualname__", "__dict__", "__weakref__", "__annotations__"}
_HARMLESS |= {"__parameters__", "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__"}


def unchanged(transform: Any) -> tuple[list[Any], str] | None:
    """Takes an object of a subclass that has other arguments than its class of torchvision, and the same methods."""
    kind = type(transform)
    base = next((base for base in kind.__mro__ if base.__module__.startswith("torchvision.transforms")), None)
    if base is None or base is kind or base.__name__.startswith("_"):
        return None
    if changed_methods(kind, base):
        return None
    held = vars(transform)
    if any(callable(getattr(base, name, None)) for name in held) or held.get("_forward_hooks") or held.get("_forward_pre_hooks"):
        return None
    same: Any = object.__new__(base)
    same.__dict__.update(held)
    return [same], f"{base.__name__}, of which it changes the arguments alone"


def changed_methods(kind: type, base: type) -> list[str]:
    """Returns the names that a subclass of a class defines anew, as far as they may change what its objects do to images."""
    between = kind.__mro__[: kind.__mro__.index(base)]
    own = {name: value for each in between for name, value in vars(each).items() if name not in _HARMLESS}
    of_base = {*dir(base)}
    # A class's attribute may stand in the place of an object's.
    return [name for name, value in own.items() if name in of_base or name.startswith("_") or not callable(value)]


def lists_of(transform: Any) -> dict[str, Any]:
    """Returns the attributes of an object that are lists of transforms, by their names."""
    found = getattr(transform, "__dict__", {})
    modules = found.get("_modules", {}) if isinstance(found, dict) else {}
    kinds = (v1.Compose, v2.Compose, torch.nn.Sequential)
    return {name: value for name, value in {**found, **modules}.items() if type(value) in kinds and name.isidentifier()}


def list_of_preset(transform: Any, is_gray: bool) -> str | None:
    """Returns the name of the list of an object that runs it and does no more, as the presets of torchvision's references have it under
    ``transforms``. Its methods read nothing else of the object: what they read might be a switch. ``is_gray``: gpufeed keeps the one
    channel of gray images, of which the object may not make three."""
    lists = lists_of(transform)
    if len(lists) != 1 or type(transform) in (v1.Compose, v2.Compose, torch.nn.Sequential):
        return None
    (name,) = lists
    known = settled.object_constants(transform, but=name)
    if known is None or settled.reads_of(transform) != {name}:
        return None
    sizes = _SIZES if settled.is_blind(transform, name) else _SIZES + _LONG_SIZES

    def find(copy: Any) -> str | None:
        inner, found = lists_of(copy)[name], set()
        for of_pillow in (False, True):
            images = [image_of(noise((height, width, 3)), of_pillow) for height, width in sizes]
            if sizes is not _SIZES:
                images += byte_images(of_pillow)
            for image in images:
                found.add(_runs(copy, inner, image))
                if False in found:
                    return None
        others = [image_of(noise((300, 400, 3)), True).convert(mode) for mode in ("L", "RGBA", "P", "LA")]
        return name if True in found and not any(_differs(copy, inner, other, is_gray) for other in others) else None

    # Transforms in the list are looked at one by one: their state is their own.
    found: str | None = of_object(transform, ("preset", is_gray), known, find, lambda held: held in (name, "_modules"))
    return found


def takes_target(transform: Any) -> bool:
    """True for an object of a user's own that has to be called with an image and its target, as the presets of torchvision's references for
    detection and segmentation are."""
    call = inspect.getattr_static(type(transform), "__call__", None)
    if call is getattr(torch.nn.Module, "__call__"):
        call = inspect.getattr_static(type(transform), "forward", None)
    if not isinstance(call, types.FunctionType) or settled.is_of_library(type(transform)):
        return False
    return call.__code__.co_argcount - len(call.__defaults__ or ()) == 3


def list_with_target(transform: Any) -> str | None:
    """Returns the name of the list of an object that hands an image and its target on to it and does no more; ``None`` for other objects."""
    lists = lists_of(transform)
    if len(lists) != 1 or not settled.hands_on(transform):
        return None
    (name,) = lists
    if settled.object_constants(transform, but=name) is None or settled.reads_of(transform) != {name} or type(lists[name]) is not v2.Compose:
        return None
    copy = settled.copied(transform)
    if copy is None:
        return None
    done = set()
    # What hands on does so with every image; small ones show what it returns.
    for of_pillow in (False, True):
        for seed in range(_SEEDS):
            results = []
            for each in (lists_of(copy)[name], copy):
                image, target = image_of(noise((*_SIZES[0], 3)), of_pillow), _probe_target()
                with Draws(seed):
                    try:
                        made = each(image, target)
                    except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                        made = None
                    results.append((made, Draws.state()))
            (of_list, drawn), (of_object, also) = results
            if of_list is None and of_object is None:
                continue
            done.add(drawn == also and _same_pair(of_list, of_object))
    return name if done == {True} else None


def _probe_target() -> dict[str, Any]:
    height, width = _SIZES[0]
    boxes = torch.tensor([[3.0, 4.0, 60.0, 90.0], [10.0, 20.0, 30.0, 40.0]])
    return {"boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)), "labels": torch.tensor([1, 2])}


def _same_pair(one: Any, other: Any) -> bool:
    """True for two pairs of an image and a target that are the same."""
    if not (isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other) == 2 and equal(one[0], other[0])):
        return False
    first, second = one[1], other[1]
    return [*first] == [*second] and all(torch.equal(first[key], second[key]) for key in first)


def _differs(transform: Callable[[Any], Any], inner: Callable[[Any], Any], image: Any, is_gray: bool) -> bool:
    """True if an object makes something else of an image that is no plain colours than its list does, and than it does of RGB."""
    results = []
    of_colours = [] if is_gray and image.mode == "L" else [(inner, image.convert("RGB"))]
    for code, given in ((transform, image), (inner, image), *of_colours):
        with Draws(0):
            try:
                results.append(code(given.copy()))
            except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                results.append(None)
    return results[0] is not None and not any(equal(results[0], each) for each in results[1:])


def _runs(transform: Callable[[Any], Any], inner: Callable[[Any], Any], image: Any) -> bool | None:
    """Returns whether an object does the same as its list to an image; ``None`` if the list is not for such images."""
    for seed in range(_SEEDS):
        results = []
        for each in (inner, transform):
            with Draws(seed):
                try:
                    made = each(image.clone() if isinstance(image, torch.Tensor) else image.copy())
                except Exception:  # noqa: BLE001 - any error says that the code is not for such images
                    made = None
                results.append((made, Draws.state()))
        (of_list, drawn), (of_object, also) = results
        if of_list is None and of_object is None:
            return None
        if not equal(of_list, of_object) or drawn != also:
            return False
    return True
