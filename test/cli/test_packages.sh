#!/bin/bash
# test_packages.sh - builds the Debian packages, lets lintian look at them, lays them out in a fresh root and uses them
# there: the program, its manual pages and completions, an embedder by pkg-config and by CMake's find_package.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
for tool in dpkg-buildpackage dh lintian ninja; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
cache=${CELLAR_BUILD:?}/CMakeCache.txt
grep -qE '^(ASAN|TSAN|UBSAN|PLANTS):BOOL=ON' "$cache" 2>/dev/null && { echo "packages are those of the plain build"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
    echo "$*"
    failures=$((failures + 1))
}

mkdir "$folder/source"
tar -C "$here" --exclude='./build*' --exclude=./.git --exclude='*.swp' -cf - . | tar -C "$folder/source" -xf -
cd "$folder/source" || exit 2
dpkg-checkbuilddeps 2>"$folder/missing" || { cat "$folder/missing"; exit 77; }
launcher=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' "$cache")
[ -z "$launcher" ] || export CMAKE_C_COMPILER_LAUNCHER=$launcher
env -u CC DEB_BUILD_OPTIONS="noopt nocheck parallel=2" dpkg-buildpackage -b -us -uc >"$folder/log" 2>&1 || { tail -40 "$folder/log"; exit 1; }
cd "$folder" || exit 2
# Whose address is in the maintainer's place is the affair of whoever publishes them.
lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog ./*.changes >"$folder/lint" 2>&1 || fail "lintian: $(cat "$folder/lint")"

root=$folder/root
for package in libcellar0 libcellar-dev cellar; do
    dpkg-deb -x "$folder/${package}"_*.deb "$root" || fail "$package cannot be unpacked"
done
library=$(echo "$root"/usr/lib/*/libcellar.so.0)
lib=${library%/*}
[ -e "$library" ] || fail "no libcellar.so.0"
readelf -d "$library" | grep -q 'SONAME.*\[libcellar.so.0\]' || fail "another SONAME: $(readelf -d "$library" | grep SONAME)"

# the program, where it is
export PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$lib
cellar bench smallbank --accounts 100 --txns 1000 >"$folder/out" 2>&1 </dev/null || fail "bench: $(tail -5 "$folder/out")"
printf 'create table t rows 10 id:u64:key n:i32\ninsert t 1 n=5\nget t 1\n' | cellar shell "$folder/pool" --create 16M >"$folder/out" 2>&1 && grep -qx '1: n=5' "$folder/out" || fail "shell: $(cat "$folder/out")"

# manual pages say what --help says: one for each command, each option in it, and nothing that groff complains about
for command in $(cellar --help | awk '/^Commands$/ { on = 1; next } on && !NF { exit } on { print $1 }'); do
    page=$root/usr/share/man/man1/cellar-$command.1.gz
    [ -e "$page" ] || { fail "no manual page of $command"; continue; }
    zcat "$page" | sed 's/\\-/-/g' >"$folder/page"
    for option in $(cellar "$command" --help | grep -oE '^  --[a-z-]+'); do grep -q -- "^.B $option" "$folder/page" || fail "the page of $command lacks $option"; done
    if command -v groff >/dev/null; then
        zcat "$page" | groff -man -Tutf8 -ww 2>&1 >/dev/null | head -3 >"$folder/out"
        [ -s "$folder/out" ] && fail "the page of $command: $(cat "$folder/out")"
    fi
done

# completion
complete_of() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cellar; echo "${COMPREPLY[*]}"' bash \
        "$root/usr/share/bash-completion/completions/cellar" "$@" 2>&1
}
[ "$(complete_of cellar be)" = bench ] || fail "completion of be: $(complete_of cellar be)"
complete_of cellar dump --fo | grep -qx -- --format || fail "completion of --fo: $(complete_of cellar dump --fo)"
complete_of cellar bench lock --loc | grep -qw -- "--locks" || fail "completion of bench lock: $(complete_of cellar bench lock --loc)"
[ "$(complete_of cellar bench sm)" = smallbank ] || fail "completion of a workload: $(complete_of cellar bench sm)"
if command -v zsh >/dev/null; then zsh -n "$root/usr/share/zsh/vendor-completions/_cellar" || fail "zsh's completion"; fi

# the unit, as systemd reads it
unit=$(echo "$root"/lib/systemd/system/cellar-memnode.service)
[ -e "$unit" ] || fail "no unit of systemd"
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/cellar|$root/usr/bin/cellar|" "$unit" >"$folder/cellar-memnode.service"
    systemd-analyze verify --man=no "$folder/cellar-memnode.service" 2>&1 | grep cellar-memnode >"$folder/out" && fail "the unit: $(cat "$folder/out")"
fi

# an embedder: what the header cites is there, pkg-config and CMake find it, an example runs
for page in $(grep -ohE 'docs/[a-z-]+[.]md' "$root"/usr/include/cellar* | sort -u); do
    ls "$root/usr/share/doc/libcellar-dev/${page#docs/}"* >/dev/null 2>&1 || fail "the header cites $page, which is not installed"
done
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
example=$root/usr/share/doc/libcellar-dev/examples/counter.c
[ -e "$example" ] || gunzip "$example.gz"
# shellcheck disable=SC2046
cc "$example" -pthread $(pkg-config --cflags --libs cellar) -o "$folder/counter" 2>"$folder/out" || fail "pkg-config: $(cat "$folder/out")"
"$folder/counter" >"$folder/out" 2>&1 || fail "an example: $(cat "$folder/out")"
mkdir "$folder/embed"
cat >"$folder/embed/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.22)
project(embed C)
find_package(Threads REQUIRED)
find_package(cellar 0.1 REQUIRED)
add_executable(embed $example)
target_link_libraries(embed PRIVATE cellar::cellar Threads::Threads)
C
(cd "$folder/embed" && cmake -G Ninja -DCMAKE_PREFIX_PATH="$root/usr" . && ninja && ./embed) >"$folder/out" 2>&1 || fail "find_package: $(tail -20 "$folder/out")"
# nightly: `test_packages.sh fresh`
if [ "${1:-}" = fresh ]; then
    bash "$here/test/cli/fresh_root.sh" "$folder"
    status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || fail "in a fresh root"
fi
exit $((failures > 0))
