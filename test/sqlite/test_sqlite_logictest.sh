#!/bin/bash
# test_sqlite_logictest.sh [SETS [QUERIES [SEED]]] - files of sqllogictest on tables of cellar.so (logictest.py): one of
# every kind of record, broken in each way that the runner has to see; and SETS files of QUERIES random queries, whose
# answers are those of ordinary tables; SEED: 1, `any` draws one. `logictest.py run FILES` takes published files as well.
set -u
sets=${1:-6} queries=${2:-400} seed=${3:-1}
[ "$seed" != any ] || seed=$$
source "$(dirname "$0")/prelude.sh" python
logictest() { "$python" "$here/logictest.py" "$@" >out 2>&1; }
on_cellar() { logictest run --extension "$cellar" "$@"; }
failed=0

on_cellar "$here/logictest.test" || { failed=1; cat out; }
logictest run --plain "$here/logictest.test" || { failed=1; cat out; }
while IFS='|' read -r from to; do
    sed "s|$from|$to|" "$here/logictest.test" >broken.test
    cmp -s broken.test "$here/logictest.test" && { failed=1; echo "no change: $from"; }
    on_cellar broken.test && { failed=1; echo "not seen: $from becomes $to"; }
done <<'SED'
^two$|twu
^-0.250$|-0.251
b0e6b624077|b0e6b624078
^3 values|4 values
BETWEEN 1 AND 3|BETWEEN 1 AND 2
^halt|# halt
^skipif sqlite|skipif mysql
1, -0.25, 'x'|1, -0.26, 'x'
VARCHAR(30)|NUMERIC
ORDER BY a DESC|ORDER BY a
SED

logictest make --seed "$seed" --sets "$sets" --queries "$queries" 'random{}.test' || { failed=1; cat out; }
on_cellar random*.test || failed=1
[ "$failed" -eq 0 ] || echo "seed $seed"
cat out
exit $failed
