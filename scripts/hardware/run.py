"""`scripts/hardware.sh run`: every step of `steps.py` under its limit, and the table of what came of it.

No step stops the others, and each has a line in the table: what passed, what failed, and what was not possible because
something is not there.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Dict, List, Optional

import machine
import parts
import steps
from context import FAILED, HERE, LEFT_OUT, STOPPED, Context, Outcome
from results import Results


def take(context: Context, step: steps.Step, until: float, left_out: bool) -> dict:
    """Runs one step, which has to end at `until`; returns its row."""
    began = time.monotonic()
    context.until = min(until, context.deadline)
    limit = 0.0 if left_out else round(context.left(), 1)
    reason = step.needs(context)
    if left_out:
        outcome = Outcome(LEFT_OUT, "by --short")
    elif reason:
        outcome = Outcome(*reason)
    elif context.left() < 2:
        outcome = Outcome(LEFT_OUT, "no time is left")
    else:
        context.results.add_log(f"\n== {step.name}")
        try:
            outcome = step.work(context)
        except Exception as error:  # no step stops the others
            context.results.add_log(traceback.format_exc())
            outcome = Outcome(FAILED, f"{type(error).__name__}: {error}")
    seconds = time.monotonic() - began
    return {"name": step.name, "seconds": round(seconds, 1), "limit": limit, **outcome._asdict()}


def table(facts: dict) -> str:
    """The steps in Markdown, and what was measured."""
    adapter = facts["adapter"] or {}
    system = facts["machine"]
    what = adapter.get("name", "no adapter")
    lines = [
        f"# {what}",
        "",
        f"gpufeed {facts['version']}, commit {facts['commit']}, {facts['begun']}; {facts['seconds']:.0f} s"
        + (", --short" if facts["short"] else ""),
        "",
        f"{system['system']}, Linux {system['kernel']}, {system['processor']}, {system['cores']} cores; "
        f"driver: {adapter.get('driver', 'none')}",
        "",
    ]
    if facts["rehearsal"]:
        lines += [f"**A rehearsal**: {facts['rehearsal']}. No number here is a GPU's.", ""]
    elif adapter.get("device_type") == "Cpu":
        lines += ["**A software adapter.** No number here is a GPU's.", ""]
    lines += ["| step | seconds | of | verdict | seen |", "|---|---|---|---|---|"]
    for row in facts["steps"]:
        says = " ".join(str(row["says"]).split()).replace("|", "\\|")
        verdict = f"**{row['verdict']}**" if row["verdict"] in (FAILED, STOPPED) else row["verdict"]
        lines.append(f"| {row['name']} | {row['seconds']:.1f} | {row['limit']:.0f} | {verdict} | {says} |")
    return "\n".join(lines) + "\n"


def arguments(given: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/hardware.sh run")
    parser.add_argument(
        "results", nargs="?", default=os.environ.get("OUT"), help="the folder of the results; $OUT by default"
    )
    parser.add_argument("--short", action="store_true", help="four minutes instead of nine")
    parser.add_argument("--packed", type=Path, help="the packed folder; by default this one, or .hw of the repository")
    parser.add_argument(
        "--python", default=sys.executable, help="the Python that has torch; by default the one that runs this"
    )
    asked = parser.parse_args(given)
    if not asked.results:
        parser.error("name the folder of the results")
    # Programs run in another folder. Links stay: a virtual environment's Python is one.
    if os.sep in asked.python:
        asked.python = os.path.abspath(asked.python)
    return asked


def packed_folder(asked: Optional[Path]) -> Path:
    if asked:
        return asked.resolve()
    beside = HERE.parent
    return beside if (beside / parts.MANIFEST).is_file() else beside.parent / ".hw"


def stale(packed: Path) -> str:
    """Says that a clone has gone on since its folder was packed; empty where it has not, or git cannot tell."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True)
    except OSError:
        return ""
    commit, head = parts.load(packed)["commit"].split("+")[0], done.stdout.strip()
    if done.returncode or head.startswith(commit):
        return ""
    return f"{packed} is of commit {commit}, this clone is at {head[:8]}: scripts/hardware.sh pack renews it\n"


def rehearsal(environment: Dict[str, str]) -> str:
    """Says which layer makes a software driver look like a card; empty without one."""
    modes = environment.get("GPUFEED_HOSTILE", "")
    return f"Mesa's software driver under the layer of scripts/hostile, GPUFEED_HOSTILE={modes}" if modes else ""


def main(given: List[str]) -> int:
    asked = arguments(given)
    began, begun = time.monotonic(), datetime.datetime.now(datetime.timezone.utc)
    if not sys.platform.startswith("linux"):
        print("only Linux: on other systems `gpufeed bench --report-card card.json` measures the card", file=sys.stderr)
        return 2
    packed = packed_folder(asked.packed)
    in_clone, is_packed = (HERE / "pack.py").is_file() and not asked.packed, (packed / parts.MANIFEST).is_file()
    if in_clone and is_packed:
        print(stale(packed), end="", file=sys.stderr)
    elif in_clone and shutil.which("cargo"):
        print(f"{packed} is not there: it is packed first", flush=True)
        import pack

        status = pack.main([])
        if status:
            return status
        began = time.monotonic()
    # A run that is stopped from outside ends its programs; under nohup a terminal that closes stops nothing.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    work = Path(tempfile.mkdtemp(prefix="gpufeed-hardware-"))
    try:
        hidden = {str(work): "WORK", str(packed): "PACKED", os.path.expanduser("~").rstrip("/") + "/": "~/"}
        results = Results(Path(asked.results), {path: name for path, name in hidden.items() if path != "/"})
        context = Context(packed, work, results, asked.short, asked.python)
        facts = {
            "schema": 1,
            "version": context.manifest["version"],
            "commit": context.manifest["commit"],
            "begun": begun.strftime("%Y-%m-%d"),
            "seconds": 0.0,
            "short": asked.short,
            "rehearsal": rehearsal(dict(os.environ)),
            "machine": machine.facts(),
            "adapter": None,
            "steps": [],
        }
        print(f"{facts['machine']['processor']}, {context.cores} cores", flush=True)
        until = time.monotonic()
        for step in steps.STEPS:
            limit = step.short if asked.short else step.seconds
            # What the steps before it have left is a step's, too: no step has less than its own time.
            until += limit
            row = take(context, step, until, left_out=limit == 0)
            print(f"{row['name']:<20} {row['seconds']:6.1f} s  {row['verdict']:<10} {row['says']}", flush=True)
            facts["steps"].append(row)
            facts["adapter"], facts["seconds"] = context.adapter, time.monotonic() - began
            results.write("table.md", table(facts))
            try:
                results.write_json("results.json", facts)
            except ValueError as error:
                row["data"], row["says"] = {}, f"{row['says']}; data left out: {error}"
                results.write_json("results.json", facts)
        failed = [row["name"] for row in facts["steps"] if row["verdict"] == FAILED]
        print("\n" + results.masked(table(facts)))
        print(f"results: {asked.results}" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
        return 1 if failed else 0
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
