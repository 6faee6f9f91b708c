#!/usr/bin/env bash
# Builds the Python wheels that users install with one `pip install`, and checks each wheel: whether it keeps to the
# stable ABI, and whether its installation, an epoch and the command `gpufeed` work in an environment with nothing but
# pip.
#
#   scripts/wheels.sh [--stable | --dev | --check] [FOLDER]     FOLDER: where the wheels are put, by default target/wheels,
#                                                               or target/wheels/dev with --dev; a build first removes
#                                                               the wheels of gpufeed that lie there
#
# Builds two release wheels: one for CPython 3.10 and later by its stable ABI, and one for free-threaded CPython 3.14
# (3.14t), which has no stable ABI. On Linux zig links them against glibc 2.17, so that they run on any Linux of 2014 or
# later, whatever this system's libraries are.
# --stable: builds only the stable-ABI wheel.
# --dev: builds only the stable-ABI wheel, with cargo's dev profile and for this machine.
# --check: builds nothing, and checks the wheels in FOLDER.
#
# Environment variables:
# PYTHON: the Python (3.10 or later) that builds and checks the wheels; by default python3.
# GPUFEED_PYTHON_HOME: the folder of the build tools; by default ~/.cache/gpufeed-python.
# CARGO_TARGET_DIR: the folder in which cargo builds; by default target.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
build=release
case ${1-} in
    --stable | --dev | --check)
        build=${1#--}
        shift
        ;;
esac
if [ $# -gt 1 ] || [[ ${1-} == -* ]]; then
    echo 'usage: scripts/wheels.sh [--stable | --dev | --check] [FOLDER]' >&2
    exit 2
fi
# Keeps the path of this Python, because the Python of the build tools comes first on PATH below.
if ! python=$(command -v "${PYTHON:-python3}"); then
    echo "there is no ${PYTHON:-python3}: install Python 3.10 or later, or name one in PYTHON" >&2
    exit 1
fi
home=${GPUFEED_PYTHON_HOME:-$HOME/.cache/gpufeed-python}
unset CONDA_PREFIX
# python/ is a workspace of its own that shares dependencies with the main workspace: in one target folder, cargo builds
# them once.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
# Dev wheels have a folder of their own, so that nobody installs a slow wheel by mistake.
if [ "$build" = dev ]; then default=$CARGO_TARGET_DIR/wheels/dev; else default=$CARGO_TARGET_DIR/wheels; fi
folder=${1:-$default}
if [ "$build" != check ]; then mkdir -p "$folder"; fi
folder=$(cd "$folder" && pwd)

tools=$(environment "$home/build" "$python" python/requirements-build.txt)
# maturin finds zig by the first Python on PATH.
PATH=$(dirname "$tools"):$PATH

if [ "$build" != check ]; then
    require_cargo
    rm -f "$folder"/gpufeed-*.whl
    # Turns off a warning of maturin: pyproject.toml names python/build_backend.py as its build backend, which hands
    # everything to maturin.
    export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING=1
    maturin=(maturin build --quiet --locked --out "$folder")
    if [ "$build" = dev ]; then maturin+=(--profile dev); else maturin+=(--release); fi
    linked=()
    case $build-$(uname -s) in
        release-Linux | stable-Linux)
            maturin+=(--zig --compatibility manylinux2014)
            # zig would link an unwinder of its own. But glibc unwinds a thread that pthread_exit ends by libgcc_s, and hands
            # its state to Rust's frames, so those have to read it by libgcc_s, too; else the process crashes where the
            # interpreter ends before a worker (python/src/interpreter_end.rs).
            linked=(-- -C "link-arg=$(cc -print-file-name=libgcc_s.so.1)")
            ;;
        dev-Linux) maturin+=(--compatibility linux) ;;
    esac
    (cd python && "${maturin[@]}" ${linked[@]+"${linked[@]}"})
    # maturin knows the ABI of Python 3.14t, so this interpreter need not be installed here.
    if [ "$build" = release ]; then (cd python && "${maturin[@]}" --interpreter python3.14t ${linked[@]+"${linked[@]}"}); fi
    printf 'built in %s.%s minutes\n' "$((SECONDS / 60))" "$((SECONDS % 60 / 6))"
fi
if ! ls "$folder"/gpufeed-*-abi3-*.whl >/dev/null 2>&1; then
    echo "$folder has no wheel gpufeed-*-abi3-*.whl: scripts/wheels.sh without --check builds it" >&2
    exit 1
fi

# check_wheel WHEEL PYTHON: installs the wheel into an empty environment of that Python, and runs an epoch and the
# command there.
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
check_wheel() {
    local wheel=$1 name version in said
    name=$(basename "$wheel")
    version=${name#gpufeed-}
    version=${version%%-*}
    rm -rf "$empty/venv"
    "$2" -m venv "$empty/venv"
    in=$(programs_of "$empty/venv")
    "$in/python" -m pip install --quiet --no-index "$wheel"
    "$in/python" -I scripts/test_wheel.py "$version"
    said=$("$in/gpufeed" --version)
    if [ "$said" != "gpufeed $version" ]; then
        echo "$name: the command \`gpufeed --version\` says \"$said\" instead of \"gpufeed $version\"" >&2
        return 1
    fi
}

for wheel in "$folder"/gpufeed-*.whl; do
    printf '\n== %s, %s MB\n' "$(basename "$wheel")" "$((($(wc -c <"$wheel") + 500000) / 1000000))"
    of=$python
    case $wheel in
        *-abi3-*) python -m abi3audit --strict "$wheel" ;;
        *) of=python3.14t ;;
    esac
    # Under pyenv, PATH also has a program for each Python version that is not selected; such a program ends with an
    # error.
    if "$of" --version >/dev/null 2>&1; then
        check_wheel "$wheel" "$of"
    elif [ "${CI-}" = true ]; then
        echo "there is no $of here to try the wheel with: CI has to have it" >&2
        exit 1
    else
        echo "not installed: there is no $of here"
    fi
    echo "pip install $wheel"
done
