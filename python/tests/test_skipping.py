"""Batches that are left out at an epoch's beginning."""

from __future__ import annotations

from typing import Any

import pytest

import gpufeed
from pictures import NUMBERED, Numbered, numbers


def loader(**given: Any) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(Numbered(20), recipe=NUMBERED, **({"batch_size": 4, "shuffle": True, "seed": 3} | given))


def epoch(made: gpufeed.DataLoader) -> list[int]:
    return [number for batch in made.batches() for number in numbers(batch.images)]


def test_the_first_batches_are_left_out() -> None:
    whole, made = loader(), loader()
    first, second = epoch(whole), epoch(whole)
    for count in (0, 1, 4):
        made.set_epoch(0)
        made.skip_first_batches(count)
        assert made.epoch == 0 and epoch(made) == first[4 * count :]
        assert epoch(made) == second
    # All of them: the next epoch.
    made.set_epoch(0)
    made.skip_first_batches(5)
    assert made.epoch == 1 and epoch(made) == second
    # Of the epoch that is set, as accelerate's examples have it, before or after.
    made.set_epoch(1)
    made.skip_first_batches(2)
    made.set_epoch(1)
    assert epoch(made) == second[8:]


def test_within_an_epoch_and_after_a_state() -> None:
    whole, made = loader(), loader()
    first = epoch(whole)
    batches = made.batches()
    next(batches)
    made.skip_first_batches(3)
    assert epoch(made) == first[12:]
    other = loader()
    other.skip_first_batches(3)
    third = loader()
    third.load_state_dict(other.state_dict())
    assert epoch(third) == first[12:]


def test_more_than_there_are() -> None:
    made = loader()
    with pytest.raises(gpufeed.ArgumentError, match="^batches: 6, but an epoch has 5"):
        made.skip_first_batches(6)
    with pytest.raises(gpufeed.ArgumentError, match="^batches: -1; "):
        made.skip_first_batches(-1)
    assert not hasattr(made, "batch_sampler")
