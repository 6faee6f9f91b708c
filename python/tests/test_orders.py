"""The order of blocks, and its lanes."""

from __future__ import annotations

from typing import Any

import pytest

import gpufeed
from pictures import NUMBERED, Numbered

BLOCKS = ("blocks", 8, 2)


def loader(shard: Any = None, **given: Any) -> gpufeed.DataLoader:
    settings = {"batch_size": 8, "shuffle": True, "seed": 3, "workers": 1, "order": BLOCKS, "lanes": 4} | given
    settings = {name: value for name, value in settings.items() if value is not None}
    return gpufeed.DataLoader(Numbered(160), recipe=NUMBERED, shard=shard, **settings)


def global_batches(world: int) -> list[list[int]]:
    """The samples of each global batch, sorted."""
    ranks = [loader((rank, world), batch_size=8 // world).batches() for rank in range(world)]
    return [sorted(each for batch in batches for each in batch.ids) for batches in zip(*ranks, strict=True)]


def test_blocks_stay_together_and_worlds_have_the_same_global_batches() -> None:
    alone = global_batches(1)
    assert sorted(each for batch in alone for each in batch) == list(range(160))
    assert alone == global_batches(2) == global_batches(4)
    # Of four lanes, each within two blocks.
    assert all(len({each // 8 for each in batch}) <= 8 for batch in alone[:2])
    assert "order: blocks of 8 samples, shuffled in windows of 2, 4 lanes" in loader().explain()


def test_full_is_the_default() -> None:
    ids = [batch.ids for batch in loader(order="full", lanes=None).batches()]
    assert ids == [batch.ids for batch in gpufeed.DataLoader(Numbered(160), recipe=NUMBERED, batch_size=8, shuffle=True, seed=3).batches()]


def test_a_state_of_blocks_fits_blocks_alone() -> None:
    made = loader()
    batches = made.batches()
    next(batches)
    state = made.state_dict()
    rest = [batch.ids for batch in batches]
    other = loader()
    other.load_state_dict(state)
    assert [batch.ids for batch in other.batches()] == rest
    with pytest.raises(gpufeed.ArgumentError):
        loader(order="full", lanes=None).load_state_dict(state)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"order": "blocks"}, "^order: 'blocks'; \"full\" and"),
        ({"order": ("blocks", 8)}, "^order: "),
        ({"order": ("blocks", 0, 2)}, "^order: 0; a whole number from 1 on works"),
        ({"lanes": 0}, "^lanes: 0"),
        ({"lanes": 4, "order": "full"}, "^lanes: 4, but only"),
        ({"lanes": 3, "shard": (0, 2), "batch_size": 3}, "^(lanes|shard): "),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, Any], text: str) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=text):
        loader(**given)
