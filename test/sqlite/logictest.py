"""Files of sqllogictest, run on tables of cellar.so (or, with --plain, on ordinary ones); and files of that form, made.

run FILE..           runs them, each on a database of its own, and prints the first record of each that fails
make --seed N FILE   writes random records: tables, rows, changes and queries, with the answers of ordinary tables

The form is the published one: records parted by empty lines; `statement ok`, `statement error`, `query TYPES SORT
LABEL` with values (or their number and MD5) after `----`; `skipif`, `onlyif`, `hash-threshold`, `halt`. CREATE TABLE
becomes CREATE VIRTUAL TABLE, with the indexes that the file makes of it later: a virtual table has its indexes from the
start.
"""
import argparse
import hashlib
import os
import random
import re
import sqlite3
import sys

INDEXES_MAX = 7  # of a table of cellar.so, beside that of its keys

# ---- engines ----


class Plain:
    def __init__(self, args, records):
        self.db = sqlite3.connect(":memory:", isolation_level=None)

    def execute(self, sql):
        return self.db.execute(sql).fetchall()

    def close(self):
        self.db.close()


class Cellar(Plain):
    """Tables that the records create, as virtual ones in a pool of their own."""

    NAME = r"[\"\[]?(\w+)[\"\]]?"
    TABLE = re.compile(r"\s*CREATE\s+TABLE\s+" + NAME + r"\s*\((.*)\)\s*;?\s*$", re.I | re.S)
    INDEX = re.compile(r"\s*CREATE\s+(UNIQUE\s+)?INDEX\s+" + NAME + r"\s+ON\s+" + NAME + r"\s*\((.*)\)\s*;?\s*$",
                       re.I | re.S)
    GONE = re.compile(r"\s*(DROP\s+INDEX|REINDEX)\b", re.I)

    def __init__(self, args, records):
        super().__init__(args, records)
        self.db.enable_load_extension(True)
        self.db.load_extension(args.extension)
        self.pool = "logictest_%d.pool" % os.getpid()
        self.indexes, self.left = {}, set()
        for sql in (record.sql for record in records if record.runs and record.kind == "statement"):
            match = self.INDEX.match(sql)
            if not match:
                continue
            columns = re.sub(r"(?i)\s+(ASC|DESC)\b", "", match[4])
            wanted = self.indexes.setdefault(match[3].lower(), [])
            if len(wanted) < INDEXES_MAX and columns.lower() not in [one[1].lower() for one in wanted]:
                wanted.append(("UNIQUE" if match[1] else "INDEX", columns))

    def execute(self, sql):
        table = self.TABLE.match(sql)
        if table:
            more = "".join(", %s(%s)" % index for index in self.indexes.get(table[1].lower(), []))
            sql = ("CREATE VIRTUAL TABLE %s USING cellar(pool='%s', size='64M', rows='4000', %s%s)"
                   % (table[1], self.pool, table[2], more))
        elif self.INDEX.match(sql) or self.GONE.match(sql):
            return []
        return super().execute(sql)

    def close(self):
        super().close()
        if os.path.exists(self.pool):
            os.unlink(self.pool)


# ---- records ----


class Record:
    """One of a file: its line, whether SQLite runs it, what it says, and what it wants."""

    def __init__(self, lines):
        self.line, self.runs, self.kind, self.words, self.sql, self.wanted = lines[0][0], True, "", [], "", []
        texts = [text for _, text in lines]
        while texts and texts[0].split()[0] in ("skipif", "onlyif"):
            word, name = texts.pop(0).split()[:2]
            self.runs = self.runs and (word == "onlyif") == (name == "sqlite")
        if not texts:
            return
        self.words = texts[0].split()
        self.kind = self.words[0]
        if self.kind not in ("statement", "query", "halt", "hash-threshold"):
            raise SystemExit("line %d: no record begins with %s" % (self.line, texts[0]))
        end = texts.index("----") if self.kind == "query" and "----" in texts else len(texts)
        self.sql, self.wanted = "\n".join(texts[1:end]), texts[end + 1:]


def records_of(path):
    lines, records = [], []
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, text in enumerate(file, 1):
            text = text.rstrip("\r\n")
            if text.startswith("#"):
                continue
            if text.strip():
                lines.append((number, text))
            elif lines:
                records.append(Record(lines))
                lines = []
    return records + ([Record(lines)] if lines else [])


# ---- answers ----


def shown(value, letter):
    if value is None:
        return "NULL"
    if letter == "I":
        try:
            return "%d" % int(value)
        except ValueError:
            return "0"
    if letter == "R":
        try:
            return "%.3f" % float(value)
        except ValueError:
            return "0.000"
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return "".join(c if " " <= c <= "~" else "@" for c in text) or "(empty)"


