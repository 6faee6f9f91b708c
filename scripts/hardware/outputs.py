"""What programs printed, as data. Pure functions; unfinished output is read as far as it goes."""

from __future__ import annotations

import json
import math
import re
from typing import Dict, List, Optional, Tuple

TEST = re.compile(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
# libtest prints the result on a line of its own where the test has printed something.
PANIC = re.compile(
    r"^thread '([^']*)'(?: \(\d+\))? panicked at [^\n]*:\n(.*?)"
    r"(?=^(?:thread '|test \S+ \.\.\. |note: run with|note: Some details|stack backtrace:|failures:|test result:)|\Z)",
    re.MULTILINE | re.DOTALL,
)
# The comparisons of `crates/testing/src/compare.rs` and `vectors.rs`, then those of `tests/pixels/sequences.rs` and
# `same_bytes.rs`, which name the case last.
DISTANCE = re.compile(
    r"^\s*(?P<case>.+?): value (?P<index>\d+) is (?P<seen>[^,\s]+), not (?:about )?(?P<expected>[^:\s]+)"
    r"(?:: (?P<distance>\S+) > (?P<bar>\S+))?$"
    r"|^\s*(?P<levels>.+?): (?P<count>\d+) values are one level off, (?P<most>\d+) may be$"
    r"|^\s*(?:\d+ values, )?value (?P<index_>\d+) is (?P<seen_>[^,\s]+), not (?P<expected_>[^:\s]+)"
    r"(?: in (?P<low>\S+) to (?P<high>[^:\s]+))?: (?P<case_>.+)$",
    re.MULTILINE,
)
# Letters of a case's name: a list of transforms as JSON is longer.
NAME = 160
SUMMARY = re.compile(r"^test result: ", re.MULTILINE)
FAILURES = re.compile(r"^failures:\n((?:    \S+\n)+)", re.MULTILINE)


def tests(output: str, listed: List[str]) -> Dict[str, List[str]]:
    """The tests that passed, failed, and have no result."""
    results = dict(TEST.findall(output))
    if SUMMARY.search(output):
        # All have ended. What another test printed may stand between a test's name and its result, but not in the list
        # of failures.
        failed = set(" ".join(FAILURES.findall(output)).split())
        ended = {*listed, *results, *failed}
        results = {name: "FAILED" if name in failed else results.get(name, "ok") for name in ended}
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
    for match in DISTANCE.finditer(output):
        of = match.groupdict()
        if of["levels"]:
            row = off(of["levels"], None, f"{of['count']} values one level off", f"at most {of['most']}", 1.0, None)
        elif of["case"]:
            seen, expected = of["seen"], of["expected"]
            distance = number(of["distance"]) if of["distance"] else apart(seen, expected)
            row = off(of["case"], of["index"], shown(seen), shown(expected), distance, number(of["bar"]))
        else:
            seen, expected = of["seen_"], of["expected_"]
            bars = [apart(end, expected) for end in (of["low"], of["high"]) if end]
            allowed = max((bar for bar in bars if bar is not None), default=None)
            row = off(of["case_"], of["index_"], shown(seen), shown(expected), apart(seen, expected), allowed)
        found.append(row)
    return found


def off(case: str, index: Optional[str], seen: object, expected: object, distance: object, allowed: object) -> dict:
    case = case if len(case) <= NAME else case[:NAME] + "..."
    value = int(index) if index else None
    return {"case": case, "value": value, "is": seen, "not": expected, "distance": distance, "allowed": allowed}


def number(text: Optional[str]) -> Optional[float]:
    """`None` also for NaN and infinity: JSON has no such numbers."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def shown(text: str) -> object:
    found = number(text)
    return text if found is None else found


def apart(a: str, b: str) -> Optional[float]:
    first, second = number(a), number(b)
    return None if first is None or second is None else abs(first - second)


def bits(output: str) -> Dict[str, str]:
    """Each case's hashes: `CPU, deit, cache off, views 1` and `0123456789abcdef 0123…`."""
    return dict(re.findall(r"^(.+, views \d+): ([0-9a-f]{16} [0-9a-f]{16})$", output, re.MULTILINE))


def errors_of_bits(output: str) -> List[str]:
    """What was said in the place of a case's hashes, or of all hashes of an adapter."""
    said = re.findall(r"^(?!.*: [0-9a-f]{16} [0-9a-f]{16}$|.*: it has no shaders$)(.+: .+)$", output, re.MULTILINE)
    return [line[:200] for line in said]


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
