#!/usr/bin/env python3
"""Writes the data of the page in web/ with the built command, or compares them.

    scripts/web/data.py          writes web/data/recipes.json, draws.json, golden.json and golden.bin
    scripts/web/data.py --check  fails where the committed files are not what this would write

recipes.json  each recipe with what `gpufeed explain --json --wgsl` says: shaders, their structs, op slots. `absent` has the built-in
              recipes that the page cannot run, each with the reason.
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

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "web" / "data"
OWN = ROOT / "web" / "recipes"
GOLDEN = ROOT / "tests" / "golden"
# Images and seeds of the draws with which web/draws.js is compared; a seed beyond 32 bits is among them.
DRAWN_SIZES = [(640, 480), (333, 517), (224, 231)]
SEEDS = [0, 7, 2**40 + 1]


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


def kind(effect: object) -> str:
    """The name of an effect or an op: serde writes those without numbers as their names alone."""
    return effect if isinstance(effect, str) else next(iter(effect))


def reason_of_absence(shaders: dict) -> str | None:
    """Why the page cannot run a recipe; None for one that it can."""
    gathering = sorted({slot["transform"] for slot in shaders["slots"] if kind(slot["effect"]) in ("Gather", "Policy", "Mixture")})
    if gathering:
        computes = "computes" if len(gathering) == 1 else "compute"
        return f"{' and '.join(gathering)} {computes} each pixel from several, by kernels that the page does not have"
    if any(slot["uint8"] for slot in shaders["slots"]):
        return "it computes on 8-bit numbers, for which the page lacks the weights of a resize"
    return None


def recipes(images: Path) -> dict:
    names = sorted(path.stem for path in (ROOT / "src" / "recipe").glob("*.toml"))
    own = sorted(OWN.glob("*.toml"))
    present, absent = [], []
    for name in [*names, *(str(path) for path in own)]:
        told = json.loads(gpufeed("explain", "--recipe", name, "--data", str(images), "--backend", "cpu", "--json", "--wgsl"))
        recipe, shaders = tomllib.loads(told["recipe"]), told["shaders"]
        reason = reason_of_absence(shaders)
        if reason is not None:
            absent.append({"name": recipe["name"], "reason": reason})
            continue
        output = {"layout": told["output"]["layout"], "dtype": told["output"]["dtype"]}
        about = {"name": recipe["name"], "description": recipe["description"], "views": recipe.get("views", 1)}
        present.append({**about, "own": name not in names, "output": output, "shaders": shaders})
    return {"recipes": present, "absent": absent}


def draws(found: dict, folder: Path) -> list[dict]:
    entries = []
    for recipe in found["recipes"]:
        own = OWN / f"{recipe['name']}.toml"
        name = str(own) if recipe["own"] else recipe["name"]
        for (width, height), seed in zip(DRAWN_SIZES, SEEDS):
            images = folder / f"{width}x{height}"
            png(images / "class" / "0.png", width, height)
            told = json.loads(gpufeed("preview", str(images), "--recipe", name, "--draws", "3", "--seed", str(seed), "--json"))
            sample = told["samples"][0]
            made = [{key: draw[key] for key in ("epoch", "view", "ops")} for draw in sample["draws"]]
            about = {"recipe": recipe["name"], "seed": seed, "sample": sample["id"]}
            entries.append({**about, "width": sample["width"], "height": sample["height"], "draws": made})
    return entries


def effect_of(op: object) -> tuple[str, object]:
    """The effect that the slot of an op must have: its kind, and the arguments that shape shaders."""
    name = kind(op)
    numbers = {} if isinstance(op, str) else op[name]
    if name in ("HorizontalFlip", "VerticalFlip"):
        return "Flip", None
    if name == "Resize":
        return "Resize", {key: numbers[key] for key in ("interpolation", "antialias")}
    if name == "Pad":
        return "Pad", {"mode": numbers["mode"]}
    return name, None


COLOR_STEPS = {
    "Brightness": "brightness", "Contrast": "contrast", "Saturation": "saturation", "Hue": "hue", "Invert": "invert",
    "Solarize": "solarize", "Posterize": "posterize", "AdjustGamma": "adjust_gamma", "PermuteChannels": "permute_channels",
    "Erase": "erase",
}  # fmt: skip


def fits(op: object, effect: object, color_steps: dict[str, int]) -> bool:
    """As `belongs` in src/plan/program.rs."""
    name, arguments = effect_of(op)
    if name in COLOR_STEPS:
        return effect == {"Color": color_steps[COLOR_STEPS[name]]}
    if name == "Grayscale":
        channels = op["Grayscale"]["channels"]
        return effect == {"Channels": channels} or (channels == 3 and effect == {"Color": color_steps["grayscale"]})
    if name == "Pad" and kind(effect) == "Pad":
        # The shader reads the fill from the image's numbers; the plan compares fills only where two borders meet.
        effect = {"Pad": {"mode": effect["Pad"]["mode"]}}
    return effect == (name if arguments is None else {name: arguments})


def in_slots(ops: list, shaders: dict) -> list[dict]:
    """Each op in a slot of the plan. Ops that move pixels keep their order; colour steps may come in any."""
    placed, used, stage, last = [], set(), 0, -1
    for op in ops:
        moves = kind(op) in ("Crop", "Pad", "Resize", "HorizontalFlip", "VerticalFlip")
        for number, slot in enumerate(shaders["slots"]):
            later = slot["stage"] >= stage and (not moves or number > last)
            if number not in used and later and fits(op, slot["effect"], shaders["color_steps"]):
                break
        else:
            sys.exit(f"web/golden.toml: no slot of the plan takes {op}")
        used.add(number)
        stage, last = slot["stage"], number if moves else last
        placed.append({"slot": number, "op": op})
    return placed


def golden(found: dict) -> tuple[list[dict], bytes]:
    cases = {case["name"]: case for case in json.loads((GOLDEN / "cases.json").read_text())["cases"]}
    vectors = (GOLDEN / "vectors.bin").read_bytes()
    shaders = {recipe["name"]: recipe["shaders"] for recipe in found["recipes"]}
    listed, values = [], b""
    for recipe, names in tomllib.loads((ROOT / "web" / "golden.toml").read_text())["cases"].items():
        for name in names:
            case = cases[name]
            shape = case["output"]["shape"]
            # The bounds of tests/pixels/golden.rs.
            hue = any(kind(op) == "Hue" for op in case["ops"])
            bound = 1e-4 if hue or case["tolerance"] == "resize" else 1e-5
            output = {"offset": len(values), "shape": shape}
            begin = case["output"]["offset"]
            values += vectors[begin : begin + 4 * shape[0] * shape[1] * shape[2]]
            ops = in_slots(case["ops"], shaders[recipe])
            listed.append({"name": name, "recipe": recipe, "input": case["input"], "ops": ops, "output": output, "bound": bound})
    if len(listed) != 60 or len({case["name"] for case in listed}) != 60:
        sys.exit(f"web/golden.toml names {len(listed)} cases, not 60 different ones")
    return listed, values


def as_text(value: object) -> bytes:
    """One line for each element of a list, so that a change of one shows as such."""
    if isinstance(value, list):
        return ("[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in value) + "\n]\n").encode()
    return (json.dumps(value, indent=1) + "\n").encode()


def made() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        png(folder / "explain" / "class" / "0.png", 640, 480)
        found = recipes(folder / "explain")
        drawn = draws(found, folder)
    listed, values = golden(found)
    return {
        "recipes.json": as_text(found), "draws.json": as_text(drawn), "golden.json": as_text(listed), "golden.bin": values,
    }  # fmt: skip


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
