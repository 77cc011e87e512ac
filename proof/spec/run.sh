#!/bin/bash
# run.sh [quick|full] [WHAT] - builds the models and runs every configuration, each under its expected verdict: it
# holds, or, with one rule removed, it has a counterexample. Prints a table, as docs/testing.md has it; exit 1 if any
# verdict is another one. 77: spin is absent.
# WHAT limits the runs to those whose line matches it. Each run has at most 300 s and 1 GiB of memory (quick) or 3 GiB
# (full); the environment may say otherwise: SPEC_SECONDS, SPEC_MIB.
#
# States are kept as hashes (-DHC4). `bounded`: more states than fit; then one bit for each (-DBITSTATE), for as long as
# that takes or 300 s: no counterexample among those that were visited.
set -u
cd "$(dirname "$0")" || exit 2
mode=${1:-quick}
only=${2:-.}
case $mode in quick | full) ;; *) echo "usage: proof/spec/run.sh [quick|full] [WHAT]" >&2; exit 2 ;; esac
if ! command -v spin >/dev/null; then
    echo "spec: spin is not installed (Debian: apt-get install spin): skipped"
    exit 77
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp ./*.pml "$work"
hash_bits=25 memory_mib=1024
[ "$mode" = full ] && hash_bits=27 memory_mib=3072
memory_mib=${SPEC_MIB:-$memory_mib}
RUN_SECONDS=${SPEC_SECONDS:-300}
BIT_STATE_BITS=33

# build NAME STORE FILE options...
build() {
    local name=$1 store=$2 file=$3
    shift 3
    mkdir "$work/$name"
    (cd "$work" && spin "$@" -a "$file" >spin.log 2>&1 && mv pan.* "$name/") || { cat "$work/spin.log"; exit 1; }
    "${CC:-cc}" -O1 -w -DSAFETY -DNOREDUCE "-D$store" -DMEMLIM=$memory_mib -DVECTORSZ=4096 -o "$work/$name/pan" "$work/$name/pan.c" || exit 1
}

failed=0
# check MODE VERDICT MODEL TEMPLATE ON_FIRST RULE [VARIABLE=value...]: one configuration
check() {
    local when=$1 want=$2 model=$3 template=$4 on_first=$5 rule=$6 number out got states note=ok
    shift 6
    [ "$when" = quick ] || [ "$mode" = full ] || return 0
    local line="$model $template $on_first $rule $*"
    [[ $line =~ $only ]] || return 0
    number=0
    if [ "$rule" != - ]; then
        number=$(awk -v rule="$rule" '$1 == "#define" && $2 == rule { print $3 }' ./"${model%%_*}"*.pml)
        [ -n "$number" ] || { echo "no such rule: $rule"; failed=1; return; }
    fi
    local store=HC4 bits=$hash_bits
    [ "$want" = bounded ] && store=BITSTATE bits=$BIT_STATE_BITS
    local program=$model.$store
    [ -x "$work/$program/pan" ] || case $model in
        commit) build "$program" $store commit.pml ;;
        commit_crash) build "$program" $store commit.pml -DCRASH ;;
        commit_sole) build "$program" $store commit.pml -DSOLE ;;
        commit_hot) build "$program" $store commit.pml -DHOT ;;
        commit_hot_crash) build "$program" $store commit.pml -DHOT -DCRASH ;;
        *) build "$program" $store "$model.pml" ;;
    esac
    out=$(cd "$work/$program" && env TEMPLATE="$template" ON_FIRST="$on_first" REMOVED="$number" "$@" \
        timeout -s INT $RUN_SECONDS ./pan $([[ $model =~ ^(commit_crash|commit_hot_crash|failover|ford|epochs)$ ]] && printf %s -E) -m400000 -w$bits 2>&1)
    states=$(grep -o '[0-9.e+]* states, stored' <<<"$out" | cut -d' ' -f1)
    got=fails
    grep -q 'errors: 0' <<<"$out" && got=holds
    [ $got = holds ] && grep -qE 'not completed|max search depth|out of memory' <<<"$out" && got=unfinished
    [ "$want" = bounded ] && [ $got != fails ] && got=bounded
    [ -n "$states" ] || got=broken
    [ "$got" = "$want" ] || { note="NOT $want"; failed=1; }
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$model" "$template" "$on_first" "$rule" "$*" "$got" "$states" "$note"
}

echo "| model | template | on CN 0 | without | with | verdict | states | |"
echo "|---|---:|---:|---|---|---|---:|---|"
source ./configurations.sh
exit $failed
