"""What programs printed, as data. Pure functions; unfinished output is read as far as it goes."""

from __future__ import annotations

import json
import re
from typing import Dict, List, Optional, Tuple

TEST = re.compile(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
# libtest prints the result on a line of its own where the test has printed something.
PANIC = re.compile(
    r"^thread '([^']*)'(?: \(\d+\))? panicked at [^\n]*:\n(.*?)"
    r"(?=^(?:thread '|test \S+ \.\.\. |note: run with|note: Some details|stack backtrace:|failures:|test result:)|\Z)",
    re.MULTILINE | re.DOTALL,
)
DISTANCE = re.compile(
    r"^\s*(.+?): value (\d+) is ([^,\s]+), not (?:about )?([^:\s]+)(?:: (\S+) > (\S+))?$", re.MULTILINE
)


def tests(output: str, listed: List[str]) -> Dict[str, List[str]]:
    """The tests that passed, failed, and have no result."""
    results = dict(TEST.findall(output))
    return {
        "passed": sorted(name for name, result in results.items() if result == "ok"),
        "failed": sorted(name for name, result in results.items() if result == "FAILED"),
        "unfinished": sorted(name for name in listed if name not in results),
    }


def listed(output: str) -> List[str]:
    """The names that `--list` prints."""
    return re.findall(r"^(\S+): test$", output, re.MULTILINE)


def panics(output: str) -> List[Tuple[str, str]]:
    """The thread of each panic, which has the test's name, and its message."""
    return [(thread, message.rstrip()) for thread, message in PANIC.findall(output)]


def distances(output: str) -> List[dict]:
    """The cases whose values were too far off: each value that a comparison names."""
    found = []
    for case, index, seen, expected, distance, bar in DISTANCE.findall(output):
        found.append(
            {
                "case": case,
                "value": int(index),
                "is": number(seen),
                "not": number(expected),
                "distance": number(distance) if distance else apart(seen, expected),
                "allowed": number(bar) if bar else None,
            }
        )
    return found


def number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def apart(a: str, b: str) -> Optional[float]:
    first, second = number(a), number(b)
    return None if first is None or second is None else abs(first - second)


def bits(output: str) -> Dict[str, str]:
    """Each case's hashes, or what was said instead: `CPU, deit, cache off, views 1` and `0123456789abcdef 0123…`."""
    return dict(re.findall(r"^(.+, views \d+): (.+)$", output, re.MULTILINE))


def differing(a: Dict[str, str], b: Dict[str, str]) -> Tuple[int, List[str]]:
    """How many cases both have, and those whose bits differ."""
    both = [name for name in a if name in b]
    return len(both), [name for name in both if a[name] != b[name]]


def cache_differs(found: Dict[str, str]) -> Tuple[int, List[str]]:
    """How many cases with a cache stand beside the one without, and those whose bits differ. Caches in bytes round."""
    compared, different = 0, []
    for name, value in found.items():
        for kept in ("cache host", "cache device"):
            beside = found.get(name.replace(f", {kept}, ", ", cache off, "))
            if f", {kept}, " in name and beside is not None:
                compared += 1
                if beside != value:
                    different.append(name)
    return compared, different


def by_place(found: Dict[str, str]) -> Dict[str, Dict[str, str]]:
    """The cases of each place: `CPU`, `NAME (Vulkan), copied up`, `NAME (Vulkan), shaders`."""
    places: Dict[str, Dict[str, str]] = {}
    for name, value in found.items():
        parts = re.match(r"^(.+), ([\w-]+, cache [\w ]+, views \d+)$", name)
        if parts:
            places.setdefault(parts[1], {})[parts[2]] = value
    return places


def handed_over(output: str) -> List[dict]:
    """The lines of the probe of external memory: each adapter's consumers and orders."""
    found = []
    for kind, rest in re.findall(r"^(result|failed|not possible): (adapter=.*)$", output, re.MULTILINE):
        said, _, reason = rest.partition(": ")
        fields = dict(field.split("=", 1) for field in said.split(" ") if "=" in field)
        row = {
            "adapter": int(fields["adapter"]),
            "consumer": fields["consumer"],
            "order": fields["order"],
            "kind": kind,
        }
        if kind == "result":
            row.update(
                hand_overs=int(fields["hand-overs"]),
                wrong=int(fields["wrong"]),
                milliseconds=float(fields["milliseconds"]),
            )
        else:
            row["reason"] = reason
        found.append(row)
    return found


def result(output: str) -> Optional[dict]:
    """The last line `RESULT {json}`."""
    lines = re.findall(r"^RESULT (\{.*\})$", output, re.MULTILINE)
    return json.loads(lines[-1]) if lines else None


def last_words(*texts: str) -> str:
    """The end of what a failing program said, on one line."""
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return " / ".join(lines[-2:])[-300:]
    return "it said nothing"


def switches(help_text: str) -> Dict[str, List[str]]:
    """The values of each `--switch NAME=VALUE` that the long help of `gpufeed bench` lists, as `name=one|other: ...`."""
    found = re.findall(r"^ +([a-z][\w-]*)=([\w.|-]+): ", help_text, re.MULTILINE)
    return {name: values.split("|") for name, values in found}
