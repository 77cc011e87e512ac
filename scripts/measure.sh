#!/bin/bash
# measure.sh [--quick] [--rounds N] [--seconds S] [--build DIR] [--json FILE] [--update] - every figure of
# docs/performance.md that is of single modes, as tables on standard output. Builds what it measures: the release build,
# and LMDB's counterpart (cellar-peers) if there is an LMDB.
#
#   --rounds N rounds of the runs against the clock (3): in each, every mode and LMDB one after the other, so that a
#   busy
#                 machine hits all alike; medians over the rounds, and the median of the rounds' ratios, are printed
#   --seconds S   measured in each of those runs (2)
#   --quick       one round of one second, and instructions of mode cell only
#   --build DIR   the build folder (build-measure)
#   --json FILE   also all figures as one flat JSON object
#   --update      also put the tables into docs/performance.md
#
# Instructions are counted by callgrind: exactly, of the measured run alone, and the same at every repetition. Needs
# valgrind; without it those rows are missing. Exit 1: a run failed, or a check after it.
# shellcheck disable=SC2015,SC2086
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C

say() { printf 'measure: %s\n' "$*" >&2; }
rounds=3 seconds=2 quick='' build=build-measure json='' update=''
usage() { # what the head of this file says: as help, or because of a wrong option
    [ -z "${1:-}" ] || { sed -n '2,14s/^# \{0,1\}//p' scripts/measure.sh; exit 0; }
    say "unknown option or unusable value: see --help"
    exit 2
}
positive() { [[ $1 =~ ^[0-9]*\.?[0-9]+$ && ! $1 =~ ^[0.]*$ ]] || usage; }
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage 1 ;;
    --quick) rounds=1 seconds=1 quick=1 ;;
    --update) update=1 ;;
    --rounds) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage; rounds=$2; shift ;;
    --seconds) positive "${2:-}"; seconds=$2; shift ;;
    --build | --json) [ -n "${2:-}" ] || usage; declare "${1#--}=$2"; shift ;;
    *) usage ;;
    esac
    shift
done

