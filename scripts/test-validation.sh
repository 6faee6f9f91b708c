#!/usr/bin/env bash
# Runs tests of the GPU path under Khronos' Vulkan validation layer, core and synchronization, on the system's lavapipe,
# and those of memory that another device imports on SwiftShader, too. The layer is the one that comes with Chromium; where the
# system has none it is unpacked under target/unpacked.
#
#   scripts/test-validation.sh [--quick]     --quick: the golden pixels alone
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
cargo test --quiet "${selected[@]}" --no-run
export GPUFEED_PACKAGES="${selected[*]}"
exec python3 scripts/validation.py "$@"
