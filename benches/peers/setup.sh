#!/usr/bin/env bash
# Installs the libraries that gpufeed is compared with into an environment of their own: about 7 GB, a few minutes.
# PEERS_HOME: where (~/.cache/gpufeed-peers); PYTHON: which Python makes the environment (3.11 or later; python3).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${PEERS_HOME:-$HOME/.cache/gpufeed-peers}
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$("$python" --version) is too old for requirements.txt: set PYTHON to a Python 3.11 or later" >&2
    exit 1
fi
mkdir -p "$home"
"$python" -m venv "$home/venv"
"$home/venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
"$home/venv/bin/python" -m pip check
# gpufeed's own wheel, for the rows of its Python package: newest first.
wheel=$(ls -t "$here"/../../target/wheels/gpufeed-*-abi3-*.whl 2>/dev/null | head -1 || true)
if [ -n "$wheel" ]; then
    "$home/venv/bin/python" -m pip install --quiet --force-reinstall --no-deps "$wheel"
else
    echo "no wheel of gpufeed: its Python rows will say so; scripts/wheels.sh makes one"
fi
echo "ready: $python $here/run.py --data FOLDER --json peers.json"
