#!/usr/bin/env bash
# Fails where files or folders that lie side by side import each other in a circle, and where the plan or the transforms
# import the decoder. Parents and tests are left aside. Needs Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=(src)
for crate in crates/*/src; do folders+=("$crate"); done
python3 scripts/circles.py "${folders[@]}"
if python3 scripts/circles.py --arrows src | grep -E '^(plan|transforms)[^ ]* -> decode'; then
    echo 'plan/ and transforms/ know no decoder: geometry.rs has what they share' >&2
    exit 1
fi
