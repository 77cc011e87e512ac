"""What test_bindings.sh runs: the Python module against a pool file. Prints nothing unless something is wrong."""
import itertools
import random
import sys
import threading

import cellar

path = sys.argv[1]
PEOPLE = {"id": "H", "cents": int, "name": "str:12", "share": float, "rank": "B", "active": bool, "mark": "4s"}
ORDERS = [cellar.Index("by_cents", "-cents", covers="share"), cellar.Index("by_rank", ["rank", "-id"], ["cents"]),
          cellar.Index("by_name", "name", unique=True)]


def person(i):
    return {"id": i, "cents": 100 - i, "name": f"p{i}", "share": i / 4, "rank": i // 10, "active": i % 2 == 0,
            "mark": b"%04d" % i}


def refused(kind, word, work):
    try:
        done = work()
    except kind as error:
        assert word in str(error), (word, error)
        return error
    raise AssertionError(f"not refused ({word}): {done!r}")


def locked(work):
    """In a transaction that locks: a busy machine may stop it for longer than it may keep others out (DEADLINE)."""
    while True:
        try:
            return db.run(work)
        except cellar.Error as error:
            if error.code != -11:
                raise


def ids(cursor):
    return [row["id"] for row in cursor]


def rows(people):
    with db.begin() as txn:
        for i in range(50):
            txn.insert(people, person(i))
    with db.begin(read_only=True) as txn:
        assert txn.get(people, 7) == person(7)
        some = txn.get(people, 7, columns=["share", "cents"])
        assert list(some.items()) == [("id", 7), ("cents", 93), ("share", 1.75)]
        assert txn.get(people, 7, columns=()) == {"id": 7} == txn.get(people, 7, columns="id")
        assert txn.get(people, 99, default=None) is None
        assert txn.get(people.indexes["by_name"], "p9", columns="rank") == {"id": 9, "name": "p9", "rank": 0}
        assert txn.get(people.indexes["by_name"], "nobody", default=5) == 5
        refused(cellar.NotFound, "by_name", lambda: txn.get(people.indexes["by_name"], "nobody"))
        found = txn.get_many([(people, 3), (people, 99), cellar.Read(people, 4, columns="name"),
                              (people.indexes["by_rank"], 1, 12)])
        assert found == [person(3), None, {"id": 4, "name": "p4"}, person(12)], found
        assert txn.get_many([]) == []
        refused(cellar.Invalid, "read-only", lambda: txn.put(people, id=1, cents=1))
        for locks in (lambda: txn.get(people, 1, lock="cents"), lambda: next(txn.scan(people, lock=True)),
                      lambda: txn.get_many([cellar.Read(people, 1, lock=["rank"])])):
            refused(cellar.Invalid, "read-only", locks)
    with db.begin() as txn:  # what is rolled back, and what is not
        txn.put(people, {"id": 1, "cents": 5}, cents=1000, name="first")
        point = txn.savepoint()
        txn.delete(people, 2)
        txn.put(people, person(60))  # of all columns: it is made
        assert txn.get(people, 2, default=None) is None and txn.get(people, 60) == person(60)
        txn.rollback_to(point)
        txn.release(point)
        txn.check()
    assert db.run(lambda txn: txn.get(people, 1)) == {**person(1), "cents": 1000, "name": "first"}
    for lock in ("cents", ["cents", "name"], True):
        assert locked(lambda txn: txn.get(people, 2, lock=lock))["cents"] == 98
    assert locked(lambda txn: txn.get_many([cellar.Read(people, 2, lock="cents")]))[0]["cents"] == 98
    try:
        with db.begin() as txn:
            txn.put(people, id=1, cents=5)
            raise RuntimeError("on purpose")
    except RuntimeError:
        pass
    assert db.run(lambda txn: txn.get(people, 1))["cents"] == 1000
    assert refused(cellar.NotFound, "id 999", lambda: db.run(lambda txn: txn.get(people, 999))).code == -8
    refused(KeyError, "id 999", lambda: db.run(lambda txn: txn.put(people, id=999, cents=1)))
    assert refused(cellar.Exists, "", lambda: db.run(lambda txn: txn.insert(people, person(1)))).code == -9
    refused(cellar.Exists, "", lambda: db.run(lambda txn: txn.put(people, id=3, name="p4")))
    db.run(lambda txn: txn.delete(people, 999))


