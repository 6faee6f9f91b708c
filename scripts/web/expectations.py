"""What scripts/web/check.py says, and how it fails."""

from __future__ import annotations

import time

BEGIN = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:5.1f} s  {text}", flush=True)


def expect(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(what)
