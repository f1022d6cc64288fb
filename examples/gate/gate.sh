#!/usr/bin/env bash
# gate.sh [--wait-ms N] [--ttl MINUTES] [--marker FILE] -- COMMAND [ARGS]...
#
# Runs COMMAND in a slot: waits for one (at most N ms, default ten minutes), keeps it alive while COMMAND works (a heartbeat
# every sixth of the TTL, default two minutes), gives it back when COMMAND has ended, and ends as COMMAND did. A signal is
# passed on, and the slot is given back when COMMAND has ended of it. If the lease is lost, COMMAND is stopped, the exit code
# is 75, and FILE says what became of the lease; COMMAND sees its name in GATE_LOST. If this script is killed, COMMAND is
# stopped as well, and the slot is given back.
#
# Needs bash 4.1 or newer, and on the PATH cargo-lease, which finds pool and store as always. The owner is LEASE_OWNER, else
# <user>@<host>. When there is no slot, COMMAND never runs, and the exit code is cargo-lease's: 1, 2 or 3.
#
# All names begin with gate_, so that no variable that COMMAND is to see is touched.
set -euo pipefail

gate_wait_ms=600000 gate_ttl=2 gate_marker=
gate_dir='' gate_child='' gate_code='' gate_watcher='' gate_signal=''
gate_grant='' gate_slot='' gate_token='' gate_answer='' gate_owner=${LEASE_OWNER:-$(id -un)@$(uname -n)}

gate_main() {
    gate_parse "$@"
    gate_prepare
    gate_start_watch
    gate_acquire
    gate_run gate_in_slot
    # What comes now comes too late to end anything early.
    trap '' INT TERM HUP QUIT
    gate_end_watch
    # The last word: the watcher may have been killed, and the lease lost since its last heartbeat.
    if [[ -e $gate_marker ]] || ! gate_beat; then
        gate_say "the lease of slot $gate_slot was lost, so what the command did is void: ${gate_answer:-$(<"$gate_marker")}"
        return 75
    fi
    return "$gate_code"
}

