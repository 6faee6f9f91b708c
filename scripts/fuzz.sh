#!/usr/bin/env bash
# Fuzzes the JPEG engine and the readers of foreign files: scripts/fuzz.sh [TARGET] [SECONDS]. Without a target all of them, two at a
# time; 60 seconds each by default (the builds before take minutes). Then says how much of each reader its corpus covers. The inputs
# that earlier runs found (corpus/ in fuzz and in crates/jpeg/fuzz) are where the next one begins; inputs that failed are in artifacts/
# beside it. Needs bash, rustup and C and C++ compilers; installs nightly Rust with llvm-tools and cargo-fuzz where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

all=(cifar coco decode idx jpeg list lmdb numpy objects parquet pickle recipe seek_file tar tar_index voc yolo)
usage() {
    printf 'usage: scripts/fuzz.sh [TARGET] [SECONDS], at least 1 second; targets: %s\n' "${all[*]}" >&2
    exit 2
}

targets=("${all[@]}")
if [ $# -gt 0 ] && ! [[ $1 =~ ^[0-9]+$ ]]; then
    [[ " ${all[*]} " == *" $1 "* ]] || usage
    targets=("$1")
    shift
fi
seconds=${1:-60}
if ! [[ $seconds =~ ^[1-9][0-9]*$ && $# -le 1 ]]; then
    usage
fi

step() { printf '\n== %s\n' "$*"; }

# Longest input: room for a few records of each format.
longest() {
    case $1 in
        tar | lmdb | parquet) echo 32768 ;;
        tar_index | recipe | list | coco | objects | voc | yolo) echo 4096 ;;
        *) echo 8192 ;;
    esac
}

# What a target is about.
sources() {
    case $1 in
        cifar) echo src/dataset/cifar/mod.rs src/dataset/source.rs ;;
        coco) echo src/dataset/coco ;;
        idx) echo src/dataset/idx src/dataset/source.rs ;;
        decode) echo src/decode ;;
        jpeg) echo crates/jpeg/src ;;
        list) echo src/dataset/list src/dataset/labels.rs ;;
        lmdb) echo src/dataset/lmdb ;;
        numpy) echo src/dataset/numpy src/dataset/arrays src/dataset/source.rs ;;
        objects) echo src/objects ;;
        parquet) echo src/dataset/parquet ;;
        pickle) echo src/dataset/cifar/pickle ;;
        recipe) echo src/recipe ;;
        seek_file) echo src/decode/seek ;;
        tar) echo src/dataset/tar ;;
        tar_index) echo src/dataset/shards src/dataset/tar/mod.rs ;;
        voc) echo src/dataset/voc ;;
        yolo) echo src/dataset/yolo ;;
    esac
}

# The folder of a target's package.
package() { if [ "$1" = jpeg ]; then echo crates/jpeg/fuzz; else echo fuzz; fi; }

if ! command -v rustup >/dev/null; then
    echo 'rustup is missing (https://rustup.rs): fuzzing needs nightly Rust' >&2
    exit 1
fi
if ! rustup run nightly rustc --version 2>/dev/null; then
    step 'No nightly Rust: installing it'
    rustup toolchain install nightly --profile minimal
