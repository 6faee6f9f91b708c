"""An iteration over a run of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Run(Protocol):
    """The batches of one or more epochs. The native module and a fleet make such runs."""

    def next(self) -> Any:
        """Returns the next batch, or None after the last one."""

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""

    def close(self) -> None:
        """Ends the run, and whatever makes its batches."""

    def __len__(self) -> int:
        """Returns the number of batches that are left."""


class Iterating(Iterator[Any]):
    """Iterates over the batches of a run. ``convert``, if given, converts each. ``state`` is the state after the last
    batch that was handed out, as JSON."""

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
        """Returns the number of batches that are left."""
        return len(self._run)

    def close(self) -> None:
        """Ends the run and its threads."""
        if self._source is not None and hasattr(self._source, "close"):
            self._source.close()
        self._run.close()
