#!/usr/bin/env python3
"""Writes the tables of BENCHMARKS.md from committed results: the rows of benches/peers/run.py, and a report of `gpufeed bench --json`.

    scripts/benchmarks.py [--check]     --check compares with the page instead of writing it

To show another machine's results, put their files into benches/results and name these files below.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from figures import between

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "BENCHMARKS.md"
RESULTS = ROOT / "benches" / "results"
PEERS = "xeon-2-cores-peers.json"
BENCH = "xeon-2-cores-bench.json"
# The name of the row with which all other rows of a recipe are compared.
OWN = "gpufeed"
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def number(value: float) -> str:
    """Writes a number with about three digits; from 100 on, as a whole number with commas between thousands."""
    size = abs(value)
    if size >= 99.95:
        return f"{math.floor(value + 0.5):,}"
    if value == 0 or size < 0.001:
        return f"{value:.1e}" if value else "0"
    return f"{value:.{1 if size >= 9.995 else 2 + (size < 0.0995)}f}"


def scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """Writes a value in the largest of the units that the value reaches, such as "2.5 ms"."""
    scale, name = next((unit for unit in units if abs(value) >= unit[0] * 0.9995), units[-1])
    text = number(value / scale)
    return f"{text[: text.index('.')] if text.endswith(('.0', '.00')) else text} {name}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if abs(share) >= 0.0995 else f"{100 * share:.1f}".removesuffix(".0") + " %"


def ratio(value: float) -> str:
    return number(value) if value >= 9.995 else f"{value:.{3 if value < 1.1 else 2}f}"


def spread(rate: dict[str, Any]) -> str:
    return f"{number(rate['median'])} ({number(rate['min'])} to {number(rate['max'])}, {len(rate['runs'])} runs)"


def when(report: dict[str, Any]) -> str:
    return datetime.fromtimestamp(report["unix_time"], UTC).strftime("%Y-%m-%d %H:%M UTC")


def data(report: dict[str, Any]) -> str:
    found = report["data"]
    return f"{found['name']}: {found['samples']:,} samples, {scaled(found['bytes'], BYTES)}"


def table(head: list[str], rows: list[list[str]], text: tuple[int, ...] = ()) -> str:
    """Writes a Markdown table of numbers; the first column, and the columns whose indices are in `text`, are text."""
    sides = ("---" if column in (0, *text) else "---:" for column in range(len(head)))
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'|'.join(sides)}|", *lines])


def lead(own: dict[str, Any], row: dict[str, Any]) -> str:
    """Writes gpufeed's rate divided by another loader's: the median of all rounds, and the range. Marks a row in which
    gpufeed is slower in some rounds."""
    if row["name"] == OWN:
        return "–"
    runs = [ours / theirs for ours, theirs in zip(own["images_per_s"]["runs"], row["images_per_s"]["runs"], strict=True)]
    middle, least, most = statistics.median(runs), min(runs), max(runs)
    decided = not least < 1 < most
    verdict = (", **slower**" if decided else ", slower in most rounds") if middle < 1 else ("" if decided else ", not in every round")
    return f"{ratio(middle)} ({ratio(least)} to {ratio(most)}){verdict}"


def peers(report: dict[str, Any]) -> str:
    machine = report["machine"]
    parts = [
        f"Rows of `benches/peers/run.py` of {when(report)}. {machine['cpu']}, {machine['cores']} cores; {number(machine['other_cores_busy'])}"
        f" cores busy with other work; {machine['os']}; {data(report)}; {report['workers']} workers; batches of {report['batch_size']}.",
        "The loaders took turns. The last number is gpufeed's rate divided by the row's, the median of the rounds and their range: above 1"
        " gpufeed is faster.",
    ]
    for recipe in report["recipes"]:
        rows = [row for row in report["rows"] if row["recipe"] == recipe["name"]]
        own = next(row for row in rows if row["name"] == OWN)
        rows.sort(key=lambda row: -(row["images_per_s"] or {"median": 0})["median"])
        cells = []
        for row in rows:
            cells.append([f"{row['name']} {row['version']}", "did not run", "–", "–", "–", row["note"]])
            if row["images_per_s"]:
                memory = scaled(row["peak_rss_mb"] * 1e6, BYTES)
                cells[-1][1:5] = [spread(row["images_per_s"]), number(row["cpu_ms_per_image"]), memory, lead(own, row)]
        head = ["loader", "images/s", "CPU ms an image", "peak memory", "gpufeed is × as fast", "note"]
        parts += [f"**{recipe['name']}**: {recipe['what']}", table(head, cells, (5,))]
    return "\n\n".join(parts)


def bench(report: dict[str, Any]) -> str:
    machine, bottleneck = report["machine"], report["bottleneck"]
    change = f" Next: {bottleneck['change']}, predicted +{percent(bottleneck['predicted_gain'])}." if bottleneck["change"] else ""
    facts = {
        "images/s": spread(report["images_per_second"]),
        "CPU time for an image": scaled(report["cpu_seconds_per_image"], SECONDS),
        "first batch after": scaled(report["time_to_first_batch"], SECONDS),
        "memory, steady and peak": " and ".join(scaled(report["memory"][f"{name}_bytes"], BYTES) for name in ("steady", "peak")),
    }
    stages = [
        [
            stage["name"],
            scaled(stage["seconds_per_image"], SECONDS),
            "–" if stage["cpu_seconds_per_image"] is None else scaled(stage["cpu_seconds_per_image"], SECONDS),
            scaled(stage["bytes_per_image"], BYTES),
        ]
        for stage in report["stages"]
    ]
    sweep = [
        [str(point["workers"]), spread(point["images_per_second"]), scaled(point["cpu_seconds_per_image"], SECONDS)]
        for point in report["sweep"]
    ]
    return "\n\n".join(
        [
            f"`gpufeed bench` {report['version']} of {when(report)}: {report['recipe']}, {report['executor']}, {report['workers']} workers, batches of"
            f" {report['batch_size']}; {data(report)}. {machine['cpu']}, {machine['cores']} cores, {machine['os']};"
            f" {number(machine['other_cores_busy'])} cores busy with other work.",
            f"Limited by {bottleneck['resource']}: {bottleneck['verdict']}.{change}",
            table(["the pipeline", "measured"], [list(fact) for fact in facts.items()]),
            table(["stage", "time for an image", "on a core", "bytes of an image"], stages),
            table(["workers", "images/s", "CPU time for an image"], sweep),
        ]
    )


def main() -> int:
    options = sys.argv[1:]
    if options not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = new = PAGE.read_text(encoding="utf-8")
    for name, file, block in (("peers", PEERS, peers), ("bench", BENCH, bench)):
        report = json.loads((RESULTS / file).read_text(encoding="utf-8"))
        new = between(new, f"scripts/benchmarks.py: {name}", f"scripts/benchmarks.py: end of {name}", f"\n{block(report)}\n")
    if options == ["--check"]:
        if new != text:
            print("BENCHMARKS.md differs from its results: run scripts/benchmarks.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
