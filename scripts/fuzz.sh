#!/usr/bin/env bash
# Fuzzes the JPEG engine: scripts/fuzz.sh [SECONDS], 60 by default (the builds before it take minutes). Then says how much of src/decode/jpeg
# the corpus covers. What was found in earlier runs (fuzz/corpus) is where the next one begins; inputs that failed are in
# fuzz/artifacts. Needs bash, rustup and a C++ compiler; installs nightly Rust with llvm-tools and cargo-fuzz where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

seconds=${1:-60}
if ! [[ $seconds =~ ^[1-9][0-9]*$ && $# -le 1 ]]; then
    echo 'usage: scripts/fuzz.sh [SECONDS], at least 1' >&2
    exit 2
fi

step() { printf '\n== %s\n' "$*"; }

if ! command -v rustup >/dev/null; then
    echo 'rustup is missing (https://rustup.rs): fuzzing needs nightly Rust' >&2
    exit 1
fi
if ! rustup run nightly rustc --version 2>/dev/null; then
    step 'No nightly Rust: installing it'
    rustup toolchain install nightly --profile minimal
fi
tools=$(rustup run nightly rustc --print target-libdir)/../bin
if [ ! -x "$tools/llvm-cov" ]; then
    step 'No llvm-tools: installing them'
    rustup component add llvm-tools --toolchain nightly
fi
if ! cargo fuzz --version 2>/dev/null; then
    step 'No cargo-fuzz: installing it'
    cargo install --locked cargo-fuzz@0.13.2
fi
if ! command -v c++ >/dev/null && ! install_packages g++ gcc-c++ gcc; then
    echo 'no C++ compiler, which builds libFuzzer: install one, then run this again' >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
corpus=fuzz/corpus/jpeg
target=$(realpath -m "${CARGO_TARGET_DIR:-fuzz/target}")
triple=$(rustup run nightly rustc -vV | sed -n 's/^host: //p')

step 'Seeds'
rustc --edition 2024 -o "$work/seeds" fuzz/seeds.rs
"$work/seeds" tests/golden "$corpus"
printf '%s files in %s\n' "$(find "$corpus" -type f | wc -l)" "$corpus"

step "Fuzzing for $seconds s"
# Without a sanitizer: the engine has no unsafe code, and the target limits its own memory. Overflows panic.
failed=0
cargo +nightly fuzz run --sanitizer none --target-dir "$target" jpeg "$corpus" -- \
    -max_total_time="$seconds" -dict=fuzz/jpeg.dict -max_len=8192 -timeout=5 -report_slow_units=1 -rss_limit_mb=1024 \
    -print_final_stats=1 2>&1 | tee "$work/log" | grep --line-buffered -v '^#.*\(NEW\|REDUCE\|RELOAD\) ' || failed=1

step 'Coverage of src/decode/jpeg'
# The corpus in its last state; what it reaches, no matter in which run it got there.
cargo +nightly fuzz coverage --sanitizer none --target-dir "$target/coverage" jpeg "$corpus" >"$work/coverage" 2>&1 || {
    tail -n 20 "$work/coverage" >&2
    exit 1
}
"$tools/llvm-cov" report "$target/coverage/$triple/release/jpeg" \
    -instr-profile=fuzz/coverage/jpeg/coverage.profdata -show-branch-summary=false \
    -sources "$PWD/src/decode/jpeg"

step 'Summary'
grep -E '^stat::|^Done' "$work/log" || true
if [ "$failed" -ne 0 ]; then
    echo 'Failed: the input is in fuzz/artifacts/jpeg, what it did is above' >&2
    exit 1
fi
echo 'No input failed'
