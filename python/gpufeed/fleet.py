"""Takes the batches of several actors in turn, and replaces actors that die. This module does not use Ray.

Actor ``a`` of the ``N`` actors of rank ``r`` among ``R`` trainers has the loader of rank ``r * N + a`` in a world of
``R * N``. Turn ``t`` of an epoch is batch ``t // N`` of actor ``t % N``. So the order of batches depends on the
position alone, not on which actors made the batches, or how often.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from gpufeed import saved
from gpufeed.decoder import About, Shard
from gpufeed.errors import ArgumentError, RunError
from gpufeed.parcel import Batch, Parcel, unpack

MOST_LOSSES = 5
"""An actor may die this often without having sent a batch in between."""


class Lost(Exception):
    """An actor is gone, or a batch of it. The text says why. ``handle`` is the crew's handle of that actor, which shows
    whether the actor was replaced since."""

    def __init__(self, why: str, handle: Any = None) -> None:
        super().__init__(why)
        self.handle = handle


class Stream(Protocol):
    """The batches of one actor, from a position on."""

    def pull(self) -> None:
        """Begins to bring here the batches that are ready, without waiting. Raises :class:`Lost`. Other errors are
        raised in their turn."""

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""

    def next(self) -> Parcel | None:
        """Returns the next batch, or None after the last one. Raises :class:`Lost`, or the error of the actor's
        loader."""

    def close(self) -> None:
        """Ends the stream."""


class Crew(Protocol):
    """The actors of a trainer."""

    actors: int

    def ask(self, method: str, *arguments: Any) -> Any:
        """Calls a method of any actor's :class:`gpufeed.decoder.Decoder`, and returns its result."""

    def stream(self, actor: int, shard: Shard, epoch: int, batch: int, end: int) -> Stream:
        """Starts a stream of the batches of an actor's shard, from a position up to but excluding epoch ``end``."""

    def replace(self, actor: int, losses: int, why: Lost) -> None:
        """Makes another actor in the place of one that is gone, for the ``losses``-th time in a row. Does nothing if
        ``why.handle`` is no longer the crew's actor: then ``ask`` has replaced the actor already."""


class Fleet:
    """Makes runs from the batches that actors send. The trainer has rank ``shard[0]`` of ``shard[1]``."""

    def __init__(self, crew: Crew, shard: Shard) -> None:
        self.crew = crew
        rank, world = shard
        self._world = world
        self.shards = [(rank * crew.actors + actor, world * crew.actors) for actor in range(crew.actors)]
        self.about: About = crew.ask("about", self.shards[0])

    def __len__(self) -> int:
        """Returns the batches of an epoch from all actors, which have equally many."""
        return self.about.batches * self.crew.actors

    def state(self, epoch: int, batch: int) -> str:
        """Returns a state as JSON. A loader that loads it continues with batch ``batch`` of epoch ``epoch``."""
        round, taken = divmod(batch, self.crew.actors)
        return self.within(self.crew.ask("state", self.shards[0], epoch, round), taken)

    def place(self, state: str) -> tuple[int, int]:
        """Returns the epoch and the batch at which a state continues."""
        text, taken = self._split(state)
        epoch, round = self.crew.ask("place", self.shards[0], text)
        turn = round * self.crew.actors + taken
        if turn > len(self):
            raise ArgumentError(f"state: batch {turn} is after the end of an epoch of {len(self)} batches")
        return epoch, turn

    def resume(self, state: str, end: int) -> Turns:
        """Starts a run from a state up to but excluding epoch ``end``."""
        epoch, turn = self.place(state)
        return Turns(self, epoch, turn, end, self._split(state)[0])

    def _split(self, state: str) -> tuple[str, int]:
        """Divides a state into the state at the beginning of its round, and the number of batches that were taken of
        the round."""
        content = json.loads(state)
        turn = saved.turn(content)
        content.pop("turn", None)
        text = json.dumps(content)
        if turn is None:
            return text, 0
        taken, here = turn.pop("taken"), self._numbers()
        if turn != here:
            raise ArgumentError(
                f"state: saved after {taken} batches of a round of {_said(turn)}, but here are {_said(here)}; a state that was "
                f"saved after a whole round, a multiple of {turn['actors']} batches, goes on with other numbers"
            )
        return text, taken

    def within(self, state: str, taken: int) -> str:
        """Returns the state after ``taken`` batches of a round, from the state at the beginning of the round. A loader
        without actors refuses the result, because no global batch begins there."""
        if taken == 0:
            return state
        return json.dumps(json.loads(state) | {"turn": self._numbers() | {"taken": taken}})

    def _numbers(self) -> dict[str, int]:
        """Returns the numbers that must not change, if a run is to go on in the middle of a round."""
        return {"actors": self.crew.actors, "world": self._world, "batch_size": self.about.batch_size}


