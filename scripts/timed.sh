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

# The steps so far as a table in Markdown.
print_times() {
    local row seconds status at all=0
    printf '| step | minutes | commit | |\n|---|---|---|---|\n'
    for row in "${times[@]}"; do
        read -r seconds status at row <<<"$row"
        all=$((all + seconds))
        printf '| `%s` | %s.%s | %s | %s |\n' "$row" "$((seconds / 60))" "$((seconds % 60 / 6))" "$at" "$([ "$status" -eq 0 ] && echo passed || echo "FAILED ($status)")"
    done
    printf '| all | %s.%s | | |\n' "$((all / 60))" "$((all % 60 / 6))"
}
