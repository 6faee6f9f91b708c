"""Named fields: of objects in Python, and of data sets that are opened by their paths."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed import arguments
from gpufeed.samples import Chosen, item, paths_of
from pictures import NUMBERED, folder, jpeg, tar_shards

CROP = {"transform": [{"type": "CenterCrop", "size": 6}]}


@dataclass
class Photograph:
    """A sample as a class."""

    image: Any
    label: int
    caption: str
    score: float | None


class Photographs:
    """Photographs, every second one without a score."""

    def __init__(self, count: int = 6) -> None:
        self.imgs = [(f"/photographs/{number}.jpg", number) for number in range(count)]

    def __len__(self) -> int:
        return len(self.imgs)

    def __getitem__(self, index: int) -> Photograph:
        pixels = numpy.full((6, 6, 3), index, numpy.uint8)
        return Photograph(pixels, index, f"photograph {index}", None if index % 2 else index / 4)


def loader(data: Any = None, **given: Any) -> gpufeed.DataLoader:
    settings: dict[str, Any] = {"recipe": NUMBERED, "batch_size": 2, "seek_indexes": "memory", "on_error": "fail"}
    return gpufeed.DataLoader(Photographs() if data is None else data, **(settings | given))


def taken(data: Any = None, **given: Any) -> Any:
    pytest.importorskip("torch", reason="torch is not installed")
    return next(iter(loader(data, **given)))


def test_fields_of_an_object_are_chosen_by_name() -> None:
    found = taken(fields=["caption", "index", "path"])
    assert [*found] == ["image", "label", "caption", "index", "path"]
    assert found["label"].tolist() == found["index"].tolist() == [0, 1]
    assert found["caption"] == ["photograph 0", "photograph 1"]
    assert found["path"] == ["/photographs/0.jpg", "/photographs/1.jpg"]


def test_fields_of_an_object_have_settings() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    given = {"caption": "text", "score": {"name": "points", "optional": True}, "age": {"name": "age", "default": 7}}
    found = taken(fields=given)
    assert [*found] == ["image", "label", "text", "points", "age"]
    assert found["points"] == [0.0, None] and found["age"].tolist() == [7, 7]
    found = taken(fields={"score": {"name": "score", "default": -1.0}})
    assert found["score"].dtype == torch.float64 and found["score"].tolist() == [0.0, -1.0]


def test_all_fields_and_none() -> None:
    found = taken(fields="all")
    assert [*found] == ["image", "label", "caption", "score"] and found["score"] == [0.0, None]
    assert [*taken([(numpy.zeros((6, 6, 3), numpy.uint8), 3, "a")] * 2, fields="all")] == ["image", "label", "2"]
    images, labels = taken([(numpy.zeros((6, 6, 3), numpy.uint8), 3)] * 2, fields="none")
    assert labels.tolist() == [3, 3]
    assert [*taken(fields=[])] == ["image", "label"]


def test_the_image_may_be_chosen() -> None:
    left, right = (numpy.full((6, 6, 3), number, numpy.uint8) for number in (1, 2))
    # The first part of a tuple beside the image is its label, whatever it is.
    for sample, source, names in (({"left": left, "right": right}, "right", ["image"]), ((left, right), "1", ["image", "label"])):
        found = taken([sample] * 2, fields={source: "image"})
        assert [*found] == names and (found["image"] == 2).all()


def test_batches_have_chosen_fields_as_columns() -> None:
    # The second sample has no score. Its failure could come before the first batch is taken.
    fields = {"caption": "caption", "score": {"name": "score", "optional": True}}
    batch = next(loader(fields=fields, batch_size=1).batches())
    assert batch.columns == {"caption": ["photograph 0"], "score": [0.0]} and batch.labels == [0]


def test_a_field_that_a_sample_lacks_is_its_failure() -> None:
    # One worker meets the samples in their order.
    def first(data: Any = None, **given: Any) -> None:
        next(loader(data, workers=1, **given).batches())

    with pytest.raises(gpufeed.DataError, match="sample 1 has no 'score'; it has 'label', 'caption'; a field"):
        first(fields=["score"])
    with pytest.raises(gpufeed.DataError, match="sample 0 has no 'path'"):
        first([{"image": jpeg(1)}] * 2, fields=["path"])
    with pytest.raises(gpufeed.DataError, match="sample 0 has no 'left', which is to be the image; it has 'right'"):
        first([{"right": jpeg(1)}] * 2, fields={"left": "image"})


def test_fields_that_cannot_be_are_refused() -> None:
    for given, words in [
        ({"a": "x", "b": "x"}, "^fields: two fields have the name 'x'"),
        ({"a": {"name": "a", "optional": 1}}, "^fields: 'a' is .*; optional is not 1"),
        ({"a": {"kind": "text", "name": "a"}}, "^fields: 'a' has 'kind'; of an object in Python name, optional and default"),
        ({"a": {"optional": True}}, "^fields: 'a' is .*; it has no name"),
        ({"a": 3}, "^fields: 'a' is 3; the name of a field works"),
        ("some", '^fields: a str; "all" and "none" work, names, and a dictionary'),
        (3, "^fields: 3 is a int"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=words):
            loader(fields=given)
    with pytest.raises(gpufeed.ArgumentError, match="^max_field_bytes: it belongs to a path"):
        loader(max_field_bytes="2M")


def test_the_forms_of_the_keyword() -> None:
    assert arguments.fields("fields", ["a", "b"]) == {"a": "a", "b": "b"}
    assert arguments.fields("fields", {"json": {"name": "meta"}}) == {"json": {"name": "meta"}}
    assert arguments.fields("fields", "all") == "all"


def test_a_class_alone_is_no_pickle() -> None:
    """What costs nothing more than before: an image with a class, no label, or a vector of float32."""
    pixels = numpy.zeros((6, 6, 3), numpy.uint8)
    for label in (3, None, numpy.int64(3), numpy.array(3), numpy.array([0.5, 1], numpy.float32)):
        assert item((pixels, label), 0)[3] is None
    for label in (True, 0.5, "a", -1, numpy.int32(3), numpy.array([3]), numpy.array([0.5])):
        assert item((pixels, label), 0)[3] is not None


def test_loaders_with_fields_are_pickled() -> None:
    made = loader(fields={"caption": "text", "index": "number"})
    again = pickle.loads(pickle.dumps(made))
    assert next(again.batches()).columns == next(made.batches()).columns == {"text": ["photograph 0", "photograph 1"], "number": [0, 1]}
    assert pickle.loads(pickle.dumps(Chosen("all"))).chosen == "all"


def test_paths_of_torchvisions_data_sets() -> None:
    assert paths_of(Photographs(2)) == ["/photographs/0.jpg", "/photographs/1.jpg"]
    assert paths_of([1, 2]) is None
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
    assert paths_of(data.Subset(Photographs(), [4, 1])) == ["/photographs/4.jpg", "/photographs/1.jpg"]


def test_index_and_path_of_every_format(tmp_path: Path) -> None:
    for path in (folder(tmp_path / "folder", count=6), tar_shards(tmp_path / "tar", shards=1, count=6)):
        data = gpufeed.open(path, fields=["index", "path"])
        assert data.fields == ["index", "path"]
        batch = next(loader(data, recipe=CROP, batch_size=6).batches())
        assert numpy.from_dlpack(batch.columns["index"]).tolist() == [*range(6)]
        assert batch.columns["path"] == [data.name(index) for index in range(6)]
        assert pickle.loads(pickle.dumps(data)).fields == ["index", "path"]
        found = taken(path, recipe=CROP, fields={"index": "number"}, shuffle=True)
        assert [*found] == ["image", "label", "number"] and found["number"].dtype.is_signed


def shards(path: Path, count: int = 6) -> Path:
    """A shard as img2dataset writes it."""
    import io
    import tarfile

    with tarfile.open(path, "w") as tar:
        for number in range(count):
            meta = {"caption": f"photograph {number}", "width": 50}
            members = {"jpg": jpeg(number), "txt": f"photograph {number}".encode(), "json": json.dumps(meta).encode()}
            for ending, data in members.items():
                member = tarfile.TarInfo(f"{number:05}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return path


def test_captions_of_shards_are_lists_of_texts(tmp_path: Path) -> None:
    path = shards(tmp_path / "00000.tar")
    given = {"txt": "caption", "json": {"name": "meta", "optional": True}}
    data = gpufeed.open(path, allow_unlabelled=True, fields=given, max_field_bytes="64K")
    assert data.fields == ["caption", "meta"]
    batch = next(loader(data, recipe=CROP).batches())
    assert batch.labels is None and batch.columns["caption"] == ["photograph 0", "photograph 1"]
    assert batch.columns["meta"][1] == {"caption": "photograph 1", "width": 50}
    found = taken(path, recipe=CROP, allow_unlabelled=True, fields=given)
    assert [*found] == ["image", "caption", "meta"] and found["meta"][0]["width"] == 50
    with pytest.raises(gpufeed.Error, match="webp"):
        next(loader(gpufeed.open(path, allow_unlabelled=True, fields=["webp"]), recipe=CROP).batches())


def test_captions_beside_images_and_in_lists(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    for number in range(3):
        (images / f"{number}.jpg").write_bytes(jpeg(number))
        (images / f"{number}.txt").write_text(f"photograph {number}")
    data = gpufeed.open(images, fields={"txt": "caption"})
    assert data.fields == ["caption"]
    assert next(loader(data, recipe=CROP).batches()).columns["caption"] == ["photograph 0", "photograph 1"]
    with pytest.raises(gpufeed.Error, match="raise max_field_bytes"):
        gpufeed.open(images, fields={"txt": "caption"}, max_field_bytes=4)[0]
    listed = images / "list.csv"
    listed.write_text("file,text,score\n0.jpg,a,0.5\n1.jpg,,1\n2.jpg,c,2\n")
    given = {"text": {"name": "caption", "default": ""}, "score": {"name": "score", "kind": "numbers"}}
    batch = next(loader(gpufeed.open(listed, fields=given), recipe=CROP, batch_size=3).batches())
    assert batch.columns["caption"] == ["a", "", "c"]
    assert numpy.from_dlpack(batch.columns["score"]).tolist() == [0.5, 1.0, 2.0]
    (images / "two.csv").write_text("left,right,label\n0.jpg,1.jpg,4\n")
    data = gpufeed.open(images / "two.csv", fields={"right": "image"}, label_column="label")
    assert data.fields == [] and data[0][0] == jpeg(1), "the image may be chosen alone"
    with pytest.raises(gpufeed.Error, match="there is no column title; there are file, text, score"):
        gpufeed.open(listed, fields=["title"])
    (images / "metadata.csv").write_text("file_name,text\n2.jpg,c\n")
    data = gpufeed.open(images, fields="all")
    assert (len(data), data.fields) == (1, ["text"])


def test_fields_of_data_that_have_none_are_refused(tmp_path: Path) -> None:
    numpy.save(tmp_path / "a.npy", numpy.zeros((2, 6, 6), numpy.uint8))
    with pytest.raises(gpufeed.ArgumentError, match="^fields: "):
        gpufeed.open(tmp_path / "a.npy", fields=["caption"])
    assert gpufeed.open(tmp_path / "a.npy", fields=["index"]).fields == ["index"]
