"""Soft labels of mixed batches: of class numbers, and of vectors such as the rows of a one-hot matrix, as torchvision's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import gpufeed
from pictures import Jpegs

CROP = {"transform": [{"type": "CenterCrop", "size": 8}]}
MIXES = {name: CROP | {"batch_transform": [{"type": name, "alpha": 0.8}]} for name in ("MixUp", "CutMix")}


class Vectors(Jpegs):
    """JPEG files, each with a vector as its label."""

    def __init__(self, labels: Any) -> None:
        super().__init__(len(labels), 5)
        self.labels = labels

    def __getitem__(self, index: int) -> tuple[bytes, Any]:
        return self.files[index], self.labels[index]


def batch(data: Any, **given: Any) -> gpufeed.Batch:
    return next(gpufeed.DataLoader(data, **({"recipe": MIXES["MixUp"], "batch_size": 8} | given)).batches())


@pytest.mark.parametrize("recipe", MIXES)
def test_a_one_hot_matrix_is_mixed_as_its_classes(recipe: str) -> None:
    by_class = batch(Jpegs(8), recipe=MIXES[recipe], num_classes=5)
    for dtype in (numpy.float32, numpy.int64):
        one_hot = numpy.eye(5, dtype=dtype)[numpy.arange(8) % 5]
        for given in ({}, {"num_classes": 5}):
            by_row = batch(Vectors(one_hot), recipe=MIXES[recipe], **given)
            assert by_row.labels.shape == (8, 5)
            assert numpy.array_equal(numpy.from_dlpack(by_row.labels), numpy.from_dlpack(by_class.labels))


def test_rows_are_mixed_as_torchvision_mixes_them() -> None:
    torch = pytest.importorskip("torch")
    rows = numpy.random.default_rng(5).random((8, 6), numpy.float32)
    ((_, _, share), *_) = batch(Jpegs(8), num_classes=5).mixed
    found = torch.from_dlpack(batch(Vectors(rows)).labels)
    labels = torch.from_numpy(rows)
    # v2.MixUp's own line, `_mixup_label`.
    assert torch.equal(found, labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share)))


def test_torchvisions_transforms_need_no_num_classes_for_vectors() -> None:
    pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    one_hot = numpy.eye(5, dtype=numpy.float32)[numpy.arange(8) % 5]
    mixed = v2.RandomChoice([v2.MixUp(), v2.CutMix()])
    made = gpufeed.DataLoader(Vectors(one_hot), recipe=CROP, batch_transforms=mixed, batch_size=8)
    _, labels = next(iter(made))
    assert labels.shape == (8, 5) and labels.sum(1).allclose(labels.new_ones(8))


def test_numbers_that_do_not_fit() -> None:
    one_hot = numpy.eye(5, dtype=numpy.float32)
    with pytest.raises(gpufeed.ArgumentError, match="^num_classes: 7, but a sample has a vector of 5 numbers"):
        batch(Vectors(one_hot), num_classes=7)
    with pytest.raises(gpufeed.ArgumentError, match=r"^dataset: the labels of a batch differ: Multi\(.* and Class\(1\)"):
        batch(Vectors([*one_hot[:4], 1]))
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: mixing needs samples with a class or a vector"):
        batch(Vectors([None] * 8), num_classes=5)


def test_num_classes_is_never_ignored() -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^num_classes: 5, but only batch_transforms make soft labels"):
        gpufeed.DataLoader(Jpegs(8), recipe=CROP, num_classes=5)
    with pytest.raises(gpufeed.ArgumentError, match="^num_classes: 0; a whole number from 1 on works"):
        gpufeed.DataLoader(Jpegs(8), recipe=MIXES["MixUp"], num_classes=0)
    pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    with pytest.raises(gpufeed.ArgumentError, match="^num_classes: 7, but batch_transforms has num_classes=5"):
        gpufeed.DataLoader(Jpegs(8), recipe=CROP, batch_transforms=v2.MixUp(num_classes=5), num_classes=7)
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: the recipe has a batch_transform of its own"):
        gpufeed.DataLoader(Jpegs(8), recipe=MIXES["MixUp"], batch_transforms=v2.MixUp(num_classes=5))
