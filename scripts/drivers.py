#!/usr/bin/env python3
"""Runs the tests of the GPU path on every driver that needs no GPU. `scripts/test-drivers.sh` calls it.

    scripts/drivers.py [--quick] [--table]     --quick: SwiftShader, and a part of the tests;
                                               --table: writes docs/guide/platforms.md's table of drivers and suites

The drivers are the system's lavapipe (Vulkan) and llvmpipe (OpenGL), a newer Mesa from Debian's backports, and
SwiftShader, which comes with Chromium. What the system lacks is unpacked under target/unpacked; what is not to be had is
named in the table.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import unpack

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guide" / "platforms.md"
BEGIN, END = "<!-- scripts/test-drivers.sh writes this table -->\n", "<!-- end of the table -->\n"

# The programs whose tests open a device, with the filters of --quick.
SUITES: dict[str, list[str]] = {
    "lib": [],
    "pixels": ["golden::", "stores::"],
    "pipeline": ["determinism::"],
    "cache": [],
    "frozen": [],
    "faults": [],
    "steady_state": [],
}


@dataclass
class Driver:
    name: str
    environment: dict[str, str]


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
    found = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not found:
        raise FileNotFoundError("the system has no lavapipe: scripts/test.sh installs it")
    return Driver("Mesa lavapipe of the system (Vulkan)", vulkan(found[0]))


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


def run(command: list[str], environment: dict[str, str]) -> tuple[bool, str]:
    """True if the command ended well, and what it printed."""
    # test.sh has checked the golden data of the machine; here the drivers are what is new.
    everything = os.environ | environment | {"NODEVICE_SELECT": "1", "GPUFEED_REQUIRE_GPU": "1", "GPUFEED_REQUIRE_GOLDEN": "0"}
    done = subprocess.run(command, cwd=ROOT, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode == 0, done.stdout


def tests(suite: str) -> list[str]:
    target = ["--lib"] if suite == "lib" else ["--test", suite]
    return ["cargo", "test", *shlex.split(os.environ["GPUFEED_PACKAGES"]), *target, "--"]


def main() -> int:
    quick, table = "--quick" in sys.argv, "--table" in sys.argv
    rows = [["driver", "adapter", *SUITES]]
    wrong = []
    for find in [swiftshader] if quick else [lavapipe, newer_mesa, swiftshader, llvmpipe]:
        try:
            driver = find()
            works, printed = run([os.environ["GPUFEED_ADAPTERS"]], driver.environment)
            if not works:
                raise FileNotFoundError(f"{driver.name} gives no adapter: {printed.strip()}")
        except (OSError, ValueError) as error:
            print(f"not to be had: {find.__name__}: {error}")
            rows.append([find.__name__, "not to be had", *["" for _ in SUITES]])
            continue
        (adapter, *others) = printed.strip().splitlines()
        print(f"{driver.name}: {adapter}", flush=True)
        if others:
            wrong.append(f"{driver.name}: there are other adapters beside it: {others}")
        row = [driver.name, adapter]
        for suite, filters in SUITES.items():
            if quick and not filters:
                continue
            began = time.monotonic()
            passed, printed = run([*tests(suite), *(filters if quick else [])], driver.environment)
            count = sum(int(number) for number in re.findall(r"^test result: .*?(\d+) passed", printed, re.MULTILINE))
            failures = re.findall(r"^test (\S+) \.\.\. FAILED", printed, re.MULTILINE)
            print(f"  {suite}: {count} passed, {len(failures)} failed, {time.monotonic() - began:.0f} s", flush=True)
            row.append(f"{count}" if passed else f"**{len(failures)} failed**")
            if not passed:
                print(printed[-6000:], file=sys.stderr)
                wrong.append(f"{driver.name}: {suite}: {', '.join(failures) or 'the program ended early'}")
            elif count == 0:
                wrong.append(f"{driver.name}: {suite}: no test ran")
        rows.append(row)
    if table:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|---" * len(rows[0]) + "|")
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1], encoding="utf-8")
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
