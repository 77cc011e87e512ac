#!/bin/bash
# Several processes on one pool through cellar.so: Python's sqlite3 moves money, shells look at the sum meanwhile, one
# process is killed amid its transactions; no cent is lost, and the pool opens again.
set -u
source "$(dirname "$0")/prelude.sh" sqlite3 python

cat >move.py <<'PY'
"""move.py CELLAR SEED TRANSFERS: moves money between accounts, until so many transfers have been committed."""
import random
import sqlite3
import sys

cellar, seed, wanted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = sqlite3.connect(":memory:", isolation_level=None)
db.enable_load_extension(True)
db.load_extension(cellar)
db.execute("CREATE VIRTUAL TABLE account USING cellar(pool='bank.pool')")
draw = random.Random(seed)
done = 0
while done < wanted:
    cents, one, two = draw.randrange(1, 10), draw.randrange(50), draw.randrange(50)
    try:
        db.execute("BEGIN")
        (balance,) = db.execute("SELECT cents FROM account WHERE id = ?", (one,)).fetchone()
        db.execute("UPDATE account SET cents = ? WHERE id = ?", (balance - cents, one))
        db.execute("UPDATE account SET cents = cents + ? WHERE id = ?", (cents, two))
        db.execute("COMMIT")
        done += 1
    except sqlite3.OperationalError as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if "another" not in str(error):
            raise
    if done == 10:
        open("moving.%d" % seed, "w").close()
db.close()
PY

shell() { timeout -k 5 60 sqlite3 -batch -cmd ".load $cellar" bank.db 2>&1; }

shell >out <<'SQL' || fail "making it: $(cat out)"
CREATE VIRTUAL TABLE account USING cellar(pool='bank.pool', size='16M', processes='8', id INTEGER PRIMARY KEY, cents INTEGER NOT NULL);
WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 49) INSERT INTO account SELECT i, 100 FROM n;
SQL
movers=()
for seed in 1 2; do
    timeout -k 5 200 "$python" move.py "$cellar" $seed 150 >mover.$seed 2>&1 &
    movers+=($!)
done
"$python" move.py "$cellar" 3 1000000000 >mover.3 2>&1 &
victim=$!
while [ ! -e moving.3 ]; do kill -0 $victim 2>/dev/null || fail "the one to be killed has ended: $(cat mover.3)"; done
for look in 1 2 3 4 5; do
    [ $look -eq 3 ] && kill -9 $victim
    echo 'SELECT sum(cents) FROM account;' | shell >out
    grep -qxE '5000|.*(another|changed).*' out || fail "look $look: $(cat out)"
done
for mover in "${movers[@]}"; do wait "$mover" || fail "a mover has failed: $(cat mover.1 mover.2)"; done
wait $victim 2>/dev/null
got=$(echo 'SELECT sum(cents), count(*), max(cents) > 100 FROM account;' | shell)
[ "$got" = "5000|50|1" ] || fail "in the end: $got"
