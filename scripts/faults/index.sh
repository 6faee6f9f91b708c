# Seek indexes of a folder: built twice, by eight processes at once, into folders that refuse them. That kill -9 keeps what was
# saved is a test of the library (src/decode/seek/processes.rs).

draw data 40
"$gpufeed" index data --json >first.json
grep -q '"built": 4' first.json || fail "$(cat first.json)"
"$gpufeed" index data --json >second.json
grep -q '"built": 0' second.json || fail "$(cat second.json)"

# Eight processes write into one file: two folders each, so that every folder has two writers.
for part in 1 2 3 4 5 6 7 8; do
    draw "all/part$part" 100
    for file in "all/part$part"/*/*; do
        printf '%s' "$part" >>"$file"
    done
done
for trial in 1 2 3; do
    rm -f shared.seek
    processes=()
    for part in 1 2 3 4 5 6 7 8; do
        mkdir -p "two$part"
        ln -sfn "../all/part$part" "two$part/a"
        ln -sfn "../all/part$((part % 8 + 1))" "two$part/b"
        "$gpufeed" index "two$part" --out shared.seek --workers 1 --json >"two$part.json" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do
        wait "$process" || fail 'one of eight processes'
    done
    for part in 1 2 3 4 5 6 7 8; do
        "$gpufeed" index "two$part" --out shared.seek --json >again.json
        grep -q '"built": 0' again.json || fail "trial $trial, part $part: $(cat again.json)"
    done
done

# A folder that takes no files is found before any work, also by root, for whom permissions are no obstacle.
if "$gpufeed" index data --out /proc/seek 2>said.txt; then
    fail 'an index in /proc'
fi
grep -q -- '--out' said.txt || fail "$(cat said.txt)"

# A full disk.
mkdir full
if mount -t tmpfs -o size=4k tmpfs full 2>/dev/null; then
    status=0
    "$gpufeed" index all/part1 --out full/seek 2>said.txt || status=$?
    umount full
    [ "$status" -eq 1 ] || fail "a full disk ends with $status"
    grep -q -- '--out' said.txt || fail "$(cat said.txt)"
else
    printf 'left out: a full disk, as nothing can be mounted here\n'
fi
