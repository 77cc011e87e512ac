#!/bin/bash
# Formats every source file in place (or passes other options on to clang-format: --dry-run -Werror).
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- -i
find base fabric durable lockmgr storage engine trace workload tpcc smallbank ycsb indexload cli etcd shell bench chaos program sqlite examples include proof lab test -name '*.[ch]' -print0 |
    xargs -0 clang-format --style=file "$@"
