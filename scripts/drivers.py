#!/usr/bin/env python3
"""Runs the tests of the GPU path on every driver that needs no GPU. `scripts/test-drivers.sh` calls it.

    scripts/drivers.py [--quick | --hostile-quick | --plain | --hostile [MODES] | --only DRIVER] [--table]
                                               --quick: SwiftShader, and a part of the tests;
                                               --hostile-quick: a part of the tests on lavapipe that contracts;
                                               --plain: no driver under the layer; --hostile: only those, or only the one
                                               with these modes;
                                               --only: one driver: lavapipe, newer-mesa, swiftshader, llvmpipe, or the modes
                                               of the layer, such as discrete or inline,fma;
                                               --table: writes docs/guide/platforms.md's table of drivers and suites; with
                                               --only the driver's row alone

The drivers are the system's lavapipe (Vulkan) and llvmpipe (OpenGL), a newer Mesa from Debian's backports, SwiftShader,
which comes with Chromium, and lavapipe again under the layer of `scripts/hostile/`, by which it behaves as cards may.
What the system lacks is unpacked under target/unpacked; what is not to be had is named in the table.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hostile_layer
import unpack

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guide" / "platforms.md"
BEGIN, END = "<!-- scripts/test-drivers.sh writes this table -->\n", "<!-- end of the table -->\n"

# The programs whose tests open a device, each with the filters of its tests: none for all of them.
Suites = dict[str, list[str]]
ALL: Suites = {suite: [] for suite in ("lib", "pixels", "pipeline", "cache", "frozen", "faults", "steady_state")}
QUICK: Suites = {"pixels": ["golden::", "stores::"], "pipeline": ["determinism::"]}
# Where the type of a device decides by which path pixels reach it, and where its arithmetic decides what they are.
PATHS: Suites = {suite: filters for suite, filters in ALL.items() if suite not in ("lib", "pixels", "frozen")}
ARITHMETIC: Suites = {"pixels": [], "pipeline": ["determinism::"], "cache": []}

# Lists of modes of the layer (`scripts/hostile/modes.h`), with the suites that are run under them. A discrete card takes
# other paths than a software adapter and runs all lists of `pixels`. Rows of arithmetic keep the type of a software adapter, with
# which each takes 5 minutes instead of 20; every row compares the bytes of 120 random lists and of the recipes with the CPU's.
HOSTILE: dict[str, Suites] = {
    "discrete": ALL,
    "integrated": PATHS,
    "inline,fma": ARITHMETIC,
    "inline,fma2,div": ARITHMETIC,
    "inline,fma,div,assoc": ARITHMETIC,
    "inline,flush": ARITHMETIC,
}
HOSTILE_QUICK: dict[str, Suites] = {
    "discrete,inline,fma": {"pixels": ["golden::"], "pipeline": ["fields::", "groups::"]},
    "inline,fma": {"pixels": ["sequences::"]},
}
# What the layer has to count where a mode is on.
CHANGES = {"fma": "contracted", "fma2": "contracted", "div": "divided", "assoc": "reassociated", "flush": "flushed"}
# How wgpu gets the shaders in each row of a mode of arithmetic: words for the row, and the environment. One for now:
# naga's SPIR-V, made by wgpu-hal. SPIR-V of our own, loaded by passthrough, is to be another.
SHADERS: dict[str, dict[str, str]] = {"": {}}


@dataclasses.dataclass
class Driver:
    name: str
    environment: dict[str, str]
    suites: Suites = dataclasses.field(default_factory=lambda: ALL)
    # The modes of the layer, for a driver under it.
    modes: str = ""


def vulkan(manifest: Path) -> dict[str, str]:
    # Two names: the second is that of loaders before 1.3.207.
    return {"WGPU_BACKEND": "vulkan", "VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}


def manifest(name: str, library: Path) -> Path:
    """A manifest of our own for an unpacked driver, whose own one names a place of the system."""
    path = unpack.UNPACKED / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.3.0"}}))
    return path


def lavapipe() -> Driver:
    return Driver("Mesa lavapipe of the system (Vulkan)", vulkan(hostile_layer.lavapipe_manifest()))


def llvmpipe() -> Driver:
    return Driver("Mesa llvmpipe of the system (OpenGL ES)", {"WGPU_BACKEND": "gl"})


def newer_mesa() -> Driver:
    system = Path("/etc/os-release").read_text()
    suite = re.search(r"^VERSION_CODENAME=(\w+)$", system, re.MULTILINE)
    if suite is None or "ID=debian" not in system:
        raise FileNotFoundError("Mesa from backports needs Debian")
    suite = f"{suite[1]}-backports"
    folder = unpack.unpack(suite, ["mesa-vulkan-drivers"])
    library = next(folder.glob("usr/lib/*/libvulkan_lvp.so"))
    return Driver(f"Mesa lavapipe of {suite} (Vulkan)", vulkan(manifest("lavapipe", library)))


def swiftshader() -> Driver:
    library = Path("/usr/lib/chromium/libvk_swiftshader.so")
    if not library.exists():
        library = unpack.unpack("trixie", ["chromium-common"]) / "usr/lib/chromium/libvk_swiftshader.so"
    return Driver("SwiftShader of Chromium (Vulkan)", vulkan(manifest("swiftshader", library)))


PLAIN: dict[str, Callable[[], Driver]] = {"lavapipe": lavapipe, "newer-mesa": newer_mesa, "swiftshader": swiftshader, "llvmpipe": llvmpipe}


def under_layer(modes: str, suites: Suites, words: str = "") -> Driver:
    return Driver(f"lavapipe under `{modes}`{words}", lavapipe().environment, suites, modes)


def hostile_quick() -> list[Driver]:
    """lavapipe that contracts, and a part of the tests."""
    return [under_layer(modes, suites) for modes, suites in HOSTILE_QUICK.items()]


def hostile(only: str = "") -> list[Driver]:
    """lavapipe under the layer, in each list of modes, or in one of them."""
    rows = []
    for modes in [only] if only else HOSTILE:
        suites = HOSTILE.get(modes, ARITHMETIC)
        for words, environment in (SHADERS if suites is ARITHMETIC else {"": {}}).items():
            driver = under_layer(modes, suites, words)
            rows.append(dataclasses.replace(driver, environment=driver.environment | environment))
    return rows


def run(command: list[str], environment: dict[str, str]) -> tuple[bool, str]:
    """True if the command ended well, and what it printed."""
    # test.sh has checked the golden data of the machine; here the drivers are what is new.
    everything = os.environ | environment | {"NODEVICE_SELECT": "1", "GPUFEED_REQUIRE_GPU": "1", "GPUFEED_REQUIRE_GOLDEN": "0"}
    done = subprocess.run(command, cwd=ROOT, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode == 0, done.stdout


@contextmanager
def ready(driver: Driver) -> Iterator[tuple[dict[str, str], Path]]:
    """The environment of a driver, and the file into which the layer counts. A list of modes has caches of its own:
    Mesa's and gpufeed's have shaders that were compiled under another one, or under none."""
    with tempfile.TemporaryDirectory() as folder:
        counted, caches = Path(folder) / "counted", Path(folder) / "caches"
        layer = {}
        if driver.modes:
            caches.mkdir()
            layer = hostile_layer.environment(driver.modes, caches) | {"GPUFEED_HOSTILE_COUNT": str(counted)}
        yield driver.environment | layer, counted


def changes(driver: Driver, counted: Path) -> tuple[str, list[str]]:
    """What the layer has changed, as words for the table, and what is wrong with it."""
    lines = counted.read_text().splitlines() if counted.exists() else []
    total: collections.Counter[str] = collections.Counter()
    for line in lines:
        for times, what in re.findall(r"(\d+) ([a-z ]+)", line.split(": ", 2)[2]):
            total[what] += int(times)
    words = ", ".join(f"{times:,} {what}" for what, times in total.items() if times)
    missing = [CHANGES[mode] for mode in driver.modes.split(",") if mode in CHANGES and not total[CHANGES[mode]]]
    wrong = [f"{driver.name}: nothing was {what}" for what in missing]
    if total["of matrices not looked into"]:
        wrong.append(f"{driver.name}: there are instructions on matrices, into which the layer does not look")
    return f"; {len(lines):,} shaders: {words}" if words else "", wrong


def tests(suite: str) -> list[str]:
    target = ["--lib"] if suite == "lib" else ["--test", suite]
    return ["cargo", "test", *shlex.split(os.environ["GPUFEED_PACKAGES"]), *target, "--"]


def check(driver: Driver) -> tuple[list[str], list[str]]:
    """The driver's row of the table, and what is wrong."""
    wrong = []
    with ready(driver) as (environment, counted):
        works, printed = run([os.environ["GPUFEED_ADAPTERS"]], environment)
        if not works and driver.modes:
            return [driver.name, "none", *["" for _ in ALL]], [f"{driver.name}: no adapter: {printed.strip()}"]
        if not works:
            raise FileNotFoundError(f"{driver.name} gives no adapter: {printed.strip()}")
        (adapter, *others) = printed.strip().splitlines()
        print(f"{driver.name}: {adapter}", flush=True)
        if others:
            wrong.append(f"{driver.name}: there are other adapters beside it: {others}")
        row = [driver.name, adapter]
        for suite in ALL:
            filters = driver.suites.get(suite)
            if filters is None:
                row.append("not run")
                continue
            began = time.monotonic()
            passed, printed = run([*tests(suite), *filters], environment)
            count = sum(int(number) for number in re.findall(r"^test result: .*?(\d+) passed", printed, re.MULTILINE))
            failures = re.findall(r"^test (\S+) \.\.\. FAILED", printed, re.MULTILINE)
            print(f"  {suite}: {count} passed, {len(failures)} failed, {time.monotonic() - began:.0f} s", flush=True)
            # Some of them are named.
            some = f" ({', '.join(each.rstrip(':') for each in filters)})" if filters else ""
            row.append(f"{count}{some}" if passed else f"**{len(failures)} failed**{some}")
            if not passed:
                print(printed[-6000:], file=sys.stderr)
                wrong.append(f"{driver.name}: {suite}: {', '.join(failures) or 'the program ended early'}")
            elif count == 0:
                wrong.append(f"{driver.name}: {suite}: no test ran")
        words, unchanged = changes(driver, counted)
        if words:
            print(f"  {words.removeprefix('; ')}", flush=True)
        row[1] += words
    return row, wrong + unchanged


