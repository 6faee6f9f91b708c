"""What the tests of `gpufeed.torch_compat` share: a data set, and the comparison with torch's loader."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as v1
from torch.utils.data import DataLoader as Theirs
from torchvision.datasets import ImageFolder

from gpufeed.torch_compat import DataLoader
from pictures import folder


@pytest.fixture
def strict() -> Iterator[None]:
    """Makes warnings errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "gpufeed. workers have waited for each other", RuntimeWarning)
        yield


@pytest.fixture
def files(tmp_path: Path) -> ImageFolder:
    """Photographs of one size with a list that neither draws nor resizes: Pillow and gpufeed have the same numbers."""
    listed = v1.Compose([v1.CenterCrop(30), v1.ToTensor(), v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.25, 0.5])])
    return ImageFolder(folder(tmp_path / "data", count=22), listed)


def assert_equal(ours: Any, theirs: Any) -> None:
    """Types, shapes and values are the same; floats but for their last bits."""
    assert type(ours) is type(theirs), (type(ours), type(theirs))
    if isinstance(theirs, torch.Tensor):
        assert (ours.dtype, ours.shape, ours.device) == (theirs.dtype, theirs.shape, theirs.device)
        assert ours.layout == theirs.layout and ours.is_contiguous() == theirs.is_contiguous()
        if theirs.is_floating_point():
            torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-6)
        else:
            assert torch.equal(ours, theirs)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for name in theirs:
            assert_equal(ours[name], theirs[name])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, two in zip(ours, theirs, strict=True):
            assert_equal(one, two)
    else:
        assert ours == theirs


def compare(data: Any, **given: Any) -> DataLoader:
    """Compares an epoch with that of torch's loader."""
    ours, theirs = DataLoader(data, **given), Theirs(data, **given)
    assert len(ours) == len(theirs)
    found, expected = [*ours], [*theirs]
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        assert_equal(one, two)
    for name in ("batch_size", "drop_last", "num_workers", "timeout", "collate_fn", "pin_memory", "generator", "persistent_workers"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.dataset is data
    return ours
