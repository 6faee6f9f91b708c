"""Groups of views: lists of transforms that work on the same samples, each with images of its own in a batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError
from gpufeed.handover import Finish
from gpufeed.own_code import Own
from gpufeed.recipe import cut_normalize, groups_in, recipe_of


class Views:
    """A group of views: a list of transforms, and how many images it makes of each sample.

    A value of ``gpufeed.DataLoader(data, groups={"global": ...})``, where ``(transforms, views)`` is its short form. Each view of
    a sample has random numbers of its own.

    Args:
        transforms: torchvision's transforms.
        views: Images of each sample: 1 to 64. Default: the recipe's, else 1.
        recipe: The name of a built-in recipe, a TOML file, or a dictionary of its content, in the place of ``transforms``.
        layout: The order of the elements: ``"nchw"`` or ``"nhwc"``. Default: the loader's, else the recipe's, else NCHW.
        dtype: The type of the elements. Default: the loader's, else that of the list or the recipe.
        source: The field of another image of the sample, such as ``"right"`` or ``"depth"``, of which the views are made. Default:
            the sample's own image.
        follows: The group whose crops, borders, sizes, flips and warps these views have, say of a mask or a depth.
        interpolation: How views that follow others compute pixels: ``"nearest"``, ``"nearest_exact"``, ``"bilinear"`` or
            ``"bicubic"``. Default: ``"nearest"``.
        read_mode: The numbers that are read of a source: ``"color"``; ``"gray16"``, the 16-bit numbers of a PNG as floats; or
            ``"mask"``, the numbers of a PNG's palette or gray as uint8, such as the classes of a segmentation. Default: ``"color"``.
        fill: The number of borders, and of what warps leave outside of the image, of views that follow others, such as 255 for
            a mask. Default: 0.
        semantics: The arithmetic of a recipe: ``"float"`` or ``"uint8"``. Default: the loader's, else the recipe's, else floats.
        normalize_on_device: Leaves the last ``Normalize`` to the device of the tensors. Default: as the loader does.
        channels_last: Tensors in torch's ``channels_last`` format. Default: as the loader does.
    """

    def __init__(
        self,
        transforms: Any = None,
        views: int | None = None,
        *,
        recipe: Any = None,
        layout: str | None = None,
        dtype: Any = None,
        source: str | None = None,
        follows: str | None = None,
        interpolation: str | None = None,
        read_mode: str | None = None,
        fill: float | None = None,
        semantics: str | None = None,
        normalize_on_device: bool | None = None,
        channels_last: bool | None = None,
    ) -> None:
        self.transforms = transforms
        self.views = None if views is None else arguments.whole("views", views, 1, 64)
        self.recipe = recipe
        self.source = None if source is None else arguments.text("source", source)
        self.follows = None if follows is None else arguments.text("follows", follows)
        self.interpolation = None if interpolation is None else arguments.word("interpolation", interpolation, (*_INTERPOLATIONS,))
        self.read_mode = None if read_mode is None else arguments.word("read_mode", read_mode, ("color", "gray16", "mask"))
        self.fill = None if fill is None else arguments.number("fill", fill)
        self.layout = None if layout is None else arguments.word("layout", layout, ("nchw", "nhwc"))
        self.dtype = None if dtype is None else arguments.dtype("dtype", dtype)
        self.semantics = None if semantics is None else arguments.word("semantics", semantics, ("float", "uint8"))
        for name, value in (("normalize_on_device", normalize_on_device), ("channels_last", channels_last)):
            if value is not None:
                arguments.flag(name, value)
        self.normalize_on_device = normalize_on_device
        self.channels_last = channels_last

    def __repr__(self) -> str:
        given = "recipe" if self.transforms is None else "transforms"
        return f"gpufeed.Views({given}, views={self.views})" if self.views is not None else f"gpufeed.Views({given})"


@dataclass(frozen=True)
class Groups:
    """The groups of a loader: the name, the number of views and the recipe of each, how their images are finished, and
    sentences for ``explain()``."""

    lists: tuple[dict[str, Any], ...]
    finishes: dict[str, Finish]
    notes: tuple[str, ...]
    # Whole recipes, with the Normalize that a device computes, which are checked for the data set's channels.
    whole: tuple[tuple[str, str], ...]

    def written(self) -> str:
        """Returns the groups as JSON, for the native module."""
        return json.dumps(self.lists)

    def of_recipes(self) -> dict[str, Views]:
        """Returns the groups without torchvision's objects, for a process without torch. Their images are not finished."""
        made: dict[str, Views] = {}
        for group in self.lists:
            views = Views(recipe=group["recipe"], views=group["views"], normalize_on_device=False, channels_last=False)
            views.source, views.follows, views.read_mode = group["source"], group["follows"], group["read_mode"]
            views.fill = group["fill"]
            views.interpolation = next((word for word, name in _INTERPOLATIONS.items() if name == group["interpolation"]), None)
            made[group["name"]] = views
        return made

    def sources(self) -> list[str]:
        """Returns the fields of images of which groups are made."""
        return [*dict.fromkeys(group["source"] for group in self.lists if group["source"] is not None)]


