#!/usr/bin/env python3
"""Runs the tests of batches that another API imports, on each software driver that exports memory. `scripts/test-handover.sh`
builds what it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import drivers

RUST = ["cargo", "test", "--quiet", *os.environ["GPUFEED_PACKAGES"].split(), "--test", "handover", "--", "--test-threads=1"]
PYTHON = [os.environ["GPUFEED_PYTHON"], "-m", "pytest", "-q", "--config-file", "../pyproject.toml", "--rootdir", "."]
FILES, PROGRAMS = "test_device_handover.py", "test_handover_programs.py"


def run(name: str, command: list[str], folder: str, environment: dict[str, str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(command, cwd=drivers.ROOT / folder, env=environment)
    print(f"{name}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def main() -> int:
    passed = True
    for driver in (drivers.lavapipe(), drivers.swiftshader()):
        environment = os.environ | driver.environment | {"NODEVICE_SELECT": "1", "GPUFEED_REQUIRE_GPU": "1", "GPUFEED_REQUIRE_EXPORT": "1"}
        passed &= run(f"{driver.name}, Rust", RUST, ".", environment)
        # test-python.sh has run the programs on lavapipe.
        files = [FILES, PROGRAMS] if "GPUFEED_FULL" in os.environ or driver.name.startswith("SwiftShader") else [FILES]
        passed &= run(f"{driver.name}, Python", [*PYTHON, *files], "python/tests", environment)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
