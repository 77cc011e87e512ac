#!/bin/bash
# rooms.sh [TREE] - holds a source tree to docs/architecture.md: which room may include which, where clocks, threads,
# verbs and allocation may be, how headers, symbols and files are named. Prints one line for each violation;
# exit 1 if there is any. With $CELLAR_BUILD set, also judges the symbols of the archives built there.
set -u
shopt -s nullglob
export LC_ALL=C
here=$(cd "$(dirname "$0")/../.." && pwd)
cd "${1:-$here}" || exit 2
found=$(mktemp) && sources=$(mktemp) || exit 2
trap 'rm -f "$found" "$sources"' EXIT
# The workloads, each a room: CMakeLists.txt lists them.
workloads=$(sed -n 's/^set(workloads \([a-z ]*\))$/\1/p' CMakeLists.txt)
[ -n "$workloads" ] || { echo "rooms.sh: CMakeLists.txt has no set(workloads ...)"; exit 2; }
rooms="base fabric durable storage lockmgr engine trace workload $workloads cli etcd shell bench chaos program history sim locks modes lockbench exp lab"

# ---- the tables: what is allowed ---------------------------------------------------------------------------------

# room: the folders whose headers it may include, besides its own. A name with a dot is one header.
# WORKLOAD stands for each workload, WORKLOADS for all.
edges='
base       include
fabric     base include
durable    base include
storage    fabric base include
lockmgr    fabric base include
engine     lockmgr storage durable fabric base include
workload   base include
WORKLOAD   numbered.h schemadef.h workload base include
trace      engine storage fabric base include
cli        mode.h engine_config.h db_open.h base include
etcd       base include
shell      engine_config.h etcd cli base include
bench      etcd cli trace history workload engine lockmgr storage fabric base include
chaos      etcd cli mode.h engine_config.h db_open.h base include
program    chaos bench shell etcd cli sim trace history workload engine lockmgr storage durable fabric base include
history    engine storage durable fabric base include
sim        rivals.h workload trace history engine storage durable fabric base include
locks      lockmgr fabric base include
modes      engine lockmgr storage fabric base include
lockbench  cli trace history engine lockmgr storage fabric base include
exp        modes lockbench bench cli trace history workload engine lockmgr storage fabric base include
lab        exp lockbench lockmgr program cli include
sqlite     include
examples   include
test       lab locks modes program chaos exp lockbench bench shell etcd cli sim trace history workload WORKLOADS engine lockmgr storage durable fabric base include
include
'
edges=$(while read -r room seen; do
    if [ "$room" = WORKLOAD ]; then
        for room in $workloads; do echo "$room $seen"; done
    else
        echo "$room ${seen/WORKLOADS/$workloads}"
    fi
done <<<"$edges")
# The same of the folders of the engine: below its own, and besides the rooms that it may include.
parts='
engine/face         engine/db engine/tree engine/modes engine/txn engine/cluster engine/recovery
engine/db           engine/tree engine/modes engine/txn engine/cluster engine/recovery
engine/modes        engine/modes/crest engine/modes/hot engine/modes/locks engine/txn engine/cluster engine/recovery
engine/tree         engine/txn engine/cluster engine/recovery
engine/modes/crest  engine/txn engine/cluster engine/recovery
engine/modes/hot    engine/modes/crest engine/modes/locks engine/txn engine/cluster engine/recovery
engine/modes/locks  engine/txn engine/cluster engine/recovery
engine/txn          engine/cluster engine/recovery
engine/cluster      engine/recovery
'
# The engine but for its modes names no mode: no struct, function or constant of theirs, and none by its name. Planted
# bugs and their lists, bits of the lock word and public counters are common to all.
modeless='^engine/(db|tree|txn|cluster|recovery)/'
# Regular expressions of files. Clock, random, sleep and threads: only where a real fabric meets the machine, and main.
timely='^(fabric/((shm|verbs)/)?fabric_(shm|verbs|thread|word)[a-z0-9_]*[.][ch]|etcd/etcd[.]c|program/main[a-z_]*[.]c|sqlite/sqlite_pool[.]c|(lab/)?test/.*|examples/.*)$'
verbs='^(fabric/verbs/[a-z0-9_]*[.][ch]|(lab/)?test/.*)$'
# Transactions pass through these: nothing here may allocate, set-up code better lives in other files.
hot='^(engine/([a-z]+/)*(txn|commit|cache|log)[a-z_]*[.]c|storage/(record|index|logseg)[.]c|fabric/(fabric|sched)[.]c|fabric/shm/fabric_shm_exec[.]c)$'
# A line there that does allocate, when the database opens or closes, says so: a comment with the word set-up.
# Structs of remote bytes: the layouts, the lock words, and what a fabric itself keeps beside the regions it offers.
wire='^(storage/layout[.]h|lockmgr/.*|lab/locks/.*|fabric/(shm|verbs)/[a-z_]*[.]h|fabric/shm/fabric_shm_roll[.]c|(lab/)?test/.*)$'
# Rooms of the library: they report errors to their caller, and neither print nor end the process.
silent="^(base|fabric|durable|storage|lockmgr|engine|etcd|${workloads// /|}|sqlite)/"
loud='^base/must[.][ch]$'
# Calls that make a descriptor: in the library within descriptor_high, of base/descriptor.h. The program's main does it.
opening='open|openat|openat2|creat|socket|accept|accept4|eventfd|timerfd_create|signalfd|inotify_init|inotify_init1|epoll_create|epoll_create1|memfd_create|shm_open|dup|mkstemp|mkostemp'
# ... and calls that make one, or two, that descriptor_high cannot move.
opening_two='fopen|freopen|popen|tmpfile|opendir|scandir|ftw|nftw|pipe|pipe2|socketpair|dup2|dup3'

