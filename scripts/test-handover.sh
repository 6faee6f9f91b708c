#!/usr/bin/env bash
# Batches that another API imports from the GPU's memory, without a GPU: a second device of Vulkan reads them in Rust's tests, a fake
# CUDA in Python's (scripts/hardware/external_memory/fake_libcuda.c). On lavapipe, which exports no semaphores, so that the
# host waits; and on SwiftShader, which exports binary ones. What the system lacks of drivers is unpacked under target/unpacked.
#
#   scripts/test-handover.sh [--quick]     --quick: a wheel of the dev profile, as scripts/test-python.sh --quick builds it
#
# With GPUFEED_FULL=1 10,000 batches are handed over where it is 1,000, and 200 loaders are made where it is 20.
# PYTHON, GPUFEED_PYTHON_HOME: as for scripts/test-python.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
compiler=${CC:-cc}
if ! command -v "${compiler%% *}" >/dev/null; then install_packages 'gcc libc6-dev' 'gcc glibc-devel' 'gcc'; fi
cargo test --quiet "${selected[@]}" --test handover --no-run
unset CONDA_PREFIX
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
wheels=$CARGO_TARGET_DIR/wheels
if [ "${1-}" = --quick ]; then
    wheels=$wheels/dev
    scripts/wheels.sh --dev "$wheels"
else
    env -u CI scripts/wheels.sh "$wheels"
fi
home=${GPUFEED_PYTHON_HOME:-$HOME/.cache/gpufeed-python}
mkdir -p "$home"
GPUFEED_PYTHON=$(environment "$home/torch" "${PYTHON:-python3}" python/requirements-test.txt)
export GPUFEED_PYTHON
"$GPUFEED_PYTHON" -m pip install --quiet --force-reinstall --no-deps "$(ls "$wheels"/gpufeed-*-abi3-*.whl)"
export GPUFEED_PACKAGES="${selected[*]}"
exec python3 scripts/handover.py
