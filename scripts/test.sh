#!/usr/bin/env bash
# Runs every test but those of Burn: those of the GPU path and of the command included. Where the machine has
# no adapter, or on Linux none of Vulkan, installs Mesa's software drivers for Vulkan and OpenGL first, or says what to
# install. Needs bash and cargo.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh

# Without a desktop, Mesa's layer that reorders Vulkan devices complains about Wayland; nothing here needs it.
export NODEVICE_SELECT=1

step() { printf '\n== %s\n' "$*"; }

install_drivers() {
    install_packages \
        'mesa-vulkan-drivers libvulkan1 libegl1 libgles2 libegl-mesa0 libgl1-mesa-dri' \
        'mesa-vulkan-drivers vulkan-loader mesa-libEGL libglvnd-gles mesa-dri-drivers' \
        'vulkan-swrast vulkan-icd-loader mesa libglvnd' && return
    # macOS and Windows bring their drivers (Metal, WARP): what is missing there is no package.
    echo 'install a Vulkan loader and a Vulkan driver (Mesa lavapipe will do), or EGL with OpenGL ES 3.1' >&2
    echo '(Mesa llvmpipe will do), then run this script again' >&2
    return 1
}

require_cargo

step 'Building'
cargo test "${selected[@]}" --no-run

# Lists the adapters. On Linux fails without Vulkan, too: some tests ask for it, and a machine may have OpenGL alone.
enough_adapters() {
    local list
    list=$(adapters) || return 1
    printf '%s\n' "$list"
    [ "$(uname -s)" != Linux ] || grep -q Vulkan <<<"$list"
}

step 'Adapters'
if ! enough_adapters; then
    step 'None found, or none of Vulkan: installing software drivers'
    install_drivers
    step 'Adapters'
    if ! enough_adapters; then
        echo 'still no adapter, or none of Vulkan: the GPU tests cannot run' >&2
        exit 1
    fi
fi

step 'Tests; those of the GPU path fail where they find no adapter'
export GPUFEED_REQUIRE_GPU=${GPUFEED_REQUIRE_GPU:-1}
# The files and verdicts that only a development machine has. Without them those tests say "0 checked", and fail where CI=true.
shared=$(cd .. && pwd)/shared
if [ -d "$shared/data" ]; then
    export GPUFEED_CORPUS=${GPUFEED_CORPUS:-$shared/data/jpeg-corpus} GPUFEED_SHARED=${GPUFEED_SHARED:-$shared/golden/public}
    export GPUFEED_SHARED_DATA=${GPUFEED_SHARED_DATA:-$shared/data}
fi
cargo test "${selected[@]}" --no-fail-fast

step 'All tests passed'
