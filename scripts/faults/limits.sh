# What limits of a process leave room for: shards when few files may be open, memory that is refused before it is taken.

draw data 250
"$gpufeed" pack data shards --shard-bytes 16K >packed.txt
count=$(ls shards/*.tar | wc -l)
[ "$count" -gt 40 ] || fail "$count shards are too few for this test"

# The first run has no indexes beside the shards: it scans all of them.
rm -f shards/.*.gpufeed-index
for again in 1 2; do
    (
        ulimit -n 32
        "$gpufeed" bench --data shards --recipe imagenet-eval --backend cpu --quick --seconds 0.1 --workers 2 \
            --batch-size 8 --json report.json >/dev/null
    ) || fail "bench, run $again"
    grep -q '"files_skipped": 0,' report.json || fail "samples were lost, run $again"
done
rm -f shards/.*.gpufeed-index
(
    ulimit -n 32
    "$gpufeed" pack shards again --verify >/dev/null
    "$gpufeed" preview shards --out sheet.png >/dev/null
    "$gpufeed" doctor data >/dev/null
) || [ $? -eq 3 ] || fail "pack, preview or doctor with 32 open files"

# 4,000 workers do not fit into 3 GB; the command says so instead of being killed.
code=0
(ulimit -v 3000000 && "$gpufeed" bench --data data --backend cpu --workers 4000 --seconds 0.2 2>error.txt) || code=$?
[ "$code" -eq 1 ] || fail "bench ended with $code: $(cat error.txt)"
grep -q -- '--workers 4000' error.txt || fail "$(cat error.txt)"
