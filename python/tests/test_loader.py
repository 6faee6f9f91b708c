"""Order, epochs, states, data sets, and the arrays that come of them; without torch."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed import _gpufeed
from gpufeed.shard import resolve
from pictures import NUMBERED, Jpegs, Numbered, folder, jpeg, numbers

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}, {"type": "RandomHorizontalFlip"}]}
FULL = "GPUFEED_FULL" in os.environ


def loader(data: Any = None, recipe: Any = CROP, **settings: Any) -> gpufeed.DataLoader:
    given: dict[str, Any] = {"batch_size": 8, "shuffle": True, "seed": 3, "workers": 2, "seek_indexes": "memory"}
    return gpufeed.DataLoader(Jpegs() if data is None else data, recipe=recipe, **(given | settings))


def seen(batches: Any) -> list[tuple[int, int, list[int], list[str], bytes]]:
    """What is to be the same: place, ids, parameters, pixels."""
    found = []
    for batch in batches:
        pixels = numpy.from_dlpack(batch.images).tobytes()
        found.append((batch.epoch, batch.index, batch.ids, batch.params, pixels))
    return found


def test_batches_do_not_depend_on_workers() -> None:
    expected = seen(loader(workers=1).batches())
    assert len(expected) == 5 and expected == seen(loader(workers=4, queue_depth=4).batches())
    assert expected != seen(loader(seed=4).batches())


def test_every_type_and_layout_is_what_replay_makes() -> None:
    for dtype, size in (("float32", 4), ("float16", 2), ("bfloat16", 2), ("uint8", 1)):
        for channels_last in (False, True):
            for views in (1, 2):
                for gray in (False, True):
                    steps = [*CROP["transform"], *([{"type": "Grayscale", "num_output_channels": 1}] if gray else [])]
                    made = loader(recipe={"transform": steps}, dtype=dtype, channels_last=channels_last, views=views)
                    batch = next(made.batches())
                    shape = (1 if gray else 3, 16, 16)
                    assert batch.images.shape[1:] == ((16, 16, shape[0]) if channels_last else shape)
                    assert batch.images.dtype == dtype and batch.images.nbytes == 8 * views * 256 * shape[0] * size
                    pixels = numpy.from_dlpack(batch.images.as_uint16() if size == 2 else batch.images)
                    for image, (sample, params) in enumerate(zip(batch.ids, batch.params)):
                        assert pixels[image].tobytes() == made.replay(sample, params)


def test_numpy_has_no_bfloat16_and_the_error_says_so() -> None:
    batch = next(loader(dtype="bfloat16").batches())
    with pytest.raises(TypeError, match=r"^NumPy has no bfloat16; torch.from_dlpack\(array\) takes the array"):
        numpy.asarray(batch.images)
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        numpy.from_dlpack(batch.images)
    bits = numpy.asarray(batch.images.as_uint16())
    assert bits.dtype == numpy.uint16 and bits.shape == batch.images.shape and bits.ctypes.data == batch.images.data_ptr
    floats = next(loader(dtype="float32").batches()).images
    shared, copied = numpy.asarray(floats), numpy.array(floats, numpy.float64)
    assert shared.ctypes.data == floats.data_ptr and copied.ctypes.data != floats.data_ptr and (shared == copied).all()
    # Each number is the nearest one: the upper half of a float that is rounded, ties to even.
    whole = shared.view(numpy.uint32).astype(numpy.uint64)
    assert (((whole + 0x7FFF + ((whole >> numpy.uint64(16)) & numpy.uint64(1))) >> numpy.uint64(16)) == bits).all()
    with pytest.raises(TypeError, match="^elements of float32; float16 and bfloat16 have 16 bits each"):
        floats.as_uint16()


@pytest.mark.parametrize("after", range(0, 6))
def test_a_state_goes_on_with_the_batches_that_were_due(after: int) -> None:
    expected = [*seen(loader().batches())]
    first = loader()
    batches = first.batches()
    for _ in range(after):
        next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    for workers in (1, 3):
        second = loader(workers=workers)
        second.load_state_dict(state)
        assert second.epoch == (1 if after == 5 else 0) and len(second) == 5
        if after < 5:
            second.set_epoch(0)  # as loops do at the beginning of an epoch
            assert seen(second.batches()) == expected[after:]
        assert [batch.epoch for batch in second.batches()] == [1] * 5


def test_epochs_iterations_and_set_epoch() -> None:
    made = loader()
    orders = [[batch.ids for batch in made.batches()] for _ in range(2)]
    assert orders[0] != orders[1] and made.epoch == 2
    made.set_epoch(0)
    assert [batch.ids for batch in made.batches()] == orders[0]
    made.sampler.set_epoch(1)
    assert [batch.ids for batch in made.batches()] == orders[1]
    first = made.batches()
    next(first)
    second = made.batches()
    assert next(second).epoch == 3
    with pytest.raises(gpufeed.RunError, match="another iteration began"):
        next(first)
    assert len(second) == 4 and len(made.sampler) == 40
    # Lightning makes two iterators, and then says which epoch it is.
    made.set_epoch(0)
    for epoch in range(2):
        made.batches()
        third = made.batches()
        made.set_epoch(epoch)
        assert [batch.ids for batch in third] == orders[epoch]
    assert list(third) == [] and made.epoch == 2


def test_states_that_do_not_fit_are_refused_by_name() -> None:
    made = loader()
    next(made.batches())
    state = made.state_dict()
    for other, name in [
        (loader(seed=4), "seed"),
        (loader(Jpegs(41)), "dataset"),
        (loader(batch_size=3), "batch_size"),
        (loader(shard=(1, 2)), "batch_size"),
        (loader(shuffle=False), "shuffle"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=rf"^{name}: "):
            other.load_state_dict(state)
    loader(batch_size=4, shard=(1, 2)).load_state_dict(state)
    loader(batch_size=2).load_state_dict({"gpufeed": {"seed": 3, "epoch": 0, "batch": 2}})
    with pytest.raises(gpufeed.ArgumentError, match="^state: a state of version 9"):
        loader().load_state_dict({"gpufeed": state["gpufeed"] | {"version": 9}})
    with pytest.raises(gpufeed.ArgumentError, match="^state: not a state"):
        loader().load_state_dict({"epoch": 3})


def test_numbers_that_no_run_has_are_refused() -> None:
    made = loader()
    next(made.batches())
    state = made.state_dict()["gpufeed"]
    end = 5 * 8  # of 40 samples in batches of 8

    def refused(words: str, **changed: Any) -> None:
        made = loader()
        first = next(made.batches()).ids
        with pytest.raises(gpufeed.ArgumentError, match=f"^state: .*{words}"):
            made.load_state_dict({"gpufeed": state | changed})
        # Nothing was skipped: the loader is where it was.
        made.set_epoch(0)
        assert next(made.batches()).ids == first

    refused("position 1000000000 is none of an epoch of 40 samples, which ends at position 40", position=10**9)
    refused("position 41", position=41)
    refused("position 48", position=48)
    refused("global_batch is 0", global_batch=0)
    for key in ("seed", "epoch", "position", "samples", "global_batch", "version"):
        for wrong in (-1, 1 << 64, 8.0, float("nan"), True, None, [8], numpy.int64(8)):
            refused(key, **{key: wrong})
        without = {name: value for name, value in state.items() if name != key}
        with pytest.raises(gpufeed.ArgumentError, match="^state: "):
            loader().load_state_dict({"gpufeed": without})
    refused("unknown field", lane=2)
    refused("turn is 3", turn=3)
    refused("turn is {}", turn={})
    refused("-1 batches|turn's taken is -1", turn={"actors": 2, "world": 1, "batch_size": 8, "taken": -1})
    with pytest.raises(gpufeed.ArgumentError, match="^epoch: 18446744073709551615"):
        loader().load_state_dict({"gpufeed": state | {"epoch": (1 << 64) - 1}})
    with pytest.raises(gpufeed.ArgumentError, match="^epoch: 18446744073709551615"):
        made = loader()
        made.set_epoch((1 << 64) - 1)
        made.batches()
    # The end of the epoch is taken, whatever the batch size; so is that of another global batch, with its padding.
    for size in (1, 3, 7, 8, 40, 64):
        for position, own in ((end, 8), (42, 7), (64, 64), (1000, 1000)):
            other = loader(batch_size=size)
            other.load_state_dict({"gpufeed": state | {"position": position, "global_batch": own}})
            assert other.epoch == 1


def test_shards_are_disjoint_and_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "3")
        made = loader(Numbered(40), NUMBERED, batch_size=5)
        assert f"rank {rank} of 3 by RANK and WORLD_SIZE" in made.explain() and len(made) == 3
        ids += [each for batch in made.batches() for each in batch.ids[: batch.valid]]
    assert sorted(ids) == list(range(40))
    monkeypatch.delenv("RANK")
    half = loader(Numbered(40), NUMBERED)  # Lightning's launcher: the rank comes later
    with pytest.raises(gpufeed.ArgumentError, match="the variable WORLD_SIZE is set, but RANK is not"):
        half.batches()


def test_the_innermost_launcher_says_the_rank() -> None:
    torchrun = {"RANK": "3", "WORLD_SIZE": "4"}
    mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"}
    batch_script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    step = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
    assert resolve("auto", step | torchrun) == ((3, 4), "RANK and WORLD_SIZE")
    assert resolve("auto", step | mpi) == ((1, 2), "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE")
    assert resolve("auto", step) == ((1, 2), "SLURM_PROCID and SLURM_STEP_NUM_TASKS")
    assert resolve("auto", batch_script) == resolve("auto", {}) == ((0, 1), "no launcher")
    for variables, text in [
        ({"RANK": "one", "WORLD_SIZE": "2"}, "^shard: RANK=one and WORLD_SIZE=2 are no whole numbers; pass shard="),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "^shard: RANK=2 and WORLD_SIZE=2, but ranks run from 0 .*; pass shard="),
        ({"RANK": "\udcff", "WORLD_SIZE": "2"}, "are no whole numbers; pass shard="),
        (step | {"PMI_SIZE": "2"}, r"PMI_SIZE is set, but PMI_RANK is not; pass shard=\(rank, world\), or shard=None"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=text):
            resolve("auto", variables)


def test_pickled_loaders_go_on() -> None:
    made = loader(Numbered(40), NUMBERED)
    batches = made.batches()
    next(batches)
    copy = pickle.loads(pickle.dumps(made))
    assert [batch.ids for batch in copy.batches()] == [batch.ids for batch in batches]


class Images:
    """One sample, as it is given."""

    def __init__(self, image: Any, label: Any = 0) -> None:
        self.image, self.label = image, label

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self.image, self.label


def test_images_of_every_kind() -> None:
    from PIL import Image

    pixels = numpy.arange(6 * 6 * 3, dtype=numpy.uint8).reshape(6, 6, 3)
    gray = NUMBERED | {"transform": [{"type": "CenterCrop", "size": 6}]}
    for image in (pixels, pixels.transpose(2, 0, 1).copy(), Image.fromarray(pixels)):
        batch = next(loader(Images(image), NUMBERED, batch_size=1).batches())
        assert (numpy.from_dlpack(batch.images)[0].transpose(1, 2, 0) == pixels).all()
    single = Images(pixels[..., 0])
    single.channels = 1  # type: ignore[attr-defined]
    assert next(loader(single, gray, batch_size=1).batches()).images.shape == (1, 1, 6, 6)
    floats = (pixels / 255).astype(numpy.float32)
    batch = next(loader(Images(floats), {"transform": [{"type": "CenterCrop", "size": 6}]}, batch_size=1).batches())
    assert (numpy.from_dlpack(batch.images)[0].transpose(1, 2, 0) == floats).all()
    assert next(loader(Images(bytearray(jpeg(1))), batch_size=1).batches()).images.shape == (1, 3, 16, 16)


def test_labels_of_every_kind() -> None:
    for label, dtype, expected in [
        (7, "int64", [7]),
        (numpy.int64(7), "int64", [7]),
        (numpy.array(3), "int64", [3]),
        (numpy.array([1.0, 2.0], numpy.float32), "float32", [[1.0, 2.0]]),
    ]:
        batch = next(loader(Images(jpeg(0), label), batch_size=1).batches())
        assert batch.labels.dtype == dtype and numpy.from_dlpack(batch.labels).tolist() == expected
    # Iterating collates these as torch does (test_collate.py); without torch they stay as they are.
    for label in (0.5, [0.25, 1.0], True, "cat", numpy.uint8(3), numpy.array([3]), numpy.array([1.0, 2.0]), {"a": 1}, -1):
        (found,) = next(loader(Images(jpeg(0), label), batch_size=1).batches()).labels
        assert type(found) is type(label) and numpy.array_equal(found, label)
    assert next(loader(Images(jpeg(0), None), batch_size=1).batches()).labels is None


def test_several_at_once() -> None:
    class Jobs(Numbered):
        asked: list[int] = []

        def __getitems__(self, indices: list[int]) -> list[Any]:
            self.asked.append(len(indices))
            return [self[index] for index in indices]

    made = loader(Jobs(64), NUMBERED, batch_size=32)
    assert sorted(each for batch in made.batches() for each in numbers(batch.images)) == list(range(64))
    assert max(Jobs.asked) == 4 and sum(Jobs.asked) >= 64


def test_files_by_path(tmp_path: Path) -> None:
    root = folder(tmp_path / "train")
    made = loader(str(root), batch_size=5)
    assert made.dataset.classes == ["class 0", "class 1", "class 2"] and len(made.dataset) == 24
    image, label = made.dataset[0]
    assert image[:2] == b"\xff\xd8" and label == 0
    assert made.dataset.subset([3, 3]).repeat(2).name(3) == made.dataset.name(3)
    assert len({each for batch in loader(root).batches() for each in batch.ids}) == 24
    assert gpufeed.open(str(root)).test is None
    weighted = made.dataset.with_weights([1.0] + [0.0] * 23)
    assert {each for batch in loader(weighted).batches() for each in batch.ids} == {0}
    gpufeed.preview(root, recipe="imagenet-eval", samples=1).save(tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes()[1:4] == b"PNG"


def test_what_a_set_does_not_read_is_a_warning(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / ".ipynb_checkpoints").mkdir()
    image = next(path for path in sorted(root.rglob("*.*")) if path.is_file())
    (root / ".ipynb_checkpoints" / image.name).write_bytes(image.read_bytes())
    data = gpufeed.open(root)
    assert data.warnings == data.notices and "with 1 images" in data.warnings[0]
    with pytest.warns(UserWarning, match="hidden folders that are classes .* the first .ipynb_checkpoints"):
        loader(data)


def test_buffers_return_and_are_never_torn() -> None:
    rounds, held = (10_000 if FULL else 300) // 25, []
    made = loader(Numbered(400), NUMBERED, batch_size=16, memory_budget="200K")
    kinds = 0
    for batch in _many(made, rounds):
        array = numpy.from_dlpack(batch.images)
        expected = [batch.ids[index] for index in range(len(batch))]
        match kinds % 4:
            case 0:
                held.append((array[3:], expected[3:]))  # a view outlives the batch
            case 1:
                batch.images.__dlpack__()  # a capsule that nobody takes
            case 2:
                thread = threading.Thread(target=lambda keep: None, args=(array,))
                thread.start()
                thread.join()
            case _:
                batch.images.__dlpack__(max_version=(1, 3), copy=True)
        kinds += 1
        del batch, array
        if len(held) > 5:
            view, expected = held.pop(0)
            assert [int(low) + 256 * int(high) for low, high in view[:, :2, 0, 0]] == expected
            assert (view == view[:, :, :1, :1]).all()
    assert kinds == rounds * 25
    made.close()
    gc.collect()
    assert _gpufeed.open_runs() == 0
    for view, expected in held:
        assert [int(low) + 256 * int(high) for low, high in view[:, :2, 0, 0]] == expected


def _many(made: gpufeed.DataLoader, rounds: int) -> Any:
    for _ in range(rounds):
        yield from made.batches()


def test_dlpack_asks_and_answers() -> None:
    batch = next(loader().batches())
    assert batch.images.__dlpack_device__() == (1, 0)
    assert 'dltensor"' in repr(batch.images.__dlpack__())
    assert "dltensor_versioned" in repr(batch.images.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError, match=r"dl_device=\(2, 0\)"):
        batch.images.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="has no stream"):
        batch.images.__dlpack__(stream=1)
    array = numpy.from_dlpack(batch.images)
    copied = numpy.from_dlpack(batch.images, copy=True) if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0" else array.copy()
    assert (array == copied).all() and not numpy.shares_memory(array, copied)
    images, labels = batch
    assert images is batch.images and labels is batch.labels


def test_holding_too_much_is_a_memory_error() -> None:
    made = loader(Numbered(400), NUMBERED, batch_size=16, memory_budget="20K")
    with pytest.raises(MemoryError, match=r"the memory budget of .*images\.clone\(\).*raise memory_budget=") as full:
        list(made.batches())
    assert isinstance(full.value, gpufeed.Error) and full.value.kind == "OutputsHeld"


# In a process of its own, whose address space is limited: where an allocation fails, the interpreter lives.
MEMORY = """
import resource, gpufeed
from pictures import Numbered

