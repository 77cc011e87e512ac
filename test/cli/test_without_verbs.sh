#!/bin/bash
# test_without_verbs.sh [CELLAR] - a build without libibverbs says so, and does all else. Skipped in builds that have
# it.
set -u
source "$(dirname "$0")/prelude.sh"

! ldd "$cellar" | grep -qE "libibverbs|librdmacm|libmlx5" || exit 77
what="this build has no verbs fabric; install libibverbs-dev and librdmacm-dev, and build anew"
refused "$what" memnode --fabric verbs --address 10.0.0.1 --bytes 1M
refused "$what" bench smallbank --fabric verbs --memnodes 10.0.0.1 --txns 10
! has_laboratory || refused "$what" bench lock --lock cas --fabric verbs --memnodes 10.0.0.1 --ops 10
refused "$what" recover --fabric verbs --memnodes 10.0.0.1 --cn 0
timeout -k 5 240 "$cellar" bench smallbank --accounts 50 --txns 100 --threads 1 >"$folder/out" 2>"$folder/err" || fail "shm: $(cat "$folder/err")"
[ $failures -eq 0 ]
