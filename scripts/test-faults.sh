#!/usr/bin/env bash
# What the command `gpufeed` does when a machine fails it: killed processes, limits on memory and files, full disks, other users.
#
#   scripts/test-faults.sh [NAME...]
#
# Runs each scripts/faults/NAME.sh (all of them by default), each in an empty folder of its own and with these at hand:
#   $gpufeed          the command, built by this script
#   $tree             the repository
#   draw FOLDER N     writes N different JPEG files into class folders below FOLDER
#   fail TEXT         ends the test: it has failed
# Needs bash, cargo and Python 3. Must take less than three minutes in all, builds aside; it prints how long each test took.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1
tree=$PWD

printf '\n== Building\n'
# With an example: its dependencies' features are then those of the tests, and wgpu is not built a second time.
cargo build "${selected[@]}" --bin gpufeed --example adapters
gpufeed=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/gpufeed

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# The small photographs of tests/golden, with a number behind the end of each file: files of the same picture differ.
draw() {
    python3 - "$tree/tests/golden" "$1" "$2" <<'PYTHON'
import pathlib, sys
golden, folder, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
packed, files = (golden / "jpeg_files.bin").read_bytes(), []
for line in (golden / "jpeg_files.txt").read_text().splitlines():
    length = int(line.split(" ")[0])
    files.append(packed[:length])
    packed = packed[length:]
for number in range(count):
    target = folder / f"class{number % 4}" / f"{number:05}.jpg"
    target.parent.mkdir(parents=True, exist_ok=True)
    comment = f"{number:08}".encode()
    file = files[number % len(files)]
    target.write_bytes(file[:2] + b"\xff\xfe\x00\x0a" + comment + file[2:])
PYTHON
}

if [ $# -gt 0 ]; then
    tests=("${@/%/.sh}")
    tests=("${tests[@]/#/scripts/faults/}")
else
    tests=(scripts/faults/*.sh)
fi

start=$SECONDS
for test in "${tests[@]}"; do
    printf '\n== %s\n' "$(basename "$test" .sh)"
    began=$SECONDS
    folder=$(mktemp -d)
    # Not as the condition of an `if`: there, bash ignores `set -e`.
    set +e
    (
        set -e
        cd "$folder"
        . "$tree/$test"
    )
    status=$?
    set -e
    rm -rf "$folder"
    if [ "$status" -ne 0 ]; then
        printf '%s failed\n' "$test" >&2
        exit 1
    fi
    printf '%s s\n' "$((SECONDS - began))"
done
printf '\n== %s tests of faults passed in %s s\n' "${#tests[@]}" "$((SECONDS - start))"
