#!/usr/bin/env bash
# Compares crates/jpeg with Pillow on random JPEGs: whole, 20 regions, scaled, by the index, damaged. Prints for each kind of file how
# many are right, and describes the first that are not; target/jpeg-files/wrong.txt has all of them. Installs cjpeg, jpegtran and
# djpeg, and the newest Pillow under target/pillow-venv. Needs Python 3.10.
#
#   scripts/test-jpeg.sh [--seed N] [--count N] [--first N]     by default 300 files of a seed by chance, which is printed;
#                                                               --first 123 --count 1 makes number 123 of the seed again
#   scripts/test-jpeg.sh --photographs [FOLDER]                 instead photographs made progressive, and one cut at 60 places;
#                                                               by default those of ../shared, if there are any
#
# scripts/jpeg/files.py, which makes the files, says what is expected of them; photographs.py makes those of photographs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

for program in cjpeg jpegtran djpeg; do
    if ! command -v "$program" >/dev/null; then
        install_packages libjpeg-turbo-progs libjpeg-turbo-utils libjpeg-turbo
        break
    fi
done
python=target/pillow-venv/bin/python
if ! "$python" -c 'import numpy, PIL' 2>/dev/null; then
    python3 -m venv target/pillow-venv
    "$python" -m pip install --quiet numpy pillow
fi
files=$PWD/target/jpeg-files
rm -rf "$files"
if [ "${1-}" = --photographs ]; then
    photographs=${2-../shared/data/imagenet}
    if [ ! -d "$photographs" ]; then
        echo "0 checked: $photographs is missing"
        exit
    fi
    "$python" scripts/jpeg/photographs.py "$files" "$photographs"
else
    "$python" scripts/jpeg/files.py "$files" "$@"
fi
GPUFEED_JPEG_FILES=$files cargo test "${selected[@]}" --test differential -- --nocapture
