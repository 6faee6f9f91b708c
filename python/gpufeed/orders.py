"""Orders of samples that gpufeed makes, for ``sampler=`` of :class:`gpufeed.DataLoader`: each is a function of the seed and the
epoch, the same for any number of ranks and workers, and resumable within an epoch.

    loader = gpufeed.DataLoader("train", recipe="imagenet-train", batch_size=256, sampler=gpufeed.orders.repeated_augmentation())
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpufeed import arguments
from gpufeed.errors import ArgumentError
from gpufeed.samplers import Native


@dataclass(frozen=True)
class RepeatedAugmentation(Native):
    """What :func:`repeated_augmentation` returns."""

    repeats: int
    round_to: int

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""
        return {"repeated_augmentation": {"repeats": self.repeats, "round_to": self.round_to}}


@dataclass(frozen=True)
class ClassBalanced(Native):
    """What :func:`class_balanced` returns."""

    samples_per_epoch: int | None
    labels: tuple[int, ...] | None

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""
        return {"class_balanced": {"samples_per_epoch": self.samples_per_epoch, "labels": self.labels}}


def repeated_augmentation(repeats: int = 3, round_to: int = 256) -> RepeatedAugmentation:
    """A random order in which each sample comes ``repeats`` times in a row, each time augmented anew, so that ranks have
    different images of one sample in a global batch. An epoch has as many positions as the data set has samples, rounded down
    to a multiple of ``round_to``: about one in ``repeats`` samples comes.

    The rule is that of ``RASampler`` in DeiT and torchvision's references, and of timm's ``RepeatAugSampler``, with random
    numbers of gpufeed's. The objects themselves work as ``sampler=``, too.
    """
    return RepeatedAugmentation(arguments.whole("repeats", repeats, 1), arguments.whole("round_to", round_to, 1))


def class_balanced(samples_per_epoch: int | None = None, labels: Iterable[int] | None = None) -> ClassBalanced:
    """An order in which each class comes as often as every other, to within one sample an epoch of ``samples_per_epoch`` (as
    many as the data set has). Each class is walked in random orders through all epochs: no sample comes again before all others
    of its class have come.

    ``labels`` are the classes of all samples; by default those that the data set knows without reading its samples, as
    ``gpufeed.open`` of a folder does. ``with_weights`` of a data set draws by weight with replacement instead.
    """
    samples = None if samples_per_epoch is None else arguments.whole("samples_per_epoch", samples_per_epoch, 1)
    if labels is None:
        return ClassBalanced(samples, None)
    values = labels.tolist() if hasattr(labels, "tolist") else [*labels]
    most = (1 << 32) - 1
    classes = []
    for number, label in enumerate(values):
        try:
            classes.append(arguments.whole("labels", label, 0, most))
        except ArgumentError as error:
            raise ArgumentError(f"{error}; it is that of sample {number}") from None
    return ClassBalanced(samples, tuple(classes))
