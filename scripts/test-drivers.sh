#!/usr/bin/env bash
# Runs the tests of the GPU path on every driver that needs no GPU: Mesa's lavapipe and llvmpipe, a newer Mesa, SwiftShader.
# Nothing is installed: what the system lacks is unpacked under target/unpacked, and what is not to be had is named.
#
#   scripts/test-drivers.sh [--quick] [--table]     --quick: SwiftShader and a part of the tests;
#                                                   --table: writes the table of docs/guide/platforms.md
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
cargo test --quiet "${selected[@]}" --no-run
cargo build --quiet "${selected[@]}" --example adapters
export GPUFEED_PACKAGES="${selected[*]}"
GPUFEED_ADAPTERS=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/examples/adapters
export GPUFEED_ADAPTERS
exec python3 scripts/drivers.py "$@"
