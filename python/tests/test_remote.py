"""Remote data: addresses, reading ahead, the cache on disk; and Parquet files."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import Jpegs, jpeg, tar_shards
from served import Served

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}, {"type": "RandomHorizontalFlip"}]}


def loader(data: Any, **given: Any) -> gpufeed.DataLoader:
    settings = {"recipe": CROP, "batch_size": 8, "shuffle": True, "seed": 3, "seek_indexes": "memory", "order": ("blocks", 8, 2)}
    return gpufeed.DataLoader(data, **(settings | given))


def seen(batches: Any) -> list[Any]:
    return [(each.ids, each.params, numpy.from_dlpack(each.images).tobytes(), numpy.from_dlpack(each.labels).tolist()) for each in batches]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Two tar shards with 20 photographs each."""
    return tar_shards(tmp_path / "shards")


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


def test_counts_open_a_shard_when_its_samples_come(shards: Path, served: Served, tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    (shards / "classes.txt").write_text("a\nb\nc\n")
    data = served.address + "/photos-{0..1}.tar"
    whole = seen(loader(data).batches())
    served.requests.clear()
    counted = loader(data, counts=tmp_path / "sizes.json")
    assert len(counted.dataset) == 40 and [path for _, path, _ in served.requests if path.endswith(".tar")] == []
    assert seen(pickle.loads(pickle.dumps(counted)).batches()) == whole
    assert seen(counted.batches()) == whole
    # The JSON may lie beside the shards, and a data set take the place of the path.
    (shards / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 19}))
    wrong = gpufeed.open(data, counts=served.address + "/sizes.json")
    assert len(wrong) == 39 and wrong[3][1] == 0
    with pytest.raises(gpufeed.FileError, match="photos-1.tar: it has 20 samples, but .*sizes.json says 19"):
        wrong[38]
    with pytest.raises(gpufeed.FileError, match="none.json"):
        loader(data, counts=tmp_path / "none.json")
    with pytest.raises(gpufeed.ArgumentError, match="^counts: 3 is a int; a path works"):
        loader(data, counts=3)
    for other in (Jpegs(8), wrong):
        with pytest.raises(gpufeed.ArgumentError, match="^counts: it belongs to the path"):
            loader(other, counts=tmp_path / "sizes.json")
    with pytest.raises(gpufeed.ArgumentError, match="^counts: a keyword of tar shards, Parquet files, but the path is"):
        gpufeed.open(tmp_path / "sizes.json", counts=tmp_path / "sizes.json")


