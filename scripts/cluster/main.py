"""The tests of many processes, called by scripts/test-cluster.sh, which builds and installs what they need.

main.py BINARIES TOOLS [--quick] [NAME...]: BINARIES is the folder of the examples `ranks` and `draw`, below that of the command, TOOLS that of the environments
with MPI; by default all tests, with --quick one launcher with two ranks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

import engines
import launchers
import offline
import offline_ray
import pages
import recovery
from slurm import Slurm, missing
from tools import Tools, say

# Neither two nor four divides it.
LENGTH = 199
TESTS = {
    "alone": launchers.alone,
    "slurm": launchers.slurm,
    "recovery": recovery.recovery,
    "pages": pages.pages,
    "offline": offline.offline,
    "offline-ray": offline_ray.offline_ray,
    "engines": engines.engines,
}
QUICK = {"quick": launchers.quick}


def data(folder: Path, draw: Path, tools: Tools) -> None:
    """A data set of class folders."""
    tools.run([draw, folder, (LENGTH + 3) // 4])
    for surplus in sorted(folder.glob("*/*.jpg"))[LENGTH:]:
        surplus.unlink()


def run(tools: Tools, names: dict) -> int:
    failed = 0
    for name, test in names.items():
        began = time.monotonic()
        say(f"\n== {name}")
        try:
            test(tools)
            say(f"{time.monotonic() - began:.1f} s")
        except Exception:
            failed += 1
            say(f"FAILED: {name}: {traceback.format_exc()}")
            if tools.slurm is not None:
                say(tools.slurm.logs())
    return failed


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binaries", type=Path)
    arguments.add_argument("tools", type=Path)
    arguments.add_argument("--torch", type=Path)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(TESTS)}")
    given = arguments.parse_args()
    if unknown := set(given.names) - TESTS.keys():
        arguments.error(f"no such test: {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    names = QUICK if given.quick else {name: TESTS[name] for name in given.names or TESTS}
    with tempfile.TemporaryDirectory(prefix="gpufeed-cluster-") as temporary:
        folder = Path(temporary)
        tools = Tools(folder, given.binaries / "ranks", folder / "data", LENGTH, given.tools / "openmpi" / "bin")
        data(tools.data, given.binaries / "draw", tools)
        if given.quick:
            return 1 if run(tools, names) else 0
        if absent := missing():
            arguments.error(f"Slurm's {', '.join(absent)} are missing")
        tools.mpich, tools.torch = given.tools / "mpich" / "bin", given.torch
        tools.slurm = Slurm(folder / "slurm")
        began = time.monotonic()
        try:
            tools.slurm.start()
            say(f"Slurm with two nodes is up after {time.monotonic() - began:.1f} s")
            return 1 if run(tools, names) else 0
        finally:
            tools.slurm.stop()


if __name__ == "__main__":
    sys.exit(main())
