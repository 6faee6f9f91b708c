# Sourced by .ci/run and scripts/nightly.sh: runs steps one after the other and keeps how long each took.
times=()

# The table of an earlier run whose steps are kept, those that passed; empty for none. `commit` is the one that is checked.
kept=
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)

# timed COMMAND...: runs it, and gives its exit status. A step that is kept is not run again.
timed() {
    local began=$SECONDS status=0 step="$*" row
    # A last argument that is empty is no part of the row.
    step=${step% }
    if [ -n "$kept" ] && row=$(grep -F "| \`$step\` |" "$kept" | grep '| passed |$'); then
        IFS='|' read -r _ _ minutes at _ <<<"$row"
        times+=("$(awk -v minutes="$minutes" 'BEGIN { print int(minutes * 60 + 0.5) }') 0 ${at//[[:space:]]/} $step")
        return 0
    fi
    printf '\n#### %s\n' "$step"
    "$@" || status=$?
    times+=("$((SECONDS - began)) $status $commit $step")
    return "$status"
}

# timed_before MINUTES COMMAND...: as `timed`, but a step that would begin later is left out, which the table says.
timed_before() {
    local limit=$1
    shift
    if [ "$SECONDS" -lt $((limit * 60)) ]; then
        timed "$@"
    else
        times+=("0 -1 $commit $*")
    fi
}

# The steps so far as a table in Markdown.
print_times() {
    local row seconds status at all=0 how
    printf '| step | minutes | commit | |\n|---|---|---|---|\n'
    for row in "${times[@]}"; do
        read -r seconds status at row <<<"$row"
        all=$((all + seconds))
        case $status in
            0) how=passed ;;
            -1) how='left out: this machine is slow' ;;
            *) how="FAILED ($status)" ;;
        esac
        printf '| `%s` | %s.%s | %s | %s |\n' "$row" "$((seconds / 60))" "$((seconds % 60 / 6))" "$at" "$how"
    done
    printf '| all | %s.%s | | |\n' "$((all / 60))" "$((all % 60 / 6))"
}
