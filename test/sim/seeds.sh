#!/bin/bash
# seeds.sh WORKLOAD MODE FIRST..LAST TWICE - runs seeds and requires that all checks hold; the first TWICE of them
# twice, for determinism. With $CELLAR_SHARE, a percentage, only so many of each (sanitizers are slow).
set -u
cellar=${CELLAR_BUILD:?}/cellar
source "$(dirname "$0")/../share.sh"
workload=$1 mode=$2 first=${3%..*} last=${3#*..} twice=$4
part() { echo $((($1 * share + 99) / 100)); }

count=$(part $((last - first + 1)))
twice=$(part "$twice")
run() { "$cellar" sim --workload "$workload" --cc "$mode" --jobs 1 --no-shrink "$@" </dev/null; }
run --twice --seeds "$first..$((first + twice - 1))" || exit 1
[ "$count" -le "$twice" ] || run --seeds "$((first + twice))..$((first + count - 1))" || exit 1