gate_parse() {
    while [[ $# -gt 0 && $1 != -- ]]; do
        case $1 in
        --wait-ms) gate_wait_ms=${2-} ;;
        --ttl) gate_ttl=${2-} ;;
        --marker) gate_marker=${2-} ;;
        *) gate_usage "unknown option \"$1\"" ;;
        esac
        [[ -n ${2-} ]] || gate_usage "$1 needs a value"
        shift 2
    done
    [[ $# -ge 2 ]] || gate_usage 'no command'
    shift
    gate_command=("$@")
}

gate_usage() {
    gate_say "$1; usage: gate.sh [--wait-ms N] [--ttl MINUTES] [--marker FILE] -- COMMAND [ARGS]..."
    exit 2
}

gate_say() { printf 'gate: %s\n' "$1" >&2; }

gate_prepare() {
    local name
    gate_pause=$(LC_ALL=C awk -v ttl="$gate_ttl" 'BEGIN {
        pause = ttl * 60 / 6
        printf "%.3f", (pause < 0.05) ? 0.05 : (pause > 240) ? 240 : pause
    }')
    trap gate_finish EXIT
    for name in INT TERM HUP QUIT; do
        # shellcheck disable=SC2064 # The name is meant to be filled in now.
        trap "gate_on_signal $name" "$name"
    done
    gate_dir=$(mktemp -d)
    : >"$gate_dir/grant"
    gate_marker=${gate_marker:-$gate_dir/lost}
    [[ $gate_marker == /* ]] || gate_marker=$PWD/$gate_marker
    rm -f -- "$gate_marker"
}

# Ctrl-C on a terminal has reached our child already. Whatever else comes, came to us alone.
gate_on_signal() {
    gate_signal=$1
    [[ $1 == INT && $(ps -o stat= -p $$ 2>/dev/null) == *+* ]] || gate_pass_on
}

gate_pass_on() {
    [[ -z $gate_child ]] || kill -s "$gate_signal" "$gate_child" 2>/dev/null || true
}

# Does $1, which ends in exec, as a child that signals are passed on to, until it has ended; its exit code is in $gate_code.
#
# Another shell waits for the child and tells what it sees through a pipe. We could not: when a trapped signal interrupts
# `wait` just as the child ends, bash may forget how it ended, and even that it did.
gate_run() {
    local report news word='' value
    mkfifo "$gate_dir/news"
    exec {report}<>"$gate_dir/news"
    exec {news}<"$gate_dir/news"
    rm -- "$gate_dir/news"
    gate_wait_for "$1" "$report" <&0 {news}<&- &
    exec {report}>&-
    gate_code=137
    until [[ $word == ended ]]; do
        # Nothing comes any more if whoever waits was killed.
        read -r word value <&"$news" || [[ $? -gt 128 ]] || break
        case $word in
        started) gate_child=$value ;;
        ended) gate_code=$value ;;
        esac
        # One that came before we knew whom to pass it on to.
        [[ $word != started || -z $gate_signal ]] || gate_pass_on
    done
    exec {news}<&-
    [[ $word == ended || -z $gate_child ]] || gate_stop
    gate_child=
}

gate_wait_for() {
    local code=0 report=$2
    trap '' INT TERM HUP QUIT
    # The background of a script does not listen to Ctrl-C, and has no input, unless it is told so.
    (
        trap - INT TERM HUP QUIT
        exec {report}>&- {gate_alive}>&-
        "$1"
    ) <&0 &
    # The watcher is told by us, who live on if the gate is killed just now.
    printf '%s %s\n' "$1" $! >&"$gate_alive"
    exec {gate_alive}>&-
    printf 'started %s\n' $! >&"$report"
    wait $! || code=$?
    printf 'ended %s\n' "$code" >&"$report"
}

gate_acquire() {
    gate_run gate_ask
    [[ $gate_code -ne 0 ]] || gate_read_grant
    # Granted or not: who was told to end meanwhile does not begin.
    [[ -z $gate_signal ]] || exit $((128 + $(kill -l "$gate_signal")))
    if [[ -z $gate_token ]]; then
        gate_grant=$(<"$gate_dir/grant")
        gate_say "there is no slot, so the command did not run${gate_grant:+: $gate_grant}"
        exit $((gate_code == 0 ? 3 : gate_code))
    fi
}

gate_ask() {
    exec cargo-lease pool acquire --owner "$gate_owner" --session "gate: ${gate_command[0]##*/}" \
        --wait-ms "$gate_wait_ms" --ttl "$gate_ttl" --shell </dev/null >"$gate_dir/grant"
}

gate_read_grant() {
    gate_grant=$(<"$gate_dir/grant")
    gate_slot=$(gate_granted SLOT)
    gate_owner=$(gate_granted OWNER)
    gate_token=$(gate_granted TOKEN)
}

# The last variables of a grant are <prefix>_SLOT, <prefix>_TOKEN and <prefix>_OWNER; the prefix is the pool's. They are
# read in a shell of their own, because the others may have any name.
gate_granted() (
    set -- "$1" "${gate_grant##*export }"
    set -- "${2%%_OWNER=*}_$1"
    eval "$gate_grant"
    printf '%s' "${!1}"
)

gate_in_slot() {
    export GATE_LOST=$gate_marker
    set -- "${gate_command[@]}"
    eval "$gate_grant"
    exec "$@"
}

# The watcher reads from a pipe that the gate has open, and nobody else for long.
gate_start_watch() {
    mkfifo "$gate_dir/alive"
    exec {gate_alive}<>"$gate_dir/alive"
    gate_watch <"$gate_dir/alive" {gate_alive}>&- >&2 &
    gate_watcher=$!
}

# Beats while the command works. To read from the pipe is a pause that ends when something is written, or when there is
# nobody who could. Then the gate was killed, and nobody else can stop the command and give the slot back.
gate_watch() {
    # In other languages, a fraction may have a comma.
    local read_code word child LC_ALL=C
    trap '' INT TERM HUP QUIT
    while :; do
        read_code=0
        read -r -t "$gate_pause" word child || read_code=$?
        if [[ $read_code -gt 128 ]]; then
            [[ -z $gate_token ]] || gate_beat || break
        elif [[ $read_code -eq 0 && $word != over ]]; then
            gate_child=$child
            [[ $word != gate_in_slot ]] || gate_read_grant
        else
            break
        fi
    done
    [[ $read_code -ne 0 ]] || return 0
    [[ -z $gate_child ]] || gate_stop
    [[ $read_code -le 128 ]] || return 0
    [[ -n $gate_token || ! -s $gate_dir/grant ]] || gate_read_grant
    [[ -z $gate_token ]] || gate_release
    rm -rf -- "$gate_dir"
}

# One heartbeat. A refusal is certain; whatever else fails may be over at once, so it is tried twice. Then the lease counts
# as lost.
gate_beat() {
    local code try
    for try in 1 2; do
        code=0
        gate_answer=$(cargo-lease pool heartbeat --slot "$gate_slot" --owner "$gate_owner" --token "$gate_token" </dev/null) || code=$?
        [[ $code -ne 0 ]] || return 0
        [[ $code -ne 1 ]] || break
    done
    gate_answer=${gate_answer:-no heartbeat in $try tries, the last exit code was $code}
    printf '%s\n' "$gate_answer" >"$gate_marker" || true
    return 1
}

# Ends the command, which has ten seconds to clean up.
gate_stop() {
    local tenth
    kill -s TERM "$gate_child" 2>/dev/null || return 0
    for ((tenth = 0; tenth < 100; tenth++)); do
        sleep 0.1
        kill -s 0 "$gate_child" 2>/dev/null || return 0
    done
    kill -s KILL "$gate_child" 2>/dev/null || true
}

gate_end_watch() {
    [[ -n $gate_watcher ]] || return 0
    printf 'over\n' >&"$gate_alive"
    wait "$gate_watcher" || true
    gate_watcher=
}

# By our token: a lease that is somebody else's by now is not touched.
gate_release() {
    cargo-lease pool release --slot "$gate_slot" --owner "$gate_owner" --token "$gate_token" </dev/null >/dev/null ||
        [[ -e $gate_marker ]] || gate_say "slot $gate_slot could not be given back: it is free when its lease expires"
}

gate_finish() {
    local code=$?
    trap '' INT TERM HUP QUIT
    gate_end_watch
    [[ -z $gate_token ]] || gate_release
    [[ -z $gate_dir ]] || rm -rf -- "$gate_dir"
    # Who started us is to see that it was a signal.
    if [[ -n $gate_signal && $code -eq $((128 + $(kill -l "$gate_signal"))) ]]; then
        trap - "$gate_signal"
        kill -s "$gate_signal" $$
    fi
}

gate_main "$@"
