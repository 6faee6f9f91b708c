"""gpufeed's exceptions. Each is an :class:`Error`, and also the built-in exception that a script would catch."""

from __future__ import annotations


class Error(Exception):
    """An error of gpufeed. ``kind`` is the name of its case, as in the Rust library's ``ErrorKind``."""

    kind: str = "Other"


class ArgumentError(Error, ValueError):
    """A setting or argument has a value that cannot work; the text begins with its name."""

    kind = "Argument"


class FileError(Error, OSError):
    """A file or folder cannot be read or written."""

    kind = "Io"

    def __str__(self) -> str:
        # The text that OSError makes would show the filename, and leave the reason out.
        return str(self.args[0]) if self.args else ""


class DataError(Error, ValueError):
    """A data set or one of its samples cannot be used. For a data set in Python, ``__cause__`` is its exception."""

    kind = "DataFile"


class OutOfMemoryError(Error, MemoryError):
    """Memory, or the loader's ``memory_budget``, is used up; the text says which setting to change."""

    kind = "OutOfMemory"


class RunError(Error, RuntimeError):
    """A run cannot go on: a lost GPU, a closed loader, a fork, or a fault of gpufeed's."""

    kind = "Device"
