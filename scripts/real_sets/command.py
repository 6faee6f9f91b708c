#!/usr/bin/env python3
"""Compares what the command says and packs of the drawn sets with what WebDataset and `datasets` read of them.

    python scripts/real_sets/command.py FOLDER COMMAND...     FOLDER as `python scripts/real_sets` has drawn it; the command is
                                                              target/debug/gpufeed, or python -m gpufeed

`explain` names each field with its kind, `doctor` reads all values and finds nothing, `preview` shows values and gives pixels, and
`pack` writes every field of every sample into shards, which WebDataset reads.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
import webdataset

import truth

# How `explain` calls the kinds of truth.json; all else are types of numbers. How packs end the names of members.
KINDS = {"text": "text", "json": "JSON", "bytes": "bytes", "image": "images", "depth": "images"}
ENDINGS = {"text": ".txt", "json": ".json", "bytes": ".bin"}
# Numbers of a value that `preview` shows.
NUMBERS = 64


class Checked:
    """A set, and the command's words about it."""

    def __init__(self, folder: Path, of: dict[str, Any], size: tuple[int, int], command: list[str], scratch: Path) -> None:
        self.path, self.of, self.size, self.command, self.scratch = str(folder / of["name"]), of, size, command, scratch
        # A choice of all takes columns, and no parts of them.
        sources = {field if isinstance(field, str) else field["name"]: source for source, field in of["fields"]}
        whole = [name for name in of["kinds"] if of["by_command"] != "all" or sources[name] == name]
        self.kinds = {name: of["kinds"][name] for name in whole}
        self.images = {name: kind for name, kind in self.kinds.items() if kind in ("image", "depth")}
        self.fields = ["--fields", of["by_command"]]
        self.recipe = scratch / "whole.toml"
        self.recipe.write_text(self.whole())

    def run(self, subcommand: str, *arguments: str, code: int = 0) -> bytes:
        done = subprocess.run([*self.command, subcommand, *arguments], capture_output=True)
        assert done.returncode == code, f"{subcommand} {arguments}: {done.returncode}\n{done.stdout.decode()[-3000:]}{done.stderr.decode()}"
        assert b"warning" not in done.stderr, f"{subcommand} {arguments}: {done.stderr.decode()}"
        return done.stdout

    def whole(self) -> str:
        """A recipe that shows each image as it is: a group for each, of which others follow the sample's own."""
        (width, height), output = self.size, 'semantics = "Uint8"\noutput = { layout = "Nhwc", dtype = "U8" }\n'
        text = f'[[group]]\nname = "image"\n{output}[[group.transform]]\ntype = "CenterCrop"\nsize = [{height}, {width}]\n'
        for name, kind in self.images.items():
            text += f'[[group]]\nname = "{name}"\nsource = "{name}"\nfollows = "image"\ntransform = []\n'
            text += 'read_mode = "gray16"\n' if kind == "depth" else output
        return text

    def explain(self) -> None:
        said = json.loads(self.run("explain", "--backend", "cpu", "--recipe", str(self.recipe), "--data", self.path, *self.fields, "--json"))
        expected = {name: KINDS.get(kind, "numbers") for name, kind in self.kinds.items()}
        assert {field["name"]: field["kind"] for field in said["fields"]} == expected, said["fields"]
        assert said["samples"] == len(self.of["samples"])

    def doctor(self) -> None:
        # A list with a line for each caption has its images several times, which is a finding, and nothing else is.
        keys = [sample["key"] for sample in self.of["samples"] if sample["key"] is not None]
        twice = len(set(keys)) < len(keys)
        said = json.loads(self.run("doctor", self.path, *self.fields, "--json", code=3 if twice else 0))
        assert [finding["kind"] for finding in said["findings"]] == ["duplicate"] * twice, said["findings"]
        assert said["verdicts"] == {"ok": len(self.of["samples"])} and said["data_warnings"] == [], said["data_warnings"]

    def preview(self) -> None:
        shown = ["preview", self.path, *self.fields, "--json", "--draws", "1", "--recipe", str(self.recipe)]
        said = json.loads(self.run(*shown, "--samples", "32"))
        assert len(said["samples"]) == min(32, len(self.of["samples"]))
        for sample in said["samples"]:
            expected = self.of["samples"][sample["id"]]
            assert set(sample["fields"]) == set(self.kinds) - set(self.images), sample["fields"]
            for name, found in sample["fields"].items():
                value, kind = expected[name], self.kinds[name]
                if kind not in KINDS and (numpy.ndim(value) > 1 or numpy.size(value) > NUMBERS):
                    value = {"type": kind, "shape": list(numpy.shape(value))}
                elif kind == "bytes":
                    assert set(found) == {"bytes"}
                    continue
                elif kind == "float32":
                    # JSON has the shortest decimal of a float32.
                    value, found = (numpy.asarray(numbers, "float32").tolist() for numbers in (value, found))
                assert found == value, (name, found, value)
        for number in {0, len(self.of["samples"]) // 2, len(self.of["samples"]) - 1}:
            raw = self.scratch / "raw.bin"
            self.run(*shown, "--sample", str(number), "--epoch", "0", "--raw", str(raw))
            self.pixels(raw.read_bytes(), self.of["samples"][number]["pixels"], number)

    def pixels(self, raw: bytes, expected: dict[str, str], number: int) -> None:
        """Compares the bytes of all groups of a sample, one after the other."""
        count, at = self.size[0] * self.size[1], 0
        for name, kind in ({"image": "image"} | self.images).items():
            end = at + count * (4 if kind == "depth" else 3)
            found = raw[at:end]
            if kind == "depth":
                depth = numpy.frombuffer(found, numpy.float32)
                assert (depth == depth.astype("<u2")).all()
                found = depth.astype("<u2").tobytes()
            assert hashlib.sha256(found).hexdigest() == expected[name], (name, number)
            at = end
        assert at == len(raw)

    def pack(self) -> None:
        out = self.scratch / "packed"
        said = json.loads(self.run("pack", self.path, str(out), *self.fields, "--verify", "--json"))
        assert said["samples"] == len(self.of["samples"]) and said["skipped"] == said["verified"]["different"] == [], said
        shards = sorted(str(path) for path in out.glob("*.tar"))
        found = list(webdataset.WebDataset(shards, shardshuffle=False))
        assert len(found) == len(self.of["samples"])
        for number, (sample, expected) in enumerate(zip(found, self.of["samples"], strict=True)):
            members = {name: member for name, member in sample.items() if not name.startswith("__")}
            values = {name: self.packed(members, name, kind) for name, kind in self.kinds.items()}
            assert values == {name: expected[name] for name in self.kinds}, (number, values, expected)
            label = members.pop("cls", None)
            assert (None if label is None else int(label)) == expected["label"], number
            (image,) = members.values()
            assert truth.plain(image) == expected["image"], number
        shutil.rmtree(out)

    def packed(self, members: dict[str, bytes], name: str, kind: str) -> Any:
        """Takes the member of a field, as the pack calls it, and returns what it has; None where the sample has none."""
        if kind in ("image", "depth"):
            (ending,) = (ending for ending in members if ending.rpartition(".")[0] == name)
            return truth.plain(members.pop(ending))
        member = members.pop(name + ENDINGS.get(kind, ".npy"), None)
        if member is None or kind == "bytes":
            return truth.plain(member)
        if kind in ("text", "json"):
            return member.decode() if kind == "text" else json.loads(member)
        numbers = numpy.load(io.BytesIO(member))
        assert numbers.dtype == kind, (name, numbers.dtype)
        return numbers.tolist()


def main(folder: str, *command: str) -> None:
    written = json.loads((Path(folder) / "truth.json").read_text())
    for of in written["sets"]:
        with tempfile.TemporaryDirectory() as scratch:
            checked = Checked(Path(folder), of, written["size"], list(command), Path(scratch))
            for check in (checked.explain, checked.doctor, checked.preview, checked.pack):
                check()
                print(f"{of['name']}: {check.__name__} passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
