"""
What test_bindings.sh runs: uses of the Python module that are wrong, or come in an order that nobody plans. Each gets
an exception that says what is wrong, and nothing else changes. Prints nothing unless something is wrong.
"""
import contextlib
import copy
import ctypes
import functools
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings

import cellar

PLAIN = {"id": "Q", "cents": "q", "owner": "bytes:16"}


def refused(kind, text, work):
    try:
        done = work()
    except kind as error:
        assert text in str(error), (text, error)
        return error
    raise AssertionError(f"not refused ({text}): {done!r}")


@contextlib.contextmanager
def opened():
    """A database in memory, with rows 7 and 8, and an index."""
    with cellar.open(bytes=16 << 20) as db:
        plain = db.table("plain", PLAIN, "id", ordered=True, indexes={"by_cents": "cents"}, rows=100)
        with db.begin() as txn:
            txn.insert(plain, id=7, cents=100, owner=b"ada")
            txn.insert(plain, id=8, cents=80, owner=b"bob")
        yield db, plain, plain.indexes["by_cents"]


def cents_of(db, plain, key=7):
    return db.run(lambda txn: txn.get(plain, key)["cents"])


def in_thread(work):
    """What work gave, or its exception."""
    got = []

    def run():
        try:
            got.append(work())
        except BaseException as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return got[0]


def calls(txn, plain, index):
    """Every call of a transaction, by name."""
    return {
        "get": lambda: txn.get(plain, 7), "lock": lambda: txn.get(plain, 7, lock=True),
        "get_by": lambda: txn.get(index, 100, default=None),
        "get_many": lambda: txn.get_many([(plain, 7), (index, 80)]),
        "get_none": lambda: txn.get_many([]), "put": lambda: txn.put(plain, id=7, cents=1),
        "insert": lambda: txn.insert(plain, id=9, cents=1, owner=b""), "delete": lambda: txn.delete(plain, 7),
        "scan": lambda: txn.scan(plain), "scan_by": lambda: txn.scan(index), "savepoint": lambda: txn.savepoint(),
        "rollback_to": lambda: txn.rollback_to(0), "release": lambda: txn.release(0), "check": lambda: txn.check(),
        "commit": lambda: txn.commit(),
    }


def database_calls(db, plain):
    return {
        "table": lambda: db.table("other", PLAIN, "id"), "drop": lambda: db.drop(plain),
        "drop_index": lambda: db.drop(plain.indexes["by_cents"]), "truncate": lambda: db.truncate(plain),
        "alter": lambda: db.alter(plain, PLAIN),
        "tables": lambda: db.tables(), "described": lambda: db.table("plain"),
        "tally": lambda: db.table_tally(plain), "begin": lambda: db.begin(), "run": lambda: db.run(lambda txn: None),
        "with": lambda: db.transaction().__enter__(), "decorated": db.transaction()(lambda txn: None),
    }


def all_refused(text, works, code):
    for name, work in works.items():
        try:
            done = work()
        except cellar.Error as error:
            assert text in str(error) and code == error.code, (name, error.code, error)
        else:
            raise AssertionError(f"{name} is not refused: {done!r}")


# ---- after a close ----

def database_closed():
    with opened() as (db, plain, index):
        txn, idle = db.begin(), db.begin()
        txn.put(plain, id=7, cents=1)
        cursor, unread = txn.scan(plain), txn.scan(plain)
        next(cursor)
        works = database_calls(db, plain)
        db.close()
        for ended in (txn, idle):
            all_refused("the database is closed", calls(ended, plain, index), cellar.CLOSED)
        all_refused("the database is closed", works, cellar.CLOSED)
        all_refused("the database is closed", {"next": lambda: next(cursor), "unread": lambda: next(unread)},
                    cellar.CLOSED)
        for closed in (txn.abort, idle.abort, cursor.close, unread.close, db.close, db.close):
            closed()


def transaction_ended():
    """Its place goes to the next one, which what was ended must not reach."""
    with opened() as (db, plain, index):
        for end in ("commit", "abort"):
            txn = db.begin()
            cursor = txn.scan(plain)
            next(cursor)
            getattr(txn, end)()
            for _ in range(40):
                with db.begin() as later:
                    later.put(plain, id=8, cents=6)
                    all_refused("has ended", calls(txn, plain, index), cellar.INVALID)
            with db.begin() as later:
                txn.abort()
                own = later.scan(plain)
                refused(cellar.Invalid, "has ended", lambda: next(cursor))
                cursor.close()
                assert [row["cents"] for row in own] == [100, 6]


