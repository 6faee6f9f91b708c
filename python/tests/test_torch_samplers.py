"""torch's samplers, and those of timm, DeiT and torchvision's references, taken as they are; orders that ranks compare."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
numpy = pytest.importorskip("numpy")

from torch.utils import data  # noqa: E402

import gpufeed  # noqa: E402
from pictures import Numbered  # noqa: E402
from test_samplers import SAMPLES, indices, loader  # noqa: E402


def generator() -> Any:
    return torch.Generator().manual_seed(5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: data.SequentialSampler(Numbered(SAMPLES)),
        lambda: data.RandomSampler(Numbered(SAMPLES), generator=generator()),
        lambda: data.RandomSampler(Numbered(SAMPLES), replacement=True, num_samples=31, generator=generator()),
        lambda: data.SubsetRandomSampler([3, 5, 8, 13], generator=generator()),
        lambda: data.WeightedRandomSampler([float(n % 3) for n in range(SAMPLES)], 19, generator=generator()),
    ],
    ids=["sequential", "random", "replacement", "subset", "weighted"],
)
def test_samplers_give_what_they_give_torch(make: Any) -> None:
    ours, theirs = loader(make()), make()
    for _ in range(3):
        assert indices(ours) == [*theirs]
    batches = data.BatchSampler(make(), 3, drop_last=False)
    expected = data.BatchSampler(make(), 3, drop_last=False)
    made = loader(batch_sampler=batches, batch_size=1)
    assert made.batch_size == 3
    for _ in range(2):
        assert [list(batch.ids) for batch in made.batches()] == [*expected]


def test_the_global_generator_is_drawn_from_at_the_iteration() -> None:
    made = loader(data.RandomSampler(Numbered(SAMPLES)))
    torch.manual_seed(9)
    ours = [indices(made), torch.rand(1).item(), indices(made)]
    theirs = data.RandomSampler(Numbered(SAMPLES))
    torch.manual_seed(9)
    assert ours == [[*theirs], torch.rand(1).item(), [*theirs]]


def test_an_order_that_cannot_be_drawn_again_is_refused_and_goes_on_in_its_own_loader() -> None:
    made = loader(data.RandomSampler(Numbered(SAMPLES), generator=generator()))
    first = indices(made)
    assert first != indices(made)
    batches = made.batches()
    third = list(next(batches).ids)
    state = made.state_dict()
    rest = [each for batch in batches for each in batch.ids]
    made.load_state_dict(state)
    assert [each for batch in made.batches() for each in batch.ids] == rest and len(third + rest) == SAMPLES
    other = loader(data.RandomSampler(Numbered(SAMPLES), generator=generator()))
    with pytest.raises(gpufeed.ArgumentError, match="^sampler: the state was saved in another order of epoch 2 than this loader's; it goes on with the same indices alone, so the sampler has to give them again$"):
        other.load_state_dict(state)


def test_a_distributed_sampler_is_not_divided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def sampler(rank: int, world: int = 2) -> Any:
        return data.DistributedSampler(Numbered(SAMPLES), num_replicas=world, rank=rank, seed=4)

    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    made, theirs = loader(sampler(1), shard="auto"), sampler(1)
    for epoch in range(2):
        theirs.set_epoch(epoch)
        assert indices(made) == [*theirs]
    assert "shard: rank 0 of 1 by DistributedSampler, which has divided the samples itself: rank 1 of 2" in made.explain()
    for given, text in [
        ({"sampler": sampler(0)}, "^sampler: DistributedSampler divides the samples for rank 0 of 2, but this process is rank 1 of 2 by .*; make it with num_replicas=2, rank=1$"),
        ({"sampler": sampler(0, 1)}, "^sampler: DistributedSampler divides the samples for rank 0 of 1, but this process is rank 1 of 2"),
        ({"sampler": sampler(1), "shard": (1, 2)}, r"^shard: \(1, 2\), but DistributedSampler has divided the samples itself: rank 1 of 2; leave shard= out$"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=text):
            loader(**{"shard": "auto"} | given)
    # Any rank loads the state of any other one.
    run = made.batches()
    next(run)
    state = made.state_dict()
    assert "digest" not in state["gpufeed"]
    monkeypatch.setenv("RANK", "0")
    other, theirs = loader(sampler(0), shard="auto"), sampler(0)
    other.load_state_dict(state)
    theirs.set_epoch(2)
    assert indices(other) == [*theirs][4:]


def test_the_epoch_that_a_program_sets_is_taken() -> None:
    sampler = data.DistributedSampler(Numbered(SAMPLES), num_replicas=1, rank=0)
    made = loader(sampler)
    found = []
    for epoch in (5, 6, 2):
        sampler.set_epoch(epoch)
        indices(made)
        assert made.epoch == epoch + 1
        found.append(sampler.epoch)
    assert found == [5, 6, 2]


def test_one_epoch_again_and_again_as_in_torch() -> None:
    sampler, theirs = (data.DistributedSampler(Numbered(SAMPLES), num_replicas=1, rank=0) for _ in range(2))
    sampler.set_epoch(5)
    theirs.set_epoch(5)
    made = loader(sampler)
    assert indices(made) == [*theirs]
    for epoch in (0, 0, 4):
        sampler.set_epoch(epoch)
        theirs.set_epoch(epoch)
        assert indices(made) == [*theirs] == [*sampler]


def test_rasampler_as_deit_has_it() -> None:
    class RASampler(data.Sampler):  # type: ignore[type-arg]
        """Written by the rule: each sample of a shuffled order three times, every rank each `num_replicas`-th of them, as many
        as the data set has samples, rounded down to a multiple of 8, divided by the ranks."""

        def __init__(self, length: int, num_replicas: int, rank: int) -> None:
            self.length, self.num_replicas, self.rank, self.epoch = length, num_replicas, rank, 0

        def __iter__(self) -> Iterator[int]:
            shuffled = torch.randperm(self.length, generator=torch.Generator().manual_seed(self.epoch)).tolist()
            repeated = [each for each in shuffled for _ in range(3)]
            total = math.ceil(len(repeated) / self.num_replicas) * self.num_replicas
            repeated += repeated[: total - len(repeated)]
            return iter(repeated[self.rank : total : self.num_replicas][: len(self)])

        def __len__(self) -> int:
            return self.length // 8 * 8 // self.num_replicas

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

    for rank in range(2):
        made, theirs = loader(RASampler(SAMPLES, 2, rank), shard="auto"), RASampler(SAMPLES, 2, rank)
        for epoch in range(2):
            theirs.set_epoch(epoch)
            assert indices(made) == [*theirs] and len(made) == 2


def test_timms_sampler() -> None:
    timm = pytest.importorskip("timm.data.distributed_sampler", reason="timm is not installed")
    many = Numbered(300)
    made = loader(timm.RepeatAugSampler(many, num_replicas=2, rank=1), data=many, shard="auto", batch_size=32)
    theirs = timm.RepeatAugSampler(many, num_replicas=2, rank=1)
    for epoch in range(2):
        theirs.set_epoch(epoch)
        assert indices(made) == [*theirs] and len(made) == 4
    ordered = timm.OrderedDistributedSampler(many, num_replicas=2, rank=1)
    assert indices(loader(ordered, data=many, shard="auto")) == [*ordered]


def test_arrays_of_indices() -> None:
    for given in (torch.tensor([4, 2, 9]), numpy.array([4, 2, 9]), lambda epoch: numpy.array([4, 2, 9], numpy.int32), [numpy.int64(4), torch.tensor(2), 9]):
        assert indices(loader(given)) == [4, 2, 9]


RANK = """
import sys
import torch
import torch.distributed as distributed
import gpufeed
from pictures import NUMBERED, Numbered
from torch.utils.data import DistributedSampler, RandomSampler

