"""An iteration over a run of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Run(Protocol):
    """The batches of one or more epochs, as the native module and a fleet make them."""

    def next(self) -> Any:
        """The next batch, or None after the last one."""

    def ready(self) -> bool:
        """True if ``next`` would not wait."""

    def close(self) -> None:
        """Ends the run and whatever makes its batches."""

    def __len__(self) -> int:
        """Batches that are left."""


class Iterating(Iterator[Any]):
    """The batches of a run, converted if ``convert`` is given. ``state`` is the position after the last batch handed out, as JSON."""

    def __init__(self, run: Run, state: str, convert: Callable[[Run], Callable[[], Any]] | None) -> None:
        self._run = run
        self.state = state
        # True once a batch was asked for.
        self.begun = False
        self._source = convert(run) if convert is not None else None

    def __next__(self) -> Any:
        self.begun = True
        if self._source is not None:
            item, self.state = self._source()
            return item
        batch = self._run.next()
        if batch is None:
            raise StopIteration
        self.state = batch.state
        return batch

    def __len__(self) -> int:
        """Batches that are left."""
        return len(self._run)

    def close(self) -> None:
        """Ends the run and its threads."""
        if self._source is not None and hasattr(self._source, "close"):
            self._source.close()
        self._run.close()
