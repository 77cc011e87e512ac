"""Random statements on tables of cellar.so whose keys are no integer, beside ordinary STRICT ones WITHOUT ROWID.

Both are in one connection, with the same transactions and savepoints. Prints the statement at which they part.
"""
import argparse
import os
import random
import re
import sqlite3
import sys

# A key of two columns, of a real alone, of three in another order; one that an index has no room for.
TABLES = [
    "a INTEGER, b TEXT(8), c INTEGER NOT NULL, d REAL NOT NULL, e BLOB(8), f TEXT(9000), PRIMARY KEY(b, a), "
    "UNIQUE(c, e), INDEX(d, e)",
    "a REAL, b TEXT(8), c INTEGER, d REAL, e BLOB(300) NOT NULL, f TEXT, PRIMARY KEY(a), UNIQUE(c), "
    "INDEX(d, b) INCLUDE(c, a)",
    "a INTEGER, b BLOB(8), c INTEGER NOT NULL, d REAL, e BLOB(8), f TEXT(300), PRIMARY KEY(c, b, a), UNIQUE(a), "
    "INDEX(e)",
    "a INTEGER, b TEXT(50), c INTEGER, d REAL, e BLOB(40), f TEXT(300), PRIMARY KEY(b, a), INDEX(e, c), INDEX(d)",
]
COLUMNS = "abcdef"
REALS = ["0.5", "-1.5", "3", "-0.0", "0.0", "1e300", "2.25", "9007199254740993"]
TEXTS = ["''", "'a'", "'b'", "'ab'", "'a '", "'zz'", "'5'", "'B'", "'é'"]
BLOBS = ["x''", "x'00'", "x'61'", "x'ff'", "x'00ff'", "x'0100'", "x'01'"]
LENGTHS = [39, 40, 41, 255, 256, 257, 3000]


class Draw(random.Random):
    """Values, conditions and statements, with $ for the table."""

    def __init__(self, seed, columns):
        super().__init__(seed)
        self.types = {c: re.search(r"\b%s (\w+)" % c, columns)[1] for c in COLUMNS}
        self.key = re.search(r"PRIMARY KEY\(([^)]*)\)", columns)[1].split(", ")
        self.free = [c for c in "df" if "(%s" % c not in columns.replace("INDEX(%s" % c, "")]
        self.room = int(re.search(r"f TEXT\(?(\d*)", columns)[1] or 64)
        self.mixed = True  # now and then a value of another type

    def value(self, column):
        kind = self.types[column]
        if self.random() < 0.06:
            return "NULL"
        if self.mixed and self.random() < 0.03:
            kind = self.choice(["INTEGER", "REAL", "TEXT", "BLOB"])
        if kind == "INTEGER":
            odd = self.mixed and kind == self.types[column] and self.random() < 0.03  # a text may have no room for it
            return self.choice(["9223372036854775807", "3.0", "'4'"]) if odd else str(self.randrange(-6, 12))
        if kind == "TEXT" and column == "f" and self.random() < 0.2:
            return "printf('%%.*c', %d, 'w')" % self.choice([length for length in LENGTHS if length <= self.room])
        values = {"REAL": REALS, "TEXT": TEXTS, "BLOB": BLOBS}[kind]
        return self.choice(values if kind == self.types[column] else values[:5])  # which fit into texts

    def term(self):
        column, kind = self.choice(COLUMNS), self.randrange(7)
        if kind == 0:
            return "%s IS %sNULL" % (column, self.choice(["", "NOT "]))
        if kind == 1:
            return "%s BETWEEN %s AND %s" % (column, self.value(column), self.value(column))
        if kind == 2:
            return "%s IN (%s)" % (column, ", ".join(self.value(column) for _ in range(self.randrange(1, 4))))
        if kind == 3:
            return "(a, b) = (%s, %s)" % (self.value("a"), self.value("b"))
        return "%s %s %s" % (column, self.choice(["=", "=", "<", "<=", ">", ">=", "<>", "IS"]), self.value(column))

    def condition(self):
        terms = [self.term() for _ in range(self.randrange(3))]
        return " WHERE " + self.choice([" AND ", " OR "]).join(terms) if terms else ""

    def one(self):
        return " WHERE " + " AND ".join("%s = %s" % (column, self.value(column)) for column in self.key)

    def order(self):
        way = self.choice(["", " DESC"])
        columns = [self.choice(COLUMNS) + self.choice(["", " DESC"]) for _ in range(self.randrange(3))]
        return " ORDER BY " + ", ".join(columns + [column + way for column in self.key])

    def select(self):
        if self.random() < 0.05:
            return "SELECT x.a, x.b, y.a, y.b FROM $ x JOIN $ y ON x.%s = y.%s" % tuple(self.choices(COLUMNS, k=2))
        what = self.choice(["*", "a, b", "count(*), sum(c % 100), min(d), max(e)", "DISTINCT c", "d, c", "f"])
        sql = "SELECT " + what + " FROM $" + self.condition()
        if "(" in what or "DISTINCT" in what or self.random() < 0.3:
            return sql
        limit = " LIMIT %d OFFSET %d" % (self.randrange(9), self.randrange(4)) if self.random() < 0.5 else ""
        return sql + self.order() + limit

    def conflict(self):
        """What is of another type SQLite refuses sooner or later than cellar.so: not where a row may be left out."""
        way = self.choice(["", " OR IGNORE", " OR REPLACE"])
        self.mixed = way == ""
        return way

    def insert(self):
        way = self.conflict()
        rows = ["(%s)" % ", ".join(self.value(column) for column in COLUMNS) for _ in range(self.choice([1, 1, 3]))]
        return "INSERT%s INTO $ VALUES%s" % (way, ", ".join(rows))

    def update(self):
        if self.random() < 0.3:  # of several rows what is in no key
            column = self.choice(self.free)
            return "UPDATE $ SET %s = %s%s" % (column, {"d": "d + 1", "f": "'y' || c"}[column], self.condition())
        way, column = self.conflict(), self.choice(COLUMNS)
        changes = ["%s = %s" % (column, self.value(column)), "c = c + 1", "d = d + 1.5, e = x'07'", "a = a + 100"]
        return "UPDATE%s $ SET %s%s" % (way, self.choice(changes), self.one())

    def statement(self):
        self.mixed = True
        draws = [self.select, self.insert, self.update, lambda: "DELETE FROM $" + (self.condition() or " WHERE c > 8")]
        return self.choices(draws, [50, 25, 20, 5])[0]()


