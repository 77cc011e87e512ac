#!/bin/bash
# Formats every source file in place (or passes other options on to clang-format: --dry-run -Werror).
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- -i
find base fabric durable lockmgr storage engine history trace workload tpcc smallbank ycsb indexload sim cli etcd shell bench lockbench chaos exp program sqlite examples include test -name '*.[ch]' -print0 |
    xargs -0 clang-format --style=file "$@"
