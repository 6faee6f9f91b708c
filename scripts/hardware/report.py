"""`scripts/hardware.sh report`: a page below benches/results, and the report card among those of other machines."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import List, Optional

import cards

RESULTS = Path(__file__).resolve().parents[2] / "benches" / "results"
SCHEMA = 1
# Cases whose values are off that a page lists; results.json has more.
SHOWN = 40


def rows_of(facts: dict, step: str) -> Optional[dict]:
    """The data of a step; None where it has none."""
    row = next((row for row in facts["steps"] if row["name"] == step), None)
    return row["data"] if row and row["data"] else None


def table(head: List[str], rows: List[List[str]]) -> List[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [head, ["---"] * len(head), *rows]]
    return ["| " + " | ".join(row) + " |" for row in cells] + [""]


def slug(facts: dict) -> str:
    """A file's name for the card and its system: `nvidia-h100-80gb-hbm3-linux`."""
    if facts["rehearsal"]:
        return "rehearsal"
    name = facts["adapter"]["name"] if facts["adapter"] else "no-adapter"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + "-linux"


def amount(value: Optional[float], form: str) -> str:
    return "" if value is None else format(value, form)


def kernels(data: dict) -> List[str]:
    lines = [
        "## Kernels",
        "",
        'GB/s count the least bytes that must move; "of the copy" is beside a plain copy in the same run.',
        "",
    ]
    for recipe, card in data.items():
        roofline = card["roofline"]
        lines += [f"### {recipe}", ""]
        if roofline:
            measured = roofline.get("measured_images_per_second")
            lines += [
                f"All passes: {f'{measured:,.0f} images/s' if measured else 'not measured'}; the roofline says "
                f"{roofline['predicted_images_per_second']:,.0f}, limited by {roofline['limit']} "
                f"({roofline['gb_per_second']:,.0f} GB/s, {roofline['gflop_per_second']:,.0f} GFLOP/s). "
                f"The pipeline with {card['workers']} workers: {card['images_per_second']:,.0f} images/s, "
                f"{card['limit']}. Clock: {card['clock']}.",
                "",
            ]
        slots = cards.slots(card.get("slots"))
        lines += [f"Staging slots: {slots}.", ""] if slots else []
        rows = []
        for row in [*card["rows"], *({**row, "name": f"upload: {row['name']}"} for row in card["upload"])]:
            times = [amount(seconds and 1e3 * seconds, ".3f") for seconds in (row["seconds"], row["predicted_seconds"])]
            share = amount(row["of_copy"] and 100 * row["of_copy"], ".0f")
            rows.append(
                [
                    row["name"],
                    f"{row['bytes'] / 1e6:.1f}",
                    times[0],
                    f"{row['gb_per_second']:,.1f}",
                    share and f"{share} %",
                    times[1],
                ]
            )
        lines += table(["", "MB", "ms", "GB/s", "of the copy", "predicted ms"], rows)
    return lines


def pipeline(data: dict) -> List[str]:
    lines = ["## The whole pipeline", ""]
    workers = sorted({count for card in data.values() for count, _ in card["images_per_second"]})
    rows = []
    for name, card in data.items():
        rates = dict(map(tuple, card["images_per_second"]))
        rows.append(
            [f"{name}: {card['executor']}", *(amount(rates.get(count), ",.0f") for count in workers), card["limit"]]
        )
    return lines + table(
        ["images/s", *(f"{count} workers" if count > 1 else "1 worker" for count in workers), "with the most workers"],
        rows,
    )


def for_torch(data: dict) -> List[str]:
    """Batches that torch has by CUDA as the shaders wrote them, beside those that are copied."""
    rows = []
    for name, row in data.items():
        if isinstance(row, dict) and "microseconds" in row:
            longer = amount(100 * row["longer"] if "longer" in row else None, ".0f")
            call = amount(row.get("host_microseconds"), ",.0f")
            rows.append([name, f"{row['microseconds']:,.0f}", f"{row['gb_per_second']:.1f}", call, longer and f"{longer} %"])
    if not rows:
        return []
    lines = [
        "## Batches for torch",
        "",
        "64 images of 224×224 in f32 from a cache, cropped, flipped and normalized: the time of a batch in a loop that does nothing else. Then",
        "how much longer a step of resnet50 in bfloat16 takes behind a folder of JPEGs than on one batch: it waits, and shares the card with the shaders.",
        "",
    ]
    return lines + table(["", "µs a batch", "GB/s", "µs of the host's calls", "a step takes longer by"], rows)


