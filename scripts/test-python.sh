#!/usr/bin/env bash
# The tests of the Python package: builds the wheel, installs it into an environment with torch, and runs pytest.
#
#   scripts/test-python.sh [--quick]     with --quick one Python, a wheel of the dev profile, and the short tests
#
# CARGO_TARGET_DIR: where the wheel is built (target).
# Without --quick: the release wheels of scripts/wheels.sh; all tests, with the frameworks; and the tests without frameworks on every
# CPython from 3.10 on that PATH or pyenv has.
# PYTHON: which Python makes the environment (3.11 to 3.13; python3). GPUFEED_PYTHON_HOME: where environments are kept
# (~/.cache/gpufeed-python), about 6 GB, as PyPI's torch is a CUDA build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
quick=0
case ${1-} in
    '') ;;
    --quick) quick=1 ;;
    *)
        echo 'usage: scripts/test-python.sh [--quick]' >&2
        exit 2
        ;;
esac

home=${GPUFEED_PYTHON_HOME:-$HOME/.cache/gpufeed-python}
python=${PYTHON:-python3}
unset CONDA_PREFIX
# Dependencies are those of the workspace: one target folder builds them once.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
wheels=$CARGO_TARGET_DIR/wheels

(cd python && cargo fmt --check)
# In the background: PyPI's torch takes minutes to arrive, and the wheel minutes to build.
mkdir -p "$home"
environment "$home/torch" "$python" python/requirements-test.txt >"$home/python" &
installing=$!
if [ "$quick" -eq 1 ]; then
    wheels=$wheels/dev
    nice -n 5 scripts/wheels.sh --dev "$wheels"
else
    # Without CI=true a wheel for a CPython that is not here is only built.
    nice -n 5 env -u CI scripts/wheels.sh "$wheels"
fi
wheel=$(ls "$wheels"/gpufeed-*-abi3-*.whl)
# A program in Rust whose batches Python's have to equal.
(cd python && cargo build --quiet --locked --example batches)
export GPUFEED_BATCHES=$CARGO_TARGET_DIR/debug/examples/batches
wait "$installing"
main=$(cat "$home/python")

# run_tests PYTHON ARGUMENTS...: installs the wheel and runs the tests, from a folder without the package's sources.
run_tests() {
    local with=$1
    shift
    "$with" -m pip install --quiet --force-reinstall --no-deps "$wheel"
    (cd python/tests && "$with" -m pytest --config-file ../pyproject.toml --rootdir . "$@")
}

if [ "$quick" -eq 1 ]; then
    # Two at a time: much of their time is waiting.
    run_tests "$main" --numprocesses 2 .
    (cd python && "$main" -m mypy --strict gpufeed examples tests/refused_keywords.py)
    exit
fi

export GPUFEED_FULL=1
(cd python && cargo clippy --locked --all-targets -- -D warnings)
"$main" -m pip install --quiet --no-cache-dir --requirement python/requirements-frameworks.txt --requirement python/requirements-ray.txt
run_tests "$main" .
(cd python && "$main" -m mypy --strict gpufeed examples tests/refused_keywords.py)
# The installed module, not the sources, which have none.
(cd python/tests && "$main" -m mypy.stubtest --mypy-config-file ../pyproject.toml gpufeed._gpufeed)

# The tests without frameworks on every other CPython that is here.
found=0
for minor in 10 11 12 13 14; do
    of=$(command -v "python3.$minor" || true)
    if [ -z "$of" ] || ! "$of" --version >/dev/null 2>&1; then
        # pyenv's shims exist for versions that are not chosen; its folders hold the programs.
        of=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python 2>/dev/null | tail -1 || true)
    fi
    if [ -z "$of" ]; then
        echo "CPython 3.$minor: not here"
        continue
    fi
    found=$((found + 1))
    printf '\n== %s\n' "$("$of" --version)"
    run_tests "$(environment "$home/3.$minor" "$of" python/requirements-plain.txt)" .
done
if [ "$found" -lt 3 ]; then
    echo "only $found versions of CPython are here; three are needed: install more, with pyenv for example" >&2
    exit 1
fi
printf '\n== NumPy 1.26\n'
run_tests "$(environment "$home/numpy-1.26" "$python" python/requirements-numpy-1.26.txt)" .
