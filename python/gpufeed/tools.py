"""The command's tools as functions: contact sheets and seek indexes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from typing import Any

from gpufeed.arguments import path as _path
from gpufeed.errors import ArgumentError, Error

_DONE, _WRONG_ARGUMENTS, _FINDINGS = 0, 2, 3


def _run(*arguments: str) -> str:
    """Runs the command, and returns what it prints. It runs in a process of its own, because it handles Ctrl-C as a
    program does."""
    command = [sys.executable, "-m", "gpufeed", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace")
    said = done.stderr.strip().removeprefix("error: ") or f"gpufeed {arguments[0]} ended with status {done.returncode}"
    if done.returncode == _WRONG_ARGUMENTS:
        raise ArgumentError(said)
    if done.returncode not in (_DONE, _FINDINGS):
        raise Error(said)
    if done.returncode == _FINDINGS:
        warnings.warn(f"{done.stdout}{done.stderr}".strip(), stacklevel=3)
    return done.stdout


def _options(options: dict[str, Any]) -> list[str]:
    """Converts keyword arguments to the command's options: ``max_side=500`` is ``--max-side 500``."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


class Sheet:
    """A contact sheet. It shows samples of a data set, and what a recipe makes of them."""

    def __init__(self, png: bytes) -> None:
        self.png = png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the sheet as a PNG."""
        with open(path, "wb") as file:
            file.write(self.png)

    def _repr_png_(self) -> bytes:
        return self.png


def preview(data: str | os.PathLike[str], recipe: str = "imagenet-train", **options: Any) -> Sheet:
    """Draws a contact sheet of ``data`` under ``recipe``. Options are those of ``gpufeed preview --help``, with ``_``
    for ``-``, such as ``samples=8`` and ``seed=3``."""
    folder = tempfile.mkdtemp(prefix="gpufeed-")
    try:
        out = os.path.join(folder, "sheet.png")
        _run("preview", _path("data", data), "--recipe", recipe, "--out", out, *_options(options))
        with open(out, "rb") as file:
            return Sheet(file.read())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def index(data: str | os.PathLike[str], **options: Any) -> str:
    """Builds the seek indexes of all JPEGs of a data set ahead of its first epoch, as ``gpufeed index`` does, and returns
    what that prints. Files that cannot be used are a warning."""
    return _run("index", _path("data", data), *_options(options))
