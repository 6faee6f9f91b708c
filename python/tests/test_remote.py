"""Data from afar: addresses, reading ahead, the cache on disk; and Parquet files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import jpeg
from served import Served

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}, {"type": "RandomHorizontalFlip"}]}


def loader(data: str, **given: Any) -> gpufeed.DataLoader:
    settings = {"recipe": CROP, "batch_size": 8, "shuffle": True, "seed": 3, "seek_indexes": "memory", "order": ("blocks", 8, 2)}
    return gpufeed.DataLoader(data, **(settings | given))


def seen(batches: Any) -> list[Any]:
    return [(each.ids, each.params, numpy.from_dlpack(each.images).tobytes(), numpy.from_dlpack(each.labels).tolist()) for each in batches]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Two tar shards with 20 photographs each."""
    under = tmp_path / "shards"
    under.mkdir()
    for shard in range(2):
        with tarfile.open(under / f"photos-{shard}.tar", "w") as tar:
            for number in range(20 * shard, 20 * shard + 20):
                for name, data in [(f"{number:03}.jpg", jpeg(number)), (f"{number:03}.cls", str(number % 3).encode())]:
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return under


@pytest.fixture
def served(shards: Path) -> Iterator[Served]:
    made = Served(shards)
    yield made
    made.close()


def test_shards_from_a_web_server_are_those_of_the_disk(shards: Path, served: Served) -> None:
    near = loader(str(shards / "photos-{0..1}.tar"))
    far = loader(served.address + "/photos-{0..1}.tar", read_ahead="16M")
    for epoch in range(2):
        near.set_epoch(epoch)
        far.set_epoch(epoch)
        assert seen(far.batches()) == seen(near.batches())
    assert len(far.dataset) == 40
    assert any(asked is not None for method, _, asked in served.requests)


def test_a_cache_on_disk_is_read_instead(served: Served, tmp_path: Path) -> None:
    data = served.address + "/photos-{0..1}.tar"
    cache = {"remote_cache": (tmp_path / "cache", "64M")}
    first = loader(data, **cache)
    whole = seen(first.batches())
    first.close()
    read = [path for method, path, _ in served.requests if method == "GET" and path.endswith(".tar")]
    assert read
    served.requests.clear()
    again = loader(data, **cache)
    assert seen(again.batches()) == whole
    assert [path for method, path, _ in served.requests if method == "GET" and path.endswith(".tar")] == []


def test_a_shuffled_remote_set_needs_an_order(served: Served) -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^order: "):
        gpufeed.DataLoader(served.address + "/photos-{0..1}.tar", recipe=CROP, batch_size=8, shuffle=True)
    with pytest.raises(gpufeed.Error, match="none.tar"):
        gpufeed.open(served.address + "/none.tar")
    with pytest.raises(gpufeed.ArgumentError, match="^remote_cache: 'folder'"):
        loader("none", remote_cache="folder")
    with pytest.raises(gpufeed.ArgumentError, match="^read_ahead: "):
        loader("none", read_ahead="much")


def test_parquet_files_of_hugging_faces_form(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    images = [{"bytes": jpeg(number), "path": f"{number}.jpg"} for number in range(24)]
    table = pyarrow.table({"image": images, "label": [number % 3 for number in range(24)]})
    parquet.write_table(table, tmp_path / "train.parquet", compression="NONE", use_dictionary=False)
    made = loader(str(tmp_path / "train.parquet"), order="full", shuffle=False)
    assert len(made.dataset) == 24
    image, label = made.dataset[5]
    assert image == jpeg(5) and label == 2
    assert [each for _, _, _, labels in seen(made.batches()) for each in labels] == [number % 3 for number in range(24)]
