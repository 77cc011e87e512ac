#!/bin/bash
# test_sqlite_keys.sh [STATEMENTS [SEED]] - tables whose keys are texts, reals and several columns (keys.py): STATEMENTS
# random ones on each of them and on an ordinary table leave the same rows. SEED: 1; `any` draws one.
set -u
statements=${1:-1500} seed=${2:-1}
[ "$seed" != any ] || seed=$$
source "$(dirname "$0")/prelude.sh" python
"$python" "$here/keys.py" --extension "$cellar" --statements "$statements" --seed "$seed" || fail "seed $seed"