def cursors():
    """Those that outlive what they read, that nobody holds, and that are read by the way."""
    with opened() as (db, plain, index):
        for stop in (0, 1, 2):  # rows that were read before the end are given out no more
            with db.begin() as txn:
                txn.put(plain, id=9, cents=200, owner=b"")
                cursor = txn.scan(index)
                for _ in range(stop):
                    next(cursor)
            refused(cellar.Invalid, "has ended", lambda: list(cursor))
        db.run(lambda txn: txn.delete(plain, 9))
        with db.begin() as txn:
            cursor = txn.scan(index)
            assert len(list(cursor)) == 2
        assert list(cursor) == []
        cursor = (lambda txn: txn.scan(plain))(db.begin())  # it holds its transaction
        gc.collect()
        assert [row["id"] for row in cursor] == [7, 8]
        txn = db.begin()
        held = [txn.scan(plain) for _ in range(8)]
        refused(cellar.Error, "cursors", lambda: txn.scan(plain))
        assert next(held[0])["id"] == 7
        held.pop().close()
        held.append(txn.scan(plain))
        in_thread(held.clear)
        held = [txn.scan(plain) for _ in range(8)]
        held.append(held)
        del held
        gc.collect()
        for end in (lambda cursor: cursor.close(), lambda cursor: list(cursor), lambda cursor: cursor.__exit__()):
            for _ in range(20):
                kept = txn.scan(plain)
                end(kept)
        with txn.scan(plain) as cursor:
            txn.insert(plain, id=1, cents=0, owner=b"")
            assert [row["id"] for row in cursor] == [7, 8]
        point = txn.savepoint()
        cursor = txn.scan(plain)
        txn.rollback_to(point)
        assert in_thread(lambda: next(cursor))["id"] == 1
        for end in (cursor.close, cursor.close):
            end()
        refused(cellar.Invalid, "the cursor is closed", lambda: next(cursor))
        cursor = txn.scan(plain)
        next(cursor)
        lost = RuntimeError("on purpose")

        def interrupted(*_):
            raise lost

        cursor._shape = type("Shape", (), {"struct": cursor._shape.struct, "unpack_many": interrupted})
        assert in_thread(lambda: next(cursor)) is lost  # what was read with it is lost: it does not go on behind that
        refused(cellar.Invalid, "the cursor is closed", lambda: next(cursor))
        txn.commit()
        texts = {"id": "Q", "owner": "str:16"}
        db.run(lambda txn: txn.put(plain, id=7, owner=b"\xff"))
        plain = db.table("plain", texts, "id")
        for work in (lambda txn: txn.get(plain, 7), lambda txn: txn.get_many([(plain, 7)])):
            refused(UnicodeDecodeError, "", lambda: db.run(work))
    refused(cellar.Error, "closed", lambda: next(cursor))


def many_rows():
    """More than a batch: with threads that share a cursor, each row is given out once."""
    with opened() as (db, plain, index):
        for first in (0, 1500):
            with db.begin() as txn:
                for i in range(first, first + 1500):
                    txn.put(plain, id=i, cents=-i, owner=b"%d" % i)
        with db.begin() as txn:
            assert [row["id"] for row in txn.scan(plain)] == list(range(3000))
            assert [row["id"] for row in txn.scan(index)] == list(range(2999, -1, -1))
            cursor, got = txn.scan(plain), [[], [], []]
            threads = [threading.Thread(target=lambda mine=mine: mine.extend(row["id"] for row in cursor))
                       for mine in got]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(sum(got, [])) == list(range(3000))


def dropped_owners():
    """Who holds a transaction holds its database; one that nobody holds is aborted, by whatever thread finds that."""
    with cellar.open(bytes=16 << 20, txns_max=1) as db:
        plain = db.table("plain", PLAIN, "id", ordered=True)
        db.run(lambda txn: txn.insert(plain, id=7, cents=100, owner=b"ada"))
        dropped, asked = threading.Event(), threading.Event()

        def begun():
            txn = db.begin()
            txn.put(plain, id=7, cents=1)
            return txn

        def drop():
            begun()
            dropped.set()
            asked.wait()

        begun()
        assert cents_of(db, plain) == 100
        thread = threading.Thread(target=drop)
        thread.start()
        dropped.wait()
        assert cents_of(db, plain) == 100
        asked.set()
        thread.join()
        for cursors in (0, 1, 8):
            kept = begun()
            assert refused(cellar.Error, "txns_max", db.begin).code == cellar.BUSY
            kept.itself = [kept, *[kept.scan(plain) for _ in range(cursors)]]
            del kept  # now the garbage collection alone finds them
            in_thread(gc.collect)
            assert cents_of(db, plain) == 100
    other = cellar.open(bytes=16 << 20)
    table, txn = other.table("t", PLAIN, "id"), other.begin()
    del other
    gc.collect()
    txn.insert(table, id=1, cents=1, owner=b"")
    txn.commit()
    table.database.close()
    refused(cellar.Error, "closed", table.database.begin)


def closed_within():
    """By the function that is run, and in blocks, which an exception ends or nothing."""
    with opened() as (db, plain, _index):
        runs = []

        def work(txn):
            runs.append(1)
            txn.put(plain, id=7, cents=1)
            db.close()

        assert refused(cellar.Error, "closed", lambda: db.run(work)).code == cellar.CLOSED
        assert runs == [1]
    for raised in (RuntimeError("on purpose"), None):
        with opened() as (db, plain, index):
            try:
                with db.begin() as txn:
                    txn.put(plain, id=7, cents=1)
                    db.close()
                    if raised:
                        raise raised
            except RuntimeError as error:
                assert error is raised
            except cellar.Error as error:
                assert error.code == cellar.CLOSED and not raised
            else:
                raise AssertionError("it has not committed, and does not say so")
            all_refused("closed", calls(txn, plain, index), cellar.CLOSED)


