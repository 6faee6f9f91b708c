#!/usr/bin/env bash
# Lists the breaking changes in the public API of the libraries since an earlier version. Fails if the new version
# number does not allow these changes.
#
#   scripts/semver.sh [REV]     REV: the commit or tag of the earlier version; default: the commit that added the
#                               topmost heading with a version number to CHANGELOG.md
#
# Installs cargo-semver-checks under target/tools, which takes some minutes to build. Needs access to crates.io.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
PATH=$PWD/target/tools/bin:$PATH

heading=$(grep -m 1 -oE '^## \[[0-9]+\.[0-9]+\.[0-9]+\]' CHANGELOG.md)
before=${1:-$(git log --reverse --format=%h -S "$heading" -- CHANGELOG.md | head -n 1)}
command -v cargo-semver-checks >/dev/null || cargo install --quiet --locked --root target/tools cargo-semver-checks

check() { cargo semver-checks --baseline-rev "$before" -p gpufeed -p gpufeed-jpeg "$@"; }
printf '== What a version that breaks nothing could not have, since %s\n' "$before"
check --release-type minor || true
printf '== What the number of this version does not allow, since %s\n' "$before"
check
