"""Advice in errors is Python's: keywords that exist, and no words of Rust."""

from __future__ import annotations

import inspect
import re

import gpufeed
from gpufeed import _gpufeed
from language import RUST

KEYWORDS = {name for of in (gpufeed.DataLoader, gpufeed.open, gpufeed.pack) for name in inspect.signature(of).parameters}


def test_every_advice_is_in_pythons_words() -> None:
    texts = _gpufeed.every_advice()
    assert len(texts) > 80
    assert [text for text in texts if RUST.search(text)] == []
    # `images.clone()` is torch's.
    calls = [text for text in texts if re.search(r"::|\.\w+\(", text.replace("images.clone()", ""))]
    assert calls == []
    named = {keyword for text in texts for keyword in re.findall(r"\b(\w+)=", text)}
    assert {"batch_size", "extensions", "truncated"} <= named
    assert named - KEYWORDS == set()


def test_words_of_rust_are_recognised() -> None:
    for text in ("use Semantics::Uint8", "call .lanes(4)", "scaled_decode(true)", "header=true"):
        assert RUST.search(text)
    assert not RUST.search('truncated="fill" accepts such images')
