"""What all tests share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from gpufeed import _gpufeed, errors
from language import RUST

_raised: set[str] = set()


@pytest.fixture(autouse=True, scope="session")
def _texts_of_errors() -> Iterator[None]:
    """No error of any test has words of Rust, but for texts that tests themselves give."""
    plain = errors.Error.__init__

    def remember(self: errors.Error, *args: object) -> None:
        _raised.update(str(text) for text in args)
        plain(self, *args)

    errors.Error.__init__ = remember  # type: ignore[method-assign]
    yield
    errors.Error.__init__ = plain  # type: ignore[method-assign]
    assert sorted(text for text in _raised if RUST.search(text)) == []


@pytest.fixture(autouse=True)
def _no_warnings_of_other_tests() -> Iterator[None]:
    """What the library logged during one test is no warning of the next one."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _gpufeed.warn_of_library()
