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
    for settings, text in [
        ({"order": "full", "lanes": None}, 'blocks of 8 samples in windows of 2, but the loader has all samples shuffled; set order=("blocks", 8, 2) to go on'),
        ({"order": ("blocks", 4, 3)}, 'but the loader has blocks of 4 samples in windows of 3; set order=("blocks", 8, 2) to go on'),
        ({"lanes": 2}, "with 4 lanes, but the loader has 2 lanes; set lanes=4 to go on"),
        ({"batch_size": 5}, "batches of 8 make the global batches of the state; choose batch_size=8 or batch_size=4"),
        ({"shuffle": False}, "the state was saved in an epoch shuffled, this one is in the order of the data set"),
    ]:
        with pytest.raises(gpufeed.ArgumentError) as refused:
            loader(**settings).load_state_dict(state)
        assert str(refused.value).endswith(text)
    full = loader(order=None, lanes=None).state_dict()
    with pytest.raises(gpufeed.ArgumentError, match='all samples shuffled, but the loader has blocks of 8 samples in windows of 2; set order="full" to go on$'):
        loader().load_state_dict(full)
    # Without shuffle, the lanes alone tell an order of blocks.
    with pytest.raises(gpufeed.ArgumentError, match=r'set order=\("blocks", samples, window\) and lanes=4 to go on$'):
        loader(order=None, lanes=None, shuffle=False).load_state_dict(loader(shuffle=False).state_dict())
    with pytest.raises(gpufeed.ArgumentError, match=r'has 4 lanes; leave the lanes out; choose order="full"$'):
        loader(shuffle=False).load_state_dict(loader(order=None, lanes=None, shuffle=False).state_dict())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"order": "blocks"}, "^order: 'blocks'; \"full\" and"),
        ({"order": ("blocks", 8)}, "^order: "),
        ({"order": ("blocks", 0, 2)}, "^order: 0; a whole number from 1 on works"),
        ({"lanes": 0}, "^lanes: 0"),
        ({"lanes": 4, "order": "full"}, r'^lanes: 4, but only an order of blocks has lanes; choose order=\("blocks", samples, window\)$'),
        ({"lanes": 3, "shard": (0, 2), "batch_size": 3}, "^lanes: 3 in world 2, .*; choose lanes=2 or lanes=4$"),
        ({"order": ("blocks", 1 << 20, 1 << 20)}, "^order: blocks of 1048576 samples in windows of 1048576, but a window has at most"),
        ({"order": None, "lanes": None, "last_batch": "drop", "batch_size": 999}, '^last_batch: dropping .*choose last_batch="partial" or last_batch="pad"$'),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, Any], text: str) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=text):
        loader(**given)
