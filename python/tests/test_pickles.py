"""Pickles of data sets and their loaders: a copy opens as the original was opened and adapted."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import NUMBERED, Numbered, folder

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}


def again(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


def samples(data: Any) -> list[Any]:
    """Names, ids and samples."""
    return [(data.name(index), data.id(index), data[index]) for index in range(len(data))]


def seen(loader: gpufeed.DataLoader) -> list[Any]:
    return [(batch.ids, batch.params) for batch in loader.batches()]


def test_adapted_data_sets_are_adapted_again(tmp_path: Path) -> None:
    data = gpufeed.open(folder(tmp_path / "data", count=9))
    weighted = data.with_weights([float(number + 1) for number in range(9)])
    for made in (data, data.repeat(3), data.subset([4, 4, 0]), data.subset([7, 1, 3]).repeat(2), weighted, weighted.subset([0, 5])):
        copied = again(made)
        assert repr(copied) == repr(made) and samples(copied) == samples(made) == samples(copy.copy(made))
        loader = gpufeed.DataLoader(made, recipe=CROP, batch_size=2, shuffle=True, seek_indexes="memory")
        copied = again(loader)
        assert repr(copied) == repr(loader) and seen(copied) == seen(loader)


def test_a_test_split_is_that_of_the_path(tmp_path: Path) -> None:
    images = numpy.arange(5 * 6 * 6 * 3, dtype=numpy.uint8).reshape(5, 6, 6, 3)
    splits = {"x_train": images, "y_train": numpy.arange(5), "x_test": images[:2], "y_test": numpy.arange(2)}
    numpy.savez(tmp_path / "data.npz", **splits)
    test = gpufeed.open(tmp_path / "data.npz").test
    assert test is not None and len(test) == len(again(test)) == 2
    assert repr(again(test)) == repr(test) and ", the test split" in repr(test)
    made = gpufeed.DataLoader(test.repeat(2), recipe=NUMBERED, batch_size=2)
    assert seen(again(made)) == seen(made)
    pickled = pickle.dumps(test)
    numpy.savez(tmp_path / "data.npz", x_train=images, y_train=numpy.arange(5))
    with pytest.raises(gpufeed.ArgumentError, match="data.npz had a test split when it was pickled"):
        pickle.loads(pickled)


def test_an_object_in_python_is_pickled_itself() -> None:
    wrapped = gpufeed.DataLoader(Numbered(5), recipe=NUMBERED)._native_data
    some = again(wrapped.subset([3, 1]))
    assert repr(some) == "gpufeed.Dataset(Numbered of Python, 2 samples, 2 samples)" and some[0][1] == 3
