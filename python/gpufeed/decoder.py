"""The loader in an actor, which makes batches for other processes. This module does not use Ray."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpufeed import _gpufeed
from gpufeed.errors import RunError
from gpufeed.loader import DataLoader
from gpufeed.parcel import Parcel, pack

Shard = tuple[int, int]


@dataclass(frozen=True)
class About:
    """The facts about an actor's loader that the trainer needs."""

    version: str
    batches: int
    samples: int
    batch_size: int
    classes: list[str]
    settings: dict[str, Any]


class Decoder:
    """A loader that is made in the actor's process from ``config``, the arguments of ``gpufeed.DataLoader``. Several
    threads may call the methods."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._made: DataLoader | None = None
        self._making = threading.Lock()
        # The number of the only stream that goes on. A stream that goes on has the lock.
        self._wanted = -1
        self._streaming = threading.Lock()

    def _loader(self, shard: Shard) -> DataLoader:
        with self._making:
            if self._made is None:
                self._made = DataLoader(**self._config, shard=shard)
            self._made._shard = shard
            return self._made

    def _native(self, shard: Shard) -> _gpufeed.Loader:
        return self._loader(shard)._loader()

    def here(self) -> int:
        """Returns the id of the process. The answer comes as soon as the actor runs."""
        return os.getpid()

    def about(self, shard: Shard) -> About:
        """Makes the loader, and returns its facts."""
        native, made = self._native(shard), self._loader(shard)
        data = native.dataset
        return About(_gpufeed.__version__, len(native), len(data), made.batch_size, data.classes, made._made_with())

    def state(self, shard: Shard, epoch: int, batch: int) -> str:
        """Returns a state as JSON. A loader that loads it continues with batch ``batch`` of epoch ``epoch``."""
        return self._native(shard).state(epoch, batch)

    def place(self, shard: Shard, state: str) -> tuple[int, int]:
        """Returns the epoch and the batch at which a state continues."""
        return self._native(shard).place(state)

    def explain(self, shard: Shard) -> str:
        """Describes the plan, the executor, the batches and the memory in words."""
        return self._loader(shard).explain()

    def stats(self, shard: Shard) -> dict[str, Any]:
        """Returns the statistics of the loader."""
        return self._native(shard).stats()

    def replay(self, shard: Shard, index: int, params: str, group: str | None = None) -> bytes:
        """Makes one image again from its parameters."""
        return self._native(shard).replay(index, params, group)

    def batches(self, shard: Shard, epoch: int, batch: int, end: int, number: int) -> Iterator[Parcel]:
        """Streams the batches from batch ``batch`` of ``epoch`` up to but excluding epoch ``end``. This is stream
        ``number``; it ends any earlier one."""
        self._wanted = max(self._wanted, number)
        # Only one run at a time, because each has buffers of its own.
        with self._streaming:
            native = self._native(shard)
            run = native.resume(native.state(epoch, batch), end)
            try:
                while self._wanted == number:
                    try:
                        made = run.next()
                    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
                        # The error is raised in the trainer. If it ended this process, Ray would see a lost machine.
                        raise RunError(f"the data set has ended the run in process {os.getpid()}: {error!r}") from error
                    if made is None:
                        return
                    parcel = pack(made)
                    # Ray copies the parcel out of the loader's buffer, which then returns to the loader. So nothing
                    # else may hold the buffer.
                    del made
                    yield parcel
                    del parcel
            finally:
                run.close()

    def end(self, number: int) -> None:
        """Ends stream ``number`` and all earlier ones."""
        self._wanted = max(self._wanted, number + 1)
