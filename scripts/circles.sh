#!/usr/bin/env bash
# Fails where files or folders that lie side by side import each other in a circle, where the plan or the transforms
# import the decoder, and where code outside of src/storage asks for the feature `remote`. Parents and tests are left
# aside in the first. Needs Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=(src)
for crate in crates/*/src; do folders+=("$crate"); done
folders+=(python/src)
python3 scripts/circles.py "${folders[@]}"
if python3 scripts/circles.py --arrows src | grep -E '^(plan|transforms)[^ ]* -> decode'; then
    echo 'plan/ and transforms/ know no decoder: geometry.rs has what they share' >&2
    exit 1
fi

# src/storage/mod.rs chooses between a store's module and the one without; all other code calls one API.
most=8
lines=$(grep -rnE 'cfg.*feature = "remote"' src crates python --include='*.rs' --exclude-dir=target || true)
if [ "$(grep -c . <<<"$lines")" -gt "$most" ]; then
    printf 'more than %s lines ask for the feature remote, which src/storage/mod.rs alone should:\n%s\n' "$most" "$lines" >&2
    exit 1
fi
