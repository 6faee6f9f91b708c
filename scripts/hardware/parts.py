"""The packed folder: archives, and the file that says what is in them."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import tarfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

MANIFEST = "manifest.json"
LIMIT = 60 << 20
# Programs have the same crates inside: with a dictionary as large as all of them together they take half of the bytes.
PROGRAMS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 192 << 20}]
DATA = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 32 << 20}]


class Part(NamedTuple):
    """An archive of the folder, or a part that is not there and why."""

    name: str
    holds: str
    files: int
    bytes: int
    packed: int
    sha256: str
    missing: Optional[str] = None


def write(folder: Path, name: str, holds: str, members: Dict[str, Path], filters: Optional[List[dict]] = None) -> Part:
    """Archives files under the names of `members`; without filters nothing is compressed."""
    archive = folder / (f"{name}.tar.xz" if filters else f"{name}.tar")
    size = 0
    opened = lzma.open(archive, "wb", filters=filters) if filters else open(archive, "wb")
    with opened as out, tarfile.open(fileobj=out, mode="w|") as tar:
        for member, path in sorted(members.items()):
            # Owners, dates and the places of the packing machine stay here.
            entry = tarfile.TarInfo(member)
            entry.size, entry.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
            size += entry.size
            with open(path, "rb") as file:
                tar.addfile(entry, file)
    return Part(name, holds, len(members), size, archive.stat().st_size, digest(archive))


def missing(name: str, holds: str, reason: str) -> Part:
    return Part(name, holds, 0, 0, 0, "", reason)


def digest(path: Path) -> str:
    seen = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            seen.update(block)
    return seen.hexdigest()


def save(folder: Path, facts: dict, parts: List[Part]) -> None:
    text = json.dumps({**facts, "parts": [part._asdict() for part in parts]}, indent=1)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def load(folder: Path) -> dict:
    """The manifest, its parts as `Part`."""
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}: scripts/hardware.sh pack makes the folder")
    facts = json.loads(path.read_text(encoding="utf-8"))
    return {**facts, "parts": [Part(**part) for part in facts["parts"]]}


def unpack(folder: Path, part: Part, into: Path) -> None:
    archive = next(
        (path for path in (folder / f"{part.name}.tar.xz", folder / f"{part.name}.tar") if path.is_file()), None
    )
    if archive is None:
        raise FileNotFoundError(f"{folder} has no archive of {part.name}")
    if digest(archive) != part.sha256:
        raise ValueError(f"{archive.name} is damaged: its SHA-256 is not the manifest's")
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            target = into / member.name
            if (
                not member.isfile()
                or ".." in Path(member.name).parts
                or target.is_absolute()
                and into not in target.parents
            ):
                raise ValueError(f"{archive.name} has {member.name!r}, which is no file below the folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            assert content is not None
            with content, open(target, "wb") as out:
                for block in iter(lambda: content.read(1 << 20), b""):
                    out.write(block)
            target.chmod(member.mode)


def version(text: str) -> Tuple[int, ...]:
    """A version's numbers; empty for a text that begins with none, which is before all others."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def glibc(path: Path) -> str:
    """The newest glibc that a program asks for, such as 2.34; empty for none."""
    found = {tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(\d+\.\d+)", path.read_bytes())}
    return ".".join(map(str, max(found))) if found else ""


def table(parts: List[Part], folder: Path) -> str:
    """The sizes of all parts, and of the folder."""

    def mib(count: int) -> str:
        return f"{count / (1 << 20):6.1f}"

    lines = [f"{'part':<12} {'files':>6} {'MiB':>7} {'packed':>7}  holds"]
    for part in parts:
        note = f"NOT THERE: {part.missing}" if part.missing else part.holds
        lines.append(f"{part.name:<12} {part.files:>6} {mib(part.bytes):>7} {mib(part.packed):>7}  {note}")
    lines.append(f"{'the folder':<12} {'':>6} {'':>7} {mib(total(folder)):>7}  at most {LIMIT >> 20}")
    return "\n".join(lines)


def total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
