"""Samples that fail: chooses the default of ``on_error``, and warns about replaced samples."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from gpufeed.iterator import Run


def on_error_of(shuffle: bool, recipe: str) -> str:
    """Returns the default of ``on_error``. It is "fail" for an epoch in order, and for a recipe whose name ends in
    ``-eval``, because a metric that is computed with a replacement would be wrong. Otherwise it is "skip"."""
    return "skip" if shuffle and not recipe.endswith("-eval") else "fail"


# The numbers of epochs from this one on were drawn at random, or number the repeats of an epoch of a DistributedSampler. No program
# counts its epochs that far.
FIRST_DRAWN = 1 << 32


def warn_once_outside(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the caller's program, from wherever in the package this is called."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "gpufeed":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _named(epoch: int) -> str:
    """Returns the name of an epoch in a warning. A loader like torch's draws the numbers of its epochs, which say nothing to a reader."""
    return f"epoch {epoch}" if epoch < FIRST_DRAWN else "this epoch"


class Watched(Run):
    """A run that warns once an epoch, at the first batch with a replaced sample."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._warned: int | None = None
        # The epoch of the last batch, and the index of the first batch of that epoch in this run.
        self._epoch: int | None = None
        self._first = 0
        # A batch whose warning was raised as an error. The next call returns it.
        self._held: Any = None

    def next(self) -> Any:
        """Returns the next batch, or None after the last one."""
        if self._held is not None:
            batch, self._held = self._held, None
            return batch
        batch = self._run.next()
        if batch is not None and batch.epoch != self._epoch:
            self._epoch, self._first = batch.epoch, batch.index
        if batch is not None and batch.epoch != self._warned and (failures := batch.failures):
            self._warned, self._held = batch.epoch, batch
            first = failures[0]
            since = f", from its batch {self._first} on" if self._first else ""
            warn_once_outside(
                f"gpufeed: {first.name} cannot be used, and another sample stands in for it: {first.error}; {len(failures)} failed "
                f'so far in {_named(batch.epoch)}{since}; on_error="fail" makes that an error, and stats()["failed"] counts them'
            )
            self._held = None
        return batch

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""
        return self._held is not None or self._run.ready()

    def close(self) -> None:
        """Ends the run, and whatever makes its batches."""
        self._held = None
        self._run.close()

    def __len__(self) -> int:
        """Returns the number of batches that are left."""
        return len(self._run) + (self._held is not None)
