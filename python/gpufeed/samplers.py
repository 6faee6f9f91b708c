"""Orders of samples by the user: ``sampler=`` and ``batch_sampler=`` of a loader.

An order is asked on the thread that iterates, once an epoch, and its indices are given to the native loader before the run
comes to them. So a sampler that draws from torch's global generator draws where the program can see it.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from gpufeed import _gpufeed
from gpufeed.agreement import Agreement
from gpufeed.errors import ArgumentError
from gpufeed.iterator import Run
from gpufeed.shard import Shard, resolve
from gpufeed.told_epochs import TellsEpochs, is_number as _is_number

# The attributes in which samplers of torch, timm and torchvision, and those of accelerate, have the rank and the number of ranks.
_SHARES = (("rank", "num_replicas"), ("process_index", "num_processes"))

# A larger index is none of any data set, and does not fit into the native module's type.
_MOST = 1 << 63


class Order(Protocol):
    """The order of a loader's samples that is no setting."""

    @property
    def share(self) -> tuple[int, int] | None:
        """The rank and the number of ranks, if the order has divided the samples among them already."""

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""

    def give(self, native: _gpufeed.Loader, epoch: int) -> None:
        """Gives the order of an epoch to the native loader, if that does not make it."""

    def own_epoch(self) -> int | None:
        """Returns the epoch to which the user has set the order since it was asked last."""


class Native:
    """An order that the native loader makes."""

    @property
    def share(self) -> tuple[int, int] | None:
        """None: the loader divides the order among the ranks."""
        return None

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""
        raise NotImplementedError

    def give(self, native: _gpufeed.Loader, epoch: int) -> None:
        """Gives nothing."""

    def own_epoch(self) -> int | None:
        """Returns None: the loader's epoch is the order's."""
        return None