fi
version=$(rustup run nightly rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
tools=$(rustup run nightly rustc --print target-libdir)/../bin
# Where rustup has no way to its server, a system may still have the tools of the same LLVM.
if [ ! -x "$tools/llvm-cov" ] && [ ! -x "/usr/lib/llvm-$version/bin/llvm-cov" ]; then
    step 'No llvm-tools: installing them'
    rustup component add llvm-tools --toolchain nightly || install_packages "llvm-$version" llvm llvm
fi
if [ ! -x "$tools/llvm-cov" ]; then tools=/usr/lib/llvm-$version/bin; fi
if ! cargo fuzz --version 2>/dev/null; then
    step 'No cargo-fuzz: installing it'
    cargo install --locked cargo-fuzz@0.13.2
fi
if ! command -v c++ >/dev/null && ! install_packages g++ gcc-c++ gcc; then
    echo 'no C++ compiler, which builds libFuzzer: install one, then run this again' >&2
    exit 1
fi

# The readers' files: in memory where the system has such a folder.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
target=$(realpath -m "${CARGO_TARGET_DIR:-fuzz/target}")
triple=$(rustup run nightly rustc -vV | sed -n 's/^host: //p')

step 'Building'
# Without a sanitizer: there is next to no unsafe code, and the targets watch their own memory. Overflows panic.
for name in "${targets[@]}"; do
    cargo +nightly fuzz build --fuzz-dir "$(package "$name")" --sanitizer none --target-dir "$target" "$name"
done

step 'Seeds'
for name in "${targets[@]}"; do
    corpus=$(package "$name")/corpus/$name
    cargo run --quiet --manifest-path fuzz/seeds/Cargo.toml --target-dir "$target" -- "$name" tests/golden "$corpus"
    printf '%s files in %s\n' "$(find "$corpus" -type f | wc -l)" "$corpus"
done

fuzz() {
    local name=$1 package words dictionary=()
    package=$(package "$name")
    words=$package/$name.dict
    if [ "$name" = decode ]; then words=crates/jpeg/fuzz/jpeg.dict; fi
    if [ "$name" = recipe ]; then words=$package/corpus/$name.dict; fi
    mkdir -p "$package/artifacts/$name"
    if [ -f "$words" ]; then dictionary=("-dict=$words"); fi
    "$target/$triple/release/$name" "$package/corpus/$name" -max_total_time="$seconds" "${dictionary[@]}" \
        -max_len="$(longest "$name")" -timeout=5 -report_slow_units=1 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$package/artifacts/$name/" >"$work/$name.log" 2>&1 || touch "$work/$name.failed"
    echo "$name: $(grep -E '^Done' "$work/$name.log" || echo failed)"
}

step "Fuzzing for $seconds s each"
for name in "${targets[@]}"; do
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n || true; done
    fuzz "$name" &
done
wait

step 'Coverage'
# The corpus in its last state; what it reaches, no matter in which run it got there.
for name in "${targets[@]}"; do
    package=$(package "$name")
    cargo +nightly fuzz coverage --fuzz-dir "$package" --sanitizer none --target-dir "$target/coverage" --llvm-path "$tools" \
        "$name" "$package/corpus/$name" >"$work/coverage" 2>&1 || {
        tail -n 20 "$work/coverage" >&2
        exit 1
    }
    printf '\n%s\n' "$name"
    read -ra files <<<"$(sources "$name")"
    "$tools/llvm-cov" report "$target/coverage/$triple/release/$name" \
        -instr-profile="$package/coverage/$name/coverage.profdata" -show-branch-summary=false \
        -sources "${files[@]/#/$PWD/}"
done

step 'Summary'
failed=0
for name in "${targets[@]}"; do
    printf '%s: ' "$name"
    grep -E '^stat::(number_of_executed_units|average_exec|peak_rss)' "$work/$name.log" | tr -s ' \n' ' ' || true
    grep -E '^#[0-9]+' "$work/$name.log" | tail -n 1 | grep -oE '(cov|ft|corp): [0-9/A-Za-z]+' | tr '\n' ' ' || true
    printf '%s slow\n' "$(grep -c 'Slowest unit' "$work/$name.log" || true)"
    if [ -e "$work/$name.failed" ]; then
        failed=1
        grep -A 1 ' panicked at ' "$work/$name.log" >&2 || true
        tail -n 12 "$work/$name.log" >&2
        echo "$name has failed: the input is in $(package "$name")/artifacts/$name, what it did is above" >&2
    fi
done
if [ "$failed" -ne 0 ]; then exit 1; fi
echo 'No input failed'
