"""Checks the content of a saved state before it is used: whole numbers and words by their names, and the turn of a
fleet."""

from __future__ import annotations

import json
from typing import Any

from gpufeed.errors import ArgumentError

_TURN = ("actors", "world", "batch_size", "taken")


def text(state: Any) -> str:
    """Returns the JSON of a ``state_dict()``."""
    content = state.get("gpufeed") if isinstance(state, dict) else None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ArgumentError("state: not a state of gpufeed.DataLoader.state_dict()")
    for key, value in content.items():
        if key != "turn" and not isinstance(value, str):
            number(key, value)
    turn(content)
    return json.dumps(content)


def turn(content: dict[str, Any]) -> dict[str, int] | None:
    """Returns the place within a round of a fleet's actors, and the numbers of that fleet; ``None`` if the state is at
    the beginning of a round."""
    if "turn" not in content:
        return None
    found = content["turn"]
    if not isinstance(found, dict) or {*found} != {*_TURN}:
        raise ArgumentError(f"state: turn is {found!r}; one has {', '.join(_TURN)}")
    numbers = {key: number(f"turn's {key}", found[key]) for key in _TURN}
    if not 0 < numbers["taken"] < numbers["actors"]:
        raise ArgumentError(
            f"state: {numbers['taken']} batches were taken of a round of {numbers['actors']} actors; within a round 1 to "
            f"{numbers['actors'] - 1} are"
        )
    return numbers


def number(key: str, value: Any) -> int:
    """Takes a whole number of a state."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"state: {key} is {value!r}, a {type(value).__name__}; a whole number works")
    if not 0 <= value < 1 << 64:
        raise ArgumentError(f"state: {key} is {value}; a whole number from 0 to {(1 << 64) - 1} works")
    return value
