# Sourced by .ci/run and scripts/nightly.sh: runs steps one after the other and keeps how long each took.
times=()

# timed COMMAND...: runs it, and gives its exit status.
timed() {
    local began=$SECONDS status=0
    printf '\n#### %s\n' "$*"
    "$@" || status=$?
    times+=("$((SECONDS - began)) $status $*")
    return "$status"
}

# The steps so far as a table in Markdown.
print_times() {
    local row seconds status
    printf '| step | minutes | |\n|---|---|---|\n'
    for row in "${times[@]}"; do
        read -r seconds status row <<<"$row"
        printf '| `%s` | %s.%s | %s |\n' "$row" "$((seconds / 60))" "$((seconds % 60 / 6))" "$([ "$status" -eq 0 ] && echo passed || echo "FAILED ($status)")"
    done
    printf '| all | %s.%s | |\n' "$((SECONDS / 60))" "$((SECONDS % 60 / 6))"
}
