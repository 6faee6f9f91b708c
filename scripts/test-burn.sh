#!/usr/bin/env bash
# The tests of gpufeed-burn, of the example trainer, and of Burn's `Learner` on a gpufeed loader; with Burn's fusion, or
# without it:
#
#   scripts/test-burn.sh [--without-fusion]
#
# Building Burn takes minutes, and Rust 1.95. Run scripts/test.sh first, which installs drivers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1 GPUFEED_REQUIRE_GPU=1

# All packages, as .ci/run selects them: cargo chooses the features of dependencies by the selected packages, and would build
# wgpu and others twice.
case ${1-} in
    '') selected=(--workspace --features lmdb,parquet,remote,burn/fusion) ;;
    --without-fusion) selected=(--workspace --features lmdb,parquet,remote) ;;
    *)
        echo 'usage: scripts/test-burn.sh [--without-fusion]' >&2
        exit 2
        ;;
esac

cargo test "${selected[@]}" --test burn --test learner --test train --bin train --example resident_training
cargo test "${selected[@]}" --doc -- crates/burn