def scans(people):
    by_cents, by_rank, by_name = people.indexes.values()
    with db.begin(read_only=True) as txn:
        assert ids(txn.scan(people)) == list(range(50)) and ids(txn.scan(people, backward=True))[:2] == [49, 48]
        assert ids(txn.scan(people, from_=45)) == [45, 46, 47, 48, 49] and ids(txn.scan(people, to=1)) == [0, 1]
        assert ids(txn.scan(people, from_=5, to=8, from_excluded=True)) == [6, 7, 8]
        assert ids(txn.scan(people, from_=5, to=8, to_excluded=True, backward=True)) == [7, 6, 5]
        assert ids(txn.scan(people, from_=5, to=6, from_excluded=True, to_excluded=True)) == []
        assert ids(itertools.islice(txn.scan(by_cents), 3)) == [1, 0, 2]
        assert ids(txn.scan(by_cents, from_=95, to=(93,))) == [5, 6, 7]
        assert ids(txn.scan(by_rank, equal=4)) == list(range(49, 39, -1))
        assert ids(txn.scan(by_rank, equal=(4, 44))) == [44]
        assert ids(txn.scan(by_rank, equal=())) == ids(txn.scan(by_rank)) == [
            id for rank in range(5) for id in range(rank * 10 + 9, rank * 10 - 1, -1)]
        assert ids(txn.scan(by_rank, from_=(3, 31), to=4, to_excluded=True)) == [31, 30]
        assert ids(txn.scan(by_name, prefix="p4")) == [4, *range(40, 50)]
        assert ids(txn.scan(by_name, prefix="p4", backward=True))[-1] == 4 and ids(txn.scan(by_name, prefix="q")) == []
        row = next(txn.scan(by_rank, from_=4, columns="share"))
        assert row == {"id": 49, "share": 12.25, "rank": 4}
        assert next(txn.scan(by_cents, equal=51, columns=["share"])) == {"id": 49, "cents": 51, "share": 12.25}
        assert ids(txn.scan(by_rank, after=row))[:2] == [48, 47]
        assert ids(txn.scan(by_rank, after=row, backward=True))[0] == 30
        assert ids(txn.scan(people, after={"id": 47}, to=48)) == [48]
        with txn.scan(people) as cursor:
            assert iter(cursor) is cursor and next(cursor)["id"] == 0
        refused(cellar.Invalid, "closed", lambda: next(cursor))
        for _ in range(100):  # those that nobody holds are closed
            next(txn.scan(people))
        cursor = txn.scan(people, from_=48)
        assert ids(cursor) == [48, 49] == [48, 49] and list(cursor) == [] and next(cursor, None) is None
        cursor.close()
        assert list(cursor) == []
    with db.begin() as txn:  # of its own changes it meets none twice
        for row in txn.scan(by_cents):
            txn.put(people, id=row["id"], cents=row["cents"] - 1000)
        assert txn.get(people, 7)["cents"] == -907
        txn.abort()
    got = locked(lambda txn: ids(txn.scan(people, from_=3, to=4, lock="cents")))
    assert got == [3, 4]


def words_of(text):
    words = db.table("words", {"word": "str:20", "count": "Q"}, "word", ordered=True, indexes={"by_count": "-count"})
    with db.begin() as txn:
        for word in text.split():
            count = txn.get(words, word, default={"count": 0})["count"]
            txn.put(words, word=word, count=count + 1)
    with db.begin() as txn:
        assert [(row["word"], row["count"]) for row in txn.scan(words)] == [
            ("and", 1), ("fox", 2), ("quick", 1), ("the", 2)]
        by_count = txn.scan(words.indexes["by_count"], columns=())
        assert [row["word"] for row in by_count] == ["fox", "the", "and", "quick"]
        txn.delete(words, "quick")
        assert txn.get(words, "quick", default=None) is None


