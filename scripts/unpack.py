#!/usr/bin/env python3
"""Unpacks Debian packages without installing them: drivers and compilers that are newer than the system's.

    scripts/unpack.py SUITE PACKAGE...     such as `trixie spirv-tools libc6 libstdc++6 libgcc-s1`

Prints the folder, target/unpacked/SUITE, which has the packages' files as they would lie under `/`. What is there already
in the archive's version is not downloaded again. Dependencies are not followed: name them. Needs Python 3.10 and the
network.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import platform
import sys
import tarfile
import urllib.request
from pathlib import Path

ARCHIVE = "https://deb.debian.org/debian"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
UNPACKED = Path(__file__).resolve().parent.parent / "target" / "unpacked"


def fetch(path: str) -> bytes:
    with urllib.request.urlopen(f"{ARCHIVE}/{path}", timeout=120) as answer:
        return bytes(answer.read())


def index(suite: str) -> dict[str, dict[str, str]]:
    """The suite's packages with their fields. Of two versions the later entry counts, which is the newer one."""
    machine = MACHINES[platform.machine()]
    text = lzma.decompress(fetch(f"dists/{suite}/main/binary-{machine}/Packages.xz")).decode()
    packages = {}
    for entry in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and not line.startswith(" "))
        if "Package" in fields:
            packages[fields["Package"]] = fields
    return packages


def members(archive: bytes) -> dict[str, bytes]:
    """The members of an `ar` archive, which a package is."""
    if not archive.startswith(b"!<arch>\n"):
        raise ValueError("this is no Debian package")
    found, at = {}, 8
    while at < len(archive):
        header = archive[at : at + 60]
        size = int(header[48:58])
        found[header[:16].decode().strip().rstrip("/")] = archive[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return found


def unpack(suite: str, packages: list[str]) -> Path:
    folder = UNPACKED / suite
    found = index(suite)
    for name in packages:
        if name not in found:
            raise ValueError(f"{suite} has no package {name}")
        mark = folder / ".unpacked" / name
        if mark.exists() and mark.read_text() == found[name]["Version"]:
            continue
        package = fetch(found[name]["Filename"])
        if hashlib.sha256(package).hexdigest() != found[name]["SHA256"]:
            raise ValueError(f"{name}: the file is not the one of the index")
        data = next(content for member, content in members(package).items() if member.startswith("data.tar"))
        with tarfile.open(fileobj=io.BytesIO(data)) as files:
            files.extractall(folder, filter="tar")
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(found[name]["Version"])
        print(f"{suite}: {name} {found[name]['Version']}", file=sys.stderr)
    return folder


def command(folder: Path, program: str) -> list[str]:
    """How to run an unpacked program: by the loader and the C library beside it."""
    libraries = folder / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    loader = next(libraries.glob("ld-linux-*.so.*"))
    return [str(loader), "--library-path", str(libraries), str(folder / "usr" / "bin" / program)]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(unpack(sys.argv[1], sys.argv[2:]))
    except (OSError, ValueError) as error:
        print(f"not to be had: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
