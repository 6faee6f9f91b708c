"""What runs where: the first lines of ``explain()``, in the words of torch's users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpufeed.handover import Finish
from gpufeed.own_code import OwnCode, name_of


def lines(data: str, is_object: bool, by_gpu: bool, codes: Sequence[OwnCode], on_batch: Sequence[str], draws: str) -> list[str]:
    """Returns the lines. ``data`` names the data set, whose samples Python makes if it ``is_object``; ``on_batch`` what runs in Python on
    each batch; ``draws`` says where random numbers come from."""
    made = "Python makes its samples, in the workers; those that are files are" if is_object else "its samples are read and"
    by = "the GPU" if by_gpu and not codes else "the workers"
    names = ", ".join(code.name for code in codes)
    but = f", but for {names}, which runs in Python, one call at a time" if codes else ""
    then = f"{', '.join(on_batch)}, in Python, on each of them in the loop's thread" if on_batch else "the loop gets them as the workers have made them"
    return [
        "workers: threads of this process",
        f"reading: {data}: {made} decoded by the workers, without Python",
        f"transforms: by {by}, without Python{but}",
        f"batches: {then}",
        f"random numbers: {draws}",
    ]


def on_batch_names(finishes: dict[str, Finish]) -> list[str]:
    """Returns what is called for each batch of a loader, by its groups."""
    codes: list[Any] = [code for finish in finishes.values() for code in finish.on_batch]
    return [*dict.fromkeys(map(name_of, codes))]