def strings():
    """In rows and beside them."""
    columns = {"text": str, "box": "B", "to": "16s", "body": bytes, "tag": "bytes:5", "number": "i"}
    letters = db.table("letters", columns, ["number", "box"])
    assert letters.key == ("number", "box") and letters.columns == ("number", "box", "text", "to", "body", "tag")
    long = bytes(range(256)) * 400
    ada = {"number": -1, "box": 2, "text": "ä€😀" * 30000, "to": b"ada".ljust(16, b"\0"), "body": long,
           "tag": b"\0a\0"}
    bob = {**ada, "number": 1, "text": "", "body": b"", "tag": b""}
    with db.begin() as txn:
        txn.insert(letters, ada)
        txn.insert(letters, bob, to=b"ada")
        assert txn.get(letters, -1, 2) == ada and txn.get(letters, 1, 2) == bob
    with db.begin() as txn:
        assert txn.get_many([(letters, -1, 2), (letters, 1, 2)]) == [ada, bob]
        txn.put(letters, number=-1, box=2, body=memoryview(long[::-1] * 2), tag=bytearray(b"new"))
        txn.put(letters, number=1, box=2, text="x" * (1 << 20))
    assert locked(lambda txn: txn.get(letters, -1, 2, columns="body", lock="body"))["body"] == long[::-1] * 2
    assert db.run(lambda txn: txn.get(letters, 1, 2, columns="text"))["text"] == "x" * (1 << 20)
    db.run(lambda txn: txn.delete(letters, 1, 2))
    tally = db.table_tally(letters)
    assert (tally["inserted"], tally["deleted"], tally["written"]) == (2, 1, 2), tally
    assert tally["read"] > 0 and tally["conflicts"] == {}, tally
    bare = db.table("letters", {"number": "i", "box": "B", "text": bytes}, ["number", "box"], existing=True)
    assert db.run(lambda txn: txn.get(bare, -1, 2))["text"] == ada["text"].encode()
    old, codes = letters, {"number": "i", "box": "B", "stars": "I", "text": "str", "body": "bytes", "note": "str:9"}
    letters = db.alter(old, codes, {"stars": 5, "note": "none"})
    assert db.run(lambda txn: txn.get(letters, -1, 2)) == {
        "number": -1, "box": 2, "stars": 5, "text": ada["text"], "body": long[::-1] * 2, "note": "none"}
    assert refused(cellar.Error, "dropped", lambda: db.run(lambda txn: txn.get(old, -1, 2))).code == -19
    refused(cellar.Invalid, "no new column 'stars'", lambda: db.alter(letters, codes, {"stars": 6}))
    refused(cellar.Error, "column stars", lambda: db.alter(letters, {**codes, "stars": "Q"}))
    db.truncate(letters)
    assert db.run(lambda txn: txn.get(letters, -1, 2, default=None)) is None
    db.drop(letters)
    assert refused(cellar.Error, "dropped", lambda: db.run(lambda txn: txn.get(letters, -1, 2))).code == -19
    refused(cellar.NotFound, "letters", lambda: db.table("letters", {"number": "i"}, "number", existing=True))


def definitions(people):
    refused(cellar.Error, "rank", lambda: db.table("people", {**PEOPLE, "rank": "H"}, "id"))
    refused(cellar.Error, "height", lambda: db.table("people", {**PEOPLE, "height": "H"}, "id"))
    some = {name: PEOPLE[name] for name in ("id", "share", "rank")}
    by_share = cellar.Index("by_share", "share")
    refused(ValueError, "by_mark", lambda: db.table("people", some, "id", indexes={"by_mark": "mark"}, add=True))
    refused(cellar.Error, "by_mark", lambda: db.table("people", PEOPLE, "id", indexes={"by_mark": "mark"}))
    refused(cellar.Error, "by_share", lambda: db.table("people", some, "id", indexes=[by_share]))
    assert len(db.table("people", PEOPLE, "id", indexes=iter(ORDERS)).indexes) == 3
    view = db.table("people", some, "id", indexes=[by_share], add=True)
    with db.begin() as txn:
        assert next(txn.scan(view.indexes["by_share"], backward=True)) == {"id": 49, "share": 12.25, "rank": 4}
        txn.put(view, id=49, share=0.25, rank=3)
        assert txn.get(people, 49) == {**person(49), "share": 0.25, "rank": 3}
        txn.abort()
    db.drop(view.indexes["by_share"])
    refused(cellar.Error, "dropped", lambda: db.run(lambda txn: list(txn.scan(view.indexes["by_share"]))))
    for code in ("z", "0s", "bytes:0", "bytes:", "12345678s", "q\n", "-1s", "4S", "", object, 7, None):
        refused(ValueError, "column id: ", lambda: db.table("bad", {"id": code}, "id"))
    for key in ("none", ["id", "id"], ["id", "none"]):
        refused(ValueError, "a key is of columns", lambda: db.table("bad", {"id": "H"}, key))
    refused(ValueError, "key", lambda: db.table("bad", {"id": "H"}, ()))
    refused(ValueError, "key", lambda: db.table("bad", {"id": bytes}, "id"))
    described = db.table("people")
    assert set(described.indexes) == {"by_cents", "by_rank", "by_name"} and described.columns == tuple(PEOPLE)
    with db.begin() as txn:
        row = {**person(44), "name": b"p44", "active": 1}
        assert txn.get(described, 44) == row == txn.get(described.indexes["by_name"], b"p44")
        assert list(txn.scan(described.indexes["by_rank"], equal=(4, 44))) == [row]
        assert list(txn.scan(described, equal=44)) == [row]
        txn.put(described, row, name=b"new")
        assert txn.get(people, 44)["name"] == "new"
        txn.abort()
    refused(cellar.NotFound, "nothing", lambda: db.table("nothing"))
    assert db.tables() == ["people", "words"]
    unordered = db.table("unordered", {"id": "H"}, "id")
    refused(ValueError, "ORDERED", lambda: db.run(lambda txn: txn.scan(unordered)))
    db.run(lambda txn: txn.put(unordered, id=4))  # no column but the key
    assert db.run(lambda txn: txn.get(unordered, 4)) == {"id": 4}


