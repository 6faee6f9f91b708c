#!/usr/bin/env bash
# The tests of the GPU path on Mesa's llvmpipe again (Vulkan and OpenGL), with vectors of 128 and of 512 bits: how many
# invocations run side by side, which hides or shows what is wrong at the edges of workgroups. Other adapters have no such
# setting. Run scripts/test.sh first, which installs drivers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1 GPUFEED_REQUIRE_GPU=1

adapters() { cargo run --quiet --features cli,lmdb --example adapters; }

# Apart from the search: a failed build or a driver that crashes is not taken for "no llvmpipe".
if ! list=$(adapters); then
    echo 'the adapters cannot be listed, or there are none (scripts/test.sh installs drivers)' >&2
    exit 1
fi
if ! grep llvmpipe <<<"$list"; then
    echo 'no llvmpipe here: there is no width to set'
    exit 0
fi

# Whatever opens a GPU does so through one of these two; attribution.rs looks at times, not at pixels.
tests=()
for file in $(grep -lE '^mod (adapters|line);' tests/*.rs | grep -v attribution); do
    tests+=(--test "$(basename "$file" .rs)")
done

for width in 128 512; do
    printf '\n== %s bits: %s\n' "$width" "${tests[*]}"
    export LP_NATIVE_VECTOR_WIDTH=$width
    if ! adapters | grep "$width bits"; then
        echo "LP_NATIVE_VECTOR_WIDTH=$width has no effect on this Mesa" >&2
        exit 1
    fi
    cargo test --features cli,lmdb "${tests[@]}"
done
