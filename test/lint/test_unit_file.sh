#!/bin/bash
# test_unit_file.sh - systemd takes dist/cellar-memnode.service without a word. Skipped where there is no systemd.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v systemd-analyze >/dev/null || exit 77
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
unit=$folder/cellar-memnode.service
# The program is not installed here, and its manual neither.
sed -e "s|^ExecStart=/usr/bin/cellar |ExecStart=/bin/true |" dist/cellar-memnode.service >"$unit"
grep -qx 'ExecStart=/bin/true memnode $ARGUMENTS' "$unit" || { echo "no ExecStart of cellar memnode"; exit 1; }
systemd-analyze verify --man=no "$unit" >"$folder/told" 2>&1
status=$?
grep -F cellar-memnode "$folder/told" >"$folder/own" # it reads all units of this machine
[ -s "$folder/own" ] && { cat "$folder/own"; exit 1; }
[ $status -eq 0 ] || { cat "$folder/told"; exit 1; }
sed -i "s|^LimitMEMLOCK=|LimitMEMLOCKED=|" "$unit"
systemd-analyze verify --man=no "$unit" 2>&1 | grep -q "Unknown key.*LimitMEMLOCKED" || { echo "systemd takes anything"; exit 1; }
