"""Objects of a user's own that make several views of an image by lists of transforms, as those of MoCo and DINO do. Which list makes
which view is tried on probe images: each view has to be what a list makes of the same random numbers, in the object's order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import PIL.Image
import torch
from torchvision.transforms.v2 import Compose

from gpufeed import settled
from gpufeed.draws import Draws
from gpufeed.probe_images import equal

# Height and width of the probes, the least number of random numbers that they are tried with, and the most of them.
_SMALL, _LARGE = (60, 48), (300, 400)
_LEAST, _SEEDS = 3, 48
# The most views and lists of an object that is tried, and the most ways in which lists may have made some of the views.
_VIEWS, _LISTS, _WAYS = 64, 12, 8

_Code = Callable[[Any], Any]


@dataclass(frozen=True)
class Found:
    """The views of an object: the lists that make them, and how many each makes, by the names of groups. ``form`` is what the object
    returns, as torch's ``default_collate`` has it, with a :class:`View` in the place of each tensor; ``None`` where it is anything else
    than tensors in lists and dictionaries. ``before`` is a copy of the object."""

    groups: dict[str, tuple[Any, int]]
    form: Any
    before: Any

    @staticmethod
    def is_view(part: Any) -> bool:
        """True for what stands in the place of a tensor."""
        return isinstance(part, View)

    def holds_for(self, transform: Any) -> bool:
        """True if the object holds what it held then; what its lists hold is theirs."""
        return settled.same_state(transform, self.before, _holder(_lists(transform)))


class View(NamedTuple):
    """A view by the name of its group, and its number in it."""

    group: str
    number: int


def found(transform: Any) -> Found | None:
    """Returns what an object makes of an image; ``None`` for other objects than those of :func:`views_of`."""
    made_by = _made_by(transform)
    if made_by is None:
        return None
    names = _group_names(made_by)
    order: list[View] = []
    for name in made_by:
        order.append(View(names[name], sum(view.group == names[name] for view in order)))
    code: Any = settled.copied(transform)
    with Draws(0):
        made = _called(code, PIL.Image.new("RGB", _SMALL))
    groups = {names[name]: lists for name, lists in _counts(transform, made_by).items()}
    return Found(groups, _form(made, _flat(made) or [], order), settled.copied(transform))


def views_of(transform: Any) -> dict[str, tuple[Any, int]] | None:
    """Returns the lists that make the views of an object, and how many each makes, by the names of its attributes; ``None`` for an
    object that makes one image, or views in another way. Two lists that make a view one after the other are a list of both."""
    made_by = _made_by(transform)
    return None if made_by is None else _counts(transform, made_by)


def _made_by(transform: Any) -> list[str] | None:
    """Returns the name of the list that makes each view."""
    if not callable(transform) or isinstance(transform, type):
        return None
    lists = _lists(transform)
    # Probes have two sizes and one mode: code that looks at an image may do something else to others.
    if not 1 <= len(lists) <= _LISTS or not settled.hands_on(transform):
        return None
    # Trials change objects that count: they are of a copy. What the lists hold is theirs.
    probe = settled.copied(transform)
    made_by = None if probe is None else _names(probe, _lists(probe))
    if made_by is None or not settled.same_state(transform, probe, _holder(lists)):
        return None
    return made_by


def _holder(lists: dict[str, Any]) -> Callable[[str], bool]:
    """Returns whether an attribute of an object holds its lists."""
    holders = {name.partition("[")[0] for name in lists} | {"_modules"}
    return lambda name: name in holders


def _counts(transform: Any, made_by: list[str]) -> dict[str, tuple[Any, int]]:
    lists = _lists(transform)
    counts: dict[str, tuple[Any, int]] = {}
    for name in made_by:
        steps = [lists[each] for each in name.split("+")]
        counts[name] = (steps[0] if len(steps) == 1 else Compose(steps), counts.get(name, (None, 0))[1] + 1)
    return counts


def _names(transform: _Code, lists: dict[str, Any]) -> list[str] | None:
    """Returns the name of the list that makes each view of an object; ``None`` if it makes one image, or views in another way."""
    made_by = None
    for seed in range(_SEEDS):
        # The last probe is another size, by which no list may be told.
        is_last = made_by is not None and seed >= _LEAST and all(len(names) == 1 for names in made_by)
        height, width = _LARGE if is_last else _SMALL
        pixels = numpy.random.RandomState(5).randint(0, 256, (height, width, 3)).astype(numpy.uint8)
        made_by = _makers(transform, lists, PIL.Image.fromarray(pixels), seed, made_by)
        if not made_by or not all(made_by):
            return None
        if is_last:
            break
    else:
        # Several lists might have made a view: none is known to.
        return None
    return [name for (name,) in made_by]


def _group_names(lists: list[str]) -> dict[str, str]:
    """Returns the names of the groups of lists: those of their attributes, without brackets, each once."""
    names: dict[str, str] = {}
    for each in lists:
        name = re.sub(r"\W+", "_", each).strip("_")
        # A batch has the labels under this name.
        while each not in names and (name in names.values() or name == "label"):
            name += "_"
        names.setdefault(each, name)
    return names


def groups_of(transform: Any) -> dict[str, tuple[Any, int]] | None:
    """Returns what ``gpufeed.DataLoader(data, groups=...)`` takes for the views of an object; ``None`` for other objects."""
    views = views_of(transform)
    return None if views is None else {_group_names([*views])[name]: made for name, made in views.items()}


def _form(made: Any, flat: list[Any], order: list[View]) -> Any:
    """Returns lists and dictionaries with a ``View`` in the place of each tensor; ``None`` if there is anything else in them."""
    if isinstance(made, torch.Tensor):
        return next((view for image, view in zip(flat, order) if image is made), None)
    keyed = type(made) is dict
    if not keyed and type(made) not in (list, tuple):
        return None
    parts = {key: _form(part, flat, order) for key, part in (made.items() if keyed else enumerate(made))}
    if any(part is None for part in parts.values()):
        return None
    return parts if keyed else [*parts.values()]


def _lists(transform: Any) -> dict[str, Any]:
    """Returns what an object holds that may make a view, by the names of its attributes: objects that can be called, also in a list."""
    held = getattr(transform, "__dict__", {})
    modules = held.get("_modules", {}) if isinstance(held, dict) else {}
    found: dict[str, Any] = {}
    for name, value in {**held, **modules}.items():
        within = value if isinstance(value, (list, tuple, torch.nn.ModuleList)) else None
        for index, each in enumerate([value] if within is None else within):
            known = any(each is other for other in found.values())
            if callable(each) and not isinstance(each, type) and not known and name.isidentifier() and not name.startswith("_"):
                found[name if within is None else f"{name}[{index}]"] = each
    return found


def _makers(
    transform: _Code, lists: dict[str, Any], image: PIL.Image.Image, seed: int, known: list[set[str]] | None
) -> list[set[str]] | None:
    """Returns the names of the lists that may have made each view of these random numbers, out of those that are known to do so of
    others; ``None`` if no lists have."""
    with Draws(seed) as draws:
        begin = draws.kept()
        views = _flat(_called(transform, image))
        end = draws.state()
        if views is None or not 2 <= len(views) <= _VIEWS or (known is not None and len(known) != len(views)):
            return None
        # Lists may make the same view, and draw more or fewer random numbers for it: the next views say which it was.
        ways: list[tuple[list[set[str]], Any]] = [([], begin)]
        for index, view in enumerate(views):
            grown: dict[Any, tuple[list[set[str]], Any]] = {}
            for names, before in ways:
                for name in _makers_of(view, lists, image, draws, before, None if known is None else known[index]):
                    way = grown.setdefault(draws.state(), ([*names, set()], draws.kept()))
                    way[0][-1].add(name)
            ways = [*grown.values()][:_WAYS]
        for names, after in ways:
            draws.put_back(after)
            if draws.state() == end:
                return names
        return None


def _makers_of(
    view: Any, lists: dict[str, Any], image: PIL.Image.Image, draws: Draws, before: Any, known: set[str] | None
) -> Iterator[str]:
    """Yields the names of the lists, or of two that run one after the other, that make a view. The random numbers stand behind it then."""
    firsts = [*lists] if known is None else sorted({name.split("+")[0] for name in known})
    made = {}
    for name in firsts:
        draws.put_back(before)
        made[name] = _called(lists[name], image), draws.kept()
        if (known is None or name in known) and equal(made[name][0], view):
            yield name
    if known is None and any(equal(image, view) for image, _ in made.values()):
        return
    for name, (image_between, after) in made.items():
        for second in lists:
            # What makes a tensor is the last of two lists.
            if second != name and isinstance(image_between, PIL.Image.Image) and (known is None or f"{name}+{second}" in known):
                draws.put_back(after)
                if equal(_called(lists[second], image_between), view):
                    yield f"{name}+{second}"


def _called(code: _Code, image: Any) -> Any:
    try:
        return code(image.clone() if isinstance(image, torch.Tensor) else image.copy())
    except Exception:  # noqa: BLE001 - any error says that the code is not for such images
        return None


def _flat(made: Any) -> list[Any] | None:
    """Returns the images of lists and dictionaries, each once."""
    if isinstance(made, (torch.Tensor, PIL.Image.Image)):
        return [made]
    if isinstance(made, dict):
        made = [*made.values()]
    if not isinstance(made, (list, tuple)):
        return None
    found: list[Any] = []
    for each in made:
        inner = _flat(each)
        if inner is None:
            return None
        found += [image for image in inner if not any(image is other for other in found)]
    return found
