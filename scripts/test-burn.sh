#!/usr/bin/env bash
# The tests of the feature `burn`, of the example trainer, and of Burn's `Learner` on a gpufeed loader; with Burn's fusion,
# or without it:
#
#   scripts/test-burn.sh [--without-fusion]
#
# Building Burn takes a quarter of an hour on two cores, and Rust 1.95. Run scripts/test.sh first, which installs drivers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1 GPUFEED_REQUIRE_GPU=1

# With `train` in both: it changes features of crates at the bottom, and all of Burn would be built twice. With `lmdb`,
# as .ci/run has it.
features=lmdb,burn,burn/train
case ${1-} in
    '') features=$features,burn/fusion ;;
    --without-fusion) ;;
    *)
        echo 'usage: scripts/test-burn.sh [--without-fusion]' >&2
        exit 2
        ;;
esac

cargo test --features "$features" --test burn --test learner --test train --example train --example resident
cargo test --features "$features" --doc interop
