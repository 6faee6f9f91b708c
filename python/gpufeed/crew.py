"""Ray's part of a fleet: actors, and the streams of batches that they send. Only this module imports Ray.

An actor streams by a generator task with back-pressure: it stops once ``ahead`` batches wait in the object store of its
node. The trainer takes over up to ``ahead`` more. Ray brings their bytes to the trainer's node, so that they are there
when their turn comes.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from typing import Any, NoReturn

import ray
from ray import exceptions

from gpufeed.decoder import Decoder, Shard
from gpufeed.errors import RunError
from gpufeed.fleet import MOST_LOSSES, Lost, Stream
from gpufeed.parcel import Parcel

LOST = (
    exceptions.RayActorError,
    exceptions.ObjectLostError,
    exceptions.NodeDiedError,
    exceptions.WorkerCrashedError,
    exceptions.OutOfMemoryError,
)
"""Errors of Ray after which another actor can make the same batches."""

WARNED_AFTER = 30.0
"""After this many seconds without an actor, a warning says for what the trainer waits."""

# The number of threads of an actor. One streams, another may wait for its turn to stream, and the others answer
# questions.
_THREADS = 4


def _raise(error: exceptions.RayError, handle: Any) -> NoReturn:
    """Raises an error of the actor ``handle``. An error of the actor's loader is raised as it was in the actor: Ray's
    own text would also have the actor, its node and its lines."""
    if getattr(error, "actor_init_failed", False):
        raise RunError(f"an actor cannot begin; every node needs gpufeed, and the modules of the data set: {error}") from error
    if isinstance(error, LOST):
        raise Lost(f"{type(error).__name__}: {str(error).strip()}", handle) from error
    cause = getattr(error, "cause", None)
    if isinstance(error, exceptions.RayTaskError) and isinstance(cause, Exception):
        raise cause from error
    raise error


class RayCrew:
    """Actors that decode. ``options`` are Ray's options for each actor, such as ``num_cpus``."""

    def __init__(self, config: dict[str, Any], actors: int, ahead: int, options: dict[str, Any], patience: float) -> None:
        self.actors = actors
        self.replaced = 0
        self._config = ray.put(config)
        self._ahead = ahead
        self._class = ray.remote(max_concurrency=_THREADS, max_restarts=0)(Decoder).options(**options)
        self._options = options
        self._patience = patience
        self._streams = 0
        self._handles = [self._class.remote(self._config) for _ in range(actors)]
        self._begun = [handle.here.remote() for handle in self._handles]

    def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the first actor, and returns its result. An actor that is gone is replaced first."""
        return self._ask(0, method, *arguments)

    def ask_each(self, method: str, *arguments: list[Any]) -> list[Any]:
        """Calls a method of each actor, and returns the results. Each list has one argument for each actor."""
        return [self._ask(actor, method, *(each[actor] for each in arguments)) for actor in range(self.actors)]

    def _ask(self, actor: int, method: str, *arguments: Any) -> Any:
        losses = 0
        while True:
            try:
                return self._answer(actor, method, *arguments)
            except Lost as lost:
                losses += 1
                if losses > MOST_LOSSES:
                    raise RunError(
                        f"actor {actor} died {losses} times in a row without an answer; the last time: {lost}"
                    ) from lost
                self.replace(actor, losses, lost)

    def _answer(self, actor: int, method: str, *arguments: Any) -> Any:
        handle = self._handles[actor]
        try:
            answer = getattr(handle, method).remote(*arguments)
            self.wait(actor, answer)
            return ray.get(answer)
        except exceptions.RayError as error:
            _raise(error, handle)

    def wait(self, actor: int, what: Any) -> None:
        """Waits until a reference or a generator has something. Only for an actor that runs, it waits longer than is
        usual."""
        began, warned = time.monotonic(), False
        while not ray.wait([what], timeout=1.0, fetch_local=False)[0]:
            waited = time.monotonic() - began
            if waited < min(WARNED_AFTER, self._patience) or ray.wait([self._begun[actor]], timeout=0, fetch_local=False)[0]:
                continue
            # The variables in a runtime_env may be a store's credentials, so it is not shown.
            options = {name: value for name, value in self._options.items() if name != "runtime_env"}
            needs = f"actor {actor} needs {options}, and Ray has free: {ray.available_resources()}"
            if waited > self._patience:
                raise RunError(
                    f"Ray has not begun an actor for {waited:.0f} s: {needs}; lower num_cpus= or actors=, or raise "
                    "start_timeout= where the cluster grows more slowly"
                )
            if not warned:
                warned = True
                warnings.warn(f"gpufeed: still waiting for Ray: {needs}", RuntimeWarning, stacklevel=2)

    def stream(self, actor: int, shard: Shard, epoch: int, batch: int, end: int) -> Stream:
        """Starts the stream of an actor's batches from a position on."""
        self._streams += 1
        handle, number = self._handles[actor], self._streams
        method = handle.batches.options(num_returns="streaming", _generator_backpressure_num_objects=self._ahead)
        return _Stream(self, actor, handle, number, method.remote(shard, epoch, batch, end, number))

    @property
    def ahead(self) -> int:
        """The number of an actor's batches that may wait on its node, and of those that may wait on the trainer's
        node."""
        return self._ahead

    def replace(self, actor: int, losses: int, why: Lost) -> None:
        """Makes another actor in the place of an actor that is gone, unless it was replaced already."""
        if why.handle is not self._handles[actor]:
            return
        _kill(self._handles[actor])
        if losses > 1:
            # Ray may not know yet that a node is gone, and would choose the node again.
            time.sleep(min(0.1 * 2**losses, 2.0))
        self.replaced += 1
        self._handles[actor] = self._class.remote(self._config)
        self._begun[actor] = self._handles[actor].here.remote()

    def close(self) -> None:
        """Ends all actors."""
        handles, self._handles = self._handles, []
        for handle in handles:
            _kill(handle)