def write_table(rows: list[list[str]], others_stay: bool) -> None:
    """Writes rows, of which the first is the head, to the page; with the rows of other drivers that are there, or alone."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    lines = {row[0]: "| " + " | ".join(row) + " |" for row in rows}
    if others_stay:
        there = [line for line in table.splitlines() if line.startswith("| ")]
        lines = {line.split(" | ")[0].removeprefix("| "): line for line in there} | lines
    head, *others = lines.values()
    text = "\n".join([head, "|---" * len(rows[0]) + "|", *others])
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--quick", action="store_true")
    part.add_argument("--hostile-quick", action="store_true")
    part.add_argument("--plain", action="store_true")
    part.add_argument("--hostile", nargs="?", const="", metavar="MODES")
    part.add_argument("--only", choices=[*PLAIN, *HOSTILE], metavar="DRIVER")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    only_hostile = arguments.hostile_quick or arguments.hostile is not None or arguments.only in HOSTILE
    if arguments.table and (arguments.quick or arguments.plain or (only_hostile and not arguments.only)):
        parser.error("--table needs all drivers and suites, or --only")

    finders: list[Callable[[], Driver | list[Driver]]] = [*PLAIN.values(), hostile]
    if arguments.quick:
        finders = [swiftshader]
    elif arguments.plain:
        finders = [*PLAIN.values()]
    elif only_hostile:
        modes = arguments.hostile or arguments.only
        finders = [hostile_quick if arguments.hostile_quick else functools.partial(hostile, modes)]
    elif arguments.only:
        finders = [PLAIN[arguments.only]]
    rows = [["driver", "adapter", *ALL]]
    wrong = []
    for find in finders:
        try:
            found = find()
            for driver in found if isinstance(found, list) else [found]:
                row, errors = check(dataclasses.replace(driver, suites=QUICK) if arguments.quick else driver)
                rows.append(row)
                wrong += errors
        except (OSError, ValueError) as error:
            name = "hostile" if only_hostile else find.__name__
            print(f"not to be had: {name}: {error}")
            rows.append([name, "not to be had", *["" for _ in ALL]])
            if only_hostile:
                wrong.append("nothing was run under the layer")
    if arguments.table:
        write_table(rows, others_stay=arguments.only is not None)
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
