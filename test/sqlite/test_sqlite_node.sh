#!/bin/bash
# cellar.so in node's better-sqlite3, where node finds that package (NODE_PATH): rows, its transactions, its conflicts.
set -u
source "$(dirname "$0")/prelude.sh" node

cat >account.js <<'JS'
const assert = require('assert');
const sqlite = require('better-sqlite3');
const create = "CREATE VIRTUAL TABLE account USING cellar(pool='node.pool', size='64M', id INTEGER PRIMARY KEY, " +
    "cents INTEGER NOT NULL, note TEXT(100000))";

function connect() {
    const db = sqlite(':memory:');
    db.loadExtension(process.argv[2]);
    db.exec(create);
    return db;
}

const one = connect(), two = connect();
const insert = one.prepare('INSERT INTO account VALUES(?, ?, ?)');
one.transaction(() => { for (let id = 1; id <= 50; id++) insert.run(id, 100, 'x'.repeat(id * 400)); })();
assert.deepStrictEqual(two.prepare('SELECT count(*) AS n, sum(cents) AS cents, sum(length(note)) AS bytes FROM account').get(),
                       {n: 50, cents: 5000, bytes: 510000});

const move = one.transaction((from, to, cents) => {
    const {cents: balance} = one.prepare('SELECT cents FROM account WHERE id = ?').get(from);
    one.prepare('UPDATE account SET cents = ? WHERE id = ?').run(balance - cents, from);
    if (to === 13) throw new Error('never 13');
    one.prepare('UPDATE account SET cents = cents + ? WHERE id = ?').run(cents, to);
});
move(1, 2, 30);
assert.throws(() => move(1, 13, 30), /never 13/);
assert.deepStrictEqual(two.prepare('SELECT cents FROM account WHERE id <= 2 ORDER BY id DESC').pluck().all(), [130, 70]);

one.exec('BEGIN');
one.prepare('SELECT cents FROM account WHERE id = 5').get();
one.prepare('UPDATE account SET cents = 99 WHERE id = 6').run();
two.prepare('UPDATE account SET cents = 1 WHERE id = 5').run();
assert.throws(() => one.exec('COMMIT'), {code: 'SQLITE_BUSY_SNAPSHOT'});
assert.strictEqual(one.inTransaction, false);
assert.strictEqual(one.prepare('SELECT cents FROM account WHERE id = 6').pluck().get(), 100);
assert.throws(() => insert.run(1, 1, null), {code: 'SQLITE_CONSTRAINT_PRIMARYKEY'});
one.close();
two.close();
JS
node account.js "$cellar"
