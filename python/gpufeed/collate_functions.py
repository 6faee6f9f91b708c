"""What a ``collate_fn`` of torch's loaders does: torch's ``default_collate``, one that mixes its batch, or code of a user's own.

A function is taken as one of the first two by its code alone (``collate_code.py``): what it does to some samples says nothing of others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils.data import default_collate
from torch.utils.dlpack import from_dlpack

from gpufeed import collate
from gpufeed.arrangement import each
from gpufeed.collate_code import found
from gpufeed.errors import ArgumentError
from gpufeed.handover import HandOver
from gpufeed.iterator import Run
from gpufeed.sample_objects import Left
from gpufeed.targets import PerImage


@dataclass(frozen=True)
class Collation:
    """What is done to the samples of a batch. ``mixes`` is the transform of batches that does the same, and ``own`` the user's
    function; both are None for ``default_collate``. ``form`` is the type of a batch of images with labels, and ``operator`` what gpufeed
    makes of ``mixes``."""

    mixes: Any = None
    own: Callable[[list[Any]], Any] | None = None
    form: type = list
    operator: Any = None

    @property
    def needs_pairs(self) -> bool:
        """True if the function has taken a batch apart, so that it means images with labels and nothing else."""
        return self.mixes is not None or self.form is tuple

    def is_as(self, other: Collation) -> bool:
        """True if both do the same."""
        return self.own is other.own and self.form is other.form and self.operator == other.operator


def recognised(function: Callable[[list[Any]], Any] | None) -> Collation:
    """Returns what a ``collate_fn`` does. It is not called."""
    if function is None or function is default_collate:
        return Collation()
    # timm's own, of which a subclass may do anything. Who has one has imported it.
    of_timm = sys.modules.get("timm.data.mixup")
    if of_timm is not None and type(function) is of_timm.FastCollateMixup and (operator := _operator(function)) is not None:
        return Collation(function, None, tuple, operator)
    made = found(function, lambda value: _operator(value) is not None)
    if made is None:
        return Collation(own=function)
    return Collation(made.mixes, None, made.form, None if made.mixes is None else _operator(made.mixes))


def _operator(transform: Any) -> Any:
    """Returns what gpufeed makes of a transform of batches; ``None`` if it has no such."""
    from gpufeed.torchvision import convert

    try:
        converted = convert([], transform)
    except ArgumentError:
        return None
    return converted.recipe["batch_transform"], converted.num_classes


class Called:
    """Batches of a user's own ``collate_fn``, which gets the samples of each as torch gives them: in the form of the data set's own,
    with the image as a tensor."""

    def __init__(self, run: Run, hand: HandOver, function: Callable[[list[Any]], Any]) -> None:
        self._run, self._hand, self._function = run, hand, function
        self._finish = hand.finisher()

    def __call__(self) -> tuple[Any, str]:
        """Returns what the function makes of the next batch, and the state after it."""
        batch = self._run.next()
        if batch is None:
            raise StopIteration
        images: Any = from_dlpack(batch._memory)
        arranged = batch._arranged
        if arranged is not None:
            images = each(images, arranged)
        finished = images if self._finish is None else self._finish(images)
        return self._function(samples(batch, self._hand, list(finished))), batch.state


def samples(batch: Any, hand: HandOver, images: list[Any]) -> list[Any]:
    """Returns the samples of a batch of which each has one image."""
    rests, described = collate.opened(batch), batch._object_field
    if described is not None:
        return _with_targets(batch, hand, images, rests)
    if rests is None and hand.as_dict:
        columns = {name: list(column) for name, column in batch.columns.items()}
        labels = batch._sample_labels
        columns |= {} if labels is None else {"label": [*map(_label, from_dlpack(labels))]}
        return [{collate.IMAGE: image, **{name: column[at] for name, column in columns.items()}} for at, image in enumerate(images)]
    if rests is None:
        labels = batch.labels
        known = [None] * len(images) if labels is None else from_dlpack(labels)
        return [(image, _label(label)) for image, label in zip(images, known)]
    # Labels of the native module beside what Python made are those of a mixed batch.
    soft = [None] * len(images) if batch._sample_labels is None else from_dlpack(batch._sample_labels)
    return [collate.with_image(*each) for each in zip(rests, images, soft, strict=True)]


def _with_targets(batch: Any, hand: HandOver, images: list[Any], rests: list[Any] | None) -> list[Any]:
    """Returns the samples of a batch whose images have objects."""
    flat = {name: from_dlpack(values) for name, values in batch.targets.items()}
    per_image = PerImage(batch)
    if rests is not None:
        samples = [collate.with_image(rest, image) for rest, image in zip(rests, images, strict=True)]
        lefts: list[Left] = []
        for sample in samples:
            collate.changed(sample, lambda value: isinstance(value, Left), lefts.append)
        rows = iter(per_image.rows(flat, lefts))
        return [collate.changed(sample, lambda value: isinstance(value, Left), lambda _: next(rows)) for sample in samples]
    targets = per_image.rows(flat)
    if hand.in_pairs and not hand.as_dict:
        return [*zip(images, targets, strict=True)]
    columns = {name: list(column) for name, column in batch.columns.items()} | {batch._object_field[0]: targets}
    return [{collate.IMAGE: image, **{name: column[at] for name, column in columns.items()}} for at, image in enumerate(images)]


def _label(label: Any) -> Any:
    """Returns a class as a number, and a vector as a tensor."""
    return label.item() if label is not None and label.ndim == 0 else label