def _kill(handle: Any) -> None:
    # If Ray was shut down, the actors have ended already.
    if ray.is_initialized():
        ray.kill(handle, no_restart=True)


class _Stream:
    """The batches of one generator task."""

    def __init__(self, crew: RayCrew, actor: int, handle: Any, number: int, generator: Any) -> None:
        self._crew, self._actor, self._handle, self._number = crew, actor, handle, number
        self._generator = generator
        # The batches that were taken over from the actor, in order: first those that are here, or an error, then those
        # on their way.
        self._here: deque[Parcel | exceptions.RayError] = deque()
        self._coming: deque[Any] = deque()
        self._ended = False

    def pull(self) -> None:
        """Takes over the batches that the actor has ready, and begins to bring them here."""
        while len(self._coming) + len(self._here) < self._crew.ahead and not self._ended and self._generator.next_ready():
            self._take()
        while self._coming and ray.wait([self._coming[0]], timeout=0, fetch_local=True)[0]:
            self._arrive()
        if len(self._coming) > 1:
            # Begins to bring all of them here, and returns at once.
            ray.wait(list(self._coming), num_returns=1, timeout=0, fetch_local=True)

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""
        self.pull()
        return bool(self._here) or self._ended

    def next(self) -> Parcel | None:
        """Returns the next batch, or None after the last one."""
        if not self._here:
            if not self._coming and not self._ended:
                self._crew.wait(self._actor, self._generator)
                self._take()
            if not self._coming:
                return None
            self._arrive()
        first = self._here.popleft()
        if isinstance(first, exceptions.RayError):
            _raise(first, self._handle)
        return first

    def _take(self) -> None:
        try:
            self._coming.append(next(self._generator))
        except StopIteration:
            self._ended = True

    def _arrive(self) -> None:
        """Maps the first batch on its way into memory, once it is here."""
        try:
            arrived = ray.get(self._coming[0])
        except exceptions.RayError as error:
            if isinstance(error, LOST):
                _raise(error, self._handle)
            # The error is raised in its turn, because the batches before it are complete.
            arrived, self._ended = error, True
        self._coming.popleft()
        self._here.append(arrived)

    def close(self) -> None:
        """Ends the stream. Stops the actor first, because without a reader it would go on for ever."""
        if not self._ended and ray.is_initialized():
            self._handle.end.remote(self._number)
        self._ended = True
        self._here.clear()
        self._coming.clear()
        self._generator = None
