#!/usr/bin/env python3
"""Writes the data of the page in web/ with the built command, or compares them.

    scripts/web/data.py          writes web/data/recipes.json, draws.json, golden.json and golden.bin
    scripts/web/data.py --check  fails where the committed files are not what this would write

recipes.json  each recipe with what `gpufeed explain --json --wgsl` says of each of its groups: shaders, their structs, op slots; `texts` has the
              shaders' texts. A recipe with one list has one group, whose name is null. A recipe that the page cannot draw has its transforms and
              the reason instead.
draws.json    draws of `gpufeed preview --json`, with which the check compares those of web/draws.js.
golden.*      the cases that web/golden.toml names, out of tests/golden/.

Needs Python 3.11 and target/debug/gpufeed (`cargo build -p gpufeed-cli --bin gpufeed`).
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import tomllib
import zlib
from pathlib import Path

from golden import golden

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "web" / "data"
OWN = ROOT / "web" / "recipes"
# Images and seeds of the draws with which web/draws.js is compared. Among them are a seed beyond 32 bits, and images so narrow and so wide that most
# attempts at a crop fail.
DRAWN_SIZES = [(640, 480), (224, 1600), (224, 231), (1600, 224)]
SEEDS = [0, 7, 2**40 + 1, 5]


def gpufeed(*arguments: str) -> str:
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "gpufeed"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=os.environ | {"NODEVICE_SELECT": "1"})
    if done.returncode != 0:
        sys.exit(f"gpufeed {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def png(path: Path, width: int, height: int) -> None:
    """A gray picture; parameters depend on its size alone."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x80" * (3 * width)) * height
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


# Recipes of detection and segmentation: the page has a photograph, and neither boxes nor a mask.
OF_TARGETS = ("coco-", "maskrcnn-", "segmentation-", "yolo-")


def offered() -> list[str]:
    """The built-in recipes that the page offers, sorted."""
    names = sorted(path.stem for path in (ROOT / "src" / "recipe").glob("*.toml"))
    return [name for name in names if not name.startswith(OF_TARGETS)]


def recipes(images: Path) -> list[dict]:
    names = offered()
    own = sorted(OWN.glob("*.toml"))
    found = []
    for name in [*names, *(str(path) for path in own)]:
        told = json.loads(gpufeed("explain", "--recipe", name, "--data", str(images), "--backend", "cpu", "--json", "--wgsl"))
        recipe, groups = tomllib.loads(told["recipe"]), told["groups"]
        about = {"name": recipe["name"], "description": recipe["description"], "own": name not in names}
        on_cpu = {slot["transform"] for group in groups for slot in group["shaders"]["slots"] if slot["effect"] == "Mixture"}
        if on_cpu:
            reason = f"The browser does not draw this recipe: {' and '.join(sorted(on_cpu))} has no shader; gpufeed runs it on the CPU."
            found.append({**about, "reason": reason, "transforms": [each for group in groups for each in group["shaders"]["transforms"]]})
            continue
        listed = recipe.get("group", [])
        if any(key in group for group in listed for key in ("source", "follows")):
            sys.exit(f"{name}: the page has one image of a sample, and each of its groups draws for itself")
        drawn = [
            {
                "name": group["name"] if listed else None,
                "views": group["views"],
                "output": {key: group["output"][key] for key in ("layout", "dtype")},
                "shaders": group["shaders"],
            }
            for group in groups
        ]
        found.append({**about, "mixes": "batch_transform" in recipe, "groups": drawn})
    return found


def with_shared_texts(found: list[dict]) -> dict:
    """The recipes with the number of each pass's text instead of the text: many passes have the same."""
    passes = [shader for recipe in found for group in recipe.get("groups", []) for shader in group["shaders"]["passes"]]
    texts = list(dict.fromkeys(shader["wgsl"] for shader in passes))
    for shader in passes:
        shader["wgsl"] = texts.index(shader["wgsl"])
    return {"recipes": found, "texts": texts}


def draws(found: list[dict], folder: Path) -> list[dict]:
    entries = []
    for recipe in found:
        if "groups" not in recipe:
            continue
        # A policy chooses among 14 operations, and the page's own recipes have operators that seldom draw.
        slots = [slot for group in recipe["groups"] for slot in group["shaders"]["slots"]]
        count = 16 if recipe["own"] or any(slot["effect"] == "Policy" for slot in slots) else 3
        own = OWN / f"{recipe['name']}.toml"
        name = str(own) if recipe["own"] else recipe["name"]
        for (width, height), seed in zip(DRAWN_SIZES, SEEDS):
            images = folder / f"{width}x{height}"
            png(images / "class" / "0.png", width, height)
            told = json.loads(gpufeed("preview", str(images), "--recipe", name, "--draws", str(count), "--seed", str(seed), "--json"))
            sample = told["samples"][0]
            made = [{key: draw[key] for key in ("epoch", "group", "view", "ops", "words")} for draw in sample["draws"]]
            about = {"recipe": recipe["name"], "seed": seed, "sample": sample["id"]}
            entries.append({**about, "width": sample["width"], "height": sample["height"], "draws": made})
    return entries


def as_text(value: object) -> bytes:
    """One line for each element of a list, so that a change of one shows as such."""
    if isinstance(value, list):
        return b"[\n" + b",\n".join(json.dumps(each, separators=(",", ":")).encode() for each in value) + b"\n]"
    return b"{" + b",\n".join(json.dumps(key).encode() + b":" + as_text(each) for key, each in value.items()) + b"}"


def made() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        png(folder / "explain" / "class" / "0.png", 640, 480)
        found = recipes(folder / "explain")
        drawn = draws(found, folder)
    listed, values = golden({recipe["name"]: recipe["groups"][0]["shaders"] for recipe in found if "groups" in recipe})
    texts = {"recipes.json": with_shared_texts(found), "draws.json": drawn, "golden.json": listed}
    return {name: as_text(value) + b"\n" for name, value in texts.items()} | {"golden.bin": values}


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = made()
    if sys.argv[1:] == ["--check"]:
        stale = [name for name, content in files.items() if not (DATA / name).exists() or (DATA / name).read_bytes() != content]
        for name in stale:
            print(f"web/data/{name} is not what the command gives now; scripts/web/data.py writes it anew", file=sys.stderr)
        return 1 if stale else 0
    DATA.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (DATA / name).write_bytes(content)
        print(f"web/data/{name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
