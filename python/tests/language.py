"""Rust's words, which no text for a script in Python has."""

from __future__ import annotations

import re

# Paths of a type, calls of methods and constructors, and Rust's words for True and False.
RUST = re.compile(r"\b[A-Z]\w*::\w|\bgpufeed::|\.(?:lanes|order|shard|batch_size|shuffle)\(|builder\(\)|\((?:true|false)\)|\b[a-z_]+=(?:true|false)\b")
