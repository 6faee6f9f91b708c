#!/usr/bin/env python3
"""What AMD's GPUs get of the shaders: registers, waves, instructions. `scripts/shader-stats.sh` calls it.

    scripts/shader_stats.py FOLDER [--quick] [--table]

FOLDER has the SPIR-V of the built-in recipes' passes, which the test `every_recipe_has_spirv` writes. RADV compiles each for every
card (`radv.py`); no card is needed. The numbers are compared with benches/results/shader-stats.json: a spill, fewer waves than the
bars below, or growth above 5 % fails. --quick compiles for navi21 alone. --table writes the JSON and shader-stats.md anew.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import radv

RESULTS = Path(__file__).resolve().parent.parent / "benches" / "results"
ROW = dict[str, Any]


@dataclass
class Target:
    """A card with the size of its waves, the least waves a SIMD, and its vector registers: how many a SIMD lane has and in what steps
    a wave gets them (Mesa, src/amd/compiler/aco_ir.cpp, init_program)."""

    family: str
    what: str
    wave: int
    least: int
    registers: int
    step: int
    most: int

    def waves(self, registers: int) -> int:
        """The waves a SIMD that vector registers leave room for."""
        return min(self.registers // (-(-max(registers, 1) // self.step) * self.step), self.most)


# navi31 is gfx1100.
TARGETS = [
    Target("navi21", "RDNA 2", 32, 8, 1024, 16, 16),
    Target("navi31", "RDNA 3, gfx1100", 32, 8, 1536, 24, 16),
    Target("vega10", "GCN 5", 64, 4, 256, 4, 10),
]
QUICK = TARGETS[:1]

# What may not grow by more than this share without a line in benches/LOG.md.
WATCHED = ["vgprs", "instructions", "code_bytes"]
GROWTH = 0.05

# Kinds of passes that have fewer waves on a card: how many at least, and why. Spills have no exception.
KNOWN: dict[tuple[str, str], tuple[int, str]] = {
    ("sampling, blur", "vega10"): (
        3,
        "a thread holds 16 outputs of three channels, 48 of its 72 registers, so that a row is filtered across once for all of them"
        " (`shaders/gather/blur.wgsl`); RDNA has twice the registers for a wave of 32",
    ),
}

# Kinds of instructions by the beginning of their names; the first that fits counts.
KINDS = [
    ("lane", r"v_(readlane|writelane|readfirstlane)"),
    ("transcendental", r"v_(rcp|rsq|sqrt|exp|log|sin|cos)_"),
    ("vector", r"v_"),
    ("wait", r"s_(waitcnt|wait_|nop|clause|delay_alu|sleep|inst_prefetch|set_inst_prefetch|code_end|setprio)"),
    ("branch", r"s_(c?branch|endpgm|setpc|swappc|call|barrier)"),
    ("scalar_load", r"s_(buffer_load|load|atc|dcache|gl1)"),
    ("scalar", r"s_"),
    ("load", r"(buffer|global|flat|scratch|tbuffer)_load"),
    ("store", r"(buffer|global|flat|scratch|tbuffer)_store"),
    ("atomic", r"(buffer|global|flat)_(gl|atomic)"),
    ("lds", r"ds_"),
]


def kinds(assembly: str) -> dict[str, int]:
    """How many instructions of each kind a text has. An instruction of RDNA 3 that does two things counts once."""
    counts: collections.Counter[str] = collections.Counter()
    for line in assembly.splitlines():
        name = re.match(r"\s+([a-z]\w+)", line)
        if name is not None:
            counts[next((kind for kind, pattern in KINDS if re.match(pattern, name[1])), "other")] += 1
    return {kind: counts[kind] for kind in [*(kind for kind, _ in KINDS), "other"] if counts[kind]}


def row(target: Target, values: dict[str, Any], assembly: str) -> ROW:
    by_kind = kinds(assembly)
    if not 0.9 < sum(by_kind.values()) / values["Instructions"] < 1.1:
        raise radv.DriverError(f"{sum(by_kind.values())} instructions were read where the driver counts {values['Instructions']}")
    return {
        "vgprs": values["VGPRs"],
        "sgprs": values["SGPRs"],
        "spilled_vgprs": values["Spilled VGPRs"],
        "spilled_sgprs": values["Spilled SGPRs"],
        "scratch_bytes": values["Scratch size"],
        "lds_bytes": values["LDS size"],
        "waves_a_simd": values["Subgroups per SIMD"],
        "waves_by_vgprs": target.waves(values["VGPRs"]),
        "code_bytes": values["Code size"],
        "instructions": values["Instructions"],
        "latency": values["Latency"],
        "inverse_throughput": values["Inverse Throughput"],
        "kinds": by_kind,
    }


def compile_all(family: str, files: list[Path]) -> None:
    """Prints a line of JSON for each file; runs in a process of its own, as each opens one card."""
    target = next(target for target in TARGETS if target.family == family)
    card = radv.Card(radv.library(), family, target.wave)
    print(json.dumps({"mesa": card.version}))
    for file in files:
        values, assembly = card.compile(file.read_bytes())
        print(json.dumps({"file": file.name, "row": row(target, values, assembly)}), flush=True)


def measure(folder: Path, targets: list[Target]) -> tuple[str, dict[str, dict[str, ROW]]]:
    """Mesa's version, and the rows of each file by card."""
    files = sorted(folder.glob("*.spv"))
    # The longest texts are dealt out first, so that all processes end at the same time.
    files.sort(key=lambda file: -file.stat().st_size)
    processes = os.cpu_count() or 1
    parts = [(target, files[i::processes]) for target in targets for i in range(processes)]

    def run(part: tuple[Target, list[Path]]) -> list[dict[str, Any]]:
        command = [sys.executable, __file__, "--compile", part[0].family, *map(str, part[1])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
            raise radv.DriverError(f"{part[0].family}: {last}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    found: dict[str, dict[str, ROW]] = {file.name: {} for file in files}
    mesa = ""
    with ThreadPoolExecutor(processes) as pool:
        for (target, _), (head, *lines) in zip(parts, pool.map(run, parts)):
            mesa = head["mesa"]
            for line in lines:
                found[line["file"]][target.family] = line["row"]
    return mesa, found


def shaders(folder: Path, found: dict[str, dict[str, ROW]]) -> list[dict[str, Any]]:
    """A dictionary for each text: its kind, the passes that use it, and its rows."""
    by_file: dict[str, dict[str, Any]] = {}
    for line in (folder / "names.tsv").read_text().splitlines():
        file, kind, name = line.split("\t")
        by_file.setdefault(file, {"kind": kind, "passes": [], "cards": found[file]})["passes"].append(name)
    return sorted(by_file.values(), key=lambda shader: (shader["kind"], shader["passes"]))


def limit(target: Target, row: ROW) -> str:
    """What keeps a shader from more waves."""
    if row["waves_a_simd"] >= target.most:
        return "nothing"
    if row["waves_by_vgprs"] == row["waves_a_simd"]:
        return "VGPRs"
    # GCN has 800 scalar registers a SIMD, RDNA enough for all waves.
    if target.most == 10 and 800 // row["sgprs"] == row["waves_a_simd"]:
        return "SGPRs"
    return "LDS" if row["lds_bytes"] else "workgroup size"


def check(all_shaders: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Rows that spill or have too few waves; rows with few waves for a known reason."""
    wrong, known = [], []
    for shader in all_shaders:
        for family, row in shader["cards"].items():
            target = next(target for target in TARGETS if target.family == family)
            name = f"{shader['kind']} ({shader['passes'][0]}) on {family}"
            for spilled, what in (("spilled_vgprs", "VGPRs"), ("spilled_sgprs", "SGPRs"), ("scratch_bytes", "bytes of scratch memory")):
                if row[spilled]:
                    wrong.append(f"{name}: spills {row[spilled]} {what}")
            waves = row["waves_a_simd"]
            least, reason = KNOWN.get((shader["kind"], family), (target.least, ""))
            if waves < least:
                wrong.append(f"{name}: {waves} waves a SIMD instead of {least}, limited by {limit(target, row)}")
            elif waves < target.least:
                known.append(f"{name}: {waves} waves a SIMD instead of {target.least}, limited by {limit(target, row)}: {reason}")
    return wrong, known


def growth(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """What grew, by pass and card."""
    rows = {(name, family): row for shader in before for name in shader["passes"] for family, row in shader["cards"].items()}
    wrong = []
    for shader in now:
        for family, row in shader["cards"].items():
            grown = collections.Counter[str]()
            for name in shader["passes"]:
                old = rows.get((name, family))
                if old is None:
                    grown[f"{family}: the committed table lacks it"] += 1
                    continue
                for number in WATCHED:
                    if row[number] > old[number] * (1 + GROWTH):
                        grown[f"{family}: {number} {old[number]} -> {row[number]} ({100 * (row[number] / old[number] - 1):+.0f} %)"] += 1
            wrong += [f"{shader['kind']} ({shader['passes'][0]}, {count} passes) on {what}" for what, count in grown.items()]
    return wrong


def table(mesa: str, all_shaders: list[dict[str, Any]], known: list[str]) -> str:
    lines = [
        "# Shaders as AMD's GPUs get them",
        "",
        f"`scripts/shader-stats.sh --table` wrote this, by RADV of Mesa {mesa}, which compiles without a card. A row is a text on a card; the",
        "passes that use it follow it. Sampling passes hold the strip kernel and the direct one, of which each image takes one.",
        "Numbers of instructions are static: how many the text holds, not how many a thread executes. `latency` and `inverse_throughput`",
        "in [the JSON](shader-stats.json) are the compiler's own estimates of cycles, with guessed numbers of loop turns.",
        "",
        "Kinds: vector, transcendental, lane (between scalar and vector registers; spilled SGPRs are such), scalar, branch, memory: loads",
        "(by threads), stores, scalar loads; LDS; waits and hints.",
        "",
    ]
    lines += [f"- {target.family} ({target.what}): waves of {target.wave}, at least {target.least} a SIMD" for target in TARGETS]
    lines += ["", "## Missed bars", "", *([f"- {line}" for line in known] or ["None."])]
    head = "| card | VGPRs | SGPRs | spilled VGPRs, SGPRs | waves a SIMD | limited by | instructions | vector | transc. | lane | scalar | branch | load, store, scalar | LDS | waits | code bytes | LDS bytes |"
    for kind in sorted({shader["kind"] for shader in all_shaders}):
        lines += ["", f"## {kind[0].upper()}{kind[1:]}"]
        for shader in (shader for shader in all_shaders if shader["kind"] == kind):
            lines += ["", "; ".join(shader["passes"]), "", head, "|---" * head.count(" | ") + "|---|"]
            for target in TARGETS:
                row = shader["cards"][target.family]
                count = collections.Counter(row["kinds"])
                cells = [
                    target.family, row["vgprs"], row["sgprs"], f"{row['spilled_vgprs']}, {row['spilled_sgprs']}", row["waves_a_simd"],
                    limit(target, row), row["instructions"], count["vector"], count["transcendental"], count["lane"], count["scalar"],
                    count["branch"], f"{count['load']}, {count['store']}, {count['scalar_load']}", count["lds"] + count["atomic"],
                    count["wait"] + count["other"], row["code_bytes"], row["lds_bytes"],
                ]
                lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def controls(all_shaders: list[dict[str, Any]], spilling: dict[str, ROW]) -> list[str]:
    """The checks have to notice a shader that spills, one wave, and a table with smaller numbers."""
    wrong = []
    family = next(iter(spilling))
    if not any("spills" in each for each in check([{"kind": "control", "passes": ["control"], "cards": spilling}])[0]):
        wrong.append("the checker takes a shader that spills")
    if not check([all_shaders[0] | {"cards": {family: all_shaders[0]["cards"][family] | {"waves_a_simd": 1}}}])[0]:
        wrong.append("the checker takes a single wave")
    for number in WATCHED:
        smaller = json.loads(json.dumps(all_shaders))
        smaller[0]["cards"][family][number] = int(smaller[0]["cards"][family][number] / (1 + GROWTH)) - 1
        if len(growth(smaller, all_shaders)) != 1:
            wrong.append(f"the checker takes growth of {number}")
    return wrong


def main() -> int:
    if sys.argv[1:2] == ["--compile"]:
        compile_all(sys.argv[2], [Path(file) for file in sys.argv[3:]])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    try:
        # Here, so that the processes do not unpack it all at once.
        radv.library()
        mesa, found = measure(arguments.folder, QUICK if arguments.quick and not arguments.table else TARGETS)
    except radv.DriverError as error:
        print(f"shader statistics: not measured: {error}", file=sys.stderr)
        return 1
    all_shaders = shaders(arguments.folder, found)
    wrong, known = check(all_shaders)
    wrong += controls(all_shaders, found["control.spv"])
    committed, grown = RESULTS / "shader-stats.json", []
    if arguments.table:
        committed.write_text(json.dumps({"mesa": mesa, "shaders": all_shaders}, indent=1) + "\n")
        (RESULTS / "shader-stats.md").write_text(table(mesa, all_shaders, known))
    else:
        old = json.loads(committed.read_text())
        if old["mesa"] == mesa:
            grown = growth(old["shaders"], all_shaders)
            wrong += grown
        else:
            print(f"The table is Mesa {old['mesa']}'s and this is Mesa {mesa}: growth is not checked, only spills and waves.")
    for each in wrong:
        print(each, file=sys.stderr)
    if grown:
        print("If growth is meant, write a line in benches/LOG.md and renew the table: scripts/shader-stats.sh --table", file=sys.stderr)
    rows = sum(len(shader["cards"]) for shader in all_shaders)
    print(f"shader statistics: {len(all_shaders)} shaders, {rows} rows, Mesa {mesa}; {len(known)} known misses, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