class UserOrder:
    """An iterable of indices, or of batches, or a function of the epoch that returns one."""

    # How often the order was asked: the number of an epoch in errors, where epochs are drawn.
    _asked, _is_drawn = 0, False
    # The size of the largest batch of epoch 0, where it bounds those of all epochs.
    _greatest: int | None = None

    def __init__(self, keyword: str, given: Any) -> None:
        self._keyword, self._given = keyword, given
        self._batches = keyword == "batch_sampler"
        what = "batches" if self._batches else "indices"
        self._is_function = callable(given) and not hasattr(given, "__iter__")
        takes = self._is_function or hasattr(given, "__iter__") or hasattr(given, "__getitem__")
        if not takes or isinstance(given, (str, bytes, Mapping, set, frozenset)):
            raise self._refused(f"a {type(given).__name__}; an iterable of {what}, and a function of the epoch that returns one, work")
        if hasattr(given, "__next__"):
            raise self._refused(
                f"a {type(given).__name__}, which ends with one epoch; an iterable of {what}, and a function of the epoch that "
                "returns one, work"
            )
        self._share = _share_of(given)
        # Compares the order with those of other ranks, where these can be reached.
        self.agreement: Agreement | None = None
        # The order of the first epoch, if it was asked before any run. An object without epochs has it for the first run, whichever epoch
        # that is.
        self._kept: tuple[int | None, list[Any]] | None = None
        self._is_drawn = getattr(given, "epochs_are_drawn", False)
        self._told = TellsEpochs(given)
        self._length = self._length_of()

    def _refused(self, reason: str) -> ArgumentError:
        return ArgumentError(f"{self._keyword}: {reason}")

    def _length_of(self) -> int:
        try:
            return len(self._given)
        except (TypeError, NotImplementedError):
            return len(self._first())

    def _first(self) -> list[Any]:
        """Returns the order of epoch 0, which the first run takes."""
        if self._kept is None:
            has_epochs = self._is_function or self._told.has_epochs
            self._kept = 0 if has_epochs else None, self._ask(0)
        return self._kept[1]

    def greatest_batch(self) -> int:
        """Returns the size of the largest batch: what a batch sampler says itself, else that of epoch 0."""
        own = getattr(self._given, "batch_size", None)
        if _is_number(own) and own > 0:
            return own
        self._greatest = max(map(len, self._first()), default=1) or 1
        return self._greatest

    @property
    def share(self) -> tuple[int, int] | None:
        """The rank and the number of ranks of a sampler that has divided the samples."""
        return self._share

    @property
    def name(self) -> str:
        """The order in words."""
        if self._is_function:
            return f"the function {getattr(self._given, '__name__', type(self._given).__name__)}"
        return type(self._given).__name__

    def written(self) -> dict[str, Any]:
        """Returns the order as the native module reads it."""
        what = "batches by" if self._batches else "by"
        name = f"{what} {self.name}" + ("" if self._share is None or self._share[1] == 1 else ", of this rank alone")
        whole = self._share is None or self._share[1] == 1
        return {"given": {"len": self._length, "batches": self._batches, "whole": whole, "name": name}}

    def give(self, native: _gpufeed.Loader, epoch: int) -> None:
        """Asks for the order of an epoch, and gives it to the native loader."""
        if self._kept is not None and self._kept[0] in (None, epoch):
            order = self._kept[1]
        else:
            order = self._ask(epoch)
        self._kept = None
        if self.agreement is not None:
            self.agreement.check(self._keyword, epoch, order)
        said = self._asked - 1 if self._is_drawn else epoch
        self._check_sizes(order, said)
        try:
            if self._batches:
                native.give_batches(epoch, order)
            else:
                native.give_samples(epoch, order)
        except ArgumentError as error:
            raise error if said == epoch else ArgumentError(str(error).replace(f"epoch {epoch} ", f"epoch {said} ")) from None

    def _check_sizes(self, order: list[Any], epoch: int) -> None:
        if self._greatest is None:
            return
        for number, batch in enumerate(order):
            if len(batch) > self._greatest:
                what = "an attribute batch_size of the sampler" if self._is_drawn else "batch_size="
                raise self._refused(
                    f"batch {number} of epoch {epoch} has {len(batch)} samples, and the largest of epoch 0, for which memory was set aside, had "
                    f"{self._greatest}; {what} says how many a batch may have"
                )

    @property
    def kind(self) -> tuple[str, int]:
        """The keyword, and the length of an epoch."""
        return self._keyword, self._length

    def own_epoch(self) -> int | None:
        """Returns the epoch to which the user has set the object since it was asked last, as ``sampler.set_epoch`` does."""
        return self._told.by_user()

    def _ask(self, epoch: int) -> list[Any]:
        # The epoch that errors name.
        said = self._asked if self._is_drawn else epoch
        self._asked += 1
        with self._told.telling(epoch):
            return self._listed(epoch, said)

    def _listed(self, epoch: int, said: int) -> list[Any]:
        order = self._given(epoch) if self._is_function else self._given
        if not hasattr(order, "__iter__") and not hasattr(order, "__getitem__"):
            raise self._refused(f"epoch {said} is a {type(order).__name__}; an iterable works")
        if not self._batches:
            return self._indices(order, "", said)
        batches = []
        for number, batch in enumerate(order):
            if not hasattr(batch, "__iter__") or getattr(batch, "shape", None) == () or isinstance(batch, (str, bytes)):
                raise self._refused(
                    f"batch {number} of epoch {said} is {batch!r}, a {type(batch).__name__}; a list of indices works, and single "
                    "indices are passed as sampler="
                )
            batches.append(self._indices(batch, f"batch {number}, ", said))
        return batches

    def _indices(self, order: Iterable[Any], place: str, epoch: int) -> list[int]:
        """Takes whole numbers; an error names the first that is none."""
        values: list[Any] = order.tolist() if hasattr(order, "tolist") else [*order]
        kinds = {*map(type, values)}
        if kinds - {int}:
            values = [self._index(value, place, position, epoch) for position, value in enumerate(values)]
        if values and (min(values) < 0 or max(values) >= _MOST):
            position = next(at for at, value in enumerate(values) if not 0 <= value < _MOST)
            why = "indices count from 0" if values[position] < 0 else "no data set has so many samples"
            raise self._refused(f"index {values[position]} at {place}position {position} of epoch {epoch}; {why}")
        return values

    def _index(self, value: Any, place: str, position: int, epoch: int) -> int:
        try:
            if isinstance(value, bool):
                raise TypeError
            return operator.index(value)
        except TypeError:
            pass
        what = f"{value!r} at {place}position {position} of epoch {epoch} is a {type(value).__name__}; a whole number works"
        if isinstance(value, (list, tuple)) and not self._batches:
            what += ", and batches are passed as batch_sampler="
        raise self._refused(what)