# ---- source text -------------------------------------------------------------------------------------------------

# The folders of a room: some have their own; proof/ and lab/ have rooms in them.
folders_of() {
    case $1 in
    fabric | lockmgr | engine) find "$1" -type d 2>/dev/null ;;
    locks | modes) find "lab/$1" -type d 2>/dev/null ;;
    history | sim) echo "proof/$1" ;;
    lockbench | exp) echo "lab/$1" ;;
    *) echo "$1" ;;
    esac
}
for room in $rooms sqlite include examples; do
    folders_of "$room" | xargs -I{} find {} -maxdepth 1 -type f -name '*.[chS]' 2>/dev/null
done | sort >"$sources"
find test lab/test -type f -name '*.[ch]' 2>/dev/null | sort >>"$sources"

# What a mode's names begin with: its headers say. (Not arena: a transaction's cache has one, too.)
modes=$(find engine/modes lab/modes -name '*.h' 2>/dev/null | sed 's/.*\///; s/[.]h$//' | grep -vE '^(mode_table|arena|versions|rivals|.*_plants)$' | tr '\n' '|')
awk -v parts="$parts" -v modeless="$modeless" -v modes="${modes%|}" \
    -v edges="$edges" -v timely="$timely" -v verbs="$verbs" -v hot="$hot" -v wire="$wire" -v silent="$silent" \
    -v loud="$loud" -v opening="$opening" -v opening_two="$opening_two" -v sources="$sources" '
