"""The keywords with which a path is opened: each chooses what it says, and one that the format does not know is an error."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import folder, jpeg, tar_shards

# What a set does not read is not the matter here; test_loader.py has those warnings.
pytestmark = pytest.mark.filterwarnings("ignore:.* not read:UserWarning", "ignore:.*have no label:UserWarning")

CROP = {"transform": [{"type": "CenterCrop", "size": 16}]}


def again(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


def labels(data: Any) -> list[Any]:
    return [data[index][1] for index in range(len(data))]


def tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def same_by_loader(path: Any, **keywords: Any) -> gpufeed.Dataset:
    """What `open` opens; a loader, its pickle and that of the data set open the same."""
    data = gpufeed.open(path, **keywords)
    loader = gpufeed.DataLoader(path, recipe=CROP, seek_indexes="memory", **keywords)
    for other in (loader.dataset, again(data), again(loader).dataset):
        assert [other.name(index) for index in range(len(other))] == [data.name(index) for index in range(len(data))]
        assert labels(other) == labels(data) and other.classes == data.classes
    return data


def test_unlabelled_tar_shards(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", {"1.jpg": jpeg(1), "2.jpg": jpeg(2)})
    with pytest.raises(gpufeed.Error, match=r"; allow_unlabelled=True accepts that") as error:
        gpufeed.open(path)
    assert "::" not in str(error.value)
    assert labels(same_by_loader(path, allow_unlabelled=True)) == [None, None]


def test_extensions_and_class_names_of_tar_shards(tmp_path: Path) -> None:
    members = {"1.left.jpg": jpeg(1), "1.right.jpg": jpeg(2), "1.cls": b"1"}
    path = tar(tmp_path / "a.tar", members)
    data = same_by_loader(path, extensions=["right.jpg"], class_names=["cat", "dog"])
    assert data[0] == (jpeg(2), 1) and data.classes == ["cat", "dog"]
    assert same_by_loader(path, extensions=".left.jpg")[0] == (jpeg(1), 1)


def test_fields_of_tar_shards(tmp_path: Path) -> None:
    members = {"1.jpg": jpeg(1), "1.json": b"{}", "1.txt": b"a cat", "2.jpg": jpeg(2), "2.json": b"{}", "2.txt": b"two dogs"}
    path = tar(tmp_path / "a.tar", members)
    with pytest.raises(gpufeed.Error, match="sample 1 has no label"):
        gpufeed.open(path)
    chosen: dict[str, Any] = {"jpg;png": "image", "txt": "caption", "json": {"name": "meta", "optional": True}}
    for fields in ("all", {"txt": "caption"}, chosen):
        assert labels(same_by_loader(path, fields=fields)) == [None, None]
    with pytest.raises(gpufeed.ArgumentError, match=r"^fields: no sample has a member \.text .* have \.json \.txt"):
        gpufeed.open(path, fields={"text": "caption"})
    with pytest.raises(gpufeed.DataError, match=r"at most 2 are read; raise max_field_bytes="):
        gpufeed.open(path, fields={"txt": "caption"}, max_field_bytes=2)[0]


def test_indexes_of_shards(tmp_path: Path) -> None:
    shards, places = tar_shards(tmp_path / "shards"), tmp_path / "indexes"
    places.mkdir()
    assert len(same_by_loader(shards, indexes="memory", index_memory="1M")) == 40
    assert [path.name for path in shards.iterdir() if path.name.startswith(".")] == []
    assert len(same_by_loader(shards, indexes=places)) == 40 and len([*places.iterdir()]) == 2


def test_folders(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=6)
    (root / "class 3").mkdir()
    with pytest.raises(gpufeed.DataError, match=r"; allow_empty=True accepts that") as error:
        gpufeed.open(root)
    assert "::" not in str(error.value)
    assert len(same_by_loader(root, allow_empty=True).classes) == 4
    (root / "class 3" / "a.gif").write_bytes(b"GIF89a")
    assert labels(gpufeed.open(root, extensions=["gif"], allow_empty=True)) == [3]
    flat = same_by_loader(root, unlabelled=True)
    assert labels(flat) == [None] * 6
    with pytest.raises(gpufeed.DataError, match="unlabelled=True reads images without classes") as error:
        gpufeed.open(root / "class 0", unlabelled=False)
    with pytest.raises(gpufeed.DataError, match="at most 10 are read; raise max_file_bytes="):
        gpufeed.open(root, allow_empty=True, max_file_bytes=10)[0]


def test_lists(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(2):
        (tmp_path / "images" / f"{number}.jpg").write_bytes(jpeg(number))
    (tmp_path / "a.csv").write_text("0.jpg,10\n1.jpg,9\n")
    data = same_by_loader(tmp_path / "a.csv", root=tmp_path / "images", class_names=True)
    assert data.classes == ["10", "9"] and labels(data) == [0, 1]
    (tmp_path / "b.csv").write_text("image,3\n0.jpg,4\n")
    (tmp_path / "images" / "image").write_bytes(jpeg(2))
    for header, count in ((True, 1), (False, 2)):
        assert len(same_by_loader(tmp_path / "b.csv", root=str(tmp_path / "images"), header=header)) == count
    (tmp_path / "c.csv").write_text("who;photo;x;y\nme;0.jpg;1;2\nme;1.jpg;3;4\n")
    columns: dict[str, Any] = {"root": tmp_path / "images", "delimiter": ";", "header": True, "image_column": "photo"}
    with pytest.raises(gpufeed.DataError, match="label_column="):
        gpufeed.open(tmp_path / "c.csv", **columns)
    one = same_by_loader(tmp_path / "c.csv", **columns, label_column="y")
    assert labels(one) == [2, 4]
    two = gpufeed.open(tmp_path / "c.csv", **columns, label_column=["x", "y"])
    assert [list(label) for label in labels(two)] == [[1.0, 2.0], [3.0, 4.0]]
    for nothing in ([], ()):
        with pytest.raises(gpufeed.ArgumentError, match="^label_column: .*, which names no column"):
            gpufeed.open(tmp_path / "c.csv", **columns, label_column=nothing)
    with pytest.raises(gpufeed.ArgumentError, match="^delimiter: "):
        gpufeed.open(tmp_path / "c.csv", delimiter="--")
    with pytest.raises(gpufeed.ArgumentError, match="^class_names: names, but a list of files has its own"):
        gpufeed.open(tmp_path / "a.csv", class_names=["a"])


def cifar_100(path: Path) -> Path:
    path.mkdir()
    record = numpy.zeros((4, 2 + 3072), numpy.uint8)
    record[:, 0], record[:, 1] = (3, 4, 5, 6), (30, 40, 50, 60)
    record.tofile(path / "train.bin")
    record[:2].tofile(path / "test.bin")
    return path


def test_the_labels_of_cifar_100(tmp_path: Path) -> None:
    path = cifar_100(tmp_path / "cifar-100-binary")
    assert labels(same_by_loader(path)) == [30, 40, 50, 60]
    assert labels(same_by_loader(path, label_column="fine_label")) == [30, 40, 50, 60]
    coarse = same_by_loader(path, label_column="coarse_label")
    assert labels(coarse) == [3, 4, 5, 6] and coarse.test is not None and labels(again(coarse.test)) == [3, 4]
    assert labels(same_by_loader(path, label_column="coarse_label", split="test")) == [3, 4]
    assert labels(same_by_loader(path, split="test")) == [30, 40]
    with pytest.raises(gpufeed.ArgumentError, match='^label_column: "label"; "fine_label" and'):
        gpufeed.open(path, label_column="label")
    with pytest.raises(gpufeed.ArgumentError, match='^split: "validation"; "train" and "test" work'):
        gpufeed.open(path, split="validation")


def idx(path: Path, stem: str, values: Any) -> None:
    kind = {3: "images-idx3", 1: "labels-idx1"}[values.ndim]
    header = bytes([0, 0, 8, values.ndim]) + b"".join(side.to_bytes(4, "big") for side in values.shape)
    (path / f"{stem}-{kind}-ubyte").write_bytes(header + values.tobytes())


def test_splits_of_mnist_and_parts_of_emnist(tmp_path: Path) -> None:
    images = numpy.zeros((5, 28, 28), numpy.uint8)
    for stem, count in (("train", 5), ("t10k", 2)):
        idx(tmp_path, stem, images[:count])
        idx(tmp_path, stem, numpy.arange(count, dtype=numpy.uint8))
    assert len(same_by_loader(tmp_path, split="train")) == 5 and len(same_by_loader(tmp_path, split="test")) == 2
    named = tmp_path / "root" / "MNIST" / "raw"
    named.mkdir(parents=True)
    for path in tmp_path.glob("t*-ubyte"):
        (named / path.name).write_bytes(path.read_bytes())
    for split in ("train", "test"):
        for path in (named.parents[1], named.parent, named):
            assert same_by_loader(path, split=split).classes[0] == "0 - zero"
    for path in named.glob("train*"):
        path.unlink()
    assert len(gpufeed.open(named, split="test")) == 2
    for part in ("letters", "digits"):
        idx(tmp_path, f"emnist-{part}-train", images[:3])
        idx(tmp_path, f"emnist-{part}-train", numpy.arange(3, dtype=numpy.uint8) + 1)
    letters = same_by_loader(tmp_path, part="letters")
    assert len(letters) == 3 and letters.classes[1] == "a" and letters.test is None
    for path in tmp_path.glob("t*-ubyte"):
        path.unlink()
    with pytest.raises(gpufeed.ArgumentError, match="; part= chooses one"):
        gpufeed.open(tmp_path)


def test_arrays(tmp_path: Path) -> None:
    images = numpy.arange(3 * 3 * 8 * 3, dtype=numpy.uint8).reshape(3, 3, 8, 3)
    numpy.save(tmp_path / "a.npy", images)
    with pytest.raises(gpufeed.DataError, match="set which with data_layout=") as error:
        gpufeed.open(tmp_path / "a.npy")
    assert "::" not in str(error.value)
    shapes = {layout: gpufeed.open(tmp_path / "a.npy", data_layout=layout)[0][0].shape for layout in ("nhwc", "nchw")}
    assert shapes == {"nhwc": (3, 8, 3), "nchw": (8, 3, 3)}
    numpy.savez(tmp_path / "b.npz", pictures=images[:, 0], names=numpy.arange(3))
    with pytest.raises(gpufeed.DataError, match="; name them with image_column= and label_column="):
        gpufeed.open(tmp_path / "b.npz")
    data = gpufeed.open(tmp_path / "b.npz", image_column="pictures", label_column="names")
    assert labels(data) == [0, 1, 2] == labels(again(data)) and data.channels == 1
    assert labels(gpufeed.open(tmp_path / "b.npz", image_column="pictures")) == [None] * 3


def parquet(name: str, path: Path) -> Path:
    """One of the repository's Parquet files; indexes are written beside the copy."""
    shutil.copy(Path(__file__).parents[2] / "tests" / "parquet" / name, path)
    return path


