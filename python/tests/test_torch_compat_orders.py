"""Orders, epochs and random numbers of `gpufeed.torch_compat.DataLoader`, beside those of torch's `DataLoader`."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")

import torchvision.transforms as v1  # noqa: E402
from torch.utils.data import (  # noqa: E402
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data import DataLoader as Theirs  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.torch_compat import DataLoader  # noqa: E402
from torch_loaders import assert_equal, files, strict  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("strict")


def labels(loader: Any) -> list[int]:
    return [int(label) for _, batch in loader for label in batch]


def test_manual_seed_repeats_a_run(files: ImageFolder) -> None:
    files.transform = v1.Compose([v1.RandomCrop(20), v1.ToTensor()])
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    ours = DataLoader(files, batch_size=5, shuffle=True, num_workers=2)
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        epochs = [[*ours], [*ours]]
        runs.append([torch.cat([batch[0] for batch in epoch]) for epoch in epochs])
        orders = [[label for batch in epoch for label in batch[1].tolist()] for epoch in epochs]
        assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == [*range(22)]
    assert all(torch.equal(one, two) for one, two in zip(runs[0], runs[1], strict=True))
    assert not torch.equal(runs[0][0], runs[2][0]) and not torch.equal(runs[0][0], runs[0][1])
    # One worker, and another loader, have the same.
    torch.manual_seed(1)
    assert torch.equal(torch.cat([images for images, _ in DataLoader(files, batch_size=5, shuffle=True, num_workers=1)]), runs[0][0])
    made = [DataLoader(files, shuffle=True, generator=torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)]
    torch.manual_seed(9)
    first, second, third = (labels(loader) for loader in made)
    assert first == second != third and torch.initial_seed() == 9
    # A seed of gpufeed's own counts epochs.
    counted = DataLoader(files, shuffle=True, seed=5)
    assert labels(counted) != labels(counted) and counted.epoch == 2
    plain = gpufeed.DataLoader(files, shuffle=True, seed=5, exif=False)
    assert labels(DataLoader(files, shuffle=True, seed=5)) == labels(plain)


@pytest.mark.parametrize("shuffle", [False, True])
def test_as_many_numbers_are_drawn_as_torch_draws(files: ImageFolder, shuffle: bool) -> None:
    """What a model draws after the loader stays what it was."""
    after = []
    for kind in (DataLoader, Theirs):
        loader = kind(files, batch_size=8, shuffle=shuffle)
        torch.manual_seed(4)
        for _ in range(2):
            [*loader]
        after.append(torch.rand(3))
    assert torch.equal(*after)


def test_iterations_at_once_have_the_orders_of_their_begins(files: ImageFolder) -> None:
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    ours = DataLoader(files, batch_size=4, sampler=Shuffled(22), timeout=20)
    runs = [iter(ours) for _ in range(4)]
    assert [[number for _, batch in run for number in batch.tolist()] for run in runs] == ours.sampler.given


class Shuffled:
    """Remembers the orders that it has given."""

    def __init__(self, samples: int) -> None:
        self.samples, self.given = samples, []

    def __iter__(self) -> Any:
        self.given.append(torch.randperm(self.samples).tolist())
        return iter(self.given[-1])

    def __len__(self) -> int:
        return self.samples


def test_several_iterations_at_once(files: ImageFolder) -> None:
    ours = DataLoader(files, batch_size=4)
    expected = [*Theirs(files, batch_size=4)]
    first, second = iter(ours), iter(ours)
    found = [(next(first), next(second)) for _ in expected]
    for (one, two), theirs in zip(found, expected, strict=True):
        assert_equal(one, theirs)
        assert_equal(two, theirs)
    assert next(first, None) is None and next(second, None) is None
    # A look at a batch in the midst of an epoch.
    seen = []
    for batch in ours:
        seen.append(batch)
        assert_equal(next(iter(ours)), expected[0])
    assert len(seen) == len(expected)
    assert_equal(seen[-1], expected[-1])
    del first, second, batch, found, seen
    # One that is left has no threads once nobody holds it.
    open_runs = gpufeed._gpufeed.open_runs
    next(iter(ours))
    for _ in range(3):
        next(iter(ours))
    assert open_runs() <= 1


def test_distributed_samplers(files: ImageFolder) -> None:
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    for shuffle, size, drop_last in ((False, 3, False), (False, 3, True), (True, 4, False), (True, 3, True)):
        ranks = []
        for rank in range(3):
            sampler = DistributedSampler(files, 3, rank, shuffle=shuffle, seed=7)
            ours = DataLoader(files, size, sampler=sampler, drop_last=drop_last)
            theirs = Theirs(files, size, sampler=sampler, drop_last=drop_last)
            assert ours.sampler is sampler and len(ours) == len(theirs)
            assert [len(batch) for _, batch in ours] == [len(batch) for _, batch in theirs]
            if not shuffle:
                assert labels(ours) == labels(theirs)
            ours.sampler.set_epoch(2)
            second = labels(ours)
            assert (second == labels(ours)) != shuffle
            sampler.set_epoch(3)
            labels(ours)
            sampler.set_epoch(2)
            assert labels(ours) == second
            ranks.append(second)
        if not drop_last:
            assert {label for rank in ranks for label in rank} == {*range(22)}


def test_samplers_of_any_kind(files: ImageFolder) -> None:
    """The indices are those that torch's loader has for the same random numbers."""
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    weights = [number % 5 for number in range(22)]
    generator = torch.Generator()
    orders: list[dict[str, Any]] = [
        {"sampler": [3, 1, 4, 1, 5]},
        {"sampler": WeightedRandomSampler(weights, 30)},
        {"sampler": SubsetRandomSampler([8, 9, 10, 20])},
        {"sampler": RandomSampler(files, replacement=True, num_samples=11)},
        {"sampler": DistributedSampler(files, 4, 1, shuffle=True, drop_last=True)},
        # torch fills shares up to 8 samples, where gpufeed would leave out those that fill no batch.
        {"sampler": DistributedSampler(files, 3, 1, shuffle=True), "batch_size": 2, "drop_last": True},
        {"batch_sampler": BatchSampler(SubsetRandomSampler(range(15)), 4, drop_last=True)},
        {"batch_sampler": BatchSampler(SequentialSampler(files), 4, drop_last=False)},
        {"batch_sampler": [[1], [2, 3], [5, 8, 13]]},
        {"sampler": WeightedRandomSampler(weights, 30, generator=generator), "generator": generator, "drop_last": True, "batch_size": 7},
    ]
    for given in orders:
        for seed in (5, 6):
            found = []
            for kind in (DataLoader, Theirs):
                torch.manual_seed(seed)
                generator.manual_seed(seed)
                loader = kind(files, **given)
                assert len(loader) == len([*loader])
                assert (loader.sampler is given.get("sampler", loader.sampler)) and loader.batch_sampler is given.get("batch_sampler", loader.batch_sampler)
                found.append(([[batch.tolist() for _, batch in loader] for _ in range(2)], loader.batch_size, loader.drop_last))
            assert found[0] == found[1], given
    # The epoch of a sampler is its own affair.
    uneven = DistributedSampler(files, 4, 1, drop_last=True)
    ours = DataLoader(files, sampler=uneven)
    uneven.set_epoch(3)
    third = labels(ours)
    assert uneven.epoch == 3 and third == [*uneven] == labels(ours)
    balanced = DataLoader(files, sampler=gpufeed.orders.class_balanced(8, labels=[number % 2 for number in range(22)]))
    assert sorted(label % 2 for label in labels(balanced)) == [0] * 4 + [1] * 4
    random_batches = DataLoader(files, batch_sampler=BatchSampler(RandomSampler(files), 4, False))
    assert "random order of gpufeed's own" in random_batches.explain() and sorted(labels(random_batches)) == [*range(22)]


