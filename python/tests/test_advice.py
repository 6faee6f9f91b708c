"""Advice in errors is Python's: no phrase of the library's that only Rust code can follow reaches a script."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def texts(path: Path) -> str:
    """A source file with the lines of its texts joined: `\\` at a line's end and the next line's spaces are no part of them."""
    return re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))


def phrases() -> list[tuple[str, str]]:
    table = texts(ROOT / "python/src/advice.rs").partition("const PHRASES")[2].partition("\n];")[0]
    found = [text.replace('\\"', '"') for text in re.findall(r'"((?:[^"\\]|\\.)*)"', table)]
    return list(zip(found[::2], found[1::2], strict=True))


def test_the_library_still_has_each_phrase() -> None:
    """A reason that is worded anew in the library must not bring Rust's advice back into Python."""
    library = "".join(texts(path) for path in sorted((ROOT / "src").rglob("*.rs"))).replace('\\"', '"')
    assert [rust for rust, _ in phrases() if rust not in library] == []


def test_no_advice_is_left_in_rust() -> None:
    """What a builder of data sets, and settings of stores, are advised to do: all of it is among the phrases."""
    advised = re.compile(r"\b(?:\w+Builder|RemoteOptions|ShardIndexes)::\w+|\bIm\w+::(?:flat|builder)\(\)[.\w()]*|Numpy::new\(\)[.\w(), ]*|Idx::emnist")
    known = "".join(rust for rust, _ in phrases())
    left = set()
    for path in sorted((ROOT / "src" / "dataset").rglob("*.rs")):
        code = texts(path).partition("#[cfg(test)]\nmod tests {")[0]
        code = re.sub(r"^\s*//.*$", "", code, flags=re.MULTILINE)
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
            left |= {(path.name, found) for found in advised.findall(text) if found not in known}
    assert left == set()
    assert [python for _, python in phrases() if "::" in python or "(true)" in python] == []
