#!/usr/bin/env bash
# What is checked before a version is published: packages, licences of all dependencies, and, from the second version on, that
# the public API broke nothing without a new major version. Publishes nothing.
#
#   scripts/publish.sh [TAG]     TAG: the version before, such as v0.1.0; without one the API is not compared
#
# Installs cargo-deny, and with a TAG cargo-semver-checks (semver.sh), under target/tools; each takes some minutes to build. Needs the
# registry. Advisories are checked where their database can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
PATH=$PWD/target/tools/bin:$PATH

tool() { command -v "$1" >/dev/null || cargo install --quiet --locked --root target/tools "$1"; }

if [ -n "$(git status --porcelain)" ]; then
    echo 'there are changes that are not committed' >&2
    exit 1
fi
printf '== Figures of this version\n'
scripts/figures.py --released

printf '== Packages\n'
cargo publish --workspace --dry-run --no-verify
for package in gpufeed-jpeg gpufeed gpufeed-burn gpufeed-cli; do
    printf '%s: %s files\n' "$package" "$(cargo package --list -p "$package" | wc -l)"
done

printf '== Licences\n'
tool cargo-deny
cargo-deny --workspace check licenses bans sources
(cd python && cargo-deny --config ../deny.toml check licenses sources)
cargo-deny --workspace check advisories || echo 'advisories were not checked, or there are some: see above' >&2

if [ $# -gt 0 ]; then
    printf '== API since %s\n' "$1"
    scripts/semver.sh "$1"
fi
