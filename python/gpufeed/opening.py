"""Opening a path with the keywords of ``gpufeed.open``."""

from __future__ import annotations

import json
from typing import Any

from gpufeed import _gpufeed, arguments
from gpufeed.errors import ArgumentError


def open_path(data: Any, keywords: dict[str, Any]) -> _gpufeed.Dataset:
    """The data set at a path or an address, with keywords that have been checked."""
    return _gpufeed.Dataset.open(arguments.path("data", data), json.dumps(keywords))


def reopen(path: str, keywords: str, test: bool) -> _gpufeed.Dataset:
    """The data set of a pickle: that of a path, or its test split."""
    data = _gpufeed.Dataset.open(path, keywords)
    if not test:
        return data
    if data.test is None:
        raise ArgumentError(f"data: {data.description} had a test split when it was pickled, and has none here")
    return data.test
