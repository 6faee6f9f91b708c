"""Compares the names of all tests with `tests/names.txt`, so that none disappears unnoticed.

    python3 scripts/test_names.py [--renew]     --renew writes the list; a commit that renames or removes a test does so

Reads the sources: each function under `#[test]`, by its name alone, as often as it occurs.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests/names.txt"
TEST = re.compile(r"#\[test\]\s*(?:(?:#\[[^\]]*\]|//[^\n]*)\s*)*fn (\w+)")


def found():
    files = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    texts = ((ROOT / file) for file in files.split())
    return Counter(name for file in texts if file.exists() for name in TEST.findall(file.read_text()))


def main(arguments):
    names = found()
    if arguments == ["--renew"]:
        LIST.write_text("".join(f"{name}\n" for name in sorted(names.elements())))
        print(f"{names.total()} tests in {LIST.relative_to(ROOT)}")
        return
    listed = Counter(LIST.read_text().split())
    gone, new = listed - names, names - listed
    for title, difference in [("gone", gone), ("not in the list", new)]:
        if difference:
            print(f"{title}: {', '.join(sorted(difference.elements()))}")
    if gone or new:
        sys.exit("renew tests/names.txt where this is meant: python3 scripts/test_names.py --renew")
    print(f"{names.total()} tests, all of them listed")


main(sys.argv[1:])
