#!/usr/bin/env bash
# Compares what gpufeed reads of Parquet files with what Hugging Face's `datasets` reads of them, row by row and field by field, in files that the newest
# `datasets` and pyarrow write. Installs these under target/datasets-venv, an environment of their own. Needs Python 3.10.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

python=target/datasets-venv/bin/python
if ! "$python" -c 'import datasets, PIL' 2>/dev/null; then
    python3 -m venv target/datasets-venv
    "$python" -m pip install --quiet datasets pillow
fi
files=$PWD/target/parquet-files
rm -rf "$files"
"$python" tests/parquet/generate.py "$files" >/dev/null
GPUFEED_PARQUET_FILES=$files cargo test "${selected[@]}" --test datasets -- are_those_that_datasets_reads
