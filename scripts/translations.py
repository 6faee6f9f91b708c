#!/usr/bin/env python3
"""Shows naga's translations of the shaders to compilers that others wrote. `scripts/test-translations.sh` calls it.

    scripts/translations.py FOLDER [--every N] [--stable] [--table FILE.md]

FOLDER has the translations that the test `every_variant_has_a_file` writes with GPUFEED_TRANSLATED=1. SPIR-V goes through
spirv-val, HLSL through glslang's front end and vkd3d's. --every takes every Nth shader, --stable no compiler from
Debian's unstable suite. --table writes how many texts each compiler takes.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import unpack

LIBRARIES = ["libc6", "libstdc++6", "libgcc-s1"]


@dataclass
class Compiler:
    name: str
    suite: str
    packages: list[str]
    program: str
    # The ends of the files that it reads.
    ends: list[str]
    arguments: Callable[[Path, Path], list[str]]
    # Messages about a limit of the compiler, or a known fault of naga's, each with its explanation; any other fails.
    known: dict[str, str] = field(default_factory=dict)
    # What is taken out of a text that is refused for a known reason; the rest has to be taken.
    without: str = ""
    # A file that it has to refuse, else it checks nothing.
    refused: bytes = b""
    # It reads one in so many of the files that others read: vkd3d takes minutes for some.
    one_in: int = 1


def spirv_val(file: Path, _out: Path) -> list[str]:
    return ["--target-env", "vulkan1.0" if "vulkan1.0" in file.name else "vulkan1.3", str(file)]


def glslang(file: Path, out: Path) -> list[str]:
    return ["-D", "-V", "-e", "main", "-S", "comp", "--target-env", "vulkan1.1", str(file), "-o", str(out)]


def vkd3d(file: Path, out: Path) -> list[str]:
    return ["-x", "hlsl", "-b", "dxbc-tpf", "-p", "cs_5_1", "-e", "main", str(file), "-o", str(out)]


# A module of SPIR-V 1.0 that uses an id that nothing defines.
BROKEN_SPIRV = b"".join(word.to_bytes(4, "little") for word in (0x07230203, 0x10000, 0, 9, 0, 0x20011, 1, 0x3000E, 0, 1, 0x3003E, 7, 8))
BROKEN_HLSL = b"[numthreads(1, 1, 1)]\nvoid main() { float x = undefined_name; }\n"

COMPILERS = [
    Compiler(
        "spirv-val of Debian 13", "trixie", ["spirv-tools"], "spirv-val", ["vulkan1.0.spv", "vulkan1.3.spv"], spirv_val,
        refused=BROKEN_SPIRV,
    ),
    Compiler(
        "spirv-val of Debian unstable", "sid", ["spirv-tools"], "spirv-val", ["vulkan1.0.spv", "vulkan1.3.spv"], spirv_val,
        known={
            "VUID-StandaloneSpirv-None-10684.*the Workgroup storage class has an explicit layout from the ArrayStride":
                "naga gives workgroup arrays a stride ([wgpu#7696](https://github.com/gfx-rs/wgpu/issues/7696)), and WGSL has no other workgroup memory",
        },
        refused=BROKEN_SPIRV,
    ),
    Compiler(
        "glslang of Debian 13", "trixie", ["glslang-tools"], "glslangValidator", ["5_1.hlsl", "6_0.hlsl"], glslang,
        known={"array constructor needs one argument per array element": "glslang does not know `(float[256])0`, by which naga clears workgroup memory"},
        without=r"^\s*\w+ = \(\w+(\[\d+\])+\)0;$",
        refused=BROKEN_HLSL,
    ),
    Compiler(
        "vkd3d of Debian unstable", "sid", ["vkd3d-compiler", "libvkd3d-shader1"], "vkd3d-compiler", ["5_1.hlsl"], vkd3d,
        known={
            "Method 'GetDimensions' is not defined on type 'ByteAddressBuffer'": "vkd3d lacks `ByteAddressBuffer.GetDimensions`",
            "Method 'Load' is not defined on type 'RWByteAddressBuffer'": "vkd3d lacks `RWByteAddressBuffer.Load`",
        },
        refused=BROKEN_HLSL,
        one_in=64,
    ),
]


def refusal(run: list[str], compiler: Compiler, file: Path) -> str | None:
    """The compiler's first message about a file; none if it takes it."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run([*run, *compiler.arguments(file, Path(out.name))], capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return None
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.search(r"error|E\d{4}|\[VUID", line, re.IGNORECASE)]
    return lines[0] if lines else f"ended with {done.returncode}"


def check(compiler: Compiler, folder: Path, every: int) -> tuple[list[str], list[str]]:
    """Rows of the table, and what is wrong."""
    try:
        there = unpack.unpack(compiler.suite, compiler.packages + LIBRARIES)
    except (OSError, ValueError) as error:
        return [f"| {compiler.name} | not to be had: {error} | | |"], []
    run = unpack.command(there, compiler.program)
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as temporary:
        control = Path(temporary) / f"control.{compiler.ends[0]}"
        control.write_bytes(compiler.refused)
        if refusal(run, compiler, control) is None:
            wrong.append(f"{compiler.name} takes a broken file: it checks nothing")
        for end in compiler.ends:
            files = sorted(folder.glob(f"*.{end}"))[:: every * compiler.one_in]
            with ThreadPoolExecutor() as pool:
                messages = list(pool.map(lambda file: refusal(run, compiler, file), files))
            reasons: collections.Counter[str] = collections.Counter()
            for file, message in zip(files, messages):
                if message is None:
                    continue
                reason = next((text for pattern, text in compiler.known.items() if re.search(pattern, message)), None)
                if reason is None:
                    wrong.append(f"{compiler.name}: {file.name}: {message}")
                    continue
                reasons[reason] += 1
                if compiler.without:
                    rest = Path(temporary) / file.name
                    rest.write_text(re.sub(compiler.without, "", file.read_text(), flags=re.MULTILINE))
                    message = refusal(run, compiler, rest)
                    if message is not None:
                        wrong.append(f"{compiler.name}: {file.name} without its known fault: {message}")
            taken = len(files) - sum(message is not None for message in messages)
            because = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
            if compiler.without and reasons:
                because += "; without that statement all are taken"
            share = f"{100 * taken / max(len(files), 1):.0f} %"
            rows.append(f"| {compiler.name} | {end.rsplit('.', 1)[1].upper().replace('SPV', 'SPIR-V')} {end.rsplit('.', 1)[0].replace('_', '.')} | {taken} of {len(files)} ({share}) | {because} |")
            if not files:
                wrong.append(f"there is no .{end} in {folder}")
    return rows, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--stable", action="store_true")
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    rows, wrong = ["| compiler | language | takes | the others |", "|---|---|---|---|"], []
    for compiler in COMPILERS:
        if arguments.stable and compiler.suite == "sid":
            print(f"not asked: {compiler.name}")
            continue
        found, errors = check(compiler, arguments.folder, arguments.every)
        rows += found
        wrong += errors
        print(found[-1] if found else compiler.name, flush=True)
    if arguments.table is not None:
        which = "every shader" if arguments.every == 1 else f"one in {arguments.every} of the shaders"
        arguments.table.write_text(
            f"# Translations of {which}, read by compilers that others wrote\n\n"
            "`scripts/test-translations.sh --table` wrote this. naga translates each WGSL text with the options of wgpu-hal.\n\n"
            + "\n".join(rows) + "\n"
        )
    for each in wrong[:20]:
        print(each, file=sys.stderr)
    print(f"translations: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
