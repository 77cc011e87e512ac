#!/bin/bash
# nic-model.sh [BUILD] - runs `cellar exp nic` and puts its tables and charts into lab/docs/nic-model.md. About five
# minutes; every machine gets the same figures. BUILD is the folder with the program (build). Exit 1: a figure is
# outside its band.
set -eu
cellar=$(realpath "${1:-build}")/cellar
cd "$(dirname "$0")/../.."
[ -x "$cellar" ] || { echo "nic-model: no program $cellar" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
"$cellar" exp nic --out "$work" || status=$?
[ $status -le 1 ] || exit $status
# The line <!-- NAME --> is followed by the table NAME.md, and that by <!-- end -->.
awk -v work="$work" '
    /^<!-- end -->/ { skip = 0 }
    !skip
    /^<!-- nic[a-z-]* -->/ { print ""; while ((getline line < (work "/" $2 ".md")) > 0) print line; print ""; skip = 1 }
' lab/docs/nic-model.md >"$work/page"
cat "$work/page" >lab/docs/nic-model.md
mkdir -p docs/figures
cp "$work"/nic-*.svg docs/figures/
exit $status
