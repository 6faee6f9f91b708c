"""Opening a path: the keywords of ``gpufeed.open`` that belong to one format or another, checked and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: {arguments.given(value)}; a name works")
    return value


def _texts(name: str, value: Any) -> list[str]:
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return list(value)
    raise ArgumentError(f"{name}: {value!r}; a list of texts works")


def _columns(name: str, value: Any) -> str | list[str]:
    if isinstance(value, (list, tuple)) and not value:
        raise ArgumentError(f"{name}: {value!r}, which names no column; leave it out for the one with a usual name")
    return value if isinstance(value, str) else _texts(name, value)


def _delimiter(name: str, value: Any) -> str:
    if isinstance(value, str) and len(value) == 1 and value.isascii():
        return value
    raise ArgumentError(f"{name}: {value!r}; one ASCII character works, such as \";\"")


def _extensions(name: str, value: Any) -> list[str]:
    return [value] if isinstance(value, str) else _texts(name, value)


def _class_names(name: str, value: Any) -> bool | list[str]:
    if isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)) and value:
        return _texts(name, value)
    raise ArgumentError(f"{name}: {value!r}; the names of the classes work, and True and False for a list of files")


def _layout(name: str, value: Any) -> str:
    return arguments.word(name, value, ("nhwc", "nchw", "numbered", "class_and_image", "image"))


def _part(name: str, value: Any) -> str:
    return arguments.word(name, value, ("byclass", "bymerge", "balanced", "letters", "digits", "mnist"))


# Each keyword, and what makes its form for the native module. Which formats know it, `python/src/opening.rs` says.
KEYWORDS: dict[str, Callable[[str, Any], Any]] = {
    "split": _text,
    "label_column": _columns,
    "image_column": _text,
    "allow_unlabelled": arguments.flag,
    "unlabelled": arguments.flag,
    "text_labels": arguments.flag,
    "allow_empty": arguments.flag,
    "extensions": _extensions,
    "class_names": _class_names,
    "root": arguments.path,
    "header": arguments.flag,
    "delimiter": _delimiter,
    "data_layout": _layout,
    "part": _part,
    "indexes": arguments.path,
    "index_memory": arguments.size,
    "put_indexes": arguments.flag,
    "max_file_bytes": arguments.size,
    "max_page_bytes": arguments.size,
}


def taken_from(settings: dict[str, Any]) -> dict[str, Any]:
    """Takes the keywords of formats out of a loader's settings; those that are None are left out."""
    found = {name: settings.pop(name) for name in KEYWORDS if name in settings}
    return {name: value for name, value in found.items() if value is not None}


def as_json(keywords: dict[str, Any]) -> str:
    """The keywords for the native module; empty without any."""
    made = {name: KEYWORDS[name](name, value) for name, value in keywords.items() if value is not None}
    return json.dumps(made) if made else ""


def open_path(
    data: Any, remote_cache: tuple[str, int] | None, counts: Any, keywords: dict[str, Any]
) -> _gpufeed.Dataset:
    """The data set at a path or an address."""
    counts = counts if counts is None else arguments.path("counts", counts)
    return _gpufeed.Dataset.open(arguments.path("data", data), remote_cache, counts, as_json(keywords))


def reopen(
    path: str, remote_cache: tuple[str, int] | None, counts: str | None, keywords: str, test: bool
) -> _gpufeed.Dataset:
    """The data set of a pickle: that of a path, or its test split."""
    data = _gpufeed.Dataset.open(path, remote_cache, counts, keywords)
    if not test:
        return data
    if data.test is None:
        raise ArgumentError(f"data: {data.description} had a test split when it was pickled, and has none here")
    return data.test
