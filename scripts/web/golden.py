"""Takes the test cases that web/golden.toml names from tests/golden/: inputs, ops, and torchvision's results. Assigns
each op of a case to an op slot in the compiled plan of the case's recipe.

tests/golden/README.md describes both sets of cases: those in cases.json compute on floats; those in transforms.json
that are used here, with the dtype `u8`, compute on 8-bit numbers.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "golden"
CASES = 84


def kind(effect: object) -> str:
    """Returns the name of an effect or an op. serde writes one without numbers as its name, others as {name: ...}."""
    return effect if isinstance(effect, str) else next(iter(effect))


def float_cases() -> dict[str, dict]:
    vectors = (GOLDEN / "vectors.bin").read_bytes()
    cases = {}
    for case in json.loads((GOLDEN / "cases.json").read_text())["cases"]:
        begin, shape = case["output"]["offset"], case["output"]["shape"]
        values = vectors[begin : begin + 4 * shape[0] * shape[1] * shape[2]]
        # The largest allowed differences, as in tests/pixels/golden.rs.
        hue = any(kind(op) == "Hue" for op in case["ops"])
        bound = 1e-4 if hue or case["tolerance"] == "resize" else 1e-5
        about = {"input": case["input"], "ops": case["ops"], "bound": bound, "shape": shape, "rows": 1}
        cases[case["name"]] = {**about, "bytes": False, "unsure": [], "values": values}
    return cases


def resize(size: list, interpolation: str, antialias: bool) -> dict:
    return {"Resize": {"height": size[0], "width": size[1], "interpolation": interpolation.capitalize(), "antialias": antialias}}


def ops_of(function: str, arguments: dict) -> list:
    """Returns the ops for a call of a torchvision function. `policy` is an operation of an augmentation policy."""
    match function:
        case "policy":
            fill = arguments["fill"]
            fill = [fill] * 3 if isinstance(fill, int) else fill
            changed = {"interpolation": arguments["interpolation"].capitalize(), "fill": fill}
            return [] if arguments["id"] == "Identity" else [{"Policy": {**arguments, **changed}}]
        case "resize":
            return [resize(**arguments)]
        case "resized_crop":
            place = {key: arguments[key] for key in ("top", "left", "height", "width")}
            return [{"Crop": place}, resize(**{key: arguments[key] for key in ("size", "interpolation", "antialias")})]
        case "horizontal_flip":
            return ["HorizontalFlip"]
        case "rgb_to_grayscale":
            return [{"Grayscale": {"channels": arguments["num_output_channels"]}}]
        case "adjust_brightness" | "adjust_contrast" | "adjust_saturation" | "adjust_hue":
            return [{function.removeprefix("adjust_").capitalize(): {"factor": next(iter(arguments.values()))}}]
        case "gaussian_blur":
            return [{"GaussianBlur": arguments}]
        case "normalize":
            return [{"Normalize": arguments}]
        case "erase":
            place = {"left": arguments["j"], "top": arguments["i"], "width": arguments["w"], "height": arguments["h"]}
            return [{"Erase": {**place, "value": {"Color": arguments["v"]}}}]
        case "to_float":
            return []
    sys.exit(f"scripts/web/golden.py does not know torchvision's {function}")


def byte_cases(names: list[str]) -> dict[str, dict]:
    found, data = json.loads((GOLDEN / "transforms.json").read_text()), (GOLDEN / "transforms.bin").read_bytes()
    inputs = {}
    for each in found["inputs"]:
        channels, height, width = each["shape"]
        area = height * width
        planes = data[each["offset"] : each["offset"] + channels * area]
        inputs[each["name"]] = {"kind": "planes", "width": width, "height": height, "channels": channels, "planes": planes}
    cases = {}
    for case in found["cases"]:
        if case["name"] not in names:
            continue
        (channels, height, width), rows = case["output"]["shape"], case.get("rows", 1)
        count, begin = channels * -(-height // rows) * width, case["output"]["offset"]
        is_bytes = case["output"]["dtype"] == "u8"
        values = data[begin : begin + count * (1 if is_bytes else 4)]
        bits = data[case["unsure"]["offset"] :] if "unsure" in case else None
        unsure = [i for i in range(count) if bits and bits[i // 8] >> (7 - i % 8) & 1]
        about = {"input": inputs[case["input"]], "ops": [op for function in case["ops"] for op in ops_of(*function)]}
        about |= {"bound": 1e-5, "shape": [channels, height, width], "rows": rows}
        cases[case["name"]] = {**about, "bytes": is_bytes, "unsure": unsure, "values": values}
    return cases


def effect_of(op: object) -> tuple[str, object]:
    """Returns the effect that a slot must have for an op: its name, and the arguments that the shader's code has."""
    name = kind(op)
    numbers = {} if isinstance(op, str) else op[name]
    if name in ("HorizontalFlip", "VerticalFlip"):
        return "Flip", None
    if name == "Resize":
        return "Resize", {key: numbers[key] for key in ("interpolation", "antialias")}
    if name == "Pad":
        return "Pad", {"mode": numbers["mode"]}
    return name, None