def refused(*sizes, **settings):
    recipe = {"transform": [{"type": "Resize", "size": size} for size in sizes]}
    try:
        list(gpufeed.DataLoader(Numbered(8), recipe=recipe, batch_size=2, workers=2, on_error="fail", **settings).batches())
    except MemoryError as error:
        return error
    raise AssertionError(f"{sizes} fit")

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (768 << 20), resource.RLIM_INFINITY))
for sizes, settings, words in [
    ((18000, [16, 16]), {}, ["memory_budget", "18000x18000", "Resize"]),
    (([9000, 9000], [16, 16]), {"memory_budget": "64G"}, ["does not have", "workers"]),
    (([30000, 30000],), {"memory_budget": "1T"}, ["does not have", "batch_size"]),
    (([30000, 30000],), {}, ["memory_budget", "batch_size"]),
]:
    error = refused(*sizes, **settings)
    assert isinstance(error, gpufeed.Error) and all(word in str(error) for word in words), str(error)
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's here")
def test_memory_that_is_not_there_is_a_memory_error() -> None:
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", MEMORY], cwd=here, timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def test_tensors_outlive_the_interpreter() -> None:
    code = """
import numpy, gpufeed
from pictures import NUMBERED, Numbered
made = gpufeed.DataLoader(Numbered(64), recipe=NUMBERED, batch_size=4)
batches = made.batches()
kept = [numpy.from_dlpack(next(batches).images) for _ in range(3)]
import sys
sys.kept = kept, batches
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