def rivals(data: dict) -> List[str]:
    lines = [
        "## Beside torchvision and nvJPEG on the card",
        "",
        "In turns; medians, with the least and the greatest.",
        "",
    ]
    rates = data["images_per_second"]
    rows = [[name, f"{row['median']:,.0f}", f"{row['min']:,.0f} to {row['max']:,.0f}"] for name, row in rates.items()]
    rows += [[name, "", why] for name, why in data["missing"].items()]
    return lines + table(["", "images/s", ""], rows)


def hand_over(facts: dict) -> List[str]:
    rows = []
    for step in ("hand-over to Vulkan", "hand-over to CUDA"):
        for row in (rows_of(facts, step) or {}).get("rows", []):
            seen = (
                f"{row['wrong']} in {row['hand_overs']}"
                if row["kind"] == "result"
                else f"{row['kind']}: {row['reason']}"
            )
            rows.append([f"{row['consumer']}", row["order"], seen, amount(row.get("milliseconds"), ".2f")])
    if not rows:
        return []
    lines = [
        "## Hand-over of the device's memory",
        "",
        "64 MiB each, every word compared. `unordered` is the control: nothing orders the two.",
        "",
    ]
    return lines + table(["to", "ordered by", "wrong words", "ms each"], rows)


def off(data: dict) -> List[str]:
    cases = data.get("off", [])
    if not cases:
        return []
    shown = [
        [
            case["case"],
            str(case["is"]),
            str(case["not"]),
            amount(case["distance"], ".2e"),
            amount(case["allowed"], ".0e"),
        ]
        for case in cases[:SHOWN]
    ]
    more = [f"{len(cases) - SHOWN} more are in the results.", ""] if len(cases) > SHOWN else []
    return [
        "## Cases of torchvision that are off",
        "",
        *table(["case", "is", "not", "distance", "allowed"], shown),
        *more,
    ]


def page(facts: dict, steps: str, card: bool) -> str:
    """The page; `steps` is the run's own table."""
    lines = [steps.rstrip("\n"), ""]
    name = slug(facts)
    lines += [
        "`scripts/hardware.sh run` measured this, and `report` wrote it."
        + (f" [The report card](cards/{name}.json)." if card else ""),
        "",
    ]
    for step, section in (
        ("kernels", kernels),
        ("pipeline", pipeline),
        ("batches for torch", for_torch),
        ("rivals on the card", rivals),
    ):
        data = rows_of(facts, step)
        if data:
            lines += section(data)
    lines += hand_over(facts)
    lines += off(rows_of(facts, "goldens") or {})
    return "\n".join(lines).rstrip("\n") + "\n"


def main(given: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/hardware.sh report")
    parser.add_argument("results", type=Path, help="the folder that `run` has written")
    parser.add_argument("--to", type=Path, default=RESULTS, help="the folder of the page (benches/results)")
    asked = parser.parse_args(given)
    try:
        facts = json.loads((asked.results / "results.json").read_text(encoding="utf-8"))
        steps = (asked.results / "table.md").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"{asked.results} has no results of `run`: {error}", file=sys.stderr)
        return 2
    if facts.get("schema") != SCHEMA:
        print(f"{asked.results}: schema {facts.get('schema')}; this version reads {SCHEMA}", file=sys.stderr)
        return 2
    name, card = slug(facts), asked.results / "card.json"
    # Numbers of software are no card's.
    reason = "the step `kernels` has made none"
    if facts["rehearsal"]:
        reason = "this was a rehearsal"
    elif facts["adapter"] and facts["adapter"]["device_type"] == "Cpu":
        reason = "the only adapter was a software one"
    elif card.is_file():
        reason = ""
    has_card = not reason
    if has_card:
        (asked.to / "cards").mkdir(parents=True, exist_ok=True)
        (asked.to / "cards" / f"{name}.json").write_text(card.read_text(encoding="utf-8"), encoding="utf-8")
        print(asked.to / "cards" / f"{name}.json")
    else:
        print(f"no report card: {reason}")
    written = asked.to / f"hardware-{name}.md"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(page(facts, steps, has_card), encoding="utf-8")
    print(written)
    return 0