def groups_of(
    groups: Any, defaults: Mapping[str, Any], keyword: str = "normalize_on_device", own: Own | None = None
) -> Groups:
    """Makes the groups of the argument ``groups``: names with lists, or an object that makes views by its lists. ``defaults`` has the
    loader's own ``layout``, ``dtype``, ``semantics``, ``normalize_on_device`` and ``channels_last``, and the ``channels`` of the data
    set where they are known. ``keyword`` is the loader's word for ``normalize_on_device`` in errors. Code of the
    user's own goes to ``own``; without it such code is refused."""
    notes: list[str] = []
    # What there is to say of lists, with the names of the groups.
    said: dict[str, list[str]] = {}
    if callable(groups) and "torch" in sys.modules:
        from gpufeed import own_views

        found = own_views.groups_of(groups)
        if found is not None:
            lists = ", ".join(f"{name} with {number}" for name, (_, number) in found.items())
            notes.append(f"{type(groups).__name__} is taken as these groups: {lists}: their lists make its views of probe images")
            groups = found
    if not isinstance(groups, Mapping) or not groups:
        raise ArgumentError(
            f'groups: {arguments.given(groups)}; names with transforms and a number of views work: {{"global": (transforms, 2), '
            '"local": (more_transforms, 8)}'
        )
    made: list[dict[str, Any]] = []
    finishes: dict[str, Finish] = {}
    whole: list[tuple[str, str]] = []
    for name, value in groups.items():
        if not isinstance(name, str):
            raise ArgumentError(f"groups: the name {name!r} is a {type(name).__name__}; a text works")
        views = _views(name, value)
        try:
            content, finish, of_list, recipe = _content(name, views, defaults, keyword, own)
            number = arguments.whole("views", content.pop("views", 1) if views.views is None else views.views, 1, 64)
        except ArgumentError as error:
            # The error is that of the group's own list; the place says which.
            raise _of_group(name, error) from error
        content.pop("views", None)
        interpolation = None if views.interpolation is None else _INTERPOLATIONS[views.interpolation]
        facts: dict[str, Any] = {"source": views.source, "follows": views.follows, "read_mode": views.read_mode, "interpolation": interpolation}
        facts["fill"] = views.fill
        made.append({"name": name, "views": number, "recipe": content} | facts)
        finishes[name] = finish
        for note in of_list:
            said.setdefault(note, []).append(name)
        if recipe is not None:
            whole.append((name, recipe))
    notes += [f"{'group' if len({*names}) == 1 else 'groups'} {', '.join(dict.fromkeys(names))}: {note}" for note, names in said.items()]
    return Groups(tuple(made), finishes, tuple(dict.fromkeys(notes)), tuple(whole))


def of_recipe(recipe: Any) -> dict[str, Views] | None:
    """Returns the groups of a recipe that has such; None for a recipe with one list."""
    found = groups_in(recipe)
    if found is None:
        return None
    groups: dict[str, Views] = {}
    for name, content in found.items():
        of_group = {key: content.pop(key, None) for key in ("source", "follows", "interpolation", "read_mode", "fill")}
        word = next((word for word, name in _INTERPOLATIONS.items() if name == of_group["interpolation"]), None)
        groups[name] = Views(recipe={"transform": []} | content, **(of_group | {"interpolation": word}))
    return groups


