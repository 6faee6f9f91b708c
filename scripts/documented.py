#!/usr/bin/env python3
"""Lists public items whose documentation says too little: fewer than four words, or a mere pointer elsewhere.

    scripts/documented.py     reads the sources of the published crates; `missing_docs` of rustc finds what has none
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ("src", "crates/jpeg/src", "crates/burn/src", "crates/cli/src")
LEAST = 4
ITEM = re.compile(r"\s*pub (?:const |unsafe |async )*(?:fn|struct|enum|trait|const|type|mod|static|union)? ?(\w+)")
# A variant of an enum or a method of a trait has no `pub`.
INNER = re.compile(r"\s+(?:fn (\w+)|(\w+)(?: \{| = .*,|\(.*\),|,|\()\s*$)")
POINTER = re.compile(r"^see\b.*", re.IGNORECASE)


def items(path: Path) -> list[tuple[int, str, str]]:
    """Line, name and documentation of each documented item that may be public."""
    found = []
    said: list[str] = []
    public = False  # within a public enum or trait
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("///"):
            said.append(stripped[3:].strip())
            continue
        if stripped.startswith("#[") or (said and stripped.startswith(")]")):
            continue
        if line.startswith("}"):
            public = False
        item = ITEM.match(line) or (INNER.match(line) if public and said else None)
        if item and said:
            found.append((number, next(filter(None, item.groups())), " ".join(said)))
        if re.match(r"pub (?:enum|trait) ", line):
            public = True
        said = []
    return found


def main() -> int:
    short = []
    for crate in CRATES:
        for path in sorted((ROOT / crate).rglob("*.rs")):
            for line, name, said in items(path):
                first = re.split(r"```|# ", said)[0]
                words = re.findall(r"[\w.+/²³\-]+", first)
                if len(words) < LEAST or POINTER.match(first):
                    short.append(f"{path.relative_to(ROOT)}:{line}: {name}: {first.strip()!r}")
    for each in short:
        print(each)
    print(f"{len(short)} public items whose documentation has fewer than {LEAST} words")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