work=$(mktemp -d)
children=()
cleanup() {
    for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# ---- what the runs leave, and how it is read -----------------------------------------------------------------------

figures=$work/figures # lines "name value", in the order found
figure() { printf '%s %s\n' "$1" "$2" >>"$figures"; }
value() { awk -v name="$1" '$1 == name { v = $2 } END { print v == "" ? "-" : v }' "$figures"; }
fail() { say "$*"; exit 1; }
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# The reports are indented JSON, one field a line: `field FILE NAME` is one of the outermost, `inner FILE OBJECT` the
# sum of an object's numbers.
field() { awk -v name="\"$2\":" '/^  "/ && $1 == name { sub(/,$/, "", $2); print $2; exit }' "$1"; }
inner() {
    awk -v name="\"$2\":" '/^  "/ { in_it = $1 == name; next } /^  }/ { in_it = 0 }
                           in_it && $2 ~ /^[0-9]/ { sub(/,$/, "", $2); sum += $2 } END { print sum + 0 }' "$1"
}
space() { # FILE NAME: summed over all tables
    awk -v name="\"$2\":" '/^  "/ { in_it = $1 == "\"space\":" } in_it && $1 == name { sub(/,$/, "", $2); sum += $2 } END { print sum + 0 }' "$1"
}
divide() { awk -v a="$1" -v b="$2" -v digits="${3:-2}" 'BEGIN { if (b > 0) printf "%.*f\n", digits, a / b; else print "-" }'; }

# ---- build -----------------------------------------------------------------------------------------------------------

say "building in $build"
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTS=OFF >"$work/build.log" 2>&1 &&
    cmake --build "$build" --target cellar -j 2 >>"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; fail "the build failed"; }
cellar=$build/cellar
peer=$build/cellar-peers
cmake --build "$build" --target cellar-peers -j 2 >>"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; fail "the build failed"; }
"$peer" --list | grep -q '^lmdb *LMDB' || { peer= && say "no LMDB here: nothing to compare with"; }

# ---- against the clock
# --------------------------------------------------------------------------------------------------

workloads=(smallbank ycsb tpcc)
modes=(cell record crest cellar)
declare -A options=([smallbank]="smallbank" [ycsb]="ycsb --theta 0.1" [tpcc]="tpcc --warehouses 2")
space_txns=200000
declare -A peers=([smallbank]="smallbank --peers lmdb" [ycsb]="ycsb-0.1 --peers lmdb")

run_ours() { # WORKLOAD MODE ROUND
    local report=$work/$1.$2.$3.json
    "$cellar" bench ${options[$1]} --cc "$2" --threads 2 --warmup 0.5 --seconds "$seconds" --seed "$3" --json "$report" >"$work/run.log" 2>&1 ||
        { tail -20 "$work/run.log" >&2; fail "cellar bench ${options[$1]} --cc $2 failed"; }
    field "$report" tps >>"$work/$1.$2.tps"
    field "$report" load_s >>"$work/$1.load"
}

run_peer() { # WORKLOAD ROUND
    "$peer" ${peers[$1]} --clients 1,2 --rounds 1 --seconds "$seconds" --seed "$2" >"$work/run.log" 2>&1 ||
        { tail -20 "$work/run.log" >&2; fail "$peer ${peers[$1]} failed"; }
    awk '$1 == "LMDB" { gsub(",", "", $3); print $3 }' "$work/run.log" >>"$work/$1.lmdb.tps"
}

for round in $(seq "$rounds"); do
    for workload in "${workloads[@]}"; do
        say "round $round of $rounds: $workload"
        run_ours $workload cell "$round"
        [ -z "$peer" ] || [ -z "${peers[$workload]:-}" ] || run_peer $workload "$round"
        for mode in "${modes[@]:1}"; do run_ours $workload "$mode" "$round"; done
    done
done

for workload in "${workloads[@]}"; do
    for mode in "${modes[@]}" lmdb; do
        [ -f "$work/$workload.$mode.tps" ] || continue
        figure $workload.$mode.tps "$(median <"$work/$workload.$mode.tps")"
        [ $mode != lmdb ] && [ -f "$work/$workload.lmdb.tps" ] || continue
        paste "$work/$workload.$mode.tps" "$work/$workload.lmdb.tps" | awk '{ print $1 / $2 }' | sort -g >"$work/ratios"
        figure $workload.$mode.lmdb_ratio "$(median <"$work/ratios")"
        figure $workload.$mode.lmdb_ratio_low "$(head -n 1 "$work/ratios")"
        figure $workload.$mode.lmdb_ratio_high "$(tail -n 1 "$work/ratios")"
    done
    for mode in "${modes[@]}"; do
        report=$work/$workload.$mode.1.json
        figure $workload.$mode.ops "$(inner "$report" mn_ops_per_txn)"
        figure $workload.$mode.rtts "$(field "$report" rtts_per_txn)"
        figure $workload.$mode.abort_rate "$(field "$report" abort_rate)"
    done
    # Memory after a number of transactions that the program knows beforehand: it sizes the index of growing tables by
    # it.
    report=$work/$workload.space.json
    "$cellar" bench ${options[$workload]} --threads 2 --txns $space_txns --json "$report" >"$work/run.log" 2>&1 ||
        { tail -20 "$work/run.log" >&2; fail "cellar bench ${options[$workload]} --txns $space_txns failed"; }
    sed -n 's/.*\(superblocks, [^;]*\);.*/\1/p' "$work/run.log" >"$work/fixed"
    figure $workload.load_s "$(median <"$work/$workload.load")"
    for name in payload_bytes record_bytes slot_bytes index_bytes; do figure $workload.$name "$(space "$report" $name)"; done
    figure $workload.memory_ratio \
        "$(divide $(($(value $workload.slot_bytes) + $(value $workload.index_bytes))) "$(value $workload.record_bytes)" 3)"
done
figure tpcc.load_s_per_warehouse "$(divide "$(value tpcc.load_s)" 2)"

# ---- instructions and allocations
# -----------------------------------------------------------------------------------------

# Two runs of one thread, N and 3 N transactions; what they differ by is of 2 N transactions on warm caches. SmallBank
# and YCSB-T have fewer records here, so that N transactions meet nearly all of them. The program calls cellar_lab_run three
# times: to load, to run, to check. What callgrind writes when the third begins is of the second alone.
declare -A count_options=([smallbank]="smallbank --accounts 20000" [ycsb]="ycsb --theta 0.1 --records 50000" [tpcc]="${options[tpcc]}")
declare -A count_txns=([smallbank]=40000 [ycsb]=40000 [tpcc]=10000)

count_one() { # NAME TXNS command with %N% for the number of transactions; becomes valgrind
    local name=$1 txns=$2
    shift 2
    exec valgrind --tool=callgrind --callgrind-out-file="$work/$name.out" --dump-before='cellar_lab_run*' "${@//%N%/$txns}" >"$work/$name.log" 2>&1
}
count_end() { # PID NAME
    wait "$1" || { tail -5 "$work/$2.log" >&2; fail "counting $2 failed"; }
    [[ $2 != *.lmdb.* ]] || return 0 # all of the program: its load and check cancel out
    [ -f "$work/$2.out.3" ] || fail "callgrind could not tell the run of $2 from its load"
    mv "$work/$2.out.3" "$work/$2.out"
}
total() { awk '/^(summary|totals):/ { print $2; exit }' "$work/$1.out"; }
allocations() { # calls that may ask the operating system or the heap for memory
    awk '/^c?fn=/ { kind = $0; sub(/=.*/, "", kind); id = $0; sub(/^c?fn=/, "", id); sub(/ .*/, "", id)
                    if (split($0, part, " ") > 1) names[id] = part[2]
                    if (kind == "cfn") callee = names[id] }
         /^calls=/ { split($1, call, "="); if (callee ~ /^(malloc|calloc|realloc|aligned_alloc|posix_memalign|free|mmap|munmap|brk|sbrk)(@.*)?$/) n += call[2] }
         END { print n + 0 }' "$work/$1.out"
}

