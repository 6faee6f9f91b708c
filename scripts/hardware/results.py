"""The folder of results: at most eight files, less than a megabyte, without names of the machine's owner."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, List

# Bytes of each file; together less than a megabyte.
MOST = {
    "table.md": 20_000,
    "results.json": 300_000,
    "log.txt": 400_000,
    "golden-failures.txt": 150_000,
    "bits.txt": 60_000,
    "card.json": 60_000,
}
# Bytes of the log that one program may have.
MOST_OF_ONE = 24_000
UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{32}\b")


class Results:
    """Writes the files, again after each step, so that a run that is killed leaves what it had."""

    def __init__(self, folder: Path, hidden: Dict[str, str]) -> None:
        self.folder = folder
        self.hidden = hidden
        self.uuids: Dict[str, str] = {}
        self.log: List[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        # An earlier run's files would be taken for this one's.
        for name in MOST:
            (folder / name).unlink(missing_ok=True)

    def masked(self, text: str) -> str:
        """Without UUIDs, of which equal ones stay equal, and without the folders of this run and its user."""
        for path, name in self.hidden.items():
            text = text.replace(path, name)
        return UUID.sub(self._uuid, text)

    def _uuid(self, found: "re.Match[str]") -> str:
        plain = found[0].replace("-", "").lower()
        return self.uuids.setdefault(plain, f"uuid-{len(self.uuids) + 1}")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(shortened(self.masked(text), MOST[name]), encoding="utf-8")

    def write_json(self, name: str, value: object) -> None:
        text = json.dumps(value, indent=1)
        # JSON that is cut is none.
        if len(self.masked(text).encode()) > MOST[name]:
            raise ValueError(f"{name} would have {len(text)} bytes; {MOST[name]} are the most")
        self.write(name, text + "\n")

    def add_log(self, text: str) -> None:
        self.log.append(shortened(text, MOST_OF_ONE))
        self.write("log.txt", "\n".join(self.log))


def shortened(text: str, most: int) -> str:
    """A text of at most so many bytes: what is too much is left out of its middle, and the text says so."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    note = f"\n... {len(data) - most} bytes and more are left out ...\n"
    half = (most - len(note)) // 2 - 4
    # A letter that is cut in two goes.
    return data[:half].decode("utf-8", "ignore") + note + data[-half:].decode("utf-8", "ignore")
