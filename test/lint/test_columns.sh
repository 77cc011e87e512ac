#!/bin/bash
# No line of C, C++ or Python exceeds 120 columns: clang-format leaves comments and drawings as they are.
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8
found=$(find . -path './build*' -prune -o -path './.git' -prune -o \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.cc' -o -name '*.py' \) -print0 |
    xargs -0 grep -nE '^.{121}')
[ -z "$found" ] || { echo "$found" | cut -c1-160; exit 1; }
