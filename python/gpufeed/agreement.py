"""Compares the orders of ranks, of which each takes its share: ``torch.distributed`` has a store that all of them reach.

Rank 0 puts its order there, and the others compare theirs. This is no collective operation: the ranks need not come here in the
same order as to their other communication.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import zlib
from typing import Any

from gpufeed.errors import ArgumentError, RunError
from gpufeed.failures import warn_once_outside

# Longer orders are compared by their hash alone.
_MOST_LISTED = 1 << 24

# Seconds for which a rank waits for the order of rank 0, which may be writing a checkpoint or validating.
PATIENCE = 1800.0

_POLL = 0.02

# Seconds after which a rank no longer waits if rank 0 has an order of another length, and no loader with one of this length.
LENGTHS = 60.0

# The loaders of this process that compare orders, by keyword and length. A loader that one rank alone has shifts the numbers of no
# others but those of its own length.
_loaders: dict[str, int] = {}

# What was said in this process.
_said: set[str] = set()


def _counted(kind: str) -> int:
    _loaders[kind] = _loaders.get(kind, 0) + 1
    return _loaders[kind] - 1


class Agreement:
    """The comparisons of one loader, whose order by ``keyword`` has ``length`` entries."""

    def __init__(self, rank: int, world: int, keyword: str, length: int) -> None:
        self._rank, self._world, self._length = rank, world, length
        # Where rank 0 puts the length of each order that it gives.
        self._lengths = f"gpufeed/order/{keyword}/length"
        self._kind = f"gpufeed/order/{keyword}/of {length}"
        self._number = _counted(self._kind)
        store = _store()
        if rank == 0 and store is not None:
            store.set(f"{self._kind}/made", str(self._number + 1))
        self._asked: dict[int, int] = {}
        # Of rank 0: keys that other ranks have not all read.
        self._put: list[str] = []

    def check(self, keyword: str, epoch: int, order: list[Any]) -> None:
        """Raises an error that names the first difference, unless rank 0 has the same order of the epoch."""
        store = _store()
        if store is None:
            return
        time_of_epoch = self._asked.get(epoch, 0)
        self._asked[epoch] = time_of_epoch + 1
        key = f"{self._kind}/{self._number}/{epoch}/{time_of_epoch}"
        written = json.dumps(order).encode()
        digest = hashlib.blake2b(written, digest_size=16).digest()
        if self._rank == 0:
            store.set(self._lengths, str(self._length))
            store.set(key, digest + (zlib.compress(written, 1) if len(order) <= _MOST_LISTED else b""))
            self._put.append(key)
            read = [each for each in self._put if store.add(f"{each}/read", 0) >= self._world - 1]
            for each in read:
                store.delete_key(each)
                store.delete_key(f"{each}/read")
                self._put.remove(each)
            return
        began = time.monotonic()
        while not store.check([key]):
            waited = time.monotonic() - began
            if waited > LENGTHS and (other := self._other_length(store)) is not None:
                raise ArgumentError(
                    f"{keyword}: {self._length} entries in epoch {epoch}, and rank 0 has {other} and no loader of {self._length}: ranks take their "
                    "shares of one order, so each has to give the same"
                )
            if waited > PATIENCE:
                raise RunError(
                    f"{keyword}: rank 0 has not given its order of {self._length} entries of epoch {epoch} for {PATIENCE:.0f} s, with which "
                    "ranks compare theirs: loaders by a sampler are made, and iterated over, on every rank"
                )
            time.sleep(_POLL)
        found = bytes(store.get(key))
        store.add(f"{key}/read", 1)
        if found[:16] == digest:
            return
        listed = found[16:]
        theirs = json.loads(zlib.decompress(listed)) if listed else None
        raise ArgumentError(
            f"{keyword}: {_difference(order, theirs)} in epoch {epoch}: ranks take their shares of one order, so each has to give the "
            "same; seed the sampler alike and make as many loaders by one on all ranks, or give one that divides the samples itself"
        )

    def _other_length(self, store: Any) -> int | None:
        """Returns the length of the order that rank 0 has given last, if it has no loader with one of this length."""
        made = f"{self._kind}/made"
        if (store.check([made]) and int(store.get(made)) > self._number) or not store.check([self._lengths]):
            return None
        return int(store.get(self._lengths))


def _difference(order: list[Any], theirs: list[Any] | None) -> str:
    if theirs is None:
        return "another order than that of rank 0"
    if len(order) != len(theirs):
        return f"{len(order)} entries, and rank 0 has {len(theirs)},"
    at = next(number for number, (own, other) in enumerate(zip(order, theirs, strict=True)) if own != other)
    if isinstance(order[at], list):
        batch, other = order[at], theirs[at]
        if len(batch) != len(other):
            return f"batch {at} has {len(batch)} samples, and {len(other)} on rank 0,"
        within = next(number for number, (own, each) in enumerate(zip(batch, other, strict=True)) if own != each)
        return f"index {batch[within]} at position {within} of batch {at} is {other[within]} on rank 0"
    return f"index {order[at]} at position {at} is {theirs[at]} on rank 0"


def _store() -> Any:
    """Returns the store of ``torch.distributed``; None where it is not initialised."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    try:
        return distributed.distributed_c10d._get_default_store()
    except AttributeError:
        # It is no part of torch's documented interface.
        if "store" in _said:
            return None
        _said.add("store")
        warn_once_outside(f"gpufeed: torch {sys.modules['torch'].__version__} does not give its store, so orders of ranks are not compared")
        return None
