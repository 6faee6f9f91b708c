#!/usr/bin/env bash
# Compares data sets as others write them with what their own libraries read: shards as img2dataset writes them and a stereo rig
# with depths of 16 bits, by WebDataset; COCO's captions, captions in Parquet files and pairs of images, by Hugging Face's
# `datasets`. Every field of every sample, in Rust, in Python and by the command. Then objects of `datasets` as data of a loader.
#
#   scripts/test-real-sets.sh [SAMPLES]     samples of img2dataset's shards, by default 10000; the other sets have a part of that
#
# Installs the newest webdataset and datasets under target/datasets-venv, an environment of their own. The tests in Python run in
# the environment of scripts/test-python.sh, which is made where it is not yet (6 GB under ~/.cache/gpufeed-python): PYTHON and
# GPUFEED_PYTHON_HOME are those of that script. Needs Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

python=target/datasets-venv/bin/python
if ! "$python" -c 'import datasets, PIL, webdataset' 2>/dev/null; then
    python3 -m venv target/datasets-venv
    "$python" -m pip install --quiet datasets pillow webdataset
fi
sets=$PWD/target/real-sets
"$python" scripts/real_sets "$sets" --samples "${1:-10000}"

printf '\n== Rust\n'
GPUFEED_REAL_SETS=$sets cargo test "${selected[@]}" --test datasets -- real_sets::

printf '\n== The command\n'
cargo build --quiet "${selected[@]}" --bin gpufeed
"$python" scripts/real_sets/command.py "$sets" "${CARGO_TARGET_DIR:-target}/debug/gpufeed"

printf '\n== Python\n'
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
wheels=$CARGO_TARGET_DIR/wheels/dev
scripts/wheels.sh --dev "$wheels"
unset CONDA_PREFIX
main=$(environment "${GPUFEED_PYTHON_HOME:-$HOME/.cache/gpufeed-python}/torch" "${PYTHON:-python3}" python/requirements-test.txt)
"$main" -m pip install --quiet --force-reinstall --no-deps "$wheels"/gpufeed-*-abi3-*.whl
"$main" -m pip install --quiet "$(grep '^datasets==' python/requirements-frameworks.txt)"
(cd python/tests && GPUFEED_REAL_SETS=$sets "$main" -m pytest --config-file ../pyproject.toml --rootdir . test_real_sets.py test_hugging_face.py)
