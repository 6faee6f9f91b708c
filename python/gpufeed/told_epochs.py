"""The epochs of a user's sampler that has ``set_epoch``: a loader tells it its own, and follows those that the user sets.

A loader tells a number of a class of its own. A sampler whose epoch is a plain number was told it by the user, even if the number is
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard


@dataclass(frozen=True, eq=False)
class _ByHand:
    """An epoch that the user has set: an object for each time."""

    epoch: int


class _Told(int):
    """An epoch that a loader has told. ``hand`` is what the user had set before, which other loaders may have to follow."""

    hand: _ByHand | None = None

    def __copy__(self) -> _Told:
        return self

    def __deepcopy__(self, _: Any) -> _Told:
        return self

    def __reduce__(self) -> Any:
        # A pickle has a plain number.
        return int, (int(self),)


class TellsEpochs:
    """What one loader tells a sampler, or the one inside torch's ``BatchSampler``. Does nothing for objects without ``set_epoch``."""

    def __init__(self, given: Any) -> None:
        self._of: Any = next((of for of in (given, getattr(given, "sampler", None)) if callable(getattr(of, "set_epoch", None))), None)
        # What this loader has followed.
        self._followed: _ByHand | None = None
        # A plain number that the user has not set: at first 0, with which samplers are made.
        self._plain: int | None = 0

    @property
    def has_epochs(self) -> bool:
        """True if the sampler is told epochs."""
        return self._of is not None

    def by_user(self) -> int | None:
        """Returns the epoch that the user has set since this was asked last."""
        hand = self._hand()
        if hand is None or hand is self._followed:
            return None
        self._followed = hand
        if not isinstance(self._of.epoch, _Told):
            self._tell(hand.epoch)
        return hand.epoch

    @contextmanager
    def telling(self, epoch: int) -> Iterator[None]:
        """Tells the sampler an epoch. If the user has set another one, which is still to come, the sampler has this one again
        afterwards."""
        if self._of is None:
            yield
            return
        hand, was = self._hand(), getattr(self._of, "epoch", None)
        waits = hand is not None and hand is not self._followed and hand.epoch != epoch
        if not waits:
            self._followed = hand
        self._tell(epoch)
        try:
            yield
        finally:
            self._look()
            if waits:
                self._of.set_epoch(was)

    def _hand(self) -> _ByHand | None:
        """Returns the epoch that the user has set last, for whichever loader of this sampler."""
        epoch = getattr(self._of, "epoch", None)
        if isinstance(epoch, _Told):
            return epoch.hand
        if not is_number(epoch) or epoch < 0 or epoch == self._plain:
            return self._followed
        return _ByHand(epoch)

    def _tell(self, epoch: int) -> None:
        told = _Told(epoch)
        told.hand = self._followed
        self._of.set_epoch(told)
        self._look()

    def _look(self) -> None:
        """Samplers that keep another number than they are told, or go on by themselves, are known by this number."""
        epoch = getattr(self._of, "epoch", None)
        self._plain = None if isinstance(epoch, _Told) or not is_number(epoch) else epoch

    def __getstate__(self) -> dict[str, Any]:
        epoch = getattr(self._of, "epoch", None)
        return self.__dict__ | {"told": int(epoch) if isinstance(epoch, _Told) else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        told = state.pop("told")
        self.__dict__.update(state)
        if told is not None and getattr(self._of, "epoch", None) == told:
            self._tell(told)


def is_number(value: Any) -> TypeGuard[int]:
    """True for whole numbers but for True and False."""
    return isinstance(value, int) and not isinstance(value, bool)
