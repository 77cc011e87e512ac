#!/bin/bash
# Every source file is as clang-format leaves it. Skipped where there is no clang-format; `scripts/format.sh` repairs.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v clang-format >/dev/null || { echo "no clang-format"; exit 77; }
exec bash scripts/format.sh --dry-run -Werror
