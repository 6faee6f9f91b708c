"""What runs where: the first lines of ``explain()``, in the words of torch's users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpufeed.handover import Finish
from gpufeed.own_code import OwnCode, name_of


@dataclass(frozen=True)
class Runs:
    """What a loader runs. ``data`` names the data set; ``made`` is true if its ``__getitem__`` makes the samples, and ``ready`` if it makes
    finished ones, transforms included. ``on_batch`` are the names of what runs in Python on each batch, and ``draws`` says where random
    numbers come from."""

    data: str
    made: bool
    ready: bool
    by_gpu: bool
    mixes: bool
    codes: Sequence[OwnCode]
    on_batch: Sequence[str]
    draws: str


def lines(runs: Runs) -> list[str]:
    """Returns the lines."""
    by = "the GPU" if runs.by_gpu and not runs.codes else "the workers"
    names = ", ".join(code.name for code in runs.codes)
    but = f", but for {names}, which runs in Python, one call at a time" if names else ""
    made = "its __getitem__ runs in Python, in the workers" + ("" if runs.ready else "; files that it returns are decoded without Python")
    done = ["mixed without Python"] if runs.mixes else []
    done += [f"{', '.join(runs.on_batch)} runs in Python on each of them, in the loop's thread" if runs.on_batch else "the loop gets them as the workers have made them"]
    seeded = "; own code finds the generators of random, NumPy and torch seeded by them" if names else ""
    return [
        "workers: threads of this process",
        f"reading: {runs.data}: {made if runs.made else 'read and decoded by the workers, without Python'}",
        f"transforms: {'in its __getitem__' if runs.ready else f'by {by}, without Python{but}'}",
        f"batches: {'; '.join(done)}",
        f"random numbers: {runs.draws}{'; what its __getitem__ draws is of the process and differs from run to run' if runs.ready else seeded}",
    ]


def on_batch_names(finishes: dict[str, Finish]) -> list[str]:
    """Returns what is called for each batch of a loader, by its groups."""
    codes: list[Any] = [code for finish in finishes.values() for code in finish.on_batch]
    return [*dict.fromkeys(map(name_of, codes))]
