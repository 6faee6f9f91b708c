"""A fleet under Ray, with two nodes on this machine: the batches, whatever dies; the store; errors; the end."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

pytest.importorskip("ray")
torch = pytest.importorskip("torch")

import ray  # noqa: E402
import gpufeed.ray  # noqa: E402
from cluster import TwoNodes  # noqa: E402
from pictures import NUMBERED, Numbered, folder, numbers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
slow = pytest.mark.skipif("GPUFEED_FULL" not in os.environ, reason="takes long: only with GPUFEED_FULL=1")

STEPS = [{"type": "RandomResizedCrop", "size": 32}, {"type": "RandomHorizontalFlip"}]
NORMALIZE = {"type": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    made = TwoNodes()
    yield made
    made.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(folder(tmp_path_factory.mktemp("data"), count=101))


def config(data: Any, **given: Any) -> dict[str, Any]:
    settings = {"recipe": {"transform": [*STEPS, NORMALIZE]}, "batch_size": 4, "shuffle": True, "seed": 3, "seek_indexes": "memory"}
    return {"data": data} | settings | given


def fleet_of(given: dict[str, Any], actors: int, **settings: Any) -> gpufeed.ray.DataLoader:
    """A fleet of which several find room in the nodes' two CPUs."""
    return gpufeed.ray.DataLoader(given, actors=actors, **({"num_cpus": 0.25, "start_timeout": 60} | settings))


Seen = tuple[int, int, list[int], list[str], bytes, list[int]]


def one(batch: Any, index: int) -> Seen:
    # NumPy has no bfloat16, only its bits.
    stored = batch.images.as_uint16() if batch.images.dtype == "bfloat16" else batch.images
    images, labels = numpy.from_dlpack(stored), numpy.from_dlpack(batch.labels)
    return batch.epoch, index, batch.ids, batch.params, images.tobytes(), labels.tolist()


def seen(batches: Any) -> list[Seen]:
    return [one(batch, batch.index) for batch in batches]


def alone(config: dict[str, Any], actors: int, shard: tuple[int, int] = (0, 1), epoch: int = 0) -> list[Seen]:
    """What one process makes that is each virtual rank in turn."""
    rank, world = shard
    found: list[Seen] = []
    loaders = [gpufeed.DataLoader(**config, shard=(rank * actors + each, world * actors)) for each in range(actors)]
    for loader in loaders:
        loader.set_epoch(epoch)
    for batches in zip(*(loader.batches() for loader in loaders), strict=True):
        found += [one(batch, len(found) + place) for place, batch in enumerate(batches)]
    return found


def actors_alive() -> int:
    from ray._private.state import actors

    return sum(each["State"] != "DEAD" for each in actors().values())


def gone(within: float = 20) -> bool:
    end = time.monotonic() + within
    while actors_alive() > 0 and time.monotonic() < end:
        time.sleep(0.1)
    return actors_alive() == 0


def process(fleet: gpufeed.ray.DataLoader, actor: int) -> int:
    assert fleet._crew is not None
    found: int = fleet._crew._answer(actor, "here")
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8"])
def test_batches_are_those_of_one_process_in_turn(nodes: TwoNodes, data: str, dtype: str) -> None:
    steps = {"transform": STEPS if dtype == "uint8" else [*STEPS, NORMALIZE]}
    given = config(data, dtype=dtype, recipe=steps)
    with fleet_of(given, 2) as fleet:
        for epoch in range(2):
            assert seen(fleet.batches()) == alone(given, 2, epoch=epoch)
        assert len(fleet) == 26 and fleet.epoch == 2 and fleet.dataset.classes == ["class 0", "class 1", "class 2"]
        assert len(fleet.dataset) == 101 and fleet.replaced == 0
        assert "2 actors, ranks 0 to 1 of 2, which take turns" in fleet.explain()
        assert [stats["images"] > 0 for stats in fleet.stats()] == [True, True]
    assert gone()


VIEWS = {
    "global": ({"transform": [*STEPS, NORMALIZE], "semantics": "Uint8"}, 2),
    "local": gpufeed.Views(recipe={"transform": [STEPS[0] | {"size": 8}, NORMALIZE]}, views=3, dtype="bfloat16", channels_last=True),
}


