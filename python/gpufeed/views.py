"""Groups of views: lists of transforms that work on the same samples, each with images of its own in a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError
from gpufeed.handover import Finish
from gpufeed.recipe import cut_normalize, recipe_of


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
        semantics: str | None = None,
        normalize_on_device: bool | None = None,
        channels_last: bool | None = None,
    ) -> None:
        self.transforms = transforms
        self.views = None if views is None else arguments.whole("views", views, 1, 64)
        self.recipe = recipe
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

    lists: tuple[tuple[str, int, dict[str, Any]], ...]
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
        for name, views, content in self.lists:
            made[name] = Views(recipe=content, views=views, normalize_on_device=False, channels_last=False)
        return made


def groups_of(groups: Any, defaults: Mapping[str, Any]) -> Groups:
    """Makes the groups of the argument ``groups``. ``defaults`` has the loader's own ``layout``, ``dtype``, ``semantics``,
    ``normalize_on_device`` and ``channels_last``."""
    if not isinstance(groups, Mapping) or not groups:
        raise ArgumentError(
            f'groups: {arguments.given(groups)}; names with transforms and a number of views work: {{"global": (transforms, 2), '
            '"local": (more_transforms, 8)}'
        )
    made: list[tuple[str, int, dict[str, Any]]] = []
    finishes: dict[str, Finish] = {}
    notes: list[str] = []
    whole: list[tuple[str, str]] = []
    for name, value in groups.items():
        if not isinstance(name, str):
            raise ArgumentError(f"groups: the name {name!r} is a {type(name).__name__}; a text works")
        views = _views(name, value)
        try:
            content, finish, of_list, recipe = _content(views, defaults)
            number = arguments.whole("views", content.pop("views", 1) if views.views is None else views.views, 1, 64)
        except ArgumentError as error:
            # The error is that of the group's own list; the place says which.
            raise _of_group(name, error) from error
        content.pop("views", None)
        made.append((name, number, content))
        finishes[name] = finish
        notes += [f"group {name}: {note}" for note in of_list]
        if recipe is not None:
            whole.append((name, recipe))
    return Groups(tuple(made), finishes, tuple(dict.fromkeys(notes)), tuple(whole))


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


def _content(views: Views, defaults: Mapping[str, Any]) -> tuple[dict[str, Any], Finish, tuple[str, ...], str | None]:
    """Returns the recipe of a group, the finish of its images, sentences about it, and the whole recipe where that differs."""
    content, notes, _ = recipe_of(views.transforms, views.recipe, None)
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
    layout, dtype = views.layout or defaults["layout"], views.dtype or defaults["dtype"]
    if nhwc and layout == "nchw":
        raise ArgumentError("channels_last: True, but layout says otherwise; give one of the two")
    whole = json.dumps(content)
    normalize = None
    if _either(views.normalize_on_device, defaults["normalize_on_device"]):
        normalize = cut_normalize(content, dtype, "normalize_on_device")
        dtype = "uint8"
    output = {"layout": "Nchw", "dtype": "F32"} | content.get("output", {})
    if nhwc or layout is not None:
        output["layout"] = "Nhwc" if nhwc else str(layout).capitalize()
    if dtype is not None:
        output["dtype"] = _WRITTEN[dtype]
    content["output"] = output
    return content, Finish(nhwc, normalize), notes, None if normalize is None else whole


def _either(own: bool | None, default: bool) -> bool:
    return default if own is None else own


# The types of elements as recipes write them.
_WRITTEN = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "uint8": "U8"}


def check(groups: Groups, channels: int) -> None:
    """Checks the lists whose ``Normalize`` the device computes, as the native module does those of the others."""
    for name, whole in groups.whole:
        try:
            _gpufeed.recipe_check(whole, channels)
        except ArgumentError as error:
            raise _of_group(name, error) from error