def test_a_pickle_opens_with_counts_and_cache(shards: Path, served: Served, tmp_path: Path) -> None:
    (shards / "classes.txt").write_text("a\nb\nc\n")
    (tmp_path / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    cache = tmp_path / "cache"
    opened = gpufeed.open(served.address + "/photos-{0..1}.tar", counts=tmp_path / "sizes.json", remote_cache=(cache, "64M"))
    made = loader(opened.subset(list(range(39))))
    pickled = pickle.dumps(made)
    whole = seen(made.batches())
    made.close()
    served.requests.clear()
    copied = pickle.loads(pickled)
    # Without the counts, opening would ask for each shard, and without the cache the batches would.
    assert len(copied.dataset) == 39 and [path for _, path, _ in served.requests if path.endswith(".tar")] == []
    assert seen(copied.batches()) == whole
    assert [path for method, path, _ in served.requests if method == "GET" and path.endswith(".tar")] == []


def test_the_lines_of_the_chapter_on_stores(shards: Path, served: Served, tmp_path: Path) -> None:
    """As they stand there, with other addresses."""
    chapter = (Path(__file__).parents[2] / "docs" / "guide" / "stores.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", chapter, re.DOTALL | re.MULTILINE)
    (shards / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    for there, here in [
        ("s3://photos/", served.address + "/"),
        ("train-{000000..009999}", "photos-{0..1}"),
        ("/scratch/photos", str(tmp_path / "scratch")),
        ("transforms,", f"recipe={CROP},"),
    ]:
        assert there in code
        code = code.replace(there, here)
    names: dict[str, Any] = {"gpufeed": gpufeed}
    exec(code, names)
    assert sum(len(batch.ids) for batch in names["train"].batches()) == 40


def test_the_arguments_of_the_readme_for_an_address(served: Served, tmp_path: Path) -> None:
    """Those that its line on addresses names make the loader of its example, which shuffles."""
    text = (Path(__file__).parents[1] / "README.md").read_text()
    assert "shuffle=True" in text
    (line,) = re.findall(r'^- `"s3://.*?(?=^- )', text, re.DOTALL | re.MULTILINE)
    named = ", ".join(re.findall(r"`((?:order|lanes|read_ahead|remote_cache|counts)=[^`]+)`", line))
    given: dict[str, Any] = eval(f"dict({named})")
    assert {*given} == {"order", "lanes", "read_ahead", "remote_cache", "counts"}
    (tmp_path / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    given |= {"lanes": 4, "remote_cache": (tmp_path / "cache", "64M"), "counts": tmp_path / "sizes.json"}
    made = gpufeed.DataLoader(served.address + "/photos-{0..1}.tar", recipe=CROP, batch_size=8, shuffle=True, **given)
    assert sum(len(batch.ids) for batch in made.batches()) == 40


def test_a_shuffled_remote_set_needs_an_order(served: Served) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r'^order: not set, .* shuffling .*choose order=\("blocks", 256, 4\), or order="full"'):
        gpufeed.DataLoader(served.address + "/photos-{0..1}.tar", recipe=CROP, batch_size=8, shuffle=True)
    with pytest.raises(gpufeed.Error, match="none.tar"):
        gpufeed.open(served.address + "/none.tar")
    with pytest.raises(gpufeed.ArgumentError, match="^remote_cache: 'folder'"):
        loader("none", remote_cache="folder")
    with pytest.raises(gpufeed.ArgumentError, match="^read_ahead: "):
        loader("none", read_ahead="much")


def test_no_text_shows_credentials(shards: Path, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shards / "photos").symlink_to(shards)  # the bucket
    for name, value in {"ENDPOINT_URL": served.address, "ALLOW_HTTP": "true", "SKIP_SIGNATURE": "true", "REGION": "here"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    server = served.address.replace("http://", "http://user:secret@")
    address = server + "/photos-{0..1}.tar?sig=secret"
    data = gpufeed.open(address, remote_cache=(tmp_path / "cache", "64M"))
    made = loader(data, seek_indexes="memory")
    texts = [data.description, *map(repr, (data, data.repeat(2), data.subset([3]), data.with_weights([1.0] * 40)))]
    texts += [repr(made), repr(loader(address)), made.explain(), str(made.stats()), data.name(3), *map(str, seen(made.batches()))]
    (tmp_path / "sizes.json").write_text(json.dumps({"photos-0.tar": 20, "photos-1.tar": 20}))
    texts.append(repr(gpufeed.open("s3://photos/photos-{0..1}.tar", counts=tmp_path / "sizes.json")))
    assert f"gpufeed.Dataset({served.address}/photos-{{0..1}}.tar, 40 samples)" in texts
    assert "gpufeed.Dataset(s3://photos/photos-{0..1}.tar, 40 samples)" in texts
    # A path on this machine is shown as it is.
    path = tar_shards(tmp_path / "a?b#c", 1)
    assert str(path) in repr(gpufeed.open(path))
    stores = [f"s3://{address}" for address in ("key:secret@photos/none.tar", "photos/none.tar?sig=secret")]
    for wrong in (server + "/none.tar?sig=secret", *stores, "ftp://user:secret@host/a.tar"):
        with pytest.raises(gpufeed.Error) as raised:
            gpufeed.open(wrong)
        texts += [str(raised.value), repr(raised.value), str(getattr(raised.value, "filename", ""))]
    with pytest.raises(gpufeed.FileError, match="none.json") as counts:
        gpufeed.open(address, counts=server + "/none.json?sig=secret")
    texts += [str(counts.value), repr(counts.value), str(counts.value.filename)]
    with pytest.raises(gpufeed.ArgumentError, match="^data: a list; a path works") as listed:
        gpufeed.open([address])
    assert [text for text in [*texts, str(listed.value)] if "secret" in text] == []
    # The copy needs them.
    assert b"secret" in pickle.dumps(made)


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
    (tmp_path / "sizes.json").write_text(json.dumps({"train.parquet": 24}))
    counted = gpufeed.open(tmp_path / "train.parquet", counts=tmp_path / "sizes.json")
    assert len(counted) == 24 and counted[5] == (image, label)