def captioned(path: Path, count: int = 41) -> str:
    """A folder in which each photograph has a caption beside it, which is its number."""
    for file in folder(path, count).rglob("*.jpg"):
        file.with_suffix(".txt").write_text(file.stem)
    return str(path)


def like(found: Any, expected: Any) -> bool:
    """True for dictionaries of equal tensors and equal lists, in the same order."""
    if isinstance(expected, dict):
        return [*found] == [*expected] and all(like(found[name], each) for name, each in expected.items())
    if not isinstance(expected, torch.Tensor):
        return bool(found == expected)
    return found.dtype == expected.dtype and found.stride() == expected.stride() and torch.equal(found, expected)


def test_groups_and_fields_are_those_of_one_process_in_turn(
    nodes: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = config(captioned(tmp_path), recipe=None, groups=VIEWS, fields={"txt": "caption", "path": "path"})
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        turns = zip(*(gpufeed.DataLoader(**given, shard=(2 * rank + actor, 4)) for actor in range(2)), strict=True)
        expected = [batch for batches in turns for batch in batches]
        with fleet_of(given, 2) as fleet:
            taking = iter(fleet)
            first = next(taking)
            assert [*first] == ["global", "local", "label", "caption", "path"] and first["local"].dtype == torch.bfloat16
            assert first["global"].shape == (8, 3, 32, 32) and first["local"].shape == (12, 3, 8, 8)
            assert first["caption"] == [Path(path).stem for path in first["path"]] and first["label"].shape == (4,)
            state = fleet.state_dict()
            assert all(like(*each) for each in zip([first, *taking], expected, strict=True))
            # What a state goes on with, as `batches` has it.
            fleet.load_state_dict(state)
            batch = next(fleet.batches())
            assert [*batch.groups] == [*VIEWS] and batch.columns["caption"] == expected[1]["caption"]
            local = batch.groups["local"]
            assert numpy.asarray(local.images.as_uint16())[4].tobytes() == fleet.replay(local.ids[4], local.params[4], "local")
    assert gone()


def test_nodes_share_the_actors(nodes: TwoNodes, data: str) -> None:
    with fleet_of(config(data), 2) as fleet:
        list(fleet.batches())
        from ray._private.state import actors

        where = {each["Address"]["NodeID"] for each in actors().values() if each["State"] == "ALIVE"}
        assert len(where) == 2


def test_tensors_lie_in_the_store(nodes: TwoNodes, data: str) -> None:
    given = config(data, batch_size=32, recipe={"transform": [{"type": "CenterCrop", "size": 32}, NORMALIZE]})
    with fleet_of(given, 2) as fleet:
        plain = [images.clone() for images, _ in gpufeed.DataLoader(**given, shard=(0, 2))]
        for index, (images, labels) in enumerate(fleet):
            assert images.dtype == torch.float32 and labels.dtype == torch.int64
            assert _mapped(images.data_ptr()), "not a view of the store's memory"
            if index % 2 == 0:
                assert torch.equal(images, plain[index // 2])
            # The memory is this process's own once it is here: a loop may work in place.
            images.mul_(2)


def _mapped(address: int) -> bool:
    """True if a file that processes share is mapped at an address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, _, _, _, inode, *_ = line.split()
        first, last = (int(each, 16) for each in bounds.split("-"))
        if first <= address < last:
            return inode != "0"
    return False


def test_a_killed_actor_is_replaced(nodes: TwoNodes, data: str) -> None:
    given = config(data)
    whole = alone(given, 2)
    with fleet_of(given, 2) as fleet:
        found = []
        for batch in fleet.batches():
            found.append(one(batch, batch.index))
            if batch.index in (4, 11):
                os.kill(process(fleet, batch.index % 2), signal.SIGKILL)
        assert found == whole and fleet.replaced >= 2
        # Between epochs, too: whoever is asked next.
        os.kill(process(fleet, 1), signal.SIGKILL)
        time.sleep(0.5)
        assert len(fleet.stats()) == 2
        assert seen(fleet.batches()) == alone(given, 2, epoch=1)
    assert gone()


def test_an_actor_that_a_question_finds_dead_is_replaced_once(nodes: TwoNodes, data: str) -> None:
    given = config(data)
    whole = alone(given, 2)
    with fleet_of(given, 2) as fleet:
        found = []
        for batch in fleet.batches():
            found.append(one(batch, batch.index))
            if batch.index == 4:
                os.kill(process(fleet, 0), signal.SIGKILL)
                assert len(fleet.stats()) == 2
        assert found == whole and fleet.replaced == 1
    assert gone()


@slow
def test_a_removed_node_leaves_no_trace_in_the_batches(nodes: TwoNodes, data: str) -> None:
    # Large enough to lie in the stores: smaller ones are sent with the answer.
    given = config(data, recipe={"transform": [{"type": "RandomResizedCrop", "size": 96}, NORMALIZE]})
    whole = alone(given, 4)
    with fleet_of(given, 4) as fleet:
        found = []
        try:
            for batch in fleet.batches():
                found.append(one(batch, batch.index))
                if batch.index == 5:
                    nodes.remove()
        finally:
            nodes.add()
        assert found == whole and fleet.replaced >= 1


def test_a_state_goes_on_in_mid_epoch(nodes: TwoNodes, data: str) -> None:
    given = config(data)
    whole = alone(given, 2)
    with fleet_of(given, 2) as fleet:
        batches = fleet.batches()
        for _ in range(7):
            next(batches)
        state = fleet.state_dict()
        # A second iteration ends the first.
        fleet.set_epoch(0)
        again = fleet.batches()
        assert one(next(again), 0) == whole[0]
        with pytest.raises(gpufeed.RunError, match="another iteration began"):
            next(batches)
        with fleet_of(given, 2) as other:
            other.load_state_dict(state)
            copy = pickle.loads(pickle.dumps(other))
            assert seen(other.batches()) == whole[7:] == seen(copy.batches())
            assert other.epoch == 1
            copy.close()
        with fleet_of(given, 3) as other:
            with pytest.raises(gpufeed.ArgumentError, match="^state: saved after 1 batches of a round of 2 actors"):
                other.load_state_dict(state)
    assert gone()


def test_epochs_in_a_row(nodes: TwoNodes, data: str) -> None:
    given = config(data)
    with fleet_of(given, 2) as fleet:
        found = [labels.tolist() for _, labels in fleet.epochs(range(3))]
        assert found == [each[5] for epoch in range(3) for each in alone(given, 2, epoch=epoch)]


@slow
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_finish_on_device_has_the_loaders_numbers(nodes: TwoNodes, data: str, dtype: str) -> None:
    from torchvision.transforms import v2

    steps = v2.Compose([
        v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(mean=NORMALIZE["mean"], std=NORMALIZE["std"]),
    ])
    given = {"data": data, "transforms": steps, "batch_size": 8, "shuffle": True, "seed": 1, "dtype": dtype, "seek_indexes": "memory"}
    with (
        fleet_of(given, 2) as whole,
        fleet_of(given, 2, finish_on_device=True) as finished,
    ):
        assert "finished on the device" in finished.explain()
        for (images, labels), (others, same) in zip(whole, finished, strict=True):
            assert images.dtype == others.dtype == getattr(torch, dtype) and torch.equal(labels, same)
            # The same bytes before Normalize, which rounds once more or less: an ulp of values up to 3.
            assert torch.allclose(images, others, rtol=0, atol={"float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype])
        for batch in finished.batches():
            assert batch.images.dtype == "uint8"


@slow
def test_ranks_are_disjoint_complete_and_equally_long(nodes: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    for world, actors in [(2, 2), (4, 1), (1, 4), (2, 1)]:
        ids, lengths = [], set()
        for rank in range(world):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setenv("WORLD_SIZE", str(world))
            given = config(Numbered(41), recipe=NUMBERED)
            with fleet_of(given, actors) as fleet:
                assert f"rank {rank} of {world} by RANK and WORLD_SIZE" in fleet.explain()
                batches = list(fleet.batches())
                assert [one(batch, batch.index) for batch in batches] == alone(given, actors, (rank, world))
                for batch in batches:
                    assert numbers(batch.images) == batch.ids
                    ids += batch.ids[: batch.valid]
                lengths.add(len(fleet))
        assert sorted(ids) == list(range(41)) and len(lengths) == 1


def test_the_rank_may_be_known_later_than_the_loader(nodes: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    given = config(Numbered(41), recipe=NUMBERED)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with fleet_of(given, 1) as fleet:
        with pytest.raises(gpufeed.ArgumentError, match="WORLD_SIZE is set, but RANK is not"):
            iter(fleet)
        monkeypatch.setenv("RANK", "1")
        assert seen(fleet.batches()) == alone(given, 1, (1, 2))


def stored() -> float:
    """Bytes in the stores of all nodes, as they told Ray last."""
    place = "object_store_memory"
    return float(ray.cluster_resources()[place] - ray.available_resources()[place])


@slow
def test_the_store_stays_flat_over_a_thousand_batches(nodes: TwoNodes) -> None:
    given = config(Numbered(4000), recipe={"transform": [{"type": "Resize", "size": [96, 96]}]})
    size = 4 * 3 * 96 * 96 * 4
    before, found = stored(), []
    with fleet_of(given, 2, ahead=2) as fleet:
        for batch in fleet.batches():
            if batch.index % 100 == 50:
                # Until the actors have made all that they may, and the nodes have told of it.
                time.sleep(0.5)
                found.append((stored() - before) / size)
    assert batch.index == 999 and len(found) == 10
    # Of each actor two batches that wait and one that is being written; two were taken over, and lie on both nodes
    # perhaps; and the one in this loop.
    assert max(found) <= 2 * (3 + 2 * 2) + 2, found
    assert 1 <= max(found[5:]) <= max(found[:5]) + 2, found
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    assert [file for folder in session.glob("*spill*") for file in folder.rglob("*") if file.is_file()] == []


class Broken(Numbered):
    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index == 13:
            raise KeyError("thirteen")
        return super().__getitem__(index)


@slow
def test_errors_arrive_with_their_text(nodes: TwoNodes, data: str) -> None:
    for given, kind, text in [
        (config("/no/such/folder"), gpufeed.FileError, "/no/such/folder"),
        (config(data, workers=0), gpufeed.ArgumentError, "^workers: "),
        (config(data, num_workers=2), gpufeed.ArgumentError, "^num_workers: not an argument"),
        (config(data, recipe="none-such"), gpufeed.Error, "none-such"),
        (config(data, normalize_on_device=True), gpufeed.ArgumentError, "finish_on_device="),
        (config(data, device="nowhere"), gpufeed.ArgumentError, "^device: "),
        ({"recipe": "imagenet-train"}, gpufeed.ArgumentError, "^config: "),
    ]:
        with pytest.raises(kind, match=text):
            fleet_of(given, 2)
    with pytest.raises(gpufeed.ArgumentError, match="^finish_on_device: the last transform is no Normalize"):
        fleet_of(config(data, recipe={"transform": STEPS}), 1, finish_on_device=True)
    with pytest.raises(gpufeed.ArgumentError, match="^actors: 0"):
        fleet_of(config(data), 0)
    given = config(Broken(41), recipe=NUMBERED, shuffle=False, on_error="fail")
    with fleet_of(given, 2) as fleet:
        batches = fleet.batches()
        assert [next(batches).ids[0] for _ in range(3)] == [0, 1, 8]
        with pytest.raises(gpufeed.DataError, match="thirteen"):
            next(batches)
    with pytest.raises(gpufeed.RunError, match="was closed"):
        fleet.batches()
    with pytest.raises(gpufeed.RunError, match=r"has not begun an actor for .*num_cpus.: 64.*start_timeout="):
        fleet_of(config(data, workers=1), 1, num_cpus=64, start_timeout=2)
    assert gone()


class Deadly(Numbered):
    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


@slow
def test_an_actor_that_always_dies_is_an_error(nodes: TwoNodes) -> None:
    with fleet_of(config(Deadly(41), recipe=NUMBERED, shuffle=False), 1) as fleet:
        with pytest.raises(gpufeed.RunError, match="actor 0 died 6 times in a row without sending a batch"):
            list(fleet.batches())
    assert gone()


def test_closing_leaves_no_actor(nodes: TwoNodes) -> None:
    fleet = fleet_of(config(Numbered(4000), recipe=NUMBERED), 2)
    images, _ = next(iter(fleet))
    assert actors_alive() == 2
    fleet.close()
    assert gone()
    fleet.close()
    assert images.shape == (4, 3, 6, 6) and int(images[0, 2, 0, 0]) == 7
    # And without closing.
    fleet = fleet_of(config(Numbered(4000), recipe=NUMBERED), 2)
    next(fleet.batches())
    del fleet
    assert gone()
