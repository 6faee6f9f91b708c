"""gpufeed: augmented image batches for training loops, decoded on threads and handed over without a copy."""

from __future__ import annotations

import atexit as _atexit
from typing import Any

from gpufeed import _gpufeed, arguments as _arguments
from gpufeed._gpufeed import Array, Batch, Dataset, Failure, __version__
from gpufeed.errors import ArgumentError, DataError, Error, FileError, OutOfMemoryError, RunError
from gpufeed.loader import DataLoader, open_path as _open
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


def open(path: Any, *, remote_cache: Any = None, counts: Any = None) -> Dataset:
    """Opens the data set at ``path``, in any of gpufeed's formats: a folder of class folders, tar shards, Parquet files, an
    LMDB, MNIST's and CIFAR's files, ``.npy`` and ``.npz``, a list in CSV or JSON lines; tar shards and Parquet files also
    by an address, ``s3://bucket/train-{000..146}.tar``. ``remote_cache`` and ``counts`` are those of :class:`DataLoader`."""
    return _open(path, _arguments.remote_cache(remote_cache), counts)


def recipes() -> list[str]:
    """The names of the built-in recipes."""
    return _gpufeed.recipe_names()


# A thread that asks for the interpreter's lock after its end would wait for ever.
_atexit.register(_gpufeed.end_all)
