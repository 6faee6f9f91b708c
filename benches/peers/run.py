#!/usr/bin/env python3
"""Measures gpufeed beside torchvision, DALI, Albumentations and Kornia: the same recipes, taking turns in one run.

The rivals come from `setup.sh`; this program itself needs Python alone. See README.md.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import time

import cells
import data
import gpufeed_command
import measure
import recipes
import report
import turns


def letters(text):
    """Letters or gpufeed's names, with commas between."""
    names = {recipe.name: letter for letter, recipe in recipes.ALL.items()}
    found = [names.get(part.strip(), part.strip()) for part in text.split(",")]
    for letter in found:
        if letter not in recipes.ALL:
            raise argparse.ArgumentTypeError(f"{letter!r} is none of {', '.join(recipes.ALL)} and {', '.join(names)}")
    return sorted(set(found))


def number(least, kind=float):
    def parse(text):
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return parse


def template(text):
    try:
        text.format(**dict.fromkeys(gpufeed_command.PLACES.replace("{", "").replace("}", "").split(), "1"))
    except (KeyError, IndexError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{error}: the places are {gpufeed_command.PLACES}") from None
    return text


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="FOLDER", help="class folders of JPEG files")
    parser.add_argument("--json", required=True, metavar="FILE", help="where the result goes")
    every = list(recipes.ALL)
    parser.add_argument("--recipes", type=letters, default=every, metavar="LIST", help=f"default: {','.join(every)}")
    parser.add_argument("--workers", type=number(1, int), default=measure.cores(), help="default: all cores")
    parser.add_argument("--batch-size", type=number(1, int), default=64, help="G always takes 512; default: 64")
    parser.add_argument(
        "--seconds", type=number(0.1), default=5.0, help="of each run, after its warm-up epoch; default: 5"
    )
    parser.add_argument("--rounds", type=number(1, int), default=3, help="runs of each; default: 3")
    parser.add_argument("--seed", type=int, default=0, help="of the order; default: 0")
    parser.add_argument("--copies", type=number(1, int), default=4, help="names of each file; default: 4")
    parser.add_argument("--timeout", type=number(1), help="seconds of a process; default: 180 and 15 times --seconds")
    parser.add_argument("--only", metavar="LIST", help="parts of rows' names, with commas between; gpufeed stays")
    parser.add_argument("--all-ways", action="store_true", help="the rivals' other ways, too")
    parser.add_argument(
        "--gpufeed", type=template, metavar="COMMAND", help=f"places: {gpufeed_command.PLACES}; default: what is built"
    )
    parser.add_argument(
        "--gpufeed-ways",
        default="cpu",
        metavar="LIST",
        help=f"of {', '.join(gpufeed_command.WAYS)}, with commas between; default: cpu",
    )
    parser.add_argument("--python", help="the rivals'; default: PEERS_HOME/venv/bin/python")
    given = parser.parse_args(given)
    given.gpufeed_ways = given.gpufeed_ways.split(",")
    for way in given.gpufeed_ways:
        if way not in gpufeed_command.WAYS:
            parser.error(f"--gpufeed-ways: {way!r} is none of {', '.join(gpufeed_command.WAYS)}")
    if "cpu" not in given.gpufeed_ways:
        parser.error("--gpufeed-ways: cpu is missing, the row that the others are compared with")
    folder = os.path.dirname(os.path.abspath(given.json))
    if not os.path.isdir(folder):
        parser.error(f"--json: there is no folder {folder}")
    given.timeout = given.timeout or 180 + 15 * given.seconds
    given.python = given.python or os.path.join(data.home(), "venv", "bin", "python")
    return given


def prepare(given):
    """Makes the sets: (what the JSON says of them, the rivals' arguments, why a recipe cannot run by letter)."""
    under = os.path.join(data.home(), "data")
    os.makedirs(under, exist_ok=True)
    folder = data.names(given.data, given.copies, under)
    paths = data.files(folder)
    missing = {}
    if not os.path.exists(given.python):
        missing = dict.fromkeys(recipes.ALL, f"there is no {given.python}: run {os.path.join(cells.HERE, 'setup.sh')}")
    resident = data.resident_path(folder, under)
    if "E" in given.recipes and not missing and not os.path.exists(resident):
        made = subprocess.run(
            [given.python, os.path.join(cells.HERE, "data.py"), folder, resident],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            missing["E"] = f"its pictures could not be made: {turns.last_words(made.stderr, made.stdout)}"
    sets = ["--data", folder, "--resident", resident]
    if "G" in given.recipes:
        sets += ["--small", data.small(under)]
    name = f"{os.path.basename(os.path.abspath(given.data))}, {len(paths) // given.copies} files with {given.copies} names each"
    described = {"name": name, "samples": len(paths), "bytes": sum(os.stat(path).st_size for path in paths)}
    return folder, described, sets, missing


def take_turns(chosen, given):
    """After each round: the outcomes of every cell so far, in the order of the rounds."""
    outcomes = {cell: [] for cell in chosen}
    total, start = len(chosen) * given.rounds, time.monotonic()
    for done, (number, cell) in enumerate(turns.order(chosen, given.rounds, given.seed), 1):
        outcome = turns.take(cell, given.timeout)
        outcomes[cell].append(outcome)
        said = outcome["failed"] or (
            f"{outcome['images_per_s']:.1f} images/s, {report.number(outcome['cpu_ms_per_image'])} CPU ms, "
            f"others {report.number(outcome['other_cores_busy'])} cores"
        )
        turn = f"{time.monotonic() - start:6.0f} s  {done}/{total}  round {number + 1}  {cell.recipe}  {cell.name}"
        print(f"{turn}: {said}", file=sys.stderr, flush=True)
        if done % len(chosen) == 0:
            yield outcomes


def participants(given, folder, sets, missing):
    """gpufeed's cells, then the rivals'."""
    asked = (given.workers, given.batch_size, given.seconds)
    rivals = cells.rivals(given.recipes, given.python, sets, *asked, measure.no_nvidia_gpu(), missing, given.all_ways)
    if given.only:
        parts = [part.strip().lower() for part in given.only.split(",")]
        rivals = [cell for cell in rivals if any(part in cell.name.lower() for part in parts)]
    return gpufeed_command.rows(given.recipes, given.gpufeed_ways, given.gpufeed, folder, *asked) + rivals


def save(document, path):
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(partial, path)


def main():
    given, when = arguments(), datetime.datetime.now().astimezone()
    # As Ctrl-C does: the process whose turn it is must end with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        folder, described, sets, missing = prepare(given)
    except (OSError, ValueError) as error:
        sys.exit(f"error: --data: {error}")
    chosen, machine = participants(given, folder, sets, missing), measure.machine()
    for outcomes in take_turns(chosen, given):
        busy = report.middle(run.get("other_cores_busy") for runs in outcomes.values() for run in runs) or 0.0
        rows = [report.row(cell, runs, given.workers) for cell, runs in outcomes.items()]
        rows.sort(key=lambda row: row["recipe"])
        settings = {
            name: getattr(given, name) for name in ("workers", "batch_size", "seconds", "rounds", "seed", "copies")
        }
        # After each round: a run that is stopped leaves the rounds that it has finished.
        document = report.document({**machine, "other_cores_busy": busy}, when, described, settings, rows)
        save(document, given.json)
    print(report.table(document))
    if busy > 0.15:
        print(f"\nOther processes kept {busy:.2f} cores busy: measure again on a quiet machine.")
    print(f"\n{given.json}")


if __name__ == "__main__":
    main()
