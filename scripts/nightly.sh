#!/usr/bin/env bash
# Every check at full width: those of .ci/run, and those that take too long for each change. Goes on after a failure, and
# writes a summary with date, commit and the minutes of each step. Renews the tables of drivers (docs/guide/platforms.md) and of
# translations (benches/results/translations.md): commit them with the summary.
#
#   scripts/nightly.sh [--continue] [SUMMARY.md]     by default benches/results/nightly.md; about four hours on two cores,
#                                                    estimated. --continue: leaves out the steps that passed before an
#                                                    earlier run was stopped, those of .ci/run one by one, too; the summary
#                                                    says on which commit each step passed
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/timed.sh
. scripts/system.sh
require_cargo
continues=
if [ "${1-}" = --continue ]; then
    continues=1
    shift
fi
summary=${1:-benches/results/nightly.md}
if [ -n "$continues" ]; then
    if ! grep -q 'stopped before its last step\|FAILED' "$summary"; then
        echo "$summary is of a whole run: there is nothing to continue" >&2
        exit 2
    fi
    kept=$(mktemp)
    cp "$summary" "$kept"
fi
failed=0
done=0

# A stopped run has left its tables.
if [ -n "$(git status --porcelain -- . ':!benches/results' ':!docs/guide/platforms.md')" ]; then commit=$commit+changes; fi

# At the end, or where the run is stopped: with the steps so far, and with those that an earlier run passed and this one has not
# come to.
summarise() {
    take_steps 0
    if [ "$done" -eq 0 ]; then keep_rest; fi
    local verdict='all passed'
    if [ "$done" -eq 0 ]; then verdict='stopped before its last step'; fi
    if [ "$failed" -ne 0 ]; then verdict=FAILED; fi
    {
        printf '# The nightly checks\n\n'
        printf '`scripts/nightly.sh`, ended on %s, commit %s: %s.\n\n' "$(date -u +%F)" "$commit" "$verdict"
        printf '%s, %s cores.\n\n' "$(uname -sm)" "$(getconf _NPROCESSORS_ONLN)"
        print_times
    } >"$summary"
    cat "$summary"
    if [ -n "$kept" ]; then rm "$kept"; fi
}
trap summarise EXIT

# Tests that try some of many combinations try all of them.
export GPUFEED_FULL=1
timed_each .ci/run || failed=1
timed cargo clippy --workspace --all-targets --all-features -- -D warnings || failed=1
timed env RUSTDOCFLAGS='-D warnings' cargo doc -p gpufeed -p gpufeed-cli -p gpufeed-jpeg -p gpufeed-burn --no-deps --all-features || failed=1
timed scripts/semver.sh || failed=1
timed cargo check -p gpufeed-burn || failed=1
timed cargo check -p gpufeed-jpeg || failed=1
timed scripts/test-targets.sh || failed=1
# At full width both widths took an hour, and each driver would take a quarter of an hour. .ci/run, called above, has had every
# combination on llvmpipe and lavapipe.
timed env -u GPUFEED_FULL scripts/test-widths.sh all || failed=1
timed scripts/shader-stats.sh || failed=1
timed scripts/test-web.sh || failed=1
timed scripts/test-translations.sh --every=16 --table || failed=1
# Each takes 5 to 20 minutes: a step of its own, so that a run that is stopped goes on with the next one.
for driver in lavapipe newer-mesa swiftshader llvmpipe discrete integrated inline,fma inline,fma2,div inline,fma,div,assoc inline,flush; do
    timed env -u GPUFEED_FULL scripts/test-drivers.sh --only "$driver" --table || failed=1
done
timed scripts/test-validation.sh || failed=1
timed python3 scripts/hardware/external_memory/check.py || failed=1
timed scripts/test-burn.sh --without-fusion || failed=1
timed cargo bench -p gpufeed -p gpufeed-cli -p gpufeed-jpeg --bench pipeline --bench archives --bench kernels --bench decode --no-run || failed=1
timed scripts/test-remote.sh || failed=1
timed scripts/test-python.sh || failed=1
timed scripts/test-handover.sh || failed=1
timed scripts/test-parquet.sh || failed=1
timed scripts/test-real-sets.sh || failed=1
timed scripts/test-pillow.sh || failed=1
timed scripts/test-jpeg.sh --count 20000 || failed=1
timed scripts/test-jpeg.sh --photographs || failed=1
timed scripts/test-cluster.sh || failed=1
timed cargo build -p gpufeed-cli --features lmdb,parquet,remote || failed=1
timed python3 scripts/guide.py commands || failed=1
timed scripts/guide.sh || failed=1
timed python3 scripts/guide.py programs || failed=1
timed scripts/fuzz.sh 60 || failed=1

done=1
exit "$failed"
