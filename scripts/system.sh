# Sourced by the other scripts: what they need of the system.

# The packages that tests are built from, and their features. .ci/run selects more; with one selection for all scripts,
# nothing is built twice.
read -ra selected <<<"${GPUFEED_SELECTED:---workspace --exclude gpufeed-burn --exclude gpufeed-trainer --features lmdb,parquet,remote}"

# Ends the script where there is no cargo.
require_cargo() {
    if ! command -v cargo >/dev/null; then
        echo 'cargo is missing: install Rust from https://rustup.rs' >&2
        exit 1
    fi
}

# Lists the adapters of this machine; fails where there is none. `cargo run` takes a single package, whose dependencies would be
# built again with fewer features.
adapters() {
    cargo build --quiet "${selected[@]}" --example adapters && "${CARGO_TARGET_DIR:-target}/debug/examples/adapters"
}

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

# install_packages APT DNF PACMAN: three lists, one for each package manager. Fails where there is none of them.
install_packages() {
    if [ "$(uname -s)" != Linux ]; then
        echo 'not Linux: nothing is installed here' >&2
        return 1
    fi
    # The lists are split on purpose.
    # shellcheck disable=SC2086
    if command -v apt-get >/dev/null; then
        as_root apt-get update
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $1
    elif command -v dnf >/dev/null; then
        as_root dnf install -y $2
    elif command -v pacman >/dev/null; then
        # A partial upgrade (-Sy) would break an Arch system: with an outdated package list, upgrade all of it.
        as_root pacman -S --needed --noconfirm $3 || as_root pacman -Syu --needed --noconfirm $3
    else
        echo 'no apt-get, dnf or pacman here' >&2
        return 1
    fi
}

# Prints Chromium's path, under any of its names; fails where there is none.
find_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

# Installs Chromium where there is none; ends the script where that fails.
require_chromium() {
    find_chromium >/dev/null && return
    printf '\n== No Chromium: installing it\n'
    install_packages 'chromium fonts-dejavu-core' 'chromium dejavu-sans-fonts' 'chromium ttf-dejavu' || true
    if ! find_chromium >/dev/null; then
        echo 'nothing can be looked at: install Chromium, then run this again' >&2
        exit 1
    fi
}

# programs_of VENV: the folder of a Python environment's programs, which has another name on Windows.
programs_of() { if [ -d "$1/Scripts" ]; then echo "$1/Scripts"; else echo "$1/bin"; fi; }

# environment VENV PYTHON REQUIREMENTS: makes or renews a Python environment; prints its Python. Its steps are joined, since bash ignores
# `set -e` inside $(): an environment whose installation failed would count as made.
environment() {
    local venv=$1 of=$2 requirements=$3
    if ! cmp -s "$requirements" "$venv/requirements.txt"; then
        rm -rf "$venv" &&
            "$of" -m venv "$venv" >&2 &&
            "$(programs_of "$venv")/python" -m pip install --quiet --no-cache-dir --requirement "$requirements" >&2 &&
            cp "$requirements" "$venv/requirements.txt" || return 1
    fi
    echo "$(programs_of "$venv")/python"
}
