"""The functions that data sets of ``datasets`` call for a batch of rows, ``with_transform``: those that do no more than run a list of
transforms on each image, as the scripts of ``transformers`` do.

A function is recognised by what it makes of rows of the data set and of probe images, with the random numbers of several seeds. Columns
beside the image at whose values it looks, it has to treat alike whatever their values: it is called with each of these once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpufeed.draws import Draws
from gpufeed.reachable import called_by

_SEEDS = 3
# Width, height and mode of the probe images.
_PROBES = ((90, 70, "RGB"), (33, 40, "L"), (280, 260, "RGB"))


@dataclass(frozen=True)
class Mapping:
    """What a function does: ``transforms`` for each image, and the columns of the rows that it returns by the names that it gives
    them. ``to_rgb`` is true if gray images are made RGB before."""

    transforms: Any
    names: dict[str, str]
    to_rgb: bool


Rows = dict[str, list[Any]]


# Returns each combination of values that columns have in the data set once; None if these are too many, or none to compare.
Distinct = Callable[[list[str]], "Rows | None"]

# Rows with which a function is called at once.
_AT_ONCE = 64


def recognised(function: Callable[[Rows], Any], rows: Rows, distinct: Distinct, image: str) -> Mapping | None:
    """Returns what a function does to ``rows``, whose images are in the column ``image``; ``None`` if it is not known. ``distinct``
    says which values the other columns have."""
    kept = _kept(function)
    if kept is not None:
        expected = _Expected(function, kept.mapping.transforms, kept.mapping.to_rgb, image)
        is_same = _found(expected, [rows], seeds=1) == kept.mapping.names and expected.touched == kept.touched
        values = distinct(sorted(kept.touched)) if kept.touched else {}
        if is_same and values is not None and {*_combined(values)} <= kept.seen:
            return kept.mapping
    probes = [rows, *(_with_images(rows, image, probe, len(rows[image])) for probe in _PROBES)]
    for transforms in called_by(function):
        for to_rgb in (True, False):
            expected = _Expected(function, transforms, to_rgb, image)
            names = _found(expected, probes, _SEEDS)
            seen = None if names is None else _tried(expected, rows, distinct, names)
            if names is not None and seen is not None:
                found = Mapping(transforms, names, to_rgb)
                _keep(function, _Kept(found, {*expected.touched}, seen))
                return found
    return None


def _tried(expected: _Expected, rows: Rows, distinct: Distinct, names: dict[str, str]) -> set[Any] | None:
    """Calls a function with all values of the columns at which it looks. Returns these; ``None`` if it treats any otherwise."""
    tried: list[str] = []
    seen: set[Any] = set()
    while tried != sorted(expected.touched):
        # A value may have made the function look at another column.
        tried = sorted(expected.touched)
        values = distinct(tried)
        if values is None:
            return None
        seen = {*_combined(values)}
        count = len(values[tried[0]])
        for begin in range(0, count, _AT_ONCE):
            size = min(_AT_ONCE, count - begin)
            some = {name: values[name][begin : begin + size] if name in values else [column[0]] * size for name, column in rows.items()}
            if _found(expected, [_with_images(some, expected.image, _PROBES[0], size)], seeds=1) != names:
                return None
    return seen


def _combined(values: Rows) -> list[Any]:
    """Returns the values of each row as one."""
    return [*zip(*(values[name] for name in sorted(values)), strict=True)]


class _Kept(NamedTuple):
    """What is known of a function, the columns at which it has looked, and the values of these."""

    mapping: Mapping
    touched: set[str]
    seen: set[Any]


# For loaders that ask several times.
_KEPT: weakref.WeakKeyDictionary[Any, _Kept] = weakref.WeakKeyDictionary()


def _kept(function: Any) -> _Kept | None:
    try:
        return _KEPT.get(function)
    except TypeError:
        # It has no hash.
        return None


def _keep(function: Any, kept: _Kept) -> None:
    try:
        _KEPT[function] = kept
    except TypeError:
        pass


def _found(expected: _Expected, probes: list[Rows], seeds: int) -> dict[str, str] | None:
    """Returns the names that a function gives to columns if it does what is expected to the images of all probes; else None."""
    try:
        found = [names for probe in probes for seed in range(seeds) if (names := expected.names(probe, seed)) is not None]
    except _Differs:
        return None
    return found[0] if found and all(names == found[0] for names in found) else None


class _Differs(Exception):
    """A function does not do to rows what was expected."""


def _with_images(rows: Rows, image: str, probe: tuple[int, int, str], count: int) -> Rows:
    """Returns rows with ``count`` probe images."""
    import numpy
    import PIL.Image

    width, height, mode = probe
    made = []
    for number in range(count):
        noise = numpy.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=numpy.uint8)
        made.append(PIL.Image.fromarray(noise).convert(mode))
    return {**rows, image: made}


@dataclass(frozen=True)
class _Expected:
    """What a function would do that runs ``transforms`` on each image."""

    function: Callable[[Rows], Any]
    transforms: Callable[[Any], Any]
    to_rgb: bool
    image: str
    # The other columns at whose values the function has looked.
    touched: set[str] = field(default_factory=set)

    def names(self, rows: Rows, seed: int) -> dict[str, str] | None:
        """Returns the columns of rows by the names that the function gives them; None if the transforms are not for such images. Raises
        :class:`_Differs` if the function does something else."""
        with Draws(seed):
            expected = _made(lambda: [self.transforms(each.convert("RGB") if self.to_rgb else each.copy()) for each in rows[self.image]])
            drawn = Draws.state()
        with Draws(seed):
            # The function may change what it gets.
            copies = {name: [each.copy() for each in column] if name == self.image else _Watched(column) for name, column in rows.items()}
            given = {**copies}
            made = _made(lambda: self.function(copies))
            self.touched.update(name for name, column in given.items() if isinstance(column, _Watched) and column.touched)
            if Draws.state() != drawn:
                raise _Differs
        if made is None and expected is None:
            return None
        if not isinstance(made, dict) or expected is None:
            raise _Differs
        names = {}
        for name, column in made.items():
            if isinstance(column, _Watched) and not column.touched:
                # The column as it was, whatever its values.
                names[name] = next(each for each, values in given.items() if values is column)
                continue
            if _are_images(column):
                # The images as they were, which are in no batch.
                continue
            names[name] = self.image if _are_equal(column, expected) else _source(name, column, rows, self.image)
        if [*names.values()].count(self.image) != 1:
            raise _Differs
        return names


def _looking(name: str) -> Any:
    def look(self: Any, *given: Any, **keywords: Any) -> Any:
        self.touched = True
        return getattr(list, name)(self, *given, **keywords)

    return look


class _Watched(list[Any]):
    """The values of a column. Knows whether anybody has looked at them, or changed them; their number may be asked for."""

    touched = False


# Of these alone a look at the length is made, and of Python's objects.
_OTHERS = {*dir(object), "__len__", "__class_getitem__"} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__reduce_ex__"}
for _name in {*dir(list)} - _OTHERS:
    setattr(_Watched, _name, _looking(_name))


def _made(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception:  # noqa: BLE001 - any error says that the code is not for such rows
        return None


def _are_images(column: Any) -> bool:
    return isinstance(column, (list, tuple)) and len(column) > 0 and all(hasattr(each, "getbands") for each in column)


def _are_equal(column: Any, expected: list[Any]) -> bool:
    """True for the tensors of ``expected``, in a list or in one tensor."""
    import torch

    if not isinstance(column, (list, torch.Tensor)) or len(column) != len(expected):
        return False
    pairs = [*zip(column, expected, strict=True)]
    if not all(isinstance(each, torch.Tensor) for pair in pairs for each in pair):
        return False
    return all(a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b) for a, b in pairs)


def _source(name: str, column: Any, rows: Rows, image: str) -> str:
    """Returns the column of which a column under ``name`` has the values."""
    if type(column) not in (list, _Watched):
        raise _Differs
    column = [*column]
    kinds = [*map(type, column)]
    same = [each for each, values in rows.items() if each != image and kinds == [*map(type, values)] and _made(lambda: bool(column == values))]
    if name in same:
        return name
    if len(same) != 1:
        # Which of several is meant is not known.
        raise _Differs
    return same[0]