def values_of(rows, types, sort):
    """The values one after the other, in the order that the record asks for."""
    rows = [[shown(value, letter) for value, letter in zip(row, types)] for row in rows]
    if sort == "rowsort":
        rows.sort()
    values = [value for row in rows for value in row]
    return sorted(values) if sort == "valuesort" else values


def digest(values):
    return hashlib.md5("".join(value + "\n" for value in values).encode()).hexdigest()


def is_answer(values, wanted):
    hashed = re.match(r"(\d+) values hashing to ([0-9a-f]{32})$", wanted[0]) if len(wanted) == 1 else None
    if hashed:
        return len(values) == int(hashed[1]) and digest(values) == hashed[2]
    return values == wanted


# ---- run ----


def run_record(engine, record, labels):
    """None, or what is wrong with it."""
    try:
        rows = engine.execute(record.sql)
    except sqlite3.Error as error:
        failed = record.kind == "statement" and record.words[1] == "error"
        return None if failed else "%s: %s" % (type(error).__name__, error)
    if record.kind == "statement":
        return "it should fail" if record.words[1] == "error" else None
    if rows and len(rows[0]) != len(record.words[1]):
        return "%d columns" % len(rows[0])
    values = values_of(rows, record.words[1], record.words[2] if len(record.words) > 2 else "nosort")
    if record.wanted and not is_answer(values, record.wanted):
        return "other values: %s, not %s" % (values[:20], record.wanted[:20])
    label = record.words[3] if len(record.words) > 3 else None
    if label and labels.setdefault(label, digest(values)) != digest(values):
        return "another answer than the record before of label %s has" % label
    return None


def run_file(args, path):
    records, labels, queries, failures = records_of(path), {}, 0, 0
    engine = (Plain if args.plain else Cellar)(args, records)
    for record in records:
        if record.kind == "halt" and record.runs:
            break
        if not record.runs or record.kind in ("", "hash-threshold"):
            continue
        wrong = run_record(engine, record, labels)
        queries += record.kind == "query"
        failures += wrong is not None
        if wrong and failures <= args.show:
            print("%s:%d: %s\n  %s" % (path, record.line, wrong, record.sql))
    engine.close()
    return queries, failures


def run(args):
    queries = failures = 0
    for path in args.files:
        done, failed = run_file(args, path)
        queries, failures = queries + done, failures + failed
    print("%d queries in %d files, %d records failed" % (queries, len(args.files), failures))
    sys.exit(1 if failures else 0)


# ---- make ----


