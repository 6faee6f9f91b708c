#!/usr/bin/env python3
"""Writes the measured numbers in README.md from committed results of benches/peers/run.py, so that nobody types them.

    scripts/figures.py [--check]     --check compares with the README instead of writing it
    scripts/figures.py --released    fails if the results are of another version of gpufeed than this one

A factor is computed as in BENCHMARKS.md: in each round, gpufeed's rate is divided by the other loader's rate; the
factor is the median of these ratios.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
ROWS = ROOT / "benches" / "results" / "xeon-2-cores-peers.json"
# The README's words for each loader in the results. The README names the loaders in this order.
NAMES = {
    "torchvision v2": "torchvision's loader",
    "DALI CPU": "DALI's CPU pipeline",
    "Albumentations": "Albumentations",
    "Kornia": "Kornia",
}
# The name of gpufeed's result in the README's comparison: a loop over torch tensors, as a reader would write it.
OWN = "gpufeed, Python"
NUMBERS = {1: "one core", 2: "two cores", 4: "four cores", 8: "eight cores", 16: "sixteen cores"}


def rows_of(report: dict[str, Any], recipe: str) -> dict[str, Any]:
    """Returns the results of a recipe, by the names of the loaders. Leaves out loaders that failed."""
    return {row["name"]: row for row in report["rows"] if row["recipe"] == recipe and not row["failed"]}


def factor(own: dict[str, Any], other: dict[str, Any]) -> float:
    pairs = zip(own["images_per_s"]["runs"], other["images_per_s"]["runs"], strict=True)
    return statistics.median(ours / theirs for ours, theirs in pairs)


def machine(report: dict[str, Any]) -> str:
    cores = report["machine"]["cores"]
    cpu = re.sub(r"\((R|TM)\)| Processor", "", report["machine"]["cpu"])
    return f"{NUMBERS.get(cores, f'{cores} cores')} of an {cpu}"


def steps(report: dict[str, Any]) -> str:
    return f"RandomResizedCrop(224), flip and Normalize on {machine(report)}, from the second epoch on"


def words(report: dict[str, Any]) -> str:
    """Returns the README's sentences about factors: first those of recipe A, which most people train with, then the
    least and the greatest factor against torchvision (recipes F and G)."""
    rows = rows_of(report, "A")
    named = [f"{factor(rows[OWN], rows[name]):.1f}\u00a0× as {said}" for name, said in NAMES.items() if name in rows]
    named[0] = named[0].replace(" as ", " as fast as ", 1)
    small, decoding = (rows_of(report, recipe) for recipe in ("G", "F"))
    return (
        f"ImageNet's photographs with {steps(report)}, in a loop in Python: gpufeed is **{', '.join(named[:-1])} and {named[-1]}**. Against"
        f" torchvision the gain goes from {factor(decoding['gpufeed'], decoding['torchvision v2']):.1f}\u00a0×, where photographs are decoded whole and"
        f" nothing else is done, to {factor(small[OWN], small['torchvision v2']):.0f}\u00a0× for CIFAR-10's small images"
        f" ({factor(small[OWN], small['torch, whole batch']):.1f}\u00a0× as fast as torch's operators on whole batches). Where the GPU is busy all the"
        " time already, no loader speeds up training."
    )


def table(report: dict[str, Any]) -> str:
    rows = rows_of(report, "A")
    own = rows[OWN]
    lines = ["| loader | images/s | gpufeed is × as fast | CPU-ms an image | peak memory |", "|---|---|---|---|---|"]
    for name, said in {OWN: "**gpufeed**, in Python", "gpufeed": "gpufeed, its command in Rust", **NAMES}.items():
        if name not in rows:
            continue
        row = rows[name]
        times = "" if name in (OWN, "gpufeed") else f"{factor(own, row):.1f}"
        lines.append(
            f"| {said} {row['version'].split(' (')[0]} | {row['images_per_s']['median']:,.0f} | {times} |"
            f" {row['cpu_ms_per_image']:.2f} | {row['peak_rss_mb']:,.0f} MB |"
        )
    settings = report["settings"]
    return "\n".join(
        [
            f"{steps(report)}. Data: {report['data']['name']}; every loader with {report['workers']} workers and the page cache warm,"
            f" medians of {settings['rounds']} rounds in which the loaders took turns, {report['date'][:10]}. A factor is computed within each"
            " round, and the middle one is shown: it may differ from the ratio of two medians. [All recipes and rivals](BENCHMARKS.md),"
            " [how to repeat it](benches/LOG.md).",
            "",
            *lines,
        ]
    )


def between(text: str, begin: str, end: str, block: str) -> str:
    """Returns the text of a page, in which `block` replaces all between the HTML comments `begin` and `end`."""
    begin, end = f"<!-- {begin} -->", f"<!-- {end} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"the page needs {begin!r} and {end!r} once each")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end)[1]}"


def written(text: str, report: dict[str, Any]) -> str:
    """Returns the README's text with the numbers of `report` in it."""
    for name, block in (("words", words(report)), ("table", table(report))):
        text = between(text, f"scripts/figures.py: {name}", f"scripts/figures.py: end of {name}", block)
    return text


def main() -> int:
    options = sys.argv[1:]
    if options not in ([], ["--check"], ["--released"]):
        print(__doc__, file=sys.stderr)
        return 2
    report = json.loads(ROWS.read_text(encoding="utf-8"))
    if options == ["--released"]:
        version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
        assert version is not None
        measured = rows_of(report, "A")["gpufeed"]["version"].split(" (")[0]
        if measured != version[1]:
            print(f"the README's figures are of gpufeed {measured}, this is {version[1]}: measure again by benches/peers/run.py", file=sys.stderr)
            return 1
        return 0
    text = README.read_text(encoding="utf-8")
    new = written(text, report)
    if options == ["--check"]:
        if new != text:
            print(f"README.md differs from {ROWS.relative_to(ROOT)}: run scripts/figures.py", file=sys.stderr)
            return 1
        return 0
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
