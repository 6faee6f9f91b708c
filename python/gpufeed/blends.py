"""Blends of data sets by shares: ``gpufeed.blend``."""

from __future__ import annotations

import numbers
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, Union

from gpufeed import _gpufeed, arguments, hugging_face, opening
from gpufeed.errors import ArgumentError
from gpufeed.failures import warn_once_outside
from gpufeed.samplers import Native

Weight = Union[float, Callable[[int], float]]


class Blend(Native):
    """Data sets in one, with the order in which a loader takes them. :func:`blend` makes it."""

    def __init__(self, dataset: _gpufeed.Dataset, lengths: list[int], weights: list[Weight], samples_per_epoch: int) -> None:
        self.dataset = dataset
        self.lengths, self.weights, self.samples_per_epoch = lengths, weights, samples_per_epoch

    def __len__(self) -> int:
        """Returns the number of samples of an epoch."""
        return self.samples_per_epoch

    def __repr__(self) -> str:
        return f"gpufeed.blend({self.dataset.description}, {self.samples_per_epoch} samples an epoch)"

    @property
    def by_epoch(self) -> bool:
        """True if a weight is a function of the epoch."""
        return any(callable(weight) for weight in self.weights)

    def _weights_of(self, epoch: int) -> list[float]:
        return [_number(weight(epoch), f"of epoch {epoch} ") if callable(weight) else weight for weight in self.weights]

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""
        if self.by_epoch:
            name = f"a blend of {len(self.lengths)} data sets, by weights of the epoch"
            return {"given": {"len": self.samples_per_epoch, "batches": False, "whole": True, "name": name}}
        return {"blend": {"lengths": self.lengths, "weights": self.weights, "samples_per_epoch": self.samples_per_epoch}}

    def give(self, native: _gpufeed.Loader, epoch: int) -> None:
        """Gives the order of an epoch, if its weights are functions. How far each data set has been walked depends on the
        epochs before."""
        if self.by_epoch:
            weights = [self._weights_of(earlier) for earlier in range(epoch + 1)]
            native.give_blend(epoch, self.lengths, weights, self.samples_per_epoch)


def blend(parts: Mapping[Any, Weight] | Iterable[tuple[Any, Weight]], samples_per_epoch: int) -> Blend:
    """Blends data sets by shares, for the ``data`` of :class:`gpufeed.DataLoader`:

        data = gpufeed.blend({"photos": 0.7, "drawings": 0.3}, samples_per_epoch=100_000)
        loader = gpufeed.DataLoader(data, recipe="imagenet-train", batch_size=256)

    ``parts`` has a weight for each path or data set, as a dictionary or as pairs. Each epoch of ``samples_per_epoch`` has of each
    the share of its weight, to within one sample, and all are shuffled together. A data set is walked in random orders from
    its first to its last sample, and again, through all epochs: no sample comes again before all others of its data set have come.

    A weight may be a function of the epoch, which has to return the same each time. The data sets need equal classes, channels
    and fields, as for ``concat``.
    """
    pairs = [*(parts.items() if isinstance(parts, Mapping) else parts)]
    if not pairs:
        raise ArgumentError("blend: no data set; give at least one")
    weights: list[Weight] = [weight if callable(weight) else _number(weight, "") for _, weight in pairs]
    for data, _ in pairs:
        if opening.has_transform(data):
            raise ArgumentError(
                f"blend: the {type(data).__name__} has a transform of its own{_AWAY if hugging_face.is_made_of(data) else '; make it without'}, "
                "and give the loader transforms="
            )
        library = opening.known(data)
        if library is not None and (why := library.why_in_python(data)) is not None:
            warn_once_outside(f"gpufeed: blend: read in Python, under the interpreter's lock: {why}")
    sets = [opening.open_data(data, {}) for data, _ in pairs]
    for number, each in enumerate(sets):
        if each.has_weights:
            raise ArgumentError(
                f"blend: data set {number} has weights, which draw with replacement, and a blend takes each sample once a pass; "
                "leave with_weights out"
            )
    lengths = [len(each) for each in sets]
    objects = [number for number, (data, _) in enumerate(pairs) if opening.is_object(data)]
    if len(objects) > 1:
        # The native module joins one object in Python with others: all objects come in the place of the first one.
        order = sorted(range(len(pairs)), key=lambda number: objects[0] if number in objects else number)
        lengths, weights = [lengths[number] for number in order], [weights[number] for number in order]
        together = opening.open_data(Objects([pairs[number][0] for number in objects], objects), {})
        sets = [together if number == objects[0] else sets[number] for number in order if number not in objects[1:]]
    joined = sets[0] if len(sets) == 1 else sets[0].concat(*sets[1:])
    return Blend(joined, lengths, weights, arguments.whole("samples_per_epoch", samples_per_epoch, 1))


# How a data set of Hugging Face is made without its function.
_AWAY = "; blend data.with_format(None)"


class Objects:
    """Objects in Python, one after the other. ``numbers`` are theirs in the blend."""

    def __init__(self, given: list[Any], numbers: list[int]) -> None:
        rows = [hugging_face.rows(data) for data in given]
        self.datasets = [data if row is None else row for data, row in zip(given, rows, strict=True)]
        self._ends = [*accumulate(len(data) for data in self.datasets)]
        kinds = [(opening.channels_of(data), opening.classes_of(data)) for data in self.datasets]
        self.channels, self.classes = kinds[0]
        for number, (channels, classes) in zip(numbers, kinds, strict=True):
            if channels != self.channels:
                raise ArgumentError(
                    f"blend: data set {numbers[0]} has images of {self.channels} channels and data set {number} of {channels}; data sets "
                    "of a blend have equal ones"
                )
            if classes != self.classes:
                raise ArgumentError(
                    f"blend: data set {numbers[0]} has {len(self.classes)} classes by name, data set {number} has {len(classes)}, and they "
                    "are not the same; data sets of a blend have equal ones"
                )

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int) -> Any:
        place = bisect_right(self._ends, index)
        data, within = self.datasets[place], index - (self._ends[place - 1] if place else 0)
        return data[within] if hasattr(data, "__getitem__") else data.__getitems__([within])[0]


def _number(weight: Any, of: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, numbers.Real):
        raise ArgumentError(f"weights: {weight!r} {of}is a {type(weight).__name__}; a number from 0 on works, and a function of the epoch")
    value = float(weight)
    if not 0 <= value < float("inf"):
        raise ArgumentError(f"weights: {value} {of}; a weight is finite and at least 0".replace(" ;", ";"))
    return value
