#!/bin/bash
# test_usdt.sh - the static probes of a build with -DUSDT=ON (docs/tracing.md): the files that have some are compiled
# so, and each probe of the page is in their objects, with as many arguments. Skipped without <sys/sdt.h>.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
echo '#include <sys/sdt.h>' | cc -E - >/dev/null 2>&1 && command -v readelf >/dev/null || { echo "needs systemtap-sdt-dev: skipped"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
quotes=()
for room in base fabric durable storage lockmgr $(cd "$here" && find engine -type d); do quotes+=(-iquote "$here/$room"); done
for file in $(cd "$here" && grep -lE '^ +PROBE\(' -r engine fabric); do
    cc -std=gnu11 -D_GNU_SOURCE -DCELLAR_USDT -O1 -I"$here/include" "${quotes[@]}" -c "$here/$file" -o "$folder/$(basename "$file").o" || exit 1
done
readelf -n "$folder"/*.o | awk '/Provider: / { on = $2 == "cellar" } on && /Name: / { name = $2 } on && /Arguments: / { print name, NF - 1 }' | sort -u >"$folder/found"
printf '%s\n' "attempt__abort 5" "attempt__begin 2" "attempt__end 4" "hot__turn 3" "phase__end 3" "round__trip 4" "wait__begin 2" "wait__end 1" >"$folder/wanted"
diff "$folder/wanted" "$folder/found" || exit 1
for name in $(cut -d' ' -f1 "$folder/wanted"); do grep -q "\`$name\`" "$here/docs/tracing.md" || { echo "docs/tracing.md lacks $name"; exit 1; }; done
