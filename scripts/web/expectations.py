"""The functions by which scripts/web/check.py prints what it has checked, and fails where a check does not hold."""

from __future__ import annotations

import time

BEGIN = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:5.1f} s  {text}", flush=True)


def expect(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(what)
