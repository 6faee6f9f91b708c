"""Whether two samples of numbers are of one distribution."""

from __future__ import annotations

from typing import Any

import numpy

# Kolmogorov's bound for a probability of 1e-4 that samples of one distribution are farther apart.
_BOUND = numpy.sqrt(numpy.log(2 / 1e-4) / 2)


def differ(ours: Any, theirs: Any) -> bool:
    """True if the cumulative shares of two samples are farther apart than chance puts them once in 10,000 times. Many equal
    numbers make chance smaller, not larger."""
    ours, theirs = numpy.sort(numpy.asarray(ours, float)), numpy.sort(numpy.asarray(theirs, float))
    assert len(ours) > 1000 and len(theirs) > 1000, "too few draws to say"
    at = numpy.concatenate([ours, theirs])
    shares = [numpy.searchsorted(sample, at, side="right") / len(sample) for sample in (ours, theirs)]
    scale = numpy.sqrt(1 / len(ours) + 1 / len(theirs))
    return bool(numpy.abs(shares[0] - shares[1]).max() > _BOUND * scale)


def check(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Fails where numbers of one name differ."""
    assert ours.keys() == theirs.keys()
    found = [name for name in ours if differ(ours[name], theirs[name])]
    assert not found, f"other distributions: {found}"
