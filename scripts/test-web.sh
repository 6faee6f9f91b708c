#!/usr/bin/env bash
# Looks at the page in web/ in headless Chromium, which it installs, with WebGPU by Chromium's SwiftShader: its data are those of the command,
# its results those of torchvision, its draws those of the command; sliders, files, errors, requests, the console.
#
#   scripts/test-web.sh [--quick] [--shots FOLDER]
#
# --quick leaves out the draws of each recipe, groups, draws together and alone, small buffers and the lost GPU; --shots writes screenshots. Needs bash,
# cargo and Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

step() { printf '\n== %s\n' "$*"; }

require_chromium

step 'Building'
# With an example: its dependencies' features are then those of the tests, and wgpu is not built a second time.
cargo build --quiet "${selected[@]}" --bin gpufeed --example adapters

step 'The data'
python3 scripts/web/data.py --check
echo 'web/data is what the command gives'

step 'The page'
python3 scripts/web/check.py "$@"