def fits(op: object, effect: object, color_steps: dict[str, int]) -> bool:
    """Returns true if a slot with this effect can take the op, by the rules of `belongs` in src/plan/program.rs."""
    name, arguments = effect_of(op)
    if name == "Grayscale":
        channels = op["Grayscale"]["channels"]
        return effect == {"Channels": channels} or (channels == 3 and effect == {"Color": color_steps["grayscale"]})
    step = re.sub("(?!^)([A-Z])", r"_\1", name).lower()
    if step in color_steps:
        return effect == {"Color": color_steps[step]}
    if name == "GaussianBlur":
        # The shader has room for as many weights as the slot's own kernel has. The op's kernel may be smaller.
        return kind(effect) == "Gather" and sum(op[name]["kernel_size"]) <= sum(effect["Gather"]["Blur"])
    if name == "Pad" and kind(effect) == "Pad":
        # Fills are not compared: the shader reads the fill from each image's numbers. (The plan compares fills only
        # where the borders of two pads meet.)
        effect = {"Pad": {"mode": effect["Pad"]["mode"]}}
    return effect == (name if arguments is None else {name: arguments})


def in_slots(ops: list, shaders: dict) -> list[dict]:
    """Assigns each op to a free slot of the plan. Ops that move pixels take slots in order; colour steps may take any
    slot of the same stage or a later one."""
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


def golden(shaders: dict[str, dict]) -> tuple[list[dict], bytes]:
    """Returns a list of the cases with their ops, and the bytes of input images and of torchvision's results, one after
    the other. `shaders` maps the name of each recipe to its op slots and colour steps."""
    chosen = tomllib.loads((ROOT / "web" / "golden.toml").read_text())["cases"]
    cases = float_cases() | byte_cases([name for names in chosen.values() for name in names])
    listed, stored = [], bytearray()
    places: dict[bytes, int] = {}

    def store(values: bytes) -> int:
        """Appends values to `stored` unless it has them. Returns their offset, a multiple of 4 for floats."""
        if values not in places:
            places[values] = len(stored)
            stored.extend(values + b"\0" * (-len(values) % 4))
        return places[values]

    for recipe, names in chosen.items():
        for name in names:
            case = cases[name]
            source = dict(case["input"])
            if source["kind"] == "planes":
                source["offset"] = store(source.pop("planes"))
            output = {"offset": store(case["values"]), "shape": case["shape"], "rows": case["rows"], "bytes": case["bytes"]}
            ops = in_slots(case["ops"], shaders[recipe])
            about = {"name": name, "recipe": recipe, "input": source, "ops": ops, "output": output}
            listed.append({**about, "bound": case["bound"], "unsure": case["unsure"]})
    if len(listed) != CASES or len({case["name"] for case in listed}) != CASES:
        sys.exit(f"web/golden.toml names {len(listed)} cases, not {CASES} different ones")
    return listed, bytes(stored)
