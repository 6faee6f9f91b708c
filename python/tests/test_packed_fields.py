"""Fields through ``gpufeed.pack``: what samples of an object in Python have beside image and label, and what is chosen of a
path."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

import gpufeed
from pictures import jpeg

# The warning of samples that are left out names what the results have, too.
pytestmark = pytest.mark.filterwarnings("ignore:gpufeed.pack:UserWarning")


class Captioned:
    """Samples with values of every kind beside image and label."""

    def __init__(self, count: int = 6) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        even = index % 2 == 0
        return {
            "image": jpeg(index),
            "label": index % 3,
            "caption": f"picture {index}",
            "meta": {"at": index, "tags": ["a", None]} if even else None,
            "score": index / 4,
            "box": numpy.array([[index, 1], [2, 3]], ">i4"),
            "features": bytes([index] * 3) if not even else None,
            "mask": Image.fromarray(numpy.full((4, 5), index, numpy.uint16)),
        }


def members(folder: Path) -> dict[str, dict[str, bytes]]:
    """The members of all shards, by key and ending."""
    found: dict[str, dict[str, bytes]] = {}
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                key, _, ending = member.name.partition(".")
                file = archive.extractfile(member)
                assert file is not None
                found.setdefault(key, {})[ending] = file.read()
    return found


def test_what_an_object_gives_beside_image_and_label_is_packed(tmp_path: Path) -> None:
    packed = gpufeed.pack(Captioned(), tmp_path / "out", shard_bytes="8K", verify=True)
    assert packed.fields == ["caption", "meta", "score", "box", "mask", "features"]
    assert packed.verified is not None and packed.verified.different == []
    found = members(tmp_path / "out")
    for index, (key, of_sample) in enumerate(found.items()):
        assert key == f"{index:09}"
        even = index % 2 == 0
        some = {"meta.json"} if even else {"features.bin"}
        assert {*of_sample} == {"jpg", "cls", "caption.txt", "score.npy", "box.npy", "mask.png"} | some
        assert of_sample["jpg"] == jpeg(index) and of_sample["cls"] == str(index % 3).encode()
        assert of_sample["caption.txt"] == f"picture {index}".encode()
        score, box = (numpy.load(io.BytesIO(of_sample[name])) for name in ("score.npy", "box.npy"))
        assert (score.dtype, score.shape, float(score)) == (numpy.float64, (), index / 4)
        assert (box.dtype, box.tolist()) == (numpy.dtype("<i4"), [[index, 1], [2, 3]])
        mask = Image.open(io.BytesIO(of_sample["mask.png"]))
        assert mask.mode.startswith("I") and numpy.asarray(mask).tolist() == [[index] * 5] * 4
        if even:
            assert json.loads(of_sample["meta.json"]) == {"at": index, "tags": ["a", None]}
        else:
            assert of_sample["features.bin"] == bytes([index] * 3)
    manifest = json.loads((tmp_path / "out" / "gpufeed-pack.json").read_text())
    assert manifest["job"]["fields"]["caption.txt"] == {"name": "caption", "kind": "text", "optional": True}
    assert manifest["job"]["fields"]["score.npy"] == {"name": "score", "kind": "numbers"}


def test_fields_are_chosen_and_renamed(tmp_path: Path) -> None:
    packed = gpufeed.pack(Captioned(), tmp_path / "some", fields={"caption": "text", "score": {"name": "score"}})
    assert packed.fields == ["text", "score"]
    assert {*members(tmp_path / "some")["000000000"]} == {"jpg", "cls", "text.txt", "score.npy"}
    assert gpufeed.pack(Captioned(), tmp_path / "listed", fields=["caption"]).fields == ["caption"]
    assert gpufeed.pack(Captioned(), tmp_path / "none", fields="none").fields == []
    with pytest.raises(gpufeed.ArgumentError, match='fields: the data set has no field "title"; it has caption, meta'):
        gpufeed.pack(Captioned(), tmp_path / "unknown", fields=["title"])
    with pytest.raises(gpufeed.ArgumentError, match='fields: 3 is a int; "all" and "none" work'):
        gpufeed.pack(Captioned(), tmp_path / "wrong", fields=3)  # type: ignore[arg-type]


def test_an_lmdb_has_fields_under_keys_of_their_own(tmp_path: Path) -> None:
    packed = gpufeed.pack(Captioned(), tmp_path / "lmdb", to="lmdb", verify=True)
    assert packed.fields == ["caption", "meta", "score", "box", "mask", "features"]
    assert packed.verified is not None and packed.verified.different == []
    again = gpufeed.pack(gpufeed.open(tmp_path / "lmdb", fields="all"), tmp_path / "tar")
    assert again.fields == packed.fields
    found = members(tmp_path / "tar")
    assert found["000000002"]["caption.txt"] == b"picture 2" and json.loads(found["000000002"]["meta.json"])["at"] == 2
    named = gpufeed.open(tmp_path / "lmdb", fields={"caption.txt": "words", "score.npy": "score"}, max_field_bytes="1K")
    assert len(named) == 6
    with pytest.raises(gpufeed.ArgumentError, match='no sample has a key such as "title-000000001" for "title"'):
        gpufeed.open(tmp_path / "lmdb", fields={"title": "title"})


def test_members_of_shards_are_packed_again(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "00000.tar", "w") as archive:
        for index in range(4):
            for ending, content in (("jpg", jpeg(index)), ("txt", b"a picture"), ("json", b'{"width":  50}')):
                member = tarfile.TarInfo(f"{index:05}.{ending}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed = gpufeed.pack(tmp_path / "00000.tar", tmp_path / "out", fields={"txt": "caption", "json": "meta"}, verify=True)
    assert packed.fields == ["caption", "meta"] and packed.verified is not None and packed.verified.different == []
    assert members(tmp_path / "out")["00003"] == {"jpg": jpeg(3), "caption.txt": b"a picture", "meta.json": b'{"width":  50}'}
    assert gpufeed.pack(tmp_path / "00000.tar", tmp_path / "small", fields={"json": "meta"}, max_field_bytes=14).samples == 4


class Odd(Captioned):
    """Samples of which one has what others lack."""

    def __init__(self, odd: Any) -> None:
        super().__init__(40)
        self.odd = odd

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": jpeg(index), "label": 1, "caption": "a"} | (self.odd if index == 33 else {})


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"title": "b"}, "'title', which the first samples lack"),
        ({"caption": 0.5}, '"caption" is numbers, but of the data set text'),
        ({"caption": {1j}}, "'caption' is a set, which a pack has no place for"),
        ({"caption": 1j}, "'caption' is a complex of complex128"),
        ({"label": "a cat"}, "its label is a str, which is neither a class nor a vector of numbers"),
    ],
)
def test_a_sample_that_a_pack_has_no_place_for_is_left_out(tmp_path: Path, odd: dict[str, Any], says: str) -> None:
    packed = gpufeed.pack(Odd(odd), tmp_path / "out")
    [left] = packed.skipped
    assert left.sample == "sample 33" and says in left.reason
