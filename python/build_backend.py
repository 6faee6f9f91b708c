"""The build backend that `pip install ./python` calls: maturin's, after a check for a C compiler and a recent Rust.

A missing tool is reported in one sentence before anything is compiled. cargo's own error would be a list of sixty
packages, or the name of an edition or of a linker.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from maturin import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# maturin warns if pyproject.toml names another build backend than maturin. This variable turns the warning off.
os.environ["MATURIN_NO_MISSING_BUILD_BACKEND_WARNING"] = "1"
WANTED = re.search(r'^rust-version = "([\d.]+)"', Path("Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]


def check_compiler() -> None:
    # rustc links with `cc`, whatever the variable CC says, unless a variable of cargo names another linker. On Windows,
    # rustc finds Visual Studio without PATH, or says which part of Visual Studio is missing.
    linkers = [name for name in os.environ if name.startswith("CARGO_TARGET_") and name.endswith("_LINKER")]
    if sys.platform != "win32" and not linkers and not shutil.which("cc"):
        sys.exit(
            "gpufeed needs a C compiler, and there is no `cc` on PATH: install one (Debian, Ubuntu: `apt install build-essential`; "
            "Fedora: `dnf install gcc`; macOS: `xcode-select --install`)."
        )


def fetch_rust() -> None:
    """Downloads Rust and puts it on PATH. maturin would do so, too, but prints a traceback if the download fails."""
    try:
        from puccinialin import setup_rust
    except ModuleNotFoundError:
        return  # pip installs puccinialin later: maturin lists it as a build requirement if there is no cargo
    try:
        os.environ.update(setup_rust())
    except Exception as error:
        sys.exit(f"gpufeed needs Rust {WANTED} or later, which is not on PATH and cannot be fetched ({error}): install it from https://rustup.rs.")


def check_rust() -> None:
    # A distribution may have cargo and rustc from different releases, so both versions are checked. An old cargo
    # refuses the edition 2024, and any cargo refuses an rustc older than `rust-version`.
    for program in ("cargo", "rustc"):
        path = shutil.which(program)
        done = subprocess.run([path, "--version"], capture_output=True, text=True) if path else None
        version = re.match(rf"{program} (\d+)\.(\d+)", done.stdout) if done else None
        if version is None:
            # The message is shown, because the message of a rustup that has no toolchain says what to do.
            said = " ".join(done.stderr.split()) if done else "it is not on PATH"
            sys.exit(f"gpufeed needs Rust {WANTED} or later, and `{program} --version` does not work ({said}): install Rust from https://rustup.rs.")
        if [*map(int, version.groups())] < [*map(int, WANTED.split("."))]:
            sys.exit(
                f"gpufeed needs Rust {WANTED} or later, and {path} is {version[1]}.{version[2]}: run `rustup update stable`, "
                "or install Rust from https://rustup.rs and put ~/.cargo/bin first on PATH."
            )


check_compiler()
if not shutil.which("cargo") and not os.environ.get("MATURIN_NO_INSTALL_RUST"):
    fetch_rust()
if shutil.which("cargo"):
    check_rust()