class Maker:
    """Draws statements that an ordinary table of SQLite, which has no types, and one of cellar.so answer alike."""

    TYPES = {"i": "INTEGER", "r": "REAL", "t": "TEXT(20)", "l": "TEXT(8000)"}

    def __init__(self, seed, out):
        self.draw, self.out, self.plain = random.Random(seed), out, Plain(None, [])
        self.tables, self.next_id = {}, {}

    def record(self, head, sql, wanted=None):
        self.out.write("%s\n%s\n" % (head, sql))
        if wanted is not None:
            self.out.write("----\n" + "".join(value + "\n" for value in wanted))
        self.out.write("\n")

    def statement(self, sql):
        try:
            self.plain.execute(sql)
            self.record("statement ok", sql)
        except sqlite3.IntegrityError:
            self.record("statement error", sql)

    def query(self, sql, types, ordered):
        rows = self.plain.execute(sql)
        sort = "nosort" if ordered else self.draw.choice(["rowsort", "rowsort", "valuesort"])
        values = values_of(rows, types, sort)
        hashed = ["%d values hashing to %s" % (len(values), digest(values))] if len(values) > 40 else values
        self.record("query %s %s" % (types, sort), sql, hashed)

    # -- tables and rows

    def make_tables(self):
        for number in range(self.draw.randint(2, 4)):
            name, letters = "t%d" % number, [self.draw.choice("iiirttl") for _ in range(self.draw.randint(2, 6))]
            columns = [("c%d" % i, letter) for i, letter in enumerate(letters)]
            self.tables[name], self.next_id[name] = columns, 1
            short = [column for column, letter in columns if letter != "l"]
            self.statement("CREATE TABLE %s(id INTEGER PRIMARY KEY, %s)" % (
                name, ", ".join("%s %s" % (column, self.TYPES[letter]) for column, letter in columns)))
            for index in range(self.draw.randint(0, 3) if short else 0):
                wanted = self.draw.sample(short, self.draw.randint(1, min(3, len(short))))
                self.statement("CREATE INDEX %s_%d ON %s(%s)" % (name, index, name, ", ".join(wanted)))
            for _ in range(self.draw.randint(5, 12)):
                self.insert(name)

    def value(self, letter):
        if self.draw.random() < 0.1:
            return "NULL"
        if letter == "i":
            return str(self.draw.randint(-3, 12))
        if letter == "r":
            return str(self.draw.randint(-8, 30) / 4)
        text = self.draw.choice(["", "a", "b", "ab", "abc", "B", "x y", "5", "05", "zz"])
        return "'%s'" % (text * self.draw.choice([1, 1, 30, 400]) if letter == "l" else text)

    def insert(self, table):
        rows = []
        for _ in range(self.draw.randint(1, 6)):
            key = self.next_id[table] if self.draw.random() < 0.95 else self.draw.randint(1, 40)
            self.next_id[table] += self.draw.randint(1, 2)
            rows.append("(%d, %s)" % (key, ", ".join(self.value(letter) for _, letter in self.tables[table])))
        self.statement("INSERT INTO %s VALUES%s" % (table, ", ".join(rows)))

    def change(self):
        """Without subqueries: SQLite's own tables (3.40) change rows that such a one of theirs has still to look at."""
        table = self.draw.choice(list(self.tables))
        kind, where = self.draw.random(), " WHERE " + self.condition([(table, table)], 0)
        column, letter = self.draw.choice(self.tables[table])
        if kind < 0.5:
            self.insert(table)
        elif kind < 0.7:
            self.statement("DELETE FROM %s%s AND %s.id %% 3 = %d" % (table, where, table, self.draw.randint(0, 2)))
        else:
            self.statement("UPDATE %s SET %s = %s%s" % (table, column, self.value(letter), where))

    # -- conditions: of tables that have been named, as pairs of name and table

    def has(self, table, letter):
        return any(letter == one for _, one in self.tables[table])

    def column(self, names, letters="irtl"):
        choices = [("%s.%s" % (name, column), letter) for name, table in names
                   for column, letter in self.tables[table] + [("id", "i")] if letter in letters]
        return self.draw.choice(choices)

    def term(self, names, depth):
        column, letter = self.column(names)
        kind = self.draw.randint(0, 9)
        if kind < 4:
            return "%s %s %s" % (column, self.draw.choice(["=", "=", "<", "<=", ">", ">=", "<>"]), self.value(letter))
        if kind == 4:
            return "%s BETWEEN %s AND %s" % (column, self.value(letter), self.value(letter))
        if kind == 5:
            return "%s %sIN (%s)" % (column, self.draw.choice(["", "NOT "]),
                                     ", ".join(self.value(letter) for _ in range(self.draw.randint(1, 4))))
        if kind == 6:
            return "%s IS %sNULL" % (column, self.draw.choice(["", "NOT "]))
        if kind == 7 and depth:
            return "%s %sIN (%s)" % (column, self.draw.choice(["", "NOT "]), self.subquery(names, letter, depth - 1))
        if kind == 8 and depth:
            return "%sEXISTS (%s)" % (self.draw.choice(["", "NOT "]), self.subquery(names, None, depth - 1))
        other, _ = self.column(names, letter)
        return "%s %s %s" % (column, self.draw.choice(["=", "<", ">="]), other)

    def condition(self, names, depth=1):
        terms = [self.term(names, depth) for _ in range(self.draw.randint(1, 3))]
        text = terms[0]
        for term in terms[1:]:
            text = "(%s %s %s)" % (text, self.draw.choice(["AND", "AND", "OR"]), term)
        return ("NOT (%s)" if self.draw.random() < 0.1 else "(%s)") % text

    def subquery(self, names, letter, depth):
        table, name = self.draw.choice(list(self.tables)), "s%d" % depth
        inner = [(name, table)]
        wanted = self.column(inner, letter if self.has(table, letter) else "i")[0] if letter else "1"
        return "SELECT %s FROM %s AS %s WHERE %s" % (wanted, table, name, self.condition(inner + names, depth))

    # -- queries

    def sources(self):
        names, text = [], ""
        for number in range(self.draw.choice([1, 1, 2, 2, 3])):
            name, table = "abc"[number], self.draw.choice(list(self.tables))
            names.append((name, table))
            if number == 0:
                text = "%s AS %s" % (table, name)
                continue
            left, letter = self.column(names[:-1])
            right = name + ".id"
            if letter != "i" or self.draw.random() < 0.5:
                same = [column for column, one in self.tables[table] if one == letter]
                right = "%s.%s" % (name, self.draw.choice(same)) if same else right
            join = self.draw.choice(["JOIN", "JOIN", "LEFT JOIN"])
            text += " %s %s AS %s ON %s = %s" % (join, table, name, left, right)
        return names, text

    LETTERS = {"i": "I", "r": "R", "t": "T", "l": "T"}

    def plain_select(self):
        names, text = self.sources()
        picked = [self.column(names) for _ in range(self.draw.randint(1, 4))]
        types = "".join(self.LETTERS[letter] for _, letter in picked)
        columns = ", ".join(column for column, _ in picked)
        sql = "SELECT %s%s FROM %s" % (self.draw.choice(["", "", "DISTINCT "]), columns, text)
        if self.draw.random() < 0.8:
            sql += " WHERE " + self.condition(names)
        ordered = "DISTINCT" not in sql and self.draw.random() < 0.6
        if ordered:
            order = [self.column(names)[0] for _ in range(self.draw.randint(0, 2))]
            order += [name + ".id" for name, _ in names]
            way = self.draw.choice(["", " DESC"])
            sql += " ORDER BY " + ", ".join(one + (way if self.draw.random() < 0.8 else "") for one in order)
            if self.draw.random() < 0.5:
                sql += " LIMIT %d OFFSET %d" % (self.draw.randint(0, 12), self.draw.choice([0, 0, 1, 5]))
        self.query(sql, types, ordered)

    def aggregate(self):
        names, text = self.sources()
        numbers = [column for column in (self.column(names, "ir") for _ in range(2))]
        any_column, letter = self.column(names)
        parts = ["count(*)", "count(DISTINCT %s)" % any_column, "sum(%s)" % numbers[0][0], "min(%s)" % any_column,
                 "max(%s)" % numbers[1][0]]
        types = ["I", "I", self.LETTERS[numbers[0][1]], self.LETTERS[letter], self.LETTERS[numbers[1][1]]]
        chosen = self.draw.sample(range(len(parts)), self.draw.randint(1, len(parts)))
        group, group_letter = self.column(names, "irt")
        grouped = self.draw.random() < 0.6
        sql = "SELECT %s FROM %s" % (", ".join([group] * grouped + [parts[i] for i in chosen]), text)
        if self.draw.random() < 0.7:
            sql += " WHERE " + self.condition(names)
        if grouped:
            having = ["", " HAVING count(*) > 1", " HAVING max(%s) IS NOT NULL" % any_column]
            sql += " GROUP BY " + group + self.draw.choice(having)
        self.query(sql, self.LETTERS[group_letter] * grouped + "".join(types[i] for i in chosen), False)

    def compound(self):
        parts = []
        letter = self.draw.choice("iirt")
        for _ in range(self.draw.randint(2, 3)):
            table = self.draw.choice(list(self.tables))
            column = self.column([(table, table)], letter if self.has(table, letter) else "i")[0]
            parts.append("SELECT %s FROM %s WHERE %s" % (column, table, self.condition([(table, table)])))
        sql = parts[0]
        for part in parts[1:]:
            sql += " %s %s" % (self.draw.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]), part)
        self.query(sql, "T", False)

    def scalar(self):
        names, text = self.sources()
        function = self.draw.choice(["count", "max", "sum"])
        inner = self.subquery(names, "i", 0).replace(" FROM ", ") FROM ", 1)
        inner = inner.replace("SELECT ", "SELECT %s(" % function, 1)
        order = ", ".join(name + ".id" for name, _ in names)
        self.query("SELECT %s, (%s) FROM %s ORDER BY %s" % (names[0][0] + ".id", inner, text, order), "II", True)

    def make(self, queries):
        self.make_tables()
        for _ in range(queries):
            if self.draw.random() < 0.1:
                self.change()
            self.draw.choice([self.plain_select, self.plain_select, self.aggregate, self.compound, self.scalar])()


def make(args):
    """Several sets of tables, one to a file; {} in its name is the number of the set."""
    for number in range(args.sets):
        with open(args.files[0].replace("{}", str(number)), "w", encoding="utf-8") as out:
            out.write("# made by test/sqlite/logictest.py make --seed %d\n\n" % (args.seed + number))
            Maker(args.seed + number, out).make(args.queries)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "make"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--extension", help="cellar.so, without .so")
    parser.add_argument("--plain", action="store_true", help="ordinary tables")
    parser.add_argument("--show", type=int, default=3, help="failed records of each file that are printed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", type=int, default=1, help="files that are made; {} in the name is the file's number")
    parser.add_argument("--queries", type=int, default=500, help="of each file")
    args = parser.parse_args()
    {"run": run, "make": make}[args.command](args)


main()
