"""Data sets as img2dataset, COCO and Hugging Face's `datasets` write them, and a stereo rig: every field of every sample, and every column of every
batch, is what WebDataset or `datasets` reads.

`tests/real_sets` has a few samples of each set. With GPUFEED_REAL_SETS set to a folder of `scripts/real_sets`, as `scripts/test-real-sets.sh` sets
it, those in that folder are compared instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed

ROOT = Path(__file__).parents[2]
SETS = ["img2dataset", "rig", "coco/train2017", "coco/captions.tsv", "captions", "pairs"]
BYTES = {"semantics": "Uint8", "output": {"layout": "Nhwc", "dtype": "U8"}}


class Set:
    """A data set, how it is opened, and what its samples are."""

    def __init__(self, folder: Path, name: str) -> None:
        truth = json.loads((folder / "truth.json").read_text())
        assert [each["name"] for each in truth["sets"]] == SETS
        (found,) = (each for each in truth["sets"] if each["name"] == name)
        self.path, (self.width, self.height) = folder / name, truth["size"]
        self.kinds, self.samples = found["kinds"], found["samples"]
        # The number of each sample finds it again in a shuffled batch.
        self.fields = dict(found["fields"]) | {"index": "index"}

    def open(self, **given: Any) -> gpufeed.Dataset:
        return gpufeed.open(self.path, fields=self.fields, **given)

    def views(self) -> dict[str, gpufeed.Views]:
        """A group for each image of a sample: all of its pixels. A depth follows the sample's own image."""
        whole = {"transform": [{"type": "CenterCrop", "size": [self.height, self.width]}], **BYTES}
        groups = {"image": gpufeed.Views(recipe=whole)}
        for name, kind in self.kinds.items():
            if kind == "image":
                groups[name] = gpufeed.Views(recipe={"transform": [], **BYTES}, source=name, follows="image")
            elif kind == "depth":
                groups[name] = gpufeed.Views(recipe={"transform": []}, source=name, follows="image", read_mode="gray16")
        return groups

    def loader(self, groups: dict[str, gpufeed.Views], **given: Any) -> gpufeed.DataLoader:
        settings: dict[str, Any] = {"batch_size": 7, "shuffle": True, "seed": 5, "seek_indexes": "memory", "on_error": "fail", "workers": 2}
        return gpufeed.DataLoader(self.open(), groups=groups, **(settings | given))


@pytest.fixture(params=SETS)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Set:
    if "GPUFEED_REAL_SETS" in os.environ:
        return Set(Path(os.environ["GPUFEED_REAL_SETS"]), request.param)
    # Indexes are written beside shards.
    folder = shutil.copytree(ROOT / "tests" / "real_sets", tmp_path / "sets")
    return Set(folder, request.param)


