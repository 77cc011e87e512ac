#!/bin/bash
# The program that README.md quotes under "## Embed it" is examples/bank.c, byte for byte: so it builds and runs as a
# test.
set -u
cd "$(dirname "$0")/../.." || exit 2
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

# quoted README: the first block of C in that section.
quoted() { awk '/^## / { within = $0 == "## Embed it" } within && block && /^```$/ { exit } block; within && /^```c$/ { block = 1 }' "$1"; }

quoted README.md | cmp -s - examples/bank.c || {
    echo "README.md, Embed it, does not quote examples/bank.c word for word:"
    diff <(quoted README.md) examples/bank.c
    exit 1
}
# ... and that is seen: one byte that differs, a line too few, a block that is gone.
differs() {
    quoted "$folder/README.md" | cmp -s - "$folder/bank.c" || return 0
    echo "not seen: $1"
    exit 1
}
cp README.md examples/bank.c "$folder"
sed -i '0,/int main/s//int Main/' "$folder/bank.c"
differs "one byte of the file"
cp examples/bank.c "$folder"
sed -i '0,/int main/s//int Main/' "$folder/README.md"
differs "one byte of the page"
sed '0,/^#include <stdio.h>$/{/^#include <stdio.h>$/d}' README.md >"$folder/README.md"
differs "a line too few"
sed '/^```c$/d' README.md >"$folder/README.md"
differs "a block that is gone"
