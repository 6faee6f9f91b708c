#!/usr/bin/env python3
"""Compares the JPEG engine on one core with zune-jpeg and libjpeg-turbo, which decode the same files in turns.

    python3 benches/peers/jpeg.py FOLDER [--rounds N]

FOLDER has JPEGs, for instance photographs made progressive by `jpegtran -progressive`. Prints for each decoder the median of how
many times as long as the engine it took, and how much less a crop takes than the whole image: crops as RandomResizedCrop has
them. Builds `crates/jpeg/examples/speed.rs`. libjpeg-turbo is called through its library `turbojpeg` (Debian: libturbojpeg0).
"""

import argparse
import ctypes
import ctypes.util
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RGBA = 7  # TJPF_RGBA


class TurboJpeg:
    """Decodes to RGBA by turbojpeg's API of version 2, which version 3 has, too."""

    def __init__(self):
        name = ctypes.util.find_library("turbojpeg")
        if name is None:
            raise SystemExit("libturbojpeg is missing (Debian: apt-get install libturbojpeg0)")
        self.library = ctypes.CDLL(name)
        self.library.tjInitDecompress.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p(self.library.tjInitDecompress())
        self.target = ctypes.create_string_buffer(1)

    def decode(self, file):
        width, height, sampling, space = (ctypes.c_int() for _ in range(4))
        numbers = [ctypes.byref(number) for number in (width, height, sampling, space)]
        length = ctypes.c_ulong(len(file))
        if self.library.tjDecompressHeader3(self.handle, file, length, *numbers) != 0:
            raise SystemExit("libjpeg-turbo refuses a header")
        needed = 4 * width.value * height.value
        if len(self.target) < needed:
            self.target = ctypes.create_string_buffer(needed)
        flags = 0
        result = self.library.tjDecompress2(
            self.handle, file, length, self.target, width, 0, height, RGBA, flags
        )
        if result != 0:
            raise SystemExit("libjpeg-turbo refuses a file")

    def seconds(self, files):
        start = time.perf_counter()
        for file in files:
            self.decode(file)
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "gpufeed-jpeg", "--example", "speed"], cwd=ROOT, check=True
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "examples" / "speed"
    files = [path.read_bytes() for path in sorted(arguments.folder.iterdir())]
    turbo = TurboJpeg()
    turbo.seconds(files)
    ratios = {"zune-jpeg / whole": [], "libjpeg-turbo / whole": [], "whole / crop": []}
    for _ in range(arguments.rounds):
        output = subprocess.run([program, arguments.folder, "1"], capture_output=True, text=True, check=True).stdout
        ours = json.loads(output)
        ratios["zune-jpeg / whole"].append(ours["zune"] / ours["whole"])
        ratios["libjpeg-turbo / whole"].append(turbo.seconds(files) / ours["whole"])
        ratios["whole / crop"].append(ours["whole"] / ours["crop"])
    print(f"{len(files)} files, {arguments.rounds} rounds, one core; median (lowest to highest)")
    for name, values in ratios.items():
        print(f"{name}: {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
