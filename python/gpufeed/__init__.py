"""gpufeed: augmented image batches for training loops, decoded on threads and handed over without a copy."""

from __future__ import annotations

import atexit as _atexit

from gpufeed import _gpufeed
from gpufeed._gpufeed import Array, Batch, Dataset, Failure, __version__
from gpufeed.errors import ArgumentError, DataError, Error, FileError, OutOfMemoryError, RunError
from gpufeed.loader import DataLoader
from gpufeed.tools import Sheet, index, pack, preview

__all__ = [
    "ArgumentError",
    "Array",
    "Batch",
    "DataError",
    "DataLoader",
    "Dataset",
    "Error",
    "Failure",
    "FileError",
    "OutOfMemoryError",
    "RunError",
    "Sheet",
    "__version__",
    "index",
    "open",
    "pack",
    "preview",
    "recipes",
]


def open(path: str) -> Dataset:
    """Opens the data set at ``path``, in any of gpufeed's formats: a folder of class folders, tar shards, an LMDB, MNIST's
    and CIFAR's files, ``.npy`` and ``.npz``, a list in CSV or JSON lines."""
    return Dataset.open(path)


def recipes() -> list[str]:
    """The names of the built-in recipes."""
    return _gpufeed.recipe_names()


# A thread that asks for the interpreter's lock after its end would wait for ever.
_atexit.register(_gpufeed.end_all)
