#!/bin/bash
# The sqlite3 shell with cellar.so, as its users call it: each session of the shell, what it prints, what it refuses.
set -u
source "$(dirname "$0")/prelude.sh" sqlite3
failed=0

# prints NAME WANTED: the shell, given standard input and nothing else, prints that.
prints() {
    local got
    got=$({ echo ".load $cellar"; cat; } | timeout -k 5 60 sqlite3 -batch shop.db 2>&1 |
        sed '/^QUERY PLAN$/d; s/^.*VIRTUAL TABLE INDEX -*[0-9]*://; s|'"$folder"'/||')
    [ "$got" = "$2" ] && return
    failed=1
    printf '%s: wanted\n%s\ngot\n%s\n\n' "$1" "$2" "$got"
}

prints "a table is made, with its pool" "1|apple|20
2|pear|
3|plum|7" <<'SQL'
CREATE VIRTUAL TABLE fruit USING cellar(pool='shop.pool', size='16M', id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER);
INSERT INTO fruit(name, n) VALUES('apple', 20), ('pear', NULL), ('plum', 7);
SELECT * FROM fruit;
SQL

prints "another shell finds it again" "plum|7
apple
pear
plum
3|27
plum|7
pear
plum
apple|PEAR" <<'SQL'
SELECT name, n FROM fruit WHERE name = 'plum';
SELECT name FROM fruit ORDER BY name;
SELECT count(*), sum(n) FROM fruit;
SELECT name, n FROM fruit WHERE name = 'PLUM' COLLATE NOCASE;
SELECT name FROM fruit WHERE name > 'BANANA' COLLATE NOCASE ORDER BY name;
SELECT a.name, b.n FROM fruit AS a JOIN (SELECT 'APPLE' AS name, 'PEAR' AS n) AS b ON a.name = b.name COLLATE NOCASE;
SQL

prints "update, delete, replace, a new key" "2|pear|1
30|apple|5
31|fig|9" <<'SQL'
UPDATE fruit SET n = coalesce(n, 0) + 1 WHERE name <> 'plum';
DELETE FROM fruit WHERE id = 3;
REPLACE INTO fruit VALUES(30, 'apple', 5);
INSERT INTO fruit(name, n) VALUES('fig', 9);
SELECT * FROM fruit ORDER BY id;
SQL

prints "transactions and savepoints" "0
3
3|-1
2" <<'SQL'
BEGIN;
DELETE FROM fruit;
SELECT count(*) FROM fruit;
ROLLBACK;
SELECT count(*) FROM fruit;
BEGIN;
UPDATE fruit SET n = -1 WHERE id = 31;
SAVEPOINT here;
DELETE FROM fruit WHERE id = 31;
ROLLBACK TO here;
SELECT count(*), min(n) FROM fruit;
DELETE FROM fruit WHERE id = 31;
COMMIT;
SELECT count(*) FROM fruit;
SQL

prints "joins with SQLite's own tables, and between pools" "apple|green
apple|green|3" <<'SQL'
CREATE TABLE colour(name TEXT, colour TEXT);
INSERT INTO colour VALUES('apple', 'green'), ('cherry', 'red');
SELECT name, colour FROM fruit JOIN colour USING (name);
CREATE VIRTUAL TABLE stock USING cellar(pool='store.pool', size='16M', name TEXT(20) PRIMARY KEY, boxes INTEGER NOT NULL, price REAL);
INSERT INTO stock VALUES('apple', 3, 0.5), ('quince', 1, 1.25);
SELECT name, colour, boxes FROM fruit JOIN colour USING (name) JOIN stock USING (name);
SQL

prints "keys of several columns" "1|2|b
1|3|c
Runtime error near line 5: UNIQUE constraint failed: a, b (19)
2|1|x" <<'SQL'
CREATE VIRTUAL TABLE pairs USING cellar(pool='shop.pool', a INTEGER, b INTEGER, c TEXT, PRIMARY KEY(a, b));
INSERT INTO pairs VALUES(1, 3, 'c'), (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'x');
SELECT * FROM pairs WHERE a = 1 AND b > 1 ORDER BY b;
INSERT INTO pairs VALUES(1, 1, 'again');
SELECT * FROM pairs WHERE (a, b) = (2, 1);
SQL

