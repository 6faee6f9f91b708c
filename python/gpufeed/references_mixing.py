"""``RandomMixUp`` and ``RandomCutMix`` as torchvision's training references carry them in a file of their own. They are taken
by what they do to probe batches: their names and attributes, which others use, prove nothing."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy
import torch

from gpufeed.draws import Draws
from gpufeed.operators import Operator

# What the classes are called in older and newer references.
_KINDS = {"RandomMixup": "MixUp", "RandomMixUp": "MixUp", "RandomCutmix": "CutMix", "RandomCutMix": "CutMix"}
# The batches that are tried, the least of them that have to be mixed, and how many are drawn to compare them with.
_TRIALS, _LEAST, _DRAWN = 2000, 100, 100_000
# How far the share of mixed batches may be from what is expected, in standard deviations, and the bound of Kolmogorov's and Smirnov's
# test: chance alone is further off once in a million classes.
_SIGMAS, _DISTANCE = 5.0, 2.7
# Shares above it are as good as 1.
_ONE = 1 - 1e-6
_SHAPE = (4, 1, 17, 23)


def convert(transform: Any) -> tuple[Operator, int] | None:
    """Returns the operator of batches and the number of classes; ``None`` if it is another transform, or does other things."""
    kind = _KINDS.get(type(transform).__name__)
    given: list[Any] = [getattr(transform, name, None) for name in ("num_classes", "p", "alpha")]
    if kind is None or not all(isinstance(number, (int, float)) for number in given):
        return None
    classes, p, alpha = int(given[0]), float(given[1]), float(given[2])
    if classes < 2 or not 0 <= p <= 1 or not 0 < alpha < math.inf or not _does(transform, kind, classes, p, alpha):
        return None
    mixed: Operator = {"type": kind, "alpha": alpha}
    if p < 1:
        mixed = {"type": "RandomChoice", "p": [p, 1.0 - p], "transforms": [mixed, {"type": "Identity"}]}
    return mixed, classes


def _does(transform: Any, kind: str, classes: int, p: float, alpha: float) -> bool:
    """True if each of its results is the batch itself, or the batch mixed with the one that is rolled by one sample, as often as ``p``
    says and with the shares of Beta(alpha, alpha)."""
    batch = torch.rand(_SHAPE, generator=torch.Generator().manual_seed(3))
    labels = torch.arange(_SHAPE[0]) % classes
    own = torch.nn.functional.one_hot(labels, classes).float()
    rolled = own.roll(1, 0)
    blend = _blend if kind == "MixUp" else _cut
    shares = numpy.ones(_TRIALS)
    try:
        # Trials may change the object's state.
        code = copy.deepcopy(transform)
    except Exception:  # noqa: BLE001 - what cannot be copied is not tried
        return False
    with Draws(0):
        for trial in range(_TRIALS):
            try:
                found, soft = code(batch.clone(), labels.clone())
            except Exception:  # noqa: BLE001 - any error says that it is another transform
                return False
            if not (isinstance(found, torch.Tensor) and isinstance(soft, torch.Tensor)):
                return False
            if found.shape != batch.shape or soft.shape != own.shape:
                return False
            if torch.equal(found, batch) and torch.equal(soft, own):
                continue
            # Sample 1 has another class than the sample before it.
            share = float(soft[1, labels[1]])
            if not blend(batch, found, share) or not _close(soft, own * share + rolled * (1 - share)):
                return False
            shares[trial] = share
    return _are_drawn_so(shares, _expected(kind, alpha), p)


def _are_drawn_so(shares: Any, expected: Any, p: float) -> bool:
    """True if shares are those of mixing with a probability, and of the expected shares where they are mixed. A share of 1 is a batch as
    it was: mixing makes it, too, where the share is within rounding of 1 or a rectangle is empty."""
    changed, told = shares[shares < _ONE], expected[expected < _ONE]
    often = p * len(told) / len(expected)
    if abs(len(changed) / len(shares) - often) > _SIGMAS * math.sqrt(often * (1 - often) / len(shares)) + 0.5 / len(shares):
        return False
    if p == 0:
        return True
    if len(changed) < _LEAST:
        return False
    # Two samples of Kolmogorov and Smirnov: the greatest distance of the shares of numbers below each number.
    at = numpy.concatenate([changed, told])
    below = [numpy.searchsorted(numpy.sort(each), at, "right") / len(each) for each in (changed, told)]
    return bool(numpy.abs(below[0] - below[1]).max() <= _DISTANCE * math.sqrt(1 / len(changed) + 1 / len(told)))


def _expected(kind: str, alpha: float) -> Any:
    """Returns shares of many batches, drawn by the formulas of torchvision."""
    generator = numpy.random.RandomState(4)
    shares = generator.beta(alpha, alpha, _DRAWN)
    if kind == "MixUp":
        return shares
    # A rectangle of the sides sqrt(1 - share), in whole pixels to both sides of its middle, cut off at the borders.
    inside = numpy.ones(_DRAWN)
    for side in _SHAPE[2:]:
        half, middle = (0.5 * numpy.sqrt(1 - shares) * side).astype(int), generator.randint(0, side, _DRAWN)
        inside *= (numpy.minimum(middle + half, side) - numpy.maximum(middle - half, 0)) / side
    return 1 - inside


def _close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """As ``torch.allclose``, which takes longer. A NaN is not close."""
    return bool((found - expected).abs().max() < 1e-5)


def _blend(batch: torch.Tensor, found: torch.Tensor, share: float) -> bool:
    return _close(found, batch * share + batch.roll(1, 0) * (1 - share))


def _cut(batch: torch.Tensor, found: torch.Tensor, share: float) -> bool:
    changed = (found != batch).any(1).any(0)
    rows, columns = changed.any(1).nonzero().flatten(), changed.any(0).nonzero().flatten()
    expected = batch.clone()
    if len(rows) > 0:
        inside = (..., slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1))
        expected[inside] = batch.roll(1, 0)[inside]
    return torch.equal(found, expected) and abs(1 - int(changed.sum()) / changed.numel() - share) < 1e-5