class Both:
    """The two tables, and what both have been told."""

    def __init__(self, extension, columns):
        pool = "keys_%d_%d.pool" % (os.getpid(), TABLES.index(columns))
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(extension)
        self.db.execute("CREATE VIRTUAL TABLE ours USING cellar(pool='%s', size='64M', rows='2000', %s)"
                        % (pool, columns))
        os.unlink(pool)
        plain = re.sub(r" INCLUDE\([^)]*\)|, INDEX\([^)]*\)|(?<=TEXT|BLOB)\(\d+\)", "", columns)
        self.db.execute("CREATE TABLE theirs(%s) STRICT, WITHOUT ROWID" % plain)
        self.savepoints = self.outermost = 0

    def run(self, sql, table):
        try:
            cursor = self.db.execute(sql.replace("$", table))
            rows = cursor.fetchall()
            return "", rows if "ORDER BY" in sql else sorted(rows, key=repr), cursor.rowcount
        except sqlite3.Error as error:
            return str(error) or "error", None, 0

    def compare(self, sql):
        """The ordinary one first, whole or not at all: what fails in it for a type may have been begun."""
        whole = self.db.in_transaction and not sql.startswith("SELECT")
        if whole:
            self.db.execute("SAVEPOINT whole")
        theirs = self.run(sql, "theirs")
        if whole:
            if theirs[0]:
                self.db.execute("ROLLBACK TO whole")
            self.db.execute("RELEASE whole")
        ours = self.run(sql, "ours")
        if (ours[0] == "") != (theirs[0] == "") or ours[1:] != theirs[1:]:
            sys.exit("%s\ncellar.so: %s\nSQLite: %s" % (sql, ours, theirs))
        return len(ours[1] or [])

    def transact(self, draw):
        if not self.db.in_transaction:
            self.savepoints, self.outermost = 0, draw.choice([0, 1])  # 1: a savepoint that is a transaction
            self.db.execute("SAVEPOINT s0" if self.outermost else "BEGIN")
            return
        kind = draw.randrange(5)
        if kind == 1:
            self.savepoints += 1
            self.db.execute("SAVEPOINT s%d" % self.savepoints)
        elif kind == 2 and self.savepoints + self.outermost:
            self.db.execute("ROLLBACK TO s%d" % self.savepoints)
        elif kind == 3 and self.savepoints:
            self.db.execute("RELEASE s%d" % self.savepoints)
            self.savepoints -= 1
        elif kind == 0:
            self.db.execute("ROLLBACK")
        else:
            self.db.execute("RELEASE s0" if self.outermost else "COMMIT")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extension", help="cellar.so, without .so")
    parser.add_argument("--statements", type=int, default=1500, help="on each of the tables")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for columns in TABLES:
        draw, both = Draw(args.seed, columns), Both(args.extension, columns)
        for number in range(args.statements):
            if draw.random() < 0.1:
                both.transact(draw)
            else:
                both.compare(draw.statement())
            if number % 40 == 0 and both.compare("SELECT * FROM $ ORDER BY " + ", ".join(draw.key)) > 150:
                both.compare("DELETE FROM $ WHERE c % 2 = 0 OR c IS NULL OR a > 50")
        if both.db.in_transaction:
            both.db.execute("COMMIT")
        both.compare("SELECT * FROM $ ORDER BY " + ", ".join(draw.key))


main()
