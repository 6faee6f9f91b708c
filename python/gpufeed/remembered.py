"""What trials of an object of a user's own have found, kept as long as the object is there and holds the same."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from gpufeed import settled


def of_object(code: Any, key: tuple[Any, ...], known: Any, find: Callable[[Any], Any], but: Callable[[str], bool] = lambda name: False) -> Any:
    """Returns what trials of a copy of an object find, as they may change it; ``None`` if it cannot be copied, or if they do."""

    def made() -> Any:
        probe = settled.copied(code)
        found = None if probe is None else find(probe)
        return found if found is not None and settled.same_state(code, probe, but) else None

    def is_same(before: Any) -> bool:
        return bool(before[0] == known) and settled.same_state(code, before[1])

    return remembered(code, key, is_same, lambda: (known, settled.copied(code)), made)


# What was found of an object, by its identity, as long as it is there.
_FOUND: dict[int, dict[tuple[Any, ...], tuple[Any, Any]]] = {}


def remembered(code: Any, key: tuple[Any, ...], is_same: Callable[[Any], bool], state: Callable[[], Any], make: Callable[[], Any]) -> Any:
    """Returns what was found of the same object before, if its state is still that of then."""
    held = _FOUND.get(id(code), {}).get(key)
    if held is not None and is_same(held[0]):
        return held[1]
    found = make()
    if found is None:
        return None
    try:
        if id(code) not in _FOUND:
            weakref.finalize(code, _FOUND.pop, id(code), None).atexit = False
        _FOUND.setdefault(id(code), {})[key] = state(), found
    except TypeError:
        # Objects of some classes cannot be known to be gone: nothing is kept of them.
        pass
    return found
