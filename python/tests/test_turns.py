"""One call at a time is inside an object in Python, unless its reads share no state."""

from __future__ import annotations

import copy
import pickle
import struct
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed import turns
from pictures import NUMBERED, Numbered, numbers

WORKERS = 16


def write(path: Path, samples: int) -> Path:
    """A file of numbers: of each sample 8 bytes, its number twice."""
    path.write_bytes(b"".join(struct.pack("<II", number, number) for number in range(samples)))
    return path


class Seeks:
    """Seeks in one file and then reads, which is right under torch's processes."""

    def __init__(self, path: Path, samples: int) -> None:
        self.file, self.samples = path.open("rb"), samples
        self.inside = self.most = 0

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.file.seek(8 * index)
        time.sleep(0)  # another thread may run between any two lines
        number, _ = struct.unpack("<II", self.file.read(8))
        self.inside -= 1
        image = numpy.empty((6, 6, 3), numpy.uint8)
        image[...] = (number % 256, number // 256, 7)
        return image, index

    def __enter__(self) -> Seeks:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


class Marks(Numbered):
    """Says how many calls were inside it at once."""

    def __init__(self, count: int = 40, sleeps: float = 0.002) -> None:
        super().__init__(count)
        self.sleeps = sleeps
        self.inside = self.most = 0
        self.lock = threading.Lock()

    def __getitem__(self, index: int) -> tuple[Any, int]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(self.sleeps)
        with self.lock:
            self.inside -= 1
        return super().__getitem__(index)


def run(data: Any, **settings: Any) -> gpufeed.DataLoader:
    """Reads an epoch; each image has to be that of its label."""
    made = gpufeed.DataLoader(data, recipe=NUMBERED, **({"batch_size": 8, "workers": WORKERS} | settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batch in made.batches():
            assert not batch.failures, batch.failures[0].error
            found = numbers(batch.images)
            assert found == numpy.from_dlpack(batch.labels).tolist()
    return made


def run_together(*parts: Any) -> None:
    """Reads an epoch of each at the same time."""
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(run, parts))


def test_a_file_handle_is_read_by_one_call_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers", 2000)
    with Seeks(path, 2000) as data:
        run(data)
    assert data.most == 1


def test_an_array_that_every_read_fills_anew() -> None:
    class Reuses(Numbered):
        """Gives the same array each time: its pixels are taken before the next call."""

        array = numpy.empty((6, 6, 3), numpy.uint8)

        def __getitem__(self, index: int) -> tuple[Any, int]:
            self.array[...] = (index % 256, index // 256, 7)
            time.sleep(0)
            return self.array, index

    run(Reuses(2000))


@pytest.mark.parametrize("nested", range(5))
def test_torchs_wrappers_ask_what_they_wrap(nested: int, tmp_path: Path) -> None:
    torch_data = pytest.importorskip("torch.utils.data")
    with Seeks(write(tmp_path / "numbers", 1200), 1200) as data:
        every = range(len(data))
        wrapped = [
            lambda: torch_data.Subset(data, every),
            lambda: torch_data.ConcatDataset([data]),
            lambda: torch_data.ConcatDataset([torch_data.Subset(data, range(600)), torch_data.Subset(data, range(600, 1200))]),
            lambda: torch_data.Subset(torch_data.Subset(torch_data.ConcatDataset([data]), every), every),
            lambda: torch_data.random_split(data, [1.0])[0],
        ][nested]()
        run(wrapped)
    assert data.most == 1


def test_two_loaders_over_parts_of_one_object_share_its_turn() -> None:
    torch_data = pytest.importorskip("torch.utils.data")
    data = Marks(80)
    train, valid = torch_data.Subset(data, range(40)), torch_data.Subset(data, range(40, 80))
    # A class of one's own around a part.
    class Own(torch_data.Dataset):  # type: ignore[name-defined, misc]
        def __init__(self, of: Any) -> None:
            self.of = of

        def __len__(self) -> int:
            return len(self.of)

        def __getitem__(self, index: int) -> Any:
            return self.of[index]

    run_together(train, valid, Own(valid))
    assert data.most == 1


class View:
    """A data set around another one, neither of which is torch's."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, index: int) -> Any:
        return self.of[index]


@pytest.mark.parametrize("share", [copy.copy, View])
def test_what_reads_from_one_file_shares_its_turn(share: Any, tmp_path: Path) -> None:
    with Seeks(write(tmp_path / "numbers", 1200), 1200) as data:
        run_together(share(data), share(data))
    # Arrays and lists are no data sets.
    data = Marks()
    data.of = [numpy.zeros(4), [1, 2], {"a": 1}, "text"]  # type: ignore[attr-defined]
    assert [part for part, _ in turns.parts(data, None)] == [data]


def test_the_word_lets_all_workers_in() -> None:
    torch_data = pytest.importorskip("torch.utils.data")

    class Says(Marks):
        thread_safe = True

    class Reads(Says):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            return super().__getitem__(index)

    class Denies(Says):
        thread_safe = False

    def most(data: Any, of: Marks | None = None, **settings: Any) -> int:
        run(data, **settings)
        return (of or data).most

    assert most(Marks()) == 1
    assert most(Marks(), thread_safe=True) > 1
    assert most(Says()) > 1
    assert most(Reads()) == 1, "a subclass that reads in another way has not said so"
    assert most(Denies()) == 1
    assert most(Says(), thread_safe=False) == 1
    own = Marks()
    own.thread_safe = True  # type: ignore[attr-defined]
    assert most(own) > 1
    safe = Says()
    assert most(torch_data.Subset(safe, range(40)), safe) > 1
    safe = Says()
    assert most(torch_data.ConcatDataset([torch_data.Subset(safe, range(40))]), safe) > 1
    safe, unsafe = Says(), Marks()
    assert most(torch_data.ConcatDataset([safe, unsafe]), safe) == 1
    assert most(torch_data.Subset(unsafe, range(40)), unsafe) == 1
    unsafe = Marks()
    assert most(torch_data.Subset(unsafe, range(40)), unsafe, thread_safe=True) > 1

    class Forwards(Numbered):
        """What `__getattr__` finds elsewhere is not said of this object."""

        def __init__(self, of: Any) -> None:
            super().__init__(len(of))
            self.of = of

        def __getattr__(self, name: str) -> Any:
            return getattr(self.of, name)

    assert turns.parts(Forwards(Says()), None)[0][1]


def test_calls_of_getitems_take_turns_too() -> None:
    class Several(Marks):
        def __getitems__(self, indices: list[int]) -> list[Any]:
            return [self[index] for index in indices]

    data = Several()
    run(data)
    assert data.most == 1
    data = Several()
    run(data, thread_safe=True)
    assert data.most > 1


def takes(data: Any) -> list[Any]:
    """The objects that take turns."""
    return [part for part, turn in turns.parts(data, None) if turn]


def test_what_is_known_to_be_safe(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    torch = pytest.importorskip("torch")
    from torchvision import transforms
    from torchvision.transforms import v2
    from PIL import Image

    for number in range(4):
        (tmp_path / f"class {number % 2}").mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 7)).save(tmp_path / f"class {number % 2}" / f"{number}.png")
    folder = datasets.ImageFolder(tmp_path)
    assert takes(folder) == []
    assert takes([(b"", 0)]) == takes(((b"", 0),)) == []
    assert takes(torch.utils.data.TensorDataset(torch.zeros(3, 3, 6, 6), torch.zeros(3))) == []
    assert takes(torch.utils.data.Subset(folder, [0])) == []
    assert takes(torch.utils.data.Subset(gpufeed.open(str(tmp_path)), [0])) == []
    assert takes(torch.utils.data.ConcatDataset([torch.utils.data.Subset(folder, [0]), folder])) == []
    # torchvision's own transforms keep no state.
    own = v2.Compose([v2.RandomApply([transforms.ColorJitter(0.1)]), v2.Resize(8), transforms.RandomHorizontalFlip()])
    assert takes(datasets.ImageFolder(tmp_path, own)) == []

    def mine(value: Any) -> Any:
        return value

    # One of the user's may, and takes turns itself, also where two data sets share it.
    assert takes(datasets.ImageFolder(tmp_path, v2.Compose([v2.Resize(8), mine]))) == [mine]
    assert takes(datasets.ImageFolder(tmp_path, target_transform=mine)) == [mine]
    assert takes(datasets.ImageFolder(tmp_path, loader=mine)) == [mine]
    (made,) = takes(datasets.ImageFolder(tmp_path, v2.Lambda(mine)))
    assert isinstance(made, v2.Lambda)

    class Reads(datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)

    reads = Reads(tmp_path)
    assert takes(reads) == [reads]
    fake = datasets.FakeData(4)
    assert takes(fake) == [fake], "it seeds the random numbers of the process"
    run([Numbered(40)[index] for index in range(40)])


def test_every_name_is_torchvisions() -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    for module, name in turns._SAFE:
        if module.startswith("torchvision"):
            kind = getattr(datasets, name)
            assert (kind.__module__, kind.__qualname__) == (module, name)


@pytest.mark.filterwarnings("error")
def test_one_warning_names_the_keyword() -> None:
    made = gpufeed.DataLoader(Marks(64, 0.01), recipe=NUMBERED, batch_size=8, workers=4)
    with pytest.warns(RuntimeWarning, match=r"waited for each other .* thread_safe=True") as said:
        for _ in range(3):
            assert sum(len(batch.ids) for batch in made.batches()) == 64
    assert len(said) == 1
    # Warnings are errors in these tests: no batch is lost by one.
    made = gpufeed.DataLoader(Marks(64, 0.01), recipe=NUMBERED, batch_size=8, workers=4)
    seen = 0
    with pytest.raises(RuntimeWarning, match="thread_safe=True"):
        for batch in made.batches():
            seen += len(batch.ids)
    assert seen == 64


def test_who_does_not_wait_is_not_warned() -> None:
    for settings in ({"thread_safe": True, "workers": 4}, {"workers": 1}):
        made = gpufeed.DataLoader(Marks(32, 0.01), recipe=NUMBERED, batch_size=8, **settings)
        assert sum(len(batch.ids) for batch in made.batches()) == 32


def test_pickles_keep_the_word() -> None:
    data = Numbered(8)
    made = gpufeed.DataLoader(data, recipe=NUMBERED, thread_safe=True)
    again = pickle.loads(pickle.dumps(made))
    assert again._thread_safe is True
    native = pickle.loads(pickle.dumps(made._native_data))
    assert native.__reduce__()[1][4] is True
    assert copy.deepcopy(made._native_data).__reduce__()[1][4] is True


def test_wrong_words(tmp_path: Path) -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^thread_safe: 3; True and False work"):
        gpufeed.DataLoader(Numbered(4), recipe=NUMBERED, thread_safe=3)  # type: ignore[arg-type]
    data = Numbered(4)
    data.thread_safe = "yes"  # type: ignore[attr-defined]
    with pytest.raises(gpufeed.ArgumentError, match="^thread_safe: the attribute of Numbered is 'yes'"):
        gpufeed.DataLoader(data, recipe=NUMBERED)
    with pytest.raises(gpufeed.ArgumentError, match="^thread_safe: it belongs to a data set in Python"):
        gpufeed.DataLoader(str(tmp_path), recipe=NUMBERED, thread_safe=True)


def test_a_run_that_ends_waits_for_no_turn() -> None:
    made = gpufeed.DataLoader(Marks(400, 0.2), recipe=NUMBERED, batch_size=8, workers=WORKERS)
    batches = made.batches()
    time.sleep(0.3)
    began = time.monotonic()
    made.close()
    assert time.monotonic() - began < 1, "a read, and not one of each worker"
    del batches
