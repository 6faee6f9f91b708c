"""The turns of a fleet's actors, their states, and what is done when one dies; in this process, without Ray."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed.decoder import Decoder, Shard
from gpufeed.fleet import MOST_LOSSES, Fleet, Lost
from gpufeed.parcel import Batch, Parcel
from pictures import Jpegs

CONFIG: dict[str, Any] = {
    "data": Jpegs(41),
    "recipe": {"transform": [{"type": "RandomResizedCrop", "size": 16}, {"type": "RandomHorizontalFlip"}]},
    "batch_size": 4, "shuffle": True, "seed": 3, "workers": 1, "seek_indexes": "memory",
}


class Crew:
    """Actors in this process. ``dies`` says before each answer whether the actor dies instead."""

    def __init__(self, actors: int, dies: Any = lambda: False, **settings: Any) -> None:
        self.actors, self.dies, self.config = actors, dies, CONFIG | settings
        self.decoders = [Decoder(self.config) for _ in range(actors)]
        self.replaced = 0
        self.open: set[Stream] = set()

    def ask(self, method: str, *arguments: Any) -> Any:
        return pickle.loads(pickle.dumps(getattr(self.decoders[0], method)(*arguments)))

    def stream(self, actor: int, shard: Shard, epoch: int, batch: int, end: int) -> Stream:
        return Stream(self, self.decoders[actor].batches(shard, epoch, batch, end, self.replaced + 1))

    def replace(self, actor: int, losses: int, why: Lost) -> None:
        self.replaced += 1
        self.decoders[actor] = Decoder(self.config)


class Stream:
    def __init__(self, crew: Crew, parcels: Iterator[Parcel]) -> None:
        self.crew, self.parcels = crew, parcels
        self.taken: list[Any] = []
        crew.open.add(self)

    def pull(self) -> None:
        self.check()
        if not self.taken:
            self.taken.append(self.arrive())

    def arrive(self) -> Any:
        """A batch, or an error that waits for its turn."""
        try:
            return next(self.parcels, None)
        except gpufeed.Error as error:
            return error

    def ready(self) -> bool:
        return bool(self.taken)

    def next(self) -> Parcel | None:
        self.check()
        first = self.taken.pop(0) if self.taken else self.arrive()
        if isinstance(first, gpufeed.Error):
            raise first
        # As it arrives from another process: a copy.
        copy: Parcel | None = pickle.loads(pickle.dumps(first))
        return copy

    def check(self) -> None:
        if self.crew.dies():
            self.close()
            raise Lost("killed")

    def close(self) -> None:
        self.parcels.close()  # type: ignore[attr-defined]
        self.crew.open.discard(self)


Seen = tuple[int, int, list[int], list[str], bytes, list[int]]


def one(batch: Any, index: int) -> Seen:
    images, labels = numpy.from_dlpack(batch.images), numpy.from_dlpack(batch.labels)
    return batch.epoch, index, batch.ids, batch.params, images.tobytes(), labels.tolist()


def seen(batches: Any) -> list[Seen]:
    return [one(batch, batch.index) for batch in iter(batches.next, None)]


def expected(actors: int, shard: Shard = (0, 1), epochs: range = range(1), **settings: Any) -> list[Seen]:
    """What one process makes that is each virtual rank in turn."""
    rank, world = shard
    loaders = [
        gpufeed.DataLoader(**(CONFIG | settings), shard=(rank * actors + actor, world * actors)) for actor in range(actors)
    ]
    found = []
    for epoch in epochs:
        for loader in loaders:
            loader.set_epoch(epoch)
        index = 0
        for batches in zip(*(loader.batches() for loader in loaders), strict=True):
            for batch in batches:
                found.append(one(batch, index))
                index += 1
    return found


@pytest.mark.parametrize("shard", [(0, 1), (1, 2)])
@pytest.mark.parametrize("actors", [1, 2, 3])
def test_turns_are_those_of_one_process(actors: int, shard: Shard) -> None:
    crew = Crew(actors)
    fleet = Fleet(crew, shard)
    run = fleet.resume(fleet.state(0, 0), 2)
    assert len(run) == 2 * len(fleet)
    assert seen(run) == expected(actors, shard, range(2)) and len(run) == 0 and not crew.open
    assert run.next() is None


def test_blocks_have_lanes_for_all_actors() -> None:
    blocks = {"order": ("blocks", 4, 2), "lanes": 4}
    for shard in [(0, 1), (1, 2)]:
        fleet = Fleet(Crew(2, **blocks), shard)
        assert seen(fleet.resume(fleet.state(0, 0), 1)) == expected(2, shard, **blocks)
    with pytest.raises(gpufeed.ArgumentError, match="^(lanes|shard): "):
        Fleet(Crew(3, **blocks), (0, 1))


@pytest.mark.parametrize("last_batch", ["partial", "drop", "pad"])
def test_every_sample_comes_once_whatever_the_fleet(last_batch: str) -> None:
    for actors, world in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1)]:
        fleets = [Fleet(Crew(actors, last_batch=last_batch), (rank, world)) for rank in range(world)]
        assert len({len(fleet) for fleet in fleets}) == 1
        ids = []
        for fleet in fleets:
            for batch in iter(fleet.resume(fleet.state(0, 0), 1).next, None):
                ids += batch.ids[: batch.valid]
        assert len(set(ids)) == len(ids) == (len(fleets) * len(fleets[0]) * 4 if last_batch == "drop" else 41)


def test_an_actor_that_dies_leaves_no_trace_in_the_batches() -> None:
    whole = expected(3, epochs=range(2))
    deaths = 0
    for seed in range(6):
        draws = random.Random(seed)
        crew = Crew(3, lambda: draws.random() < 0.08)
        fleet = Fleet(crew, (0, 1))
        assert seen(fleet.resume(fleet.state(0, 0), 2)) == whole
        assert not crew.open
        deaths += crew.replaced
    assert deaths > 12


def test_an_actor_that_always_dies_is_an_error() -> None:
    crew = Crew(2)
    fleet = Fleet(crew, (0, 1))
    run = fleet.resume(fleet.state(0, 0), 1)
    assert run.next() is not None
    crew.dies = lambda: True
    with pytest.raises(gpufeed.RunError, match=rf"actor 1 died {MOST_LOSSES + 1} times in a row .*: killed"):
        run.next()
    with pytest.raises(gpufeed.RunError, match="an actor's error ended it"):
        run.next()
    assert not crew.open


@pytest.mark.parametrize("actors", [1, 2, 3])
def test_a_state_at_any_batch_goes_on(actors: int) -> None:
    whole = expected(actors, epochs=range(2))
    fleet = Fleet(Crew(actors), (0, 1))
    run = fleet.resume(fleet.state(0, 0), 2)
    states = [fleet.state(0, 0), *(batch.state for batch in iter(run.next, None))]
    for taken, state in enumerate(states[:-1]):
        other = Fleet(Crew(actors), (0, 1))
        assert seen(other.resume(state, 2)) == whole[taken:]
        if taken < len(fleet):
            assert other.place(state) == (0, taken) and json.loads(state) == json.loads(fleet.state(0, taken))
    assert fleet.resume(states[-1], 2).next() is None


def test_a_state_after_a_round_fits_other_numbers() -> None:
    fleet = Fleet(Crew(2), (0, 1))
    run = fleet.resume(fleet.state(0, 0), 1)
    states = [batch.state for batch in iter(run.next, None)]
    # 8 samples a round: four actors with batches of 2, one loader with batches of 8.
    rest = sorted(each for found in expected(2)[2:] for each in found[2])
    for other, size in [(4, 2), (1, 8), (1, 4)]:
        smaller = Fleet(Crew(other, batch_size=size), (0, 1))
        found = [batch for batch in iter(smaller.resume(states[1], 1).next, None)]
        assert sorted(each for batch in found for each in batch.ids[: batch.valid]) == sorted({*rest} - {*_padding(rest)})
    plain = gpufeed.DataLoader(**CONFIG, shard=None)
    plain.load_state_dict({"gpufeed": json.loads(states[1])})
    assert len({each for batch in plain.batches() for each in batch.ids}) == 41 - 8
    # Within a round: the actors of the round alone, each by the name of what differs.
    with pytest.raises(gpufeed.ArgumentError, match=r"^state: saved after 1 batches of a round of 2 actors .*, but here are 4 actors"):
        Fleet(Crew(4), (0, 1)).place(states[0])
    with pytest.raises(gpufeed.ArgumentError, match=r"each of 1 ranks and batches of 4, but here are 2 actors for each of 2 ranks"):
        Fleet(Crew(2), (1, 2)).place(states[0])
    with pytest.raises(gpufeed.ArgumentError, match=r"^state: saved by a fleet of 2 actors after 1 batches of a round"):
        plain.load_state_dict({"gpufeed": json.loads(states[0])})


@pytest.mark.parametrize("taken", [0, 2, 5, -1, 10**9, 1.0, "1", True, None])
def test_turns_that_no_round_has_are_refused(taken: Any) -> None:
    fleet = Fleet(Crew(2), (0, 1))
    state = json.loads(fleet.state(0, 1))
    assert state["turn"]["taken"] == 1
    with pytest.raises(gpufeed.ArgumentError, match="^state: .*(taken|batches)"):
        fleet.place(json.dumps(state | {"turn": state["turn"] | {"taken": taken}}))
    for wrong in (None, 3, [], {}, {"taken": 1}, state["turn"] | {"more": 1}):
        with pytest.raises(gpufeed.ArgumentError, match="^state: turn is "):
            fleet.place(json.dumps(state | {"turn": wrong}))
    # After the last round.
    last = json.loads(fleet.state(0, len(fleet)))
    with pytest.raises(gpufeed.ArgumentError, match="^state: batch 13 is after the end of an epoch of 12 batches"):
        fleet.place(json.dumps(last | {"turn": state["turn"]}))


def _padding(ids: list[int]) -> set[int]:
    """Samples that fill up a shard and were had before."""
    first = {each for found in expected(2)[:2] for each in found[2]}
    return {each for each in ids if each in first}


def test_an_error_comes_in_its_turn() -> None:
    class Damaged(Jpegs):
        def __getitem__(self, index: int) -> tuple[bytes, int]:
            if index == 13:
                raise KeyError("thirteen")
            return super().__getitem__(index)

    whole = expected(2, shuffle=False)
    fleet = Fleet(Crew(2, data=Damaged(41), on_error="fail", shuffle=False), (0, 1))
    run = fleet.resume(fleet.state(0, 0), 1)
    # Sample 13 is the seventh of rank 1: its second batch.
    found = [run.next() for _ in range(3)]
    assert [one(batch, batch.index) for batch in found if batch is not None] == whole[:3]
    with pytest.raises(gpufeed.DataError, match="thirteen"):
        run.next()
    with pytest.raises(gpufeed.RunError, match="an actor's error ended it"):
        run.next()


def test_groups_and_columns_arrive() -> None:
    data = [{"image": file, "label": number, "score": number / 4, "caption": f"photograph {number}"} for number, (file, _) in enumerate(Jpegs(16))]
    views = {"global": (CONFIG["recipe"], 2), "local": gpufeed.Views(recipe=CONFIG["recipe"], views=3, dtype="bfloat16")}
    given: dict[str, Any] = {"data": data, "recipe": None, "groups": views}
    fleet = Fleet(Crew(2, **given), (0, 1))
    found = [*iter(fleet.resume(fleet.state(0, 0), 1).next, None)]
    loaders = [gpufeed.DataLoader(**(CONFIG | given), shard=(actor, 2)) for actor in range(2)]
    expected = [batch for batches in zip(*(loader.batches() for loader in loaders), strict=True) for batch in batches]
    assert len(found) == len(expected) == 4
    for batch, alone in zip(found, expected):
        assert [*batch.groups] == [*alone.groups] == ["global", "local"] and batch.images is batch.groups["global"].images
        for group, other in zip(batch.groups.values(), alone.groups.values()):
            assert (group.name, group.ids, group.params, group.valid) == (other.name, other.ids, other.params, other.valid)
            assert (group.views, group.crops, len(group)) == (other.views, other.crops, len(other))
            assert (group.images.dtype, group.images.shape) == (other.images.dtype, other.images.shape)
            images = (each.as_uint16() if each.dtype == "bfloat16" else each for each in (group.images, other.images))
            assert numpy.array_equal(*map(numpy.from_dlpack, images))
        assert batch.columns == alone.columns and batch.labels == alone.labels
        numbers = batch.groups["local"].ids[::3]
        assert batch.columns == {"score": [each / 4 for each in numbers], "caption": [f"photograph {each}" for each in numbers]}


def test_failures_and_all_that_is_known_of_a_batch_arrive() -> None:
    data = Jpegs(16)
    data.files[5] = b"no image"
    fleet = Fleet(Crew(2, data=data), (0, 1))
    found = [batch for batch in iter(fleet.resume(fleet.state(0, 0), 1).next, None)]
    (failure,) = [failure for batch in found for failure in batch.failures]
    assert failure.id == 5 and isinstance(failure.error, gpufeed.DataError)
    for batch in found:
        assert isinstance(batch, Batch) and len(batch) == batch.valid == 4 and (batch.views, batch.crops) == (1, 1)
        images, labels = batch
        assert images is batch.images is batch[0] and labels is batch[1]
        assert images.shape == (4, 3, 16, 16) and (images.dtype, images.nbytes) == ("float32", 4 * 4 * 768)
        assert batch.mixed is not None and numpy.asarray(images).ctypes.data == images.data_ptr
        assert json.loads(batch.params[0])
