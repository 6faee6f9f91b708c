"""Reads the sets by WebDataset and `datasets`, and writes what every field of every sample is.

In truth.json a text and a document are themselves, numbers are lists, bytes and files are their SHA-256. `pixels` are the SHA-256 of the
pixels that Pillow decodes: 8 bits RGB, or the numbers of a depth of 16 bits, little-endian.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy
import webdataset
from PIL import Image

Samples = Iterator[dict[str, Any]]


def write(folder: Path, size: tuple[int, int]) -> list[dict[str, Any]]:
    """Writes truth.json, and returns what it says of each set."""
    sets = [
        # Members of a shard, each as its ending says.
        described("img2dataset", of_shards(folder / "img2dataset"), {"jpg": "image", "txt": "caption", "json": "meta"},
                  {"caption": "text", "meta": "json"}, read_by="webdataset"),
        described("rig", of_shards(folder / "rig"),
                  {"left.jpg": "image", "right.jpg": "right", "depth.png": "depth", "calib.json": "calibration", "pose.npy": "pose",
                   "cls": "label"},
                  {"right": "image", "depth": "depth", "calibration": "json", "pose": "float64"}, read_by="webdataset"),
        described("coco/train2017", of_folder(folder / "coco" / "train2017"), {"captions": "captions"}, {"captions": "json"}),
        described("coco/captions.tsv", of_table(folder / "coco" / "captions.tsv"), {"title": "caption"}, {"caption": "text"}),
        described("captions", of_parquet(folder / "captions"),
                  {name: name for name in ["text", "captions", "width", "similarity", "aesthetic", "nsfw", "embedding", "meta", "hash"]}
                  | {"alt": {"name": "alt", "optional": True}, "captions[0]": {"name": "first", "optional": True}, "meta.votes": "votes"},
                  {"text": "text", "captions": "json", "width": "int32", "similarity": "float64", "aesthetic": "float32", "nsfw": "bool",
                   "embedding": "float32", "meta": "json", "hash": "bytes", "alt": "text", "first": "text", "votes": "int64"}, by_command="all"),
        described("pairs", of_parquet(folder / "pairs"),
                  {"original_image": "image", "edited_image": "edited", "edit_prompt": "prompt", "original_prompt": "before",
                   "edited_prompt": "after"},
                  {"edited": "image", "prompt": "text", "before": "text", "after": "text"}),
    ]  # fmt: skip
    (folder / "truth.json").write_text(json.dumps({"size": size, "sets": sets}))
    return sets


def described(name: str, samples: Samples, fields: dict[str, Any], kinds: dict[str, str], read_by: str = "datasets",
              by_command: str | None = None) -> dict[str, Any]:
    """A set: how its fields are asked for, their kinds, and its samples. Numbers have their type in the place of a kind."""
    plain = [f"{source}={name}" for source, name in fields.items() if isinstance(name, str)]
    return {
        # The path below the folder, and the setting `fields`, in its order, in Rust and in Python, and as the command takes it.
        "name": name, "read_by": read_by, "fields": [[source, field] for source, field in fields.items()],
        "by_command": by_command or ",".join(plain), "kinds": kinds,
        "samples": [renamed(sample, fields, kinds) for sample in samples],
    }  # fmt: skip


def renamed(sample: dict[str, Any], fields: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
    """A sample under the names of its fields. Without a choice its own image and label are the columns called so."""
    values = {"image": sample.get("image"), "label": sample.get("label")}
    for source, field in fields.items():
        values[field if isinstance(field, str) else field["name"]] = sample[source] if source in sample else part(sample, source)
    pixels = {name: decoded(values[name], kind) for name, kind in ({"image": "image"} | kinds).items() if kind in ("image", "depth")}
    return {name: plain(value) for name, value in values.items()} | {"key": sample["key"], "pixels": pixels}


def part(sample: dict[str, Any], source: str) -> Any:
    """A part of a structure (`meta.votes`), or an element of a list (`captions[0]`), of which a shorter one has none."""
    if source.endswith("]"):
        column, place = source[:-1].split("[")
        return (sample[column][int(place) :] or [None])[0]
    column, name = source.split(".")
    return sample[column][name]


def decoded(file: bytes, kind: str) -> str:
    picture = Image.open(io.BytesIO(file))
    if kind == "depth":
        assert picture.mode == "I;16", picture.mode
        return hashlib.sha256(numpy.asarray(picture).astype("<u2").tobytes()).hexdigest()
    return hashlib.sha256(picture.convert("RGB").tobytes()).hexdigest()


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    return value.tolist() if isinstance(value, numpy.ndarray) else value


def of_shards(folder: Path) -> Samples:
    """Samples of tar shards by WebDataset, whose decoder reads texts, documents, classes and arrays; files stay files."""
    shards = sorted(str(path) for path in folder.glob("*.tar"))
    for sample in webdataset.WebDataset(shards, shardshuffle=False).decode():
        yield {"key": sample["__key__"], "label": sample.get("cls")} | sample


def of_parquet(folder: Path) -> Samples:
    """Rows by `datasets`, which finds the files of a folder and its split."""
    for row in loaded(str(folder)):
        images = {name: value["bytes"] for name, value in row.items() if isinstance(value, dict) and set(value) == {"bytes", "path"}}
        yield {"key": None} | row | images


def of_folder(folder: Path) -> Samples:
    """Images of a folder with the columns of its metadata, by `datasets`, in the order of that file."""
    rows = {Path(row["image"]["path"]).name: row for row in loaded("imagefolder", data_dir=str(folder))}
    for line in (folder / "metadata.jsonl").read_text().splitlines():
        name = json.loads(line)["file_name"]
        yield rows.pop(name) | {"key": name, "image": (folder / name).read_bytes()}
    assert not rows, rows


def of_table(path: Path) -> Samples:
    """Rows of a table with tabs, by `datasets`."""
    for row in loaded("csv", data_files=str(path), sep="\t", keep_default_na=False):
        yield row | {"key": row["filepath"], "image": (path.parent / row["filepath"]).read_bytes()}


def loaded(what: str, **settings: Any) -> Any:
    """The training split of a set; images stay files."""
    with tempfile.TemporaryDirectory() as cache:
        found = datasets.load_dataset(what, split="train", cache_dir=cache, **settings)
        for name, feature in found.features.items():
            if isinstance(feature, datasets.Image):
                found = found.cast_column(name, datasets.Image(decode=False))
        return list(found)
