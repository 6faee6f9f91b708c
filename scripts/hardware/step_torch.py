"""Steps that run `torch_facts.py`, `torch_handover.py`, `torch_rivals.py` and `torch_loader.py`, by the Python that has torch."""

from __future__ import annotations

import os
from pathlib import Path

import outputs
from context import FAILED, HERE, PASSED, STOPPED, Context, Outcome


def torch_facts(context: Context) -> Outcome:
    finished = context.call([context.python, str(HERE / "torch_facts.py")])
    found = outputs.result(finished.output)
    if found is None:
        context.no_torch = f"{Path(context.python).name}: {outputs.last_words(finished.errors, finished.output)}"
        return Outcome(STOPPED if finished.stopped else "no torch", context.no_torch)
    context.torch = found
    cuda = found["device"] if found["cuda"] else f"no CUDA: {found['why']}"
    vision = f"torchvision {found['torchvision']}" if found["torchvision"] else "no torchvision"
    return Outcome(PASSED, f"torch {found['torch']}, {vision}, {cuda}", found)


def torch_program(context: Context, name: str, *more: str) -> Outcome:
    photographs, site = context.work / "photographs", context.work / "site"
    says = []
    if not photographs.is_dir():
        photographs = context.work / "pictures"
        says.append("on drawn pictures, as no photographs were packed")
    if photographs.name == "pictures" and not photographs.is_dir():
        drawn = context.call([context.python, str(HERE / "torch_pictures.py"), str(photographs)])
        if drawn.code != 0:
            return Outcome("no photographs", f"none were packed; {outputs.last_words(drawn.errors, drawn.output)}")
    command = [context.python, str(HERE / name), str(photographs), *more]
    if context.adapter:
        # `backend="gpu"` passes software adapters over.
        is_software = context.adapter["device_type"] == "Cpu"
        command += ["--backend", context.adapter["name"] if is_software else "gpu"]
    else:
        says.append("no adapter: without shaders")
    paths = [str(site), str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    finished = context.call(command, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    # A program prints its result so far again and again: one that is stopped has some.
    found = outputs.result(finished.output) or {"says": [], "failed": []}
    if finished.code not in (0, None) or not found["says"]:
        found["says"].append(outputs.last_words(finished.errors, finished.output))
    verdict = PASSED if context.adapter else "no adapter"
    if found["failed"] or finished.code not in (0, None):
        verdict = FAILED
    elif finished.stopped:
        verdict = STOPPED
    return Outcome(verdict, "; ".join([*says, *found["says"]]), found)


def handed_over(context: Context) -> Outcome:
    hand_overs, loaders, seconds = ("300", "5", "2") if context.short else ("2000", "20", "4")
    more = ["--hand-overs", hand_overs, "--loaders", loaders, "--seconds", seconds]
    return torch_program(context, "torch_handover.py", *more)


def rivals(context: Context) -> Outcome:
    more = ["--rounds", "1" if context.short else "3", "--gpufeed", context.program("gpufeed")]
    if context.adapter:
        more += ["--adapter", str(context.adapter["number"])]
    return torch_program(context, "torch_rivals.py", *more)


def python(context: Context) -> Outcome:
    return torch_program(context, "torch_loader.py", "--seconds", "2" if context.short else "4")
