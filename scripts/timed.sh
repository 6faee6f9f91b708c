# Sourced by .ci/run and scripts/nightly.sh: runs steps one after the other and keeps how long each took.
times=()

# The table of an earlier run whose steps are kept, those that passed; empty for none. `commit` is the one that is checked.
# `timed_each` hands both to a script that it runs, and the file to which that script writes its own steps; they are for that
# script alone, and not for what it runs.
kept=${GPUFEED_KEPT-}
commit=${GPUFEED_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
written_steps=${GPUFEED_STEPS-}
unset GPUFEED_KEPT GPUFEED_COMMIT GPUFEED_STEPS

# Adds a step: its seconds, its exit status or -1 where it was left out, its commit, its command.
add_step() {
    times+=("$*")
    if [ -n "$written_steps" ]; then printf '%s\n' "$*" >>"$written_steps"; fi
}

# timed COMMAND...: runs it, and gives its exit status. A step that is kept is not run again.
timed() {
    local began=$SECONDS status=0 step="$*" row
    # A last argument that is empty is no part of the row.
    step=${step% }
    if [ -n "$kept" ] && row=$(grep -F "| \`$step\` |" "$kept" | grep '| passed |$'); then
        IFS='|' read -r _ _ minutes at _ <<<"$row"
        add_step "$(awk -v minutes="$minutes" 'BEGIN { print int(minutes * 60 + 0.5) }') 0 ${at//[[:space:]]/} $step"
        return 0
    fi
    printf '\n#### %s\n' "$step"
    "$@" || status=$?
    add_step "$((SECONDS - began)) $status $commit $step"
    return "$status"
}

# timed_before MINUTES COMMAND...: as `timed`, but a step that would begin later is left out, which the table says.
timed_before() {
    local limit=$1
    shift
    if [ "$SECONDS" -lt $((limit * 60)) ]; then
        timed "$@"
    else
        add_step "0 -1 $commit $*"
    fi
}

# timed_each SCRIPT...: runs a script that has steps of this file itself: they become steps here, one by one, and those that
# are kept are not run again.
each_steps=
each_script=
timed_each() {
    local status=0
    each_steps=$(mktemp)
    each_script=$*
    printf '\n#### %s\n' "$*"
    GPUFEED_KEPT=$kept GPUFEED_COMMIT=$commit GPUFEED_STEPS=$each_steps "$@" || status=$?
    take_steps "$status"
    return "$status"
}

# Takes the steps of the script that `timed_each` runs or has run, also where it was stopped. STATUS is that of the script.
take_steps() {
    local row failing
    [ -n "$each_steps" ] || return 0
    while read -r row; do times+=("$row"); done <"$each_steps"
    # It may fail by more than its steps.
    failing=$(awk '$2 > 0' "$each_steps")
    if [ "$1" -ne 0 ] && [ -z "$failing" ]; then times+=("0 $1 $commit $each_script"); fi
    rm "$each_steps"
    each_steps=
}

# Adds the steps that are kept and that the run has not come to.
keep_rest() {
    local row step minutes at known
    [ -n "$kept" ] || return 0
    while IFS= read -r row; do
        step=$(cut -d'`' -f2 <<<"$row")
        for known in "${times[@]}"; do
            if [ "$(cut -d' ' -f4- <<<"$known")" = "$step" ]; then continue 2; fi
        done
        IFS='|' read -r minutes at _ <<<"${row#*"\` |"}"
        add_step "$(awk -v minutes="$minutes" 'BEGIN { print int(minutes * 60 + 0.5) }') 0 ${at//[[:space:]]/} $step"
    done < <(grep '^| `.*| passed |$' "$kept")
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
