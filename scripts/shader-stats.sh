#!/usr/bin/env bash
# Compiles the shaders of every built-in recipe for AMD's GPUs without having one, by Mesa's RADV, and compares registers, spills,
# waves a SIMD and instructions with benches/results/shader-stats.json. A newer Mesa than the system's is unpacked under target/
# where Debian's backports have one. Needs Python 3.10.
#
#   scripts/shader-stats.sh [--quick] [--table]     --quick: one card of three; --table: renews shader-stats.json and
#                                                   shader-stats.md
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

for argument in "$@"; do
    case $argument in
        --quick | --table) ;;
        *)
            sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
            exit 2
            ;;
    esac
done

recipes=$(mktemp -d)
trap 'rm -rf "$recipes"' EXIT
GPUFEED_RECIPES=$recipes cargo test --quiet "${selected[@]}" --test shaders -- --exact recipes::every_recipe_has_spirv
python3 scripts/shader_stats.py "$recipes" "$@"
