"""Objects of torchvision's data sets: opened by what they stand on, with the labels that they give, or read in Python."""

from __future__ import annotations

import io
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")

import torchvision.transforms as v1  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from pictures import folder  # noqa: E402

CROP = {"transform": [{"type": "CenterCrop", "size": 16}], "semantics": "Uint8", "output": {"dtype": "U8"}}


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def batch(data: Any, *arguments: Any, **keywords: Any) -> tuple[Any, Any]:
    images, labels = next(iter(gpufeed.DataLoader(data, *arguments, batch_size=20, **keywords)))
    return images, labels


def is_native(data: Any, *arguments: Any, **keywords: Any) -> bool:
    loader = gpufeed.DataLoader(data, *arguments, **keywords)
    return "of Python" not in repr(loader)


def test_image_folders_are_files_with_classes(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=9)
    theirs = datasets.ImageFolder(root)
    assert is_native(theirs, recipe=CROP)
    images, labels = batch(theirs, recipe=CROP)
    expected, _ = batch(root, recipe=CROP)
    assert torch.equal(images, expected) and labels.tolist() == theirs.targets
    loader = gpufeed.DataLoader(theirs, recipe=CROP)
    assert loader.dataset is theirs and "torchvision's ImageFolder, 9 samples" in repr(loader)
    # A program may choose samples, also by subsets of subsets.
    theirs.samples = theirs.samples[::-1]
    assert batch(theirs, recipe=CROP)[1].tolist() == [target for _, target in theirs.samples]
    some = torch.utils.data.Subset(torch.utils.data.Subset(theirs, [8, 3, 5]), [2, 0])
    assert is_native(some, recipe=CROP)
    assert batch(some, recipe=CROP)[1].tolist() == [theirs.samples[5][1], theirs.samples[8][1]]
    both = torch.utils.data.ConcatDataset([theirs, some])
    assert is_native(both, recipe=CROP) and len(batch(both, recipe=CROP)[1]) == 11
    again = pickle.loads(pickle.dumps(gpufeed.DataLoader(theirs, recipe=CROP, batch_size=9)))
    assert torch.equal(next(iter(again))[0], batch(theirs, recipe=CROP)[0])


def test_the_transform_of_the_object_is_the_loaders(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=6)
    listed = v1.Compose([v1.Resize((20, 20)), v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3)])
    theirs = datasets.ImageFolder(root, listed)
    assert "note: data: the loader runs the transform of this ImageFolder and reads its samples" in gpufeed.DataLoader(theirs).explain()
    images, labels = batch(theirs)
    expected, _ = batch(root, listed)
    assert torch.equal(images, expected) and labels.tolist() == theirs.targets
    # What torch itself makes of it, but for Pillow's roundings of a resize.
    own = torch.stack([theirs[index][0] for index in range(6)])
    assert (images - own).abs().max() <= 4.1 / 255
    subset = torch.utils.data.Subset(theirs, [1, 4])
    assert torch.equal(batch(subset)[0], expected[[1, 4]])
    refused = datasets.ImageFolder(root, v1.Compose([v1.RandomCrop]))
    with pytest.raises(gpufeed.ArgumentError, match=r"^data\.transform\[0\]: type is not supported"):
        gpufeed.DataLoader(refused)
    # Two lists: which is meant is not known, so that the object's runs where it always did.
    with pytest.warns(UserWarning, match="read in Python.*its own transform runs before the loader's; leave one out"):
        images, _ = batch(datasets.ImageFolder(root, v1.Resize((20, 20))), recipe=CROP)
    assert images.shape == (6, 3, 16, 16)


def test_targets_by_a_table(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=9)
    theirs = datasets.ImageFolder(root, target_transform=lambda target: 7 - target)
    assert is_native(theirs, recipe=CROP)
    assert batch(theirs, recipe=CROP)[1].tolist() == [theirs[index][1] for index in range(9)]
    halves = datasets.ImageFolder(root, target_transform=lambda target: target / 2)
    with pytest.warns(UserWarning, match="read in Python.*its target 0 becomes 0.0, which is no class's number"):
        found = batch(halves, recipe=CROP)[1]
    assert found.tolist() == [halves[index][1] for index in range(9)]


class Shapes(datasets.CIFAR10):  # type: ignore[misc, name-defined]
    """CIFAR without its download."""

    def __init__(self, count: int, **keywords: Any) -> None:
        datasets.VisionDataset.__init__(self, "/none", **keywords)
        self.data = numpy.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=numpy.uint8)
        self.targets = [index * 3 % 10 for index in range(count)]
        self.classes = list("abcdefghij")


class Digits(datasets.MNIST):  # type: ignore[misc, name-defined]
    def __init__(self, count: int, **keywords: Any) -> None:
        datasets.VisionDataset.__init__(self, "/none", **keywords)
        self.data = torch.arange(count * 28 * 28).reshape(count, 28, 28).to(torch.uint8)
        self.targets = torch.arange(count) % 10