def closed_during_a_call():
    """By another thread: refused. By what interrupts the call, on its thread: it ends as after any close."""
    with opened() as (db, plain, index):
        txn = db.begin()
        txn.put(plain, id=7, cents=1)
        error = txn._call(lambda _: in_thread(lambda: refused(cellar.Error, "in a call", db.close)).code + 100)
        assert error == cellar.BUSY + 100
        assert txn.get(plain, 7)["cents"] == 1
        assert txn._call(lambda _: db.close() or 7) == 7
        all_refused("closed", calls(txn, plain, index), cellar.CLOSED)
        all_refused("closed", database_calls(db, plain), cellar.CLOSED)


def ended_while_bytes_are_lent():
    """By what interrupts the call on its thread: refused, and what the call has read stays readable."""
    with opened() as (db, plain, _index):
        txn, other = db.begin(), db.begin()

        def interrupt(_code):
            for end, code in ((txn.commit, cellar.INVALID), (txn.abort, cellar.INVALID), (db.close, cellar.BUSY)):
                assert refused(cellar.Error, "has not returned", end).code == code
            assert txn.get(plain, 7)["owner"] == b"ada"  # and again
            refused(cellar.Invalid, "has not returned", txn.commit)
            return in_thread(db.close)

        assert txn._call(lambda _: 0, take=interrupt).code == cellar.BUSY
        refused(ZeroDivisionError, "", lambda: txn._call(lambda _: 0, take=lambda _: 1 / 0))
        assert in_thread(lambda: txn.get(plain, 7)) == txn.get(plain, 7)
        for open_still in (other, txn):
            open_still.commit()


def closed_beside_threads():
    with opened() as (db, plain, _index):
        started, wrong, stop = [threading.Event() for _ in range(3)], [], threading.Event()

        def run(event):
            try:
                while not stop.is_set():
                    db.run(lambda txn: txn.put(plain, id=7, cents=txn.get(plain, 7)["cents"] + 1))
                    db.run(lambda txn: list(txn.scan(plain)))
                    db.table_tally(plain)
                    event.set()
            except BaseException as error:
                if not isinstance(error, cellar.Error) or error.code != cellar.CLOSED:
                    wrong.append(error)
                event.set()

        threads = [threading.Thread(target=run, args=[event]) for event in started]
        for thread in threads:
            thread.start()
        for event in started:
            event.wait()
        while db._handle:
            try:
                db.close()
            except cellar.Error as error:
                assert error.code == cellar.BUSY, error
                db.table_tally(plain)  # it is open
                stop.set()
        for thread in threads:
            thread.join()
        assert not wrong, wrong


def kept_open_by_a_transaction():
    """Of another thread that lives: that has begun it, or was the last to use it."""
    with opened() as (db, plain, _index):
        handed, begun, asked = db.begin(), threading.Event(), threading.Event()

        def think(begin):
            with begin() as txn:
                txn.put(plain, id=7, cents=txn.get(plain, 7)["cents"] + 1)
                begun.set()
                asked.wait()

        for begin in (db.begin, lambda: handed):
            thread = threading.Thread(target=think, args=[begin])
            thread.start()
            begun.wait()
            own = db.begin()
            error = refused(cellar.Error, "another thread has a transaction", db.close)
            assert error.code == cellar.BUSY
            refused(cellar.Error, "has ended", own.commit)
            refused(cellar.Error, "has ended", lambda: own.__exit__(None, None, None))
            asked.set()
            thread.join()
            begun.clear()
            asked.clear()
            handed = db.begin()
        assert cents_of(db, plain) == 102
        db.close()


