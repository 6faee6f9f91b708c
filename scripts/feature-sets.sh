#!/usr/bin/env bash
# Checks the library and the command with each set of the features lmdb, parquet and remote; a warning fails, too. The sets share
# one target folder: what no feature changes is checked once.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

failed=0
for features in '' lmdb parquet remote lmdb,parquet lmdb,remote parquet,remote lmdb,parquet,remote; do
    # It is quiet but for warnings and errors.
    if ! said=$(cargo check --quiet -p gpufeed -p gpufeed-cli --features "$features" 2>&1) || [ -n "$said" ]; then
        printf 'features: %s\n%s\n' "${features:-none}" "$said" >&2
        failed=1
    fi
done
exit "$failed"
