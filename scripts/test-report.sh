#!/usr/bin/env bash
# Opens the HTML report in headless Chromium and looks whether its charts are there: each figure has a size, and marks that
# are inside it and visible. Takes screenshots by day, by night and of a report without measurements.
#
#   scripts/test-report.sh [SCREENSHOT.png [REPORT.json]]
#
# Without REPORT.json the report is that of a short `gpufeed bench` here; the sample in crates/cli/tests/data, which has
# every chart, is looked at in any case. The others are put beside the screenshot: NAME-dark.png, NAME-empty.png, NAME-sample.png. Needs bash, cargo, and
# Chromium, which it installs where it can.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo

export NODEVICE_SELECT=1

step() { printf '\n== %s\n' "$*"; }

require_chromium
chromium=$(find_chromium)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
picture=${1:-$(mktemp -d)/report.png}
given=${2:-}

step 'Building'
# With an example: its dependencies' features are then those of the tests, and wgpu is not built a second time.
cargo build --quiet "${selected[@]}" --bin gpufeed --example adapters
program=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/gpufeed
gpufeed() { "$program" "$@"; }

browser() {
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --user-data-dir="$folder/profile" \
        --virtual-time-budget=2000 "$@" 2>"$folder/chromium.log" || {
        echo 'Chromium failed:' >&2
        tail -n 20 "$folder/chromium.log" >&2
        return 1
    }
}

# check PAGE empty|full: runs scripts/report-check.js in a copy of the page and judges by its verdict.
check() {
    local copy="$folder/checked.html"
    { cat "$1"; printf '<script>const wanted = "%s";\n' "$2"; cat scripts/report-check.js; printf '</script>\n'; } >"$copy"
    browser --window-size=1366,900 --dump-dom "file://$copy" >"$folder/dom.html"
    # The page also holds the text of the script: only what that wrote counts.
    sed -n '/<pre id="check">/,/<\/pre>/p' "$folder/dom.html" | sed 's/<[^>]*>//g' >"$folder/verdict"
    cat "$folder/verdict"
    grep -qx 'CHECK PASSED' "$folder/verdict" || { echo "the report's charts are not as they should be" >&2; return 1; }
}

# shot PAGE PNG [OPTION...]: the whole page, as high as it is.
shot() {
    local page=$1 png=$2 height
    shift 2
    height=$(grep -o 'PAGE HEIGHT [0-9]*' "$folder/verdict" | grep -o '[0-9]*$')
    browser --window-size="1366,$height" --screenshot="$png" "$@" "file://$page"
    test -s "$png"
    echo "$png"
}

# look REPORT.json PNG: by day and by night.
look() {
    step "The report of $1"
    gpufeed report "$1" --html "$folder/report.html"
    check "$folder/report.html" full
    shot "$folder/report.html" "$2"
    shot "$folder/report.html" "${2%.png}-dark.png" --blink-settings=preferredColorScheme=0
}

sample=crates/cli/tests/data/report.json
if [ -n "$given" ]; then
    look "$given" "$picture"
    look "$sample" "${picture%.png}-sample.png"
else
    step 'A short run'
    gpufeed bench --quick --data procedural --json "$folder/bench.json"
    look "$folder/bench.json" "$picture"
    look "$sample" "${picture%.png}-sample.png"
fi

step 'A report without measurements'
printf '{"version": "0.1.0"}' >"$folder/empty.json"
gpufeed report "$folder/empty.json" --html "$folder/empty.html"
check "$folder/empty.html" empty
shot "$folder/empty.html" "${picture%.png}-empty.png"

step 'The check fails where a chart is missing'
sed 's/<figure id="chart-sweep">/<figure id="chart-gone">/' "$folder/report.html" >"$folder/broken.html"
if check "$folder/broken.html" full; then
    echo 'a page without a chart has passed' >&2
    exit 1
fi

step 'The report is as it should be'
