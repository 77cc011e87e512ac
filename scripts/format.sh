#!/bin/bash
# Formats every source file in place (or passes other options on to clang-format: --dry-run -Werror).
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- -i
workloads=$(sed -n 's/^set(workloads \([a-z ]*\))$/\1/p' CMakeLists.txt)
[ -n "$workloads" ] || { echo "format.sh: CMakeLists.txt has no set(workloads ...)" >&2; exit 1; }
# shellcheck disable=SC2086
find base fabric durable lockmgr storage engine trace workload $workloads cli etcd shell bench chaos program sqlite examples include proof lab test -name '*.[ch]' -print0 |
    xargs -0 clang-format --style=file "$@"
