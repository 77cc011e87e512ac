#!/bin/bash
# test_hot_stress.sh [CELLAR] - mode cellar on real threads, with a crowd on few records: two compute nodes of two
# threads, whose coordinators and keepers meet under the words of hot locks. The simulator runs one worker at a time, so
# that only here a word that is not locked shows: as a data race under TSan, which runs this test, else as a crash or a
# wrong sum, now and then.
set -u
source "$(dirname "$0")/prelude.sh"

# A busy machine may let one thread run after the other, and then nothing gets hot.
hot=0 seed=0
while [ $hot -lt 3 ] && [ $seed -lt 12 ]; do
    seed=$((seed + 1))
    timeout -k 5 240 "$cellar" bench smallbank --cc cellar --accounts 20 --theta 1.2 --cns 2 --threads 2 --coros 8 --txns 20000 --seed $seed --way plain-ns=0 \
        >"$folder/out" 2>"$folder/err"
    status=$?
    [ $status -eq 0 ] && ! [ -s "$folder/err" ] || fail "seed $seed: exit $status: $(tail -n 3 "$folder/out") $(head -n 40 "$folder/err")"
    [ $status -eq 0 ] || break
    grep -q "Hot records" "$folder/out" && hot=$((hot + 1))
done
[ $failures -eq 0 ] || exit 1
if [ $hot -eq 0 ]; then
    echo "skipped: nothing got hot in $seed runs: the machine ran one thread after the other"
    exit 77
fi
echo "hot records hold on threads; $hot of $seed runs had some"
