#!/usr/bin/env bash
# Runs `cargo check` on the library and the command with each combination of the features lmdb, parquet and remote.
# Fails on an error or a warning. All combinations share one target folder, so crates that no feature changes are
# checked only once.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

failed=0
for features in '' lmdb parquet remote lmdb,parquet lmdb,remote parquet,remote lmdb,parquet,remote; do
    # With --quiet, cargo prints only warnings and errors, so any output is a failure.
    if ! said=$(cargo check --quiet -p gpufeed -p gpufeed-cli --features "$features" 2>&1) || [ -n "$said" ]; then
        printf 'features: %s\n%s\n' "${features:-none}" "$said" >&2
        failed=1
    fi
done
exit "$failed"