def _of_group(name: str, error: ArgumentError) -> ArgumentError:
    made = ArgumentError(f"groups: {name!r}: {error}")
    made.kind = getattr(error, "kind", "Argument")
    return made


def _views(name: str, value: Any) -> Views:
    """Returns the group that is meant: ``Views``, transforms with a number of views, or either alone."""
    if isinstance(value, Views):
        return value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int) and not isinstance(value[1], bool):
        given, views = value
        if not 1 <= views <= 64:
            raise ArgumentError(f"groups: {name!r} has {views} views; 1 to 64 work")
    else:
        given, views = value, None
    if given is None or isinstance(given, (bool, int, float)):
        raise ArgumentError(f"groups: {name!r} is {value!r}; (transforms, 2), a list with its number of views, works")
    return Views(recipe=given, views=views) if isinstance(given, (str, dict)) else Views(given, views)


def _content(
    name: str, views: Views, defaults: Mapping[str, Any], keyword: str, own: Own | None
) -> tuple[dict[str, Any], Finish, tuple[str, ...], str | None]:
    """Returns the recipe of a group, the finish of its images, sentences about it, and the whole recipe where that differs."""
    # Views that follow others may have no list of their own.
    recipe = {"transform": []} if views.follows is not None and views.transforms is None and views.recipe is None else views.recipe
    channels = defaults.get("channels") if views.source is None else None
    before = 0 if own is None else len(own.codes)
    content, notes, _ = recipe_of(views.transforms, recipe, None, channels=channels, own=own)
    for code in [] if own is None else own.codes[before:]:
        code.name = f"group {name}: {code.name}"
    on_batch = () if own is None else own.take_on_batch()
    if content.pop("batch_transform", None):
        raise ArgumentError("the recipe has a batch_transform, which mixes images of a loader without groups")
    semantics = views.semantics or defaults["semantics"]
    if views.transforms is not None and semantics is not None:
        raise ArgumentError(
            "semantics: the list of transforms says it: what stands before ToDtype(scale=True) works on 8-bit numbers"
        )
    if semantics is not None:
        content["semantics"] = {"float": "Float", "uint8": "Uint8"}[semantics]
    nhwc = _either(views.channels_last, defaults["channels_last"])
    # Numbers of classes have no other type, whatever the loader's is.
    is_mask = views.read_mode == "mask"
    layout, dtype = views.layout or defaults["layout"], views.dtype or ("uint8" if is_mask else defaults["dtype"])
    if nhwc and layout == "nchw":
        raise ArgumentError("channels_last: True, but layout says otherwise; give one of the two")
    content.setdefault("transform", [])
    whole = json.dumps(content)
    normalize = None
    if _either(views.normalize_on_device, defaults["normalize_on_device"] and not is_mask):
        normalize = cut_normalize(content, dtype, keyword if views.normalize_on_device is None else "normalize_on_device")
        dtype = "uint8"
    output = {"layout": "Nchw", "dtype": "F32"} | content.get("output", {})
    if nhwc or layout is not None:
        output["layout"] = "Nhwc" if nhwc else str(layout).capitalize()
    if dtype is not None:
        output["dtype"] = _WRITTEN[dtype]
    content["output"] = output
    return content, Finish(nhwc, normalize, on_batch), notes, None if normalize is None else whole


def _either(own: bool | None, default: bool) -> bool:
    return default if own is None else own


# Interpolations as recipes write them.
_INTERPOLATIONS = {"nearest": "Nearest", "nearest_exact": "NearestExact", "bilinear": "Bilinear", "bicubic": "Bicubic"}

# The types of elements as recipes write them.
_WRITTEN = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "uint8": "U8"}


def check(groups: Groups, channels: int) -> None:
    """Checks the lists whose ``Normalize`` the device computes, as the native module does those of the others."""
    for name, whole in groups.whole:
        try:
            _gpufeed.recipe_check(whole, channels)
        except ArgumentError as error:
            raise _of_group(name, error) from error