profile_of() { # the functions with the largest shares of their own, as two columns of a table; inlined code counts for the caller
    awk 'sub(/^fn=/, "") { id = $1; if (NF > 1) names[id] = $2; fn = names[id]; sub(/[.@\047].*/, "", fn); next }
         /^calls=/ { getline; next } # the line behind a call is what it cost inside
         /^[-+*0-9]+ [0-9]+$/ { own[fn] += $2; all += $2 }
         /^[a-z]*fn=\([0-9]+\) / { id = $1; sub(/^[a-z]*=/, "", id); names[id] = $2 }
         END { for (fn in own) printf "%.1f %s\n", own[fn] * 100 / all, fn }' "$work/$1.out" |
        sort -gr | head -n "$2" | awk '{ printf "`%s` | %.1f %%\n", $2, $1 }'
}

# Instructions by the room in which the line stands, wherever it was inlined: lines "room share". SIMD headers are used
# by the hash only.
rooms_of() {
    awk 'function intern(text,    id) {
             id = text; sub(/ .*/, "", id)
             if (sub(/^[^ ]* /, "", text)) files[id] = text
             return files[id]
         }
         function room_of(file,    part, n) {
             n = split(file, part, "/")
             if (n > 1 && part[n - 1] ~ /^(base|fabric|storage|engine|bench)$/) return part[n - 1]
             if (n > 1 && part[n - 1] ~ /^(tpcc|smallbank|ycsb)$/) return "workload"
             return file ~ /xxhash|mmintrin/ ? "xxHash" : file ~ /ieee754|\/math\// ? "libm" : "libc"
         }
         /^(fl|fi|fe)=/ { sub(/^f[lie]=/, ""); file = intern($0); if (!(file in room)) room[file] = room_of(file); next }
         /^(cfi|cfl)=/ { sub(/^cf[il]=/, ""); intern($0); next }
         /^calls=/ { getline; next }
         /^[-+*0-9]+ [0-9]+$/ { own[room[file]] += $2; all += $2 }
         END { for (name in own) printf "%s %.6f\n", name, own[name] / all }' "$work/$1.out"
}