def _said(numbers: dict[str, int]) -> str:
    return "{actors} actors for each of {world} ranks and batches of {batch_size}".format(**numbers)


class Turns:
    """A run: the batches of one or more epochs, taken from one actor after the other."""

    def __init__(self, fleet: Fleet, epoch: int, turn: int, end: int, round: str) -> None:
        self._fleet, self._crew = fleet, fleet.crew
        self._actors, self._length = fleet.crew.actors, len(fleet)
        self._epoch, self._turn, self._end = epoch, turn, end
        # The state at the beginning of the round that has the next turn.
        self._round = round
        self._losses = [0] * self._actors
        self._ended = self._failed = False
        self._streams: list[Stream | None] = [None] * self._actors
        if self._turn == self._length:
            self._epoch, self._turn = epoch + 1, 0
        for actor in range(self._actors):
            self._open(actor)

    def _due(self, actor: int) -> tuple[int, int]:
        """Returns the epoch and the batch that an actor has to send next."""
        round, taken = divmod(self._turn, self._actors)
        batch = round + (actor < taken)
        return (self._epoch, batch) if batch * self._actors < self._length else (self._epoch + 1, 0)

    def _open(self, actor: int) -> None:
        epoch, batch = self._due(actor)
        stream = None
        if epoch < self._end:
            stream = self._crew.stream(actor, self._fleet.shards[actor], epoch, batch, self._end)
        self._streams[actor] = stream

    def next(self) -> Batch | None:
        """Returns the next batch, or None after the last one."""
        if self._ended and self._epoch < self._end:
            reason = "an actor's error ended it" if self._failed else "the loader was closed, or another iteration began"
            raise RunError(f"this run has ended: {reason}")
        if self._epoch >= self._end:
            self.close()
            return None
        try:
            parcel = self._take(self._turn % self._actors)
        except Exception:
            self._failed = True
            self.close()
            raise
        return self._hand_out(parcel)

    def _take(self, actor: int) -> Parcel:
        for other in range(self._actors):
            self._pull(other)
        while True:
            stream = self._streams[actor]
            assert stream is not None
            try:
                parcel = stream.next()
            except Lost as lost:
                self._replace(actor, lost)
                continue
            if parcel is None:
                raise RunError(f"actor {actor} has ended before batch {self._due(actor)[1]} of epoch {self._epoch}")
            self._losses[actor] = 0
            return parcel

    def _pull(self, actor: int) -> None:
        stream = self._streams[actor]
        if stream is not None:
            try:
                stream.pull()
            except Lost as lost:
                # Replaces the actor at once, not in its turn: so it begins while the batches of others are consumed.
                self._replace(actor, lost)

    def _replace(self, actor: int, lost: Lost) -> None:
        self._losses[actor] += 1
        if self._losses[actor] > MOST_LOSSES:
            raise RunError(
                f"actor {actor} died {self._losses[actor]} times in a row without sending a batch; the last time: {lost}"
            ) from lost
        self._crew.replace(actor, self._losses[actor], lost)
        self._open(actor)

    def _hand_out(self, parcel: Parcel) -> Batch:
        epoch, turn = self._epoch, self._turn
        self._turn += 1
        if self._turn % self._actors == 0:
            self._round = parcel.state
        state = self._fleet.within(self._round, self._turn % self._actors)
        if self._turn == self._length:
            self._epoch, self._turn = epoch + 1, 0
        return unpack(parcel, epoch, turn, state)

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait: a batch, an error or the end is there."""
        stream = None if self._ended else self._streams[self._turn % self._actors]
        return stream is None or stream.ready()

    def __len__(self) -> int:
        """Returns the number of batches that are left; 0 after the end."""
        return 0 if self._ended else max(0, (self._end - self._epoch) * self._length - self._turn)

    def close(self) -> None:
        """Ends the streams."""
        self._ended = True
        streams, self._streams = self._streams, [None] * self._actors
        for stream in streams:
            if stream is not None:
                stream.close()
