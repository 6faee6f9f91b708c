#!/usr/bin/env bash
# Draws every picture of docs/pictures: from photographs by the product itself, from committed measurements by
# scripts/pictures.py. Look at them before you commit them, in light and in dark. Needs cargo and Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
export NODEVICE_SELECT=1

cargo build --quiet -p gpufeed-cli
cargo build --quiet --example contact_sheet
cargo build --quiet -p gpufeed-jpeg --features trace --example regions
built=$(realpath "${CARGO_TARGET_DIR:-target}")/debug

cd docs/pictures
"$built/examples/regions" photographs/coffee.jpg >regions.json
"$built/gpufeed" preview photographs --recipe sheet.toml --draws 4 --samples 3 --out sheet.jpg
"$built/examples/contact_sheet" operators.jpg photographs/chelsea.jpg 3
cd ../..
python3 scripts/pictures.py
for picture in docs/pictures/*.svg docs/pictures/*.jpg; do
    if [ "$(wc -c <"$picture")" -gt 150000 ]; then
        echo "$picture has more than 150 kB" >&2
        exit 1
    fi
done
