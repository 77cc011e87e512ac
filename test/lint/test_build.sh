#!/bin/bash
# The library builds in the usual way: `cmake -B build && cmake --build build`, with Makefiles and with Ninja, in a
# folder whose name has a space; an embedder's program links what that leaves; and the build that the README tells makes
# all that `cmake --install` wants. Without optimization, which takes a tenth of the time: what is told to optimize is
# built by every other test.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
git -C "$here" rev-parse >/dev/null 2>&1 || { echo "no git checkout to copy"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
tree="$folder/a tree"
failures=0
mkdir "$tree"
(cd "$here" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ ! -e "$file" ] || printf '%s\0' "$file" # one that is deleted, and not committed so
done | xargs -0 cp --parents -t "$tree")
cd "$tree" || exit 2

fail() {
    echo "$*"
    tail -n 20 "$folder/log" | cut -c 1-300
    failures=$((failures + 1))
}

cat >embed.c <<'C'
#include <cellar.h>
int main(void)
{
    struct cellar *db;
    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 8 << 20), &db)) return 1;
    return cellar_close(db);
}
C

# builds NAME OPTIONS...: configures, builds the library alone, a second time without work, and again when a source has
# changed.
builds() {
    local name=$1 made
    shift
    timeout -k 5 120 cmake -B "build $name" -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTS=OFF "$@" >"$folder/log" 2>&1 ||
        { fail "$name: configuring fails"; return; }
    for made in first second; do
        timeout -k 5 500 cmake --build "build $name" --target cellar_static cellar_shared -j 2 >"$folder/log" 2>&1 ||
            { fail "$name: the $made build fails"; return; }
    done
    ! grep -q "Building C object" "$folder/log" || fail "$name: the second build compiles again"
    read -r -a links <<<"$(PKG_CONFIG_PATH="$PWD/build $name" pkg-config --static --libs-only-l cellar | sed 's/-lcellar//')"
    "${CC:-cc}" -Iinclude embed.c "build $name/libcellar.a" "${links[@]}" -pthread -o embed >"$folder/log" 2>&1 && ./embed ||
        fail "$name: what is linked with the archive fails"

    made=$(stat -c %Y "build $name/libcellar.a")
    sleep 1
    touch "$(find engine -name '*.c' | head -n 1)"
    timeout -k 5 500 cmake --build "build $name" --target cellar_static >"$folder/log" 2>&1 || fail "$name: the third build fails"
    [ "$(stat -c %Y "build $name/libcellar.a")" -gt "$made" ] || fail "$name: the archive does not have a source's change"
}

command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
command -v make >/dev/null && builds make -G "Unix Makefiles"
command -v ninja >/dev/null && builds ninja -G Ninja

# The README's build, unmade: would it make what is installed?
if command -v ninja >/dev/null; then
    sed -n '/^cmake -G/s/ >.*//p' scripts/demo.sh >"$folder/configure"
    target=$(sed -n 's/^cmake --build build *//p' scripts/demo.sh | sed -n 's/.*--target //p')
    bash "$folder/configure" >"$folder/log" 2>&1 || fail "the README's configuration fails"
    ninja -C build -t commands ${target:-all} >"$folder/log" 2>&1 || fail "the README's build fails"
    for made in libcellar.a libcellar.so cellar; do
        grep -qE -- "(-o|qc) ($made|$made\.[0-9.]+) " "$folder/log" || fail "the README's build does not make $made, which is installed"
    done
fi
[ $failures -eq 0 ] && echo "the library builds"
[ $failures -eq 0 ]
