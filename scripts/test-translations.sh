#!/usr/bin/env bash
# Shows naga's translations of every shader to compilers that others wrote: its SPIR-V to Khronos' validator, its HLSL to two
# front ends. They are Debian's packages, unpacked under target/unpacked and not installed; one that is not to be had is
# named. Then rewrites one in sixteen of these SPIR-V modules by the layer of scripts/hostile/ and shows that to the validator.
# Needs no GPU.
#
#   scripts/test-translations.sh [--quick | --every=N] [--table]     one in N of the shaders: all 35,000 take two cores two hours;
#                                                                    --quick: one in 64, and no compiler of Debian's unstable
#                                                                    suite; --table: renews benches/results/translations.md
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

arguments=()
every=1
for argument in "$@"; do
    case $argument in
        --quick)
            every=64
            arguments+=(--stable)
            ;;
        --every=*) every=${argument#--every=} ;;
        --table) arguments+=(--table benches/results/translations.md) ;;
        *)
            sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
            exit 2
            ;;
    esac
done

shaders=$(mktemp -d)
trap 'rm -rf "$shaders"' EXIT
GPUFEED_TRANSLATED=1 GPUFEED_SHADERS=$shaders cargo test --quiet "${selected[@]}" --test shaders -- --exact every_variant_has_a_file
python3 scripts/translations.py "$shaders" --every "$every" "${arguments[@]}"
python3 scripts/test_hostile.py "$shaders" "$((16 * every))"
