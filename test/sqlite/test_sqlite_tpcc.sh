#!/bin/bash
# test_sqlite_tpcc.sh [TRANSACTIONS [PROCESSES [OPTIONS of tpcc.py]]] - TPC-C in SQL (tpcc.py): what one client does on
# tables of cellar.so leaves the rows that it leaves on ordinary ones; several processes of several connections keep the
# twelve conditions, and what they were told of is there; a row changed behind their back violates the condition that it
# should.
set -u
transactions=${1:-60} processes=${2:-2}
shift $(($# < 2 ? $# : 2))
source "$(dirname "$0")/prelude.sh" python
tpcc() { "$python" "$here/tpcc.py" "$@" "${options[@]}" >out 2>&1 || fail "$*: $(cat out)"; }

options=(--extension "$cellar" --clients 1 --seed 7 --transactions 60 --customers 12)
for where in "--pool one.pool" "--plain one.db"; do
    # shellcheck disable=SC2086
    tpcc load $where && tpcc run $where && tpcc check $where --counts counts.json && tpcc dump $where
    mv out "dump${where%% *}"
done
cmp -- dump--pool dump--plain || fail "other rows than on ordinary tables: $(diff -- dump--pool dump--plain | head)"

options=(--extension "$cellar" --warehouses 2 "$@")
tpcc load
clients=()
for ((i = 0; i < processes; i++)); do
    "$python" "$here/tpcc.py" run --first $((2 * i + 1)) --transactions "$transactions" --out "counts.$i" \
        "${options[@]}" >"client.$i" 2>&1 &
    clients+=($!)
done
for client in "${clients[@]}"; do wait "$client" || fail "a client has failed: $(cat client.*)"; done
cat client.*
tpcc check --counts counts.[0-9]*

# Each of these violates a condition, and `check` says which.
options=()
while IFS='|' read -r wanted tamper; do
    cp one.db bad.db
    "$python" -c 'import sqlite3, sys; sqlite3.connect("bad.db", isolation_level=None).execute(sys.argv[1])' "$tamper" ||
        fail "$tamper"
    "$python" "$here/tpcc.py" check --plain bad.db --customers 12 >out 2>&1 && fail "not seen: $tamper"
    got=$(sed -n 's/^3\.3\.2\.\([0-9]*\) VIOLATED.*/\1/p' out | uniq | tr '\n' ' ')
    [ "$got" = "$wanted " ] || fail "$tamper: conditions $got, not $wanted: $(cat out)"
done <<'SQL'
1 8|UPDATE warehouse SET w_ytd = w_ytd + 1
1 9|UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 4
2|UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2
3 5 11|DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = (SELECT max(no_o_id) - 1 FROM new_order WHERE no_d_id = 1)
4 6|UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 12 AND o_d_id = 3
5 7|UPDATE orders SET o_carrier_id = NULL WHERE o_id = 1 AND o_d_id = 5
7 10 12|UPDATE order_line SET ol_delivery_d = 0 WHERE ol_d_id = 3 AND ol_number = 1 AND ol_o_id = (SELECT max(no_o_id) FROM new_order WHERE no_d_id = 3)
8 9 10|UPDATE history SET h_amount = h_amount + 1 WHERE h_d_id = 6 AND h_c_d_id = 6 AND h_c_id = 1
10 12|UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 3 AND c_d_id = 7
12|UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 3 AND c_d_id = 7
SQL