def test_ranks_without_a_distributed_sampler(files: ImageFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.warns(UserWarning, match="each of the 2 ranks reads all samples"):
        assert len(labels(DataLoader(files))) == 22
    assert len(labels(DataLoader(files, shard="auto"))) == 11
    for given in ({"drop_last": True}, {"drop_last": False}):
        sampler = DistributedSampler(files, 2, 1, **given)
        assert len(labels(DataLoader(files, sampler=sampler))) == len(labels(DataLoader(files, batch_sampler=BatchSampler(sampler, 4, False)))) == 11
    assert len(labels(DataLoader(files, batch_sampler=[[1, 2], [3]]))) == 3


def test_states_go_on(files: ImageFolder) -> None:
    files.transform = v1.Compose([v1.RandomCrop(20), v1.ToTensor()])
    ours = DataLoader(files, 4, shuffle=True)
    batches = iter(ours)
    next(batches)
    state, rest = ours.state_dict(), [*batches]
    again = DataLoader(files, 4, shuffle=True)
    again.load_state_dict(state)
    copy = pickle.loads(pickle.dumps(again))
    for loader in (again, copy):
        found = [*loader]
        assert len(found) == len(rest)
        for one, two in zip(found, rest, strict=True):
            assert_equal(one, two)


def test_a_state_after_an_epoch_draws_the_next_one(files: ImageFolder) -> None:
    ours = DataLoader(files, 4, shuffle=True)
    [*ours]
    state, drawn = ours.state_dict(), torch.get_rng_state()
    expected = labels(ours)
    again = DataLoader(files, 4, shuffle=True)
    again.load_state_dict(state)
    torch.set_rng_state(drawn)
    assert labels(again) == expected
    again.skip_first_batches(5)
    assert len(labels(again)) == 2 and len(labels(again)) == 22


def test_a_random_sampler_with_a_generator_repeats_its_order(files: ImageFolder) -> None:
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    for wrap in (lambda sampler: {"sampler": sampler}, lambda sampler: {"batch_sampler": BatchSampler(sampler, 4, False)}):
        found = []
        for kind, seed in ((DataLoader, 1), (DataLoader, 2), (Theirs, 3)):
            torch.manual_seed(seed)
            loader = kind(files, **wrap(RandomSampler(files, generator=torch.Generator().manual_seed(0))))
            found.append([labels(loader), labels(loader)])
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("weight", [0.5, lambda epoch: 0.5])
def test_a_blend_counts_epochs(files: ImageFolder, weight: Any) -> None:
    def blend() -> Any:
        return gpufeed.blend({files.root: weight}, samples_per_epoch=16)

    listed = files.transform
    ours = DataLoader(blend(), 4, shuffle=True, transforms=listed)
    theirs = gpufeed.DataLoader(blend(), batch_size=4, transforms=listed, exif=False)
    drawn = torch.get_rng_state()
    for _ in range(2):
        for (images, classes), (expected, numbers) in zip(ours, theirs, strict=True):
            assert torch.equal(images, expected) and torch.equal(classes, numbers)
    assert ours.epoch == 2 and len(ours) == 4 and torch.equal(torch.get_rng_state(), drawn)
    assert "note: a blend has a random order of its own" in ours.explain()
    with pytest.raises(gpufeed.ArgumentError, match="^sampler: given beside a blend"):
        DataLoader(blend(), sampler=[1, 2], transforms=listed)
    with pytest.raises(gpufeed.ArgumentError, match="^transforms: give either"):
        DataLoader(blend())


def test_a_blend_is_divided_among_ranks(files: ImageFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    ours = DataLoader(gpufeed.blend({files.root: 1.0}, samples_per_epoch=16), transforms=files.transform)
    assert len(labels(ours)) == 8


class Batches:
    """Batches that are asked for, of ``sizes`` in each epoch."""

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.asked = sizes, 0

    def __iter__(self) -> Any:
        size = self.sizes[min(self.asked, len(self.sizes) - 1)]
        self.asked += 1
        return iter([[*range(at, at + size)] for at in (0, 4, 8)])

    def __len__(self) -> int:
        return 3


def test_the_first_order_is_asked_once(files: ImageFolder) -> None:
    files.samples = [(path, number) for number, (path, _) in enumerate(files.samples)]
    batches = Batches(2)
    ours = DataLoader(files, batch_sampler=batches)
    assert batches.asked == 1 and labels(ours) == [0, 1, 4, 5, 8, 9] and batches.asked == 1
    assert labels(ours) == [0, 1, 4, 5, 8, 9] and batches.asked == 2
    once = DataLoader(files, sampler=(index for index in (5, 3, 8)))
    assert labels(once) == [5, 3, 8]
    with pytest.raises(gpufeed.ArgumentError, match="^sampler: epoch 1 has no indices, but each epoch of this loader has 3$"):
        labels(once)


def test_later_batches_may_be_larger(files: ImageFolder) -> None:
    ours = DataLoader(files, batch_sampler=Batches(2, 4))
    labels(ours)
    with pytest.raises(gpufeed.ArgumentError) as refused:
        labels(ours)
    assert str(refused.value) == (
        "batch_sampler: batch 0 of epoch 1 has 4 samples, and the largest of epoch 0, for which memory was set aside, had 2; an attribute batch_size "
        "of the sampler says how many a batch may have"
    )
    batches = Batches(2, 4)
    batches.batch_size = 4  # type: ignore[attr-defined]
    ours = DataLoader(files, batch_sampler=batches)
    assert [len(labels(ours)) for _ in range(2)] == [6, 12]


def test_objects_that_make_their_samples(files: ImageFolder) -> None:
    expected = [*Theirs(files, 4)]
    with pytest.warns(UserWarning, match="samples are made in Python, .* random numbers in them differ from run to run.*: thread_safe= is of an object"):
        ours = DataLoader(files, 4, thread_safe=True)
    for found, theirs in zip(ours, expected, strict=True):
        assert_equal(found, theirs)
    with pytest.warns(UserWarning, match="samples are made in Python, .*: fields= is of an object that makes its samples itself$"):
        ours = DataLoader(files, 4, fields=["label", "path"])
    for found, theirs in zip(ours, expected, strict=True):
        assert_equal(found["image"], theirs[0])
        assert_equal(found["label"], theirs[1])
    assert [path for batch in ours for path in batch["path"]] == [path for path, _ in files.samples]


def test_gray_arrays_of_which_own_code_makes_three_channels(tmp_path: Any) -> None:
    from torchvision.datasets import MNIST

    class Numbers(MNIST):
        def __init__(self) -> None:
            self.data, self.targets = torch.randint(0, 256, (9, 28, 28), dtype=torch.uint8), torch.arange(9)
            self.root, self.train, self.target_transform, self.transforms = str(tmp_path), True, None, None
            self.transform = v1.Compose([v1.ToTensor(), v1.Lambda(lambda image: image.repeat(3, 1, 1))])

    data = Numbers()
    ours = DataLoader(data, 4)
    assert "of Python" not in repr(ours)
    for found, theirs in zip(ours, Theirs(data, 4), strict=True):
        assert_equal(found, theirs)
