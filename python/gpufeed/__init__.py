"""gpufeed: augmented image batches for training loops, decoded on threads and handed over without a copy."""

from __future__ import annotations

import atexit as _atexit
from typing import Any

from gpufeed import _gpufeed, arguments as _arguments, opening as _opening
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


def open(
    path: Any,
    *,
    split: str | None = None,
    label_column: Any = None,
    image_column: str | None = None,
    allow_unlabelled: bool | None = None,
    unlabelled: bool | None = None,
    text_labels: bool | None = None,
    allow_empty: bool | None = None,
    extensions: Any = None,
    class_names: Any = None,
    root: Any = None,
    header: bool | None = None,
    delimiter: str | None = None,
    data_layout: str | None = None,
    part: str | None = None,
    indexes: Any = None,
    index_memory: Any = None,
    put_indexes: bool | None = None,
    max_file_bytes: Any = None,
    max_page_bytes: Any = None,
    remote_cache: Any = None,
    counts: Any = None,
) -> Dataset:
    """Opens the data set at ``path``, in any of gpufeed's formats: a folder of class folders, tar shards, Parquet files, an
    LMDB, MNIST's and CIFAR's files, ``.npy`` and ``.npz``, a list in CSV or JSON lines; tar shards and Parquet files also
    by an address, ``s3://bucket/train-{000..146}.tar``.

    Keywords for a format; one that the opened format does not know is an error. :class:`DataLoader` takes them, too.

    - ``split``: of Parquet files ``"train"``, ``"validation"`` or ``"test"``, of MNIST's, CIFAR's and ``.npz`` files
      ``"train"`` or ``"test"``. Without it, the training split is opened, and ``.test`` is the other one.
    - ``label_column``, ``image_column``: a column of Parquet files, an array of an ``.npz``, or a column or key of a list of
      files, of which several in a list make a vector. CIFAR-100's own files have ``label_column="coarse_label"`` and
      ``"fine_label"``, the default.
    - ``allow_unlabelled`` (False): tar shards, Parquet files and LMDBs may have samples without a label.
    - ``text_labels``: whether numbers in the ``.txt`` of tar shards are labels; without it, if all of a set's texts are numbers
    - ``unlabelled`` (False): all images below a folder, without labels. ``allow_empty`` (False): a class folder may be empty.
    - ``extensions``: the endings of images in folders and tar shards, ``["jpg", "webp"]``
    - ``class_names``: the names of the classes, for tar shards, Parquet files and LMDBs; for a list of files True, which
      reads numbers in its labels as names
    - ``root``: the folder to which the paths of a list are relative. ``header``: True if a CSV's first line names columns.
      ``delimiter``: what separates its columns, ``";"``
    - ``data_layout``: ``"nhwc"`` or ``"nchw"`` for NumPy's arrays; ``"numbered"``, ``"class_and_image"`` or ``"image"`` for
      an LMDB. ``part``: ``"letters"`` and its like, of EMNIST
    - ``indexes`` (``"beside"``): where indexes of tar shards and Parquet files are kept: ``"beside"`` them, in ``"memory"``
      or in a folder. ``index_memory`` (32 MiB) for the parts of them that are in use. ``put_indexes`` (False) writes them
      beside objects of a store.
    - ``max_file_bytes`` (1 GiB): an image file that is larger is not read, and its sample fails. ``max_page_bytes``: the most
      that a compressed page of Parquet files may become
    - ``remote_cache`` and ``counts`` are those of :class:`DataLoader`.
    """
    keywords = {name: value for name, value in locals().items() if name not in ("path", "remote_cache", "counts")}
    return _opening.open_path(path, _arguments.remote_cache(remote_cache), counts, keywords)


def recipes() -> list[str]:
    """The names of the built-in recipes."""
    return _gpufeed.recipe_names()


# A thread that asks for the interpreter's lock after its end would wait for ever.
_atexit.register(_gpufeed.end_all)