def sha256(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()


def plain(value: Any, kind: str) -> Any:
    """A value of a column as truth.json has it."""
    if kind == "bytes" and value is not None:
        assert isinstance(value, bytes)
        return sha256(value)
    return value


def values(column: Any, kind: str) -> list[Any]:
    """The values of a column, one a sample, of the type that the set's kind says."""
    if kind in ("text", "json", "bytes"):
        assert isinstance(column, list)
        return [plain(value, kind) for value in column]
    array = numpy.asarray(column)
    assert array.dtype == kind, (array.dtype, kind)
    return list(array.tolist())


def pixels(images: Any, kind: str) -> list[str]:
    """The SHA-256 of each image's pixels."""
    array = numpy.asarray(images)
    if kind == "depth":
        assert array.dtype == numpy.float32 and array.shape[1] == 1
        exact = array.astype("<u2")
        assert (exact == array).all()
        return [sha256(image.tobytes()) for image in exact]
    assert array.dtype == numpy.uint8 and array.shape[3] == 3
    return [sha256(image.tobytes()) for image in array]


def test_samples_are_those_that_the_other_libraries_read(real: Set) -> None:
    data = real.open()
    assert len(data) == len(real.samples) and set(data.fields) == {*real.kinds, "index"}
    assert data.warnings == []
    for index, sample in enumerate(real.samples):
        image, label = data[index]
        assert (sha256(image), label) == (sample["image"], sample["label"]), index
        if sample["key"] is not None:
            assert sample["key"] in data.name(index)


def test_columns_of_batches_are_those_that_the_other_libraries_read(real: Set) -> None:
    seen = []
    images = {"image": "image"} | {name: kind for name, kind in real.kinds.items() if kind in ("image", "depth")}
    for batch in real.loader(real.views()).batches():
        samples = [real.samples[number] for number in batch.ids]
        assert [*batch.groups] == [*images] and set(batch.columns) == {*real.kinds, "index"} - {*images}
        assert batch.columns["index"] == batch.ids or numpy.asarray(batch.columns["index"]).tolist() == batch.ids
        for name, kind in real.kinds.items():
            if name not in images:
                assert values(batch.columns[name], kind) == [sample[name] for sample in samples], name
        for name, kind in images.items():
            assert pixels(batch.groups[name].images, kind) == [sample["pixels"][name] for sample in samples], name
        labels = [sample["label"] for sample in samples]
        assert (numpy.asarray(batch.labels).tolist() if batch.labels is not None else [None] * len(labels)) == labels
        seen += batch.ids
    assert sorted(seen) == [*range(len(real.samples))]


def test_dictionaries_of_batches_are_those_that_the_other_libraries_read(real: Set) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    seen = []
    for batch in real.loader(real.views()):
        samples = [real.samples[number] for number in batch["index"].tolist()]
        for name, kind in ({"image": "image"} | real.kinds).items():
            if kind in ("image", "depth"):
                assert pixels(batch[name], kind) == [sample["pixels"][name] for sample in samples], name
                continue
            assert isinstance(batch[name], list if kind in ("text", "json", "bytes") else torch.Tensor), name
            assert values(batch[name], kind) == [sample[name] for sample in samples], name
        if "label" in batch:
            assert batch["label"].tolist() == [sample["label"] for sample in samples]
        else:
            assert {sample["label"] for sample in samples} == {None}
        seen += batch["index"].tolist()
    assert sorted(seen) == [*range(len(real.samples))]


@pytest.mark.parametrize("real", ["rig"], indirect=True)
def test_a_depth_that_follows_has_the_crops_and_flips_of_its_image(real: Set) -> None:
    """Crops and flips move pixels and make none: what a group shows is a part of what Pillow decodes."""
    height, width = real.height // 2, real.width // 2
    crop = {"transform": [{"type": "RandomCrop", "size": [height, width]}, {"type": "RandomHorizontalFlip"}], **BYTES}
    wholes: dict[int, dict[str, Any]] = {}
    for batch in real.loader(real.views()).batches():
        for place, number in enumerate(batch.ids):
            wholes[number] = {name: numpy.array(numpy.asarray(group.images)[place]) for name, group in batch.groups.items()}
    flipped = set()
    for batch in real.loader(real.views() | {"image": gpufeed.Views(recipe=crop)}).batches():
        for place, number in enumerate(batch.ids):
            ops = [drawn["op"] for drawn in json.loads(batch.params[place])["ops"]]
            (crop_op,) = (op["Crop"] for op in ops if op != "HorizontalFlip")
            top, left = crop_op["top"], crop_op["left"]
            for name, group in batch.groups.items():
                rows = wholes[number][name] if name != "depth" else wholes[number][name][0]
                part = rows[top : top + height, left : left + width]
                part = part[:, ::-1] if "HorizontalFlip" in ops else part
                found = numpy.asarray(group.images)[place]
                assert (found == (part if name != "depth" else part[None])).all(), (number, name, ops)
            flipped.add("HorizontalFlip" in ops)
    assert flipped == {True, False}


def test_the_guides_program_makes_a_list_of_cocos_captions(tmp_path: Path) -> None:
    """The list that is drawn with the set, which `datasets` has read."""
    text = (ROOT / "docs" / "guide" / "fields.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    coco = ROOT / "tests" / "real_sets" / "coco"
    command = [sys.executable, "-c", code, str(coco / "annotations" / "captions_train2017.json"), str(tmp_path)]
    subprocess.run(command, check=True, timeout=60)
    assert (tmp_path / "metadata.jsonl").read_text().splitlines() == (coco / "train2017" / "metadata.jsonl").read_text().splitlines()