prints "a table of keys alone" "1
7
8
Runtime error near line 5: UNIQUE constraint failed: id (19)
-2
8
2|16" <<'SQL'
CREATE VIRTUAL TABLE keys USING cellar(pool='shop.pool', id INTEGER PRIMARY KEY);
INSERT INTO keys VALUES(1), (7), (NULL);
SELECT * FROM keys;
INSERT INTO keys VALUES(7);
UPDATE keys SET id = -2 WHERE id = 7; DELETE FROM keys WHERE id = 1;
SELECT * FROM keys;
CREATE VIRTUAL TABLE temp.more USING cellar(pool='shop.pool', table='keys');
INSERT INTO more VALUES(16); SELECT count(*), max(id) FROM keys WHERE id > 0;
SQL

prints "plans" "key=?
u0 name=?
k a=? b>? b<? backward
k id>?
k
k a=? covering
k covering
i1 n>? covering" <<'SQL'
EXPLAIN QUERY PLAN SELECT * FROM fruit WHERE id = 3;
EXPLAIN QUERY PLAN SELECT * FROM fruit WHERE name = 'fig';
EXPLAIN QUERY PLAN SELECT * FROM pairs WHERE a = 1 AND b BETWEEN 2 AND 9 ORDER BY b DESC;
EXPLAIN QUERY PLAN SELECT * FROM fruit WHERE id > 4;
EXPLAIN QUERY PLAN SELECT * FROM fruit WHERE n = 4;
EXPLAIN QUERY PLAN SELECT b FROM pairs WHERE a = 1;
EXPLAIN QUERY PLAN SELECT count(*) FROM fruit;
CREATE VIRTUAL TABLE shelf USING cellar(pool='shop.pool', id INTEGER PRIMARY KEY, name TEXT(8) UNIQUE, n INTEGER, cents INTEGER, INDEX(n) INCLUDE(cents));
EXPLAIN QUERY PLAN SELECT sum(cents) FROM shelf WHERE n > 3;
SQL

prints "covered columns" "2|70
3|50
3
2|71|b
3|50|c
50
Runtime error near line 10: PRIMARY KEY, UNIQUE or INDEX: no column nothing before it
Runtime error near line 11: an index has column a twice
Runtime error near line 12: PRIMARY KEY, UNIQUE or INDEX: INCLUDE or nothing is wanted, not WHERE a > 1" <<'SQL'
INSERT INTO shelf VALUES(1, 'a', 1, 90), (2, 'b', 2, 70), (3, 'c', 3, 50);
SELECT n, cents FROM shelf WHERE n > 1 ORDER BY n; SELECT count(*) FROM shelf;
UPDATE shelf SET cents = cents + 1 WHERE id = 2;
BEGIN; UPDATE shelf SET cents = 0 WHERE n = 1; UPDATE shelf SET n = 0 WHERE n = 1;
SELECT n, cents, name FROM shelf WHERE n > 1 ORDER BY n;
DELETE FROM shelf WHERE n BETWEEN 1 AND 2;
SELECT sum(cents) FROM shelf;
COMMIT;
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', a INTEGER, INDEX(a) INCLUDE(nothing));
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', a INTEGER, INDEX(a) INCLUDE(a));
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', a INTEGER, INDEX(a) WHERE a > 1);
SQL

prints "values that do not fit" "Runtime error near line 2: column n is INTEGER, and the value is TEXT (20)
Runtime error near line 3: column name is TEXT, and the value is BLOB (20)
Runtime error near line 4: column id is INTEGER PRIMARY KEY: an integer is wanted (20)
Runtime error near line 5: UNIQUE constraint failed: name (19)
Runtime error near line 6: UNIQUE constraint failed: id (19)
Runtime error near line 7: NOT NULL constraint failed: column boxes (19)
Runtime error near line 8: NOT NULL constraint failed: column name (19)
Runtime error near line 9: column name takes 20 bytes, not 22 (18)
Runtime error near line 10: column name: the text is not valid UTF-8 (20)
2" <<'SQL'
INSERT INTO fruit(name, n) VALUES('kiwi', 'many');
INSERT INTO fruit(name) VALUES(x'00');
INSERT INTO fruit(id) VALUES('one');
INSERT INTO fruit(name) VALUES('apple');
INSERT INTO fruit(id) VALUES(30);
INSERT INTO stock(name) VALUES('x');
INSERT INTO stock(boxes) VALUES(1);
INSERT INTO stock VALUES('a very long name of it', 1, 1), (printf('%.30c', 'x'), 1, 1);
INSERT INTO fruit(name) VALUES(CAST(x'ff41' AS TEXT));
SELECT count(*) FROM fruit;
SQL

