#!/usr/bin/env bash
# Lints the library and the command for Windows and macOS, wherever it runs. Nothing is linked or run. Installs
# Rust's standard library for them by rustup.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
targets=(x86_64-pc-windows-gnu aarch64-apple-darwin)
rustup target add "${targets[@]}"
for target in "${targets[@]}"; do
    printf '\n== %s\n' "$target"
    cargo clippy --target "$target" -p gpufeed -p gpufeed-cli -- -D warnings
done
