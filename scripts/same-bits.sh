#!/usr/bin/env bash
# Compares the batches of two builds, bit for bit, on the CPU and on every adapter of this machine, copied up and by shaders:
#
#   cargo build --release --example bits && cp target/release/examples/bits /tmp/old
#   (change the code)
#   cargo build --release --example bits && scripts/same-bits.sh /tmp/old target/release/examples/bits
#
# OLD and NEW are executables of examples/bits. On a software adapter all lines take minutes: words after the two leave out
# the lines that lack one of them, such as "CPU" or "imagenet-train,". Prints the lines that differ, OLD's with -, NEW's
# with +, and ends with 1 if there is one; with 2 if it cannot compare.
set -euo pipefail

if [ $# -lt 2 ] || [ ! -f "$1" ] || [ ! -x "$1" ] || [ ! -f "$2" ] || [ ! -x "$2" ]; then
    echo 'usage: scripts/same-bits.sh OLD NEW [WORD]...' >&2
    echo 'OLD and NEW are executables of two builds: cargo build --release --example bits' >&2
    exit 2
fi
old=$(realpath "$1")
new=$(realpath "$2")
shift 2

# Without a desktop, Mesa's layer that reorders Vulkan devices complains about Wayland; nothing here needs it.
export NODEVICE_SELECT=1

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# What a driver says goes to stderr. A case that fails is a line, too (the program then ends with 1): both may fail alike.
lines_of() {
    local program=$1 status=0
    shift
    "$program" "$@" || status=$?
    [ "$status" -eq 0 ] && return
    if [ "$status" -gt 1 ]; then
        echo "$program ended with $status before its last line" >&2
        exit 2
    fi
    echo "cases failed, see their lines: $program" >&2
}
lines_of "$old" "$@" >"$results/old"
lines_of "$new" "$@" >"$results/new"

for which in old new; do
    if ! grep -qE ': [0-9a-f]{16} [0-9a-f]{16}$' "$results/$which"; then
        echo "no hash from ${which^^}: is it an executable of examples/bits, and are there lines with: $*" >&2
        exit 2
    fi
done

if diff -U 0 "$results/old" "$results/new" >"$results/diff"; then
    echo "the same bits in $(wc -l <"$results/new") cases"
    exit 0
fi
# Without diff's own lines.
grep -E '^[-+][^-+]' "$results/diff" || cat "$results/diff"
echo "$(grep -cE '^[+][^+]' "$results/diff" || true) of $(wc -l <"$results/new") lines differ" >&2
exit 1
