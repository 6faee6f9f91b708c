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
"$built/gpufeed" preview photographs --recipe sheet.toml --draws 4 --columns 4 --samples 2 --seed 2 --out sheet.jpg
"$built/examples/contact_sheet" operators.jpg photographs/chelsea.jpg 3
cd ../..
python3 scripts/pictures.py
for name in chromium chromium-browser google-chrome none; do
    command -v "$name" >/dev/null && break
done
if [ "$name" = none ]; then
    echo 'report.png stays as it was: there is no Chromium to take it' >&2
else
    "$name" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,725 \
        --screenshot="$PWD/docs/pictures/report.png" "file://$PWD/benches/results/epyc-2-cores-bench-cpu.html" 2>/dev/null
fi
for picture in docs/pictures/*.svg docs/pictures/*.jpg docs/pictures/*.png; do
    if [ "$(wc -c <"$picture")" -gt 150000 ]; then
        echo "$picture has more than 150 kB" >&2
        exit 1
    fi
done
