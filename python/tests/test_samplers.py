"""Orders by ``sampler=`` and ``batch_sampler=``: the user's and gpufeed's own; and blends."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import NUMBERED, Numbered, folder, numbers

SAMPLES = 23


def loader(sampler: Any = None, *, data: Any = None, **given: Any) -> gpufeed.DataLoader:
    settings = {"batch_size": 4, "seed": 3, "workers": 1, "shard": None} | given
    data = Numbered(SAMPLES) if data is None else data
    return gpufeed.DataLoader(data, recipe=NUMBERED, sampler=sampler, **settings)


def indices(made: gpufeed.DataLoader) -> list[int]:
    """The indices of the next epoch, of which images and labels tell."""
    found = []
    for batch in made.batches():
        assert numbers(batch.images) == list(batch.ids)
        found += batch.ids
    return found


def by_epoch(epoch: int) -> list[int]:
    return [(7 * n + epoch) % SAMPLES for n in range(18)]


class Counting:
    """An iterable that is told the epoch, and counts how often it was iterated."""

    def __init__(self) -> None:
        self.epoch, self.told, self.iterated = 0, [], 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.told.append(epoch)

    def __iter__(self) -> Iterator[int]:
        self.iterated += 1
        return iter(by_epoch(self.epoch))

    def __len__(self) -> int:
        return 18


def test_a_function_and_an_iterable_give_each_epoch() -> None:
    made = loader(by_epoch)
    assert len(made) == 5
    assert [indices(made) for _ in range(3)] == [by_epoch(0), by_epoch(1), by_epoch(2)]
    counting = Counting()
    made = loader(counting)
    assert [indices(made) for _ in range(3)] == [by_epoch(0), by_epoch(1), by_epoch(2)]
    assert counting.told == [0, 1, 2] and counting.iterated == 3
    assert indices(loader([5, 5, 1])) == [5, 5, 1]
    assert indices(loader(range(9, 0, -2))) == [9, 7, 5, 3, 1]


def test_several_epochs_in_a_row_ask_for_each_once() -> None:
    counting = Counting()
    made = loader(counting)
    found = [int(label) for _, labels in made.epochs(range(2, 5)) for label in labels]
    assert found == by_epoch(2) + by_epoch(3) + by_epoch(4)
    assert counting.told == [2, 3, 4] and counting.iterated == 3


def test_an_iterable_without_a_length_is_asked_for_the_first_epoch_once() -> None:
    class Endless:
        asked = 0

        def __iter__(self) -> Iterator[int]:
            self.asked += 1
            return iter([3, self.asked])

    given = Endless()
    made = loader(given)
    assert len(made) == 1 and given.asked == 1
    assert indices(made) == [3, 1] and given.asked == 1
    assert indices(made) == [3, 2] and given.asked == 2


def ranks(make: Any, world: int, batch_size: int = 4, **given: Any) -> list[list[int]]:
    """The samples of each global batch of an epoch, in the order of positions."""
    of_rank = [[list(batch.ids)[: batch.valid] for batch in make(shard=(rank, world), batch_size=batch_size // world, **given).batches()] for rank in range(world)]
    longest = range(max(len(each) for of in of_rank for each in of))
    return [[each[at] for at in longest for each in batch if at < len(each)] for batch in zip(*of_rank, strict=True)]


ORDERS: dict[str, Any] = {
    "function": lambda: by_epoch,
    "iterable": Counting,
    "repeated augmentation": lambda: gpufeed.orders.repeated_augmentation(3, 4),
    "class-balanced": lambda: gpufeed.orders.class_balanced(18, [n // 7 for n in range(SAMPLES)]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_workers_and_ranks_have_the_same_global_batches(name: str) -> None:
    def make(**given: Any) -> gpufeed.DataLoader:
        made = loader(ORDERS[name](), **given)
        made.set_epoch(1)
        return made

    alone = ranks(make, 1)
    assert sum(map(len, alone)) in (18, 20)
    for world in (1, 2, 4):
        for workers in (1, 2, 7):
            assert ranks(make, world, workers=workers) == alone, (world, workers)


@pytest.mark.parametrize("name", ORDERS)
def test_every_batch_is_resumed_in_another_process(name: str) -> None:
    def made() -> gpufeed.DataLoader:
        return loader(ORDERS[name]())

    first = made()
    first.set_epoch(2)
    whole = [list(batch.ids) for batch in first.batches()] + [list(batch.ids) for batch in first.batches()]
    for taken in range(len(first) + 1):
        first.set_epoch(2)
        batches = first.batches()
        for _ in range(taken):
            next(batches)
        state = json.loads(json.dumps(first.state_dict()))
        for other in (made(), first, pickle.loads(pickle.dumps(made()))):
            other.load_state_dict(state)
            rest = [list(batch.ids) for batch in other.batches()]
            assert rest == (whole[taken:5] if taken < 5 else whole[5:]), (name, taken)
            assert [list(batch.ids) for batch in other.batches()] == (whole[5:] if taken < 5 else rest_of(other)), (name, taken)


def rest_of(made: gpufeed.DataLoader) -> list[list[int]]:
    made.set_epoch(4)
    return [list(batch.ids) for batch in made.batches()]


def test_another_order_is_refused_and_states_without_lists_go_on() -> None:
    made = loader(by_epoch)
    batches = made.batches()
    next(batches)
    state = made.state_dict()
    assert state["gpufeed"]["order"] == "listed" and len(state["gpufeed"]["digest"]) == 16
    refused = [
        (loader(lambda epoch: by_epoch(epoch + 1)), "^sampler: the state was saved in another order of epoch 0 than this loader's"),
        (loader([1, 2, 3]), "^sampler: the state was saved in an epoch of 18 positions, but an epoch of this order has 3$"),
        (loader(), "^dataset: the state was saved with 18 samples"),
        (loader(batch_sampler=lambda epoch: [[1]]), "^sampler: .*ordered by a sampler, this one is ordered by a sampler of batches"),
    ]
    for other, text in refused:
        with pytest.raises(gpufeed.ArgumentError, match=text):
            other.load_state_dict(state)
    # States of gpufeed 0.1 name no order.
    old = loader(by_epoch)
    old.load_state_dict({"gpufeed": {"seed": 3, "epoch": 0, "batch": 1}})
    assert indices(old) == by_epoch(0)[4:]
    # Those of another order are still read as they were.
    plain = loader(shuffle=True)
    plain.load_state_dict({"gpufeed": {"version": 2, "seed": 3, "epoch": 0, "position": 8, "samples": SAMPLES, "global_batch": 4, "order": "shuffled"}})
    assert len(indices(plain)) == SAMPLES - 8


def test_skipping_and_set_epoch_ask_for_the_epoch() -> None:
    made = loader(by_epoch)
    made.skip_first_batches(2)
    assert indices(made) == by_epoch(0)[8:]
    made.set_epoch(6)
    assert indices(made) == by_epoch(6)


class Epochs:
    """Has the epoch that was set as its only index; without ``keeps``, as a number of its own."""

    def __init__(self, epoch: int = 0, keeps: bool = True) -> None:
        self.epoch, self.keeps = epoch, keeps

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch if self.keeps else int(epoch)

    def __iter__(self) -> Iterator[int]:
        return iter([self.epoch])

    def __len__(self) -> int:
        return 1


def test_an_epoch_that_the_user_sets_counts() -> None:
    early = Epochs()
    early.set_epoch(5)
    made = loader(early)
    assert early.epoch == 5 and [indices(made) for _ in range(2)] == [[5], [6]]
    again = Epochs()
    made = loader(again)
    for epoch in (0, 0, 7, 7, 3):
        again.set_epoch(epoch)
        assert indices(made) == [epoch] == [again.epoch]
    assert indices(made) == [4] and json.dumps(again.epoch) == "4"
    # What is said last counts.
    again.set_epoch(1)
    made.set_epoch(9)
    assert [indices(made), indices(made)] == [[9], [10]]
    again.set_epoch(1)
    assert [label for _, labels in made.epochs(range(2, 4)) for label in labels.tolist()] == [2, 3]


def test_an_epoch_that_the_user_sets_for_later_is_not_overwritten() -> None:
    given = Epochs()
    made = loader(given)
    run = iter(made.epochs(range(2, 5)))
    next(run)
    given.set_epoch(8)
    assert [int(next(run)[1]) for _ in range(2)] == [3, 4] and given.epoch == 8
    assert indices(made) == [8]

    class Endless(Epochs):
        __len__ = None  # type: ignore[assignment]

    endless = Endless(6)
    made = loader(endless)
    assert endless.epoch == 6 and indices(made) == [6]


def test_loaders_that_share_a_sampler_have_epochs_of_their_own() -> None:
    given = Epochs()
    first, second = loader(given), loader(given)
    assert [indices(first) for _ in range(3)] == [[0], [1], [2]] and indices(second) == [0]
    assert indices(loader(given)) == [0] and indices(first) == [3]
    given.set_epoch(8)
    assert [indices(first), indices(first), indices(second), indices(second), indices(first)] == [[8], [9], [8], [9], [10]]


def test_epochs_are_the_same_after_a_pickle_and_for_samplers_with_numbers_of_their_own() -> None:
    made = loader(Epochs())
    assert [indices(made), indices(made)] == [[0], [1]]
    again = pickle.loads(pickle.dumps(made))
    assert [indices(again), indices(again), indices(made)] == [[2], [3], [2]]
    own = Epochs(keeps=False)
    made = loader(own)
    assert [indices(made) for _ in range(3)] == [[0], [1], [2]]
    own.set_epoch(7)
    assert [indices(made) for _ in range(2)] == [[7], [8]]
    # A state that is loaded after the user has set an epoch.
    other = Epochs()
    made = loader(other)
    state = {"gpufeed": json.loads(made._loader().state(4, 0))}
    other.set_epoch(2)
    made.load_state_dict(state)
    assert indices(made) == [4]


def test_batches_are_those_of_the_sampler() -> None:
    sizes = [3, 1, 4, 2, 4]

    def batches(epoch: int) -> list[list[int]]:
        return [[(size * n + epoch) % SAMPLES for n in range(size)] for size in sizes]

    made = loader(batch_sampler=batches, batch_size=4)
    assert [list(batch.ids) for batch in made.batches()] == batches(0)
    assert [list(batch.ids) for batch in made.batches()] == batches(1)
    # The largest batch of epoch 0, where none is said.
    assert loader(batch_sampler=batches, batch_size=1).batch_size == 4
    of = [[list(batch.ids) for batch in loader(batch_sampler=batches, shard=(rank, 2)).batches()] for rank in range(2)]
    assert of[0] == batches(0)[::2] and of[1] == [*batches(0)[1::2], batches(0)[0]]
    dropped = [loader(batch_sampler=batches, shard=(rank, 2), drop_last=True) for rank in range(2)]
    assert [len(each) for each in dropped] == [2, 2]
    for taken in range(5):
        made.set_epoch(1)
        run = made.batches()
        for _ in range(taken):
            next(run)
        other = loader(batch_sampler=batches, batch_size=4, workers=7)
        other.load_state_dict(made.state_dict())
        assert [list(batch.ids) for batch in other.batches()] == batches(1)[taken:]


def test_explain_names_the_order() -> None:
    assert "order: by the function by_epoch, 18 positions an epoch" in loader(by_epoch).explain()
    assert "order: by Counting, 18 positions" in loader(Counting()).explain()
    assert "order: repeated augmentation, each sample 3 times in a row, 20 positions" in loader(gpufeed.orders.repeated_augmentation(3, 4)).explain()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"sampler": [1, 23]}, "^sampler: index 23 at position 1 of epoch 0, but the data set has 23 samples, 0 to 22$"),
        ({"sampler": [1, -1]}, "^sampler: index -1 at position 1 of epoch 0; indices count from 0$"),
        ({"sampler": [1, 1 << 70]}, "^sampler: index 1180591620717411303424 at position 1 of epoch 0; no data set has so many samples$"),
        ({"sampler": [1, 2.0]}, "^sampler: 2.0 at position 1 of epoch 0 is a float; a whole number works$"),
        ({"sampler": [True, False]}, "^sampler: True at position 0 of epoch 0 is a bool; a whole number works$"),
        ({"sampler": [[1, 2], [3]]}, r"^sampler: \[1, 2\] at position 0 of epoch 0 is a list; a whole number works, and batches are passed as batch_sampler=$"),
        ({"sampler": []}, "^sampler: an epoch of no indices; give at least one$"),
        ({"sampler": lambda epoch: [1] * (2 + epoch)}, "^sampler: epoch 1 has 3 indices, but each epoch of this loader has 2; an order has as many in every epoch$"),
        ({"sampler": lambda epoch: 5}, "^sampler: epoch 0 is a int; an iterable works$"),
        ({"sampler": iter([1, 2])}, "^sampler: a list_iterator, which ends with one epoch; an iterable of indices, and a function"),
        ({"sampler": {1, 2}}, "^sampler: a set; an iterable of indices, and a function of the epoch that returns one, work$"),
        ({"sampler": "12"}, "^sampler: a str; an iterable of indices"),
        ({"sampler": 5}, "^sampler: a int; an iterable of indices"),
        ({"sampler": [1], "shuffle": True}, "^shuffle: on, but the lists of the sampler are the order; leave one of the two out$"),
        ({"sampler": [1], "batch_sampler": [[1]]}, "^batch_sampler: given beside sampler; give one of the two$"),
        ({"sampler": [1], "order": ("blocks", 2, 2)}, "^order: blocks:2:2, but the list of an epoch is its order"),
        ({"sampler": [1], "lanes": 2}, "^lanes: 2, but only an order of blocks has lanes"),
        ({"batch_sampler": [[1], [2, 99]]}, "^batch_sampler: index 99 at position 1 of batch 1 of epoch 0, but the data set has 23"),
        ({"batch_sampler": [[1], [2, -3]]}, "^batch_sampler: index -3 at batch 1, position 1 of epoch 0; indices count from 0$"),
        ({"batch_sampler": [1, 2]}, "^batch_sampler: batch 0 of epoch 0 is 1, a int; a list of indices works, and single indices are passed as sampler=$"),
        ({"batch_sampler": [[1], []]}, "^batch_sampler: batch 1 of epoch 0 has 0 samples; 1 to batch_size work, which is 4$"),
        ({"batch_sampler": [[1] * 5]}, "^batch_sampler: batch 0 of epoch 0 has 5 samples; 1 to batch_size work, which is 4$"),
        ({"batch_sampler": [[1]], "last_batch": "pad"}, "^last_batch: filling batches up, but they are those of the batch sampler"),
        ({"batch_sampler": gpufeed.orders.repeated_augmentation()}, "^batch_sampler: a RepeatedAugmentation, an order of samples; pass it as sampler=$"),
        ({"sampler": gpufeed.orders.repeated_augmentation()}, "^repeated_augmentation: 23 samples, rounded down to a multiple of 256, are none; set round_to to at most 23$"),
        ({"sampler": gpufeed.orders.class_balanced()}, "^labels: that of sample 0 is known only by reading it; give the class of each sample$"),
        ({"sampler": gpufeed.orders.class_balanced(labels=[1, 2])}, "^sampler: an order of 2 samples, but the data set has 23$"),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, Any], text: str) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=text) as refused:
        made = loader(**given)
        indices(made)
        indices(made)
    assert len(str(refused.value)) <= 300


def test_weights_of_the_data_do_not_go_with_a_sampler(tmp_path: Path) -> None:
    data = gpufeed.open(folder(tmp_path / "data")).with_weights([1.0] * 24)
    with pytest.raises(gpufeed.ArgumentError, match="^sampler: the data set has weights, which choose the samples of an epoch; leave"):
        gpufeed.DataLoader(data, recipe=NUMBERED, sampler=[1])


def test_an_error_of_the_sampler_is_raised_where_it_is_iterated() -> None:
    class Failing(Counting):
        def __iter__(self) -> Iterator[int]:
            raise OSError("the list is not there")

    made = loader(Failing())
    with pytest.raises(OSError, match="the list is not there"):
        next(iter(made))


def test_an_error_of_the_next_epoch_comes_after_the_last_batch_of_this_one() -> None:
    made = loader(lambda epoch: by_epoch(epoch) if epoch < 3 else [99])
    found = []
    with pytest.raises(gpufeed.ArgumentError, match="^sampler: epoch 3 has 1 indices, but each epoch of this loader has 18"):
        for _, labels in made.epochs(range(1, 6)):
            found += labels.tolist()
    assert found == by_epoch(1) + by_epoch(2)


def test_class_balanced_takes_the_classes_of_a_folder(tmp_path: Path) -> None:
    data = gpufeed.open(folder(tmp_path / "data", count=24, classes=3)).subset([*range(0, 8), 8, 16])
    made = gpufeed.DataLoader(data, recipe={"transform": [{"type": "CenterCrop", "size": 8}]}, batch_size=30, sampler=gpufeed.orders.class_balanced(30))
    for _ in range(3):
        _, labels = next(iter(made))
        assert Counter(labels.tolist()) == {0: 10, 1: 10, 2: 10}


def test_repeated_augmentation_has_neighbours_on_different_ranks() -> None:
    def make(**given: Any) -> gpufeed.DataLoader:
        return loader(gpufeed.orders.repeated_augmentation(2, 2), data=Numbered(16), **given)

    batches = ranks(make, 2, batch_size=4)
    flat = [each for batch in batches for each in batch]
    assert len(flat) == 16 and len(set(flat)) == 8 and flat[::2] == flat[1::2]


class Later(Numbered):
    classes = ["class 0", "class 1", "class 2"]

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index + 9)
        return image, label % 3


class Several(Later):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class TestBlends:
    def parts(self, path: Path) -> tuple[gpufeed.Dataset, gpufeed.Dataset]:
        data = gpufeed.open(folder(path / "data", count=24, classes=3))
        return data.subset([*range(17)]), data.subset([*range(17, 24)])

    def made(self, blend: Any, **given: Any) -> gpufeed.DataLoader:
        recipe = {"transform": [{"type": "CenterCrop", "size": 8}]}
        return gpufeed.DataLoader(blend, recipe=recipe, **{"batch_size": 5, "shard": None, "workers": 1} | given)

    def test_shares_are_exact_and_a_pass_repeats_nothing(self, tmp_path: Path) -> None:
        many, few = self.parts(tmp_path)
        blend = gpufeed.blend({many: 0.7, few: 0.3}, samples_per_epoch=11)
        made = self.made(blend)
        assert len(made) == 3 and len(blend) == 11
        of_many: list[int] = []
        of_few: list[int] = []
        for epoch in range(20):
            ids = [each for batch in made.batches() for each in batch.ids]
            assert len(ids) == 11
            of_few += [each for each in ids if each >= 17]
            of_many += [each for each in ids if each < 17]
            assert abs(len(of_few) - 3.3 * (epoch + 1)) <= 1
            assert len([each for each in ids if each >= 17]) in (3, 4)
            for walk, length in ((of_many, 17), (of_few, 7)):
                passes = len(walk) // length
                assert max(Counter(walk).values(), default=0) <= passes + 1
                assert passes == 0 or min(Counter(walk).values()) >= passes
        assert "order: a blend of 2 data sets, 11 positions an epoch" in made.explain()

    def test_it_is_resumed_and_divided(self, tmp_path: Path) -> None:
        many, few = self.parts(tmp_path)
        for weight in (0.4, lambda epoch: 0.1 * epoch):
            blend = gpufeed.blend([(many, 1 - 0.4), (few, weight)], samples_per_epoch=12)

            def make(*, blend: Any = blend, **given: Any) -> gpufeed.DataLoader:
                made = self.made(blend, **given)
                made.set_epoch(3)
                return made

            alone = ranks(make, 1)
            for world in (1, 2, 4):
                for workers in (1, 2, 7):
                    assert ranks(make, world, workers=workers) == alone
            whole = [list(batch.ids) for batch in make().batches()]
            for taken in range(4):
                first = make()
                run = first.batches()
                for _ in range(taken):
                    next(run)
                other = self.made(blend)
                other.load_state_dict(first.state_dict())
                rest = [list(batch.ids) for batch in other.batches()]
                assert rest == whole[taken:] if taken < 3 else rest != whole

    def test_weights_follow_the_epoch(self, tmp_path: Path) -> None:
        many, few = self.parts(tmp_path)
        made = self.made(gpufeed.blend({many: lambda epoch: float(epoch == 0), few: lambda epoch: float(epoch > 0)}, 6))
        assert [all(each < 17 for each in indices_of(made)), all(each >= 17 for each in indices_of(made))] == [True, True]
        assert "by weights of the epoch" in made.explain()

    def test_paths_are_opened_and_pickled(self, tmp_path: Path) -> None:
        photos, drawings = folder(tmp_path / "photos"), folder(tmp_path / "drawings")
        blend = gpufeed.blend({photos: 0.5, str(drawings): 0.5}, samples_per_epoch=10)
        made = self.made(blend)
        again = pickle.loads(pickle.dumps(made))
        assert indices_of(again) == indices_of(self.made(pickle.loads(pickle.dumps(blend)))) == indices_of(made)

    def test_objects_in_python(self, tmp_path: Path) -> None:
        many, _ = self.parts(tmp_path)

        assert many.classes == Later.classes
        # The objects lie together, in the place of the first one.
        blend = gpufeed.blend([(Later(5), 0.5), (many, 0.1), (Several(4), 0.4)], samples_per_epoch=10)
        assert blend.lengths == [5, 4, 17] and blend.weights == [0.5, 0.4, 0.1]
        found = {each: int(label) for batch in self.made(blend).batches() for each, label in zip(batch.ids, torch_labels(batch), strict=True)}
        assert len([each for each in found if each < 5]) == 5 and len([each for each in found if 5 <= each < 9]) == 4
        for each in range(9):
            assert found[each] == (each + 9 if each < 5 else each - 5 + 9) % 3
        assert indices_of(self.made(pickle.loads(pickle.dumps(blend)))) == indices_of(self.made(blend))

    def test_what_cannot_work_is_refused(self, tmp_path: Path) -> None:
        many, few = self.parts(tmp_path)
        other = gpufeed.open(folder(tmp_path / "other", classes=2))
        gray, named = Numbered(3), Numbered(3)
        gray.channels, named.classes = 1, ["a"]
        for blend, text in [
            (lambda: gpufeed.blend({}, 5), "^blend: no data set; give at least one$"),
            (lambda: gpufeed.blend({many: -1.0}, 5), "^weights: -1.0; a weight is finite and at least 0$"),
            (lambda: gpufeed.blend({many: "1"}, 5), "^weights: '1' is a str; a number from 0 on works, and a function of the epoch$"),
            (lambda: gpufeed.blend({many: 1.0}, 0), "^samples_per_epoch: 0; a whole number from 1 on works$"),
            (lambda: gpufeed.blend({many: 1.0, other: 1.0}, 5), "^concat: part 0 has 3 classes and part 1 has 2"),
            (lambda: gpufeed.blend({Numbered(3): 1.0, gray: 1.0}, 5), "^blend: data set 0 has images of 3 channels and data set 1 of 1"),
            (lambda: gpufeed.blend({Numbered(3): 1.0, named: 1.0}, 5), "^blend: data set 0 has 0 classes by name, data set 1 has 1, and"),
            (lambda: gpufeed.blend({many.with_weights([1.0] * 17): 1.0}, 5), "^blend: data set 0 has weights"),
            (lambda: self.made(gpufeed.blend({many: 0.0, few: 0.0}, 5)), "^weights: all are 0"),
            (lambda: self.made(gpufeed.blend({many: 1.0}, 5), sampler=[1]), "^sampler: given beside a blend"),
            (lambda: indices_of(self.made(gpufeed.blend({many: lambda epoch: -1.0}, 5))), "^weights: -1.0 of epoch 0; a weight is finite"),
        ]:
            with pytest.raises(gpufeed.ArgumentError, match=text):
                blend()


def torch_labels(batch: Any) -> Any:
    return numpy.from_dlpack(batch.labels)


def indices_of(made: gpufeed.DataLoader) -> list[int]:
    return [each for batch in made.batches() for each in batch.ids]
