"""A pattern of Rust code, which tests use: messages for users of Python must not contain Rust code."""

from __future__ import annotations

import re

# Matches paths such as `Type::name`, calls of methods and constructors, and the arguments `true` and `false` as Rust
# writes them.
RUST = re.compile(r"\b[A-Z]\w*::\w|\bgpufeed::|\.(?:lanes|order|shard|batch_size|shuffle)\(|builder\(\)|\((?:true|false)\)|\b[a-z_]+=(?:true|false)\b")
