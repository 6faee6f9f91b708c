#!/usr/bin/env bash
# Compares the pixels of 200 random PNG, WebP, TIFF, GIF, BMP, PPM and JPEG files, with metadata, alpha and depths of all kinds, with
# the newest Pillow's. Installs Pillow under target/pillow-venv, an environment of its own. Needs Python 3.10.
#
#   scripts/test-pillow.sh [--seed N] [--count N]     by default a seed by chance, which is printed; the same seed makes the
#                                                     same files
#
# scripts/pillow_files.py, which makes the files, names each difference that is there on purpose, with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

python=target/pillow-venv/bin/python
if ! "$python" -c 'import numpy, PIL' 2>/dev/null; then
    python3 -m venv target/pillow-venv
    "$python" -m pip install --quiet numpy pillow
fi
files=$PWD/target/pillow-files
rm -rf "$files"
"$python" scripts/pillow_files.py "$files" "$@"
cut -f5 "$files/list.txt" | grep -v '^-$' | sort | uniq -c || true
GPUFEED_PILLOW_FILES=$files cargo test "${selected[@]}" --test decode -- pillow::