count_pair() { # WORKLOAD.MODE: two runs side by side
    local first second name=$1 workload=${1%.*} mode=${1#*.} command
    local txns=${count_txns[$workload]}
    command="$cellar bench ${count_options[$workload]} --cc $mode --threads 1 --txns %N%"
    [ "$mode" != lmdb ] || command="$peer ${peers[$workload]} --clients 1 --rounds 1 --txns %N%"
    count_one "$name.a" $txns $command & first=$!
    count_one "$name.b" $((3 * txns)) $command & second=$!
    children=("$first" "$second")
    count_end "$first" "$name.a"
    count_end "$second" "$name.b"
    children=()
    figure "$name.instructions" "$(divide $(($(total "$name.b") - $(total "$name.a"))) $((2 * txns)) 0)"
    [ "$mode" = lmdb ] || figure "$name.allocations" $(($(allocations "$name.b") - $(allocations "$name.a")))
}

if command -v valgrind >/dev/null; then
    for workload in "${workloads[@]}"; do
        for mode in "${modes[@]}" lmdb; do
            [ $mode != lmdb ] || { [ -n "$peer" ] && [ -n "${peers[$workload]:-}" ]; } || continue
            [ -z "$quick" ] || [ $mode = cell ] || continue
            say "counting instructions: $workload $mode"
            count_pair $workload.$mode
        done
    done
else
    say "no valgrind here: instructions are not counted"
fi

# ---- report
# -------------------------------------------------------------------------------------------------------------

thousands() { awk -v v="$1" -v unit="${2:-1}" -v digits="${3:-0}" 'BEGIN {
    if (v == "-" || v == "") { print "-"; exit }
    s = sprintf("%.*f", digits, v / unit); point = index(s, "."); whole = point ? substr(s, 1, point - 1) : s
    out = ""; while (length(whole) > 3) { out = "," substr(whole, length(whole) - 2) out; whole = substr(whole, 1, length(whole) - 3) }
    print whole out (point ? substr(s, point) : "") }'; }
range() { [ "$1" = - ] && echo - || printf '%.2f to %.2f\n' "$1" "$2"; }
times() { [ "$1" = - ] && echo - || printf '%.2f x\n' "$1"; }
fixed() { [ "$1" = - ] && echo - || printf "%.${2}f\n" "$1"; }
percent() { awk -v v="$1" 'BEGIN { printf "%.3f %%\n", v * 100 }'; }

declare -A title=([smallbank]="SmallBank, 100,000 accounts, uniform" [ycsb]="YCSB-T, 1 M records, 4 updates, theta 0.1" [tpcc]="TPC-C, 2 warehouses, full size")
declare -A target_tps=([smallbank]="2,000,000" [ycsb]="800,000" [tpcc]="100,000") target_ratio=([smallbank]="3.3 x" [ycsb]="4 x" [tpcc]="-")
declare -A crest_overhead=([smallbank]="100 %" [ycsb]="45.5 %" [tpcc]="41.3 %") # CREST's Table 1, with cache-line padding
declare -A target_instructions=([smallbank]="3,000" [ycsb]="6,000" [tpcc]="50,000")

machine() {
    local commit changes='' model
    commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
    [ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || changes=" with changes"
    model=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
    echo "Commit $commit$changes; ${model:-unknown processor}, $(nproc) cores, load average at the end $(cut -d ' ' -f 1 /proc/loadavg);" \
        "medians of $rounds x $seconds s."
}

clock_table() {
    echo "| against the clock, 2 threads | mode | txn/s | target | ratio to LMDB beside | of the rounds | target |"
    echo "|---|---|---:|---:|---:|---:|---:|"
    for workload in "${workloads[@]}"; do
        for mode in "${modes[@]}"; do
            at=$workload.$mode
            echo "| ${title[$workload]} | $mode | $(thousands "$(value $at.tps)") | ${target_tps[$workload]} |" \
                "$(times "$(value $at.lmdb_ratio)") | $(range "$(value $at.lmdb_ratio_low)" "$(value $at.lmdb_ratio_high)") |" \
                "${target_ratio[$workload]} |"
        done
        [ "$(value $workload.lmdb.tps)" = - ] ||
            echo "| ${title[$workload]} | LMDB | $(thousands "$(value $workload.lmdb.tps)") | | 1 | | |"
    done
}

count_table() {
    echo "| counted, of each transaction | mode | instructions | target | allocations | verbs | round trips | aborts |"
    echo "|---|---|---:|---:|---:|---:|---:|---:|"
    for workload in "${workloads[@]}"; do
        for mode in "${modes[@]}"; do
            at=$workload.$mode
            echo "| ${title[$workload]} | $mode | $(thousands "$(value $at.instructions)") | ${target_instructions[$workload]} |" \
                "$(value $at.allocations) | $(fixed "$(value $at.ops)" 2) | $(fixed "$(value $at.rtts)" 2) | $(percent "$(value $at.abort_rate)") |"
        done
        [ "$(value $workload.lmdb.instructions)" = - ] ||
            echo "| ${title[$workload]} | LMDB | $(thousands "$(value $workload.lmdb.instructions)") | | | | | |"
    done
}

# Rows of one workload. The payload is the columns, the key and 8 bytes of table id, which CREST's figures count too.
space_rows() { # REPORT TITLE OVERHEAD-OF-CREST
    awk -v title="$2" -v crest="$3" '
        function row(name, crest, target) {
            if (!n) return
            ratio = n < 1000 ? "-" : sprintf("%.3f", (s + x) / r) # smaller tables fill no run of 64 KiB
            printf "| %s | %d | %.1f | %.1f | %.1f %% | %s | %.1f | %s | %s |\n", name, n, p / n + 8, r / n,
                   (r / (p + 8 * n) - 1) * 100, crest, (s + x) / 1048576, ratio, target
        }
        function number() { sub(/,$/, "", $2); return $2 + 0 }
        /^  "/ { in_it = $1 == "\"space\":"; next }
        in_it && /^    "/ { table = $1; gsub(/[":]/, "", table) }
        in_it && $1 == "\"records\":" { n = number() }
        in_it && $1 == "\"payload_bytes\":" { p = number() }
        in_it && $1 == "\"record_bytes\":" { r = number() }
        in_it && $1 == "\"slot_bytes\":" { s = number() }
        in_it && $1 == "\"index_bytes\":" { x = number() }
        in_it && /^    }/ { row("`" table "`", "", ""); N += n; P += p; R += r; S += s; X += x; n = p = r = s = x = 0 }
        END { n = N; p = P; r = R; s = S; x = X; row("**" title "**", crest, "1.25") }' "$1"
}