prints "tables that cannot be" "Runtime error near line 2: pool='FILE' is wanted
Runtime error near line 3: pool no-such.pool: there is no such file (14)
Runtime error near line 4: pool shop.pool has no table nuts
Runtime error near line 5: table fruit has no column n:r; name the table as it was made, or without columns
Runtime error near line 6: table fruit of the pool has other columns than these
Runtime error near line 7: unknown option sise: there are pool, table, text, blob, size, rows, processes
Runtime error near line 8: column n: a type is wanted: INTEGER, REAL, TEXT(n) or BLOB(n)
Runtime error near line 9: column n: after its type come PRIMARY KEY, NOT NULL, UNIQUE, DEFAULT or CHECK, not COLLATE x
Runtime error near line 10: table fruit of the pool has other columns than these
Runtime error near line 11: column n: only a column that is NOT NULL has a DEFAULT here
Runtime error near line 12: column n: one DEFAULT, a literal or an expression in ( )
Runtime error near line 13: DEFAULT: no such column: n
Runtime error near line 14: column id: an INTEGER PRIMARY KEY has no DEFAULT
Runtime error near line 15: CHECK: no such column: m
Runtime error near line 16: CHECK has an expression in ( )
Runtime error near line 17: CHECK: nothing is wanted behind ), not more
Runtime error near line 18: CHECK is for tables with columns" <<'SQL'
CREATE VIRTUAL TABLE bad USING cellar(id INTEGER PRIMARY KEY, n INTEGER);
CREATE VIRTUAL TABLE bad USING cellar(pool='no-such.pool', table='t');
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', table='nuts');
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', table='fruit', id INTEGER PRIMARY KEY, name TEXT UNIQUE, n REAL);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', table='fruit', id INTEGER PRIMARY KEY, n INTEGER);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', sise='3', n INTEGER);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n NUMBER);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER COLLATE x);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', table='fruit', id INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER DEFAULT 3);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER NOT NULL DEFAULT 3 DEFAULT 4);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER NOT NULL DEFAULT (n));
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', id INTEGER DEFAULT 3 PRIMARY KEY);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER CHECK (m > 3));
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER CHECK n);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', n INTEGER, CHECK (n > 3) more);
CREATE VIRTUAL TABLE bad USING cellar(pool='shop.pool', table='fruit', CHECK (n > 3));
SQL

rules="CREATE VIRTUAL TABLE ruled USING cellar(pool='rules.pool', size='16M', rows='1000', id INTEGER PRIMARY KEY CHECK (id > 0), \
name TEXT NOT NULL DEFAULT 'no ''name''', n INTEGER NOT NULL DEFAULT -3 CHECK (n < 10), r REAL DEFAULT 1.5e-3 NOT NULL, \
b BLOB NOT NULL DEFAULT x'00ff', day TEXT NOT NULL DEFAULT CURRENT_DATE, u INTEGER NOT NULL DEFAULT (abs(-1) + 2) UNIQUE, \
note TEXT(10000) CHECK (length(note) <> 3), CHECK (n <> u OR name LIKE 'x%'));"
prints "DEFAULT and CHECK" "Runtime error near line 4: UNIQUE constraint failed: u (19)
Runtime error near line 5: CHECK constraint failed: n < 10 (19)
Runtime error near line 6: CHECK constraint failed: n <> u OR name LIKE 'x%' (19)
Runtime error near line 8: CHECK constraint failed: n <> u OR name LIKE 'x%' (19)
Runtime error near line 9: CHECK constraint failed: length(note) <> 3 (19)
Runtime error near line 10: CHECK constraint failed: id > 0 (19)
Runtime error near line 12: NOT NULL constraint failed: column n (19)
1|no 'name'|-3|0.0015|00FF|1|3|
2|xx|-3|0.0015|00FF|1|4|abcd" <<SQL
$rules
INSERT INTO ruled(id) VALUES(1);
INSERT INTO ruled(id) VALUES(2);
INSERT INTO ruled(id, u, n) VALUES(2, 4, 10);
INSERT INTO ruled(id, u, n) VALUES(2, 4, 4);
INSERT INTO ruled(id, u, n, name) VALUES(2, 4, 4, 'xx');
UPDATE ruled SET name = 'y' WHERE id = 2;
UPDATE ruled SET note = 'abc' WHERE id = 2;
UPDATE ruled SET id = -5 WHERE id = 2; INSERT OR IGNORE INTO ruled(id, u) VALUES(-1, 9);
UPDATE ruled SET note = 'abcd', n = '5' WHERE id = 2;
UPDATE ruled SET n = NULL WHERE id = 2;
UPDATE OR REPLACE ruled SET n = NULL WHERE id = 2;
SELECT id, name, n, r, hex(b), day = CURRENT_DATE, u, note FROM ruled;
SQL
prints "another connection keeps to DEFAULT and CHECK" "Runtime error near line 3: CHECK constraint failed: n < 10 (19)
7|no 'name'|-3" <<'SQL'
INSERT INTO ruled(id, u) VALUES(7, 70);
INSERT INTO ruled(id, u, n) VALUES(8, 80, 10);
SELECT id, name, n FROM ruled WHERE id > 2;
SQL