rank, address = int(sys.argv[1]), sys.argv[2]
gpufeed.agreement.LENGTHS = 1.0
distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
data = Numbered(20)


def epochs(count, **given):
    loader = gpufeed.DataLoader(data, recipe=NUMBERED, batch_size=5, workers=1, **given)
    return [[each for batch in loader.batches() for each in batch.ids] for _ in range(count)]


def seeded(seed):
    return RandomSampler(data, generator=torch.Generator().manual_seed(seed))


print(epochs(3, sampler=seeded(1)))
print(epochs(1, sampler=DistributedSampler(data)))
for given in (
    {"sampler": [0, 1, 2, 3 + rank]},
    {"batch_sampler": [[0, 1], [2, 3], [4, 5 + rank]]},
    {"sampler": seeded(rank)},
):
    try:
        epochs(1, **given)
        print("no error")
    except gpufeed.ArgumentError as error:
        print(error)
    distributed.barrier()

# Rank 0 has a loader of its own, to validate.
if rank == 0:
    epochs(1, sampler=[4, 2], shard=None)
    own = gpufeed.DataLoader(data, recipe=NUMBERED, batch_size=5, workers=1, sampler=[0, 1, 2])
    next(iter(own))
print(epochs(2, sampler=seeded(3)))
try:
    epochs(1, sampler=[*range(6 + rank)])
    print("no error")
except gpufeed.ArgumentError as error:
    print(error)
distributed.barrier()

import torch.distributed.distributed_c10d as c10d
import warnings

del c10d._get_default_store
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        epochs(1, sampler=[*range(8 + rank)])
print([str(each.message)[:14] for each in said if "store" in str(each.message)])
"""


def test_ranks_that_differ_are_told_where(tmp_path: Path) -> None:
    program = tmp_path / "rank.py"
    program.write_text(RANK)
    address = f"file://{tmp_path / 'store'}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen([sys.executable, program, str(rank), address], env=environment, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=120)[0].splitlines() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    for line in (0, 1, 5):
        for first, second in zip(*(json.loads(each[line]) for each in said), strict=True):
            assert sorted(first + second) == list(range(20))
    assert said[0][2:5] == ["no error"] * 3 and said[0][6] == "no error"
    assert said[1][6].startswith("sampler: 7 entries in epoch 0, and rank 0 has 6 and no loader of 7: ranks take")
    assert [each[7] for each in said] == ["['gpufeed: torch']"] * 2
    assert said[1][2].startswith("sampler: index 4 at position 3 is 3 on rank 0 in epoch 0: ranks take their shares of one order")
    assert said[1][3].startswith("batch_sampler: index 6 at position 1 of batch 2 is 5 on rank 0 in epoch 0")
    assert said[1][4].startswith("sampler: index ") and len(said[1][4]) <= 300