space_table() {
    echo "| table | records | payload, bytes | laid out, bytes | overhead | CREST | in use, MiB | in use / laid out | target |"
    echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for workload in "${workloads[@]}"; do
        space_rows "$work/$workload.space.json" "${title[$workload]}" "${crest_overhead[$workload]}"
    done
    echo
    echo "After $space_txns transactions; in use: record slots and index. Besides, of TPC-C's memory node: $(cat "$work/fixed")."
    echo "Load on 2 threads: SmallBank $(fixed "$(value smallbank.load_s)" 2) s, YCSB-T $(fixed "$(value ycsb.load_s)" 2) s," \
        "TPC-C $(value tpcc.load_s_per_warehouse) s per warehouse (target 1)."
}

room_table() {
    echo "| instructions by room, cell | engine | fabric | storage | xxHash | workload | base | libm | bench | libc |"
    echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for workload in "${workloads[@]}"; do
        rooms_of $workload.cell.b >"$work/rooms"
        awk -v title="${title[$workload]}" -v all="$(value $workload.cell.instructions)" '
            { share[$1] = $2 }
            END { n = split("engine fabric storage xxHash workload base libm bench libc", room, " ")
                  printf "| %s |", title
                  for (i = 1; i <= n; i++) printf " %d |", share[room[i]] * all + 0.5
                  print "" }' "$work/rooms"
    done
}

profile_table() {
    echo "| SmallBank, cell | instructions | YCSB-T, cell | instructions | TPC-C, cell | instructions |"
    echo "|---|---:|---|---:|---|---:|"
    for workload in "${workloads[@]}"; do profile_of $workload.cell.b 16 >"$work/$workload.profile"; done
    paste -d '|' "$work/smallbank.profile" "$work/ycsb.profile" "$work/tpcc.profile" | sed 's/|/ | /g; s/  */ /g; s/^/| /; s/$/ |/'
}

tables() {
    machine && echo && clock_table && echo && count_table && echo && space_table
    [ ! -f "$work/tpcc.cell.b.out" ] || { echo && room_table && echo && profile_table; }
}

update_page() {
    awk -v tables="$work/tables" '
        /^<!-- end -->/ { skip = 0 }
        !skip
        /^<!-- measured -->/ { print ""; while ((getline line < tables) > 0) print line; print ""; skip = 1 }' docs/performance.md >"$work/page"
    cat "$work/page" >docs/performance.md
}

tables >"$work/tables"
cat "$work/tables"
[ -z "$update" ] || update_page
[ -z "$json" ] || awk 'BEGIN { printf "{" } { printf "%s\n  \"%s\": %s", (NR > 1 ? "," : ""), $1, ($2 == "-" ? "null" : $2) }
                       END { print "\n}" }' "$figures" >"$json"
