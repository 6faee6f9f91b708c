"""Steps that run `torch_facts.py`, `torch_rivals.py` and `torch_loader.py`, by the Python that has torch."""

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
    return Outcome(PASSED, f"torch {found['torch']}, torchvision {found['torchvision']}, {cuda}", found)


def torch_program(context: Context, name: str, *more: str) -> Outcome:
    photographs, site = context.work / "photographs", context.work / "site"
    if not photographs.is_dir():
        return Outcome("no photographs", "none were packed")
    assert context.adapter is not None
    # `backend="gpu"` passes software adapters over.
    backend = context.adapter["name"] if context.adapter["device_type"] == "Cpu" else "gpu"
    command = [context.python, str(HERE / name), str(photographs), "--backend", backend, *more]
    paths = [str(site), str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    finished = context.call(command, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    found = outputs.result(finished.output)
    if found is None:
        return Outcome(STOPPED if finished.stopped else FAILED, outputs.last_words(finished.errors, finished.output))
    # A program prints its result so far again and again: one that is stopped has some.
    verdict = FAILED if found["failed"] or finished.code not in (0, None) else STOPPED if finished.stopped else PASSED
    return Outcome(verdict, "; ".join(found["says"]), found)


def rivals(context: Context) -> Outcome:
    assert context.adapter is not None
    more = ["--gpufeed", context.program("gpufeed"), "--adapter", str(context.adapter["number"])]
    return torch_program(context, "torch_rivals.py", *more, "--rounds", "1" if context.short else "3")


def python(context: Context) -> Outcome:
    return torch_program(context, "torch_loader.py", "--seconds", "2" if context.short else "4")
