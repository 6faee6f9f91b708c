#!/usr/bin/env bash
# The tests of the feature `burn`, with Burn's fusion off and on, of the example trainer, and of Burn's `Learner` on a gpufeed
# loader. Building Burn takes a quarter of an hour on two cores, and Rust 1.95. Run scripts/test.sh first, which installs
# drivers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1 GPUFEED_REQUIRE_GPU=1

# With `train` in both: it changes features of crates at the bottom, and all of Burn would be built twice.
features=burn,burn/train

printf '\n== Fusion off\n'
cargo test --features $features --test burn --test learner --test train --example train --example resident
cargo test --features $features --doc interop

printf '\n== Fusion on\n'
cargo test --features $features,burn/fusion --test burn --test learner