class Numbers(datasets.SVHN):  # type: ignore[misc, name-defined]
    def __init__(self, count: int, **keywords: Any) -> None:
        datasets.VisionDataset.__init__(self, "/none", **keywords)
        self.data = numpy.random.default_rng(1).integers(0, 256, (count, 3, 32, 32), dtype=numpy.uint8)
        self.labels = numpy.arange(count) % 10


@pytest.mark.parametrize("kind", [Shapes, Digits, Numbers])
def test_arrays_in_memory_are_those_of_torch(kind: Any) -> None:
    data = kind(12, transform=v1.ToTensor())
    assert is_native(data)
    images, labels = batch(data)
    expected = torch.stack([data[index][0] for index in range(12)])
    assert images.shape == expected.shape and (images - expected).abs().max() < 1e-6
    assert labels.tolist() == [int(data[index][1]) for index in range(12)]
    train, _ = torch.utils.data.random_split(data, [8, 4], torch.Generator().manual_seed(1))
    assert torch.allclose(batch(train)[0], torch.stack([train[index][0] for index in range(8)]), atol=1e-6)


def test_what_does_more_stays_in_python(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=4)

    class Reads(datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)

    def opened(path: str) -> Any:
        return Image.open(path).convert("RGB")

    for data, why in [
        (Reads(root), "torchvision's Reads: its __getitem__ is not one that gpufeed knows"),
        (datasets.ImageFolder(root, loader=opened), "torchvision's ImageFolder: it has a loader of its own"),
    ]:
        with pytest.warns(UserWarning, match=f"read in Python.*{why}") as said:
            images, _ = batch(data, recipe=CROP)
        assert images.shape == (4, 3, 16, 16) and len(said) == 1
        # What the user says about threads says that the user knows.
        batch(data, recipe=CROP, thread_safe=True)
    with pytest.raises(gpufeed.ArgumentError, match="^data: FakeData makes random images in Python"):
        gpufeed.DataLoader(datasets.FakeData(4), recipe=CROP)


def test_relative_roots_are_those_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "sets" / "data", count=4)
    monkeypatch.chdir(tmp_path)
    theirs = datasets.ImageFolder("sets/data")
    assert is_native(theirs, recipe=CROP)
    assert batch(theirs, recipe=CROP)[0].shape == (4, 3, 16, 16)


def test_a_transform_runs_once(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=4)
    listed = v1.Compose([v1.Resize((20, 20)), v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3)])
    once = torch.stack([datasets.ImageFolder(root, listed)[index][0] for index in range(4)])
    # Beside fields, samples are read in Python: the object's transform runs there, and the loader needs its own.
    with pytest.raises(gpufeed.ArgumentError, match="^transforms: give either transforms="):
        gpufeed.DataLoader(datasets.ImageFolder(root, listed), fields=["index"])

    class Own:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return numpy.full((20, 20, 3), index, numpy.uint8), 0

    # Nor does it run for parts that have none, or twice for those that have it.
    mixed = torch.utils.data.ConcatDataset([Own(), datasets.ImageFolder(root, listed)])
    with pytest.raises(gpufeed.ArgumentError, match="^transforms: give either transforms="), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gpufeed.DataLoader(mixed)
    joined = torch.utils.data.ConcatDataset([datasets.ImageFolder(root, listed)] * 2)
    images, _ = batch(joined)
    assert len(images) == 8 and (images[4:] - once).abs().max() <= 4.1 / 255 * 4


def test_numbers_alone_are_classes_of_joined_objects() -> None:
    both = torch.utils.data.ConcatDataset([Shapes(4), Numbers(3)])
    assert is_native(both, recipe=CROP)
    assert batch(both, recipe=CROP)[1].tolist() == [0, 3, 6, 9, 0, 1, 2]
    # One channel and three: as torch reads them, each for itself.
    images, _ = batch(torch.utils.data.ConcatDataset([Shapes(4), Digits(3)]), recipe=CROP)
    assert images.shape == (7, 3, 16, 16)


def test_noise_of_labels_is_no_table(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=4)
    noisy = datasets.ImageFolder(root, target_transform=lambda target: target if random.random() < 0.95 else 0)
    with pytest.warns(UserWarning, match="read in Python.*its target_transform draws random numbers"):
        batch(noisy, recipe=CROP)
    hot = datasets.ImageFolder(root, target_transform=lambda target: torch.eye(5)[target])
    with pytest.warns(UserWarning, match="read in Python.*which is no class's number"):
        labels = batch(hot, recipe=CROP)[1]
    assert labels.shape == (4, 5)


def test_packs_have_what_the_object_gives(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=4)
    packed = gpufeed.pack(datasets.ImageFolder(root), tmp_path / "files")
    assert packed.samples == 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gpufeed.pack(datasets.ImageFolder(root, v1.Resize((9, 9))), tmp_path / "small")
    small = gpufeed.open(tmp_path / "small")
    assert batch(small, recipe={"transform": [{"type": "CenterCrop", "size": 9}]})[0].shape == (4, 3, 9, 9)
    assert Image.open(io.BytesIO(bytes(small[0][0]))).size == (9, 9)
