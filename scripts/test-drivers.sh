#!/usr/bin/env bash
# Runs the tests of the GPU path on every driver that needs no GPU: Mesa's lavapipe and llvmpipe, a newer Mesa, SwiftShader, and
# lavapipe under the layer of scripts/hostile/, by which it behaves as cards may. What the system lacks of drivers, headers and tools
# is unpacked under target/unpacked and not installed, and what is not to be had is named; a C compiler is installed.
#
#   scripts/test-drivers.sh [--quick | --hostile-quick | --plain | --hostile [MODES] | --only DRIVER] [--table]
#                                                   --quick: SwiftShader and a part of the tests;
#                                                   --hostile-quick: a part of the tests on lavapipe that contracts;
#                                                   --plain: no driver under the layer; --hostile: only those, or only the one
#                                                   with these modes, such as inline,fma;
#                                                   --only: one driver, such as newer-mesa or inline,fma;
#                                                   --table: writes the table of docs/guide/platforms.md, with --only
#                                                   one row of it
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
compiler=${CC:-cc}
if ! command -v "${compiler%% *}" >/dev/null; then install_packages 'gcc libc6-dev' 'gcc glibc-devel' 'gcc'; fi
cargo test --quiet "${selected[@]}" --no-run
cargo build --quiet "${selected[@]}" --example adapters
export GPUFEED_PACKAGES="${selected[*]}"
GPUFEED_ADAPTERS=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/examples/adapters
export GPUFEED_ADAPTERS
exec python3 scripts/drivers.py "$@"