def _share_of(given: Any) -> tuple[int, int] | None:
    """Returns the rank and the number of ranks of a sampler that divides the samples itself."""
    for of in (given, getattr(given, "sampler", None), getattr(given, "batch_sampler", None)):
        for names in _SHARES:
            rank, world = (getattr(of, name, None) for name in names)
            if _is_number(rank) and _is_number(world):
                return int(rank), int(world)
    return None


def order_of(sampler: Any, batch_sampler: Any) -> Order | None:
    """Returns the order of a loader's keywords; None without one."""
    if sampler is not None and batch_sampler is not None:
        raise ArgumentError("batch_sampler: given beside sampler; give one of the two")
    if isinstance(sampler, Native):
        return sampler
    if isinstance(batch_sampler, Native):
        raise ArgumentError(f"batch_sampler: a {type(batch_sampler).__name__}, an order of samples; pass it as sampler=")
    if sampler is not None:
        return UserOrder("sampler", sampler)
    return None if batch_sampler is None else UserOrder("batch_sampler", batch_sampler)


def share_of(order: Order | None, shard: Any) -> tuple[Shard, str]:
    """Returns the shard of a native loader and the name of its source: all of an order that is this rank's alone already."""
    own = None if order is None else order.share
    if own is None:
        return resolve(shard)
    name = order.name if isinstance(order, UserOrder) else ""
    if shard not in ("auto", None):
        raise ArgumentError(
            f"shard: {shard!r}, but {name} has divided the samples itself: rank {own[0]} of {own[1]}; leave shard= out"
        )
    (rank, world), source = resolve(shard)
    if world > 1 and (rank, world) != own:
        raise ArgumentError(
            f"sampler: {name} divides the samples for rank {own[0]} of {own[1]}, but this process is rank {rank} of {world} by "
            f"{source}; make it with num_replicas={world}, rank={rank}"
        )
    return (0, 1), f"{name}, which has divided the samples itself: rank {own[0]} of {own[1]}"


def started(order: Order, native: _gpufeed.Loader, state: str, end: int) -> Run:
    """Starts a run from a state up to but excluding epoch ``end``, with the orders of its epochs."""
    content = json.loads(state)
    epoch, position = content["epoch"], content.get("position", content.get("batch"))
    # Within an epoch the order is the one that its first batches had.
    if position == 0 or not native.knows(epoch):
        order.give(native, epoch)
    return Ordered(native.resume(state, end), order, native, end)


def give_for(order: Order, native: _gpufeed.Loader, state: str) -> None:
    """Gives the order with which a loaded state is compared."""
    # The state counts, in the place of an epoch that the user has set before.
    order.own_epoch()
    content = json.loads(state)
    if not content.get("position"):
        return
    epoch = content["epoch"]
    if native.knows(epoch):
        try:
            native.place(state)
            return
        except ArgumentError:
            # The order may have been asked for another iteration of this epoch.
            pass
    order.give(native, epoch)


class Ordered(Run):
    """A run that gives the order of the next epoch once it is in the one before. An error of that order is raised after the
    last batch of the epoch before."""

    def __init__(self, run: Run, order: Order, native: _gpufeed.Loader, end: int) -> None:
        self._run, self._order, self._native, self._end = run, order, native, end
        self._batches = len(native)
        self._epoch: int | None = None
        # True after the last batch of an epoch.
        self._is_last = False
        self._failed: Exception | None = None

    def next(self) -> Any:
        """Returns the next batch, or None after the last one."""
        if self._failed is not None and self._is_last:
            raise self._failed
        batch = self._run.next()
        if batch is None:
            return None
        self._is_last = batch.index + 1 == self._batches
        if batch.epoch != self._epoch:
            self._epoch = batch.epoch
            try:
                if batch.epoch + 1 < self._end:
                    self._order.give(self._native, batch.epoch + 1)
            except Exception as error:
                self._failed = error
        return batch

    def ready(self) -> bool:
        """Returns True if ``next`` would not wait."""
        return self._run.ready()

    def close(self) -> None:
        """Ends the run."""
        self._run.close()

    def __len__(self) -> int:
        """Returns the number of batches that are left."""
        return len(self._run)

