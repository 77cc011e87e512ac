#!/bin/bash
# What `make install` leaves is enough: a program of an embedder builds with pkg-config's flags alone, against the
# shared and the static library, sees the public symbols only, and runs.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
command -v pkg-config >/dev/null || exit 77
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cmake --install "$build" --prefix "$root" >/dev/null
sed -i "s|^prefix=.*|prefix=$root|" "$root"/lib*/pkgconfig/cellar.pc "$root"/lib*/*/pkgconfig/cellar.pc 2>/dev/null || true
pc=$(find "$root" -name cellar.pc)
export PKG_CONFIG_PATH=${pc%/*}
lib=$(pkg-config --variable=libdir cellar)

for expected in "$lib/libcellar.a" "$lib/libcellar.so" "$root/include/cellar.h"; do
    [ -e "$expected" ] || { echo "not installed: $expected"; exit 1; }
done
foreign=$(nm -D --defined-only "$lib/libcellar.so" | awk '$3 !~ /^cellar_/ && $2 != "A" && $3 !~ /^(_|__.*|.*asan.*|.*tsan.*)$/ {print $3}')
foreign+=$(nm -g --defined-only "$lib/libcellar.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^cellar_/ {print $3}')
[ -z "$foreign" ] || { echo "exported, but not public: $foreign"; exit 1; }

cat >"$root/embed.c" <<'C'
#include <cellar.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    char expected[32];
    snprintf(expected, sizeof(expected), "%d.%d.%d", CELLAR_VERSION_MAJOR, CELLAR_VERSION_MINOR, CELLAR_VERSION_PATCH);
    return strcmp(cellar_version(), expected) != 0;
}
C
cat >"$root/embed.cc" <<'C'
#include <cellar.h>
int main() { return cellar_strerror(CELLAR_FULL)[0] == 0; }
C
cc=${CC:-cc}
sanitize=$(sed -n 's/^\(ASAN\|TSAN\|UBSAN\):BOOL=ON/\1/p' "$build/CMakeCache.txt" |
    sed 's/^ASAN/-fsanitize=address/;s/^TSAN/-fsanitize=thread/;s/^UBSAN/-fsanitize=undefined/')
read -r -a shared <<<"$sanitize $(pkg-config --cflags --libs cellar)"
read -r -a private <<<"$sanitize $(pkg-config --cflags cellar) $lib/libcellar.a $(pkg-config --static --libs cellar | sed 's/-lcellar\b//')"
# What the archive needs, and no device's driver besides.
more=$(pkg-config --static --libs-only-l cellar | tr ' ' '\n' | grep -vxE -e '-l(cellar|xxhash|sodium|ibverbs|rdmacm|mlx5|m|pthread)|-pthread|' || true)
[ -z "$more" ] || { echo "pkg-config --static asks for more than is needed:" $more; exit 1; }
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$root/embed.c" -o "$root/embed_shared" "${shared[@]}"
LD_LIBRARY_PATH=$lib "$root/embed_shared"
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$root/embed.c" -o "$root/embed_static" "${private[@]}"
"$root/embed_static"
for example in "$here"/examples/*.c; do
    [ -e "$example" ] || continue
    "$cc" -std=c11 "$example" -o "$root/example" "${shared[@]}"
    LD_LIBRARY_PATH=$lib "$root/example" >/dev/null || { echo "fails against the installed library: $example"; exit 1; }
done
if command -v c++ >/dev/null; then
    c++ -fsyntax-only -Wall -Werror $(pkg-config --cflags cellar) "$root/embed.cc"
fi
echo "installed, linked and run"
