#!/bin/bash
# mutate.sh [--build DIR] [--seconds S] [--most N] [--lines A-B] [--list] FILE CHECK... - does any check notice when a
# line of FILE is wrong?
#
# Makes mutations of one line each in FILE: a condition negated, a step dropped, an error swallowed. For each one it
# builds what the checks run, runs them until one fails, and reports which. A CHECK is a command of one argument, run in
# the build folder, that is to succeed:
#
#     scripts/mutate.sh --build build-mutate engine/modes/hot/hot.c ./test_hot './cellar sim --cc cellar --seeds 1..20'
#
# --build DIR     a configured build folder (build); best a Debug one without -DWERROR=ON, since a mutation often leaves
#                 something unused
# --seconds S     a check that takes longer has found something, too (60)
# --most N        so many mutations, spread over the file (all)
# --lines A-B     only of these lines
# --list          prints the mutations, and runs nothing
#
# FILE is restored however this ends. Exit 0: each mutation that builds was caught, or N of them are listed; 1: some
# survived; 2: an error.
set -u
build=build seconds=60 most=0 lines=1-1000000 list=
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=${2:?} && shift 2 ;;
    --seconds) seconds=${2:?} && shift 2 ;;
    --most) most=${2:?} && shift 2 ;;
    --lines) lines=${2:?} && shift 2 ;;
    --list) list=1 && shift ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || [ -n "$list" ] && [ -f "${1:-}" ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
file=$1
shift
folder=$(mktemp -d) || exit 2
cp -p "$file" "$folder/original"
restore() { cmp -s "$folder/original" "$file" || cp "$folder/original" "$file"; }
trap 'restore; rm -rf "$folder"' EXIT
trap 'exit 2' INT TERM HUP

# LINE<tab>KIND<tab>the line as it is to be
awk -v first="${lines%-*}" -v last="${lines#*-}" '
function put(kind, text) { printf "%d\t%s\t%s\n", NR, kind, text }
function closing(text, at,    depth, i, c) { # of the parenthesis that opens there; 0: not in this line
    for (i = at; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth == 0) return i
    }
    return 0
}
NR < first || NR > last || /^[^ ]/ || /^ *(\/\*|\*|#)/ || /^$/ { next }
match($0, /^ +(\} )?(else )?(if|while) \(/) {
    end = closing($0, RSTART + RLENGTH - 1)
    if (end) {
        put("negated", substr($0, 1, RSTART + RLENGTH - 1) "!(" substr($0, RSTART + RLENGTH, end - RSTART - RLENGTH) ")" substr($0, end))
        rest = substr($0, end + 1)
        if (rest ~ /^ [^{]*;( \/\*.*)?$/ && $0 !~ /^ +else/ && $0 !~ /while/) put(rest ~ /^ return/ ? "swallowed" : "dropped", "    ;")
    }
    next
}
/^ +return .*\?.*:.*;/ && match($0, /return /) {
    at = index($0, "?"); put("negated", substr($0, 1, RSTART + 6) "!(" substr($0, RSTART + 7, at - RSTART - 8) ") " substr($0, at)); next
}
/^ +return (true|false);/ { text = $0; if (!sub(/true/, "false", text)) sub(/false/, "true", text); put("negated", text); next }
/^ +return [^;]*\(.*\);/ && !/"/ { text = $0; sub(/return .*;/, "return 0;", text); put("swallowed", text); next }
/^ +(static|const|struct|enum|uint[0-9]+_t|int[0-9]*|bool|char|double|size_t|void|return|break|continue|goto|case|default)/ {
    # of a declaration that keeps an error: what it would have said is taken for 0
    if (match($0, /^ +int (rc|code) = /)) { text = $0; sub(/= .*;/, "= 0;", text); if (text != $0 && $0 !~ /= 0;/) put("swallowed", text) }
    next
}
/^ +[a-zA-Z_*(][^{}]*;( \/\*.*)?$/ && !/^ +for / && !/^ +(must|MUST)/ { if (gsub(/\(/, "(") == gsub(/\)/, ")")) put("dropped", "    ;") }
' "$file" >"$folder/all"
total=$(wc -l <"$folder/all")
[ "$total" -gt 0 ] || { echo "mutate.sh: $file has no line to change" >&2; exit 2; }
awk -v most="$most" -v total="$total" 'most == 0 || int(NR * most / total) > int((NR - 1) * most / total)' "$folder/all" >"$folder/some"
if [ -n "$list" ]; then
    cat "$folder/some"
    exit 0
fi

targets=()
for check in "$@"; do
    for word in $check; do case $word in ./*) targets+=("${word#./}") ;; esac done
done

# make: builds what the checks need; false if it does not build.
make() { timeout -k 5 900 cmake --build "$build" --target "${targets[@]}" >"$folder/log" 2>&1; }

# run CHECK: succeeds if it does, in time.
run() { (cd "$build" && timeout -k 5 "$seconds" bash -c "$1" >"$folder/log" 2>&1 </dev/null); }

make || { tail -n 20 "$folder/log"; echo "mutate.sh: it does not build without a mutation" >&2; exit 2; }
for check in "$@"; do
    run "$check" || { tail -n 20 "$folder/log"; echo "mutate.sh: '$check' fails without a mutation" >&2; exit 2; }
done

caught=0 survived=0 unbuilt=0
while IFS=$'\t' read -r number kind text; do
    awk -v number="$number" -v text="${text//\\/\\\\}" 'NR == number { print text; next } { print }' "$folder/original" >"$file"
    was=$(sed -n "${number}s/^ *//p" "$folder/original" | cut -c 1-90)
    verdict=survived
    if make; then
        for check in "$@"; do
            begin=$SECONDS
            run "$check" && continue
            verdict="caught in $((SECONDS - begin)) s by $check"
            break
        done
    else
        verdict="does not build"
    fi
    case $verdict in survived) survived=$((survived + 1)) ;; caught*) caught=$((caught + 1)) ;; *) unbuilt=$((unbuilt + 1)) ;; esac
    printf '%s:%s %s: %s: %s\n' "$file" "$number" "$kind" "$was" "$verdict"
done <"$folder/some"
restore
echo "$caught caught, $survived survived, $unbuilt did not build"
[ $survived -eq 0 ]
