"""The settings of a loader and its recipe, in the form of the native module."""

from __future__ import annotations

import json
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError


def recipe_of(transforms: Any, recipe: Any, batch_transforms: Any) -> tuple[dict[str, Any], tuple[str, ...], int | None]:
    """A recipe's content, notes for explain(), and the classes that a batch transform names."""
    if (transforms is None) == (recipe is None):
        raise ArgumentError("transforms: give either transforms=, torchvision's, or recipe=, a name, a file or a dictionary")
    notes: tuple[str, ...] = ()
    classes = None
    if transforms is not None:
        from gpufeed.torchvision import convert

        converted = convert(transforms, batch_transforms)
        return dict(converted.recipe), converted.notes, converted.num_classes
    text = json.dumps(recipe) if isinstance(recipe, dict) else arguments.path("recipe", recipe)
    content = json.loads(_gpufeed.recipe_content(text))
    if batch_transforms is not None:
        from gpufeed.torchvision import convert

        converted = convert([], batch_transforms)
        content["batch_transform"] = converted.recipe["batch_transform"]
        classes = converted.num_classes
    return content, notes, classes


def cut_normalize(content: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Takes the last ``Normalize`` off a recipe."""
    transforms = list(content.get("transform", []))
    if not transforms or transforms[-1].get("type") != "Normalize":
        raise ArgumentError("normalize_on_device: the last transform is no Normalize; it has to be, as it runs last")
    last = transforms.pop()
    content["transform"] = transforms
    content["output"] = content.get("output", {}) | {"dtype": "U8"}
    return last["mean"], last["std"]


_SIZES = ("slot_bytes", "memory_budget", "max_decode_bytes", "seek_memory", "read_ahead")
_NUMBERS = {"seed": 0, "workers": 1, "queue_depth": 1, "max_pixels": 1, "views": 1, "lanes": 1}
_FLAGS = ("exif", "scaled_decode", "cache_in_bytes")
_WORDS = {
    "last_batch": ("partial", "drop", "pad"),
    "truncated": ("error", "fill"),
    "semantics": ("float", "uint8"),
    "execute": ("auto", "gpu", "cpu"),
}


def native(given: dict[str, Any]) -> dict[str, Any]:
    """The settings with one form for the native module each."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in _SIZES:
            settings[name] = arguments.size(name, value)
        elif name in _NUMBERS:
            settings[name] = arguments.whole(name, value, _NUMBERS[name])
        elif name in _FLAGS:
            settings[name] = arguments.flag(name, value)
        elif name in _WORDS:
            settings[name] = arguments.word(name, value, _WORDS[name])
        elif name == "cache":
            settings[name] = arguments.cache(value)
        elif name == "order":
            settings[name] = arguments.order(value)
        elif name == "remote_cache":
            settings[name] = arguments.remote_cache(value)
        elif name == "on_error":
            settings[name] = arguments.on_error(value)
        elif name in ("seek_indexes", "backend"):
            settings[name] = arguments.path(name, value)
        else:
            raise arguments.unknown(name)
    return settings