def again(people):
    """Until it commits, or may not go on."""
    runs = []

    def overtaken(txn):
        cents = txn.get(people, 4)["cents"]
        db.run(lambda other: other.put(people, id=4, cents=cents + 1))
        txn.put(people, id=4, cents=0)
        runs.append(cents)

    refused(cellar.Retry, "", lambda: db.run(overtaken, attempts_max=3))
    assert runs == [96, 97, 98], runs
    assert refused(cellar.Error, "", lambda: db.run(overtaken, timeout_us=50_000)).code == -11
    assert db.run(lambda txn: txn.get(people, 4), attempts_max=1, lock_us=1, durability=cellar.MEMORY)["cents"] > 98
    runs.clear()

    @db.transaction()
    def once(txn, cents, *, name="none"):
        """Says so."""
        runs.append(cents)
        if len(runs) == 1:
            overtaken(txn)
        txn.put(people, id=4, cents=cents, name=name)
        return name

    assert once(7, name="seven") == "seven" and runs[0] == runs[2] == 7 and len(runs) == 3, runs
    assert (once.__name__, once.__doc__) == ("once", "Says so.")
    assert db.run(lambda txn: txn.get(people, 4)) == {**person(4), "cents": 7, "name": "seven"}
    with db.transaction() as txn:  # once
        txn.put(people, id=4, cents=8)
    strict = db.transaction(attempts_max=2)(overtaken)
    refused(cellar.Retry, "", strict)
    with db.transaction(read_only=True) as txn:
        assert txn.get(people, 4)["cents"] == 10
        refused(ValueError, "read-only", lambda: txn.delete(people, 4))
    refused(ValueError, "no setting", lambda: db.transaction(speed=9))
    once_more = db.transaction()
    with once_more as txn:
        refused(ValueError, "has not ended", once_more.__enter__)
        txn.delete(people, 4)
    with once_more as txn:
        txn.insert(people, person(4))


