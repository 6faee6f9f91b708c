"""`scripts/hardware.sh rehearse`: pack, run and report on this machine, on a software driver that looks like a card.

The packed folder is copied to an empty place and run there with an environment of its own: no cargo, no variable of the
shell, and no repository, where the system lets a process hide it. The layer of `scripts/hostile` makes lavapipe a
discrete card, so that every path of one is taken; whatever needs CUDA has to say that there is none.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import drivers  # noqa: E402
import hostile_layer  # noqa: E402
import steps  # noqa: E402

LOG = "hardware-rehearsal.txt"
PATH = "/usr/local/bin:/usr/bin:/bin"
# Steps that have to say what is not there; all others have to pass, or may run out of time on a slow machine.
WITHOUT_CUDA = {
    "hand-over to CUDA": ("no CUDA",),
    "batches for torch": ("no CUDA", "no torch"),
    "rivals on the card": ("no CUDA", "no torch"),
    "python": ("no CUDA", "no torch"),
    "torch": ("passed", "no torch"),
}
MAY_STOP = ("goldens", "determinism", "exported batches", "kernels", "pipeline", "switches", "faults")


class Log:
    """What the subcommands print, on the terminal and kept."""

    def __init__(self) -> None:
        self.lines: List[str] = []

    def run(self, command: List[str], environment: Dict[str, str], cwd: Path) -> int:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, errors="replace"
        )
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            self.lines.append(line)
        return process.wait()


def hidden() -> List[str]:
    """The command that runs another one where the repository is an empty folder."""
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    for more in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *more, "--mount", "sh", "-c", script, str(ROOT)]
        if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, cwd="/").returncode == 0:
            return command
    return []


def wrong(rows: Dict[str, dict]) -> List[str]:
    """The steps whose verdict is not the one of a machine without CUDA."""
    found = []
    for step in steps.STEPS:
        row = rows.get(step.name, {"verdict": "no line in the table", "says": ""})
        allowed = WITHOUT_CUDA.get(step.name, ("passed",)) + (("stopped", "left out") if step.name in MAY_STOP else ())
        if row["verdict"] not in allowed:
            found.append(f"{step.name}: {row['verdict']}: {row['says']}")
    return found


def main(given: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/hardware.sh rehearse")
    parser.add_argument("--short", action="store_true", help="the short run")
    parser.add_argument(
        "--page", action="store_true", help=f"writes the page and {LOG} into benches/results; else into target/hardware"
    )
    parser.add_argument("--packed", type=Path, help="a packed folder; by default it is packed first")
    asked = parser.parse_args(given)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "hardware"
    pages = ROOT / "benches" / "results" if asked.page else target
    if shutil.which("cargo", path=PATH):
        print(f"cargo is on {PATH}: no bare machine has it there", file=sys.stderr)
        return 2
    log = Log()
    packed = asked.packed or ROOT / ".hw"
    script = str(HERE.parent / "hardware.sh")
    if not asked.packed and log.run([script, "pack"], dict(os.environ), ROOT):
        return 1
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as name:
        place = Path(name)
        # The layer is in the repository, which is hidden below.
        loads = hostile_layer.environment("discrete", place / "unused")
        shutil.copytree(hostile_layer.BUILT, place / "layer", ignore=shutil.ignore_patterns("adapters"))
        manifest = place / "layer" / "layer.json"
        manifest.write_text(manifest.read_text().replace(str(hostile_layer.BUILT), str(place / "layer")))
        loads.update(drivers.lavapipe().environment, VK_LAYER_PATH=str(place / "layer"))
        # `run` has caches of its own, and chooses the API itself.
        for variable in ("XDG_CACHE_HOME", "WGPU_BACKEND"):
            loads.pop(variable, None)
        shutil.copytree(packed, place / "hw")
        home = place / "home"
        home.mkdir()
        environment = {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "OUT": str(place / "out"), **loads}
        hide = hidden()
        log.lines.append("\n" if hide else "\nthe repository could not be hidden\n")
        torch = Path.home() / ".cache" / "gpufeed-python" / "torch" / "bin" / "python"
        python = ["--python", str(torch)] if torch.exists() else []
        command = [*hide, str(place / "hw" / "hardware.sh"), "run", *(["--short"] if asked.short else []), *python]
        log.run(command, environment, place)
        if not (place / "out" / "results.json").is_file():
            return 1
        results = target / "rehearsal"
        shutil.rmtree(results, ignore_errors=True)
        shutil.copytree(place / "out", results)
    if log.run([script, "report", str(results), "--to", str(pages)], dict(os.environ), ROOT):
        return 1
    facts = json.loads((results / "results.json").read_text(encoding="utf-8"))
    # The table stands on the page already.
    kept = "".join(log.lines).split("\n# ")[0].replace(str(Path.home()) + "/", "~/").replace(str(ROOT) + "/", "")
    (pages / LOG).write_text(kept.rstrip("\n") + "\n", encoding="utf-8")
    found = wrong({row["name"]: row for row in facts["steps"]})
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0