def test_columns_of_parquet_files(tmp_path: Path) -> None:
    path = parquet("plain_column.parquet", tmp_path / "plain.parquet")
    with pytest.raises(gpufeed.Error, match="label_column= chooses one; allow_unlabelled=True accepts that") as error:
        gpufeed.open(path)
    assert "::" not in str(error.value)
    data = same_by_loader(path, allow_unlabelled=True, label_column="target", image_column="jpeg")
    assert labels(data) == [0, 1, 2, 3, 4, None, 6, 7, 8]
    assert same_by_loader(path, allow_unlabelled=True, image_column="name")[8] == (b"n8", 8)
    names = [f"class {number}" for number in range(9)]
    assert same_by_loader(path, allow_unlabelled=True, class_names=names).classes == names
    with pytest.raises(gpufeed.DataError, match="there is no label column class; there are name, jpeg, target"):
        gpufeed.open(path, label_column="class")


def test_both_labels_of_cifar_100_in_parquet(tmp_path: Path) -> None:
    """As Hugging Face's Hub has it; needs pyarrow to write the file."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"bytes": jpeg(number), "path": f"{number}.jpg"} for number in range(3)]
    table = pyarrow.table({"img": rows, "fine_label": [10, 11, 12], "coarse_label": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "train.parquet")
    assert labels(same_by_loader(tmp_path / "train.parquet", label_column="coarse_label")) == [1, 2, 3]
    assert labels(same_by_loader(tmp_path / "train.parquet", label_column="fine_label")) == [10, 11, 12]


def test_splits_and_unlabelled_parquet_files(tmp_path: Path) -> None:
    parquet("datasets.parquet", tmp_path / "train.parquet")
    parquet("datasets.parquet", tmp_path / "validation.parquet")
    parquet("unlabelled.parquet", tmp_path / "test.parquet")
    data = same_by_loader(tmp_path, split="test", allow_unlabelled=True)
    assert labels(data) == [None] * 5 and data.name(0).startswith(str(tmp_path / "test.parquet"))
    data = same_by_loader(tmp_path, split="validation", indexes="memory")
    assert len(data) == 40 and data.test is None and data.classes == ["cat", "dog", "wug"]
    with pytest.raises(gpufeed.ArgumentError, match="^split: .* has no dev; it has test, train, validation"):
        gpufeed.open(tmp_path, split="dev")


KEYWORDS = {
    "split": "test",
    "label_column": "a",
    "image_column": "a",
    "allow_unlabelled": True,
    "unlabelled": True,
    "text_labels": True,
    "allow_empty": True,
    "extensions": ["jpg"],
    "class_names": ["a"],
    "root": "/",
    "header": True,
    "delimiter": ";",
    "data_layout": "nchw",
    "part": "letters",
    "indexes": "memory",
    "index_memory": 1 << 20,
    "put_indexes": False,
    "max_file_bytes": 1 << 20,
    "max_page_bytes": 1 << 20,
    "fields": "all",
    "max_field_bytes": 1 << 20,
}
FIELDS = {"fields", "max_field_bytes"}
KNOWN = {
    "folder": {"allow_empty", "extensions", "unlabelled", "max_file_bytes", *FIELDS},
    "flat": {"extensions", "unlabelled", "max_file_bytes", *FIELDS},
    "csv": {"label_column", "image_column", "class_names", "root", "header", "delimiter", "max_file_bytes", *FIELDS},
    "npy": {"split", "label_column", "image_column", "data_layout"},
    "tar": {
        "allow_unlabelled",
        "text_labels",
        "extensions",
        "class_names",
        "indexes",
        "index_memory",
        "put_indexes",
        "max_file_bytes",
        *FIELDS,
    },
    "cifar": {"split", "label_column"},
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_keyword_that_the_format_does_not_know_is_an_error(kind: str, tmp_path: Path) -> None:
    paths = {
        "folder": lambda: folder(tmp_path / "data", count=3),
        "flat": lambda: folder(tmp_path / "data", count=3) / "class 0",
        "csv": lambda: (tmp_path / "a.csv").write_text("0.jpg,1\n") and tmp_path / "a.csv",
        "npy": lambda: numpy.save(tmp_path / "a.npy", numpy.zeros((2, 4, 4), numpy.uint8)) or tmp_path / "a.npy",
        "tar": lambda: tar_shards(tmp_path / "shards"),
        "cifar": lambda: cifar_100(tmp_path / "cifar-100-binary"),
    }
    path = paths[kind]()
    for name, value in KEYWORDS.items():
        if name not in KNOWN[kind]:
            with pytest.raises(gpufeed.ArgumentError, match=f"^{name}: a keyword of .*, but the path is .*; leave it out"):
                gpufeed.open(path, **{name: value})
            with pytest.raises(gpufeed.ArgumentError, match=f"^{name}: "):
                gpufeed.DataLoader(path, recipe=CROP, **{name: value})


def test_keywords_belong_to_a_path(tmp_path: Path) -> None:
    data = gpufeed.open(folder(tmp_path, count=3))
    for name, value in KEYWORDS.items():
        with pytest.raises(gpufeed.ArgumentError, match=f"^{name}: it belongs to a path, and data is .*Dataset"):
            gpufeed.DataLoader(data, recipe=CROP, **{name: value})
    with pytest.raises(TypeError, match="labels"):
        gpufeed.open(tmp_path, labels="x")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"split": 1}, "^split: 1 is a int; a name works"),
        ({"allow_unlabelled": "yes"}, "^allow_unlabelled: 'yes'; True and False work"),
        ({"extensions": 3}, "^extensions: 3; a list of texts works"),
        ({"extensions": []}, "^extensions: "),
        ({"class_names": "cat"}, "^class_names: 'cat'; the names of the classes work"),
        ({"data_layout": "chw"}, '^data_layout: \'chw\'; "nhwc", '),
        ({"part": "greek"}, '^part: \'greek\'; "byclass", '),
        ({"max_file_bytes": "much"}, "^max_file_bytes: 'much'; "),
        ({"fields": "some"}, '^fields: a str; "all" and "none" work'),
        ({"fields": {"txt": 3}}, "^fields: 'txt' is 3; the name of a field works"),
        ({"fields": {"txt": {"name": "a", "kinds": "text"}}}, "^fields: .* not 'kinds'"),
        ({"fields": {"txt": {"name": "a", "optional": 1}}}, "^fields: .* optional is not 1"),
        ({"fields": {"txt": {"optional": True}}}, "^fields: .* it has no name"),
    ],
)
def test_values(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(gpufeed.ArgumentError, match=words):
        gpufeed.open(folder(tmp_path, count=3), **given)


def test_a_path_as_bytes(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=3)
    made = gpufeed.DataLoader(os.fsencode(root), recipe=CROP, seek_indexes="memory")
    assert len(made.dataset) == 3 and len([*made.batches()]) == 3 and len(again(made).dataset) == 3
    assert len(gpufeed.open(os.fsencode(root))) == 3
    for other in (bytearray(b"/data"), memoryview(b"/data")):
        with pytest.raises(gpufeed.ArgumentError, match="^data: a (bytearray|memoryview); a path as text, as bytes"):
            gpufeed.DataLoader(other, recipe=CROP)
