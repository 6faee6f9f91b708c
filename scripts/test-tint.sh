#!/usr/bin/env bash
# Shows every shader that a plan can ask for to Tint, the browsers' WGSL compiler, its uniformity analysis included. Runs
# without a GPU: Dawn for Node (npm package `webgpu`) with its null backend. Needs bash, cargo, and Node.js 18 or newer
# with npm, which it installs where it can.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

node_is_there() {
    command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null
}

if ! node_is_there; then
    printf '\n== No Node.js 18 with npm: installing it\n'
    install_packages 'nodejs npm' 'nodejs npm' 'nodejs npm' || true
    if ! node_is_there; then
        echo 'Tint cannot be asked: install Node.js 18 or newer with npm (https://nodejs.org), then run this again' >&2
        exit 1
    fi
fi

printf '\n== Tint\n'
wanted=$(node -p "require('./scripts/tint/package.json').dependencies.webgpu")
there=$(node -p "require('./scripts/tint/node_modules/webgpu/package.json').version" 2>/dev/null || true)
if [ "$there" != "$wanted" ]; then
    # Its one script only unquarantines the library on macOS.
    if ! (cd scripts/tint && npm ci --ignore-scripts --no-audit --no-fund); then
        echo "Tint cannot be asked: the npm package webgpu $wanted (130 MB) is not here and cannot be downloaded" >&2
        exit 1
    fi
fi

shaders=$(mktemp -d)
trap 'rm -rf "$shaders"' EXIT
GPUFEED_SHADERS=$shaders cargo test --quiet "${selected[@]}" --test shaders -- --exact every_variant_has_a_file
node scripts/tint/check.mjs "$shaders"