function report(text) { printf "%s:%d: %s\n", FILENAME, FNR, text }
# The code of a line: no comments, and string literals emptied.
function code_of(line,    out, c, two) {
    out = ""
    while (line != "") {
        if (in_comment) {
            c = index(line, "*/")
            if (!c) return out
            line = substr(line, c + 2)
            in_comment = 0
        } else if (match(line, /\/[*]|\/\/|"|'"'"'/)) {
            two = substr(line, RSTART, 2)
            c = substr(line, RSTART, 1)
            out = out substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + RLENGTH)
            if (two == "//") return out
            if (two == "/*") { in_comment = 1; out = out " " }
            else {
                out = out c c
                while (line != "" && substr(line, 1, 1) != c) line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
                line = substr(line, 2)
            }
        } else return out line
    }
    return out
}
function room_of(path) {
    sub(/^(proof|lab)\//, "", path)
    if (path !~ /\//) return "lab"
    sub(/\/.*/, "", path)
    return path
}
function calls(code, names) { return code ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ ]*[(]") }
function includes(line,    header, target) {
    if (!match(line, /["<][^">]*[">]/)) return
    header = substr(line, RSTART + 1, RLENGTH - 2)
    if (substr(line, RSTART, 1) == "<") return # quotes are for this tree, and only they search it
    if (header ~ /\//) { report("include \"" header "\" by its name alone: basenames are unique"); return }
    if (!(header in folder)) { report("include \"" header "\": no such header in the tree"); return }
    target = folder[header]
    if (target == room && room ~ /^(engine|fabric)$/ && place[header] ~ /\// && place[header] != part &&
        !((part, place[header]) in below))
        report(part " may not include " header " of " place[header])
    if (target != room && !((room, target) in edge) && !((room, header) in edge))
        report("room " room " may not include " header " of " target)
}
# A name of a mode in the code, or `mode ...` in a comment.
function names_mode(code, line) {
    gsub(/PLANT[(][a-z_]*[)]/, "", code)
    gsub(/LOCKWORD_HOT|CELLAR_HOT_[A-Z]*/, "", code)
    if (modes != "" && code ~ ("(^|[^A-Za-z0-9_])(" modes ")_[A-Za-z0-9_]+")) return 1
    if (modes != "" && code ~ ("struct[ ]+(" modes ")([^A-Za-z0-9_]|$)")) return 1
    return code ~ /CELLAR_LAB_CC_[A-Z]/ || line ~ /[Mm]odes?,? `?(crest|cellar|ford|motor|2pl)([^a-z]|$)/
}
BEGIN {
    n = split(parts, lines, "\n")
    for (i = 1; i <= n; i++) {
        m = split(lines[i], word, " ")
        for (j = 2; j <= m; j++) below[word[1], word[j]] = 1
    }
    n = split(edges, lines, "\n")
    for (i = 1; i <= n; i++) {
        m = split(lines[i], word, " ")
        for (j = 2; j <= m; j++) edge[word[1], word[j]] = 1
    }
    while ((getline path < sources) > 0) {
        if (path !~ /[.]h$/) continue
        header = path; sub(/.*\//, "", header)
        top = room_of(path)
        if (header in folder) printf "%s:1: there is a %s in %s too: basenames are unique\n", path, header, folder[header]
        folder[header] = top
        place[header] = path; sub(/\/[^\/]*$/, "", place[header])
        if (header ~ /(^|_)(util|utils|common|misc|helper|helpers)[._]/) printf "%s:1: the name says nothing\n", path
    }
}
FNR == 1 {
    if (past && !once) printf "%s:1: no #pragma once\n", past
    in_comment = 0; once = 1; past = FILENAME
    room = room_of(FILENAME)
    part = FILENAME; sub(/\/[^\/]*$/, "", part)
    if (FILENAME ~ /[.]h$/) once = 0
}
/^#pragma once/ { once = 1 }
/(^|[^A-Za-z0-9_])(T[O]DO|FIX[M]E|X[X]X)([^A-Za-z0-9_]|$)/ { report("unfinished: say it in the issue tracker") }
{ code = code_of($0) }
code ~ /^[ \t]*#[ \t]*include/ { includes($0); next }
FILENAME ~ modeless && FILENAME !~ /_plants[.]h$/ && names_mode(code, $0) { report("a mode is named: it is reached through its row (mode.h)") }
code ~ /(^|[^A-Za-z0-9_])(ibv|rdma)_/ && FILENAME !~ verbs { report("verbs belong to fabric/verbs") }
(code ~ /(^|[^A-Za-z0-9_])(pthread|thrd|mtx|sem)_/ || code ~ /rdtsc/ ||
 calls(code, "clock_gettime|clock_nanosleep|nanosleep|gettimeofday|usleep|sleep|time|clock|random|rand|srand|srandom|rand_r|drand48|getrandom|sched_yield")) &&
    FILENAME !~ timely { report("clock, random, sleep and threads belong to the fabric backends and main") }
calls(code, "malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|free|strdup|strndup|asprintf") &&
    FILENAME ~ hot && $0 !~ /[\/][*\/].*set-up/ { report("no allocation on the path of a transaction") }
code ~ /struct[ \t]+[a-z0-9_]+_wire[ \t]*([{]|$)/ && FILENAME !~ wire { report("remote bytes are laid out in storage/layout.h and lockmgr") }
calls(code, "printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|putc|perror|exit|_Exit|quick_exit|abort|assert") &&
    FILENAME ~ silent && FILENAME !~ loud { report("a library neither prints nor ends the process: return an error, or must()") }
FILENAME ~ silent && FILENAME != "base/descriptor.c" {
    outside = code
    gsub(/descriptor_high[(]([(]int[)]syscall[(])?[A-Za-z0-9_]+/, "", outside)
    if (calls(code, opening_two) || calls(outside, opening) || outside ~ /SYS_(pidfd_open|memfd_create|open)/)
        report("a descriptor may be standard output: open within descriptor_high (descriptor.h)")
}
END { if (past && !once) printf "%s:1: no #pragma once\n", past }
' $(cat "$sources") >>"$found"

grep -nE 'T[O]DO|FIX[M]E|X[X]X' CMakeLists.txt test/*.cmake lab/*.cmake scripts/*.sh lab/scripts/*.sh test/*/*.sh lab/test/*/*.sh 2>/dev/null | grep -v '^test/lint/' |
    sed 's/$/: unfinished/' >>"$found"

# ---- each header compiles alone: where its own source begins with it, the build has shown it ------------------------

cc=${CC:-cc}
for header in $(grep '[.]h$' "$sources"); do
    ! grep -m1 '^#include' "${header%.h}.c" 2>/dev/null | grep -qF "\"${header##*/}\"" || continue
    folder=$(sed -E 's#^(proof|lab)/##; s#/.*##' <<<"$header")
    flags="-Iinclude $(folders_of "$folder" | sed 's/^/-iquote /' | tr '\n' ' ') -iquote $(dirname "$header")"
    for seen in $(awk -v room="$folder" '$1 == room { for (i = 2; i <= NF; i++) print $i }' <<<"$edges"); do
        if [[ $seen == *.* ]]; then # one header
            flags="$flags -iquote $(dirname "$(grep -m1 "/$seen\$" "$sources")")"
        else
            flags="$flags $(folders_of "$seen" | sed 's/^/-iquote /' | tr '\n' ' ')"
        fi
    done
    # shellcheck disable=SC2086
    printf '#include "%s"\n' "$(basename "$header")" |
        "$cc" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror $flags -iquote test -fsyntax-only -x c - >/dev/null 2>&1 ||
        echo "$header:1: does not compile alone" >>"$found"
done

# ---- symbols: named after a header of their room, or their file; no variables
# -------------------------------------------------------

if [ -n "${CELLAR_BUILD:-}" ] && command -v nm >/dev/null; then
    for room in $rooms; do
        archive=$CELLAR_BUILD/lib$room.a
        [ -f "$archive" ] || continue
        prefixes=$room
        for header in $(folders_of "$room" | sed 's/$/\/*.h/'); do prefixes="$prefixes|$(basename "$header" .h)"; done
        case $room in
        base | engine) prefixes="$prefixes|cellar" ;;
        locks) prefixes="$prefixes|lockmgr_algorithm|lockmgr_algorithms" ;; # what a table of them has
        modes) prefixes="$prefixes|mode_table" ;;
        esac
        nm -A -f sysv --defined-only "$archive" 2>/dev/null | awk -F '|' -v room="$room" -v prefixes="$prefixes" '
            NF < 7 { next }
            { gsub(/ /, "", $1); gsub(/ /, "", $3); gsub(/ /, "", $4); gsub(/[ \t]/, "", $7)
              split($1, at, ":"); object = at[length(at) > 2 ? 2 : 1]; symbol = at[length(at)] }
            { own = object; sub(/[.]c[.]o$|[.]o$/, "", own) }
            symbol ~ /^(__|_GLOBAL_|asan[.]|[.]L|[.])/ { next } # made by the compiler
            $7 ~ /^cellar_plants/ && symbol ~ /^plant_/ { next } # a planted bug (base/plant.h): each room has its own
            $3 ~ /^[TDBRCVW]$/ && symbol !~ ("^(" prefixes "|" own ")(_|$)") {
                print room ": " object ": external symbol " symbol " is not named after its header or file" }
            symbol == "plant_choice" { next } # base/plant.h says why; only in builds that are never shipped
            symbol == "handle_ring" { next } # base/handle.h says why
            $3 ~ /^[dDbBC]$/ && $7 !~ /[.]data[.]rel[.]ro/ && $4 == "OBJECT" {
                print room ": " object ": variable " symbol ": state is passed, never global" }' >>"$found"
    done
fi

if [ -s "$found" ]; then
    sort -u "$found"
    echo "rooms.sh: $(sort -u "$found" | wc -l) violations"
    exit 1
fi
echo "rooms.sh: $(wc -l <"$sources") files hold to the table"
