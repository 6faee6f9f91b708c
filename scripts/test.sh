#!/usr/bin/env bash
# Runs every test, those of the GPU path included. Where the machine has no adapter, installs Mesa's software drivers
# for Vulkan and OpenGL first, or says what to install. Needs bash and cargo.
set -euo pipefail
cd "$(dirname "$0")/.."

# Without a desktop, Mesa's layer that reorders Vulkan devices complains about Wayland; nothing here needs it.
export NODEVICE_SELECT=1

step() { printf '\n== %s\n' "$*"; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        printf 'not root and no sudo; run as root: %s\n' "$*" >&2
        return 1
    fi
}

install_drivers() {
    if command -v apt-get >/dev/null; then
        as_root apt-get update
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
            mesa-vulkan-drivers libvulkan1 libegl1 libgles2 libegl-mesa0 libgl1-mesa-dri
    elif command -v dnf >/dev/null; then
        as_root dnf install -y mesa-vulkan-drivers vulkan-loader mesa-libEGL libglvnd-gles mesa-dri-drivers
    elif command -v pacman >/dev/null; then
        local packages=(vulkan-swrast vulkan-icd-loader mesa libglvnd)
        # A partial upgrade (-Sy) would break an Arch system: with an outdated package list, upgrade all of it.
        as_root pacman -S --needed --noconfirm "${packages[@]}" ||
            as_root pacman -Syu --needed --noconfirm "${packages[@]}"
    else
        echo 'no apt-get, dnf or pacman here: install a Vulkan loader and a Vulkan driver (Mesa lavapipe will do),' >&2
        echo 'or EGL with OpenGL ES 3.1 (Mesa llvmpipe will do), then run this script again' >&2
        return 1
    fi
}

adapters() { cargo run --quiet --example adapters; }

if ! command -v cargo >/dev/null; then
    echo 'cargo is missing: install Rust from https://rustup.rs' >&2
    exit 1
fi

step 'Building'
cargo test --no-run

step 'Adapters'
if ! adapters; then
    step 'None found: installing software drivers'
    install_drivers
    step 'Adapters'
    if ! adapters; then
        echo 'still no adapter: the GPU tests cannot run' >&2
        exit 1
    fi
fi

step 'Tests; those of the GPU path fail where they find no adapter'
export GPUFEED_REQUIRE_GPU=1
cargo test

step 'All tests passed'
