"""What all tests share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from gpufeed import _gpufeed


@pytest.fixture(autouse=True)
def _no_warnings_of_other_tests() -> Iterator[None]:
    """What the library logged during one test is no warning of the next one."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _gpufeed.warn_of_library()