# The second shell runs while the first one has the pool open.
prints "DROP TABLE drops what columns have made, and no other" "3
3
Runtime error near line 1: database is locked (5)
3
0" <<'SQL'
CREATE VIRTUAL TABLE gone USING cellar(pool='drop.pool', size='16M', id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
INSERT INTO gone(n) VALUES(1), (2), (3);
CREATE VIRTUAL TABLE seen USING cellar(pool='drop.pool', table='gone');
SELECT count(*) FROM seen;
DROP TABLE seen;
SELECT count(*) FROM gone;
.shell echo "DROP TABLE gone;" | sqlite3 -batch -cmd ".load $CELLAR_BUILD/cellar" shop.db || true
SELECT count(*) FROM gone;
DROP TABLE gone;
CREATE VIRTUAL TABLE gone USING cellar(pool='drop.pool', id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
SELECT count(*) FROM gone;
SQL

prints "a dropped table's name takes other columns, in a transaction too" "a
Parse error near line 9: no such table: gone" <<'SQL'
INSERT INTO gone VALUES(1, 1);
BEGIN;
UPDATE gone SET n = 2;
ROLLBACK;
DROP TABLE gone;
CREATE VIRTUAL TABLE gone USING cellar(pool='drop.pool', t TEXT PRIMARY KEY); INSERT INTO gone VALUES('a');
SELECT * FROM gone; DROP TABLE gone;
SELECT * FROM gone;
SQL

prints "ALTER TABLE RENAME, where the pool's table has a name of its own" "Runtime error near line 5: the pool's table \
would keep its name, which is the virtual table's: one that was created with table='...' may be renamed
7
7" <<'SQL'
CREATE VIRTUAL TABLE here USING cellar(pool='drop.pool', n INTEGER);
CREATE VIRTUAL TABLE there USING cellar(pool='drop.pool', table='its_own', n INTEGER);
INSERT INTO there VALUES(7);
ALTER TABLE here RENAME TO elsewhere;
ALTER TABLE there RENAME TO elsewhere;
SELECT * FROM elsewhere;
.shell echo "SELECT * FROM elsewhere;" | sqlite3 -batch -cmd ".load $CELLAR_BUILD/cellar" shop.db
SQL

prints "VACUUM, ANALYZE and integrity_check leave the pool alone" "ok
7
Parse error near line 6: virtual tables may not be altered" <<'SQL'
VACUUM;
ANALYZE;
PRAGMA integrity_check;
SELECT * FROM elsewhere;
ALTER TABLE elsewhere ADD COLUMN m INTEGER;
SQL

# What SQL has made is a pool like any other.
"$build/cellar" check shop.pool >out 2>&1 || { failed=1; echo "check: $(cat out)"; }
if "$build/cellar" dump shop.pool fruit >rows 2>out; then
    [ "$(wc -l <rows)" -eq "$(($(echo 'SELECT count(*) FROM fruit;' | sqlite3 -cmd ".load $cellar" shop.db) + 1))" ] ||
        { failed=1; echo "dump: other rows: $(cat rows)"; }
else
    grep -q 'has typed columns' out || { failed=1; echo "dump: $(cat out)"; }
fi

# Files that are no pools, or those of another build, stay as they are.
for kind in junk other; do
    cp shop.pool $kind.pool
    [ $kind = junk ] && head -c 65536 /dev/urandom | dd of=$kind.pool conv=notrunc status=none
    [ $kind = other ] && printf 'XX' | dd of=$kind.pool bs=1 seek=8 conv=notrunc status=none
    sum=$(md5sum $kind.pool)
    echo "CREATE VIRTUAL TABLE bad USING cellar(pool='$kind.pool', table='fruit');" |
        sqlite3 -batch -cmd ".load $cellar" :memory: >out 2>&1 && failed=1
    [ "$(wc -l <out)" -eq 1 ] && grep -q 'Runtime error near line 1: .*(14)' out || { failed=1; echo "$kind: $(cat out)"; }
    [ "$(md5sum $kind.pool)" = "$sum" ] || { failed=1; echo "$kind.pool was changed"; }
done
exit $failed
