"""What data sets know without reading samples, under torchvision's names; sets made of sets, and torch's own of them."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import Jpegs, Numbered, folder, jpeg, tar_shards

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}


def seen(data: Any, **keywords: Any) -> list[Any]:
    loader = gpufeed.DataLoader(data, recipe=CROP, batch_size=4, shuffle=True, seek_indexes="memory", **keywords)
    return [(batch.ids, batch.params) for batch in loader.batches()]


def labels(data: Any) -> list[Any]:
    return [data[index][1] for index in range(len(data))]


def test_a_folder_knows_what_torchvisions_does(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=9)
    data = gpufeed.open(root)
    datasets = pytest.importorskip("torchvision.datasets")
    theirs = datasets.ImageFolder(root)
    assert data.targets == theirs.targets == labels(data)
    assert (data.classes, data.class_to_idx) == (theirs.classes, theirs.class_to_idx)
    assert data.samples == data.imgs == theirs.samples
    # Programs index them in loops.
    assert data.targets is data.targets and data.samples is data.imgs
    some = data.subset([7, 2])
    assert (some.targets, some.samples) == ([theirs.targets[7], theirs.targets[2]], [theirs.samples[7], theirs.samples[2]])


def test_labels_are_known_without_reading_samples(tmp_path: Path) -> None:
    images = numpy.zeros((3, 6, 6, 3), numpy.uint8)
    numpy.savez(tmp_path / "classes.npz", x=images, y=numpy.array([4, 0, 2]))
    numpy.savez(tmp_path / "vectors.npz", x=images, y=numpy.array([[0.5, 1], [0, 0], [1, 0]], numpy.float32))
    (tmp_path / "list.csv").write_text("path,label\na.jpg,dog\nb.jpg,cat\n")
    assert gpufeed.open(tmp_path / "classes.npz").targets == [4, 0, 2]
    assert gpufeed.open(tmp_path / "vectors.npz").targets == [[0.5, 1.0], [0.0, 0.0], [1.0, 0.0]]
    # The files of this list do not exist.
    listed = gpufeed.open(tmp_path / "list.csv")
    assert listed.targets == [1, 0] and listed.class_to_idx == {"cat": 0, "dog": 1}
    assert listed.samples == [(str(tmp_path / "a.jpg"), 1), (str(tmp_path / "b.jpg"), 0)]
    shards = gpufeed.open(tar_shards(tmp_path / "shards"))
    assert shards.targets == labels(shards)
    with tarfile.open(tmp_path / "none.tar", "w") as archive:
        member = tarfile.TarInfo("1.jpg")
        member.size = len(jpeg(1))
        archive.addfile(member, io.BytesIO(jpeg(1)))
    assert gpufeed.open(tmp_path / "none.tar", allow_unlabelled=True).targets == [None]


def test_what_is_not_known_is_no_attribute(tmp_path: Path) -> None:
    shards = gpufeed.open(tar_shards(tmp_path / "shards"))
    assert hasattr(shards, "targets") and not hasattr(shards, "samples") and not hasattr(shards, "imgs")
    with pytest.raises(AttributeError, match="not every sample of this data set is a file of its own"):
        shards.samples  # noqa: B018
    wrapped = gpufeed.DataLoader(Jpegs(3), recipe=CROP)._native_data
    assert not hasattr(wrapped, "targets") and wrapped.class_to_idx == {}
    with pytest.raises(AttributeError, match="known only by reading its samples"):
        wrapped.targets  # noqa: B018


def test_concat_joins_and_split_divides(tmp_path: Path) -> None:
    data = gpufeed.open(folder(tmp_path / "data", count=9))
    both = data.concat(data.subset([4]), data)
    assert len(both) == 19 and both.targets == [*data.targets, data.targets[4], *data.targets]
    assert (data + data).samples == 2 * data.samples
    assert len({both.id(index) for index in range(19)}) == 19, "random numbers of their own"
    copied = pickle.loads(pickle.dumps(both))
    assert repr(copied) == repr(both) and copied.targets == both.targets and seen(copied) == seen(both)
    train, valid = data.split(2 / 3, seed=7)
    assert (len(train), len(valid)) == (6, 3)
    assert sorted(train.samples + valid.samples) == sorted(data.samples)
    assert pickle.loads(pickle.dumps(valid)).samples == valid.samples == data.split(2 / 3, seed=7)[1].samples
    with pytest.raises(gpufeed.ArgumentError, match="fraction: 1.5"):
        data.split(1.5)
    with pytest.raises(TypeError):
        data + [1]  # type: ignore[operator]
    other = gpufeed.open(folder(tmp_path / "other", count=4), unlabelled=True)
    with pytest.raises(gpufeed.ArgumentError, match="labels would mean different things"):
        data.concat(other)
    wrapped = gpufeed.DataLoader(Jpegs(3), recipe=CROP)._native_data
    with pytest.raises(ValueError, match="torch's ConcatDataset joins them"):
        wrapped.concat(wrapped)


def test_torchs_subsets_of_a_data_set_are_read_without_python(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    of_torch = torch.utils.data
    data = gpufeed.open(folder(tmp_path / "data", count=20))

    def native(made: Any) -> Any:
        return gpufeed.DataLoader(made, recipe=CROP, seek_indexes="memory")._native_data

    train, valid = of_torch.random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(3))
    assert native(train).targets == [data.targets[index] for index in train.indices]
    assert seen(train) == seen(data.subset([*train.indices])) and seen(valid) == seen(data.subset([*valid.indices]))
    nested = of_torch.Subset(of_torch.Subset(data, range(10, 20)), numpy.array([-1, 0]))
    assert native(nested).samples == [data.samples[19], data.samples[10]]
    joined = of_torch.ConcatDataset([train, valid])
    assert native(joined).samples == native(train).samples + native(valid).samples
    with pytest.raises(gpufeed.ArgumentError, match="indices: 20 at position 0"):
        native(of_torch.Subset(data, [20]))

    class Turned(of_torch.Subset):  # type: ignore[name-defined, misc]
        """A class of its own reads as it says."""

        __getitems__ = None

        def __getitem__(self, index: int) -> Any:
            return self.dataset[self.indices[index]][0], 41

    for made in (Turned(data, [3]), of_torch.Subset(Turned(data, [3]), [0])):
        assert [label for _, label in (native(made)[0],)] == [41]
    mixed = of_torch.ConcatDataset([of_torch.Subset(data, [3]), Numbered(2)])
    assert len(native(mixed)) == 3 and native(mixed)[2][1] == 1
