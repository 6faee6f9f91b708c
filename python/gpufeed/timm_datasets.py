"""timm's ``ImageDataset`` of a folder, which ``timm.data.create_dataset`` makes: its files and classes."""

from __future__ import annotations

import sys
from typing import Any


class Stays(Exception):
    """An object of a library is read in Python. The text says why."""


def is_one(data: Any) -> bool:
    """True for timm's ``ImageDataset``."""
    # Does not import timm: who has one of its objects has imported it.
    of_timm = sys.modules.get("timm.data.dataset")
    return of_timm is not None and isinstance(data, of_timm.ImageDataset)


def folder_of(data: Any) -> Any:
    """Returns the reader of a folder, with its ``root``, its ``samples``, each a path and a class's number, and ``class_to_idx``.
    Raises :class:`Stays` where samples are more than that."""
    kind = type(data)
    of_timm = sys.modules["timm.data.dataset"].ImageDataset
    if kind.__getitem__ is not of_timm.__getitem__ or kind.__len__ is not of_timm.__len__ or hasattr(data, "__getitems__"):
        raise Stays("its __getitem__ is not timm's")
    from timm.data.readers.reader_image_folder import ReaderImageFolder

    reader = data.reader
    if type(reader) is not ReaderImageFolder:
        raise Stays(f"its reader is a {type(reader).__name__}; that of a folder of images is read without Python")
    if data.load_bytes:
        raise Stays("load_bytes is set: its samples are files")
    if data.input_img_mode != "RGB":
        raise Stays(f"input_img_mode is {data.input_img_mode!r}; 'RGB' is read without Python")
    if data.additional_features is not None:
        raise Stays("additional_features is set")
    return reader
