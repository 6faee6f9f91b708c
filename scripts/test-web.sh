#!/usr/bin/env bash
# Looks at the page in web/ in headless Chromium, which it installs, with WebGPU by Chromium's SwiftShader: its data are those of the command,
# its results those of torchvision, its draws those of the command; sliders, files, errors, requests, the console.
#
#   scripts/test-web.sh [--quick] [--shots FOLDER]
#
# --quick leaves out the draws of each recipe, small buffers and the lost GPU; --shots writes screenshots. Needs bash, cargo and Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

step() { printf '\n== %s\n' "$*"; }

find_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

if ! find_chromium >/dev/null; then
    step 'No Chromium: installing it'
    install_packages 'chromium fonts-dejavu-core' 'chromium dejavu-sans-fonts' 'chromium ttf-dejavu' || true
    if ! find_chromium >/dev/null; then
        echo 'the page cannot be looked at: install Chromium, then run this again' >&2
        exit 1
    fi
fi

step 'Building'
# With an example: its dependencies' features are then those of the tests, and wgpu is not built a second time.
cargo build --quiet "${selected[@]}" --bin gpufeed --example adapters

step 'The data'
python3 scripts/web/data.py --check
echo 'web/data is what the command gives'

step 'The page'
python3 scripts/web/check.py "$@"
