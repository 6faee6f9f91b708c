#!/usr/bin/env bash
# Tests of the GPU path on Mesa's llvmpipe again (Vulkan and OpenGL), with vectors of 128 and of 512 bits: how many
# invocations run side by side, which hides or shows what is wrong at the edges of workgroups. Other adapters have no such
# setting.
#
#   scripts/test-widths.sh [all]     the shaders' own tests; with `all`, whatever opens a GPU
#
# Run scripts/test.sh first, which installs drivers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

# test.sh has checked the golden data of the machine; here the widths are what is new.
export NODEVICE_SELECT=1 GPUFEED_REQUIRE_GPU=1 GPUFEED_REQUIRE_GOLDEN=0

case ${1-} in
    # Every op, alone and in lists, at sizes that no workgroup divides. Everything else runs the same shaders.
    '') tests=(--test pixels) ;;
    all) tests=(--test pixels --test draws --test pipeline --test cache --test faults --test out_of_memory --test steady_state) ;;
    *)
        echo 'usage: scripts/test-widths.sh [all]' >&2
        exit 2
        ;;
esac

# Apart from the search: a failed build or a driver that crashes is not taken for "no llvmpipe".
if ! list=$(adapters); then
    echo 'the adapters cannot be listed, or there are none (scripts/test.sh installs drivers)' >&2
    exit 1
fi
if ! grep llvmpipe <<<"$list"; then
    echo 'no llvmpipe here: there is no width to set'
    exit 0
fi

for width in 128 512; do
    printf '\n== %s bits: %s\n' "$width" "${tests[*]}"
    export LP_NATIVE_VECTOR_WIDTH=$width
    if ! adapters | grep "$width bits"; then
        echo "LP_NATIVE_VECTOR_WIDTH=$width has no effect on this Mesa" >&2
        exit 1
    fi
    cargo test --no-fail-fast "${selected[@]}" "${tests[@]}"
done