def threads(people):
    """One transaction of one thread after the other; and many that meet over one row."""
    handed = []

    def begin():
        handed.append(db.begin())
        handed[0].put(people, id=5, cents=7)

    for work in (begin, lambda: handed[0].put(people, id=6, cents=8), lambda: handed[0].commit()):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    refused(cellar.Invalid, "has ended", handed[0].check)
    assert [row["cents"] for row in db.run(lambda txn: txn.get_many([(people, 5), (people, 6)]))] == [7, 8]

    @db.transaction()
    def count(txn):
        txn.put(people, id=3, cents=txn.get(people, 3)["cents"] + 1)

    together = [threading.Thread(target=lambda: [count() for _ in range(100)]) for _ in range(3)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert db.run(lambda txn: txn.get(people, 3))["cents"] == 97 + 300


class Model:
    """A table beside a dict, by random transactions. `orders`: what sorts rows as the key and as each index does."""

    def __init__(self, seed, table, keys, columns, orders):
        self.random, self.table, self.rows = random.Random(seed), table, {}
        self.keys, self.columns, self.orders = keys, columns, orders

    def key(self):
        return tuple(self.random.choice(values) for values in self.keys)

    def row(self, key):
        named = dict(zip(self.table.key, key))
        return {**named, **{name: draw(self.random) for name, draw in self.columns.items()}}

    def sorted(self, name):
        places = self.orders[name]
        return sorted(self.rows.values(), key=lambda row: (self.place(row, places), self.place(row, self.table.key)))

    @staticmethod
    def place(row, places):
        return tuple(-row[name[1:]] if name.startswith("-") else row[name] for name in places)

    def change(self, txn):
        key = self.key()
        row, old = self.row(key), self.rows.get(key)
        assert txn.get(self.table, *key, default=None) == old
        kind = self.random.randrange(5)
        if kind == 0:
            txn.delete(self.table, *key)
            self.rows.pop(key, None)
        elif kind == 1:
            txn.put(self.table, row)
            self.rows[key] = row
        elif kind == 2 and old:
            refused(cellar.Exists, "", lambda: txn.insert(self.table, row))
        elif kind == 2:
            txn.insert(self.table, row)
            self.rows[key] = row
        else:
            some = self.random.sample(list(self.columns), self.random.randint(1, len(self.columns) - 1))
            part = {name: row[name] for name in (*self.table.key, *some)}
            if old:
                txn.put(self.table, part)
                self.rows[key] = {**old, **part}
            else:
                refused(cellar.NotFound, "", lambda: txn.put(self.table, part))

    def many(self, txn):
        keys = [self.key() for _ in range(self.random.randrange(6))]
        assert txn.get_many([(self.table, *key) for key in keys]) == [self.rows.get(key) for key in keys]

    def lookup(self, txn):
        """By an index: the first row, or all of them, also of those that begin so."""
        name = self.random.choice(list(self.table.indexes))
        index, row, places = self.table.indexes[name], self.row(self.key()), self.orders[name]
        equal = [other for other in self.sorted(name) if self.place(other, places) == self.place(row, places)]
        values = tuple(row[column] for column in index.order)
        assert txn.get(index, *values, default=None) == (equal[0] if equal else None)
        assert list(txn.scan(index, equal=values)) == equal
        for of, name in ((self.table, "key"), (self.table.indexes["by_data"], "by_data")):
            column = of.order[0]
            if isinstance(row[column], (str, bytes)):
                start = row[column][:self.random.randrange(3)]
                wanted = [other for other in self.sorted(name) if other[column].startswith(start)]
                assert list(txn.scan(of, prefix=start)) == wanted
                assert list(txn.scan(of, prefix=(start,), backward=True)) == wanted[::-1]

    def scan(self, txn):
        """A range of which both ends are drawn as rows are; pages of it by `after`; changes between the rows."""
        name = self.random.choice(list(self.orders))
        places, wanted, scope = self.orders[name], self.sorted(name), {}
        ends = sorted((self.row(self.key()) for _ in range(2)), key=lambda row: self.place(row, places))
        for end, row in zip(("from_", "to"), ends):
            count = self.random.randint(0, len(places))
            excluded = bool(count) and self.random.random() < 0.4
            if count:
                scope[end] = tuple(row[name.lstrip("-")] for name in places[:count])
                scope[end.rstrip("_") + "_excluded"] = excluded
            limit = self.place(row, places[:count])

            def within(other, low=end == "from_", limit=limit, excluded=excluded, count=count):
                place = self.place(other, places[:count])
                return (place > limit or place == limit and not excluded) if low else (
                    place < limit or place == limit and not excluded)
            wanted = [other for other in wanted if within(other)]
        if self.random.random() < 0.5:
            scope["backward"] = True
            wanted.reverse()
        if scope.get("from_excluded") and scope.get("to_excluded") and scope["from_"] == scope["to"]:
            wanted = []
        if wanted and self.random.random() < 0.4:
            place = self.random.randrange(len(wanted))
            scope["after"], wanted = wanted[place], wanted[place + 1:]
        cursor = txn.scan(self.table if name == "key" else self.table.indexes[name], **scope)
        changes, got = self.random.random() < 0.3, []
        for row in itertools.islice(cursor, self.random.choice((1, 5, 1000))):
            got.append(row)
            if changes and self.random.random() < 0.2:
                self.change(txn)
        assert got == wanted[:len(got)] and (len(got) in (1, 5) or len(got) == len(wanted)), (scope, got, wanted)

    def transaction(self):
        """Again, with the same draws, if it has scanned a node of an index that its own commit splits."""
        before, state = dict(self.rows), self.random.getstate()
        for _ in range(20):
            try:
                return self.attempt(dict(before))
            except cellar.Retry:
                self.random.setstate(state)
                self.rows = dict(before)
        raise AssertionError("nobody else changes anything")

    def attempt(self, before):
        points, txn = [], db.begin()
        for _ in range(self.random.randrange(1, 14)):
            self.random.choice((self.change, self.change, self.many, self.lookup, self.scan))(txn)
            kind = self.random.randrange(8)
            if kind == 0:
                points.append((txn.savepoint(), dict(self.rows)))
            elif kind == 1 and points:
                del points[self.random.randrange(len(points)) + 1:]
                txn.rollback_to(points[-1][0])
                self.rows = dict(points[-1][1])
            elif kind == 2 and points:
                place = self.random.randrange(len(points))
                txn.release(points[place][0])
                del points[place:]
        if self.random.random() < 0.75:
            txn.commit()
        else:
            txn.abort()
            self.rows = before

    def all(self, txn):
        assert list(txn.scan(self.table)) == self.sorted("key")


def models():
    texts = ["", "a", "ab", "ab\0", "b", "ä", "€uro", "\U0001f600"]
    columns = {"count": lambda r: r.randint(-3, 3), "note": lambda r: "ß" * r.choice((0, 3, 4000)),
               "data": lambda r: r.choice((b"", b"\0", b"x", b"xy", b"x\0")), "flag": lambda r: r.random() < 0.5,
               "share": lambda r: r.choice((-1.5, 0.0, 2.0 ** 70)), "mark": lambda r: r.choice((b"one!", b"two?"))}
    codes = {"count": "h", "note": str, "data": "bytes:8", "flag": "?", "share": "d", "mark": "4s"}
    orders = {"by_count": ["-count"], "by_data": ["data", "-count"], "by_share": ["share", "flag", "mark"]}
    for seed, (keys, values) in enumerate((({"word": "str:12", "number": "i"}, [texts, [-(1 << 31), -1, 0, 1, 9]]),
                                           ({"number": "q"}, [range(-20, 20)]))):
        names = list(keys)
        table = db.table(f"model{seed}", {**codes, **keys}, names, ordered=True,
                         indexes={name: ", ".join(places) for name, places in orders.items()})
        model = Model(seed, table, values, columns, {"key": names, **orders})
        for _ in range(400):
            model.transaction()
            db.run(model.all)
        db.drop(table)


with cellar.open(path, bytes=64 << 20, durability=cellar.MEMORY, lab={"log_bytes": 1 << 20}) as db:
    of_people = db.table("people", PEOPLE, "id", ordered=True, indexes=ORDERS, rows=200)
    rows(of_people)
    scans(of_people)
    words_of("the quick fox and the fox")
    strings()
    definitions(of_people)
    models()
    again(of_people)
    threads(of_people)
    refused(cellar.Error, "in use", lambda: cellar.open(path, bytes=64 << 20, private=True))
    with cellar.open(path, bytes=64 << 20) as beside:
        its = beside.table("people", PEOPLE, "id", existing=True)
        assert beside.run(lambda txn: txn.get(its, 1)["cents"]) == 1000
        refused(ValueError, "another database", lambda: db.run(lambda txn: txn.get(its, 1)))
    refused(ValueError, "no setting", lambda: cellar.open(speed=9))

with cellar.open(path, bytes=64 << 20, lab={"log_bytes": 1 << 20}, existing=True) as db:
    of_people = db.table("people", PEOPLE, "id", existing=True, ordered=True, indexes=ORDERS)
    assert db.run(lambda txn: txn.get(of_people, 3)["cents"]) == 97 + 300
    assert db.run(lambda txn: ids(txn.scan(of_people.indexes["by_name"], equal="first"))) == [1]
