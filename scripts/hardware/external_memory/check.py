#!/usr/bin/env python3
"""Runs the probe of external memory on software drivers: to a second Vulkan device, and to `fake_libcuda.c`.

    scripts/hardware/external_memory/check.py [PROBE]     PROBE: the program; by default it is built, in target/hardware

Needs a C compiler, and Mesa's lavapipe; SwiftShader too where Chromium is, or is to be had. A comparison that cannot
fail proves nothing: a word that is changed, a UUID of nobody, and each call that the CUDA refuses have to be seen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

import drivers  # noqa: E402
import outputs  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or drivers.ROOT / "target").resolve() / "hardware"
REFUSED = ("cuInit", "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuMemcpyDtoHAsync_v2")
ROUNDS = 3


class Probe:
    """The program with one driver."""

    def __init__(self, program: Path, driver: drivers.Driver) -> None:
        self.program = program
        self.environment = {**os.environ, **driver.environment, "NODEVICE_SELECT": "1"}

    def run(self, *arguments: str, **variables: str) -> tuple[int, str]:
        command = [str(self.program), "--adapter", "0", "--rounds", str(ROUNDS), *arguments]
        done = subprocess.run(
            command, env={**self.environment, **variables}, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout + done.stderr


def expect(what: str, holds: bool, said: str) -> None:
    if not holds:
        sys.exit(f"{what}: not so:\n{said}")
    print(f"  {what}", flush=True)


def to_vulkan(probe: Probe) -> tuple[str, str]:
    """A second device; returns the adapter's UUID and where its memory begins in its file."""
    code, said = probe.run()
    rows = {row["order"]: row for row in outputs.handed_over(said)}
    kinds = ", ".join(f"{order} {row['kind']}" for order, row in rows.items())
    expect(f"exit code 0: {kinds}", code == 0, said)
    for order in ("host", "binary", "timeline"):
        row = rows[order]
        if row["kind"] == "result":
            expect(
                f"{order}: every word right in {row['hand_overs']} hand-overs",
                row["wrong"] == 0 and row["hand_overs"] == ROUNDS,
                said,
            )
    expect("the host's wait is always tried", rows["host"]["kind"] == "result", said)
    uuid, begin = re.search(r"uuid=([0-9a-f]{32})", said), re.search(r"begins at byte (\d+)", said)
    expect("a UUID, and memory that is a file", bool(uuid and begin), said)
    assert uuid and begin
    # As `gpufeed doctor` writes it.
    parts = [uuid[1][at:end] for at, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
    code, said = probe.run("--order", "host", "--uuid", "-".join(parts).upper())
    expect("the adapter by its UUID", code == 0 and len(outputs.handed_over(said)) == 1, said)
    code, said = probe.run("--order", "host", "--uuid", "12" * 16)
    expect("no adapter has another UUID", code == 3 and not outputs.handed_over(said), said)
    return uuid[1], begin[1]


def to_cuda(probe: Probe, library: Path, uuid: str, begin: str) -> None:
    cuda = ["--cuda", str(library), "--order", "host"]
    fake = {"FAKE_CUDA_UUID": uuid, "FAKE_CUDA_OFFSET": begin}
    code, said = probe.run(*cuda, **fake)
    (row,) = outputs.handed_over(said)
    expect("CUDA: every word right", code == 0 and row["consumer"] == "cuda" and row["wrong"] == 0, said)
    code, said = probe.run(*cuda, **fake, FAKE_CUDA_WRONG="12345678")
    (row,) = outputs.handed_over(said)
    expect("CUDA: a word that is changed in each round is counted", code == 1 and row["wrong"] == ROUNDS, said)
    code, said = probe.run(*cuda, **{**fake, "FAKE_CUDA_UUID": "00" * 16})
    expect("CUDA: a UUID of nobody", code == 1 and "no CUDA device has the adapter's UUID" in said, said)
    for call in REFUSED:
        code, said = probe.run(*cuda, **fake, FAKE_CUDA_FAIL=call)
        expect(f"CUDA: {call} is refused", code == 1 and f"{call.removesuffix('_v2')} returns 801" in said, said)
    code, said = probe.run("--cuda", "/no/such/library", "--order", "host")
    expect("CUDA: no library", code == 1 and "no CUDA: " in said, said)


def main() -> int:
    if len(sys.argv) > 1:
        program = Path(sys.argv[1]).resolve()
    else:
        command = ["cargo", "build", "--release", "--locked", "--manifest-path", str(HERE / "Cargo.toml")]
        subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)})
        program = TARGET / "release" / "external_memory"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so.1"
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [
                compiler,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O1",
                "-shared",
                "-fPIC",
                "-o",
                str(library),
                str(HERE / "fake_libcuda.c"),
            ],
            check=True,
        )
        for find in (drivers.lavapipe, drivers.swiftshader):
            try:
                driver = find()
            except (OSError, ValueError) as error:
                print(f"not to be had: {find.__name__}: {error}")
                if find is drivers.lavapipe:
                    return 1
                continue
            print(driver.name)
            probe = Probe(program, driver)
            uuid, begin = to_vulkan(probe)
            to_cuda(probe, library, uuid, begin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
