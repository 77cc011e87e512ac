# prelude.sh - what the tests of the program begin with: source it behind `set -u`, with the program as the first argument or in $CELLAR_BUILD.
#
#   $folder      for files; removed in the end, when the processes in `started` have been killed
#   fail TEXT    counts a failure; a test ends with: [ $failures -eq 0 ]
#   until_true SECONDS COMMAND... waits for the command to succeed, at most so long: a loaded machine keeps live
#   processes waiting, so be generous
#   ended PID    is that process gone?
#   works PID    has that process attached to its memory nodes, and begun to work?
#   busy PID [TICKS] and have its workers used so much processor time, else a fifth of a second? Then they run
#   transactions.
#   child PID COMMAND...   the command, of that process's only child: the program that `timeout` has started
#   refused TEXT ARGUMENTS... the program, or its `subcommand`: exit 2, nothing on stdout, one line on stderr that
#   contains TEXT
#   told STATUS TEXT... a test's own `run NAME ARGUMENTS...` has left $name, $status and $folder/out: of that status, with
#   each text
#   modes NAME..., has_laboratory   what the program has (test/modes.sh)
#   sanitizer_flags BUILD   how the compiler is to build a program that links the library of this build
#   $share       the percentage of long tests that this build makes: $CELLAR_SHARE, where that is not set or empty all
cellar=${1:-${CELLAR_BUILD:?}/cellar}
source "$(dirname "${BASH_SOURCE[0]}")/../share.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../modes.sh"
folder=$(mktemp -d) || exit 2
failures=0
started=()
subcommand=()
cleanup() {
    for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null; done
    [ ${#started[@]} -eq 0 ] || wait 2>/dev/null
    rm -rf "$folder"
}
trap cleanup EXIT

fail() {
    echo "$*"
    failures=$((failures + 1))
}

until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -ge $end ] && return 1
        sleep 0.05
    done
}

ended() { ! kill -0 "$1" 2>/dev/null; }

works() { grep -qsx "cn[0-9]*-worker0" /proc/"$1"/task/*/comm; }

busy() { cat /proc/"$1"/task/*/stat 2>/dev/null | awk -v least="${2:-20}" '/\(cn[0-9]+-worker/ { ticks += $14 + $15 } END { exit ticks < least }'; }

child() {
    local of
    of=$(pgrep -P "$1") && "${@:2}" "$of"
}

sanitizer_flags() {
    sed -nE 's/^(ASAN|TSAN|UBSAN):BOOL=(ON|1|TRUE)$/\1/p' "$1/CMakeCache.txt" |
        sed 's/^ASAN/-fsanitize=address/;s/^TSAN/-fsanitize=thread/;s/^UBSAN/-fsanitize=undefined/'
}

refused() {
    local text=$1
    shift
    timeout -k 5 240 "$cellar" "${subcommand[@]}" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    local status=$?
    if [ $status -ne 2 ] || [ -s "$folder/out" ] || [ "$(wc -l <"$folder/err")" -ne 1 ] || ! grep -qF -- "$text" "$folder/err"; then
        fail "cellar ${subcommand[*]} $*: exit $status, wanted 2 and one line with '$text', got:"
        cat "$folder/out" "$folder/err"
    fi
}

told() {
    local wanted=$1 text
    shift
    [ $status -eq "$wanted" ] || fail "$name: exit $status, wanted $wanted: $(cat "$folder/out" "$folder/err")"
    for text in "$@"; do grep -qE -- "$text" "$folder/out" || fail "$name: wanted '$text', got: $(cat "$folder/out")"; done
}
