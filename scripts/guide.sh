#!/usr/bin/env bash
# Builds docs/guide as an mdBook: target/guide/index.html. Installs mdbook under target/tools where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

PATH=$PWD/target/tools/bin:$PATH
command -v mdbook >/dev/null || cargo install --quiet --locked --no-default-features --root target/tools mdbook
# Pages refer to ../pictures, as GitHub needs it.
mkdir -p target/pictures
cp docs/pictures/*.svg docs/pictures/*.jpg docs/pictures/*.png target/pictures/
mdbook build docs/guide
echo "target/guide/index.html"
