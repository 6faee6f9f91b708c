"""Contact sheets, seek indexes and packed data sets, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpufeed
from pictures import folder


def ids(data: Path) -> int:
    return len(gpufeed.open(str(data)))


def test_packed_data_sets_have_the_same_samples(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=12)
    packed_now = gpufeed.pack(data, tmp_path / "shards", shard_bytes="64K")
    assert packed_now.samples == packed_now.kept == 12
    assert ids(tmp_path / "shards") == 12
    gpufeed.pack(str(data), tmp_path / "database", to="lmdb")
    packed = gpufeed.open(tmp_path / "database")
    plain = gpufeed.open(data)
    assert {packed[index][0] for index in range(12)} == {plain[index][0] for index in range(12)}


def test_indexes_are_built_more_than_once(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=5)
    for _ in range(2):
        assert "5" in gpufeed.index(data)
    assert (data / ".gpufeed-seek-index").exists()


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=5)
    (data / "class 0" / "bad.jpg").write_bytes(b"no image")
    with pytest.warns(UserWarning, match="bad.jpg"):
        gpufeed.pack(data, tmp_path / "shards")
    assert ids(tmp_path / "shards") == 6  # packed as it was
    with pytest.raises(gpufeed.Error, match="no-such-folder"):
        gpufeed.index(tmp_path / "no-such-folder")
    with pytest.raises(gpufeed.ArgumentError, match="--colour"):
        gpufeed.preview(data, colour=True)
    with pytest.raises(gpufeed.ArgumentError, match="data: 3 is a int; a path works"):
        gpufeed.index(3)  # type: ignore[arg-type]