def other_threads():
    """Their calls of one transaction take turns. One that a thread has left open as it ended goes on, or is closed."""
    with opened() as (db, plain, index):
        texts = db.table("texts", {"id": "B", "text": bytes}, "id")
        txn, wrong = db.begin(), []
        txn.insert(texts, id=1, text=b"")

        def use(key):
            for cents in range(200):
                txn.put(plain, id=key, cents=cents)
                assert txn.get(plain, key)["cents"] == cents
                assert len(list(txn.scan(index))) == 2
                next(txn.scan(plain))
                txn.put(texts, id=1, text=b"x" * cents * key)
                assert set(txn.get(texts, 1)["text"]) <= set(b"x")

        def run(key):
            try:
                use(key)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run, args=[key]) for key in (7, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong
        txn.commit()
        for used in (False, True):
            theirs = in_thread(db.begin)
            assert not used or theirs.get(plain, 7)["cents"] == 199
        db.close()
        all_refused("closed", calls(theirs, plain, index), cellar.CLOSED)


def ended_beside_a_cursor():
    """By another thread, while bytes are read: the reader has rows that are whole, or is told that it has ended."""
    with opened() as (db, plain, _index):
        with db.begin() as txn:
            for i in range(600):
                txn.put(plain, id=i, cents=i, owner=b"%d" % i)
        for _ in range(50):
            txn, begun = db.begin(), threading.Event()

            def read():
                for count, row in enumerate(txn.scan(plain)):
                    assert row == {"id": count, "cents": count, "owner": b"%d" % count}
                    begun.set()
                return count

            def end():
                begun.wait()
                txn.abort()

            thread = threading.Thread(target=end)
            thread.start()
            try:
                assert read() == 599
            except cellar.Invalid as error:
                assert "has ended" in str(error), error
            thread.join()


def forked():
    """A child can close, which does nothing, and open anew; the parent goes on."""
    with opened() as (db, plain, index):
        txn, read = db.begin(), db.begin(read_only=True)
        txn.put(plain, id=7, cents=3)
        cursor = read.scan(plain)
        next(cursor)
        held, over = threading.Event(), threading.Event()

        def hold():
            with txn._handle.lock, db._closing:
                held.set()
                over.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of newer ones, as there are threads
            child = os.fork()
        if child == 0:
            code = 1
            try:
                all_refused("parent process's", calls(txn, plain, index), cellar.INVALID)
                all_refused("parent process's", database_calls(db, plain), cellar.INVALID)
                refused(cellar.Invalid, "parent process's", lambda: next(cursor))
                for end in (cursor.close, txn.abort, read.abort, db.close):
                    end()
                del txn, read, cursor
                with opened() as (own, its, _index):
                    own.run(lambda txn: txn.put(its, id=7, cents=4))
                code = 0
            except BaseException as error:
                print(f"in the child: {error!r}")
                sys.stdout.flush()
            os._exit(code)
        over.set()
        holder.join()
        assert os.waitpid(child, 0)[1] == 0
        assert next(cursor)["id"] == 8
        txn.commit()
        assert cents_of(db, plain) == 3


EXITS = """
import cellar, threading
class Keeper:
    def __init__(self, *kept):
        self.kept = kept
    def __del__(self):
        for kept in self.kept:
            for end in ("abort", "close"):
                getattr(kept, end, lambda: None)()
db = cellar.open(bytes=16 << 20)
table = db.table("t", {"a": "q", "b": "bytes:9"}, "a", ordered=True)
txn = db.begin()
for a in range(9):
    txn.insert(table, a=a, b=b"")
cursor = txn.scan(table)
next(cursor)
"""


def interpreter_exits():
    """With all that is open, and with finalizers that end it in any order."""
    for last in ("", "one = Keeper(db, txn)", "one = Keeper(txn, db)", "txn.one = Keeper(db)", "db.one = Keeper(txn)",
                 "txn.one = Keeper(txn); db.one = Keeper(db)", "cellar.one = txn; txn.one = cellar",
                 "table.one = db; db.one = table; txn.one = Keeper(db, txn)", "one = Keeper(cursor, db)",
                 "one = Keeper(db, cursor, txn)", "cursor.one = Keeper(txn, db, cursor)", "raise SystemExit(0)",
                 "threading.Thread(target=lambda: db.begin()).start()",
                 "kept = []; threading.Thread(target=lambda: kept.append(db.begin())).start()"):
        # Not in a build folder, whose cellar.so, for SQLite, would be found first.
        run = subprocess.run([sys.executable, "-W", "error", "-c", EXITS + last], capture_output=True, text=True,
                             check=False, cwd=os.path.dirname(cellar.__file__))
        assert (run.returncode, run.stdout + run.stderr) == (0, ""), (last, run)


def not_copied():
    with opened() as (db, _plain, _index):
        txn = db.begin()
        for thing in (db, txn, txn.scan(_plain)):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                refused(TypeError, "cannot be copied", lambda: way(thing))
        txn.commit()


# ---- what is given ----

def strange_handles():
    """Tables, indexes and databases for one another: for the engine any pointer is one."""
    with opened() as (db, plain, index), opened() as (other, its, its_index):
        txn = db.begin()
        for table, kind, text in ((its, cellar.Invalid, "another database"), (index, TypeError, "a table is wanted"),
                                  ("plain", TypeError, "a table"), (None, TypeError, "a table"),
                                  (db, TypeError, "a table"), (7, TypeError, "a table")):
            for name in ("put", "insert", "delete"):
                refused(kind, text, calls(txn, table, index)[name])
            works = {"tally": lambda: db.table_tally(table), "truncate": lambda: db.truncate(table),
                     "alter": lambda: db.alter(table, PLAIN)}
            if table is not index:
                works.update({name: calls(txn, table, index)[name] for name in ("get", "lock", "get_many", "scan")})
                works["drop"] = lambda: db.drop(table)
            for work in works.values():
                refused(kind, text, work)
        for strange, kind, text in ((its_index, cellar.Invalid, "another database"), (None, TypeError, "an index is"),
                                    ("by_cents", TypeError, "an index is"), (txn, TypeError, "an index is")):
            for name in ("get_by", "get_many", "scan_by"):
                refused(kind, text, calls(txn, plain, strange)[name])
        for read in (7, None, (), "plain"):
            refused(TypeError, "", lambda: txn.get_many([read]))
        assert txn.get(plain, 7)["cents"] == 100
        txn.commit()
        old = db.table("old", {"a": "q"}, "a", indexes={"by_a": "-a"})
        db.run(lambda txn: txn.insert(old, a=5))
        db.drop(old)
        new = db.table("old", {"b": "q"}, "b")
        for thing in (old, old.indexes["by_a"]):
            for work in (lambda txn: txn.get(thing, 5), lambda txn: txn.get_many([(thing, 5)])):
                assert refused(cellar.Error, "dropped", lambda: db.run(work)).code == -19
            assert refused(cellar.Error, "dropped", lambda: db.drop(thing)).code == -19
        for work in (lambda txn: txn.put(old, a=1), lambda txn: txn.insert(old, a=1), lambda txn: txn.delete(old, 1),
                     lambda txn: list(txn.scan(old.indexes["by_a"]))):
            refused(cellar.Error, "dropped", lambda: db.run(work))
        assert db.run(lambda txn: txn.get(new, 5, default=None)) is None
        db.begin().put(new, b=1)
        other.close()
        assert cents_of(db, plain) == 100


NAMES = ["key", "table", "self", "values", "column", "columns", "rows", "row", "name", "names", "handle", "of", "lock",
         "database", "txn", "default", "from_", "to", "index", "indexes", "order", "two words", "-minus", "*", "class",
         "ä"]


def names_of_columns():
    """Those of arguments, of attributes, and any others; as the key, and beside it."""
    row = {name: number for number, name in enumerate(NAMES)}
    with opened() as (db, _plain, _index):
        for number, key in enumerate((NAMES[:3], ["two words"], ["ä", "of", "-minus"])):
            table = db.table(f"named{number}", dict.fromkeys(NAMES, "q"), key, ordered=True, indexes={
                "by_columns": ["columns", "-self", "--minus"], "by_words": " two words , -* "})
            values = [row[name] for name in key]
            with db.begin() as txn:
                txn.insert(table, **row)
                assert txn.get(table, *values) == row == next(txn.scan(table, equal=tuple(values)))
                for name in NAMES:
                    assert txn.get(table, *values, columns=name) == {**dict(zip(key, values)), name: row[name]}
                    if name not in key:
                        txn.put(table, {name: row[name] + 100}, **dict(zip(key, values)))
                        assert txn.get(table, *values)[name] == row[name] + 100
                txn.put(table, row)
                for index in table.indexes.values():
                    assert list(txn.scan(index, equal=tuple(row[name] for name in index.order))) == [row]
                    assert txn.get(index, *[row[name] for name in index.order]) == row
                txn.delete(table, *values)


def names_in_indexes():
    """A minus before a name says descending, and before a name that has one, too."""
    with opened() as (db, _plain, _index):
        table = db.table("named", {"id": "B", "-minus": "q", "low": "q"}, "id",
                         indexes={"down": "--minus, -low", "up": ["low", "id"]})
        with db.begin() as txn:
            for key in (1, 2, 3):
                txn.insert(table, {"id": key, "-minus": key, "low": 7})
            down = table.indexes["down"]
            assert down.order == ("-minus", "low")
            assert [row["id"] for row in txn.scan(down)] == [3, 2, 1]
            assert [row["id"] for row in txn.scan(down, from_=2)] == [2, 1]
            assert [row["id"] for row in txn.scan(table.indexes["up"], after={"low": 7, "id": 1})] == [2, 3]
        bad, codes = functools.partial(db.table, "bad"), {"id": "B", "low": "q"}
        for columns in ("none", "-old", "", "low,", "low, low", ["low,id", "none"]):
            refused(cellar.Invalid, "index by", lambda: bad(codes, "id", indexes={"by": columns}))
        for indexes in (["low"], [None], [("by", "low")], {"by": 7}, {7: "low"}, {"by": [7]}, 7):
            refused(TypeError, "", lambda: bad(codes, "id", indexes=indexes))
        assert table.indexes.keys() == {"down", "up"}


HUGE = (-1, -(1 << 64) + 7, 1 << 64, (1 << 64) + 7, 1 << 200)
STRANGE = (7.0, 7.5, math.nan, math.inf, "7", b"7", None, [7], 7j)


def numbers():
    """Out of range: an error, and never another number."""
    with opened() as (db, plain, index):
        txn = db.begin()
        takes = {"get": lambda n: txn.get(plain, n), "put": lambda n: txn.put(plain, id=n, cents=1),
                 "delete": lambda n: txn.delete(plain, n), "many": lambda n: txn.get_many([(plain, 7), (plain, n)]),
                 "insert": lambda n: txn.insert(plain, id=n, cents=1, owner=b""),
                 "equal": lambda n: txn.scan(plain, equal=n), "from": lambda n: txn.scan(plain, from_=(n,)),
                 "to": lambda n: txn.scan(plain, to=n),
                 "after": lambda n: txn.scan(index, after={"id": n, "cents": 3}),
                 "update": lambda n: txn.get(plain, n, lock=True),
                 "timeout_us": lambda n: db.begin(timeout_us=n), "lock_us": lambda n: db.begin(lock_us=n),
                 "attempts_max": lambda n: db.run(lambda txn: None, attempts_max=n),
                 "transaction": lambda n: db.transaction(timeout_us=n), "durability": lambda n: db.begin(durability=n),
                 "rows": lambda n: db.table("t", PLAIN, "id", rows=n),
                 "rollback_to": txn.rollback_to, "release": txn.release}
        txn.savepoint()
        for name, take in takes.items():
            for number in HUGE:
                error = refused(cellar.Invalid, str(number), lambda: take(number))
                assert isinstance(error, ValueError) and error.code == cellar.INVALID, name
            refused(cellar.Invalid, "a value of type int", lambda: take(10 ** 5000))
            for strange in STRANGE:
                if strange not in (None, [7]) or name not in ("equal", "to"):  # where these say something
                    refused(TypeError, "is an integer", lambda: take(strange))
        for name in ("rollback_to", "release", "attempts_max", "durability"):  # of 32 bits
            refused(cellar.Invalid, "not 4294967296", lambda: takes[name](1 << 32))
        assert txn.get(plain, 7) == {"id": 7, "cents": 100, "owner": b"ada"}
        assert [row["id"] for row in txn.scan(index)] == [8, 7]
        txn.insert(plain, id=(1 << 64) - 1, cents=1, owner=b"last")
        assert txn.get(plain, (1 << 64) - 1)["owner"] == b"last"
        txn.commit()
        with db.begin(timeout_us=(1 << 64) - 1) as txn:
            assert txn.get(plain, 7)["cents"] == 100


def ranges():
    """Ends and rows that are none."""
    with opened() as (db, plain, index):
        with db.begin() as txn:
            for scope, text in (({"from_": (1, 2)}, "2 values"), ({"to": [1, 2, 3]}, "3 values"),
                                ({"from_": 9, "to": 7}, "reversed"), ({"equal": 7, "prefix": 7}, "or equal, or prefix"),
                                ({"equal": 7, "to": 7}, "or equal"), ({"from_": 7, "prefix": 7}, "or prefix"),
                                ({"prefix": 7}, ""), ({"after": {}}, "missing columns: id"),
                                ({"columns": "nose"}, "no column 'nose'"), ({"lock": ["nose"]}, "no column 'nose'")):
                refused(cellar.Invalid, text, lambda: txn.scan(plain, **scope))
            refused(cellar.Invalid, "missing columns: id", lambda: txn.scan(index, after={"cents": 7}))
            for scope in ({"after": 7}, {"after": (7, 8)}, {"from_": "7"}, {"columns": 7}, {"columns": [[]]},
                          {"lock": 7}):
                refused(TypeError, "", lambda: txn.scan(plain, **scope))
            refused(TypeError, "", lambda: txn.scan(plain, 7))
            for key in ((), (7, 8), (7, None)):
                for work in (lambda: txn.get(plain, *key), lambda: txn.get(index, *key),
                             lambda: txn.delete(plain, *key), lambda: txn.get_many([(plain, *key)])):
                    refused(cellar.Invalid, f"{len(key)} values", work)
            refused(cellar.Invalid, "no column", lambda: txn.get(plain, 7, columns=["cents", "nose"]))
            for row in (7, "row", [("id", 7)], (7, 8), b"row"):
                refused(TypeError, "a row is a Mapping", lambda: txn.put(plain, row))
                refused(TypeError, "a row is a Mapping", lambda: txn.insert(plain, row))
            refused(cellar.Invalid, "missing columns: id", lambda: txn.put(plain, cents=1))
            refused(cellar.Invalid, "missing columns: id", lambda: txn.put(plain, {}))
            refused(cellar.Invalid, "missing columns: cents, owner", lambda: txn.insert(plain, id=9))
            refused(cellar.Invalid, "no column 7", lambda: txn.put(plain, {"id": 7, 7: 1}))
            assert list(txn.scan(plain)) == [txn.get(plain, 7), txn.get(plain, 8)]


def settings():
    within = {cellar._Options: lambda given: cellar.open(**given),
              cellar._Cluster: lambda given: cellar.open(cluster=given),
              cellar._Lab: lambda given: cellar.open(lab=given)}
    for struct, opens in within.items():
        for name, kind in struct._fields_:
            if name in ("size", "flags"):
                refused(cellar.Invalid, "no setting", lambda: opens({name: 1}))
            elif kind in (ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int):
                for number in (-1, 1 << 8 * ctypes.sizeof(kind), (1 << 64) + 1):
                    refused(cellar.Invalid, f"not {number}", lambda: opens({name: number}))
                for strange in (1.0, math.nan, "1", "no", None):
                    refused(TypeError, "is an integer", lambda: opens({name: strange}))
            elif kind is ctypes.c_char_p:
                refused(cellar.Invalid, "zero byte", lambda: opens({name: "here\0and there"}))
                refused(TypeError, "", lambda: opens({name: 7}))
    refused(cellar.Invalid, "zero byte", lambda: cellar.open("here\0and there"))
    refused(TypeError, "", lambda: cellar.open(7))
    refused(cellar.Error, "memnodes", lambda: cellar.open(cluster={}))
    with opened() as (db, _plain, _index):
        for name in ("size", "flags", "cancel", "speed"):
            for begins in (db.begin, lambda **given: db.run(lambda txn: None, **given)):
                refused(cellar.Invalid, "no setting", lambda: begins(**{name: 1}))
        refused(cellar.Error, "lock_us", lambda: db.begin(lock_us=1_000_001))
        refused(cellar.Error, "level", lambda: db.begin(durability=9))
        for function in (work_of_a_generator, work_of_a_coroutine):
            refused(TypeError, "would go on", lambda: db.transaction()(function))


def work_of_a_generator(txn):
    yield txn


async def work_of_a_coroutine(txn):
    return txn


def values():
    """What a column cannot hold is refused, and a put that is wrong in one column has put none."""
    borders = {"b": 7, "B": 8, "h": 15, "H": 16, "i": 31, "I": 32, "q": 63, "Q": 64}
    with opened() as (db, _plain, _index):
        codes = {code: code for code in borders}
        codes = {"id": "B", **codes, "f": "f", "d": "d", "s": "4s", "v": bytes, "t": "str:4", "y": "?"}
        table = db.table("all", codes, "id")
        row = {"id": 1, **dict.fromkeys(borders, 1), "f": 0.5, "d": 0.25, "s": b"abcd", "v": b"long value",
               "t": "text", "y": True}
        txn = db.begin()
        txn.insert(table, row)
        for code, bits in borders.items():
            low, high = (-(1 << bits) if code.islower() else 0), (1 << bits) - 1
            for number in (low, high):
                txn.put(table, {"id": 1, code: number})
                assert txn.get(table, 1)[code] == number
            txn.put(table, {"id": 1, code: 1})
            for number in (low - 1, high + 1, low - (1 << 64), high + (1 << 64), 10 ** 5000):
                refused(cellar.Invalid, f"column {code}", lambda: txn.put(table, {code: number}, id=1, d=9.0))
            for strange in ("1", b"1", None, [1], 1.0, 1.5, math.nan, math.inf, 1j):
                refused(TypeError, f"column {code} is an integer", lambda: txn.put(table, {code: strange}, id=1, d=9.0))
        for number in (1e300, 10 ** 400):
            refused(cellar.Invalid, "column f", lambda: txn.put(table, id=1, d=9.0, f=number))
        for name in ("f", "d"):
            for strange in ("0.5", None, b"0.5", 1j, []):
                refused(TypeError, f"column {name} is a number", lambda: txn.put(table, {name: strange}, id=1, b=9))
        for name in ("s", "v"):
            for strange in ("text", 4, None, [1, 2], 1.5):
                refused(TypeError, f"column {name} is a bytes", lambda: txn.put(table, {name: strange}, id=1, d=9.0))
        for strange in (b"text", 4, None, ["t"]):
            refused(TypeError, "column t is a str", lambda: txn.put(table, id=1, d=9.0, t=strange))
        for strange in (1, 0, None, "True", 1.0):
            refused(TypeError, "column y is a bool", lambda: txn.put(table, id=1, d=9.0, y=strange))
        for name, value in (("s", b"abcde"), ("t", "abcde"), ("t", "\u20ac\u20ac"), ("v", bytes(1 + (1 << 20)))):
            error = refused(cellar.Invalid, f"column {name}: ", lambda: txn.put(table, {name: value}, id=1, d=9.0))
            assert error.code == cellar.TOO_LARGE
            refused(cellar.Invalid, "bytes; it has room", lambda: txn.insert(table, {**row, "id": 2, name: value}))
        refused(cellar.Invalid, "column t: ", lambda: txn.put(table, id=1, d=9.0, t="\ud800"))
        refused(cellar.NotFound, "", lambda: txn.get(table, 2))
        refused(cellar.Invalid, "no column", lambda: txn.put(table, id=1, d=9.0, z=1))
        assert txn.get(table, 1) == row
        wide = memoryview(b"12345678").cast("H")  # four items
        refused(cellar.Invalid, "room for 4", lambda: txn.put(table, id=1, s=wide))
        txn.put(table, id=1, v=wide, s=bytearray(b"ab"), t="", y=False, f=-math.inf)
        assert txn.get(table, 1) == {**row, "v": b"12345678", "s": b"ab\0\0", "t": "", "y": False, "f": -math.inf}
        txn.insert(table, row, id=2, v=bytes(1 << 20))
        assert txn.get(table, 2)["v"] == bytes(1 << 20)
        txn.commit()


def keys():
    """Of each type, at their borders."""
    wanted = {"b": (-128, -1, 0, 127), "H": (0, 1, 65535), "q": (-(1 << 63), -1, 0, (1 << 63) - 1),
              "Q": (0, (1 << 64) - 1), "f": (-math.inf, -1.5, 0.0, math.inf), "d": (-math.inf, -1e300, 0.0, 1e-300),
              "?": (False, True),
              "3s": (b"\0\0\0", b"ab\0", b"abc"), "bytes:3": (b"", b"\0", b"a", b"a\0", b"ab", b"abc", b"b"),
              "str:4": ("", "\0", "a", "ab", "b", "\u20ac", "\U0001f600")}
    with cellar.open(bytes=64 << 20) as db:
        for number, (code, values) in enumerate(wanted.items()):
            for key in (["k"], ["k", "n"], ["n", "k"]):
                table = db.table(f"t{number}{''.join(key)}", {"k": code, "n": "b"}, key, ordered=True, rows=100)
                with db.begin() as txn:
                    for value in reversed(values):
                        txn.insert(table, n=1, k=value)
                    rows = list(txn.scan(table))
                    assert [row["k"] for row in rows] == list(values), (code, rows)
                    for value in values:
                        named = {"k": value, "n": 1}
                        assert txn.get(table, *[named[name] for name in key]) == named
        zero = db.table("zero", {"k": float}, "k")
        db.run(lambda txn: txn.put(zero, k=-0.0))
        assert db.run(lambda txn: txn.get(zero, 0.0, default=None)) is not None
        db.run(lambda txn: txn.put(zero, k=math.nan))
        assert db.run(lambda txn: txn.get(zero, -math.nan, default=None)) is not None


def texts():
    """Names with a zero byte are not cut there."""
    with opened() as (db, _plain, _index):
        refused(cellar.Invalid, "zero byte", lambda: db.table("plain\0x", PLAIN, "id"))
        refused(cellar.Invalid, "zero byte", lambda: db.table("t", {"a\0b": "q"}, "a\0b"))
        for index in (("by\0", "cents"), ("by", "cents\0"), ("by", "cents", "owner\0"), ("by", ["cents", "\0"])):
            refused(cellar.Invalid, "zero byte", lambda: db.table("t", PLAIN, "id", indexes=[cellar.Index(*index)]))
        for strange in (7, None, b"plain"):
            refused(TypeError, "is a str", lambda: db.table(strange, PLAIN, "id"))
            refused(TypeError, "is a str", lambda: db.table("t", PLAIN, "id", indexes=[cellar.Index(strange, "cents")]))
            refused(TypeError, "is a str", lambda: db.table("t", {"a": "q", strange: "q"}, "a"))
        for given in ({"key": "id"}, {"indexes": {"by": "cents"}}, {"ordered": True}, {"add": True}):
            refused(cellar.Invalid, "without columns", lambda: db.table("plain", **given))
        for columns in (7, ["a"], [("a", "q")], "a"):
            refused(TypeError, "is a Mapping", lambda: db.table("t", columns, "a"))
        for key in (7, None):
            refused(TypeError, "", lambda: db.table("t", PLAIN, key))


# ---- exceptions ----

def exceptions():
    """Whatever work raises: nothing of it stays, and the next one goes on."""
    with opened() as (db, plain, _index):
        for kind in (RuntimeError, KeyError, KeyboardInterrupt, SystemExit, GeneratorExit, AssertionError):
            @db.transaction()
            def work(txn):
                txn.put(plain, id=7, cents=1)
                txn.scan(plain)
                with contextlib.suppress(cellar.Error):  # on a busy machine it may have locked for too long
                    txn.get(plain, 8, lock=True)
                raise kind("on purpose")

            refused(kind, "on purpose", work)
            assert db.run(lambda txn: txn.get(plain, 7)) == {"id": 7, "cents": 100, "owner": b"ada"}
            try:
                with db.transaction() as txn:
                    txn.put(plain, id=7, cents=1)
                    raise kind("on purpose")
            except kind:
                pass
            refused(cellar.Invalid, "has ended", txn.check)
            assert cents_of(db, plain) == 100
        refused(cellar.NotFound, "", lambda: db.run(lambda txn: (txn.put(plain, id=7, cents=1), txn.get(plain, 70))))
        refused(TypeError, "", lambda: db.run(None))
        assert cents_of(db, plain) == 100


for case in (database_closed, transaction_ended, cursors, many_rows, dropped_owners, closed_within,
             closed_during_a_call, ended_while_bytes_are_lent, closed_beside_threads, kept_open_by_a_transaction,
             other_threads, ended_beside_a_cursor, forked, interpreter_exits, not_copied, strange_handles,
             names_of_columns, names_in_indexes, numbers, ranges, settings, values, keys, texts, exceptions):
    if len(sys.argv) == 1 or case.__name__ in sys.argv[1:]:
        case()
