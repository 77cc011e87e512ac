#!/bin/bash
# turn-figure.sh [BUILD] - makes docs/figures/turn.svg, the picture of docs/tracing.md: every machine makes the same one.
# BUILD is the folder with the program (build).
set -eu
cellar=$(realpath "${1:-build}")/cellar
cd "$(dirname "$0")/.."
[ -x "$cellar" ] || { echo "turn-figure: no program $cellar" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cellar" bench ycsb --fabric sim --cns 3 --mns 2 --threads 4 --coros 2 --records 1000 --theta 0.99 \
    --hot tries=1,losses=3 --warmup 0.001 --seconds 0.003 --trace "$work/trace.json" --trace-every 1 >"$work/report"
python3 scripts/turn-figure.py "$work/trace.json" docs/figures/turn.svg
