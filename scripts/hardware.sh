#!/usr/bin/env bash
# Measures gpufeed on a machine with a GPU, in one run of at most nine minutes, and makes a page of it.
#
#   scripts/hardware.sh pack [--photographs FOLDER]    here: builds everything and packs it into .hw, which git ignores
#   scripts/hardware.sh run [--short] [RESULTS]        there: runs it; RESULTS is $OUT by default; --short: four minutes
#   scripts/hardware.sh report RESULTS                 here: writes a report card and a page below benches/results
#   scripts/hardware.sh rehearse [--short] [--page]    here: all three, on lavapipe as a discrete card
#
# `run` needs Linux with a GPU's driver and Python 3.9, and uses torch where there is one. It needs no Rust, no network,
# no root: also `.hw/hardware.sh run RESULTS`, with nothing but that folder; where there is none, and cargo, it packs
# first. `pack` needs cargo, a C compiler, Python 3.10 and the network. PYTHON names the Python (python3).
# scripts/README.md says more.
set -euo pipefail
exec "${PYTHON:-python3}" "$(dirname "$0")/hardware" "$@"
