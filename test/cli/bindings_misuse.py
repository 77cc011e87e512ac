"""
What test_bindings.sh runs: uses of the Python module that are wrong, or come in an order that nobody plans. Each gets
an exception that says what is wrong, and nothing else changes. Prints nothing unless something is wrong.
"""
import contextlib
import copy
import ctypes
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings

import cellar

PLAIN = {"cents": "q", "owner": "16s"}
WORDS = {"word": "24s", "count": "Q"}


def refused(kind, text, work):
    try:
        done = work()
    except kind as error:
        assert text in str(error), (text, error)
        return error
    raise AssertionError(f"not refused ({text}): {done!r}")


@contextlib.contextmanager
def opened():
    """A database in memory, with records 7 and 8, and an index."""
    with cellar.open(bytes=8 << 20) as db:
        plain = db.table("plain", PLAIN, 100)
        with db.begin() as txn:
            txn.insert(plain, 7, cents=100, owner=b"ada")
            txn.insert(plain, 8, cents=80, owner=b"bob")
        yield db, plain, db.index(plain, "by_cents", ["cents"])


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
        "get": lambda: txn.get(plain, 7, "cents"), "for_update": lambda: txn.get(plain, 7, "cents", for_update=True),
        "row": lambda: txn.row(plain, 7), "put": lambda: txn.put(plain, 7, cents=1),
        "insert": lambda: txn.insert(plain, 9, cents=1, owner=b""), "delete": lambda: txn.delete(plain, 7),
        "find": lambda: txn.find(plain, b"a"), "add": lambda: txn.add(plain, cents=1, owner=b""),
        "remove": lambda: txn.remove(plain, 7), "scan": lambda: txn.scan(index),
        "scan_rows": lambda: txn.scan_rows(index), "savepoint": lambda: txn.savepoint(),
        "rollback_to": lambda: txn.rollback_to(0), "release": lambda: txn.release(0), "check": lambda: txn.check(),
        "commit": lambda: txn.commit(),
    }


def database_calls(db, plain):
    return {
        "table": lambda: db.table("other", PLAIN, 10), "alter": lambda: db.alter(plain, PLAIN, 10),
        "index": lambda: db.index(plain, "other", ["cents"]), "tally": lambda: db.table_tally(plain),
        "begin": lambda: db.begin(), "run": lambda: db.run(lambda txn: None),
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
        txn.put(plain, 7, cents=1)
        db.close()
        for ended in (txn, idle):
            all_refused("the database is closed", calls(ended, plain, index), cellar.CLOSED)
        all_refused("the database is closed", database_calls(db, plain), cellar.CLOSED)
        for closed in (txn.abort, idle.abort, db.close, db.close):
            closed()


def transaction_ended():
    """Its place goes to the next one, which what was ended must not reach."""
    with opened() as (db, plain, index):
        for end in ("commit", "abort"):
            txn = db.begin()
            getattr(txn, end)()
            for _ in range(40):
                with db.begin() as later:
                    later.put(plain, 8, cents=6)
                    all_refused("has ended", calls(txn, plain, index), cellar.INVALID)
            with db.begin() as later:
                txn.abort()
                assert later.get(plain, 8, "cents") == 6


def dropped_owners():
    """Who holds a transaction holds its database; one that nobody holds is aborted, by whatever thread finds that."""
    with cellar.open(bytes=8 << 20, txns_max=1) as db:
        plain = db.table("plain", PLAIN, 100)
        db.run(lambda txn: txn.insert(plain, 7, cents=100, owner=b"ada"))
        dropped, asked = threading.Event(), threading.Event()

        def begun():
            txn = db.begin()
            txn.put(plain, 7, cents=1)
            return txn

        def drop():
            begun()
            dropped.set()
            asked.wait()

        begun()
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 100
        thread = threading.Thread(target=drop)
        thread.start()
        dropped.wait()
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 100
        asked.set()
        thread.join()
        kept = begun()
        assert refused(cellar.Error, "txns_max", db.begin).code == cellar.BUSY
        kept.itself = kept  # now the garbage collection alone finds it
        del kept
        in_thread(gc.collect)
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 100
    other = cellar.open(bytes=8 << 20)
    table, txn = other.table("t", PLAIN, 10), other.begin()
    del other
    gc.collect()
    txn.insert(table, 1, cents=1, owner=b"")
    txn.commit()
    table.database.close()
    refused(cellar.Error, "closed", table.database.begin)


def closed_within():
    """By the function that is run, and in blocks, which an exception ends or nothing."""
    with opened() as (db, plain, _index):
        runs = []

        def work(txn):
            runs.append(1)
            txn.put(plain, 7, cents=1)
            db.close()

        assert refused(cellar.Error, "closed", lambda: db.run(work)).code == cellar.CLOSED
        assert runs == [1]
    for raised in (RuntimeError("on purpose"), None):
        with opened() as (db, plain, index):
            try:
                with db.begin() as txn:
                    txn.put(plain, 7, cents=1)
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
        txn.put(plain, 7, cents=1)
        error = txn._call(lambda _: in_thread(lambda: refused(cellar.Error, "in a call", db.close)).code + 100)
        assert error == cellar.BUSY + 100
        assert txn.get(plain, 7, "cents") == 1
        assert txn._call(lambda _: db.close() or 7) == 7
        all_refused("closed", calls(txn, plain, index), cellar.CLOSED)
        all_refused("closed", database_calls(db, plain), cellar.CLOSED)


def closed_beside_threads():
    with opened() as (db, plain, _index):
        started, wrong, stop = [threading.Event() for _ in range(3)], [], threading.Event()

        def run(event):
            try:
                while not stop.is_set():
                    db.run(lambda txn: txn.put(plain, 7, cents=txn.get(plain, 7, "cents") + 1))
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
                txn.put(plain, 7, cents=txn.get(plain, 7, "cents") + 1)
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
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 102
        db.close()


def other_threads():
    """Their calls of one transaction take turns. One that a thread has left open as it ended goes on, or is closed."""
    with opened() as (db, plain, index):
        texts = db.table("texts", {"text": "4v"}, 10, long_bytes=1 << 20)
        txn, wrong = db.begin(), []
        txn.insert(texts, 1, text=b"")

        def use(key):
            for cents in range(200):
                txn.put(plain, key, cents=cents)
                assert txn.get(plain, key, "cents") == cents
                txn.scan(index)
                txn.put(texts, 1, text=b"x" * cents * key)
                assert set(txn.get(texts, 1, "text")) <= set(b"x")

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
            assert not used or theirs.get(plain, 7, "cents") == 199
        db.close()
        all_refused("closed", calls(theirs, plain, index), cellar.CLOSED)


def forked():
    """A child can close, which does nothing, and open anew; the parent goes on."""
    with opened() as (db, plain, index):
        txn = db.begin()
        txn.put(plain, 7, cents=3)
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
                for end in (txn.abort, db.close):
                    end()
                del txn
                with opened() as (own, its, _index):
                    own.run(lambda txn: txn.put(its, 7, cents=4))
                code = 0
            except BaseException as error:
                print(f"in the child: {error!r}")
                sys.stdout.flush()
            os._exit(code)
        over.set()
        holder.join()
        assert os.waitpid(child, 0)[1] == 0
        txn.commit()
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 3


EXITS = """
import cellar, threading
class Keeper:
    def __init__(self, *kept):
        self.kept = kept
    def __del__(self):
        for kept in self.kept:
            for end in ("abort", "close"):
                getattr(kept, end, lambda: None)()
db = cellar.open(bytes=8 << 20)
table = db.table("t", {"a": "q"}, 10)
txn = db.begin()
txn.insert(table, 1, a=1)
"""


def interpreter_exits():
    """With all that is open, and with finalizers that end it in any order."""
    for last in ("", "one = Keeper(db, txn)", "one = Keeper(txn, db)", "txn.one = Keeper(db)", "db.one = Keeper(txn)",
                 "txn.one = Keeper(txn); db.one = Keeper(db)", "cellar.one = txn; txn.one = cellar",
                 "table.one = db; db.one = table; txn.one = Keeper(db, txn)", "raise SystemExit(0)",
                 "threading.Thread(target=lambda: db.begin()).start()",
                 "kept = []; threading.Thread(target=lambda: kept.append(db.begin())).start()"):
        # Not in a build folder, whose cellar.so, for SQLite, would be found first.
        run = subprocess.run([sys.executable, "-W", "error", "-c", EXITS + last], capture_output=True, text=True,
                             check=False, cwd=os.path.dirname(cellar.__file__))
        assert (run.returncode, run.stdout + run.stderr) == (0, ""), (last, run)


def not_copied():
    with opened() as (db, _plain, _index):
        txn = db.begin()
        for thing in (db, txn):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                refused(TypeError, "cannot be copied", lambda: way(thing))
        txn.commit()


# ---- what is given ----

def strange_handles():
    """Tables, indexes and databases for one another: for the engine any pointer is one."""
    with opened() as (db, plain, index), opened() as (other, its, its_index):
        txn = db.begin()
        for table, kind, text in ((its, cellar.Error, "another database"), (index, TypeError, "a table is wanted"),
                                  ("plain", TypeError, "a table is wanted"), (None, TypeError, "a table is wanted"),
                                  (db, TypeError, "a table is wanted"), (7, TypeError, "a table is wanted")):
            works = {**calls(txn, table, index), **database_calls(db, table)}
            for name in ("get", "for_update", "row", "put", "insert", "delete", "find", "add", "remove", "alter",
                         "index", "tally"):
                refused(kind, text, works[name])
        for strange, kind, text in ((its_index, cellar.Error, "another database"), (plain, TypeError, "an index is"),
                                    (None, TypeError, "an index is"), ("by_cents", TypeError, "an index is")):
            for name in ("scan", "scan_rows"):
                refused(kind, text, calls(txn, plain, strange)[name])
        assert txn.get(plain, 7, "cents") == 100
        txn.commit()
        old = db.table("old", {"a": "q", "b": "q"}, 10)
        db.run(lambda txn: txn.insert(old, 1, a=5, b=6))
        altered = db.alter(old, {"b": "q"}, 10)
        refused(cellar.Error, "", lambda: db.run(lambda txn: txn.get(old, 1, "a")))
        assert db.run(lambda txn: txn.get(altered, 1, "b")) == 6
        other.close()
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 100


NAMES = ["key", "table", "self", "values", "column", "columns", "records_max", "defaults", "name", "names", "handle",
         "database", "txn", "limit", "low", "index", "two words", "-minus", "*"]


def names_of_columns():
    """Those of arguments, of attributes, and any others."""
    columns, row = {name: "q" for name in NAMES}, {name: number for number, name in enumerate(NAMES)}
    with opened() as (db, _plain, _index):
        table = db.alter(db.table("named", {"old": "q"}, 10), {"old": "q", **columns}, 10, **row)
        with db.begin() as txn:
            txn.insert(table, 1, old=0, **row)
            assert txn.row(table, 1) == {"old": 0, **row}
            for name in NAMES:
                txn.put(table, 1, **{name: row[name] + 100})
                assert txn.get(table, 1, name) == row[name] + 100
        words = db.table("words", {"key": "24s", **{name: "q" for name in NAMES[1:]}}, 100, key_bytes=20)
        with db.begin() as txn:
            txn.add(words, **{**row, "key": b"a"})
            assert txn.row(words, txn.find(words, b"a")) == {**row, "key": b"a"}


def names_in_indexes():
    """A minus before a name says descending, and before a name that has one, too."""
    with opened() as (db, _plain, _index):
        table = db.table("named", {"-minus": "q", "low": "q"}, 10)
        up, down = db.index(table, "up", ["-minus", "low"]), db.index(table, "down", ["--minus", "-low"])
        with db.begin() as txn:
            for key in (1, 2, 3):
                txn.insert(table, key, **{"-minus": key, "low": 7})
            assert txn.scan(up) == [1, 2, 3] and txn.scan(down) == [3, 2, 1]
            assert txn.scan(up, low={"-minus": 2, "low": 7}) == [2, 3]
        refused(cellar.Invalid, "no column", lambda: db.index(table, "none", ["-old"]))


HUGE = (-1, -(1 << 64) + 7, 1 << 64, (1 << 64) + 7, 1 << 200)
STRANGE = (7.0, 7.5, math.nan, math.inf, "7", b"7", None, [7], 7j)


def numbers():
    """Out of range: an error, and never another number."""
    with opened() as (db, plain, index):
        txn = db.begin()
        takes = {"get": lambda n: txn.get(plain, n, "cents"), "row": lambda n: txn.row(plain, n),
                 "put": lambda n: txn.put(plain, n, cents=1), "delete": lambda n: txn.delete(plain, n),
                 "insert": lambda n: txn.insert(plain, n, cents=1, owner=b""), "remove": lambda n: txn.remove(plain, n),
                 "update": lambda n: txn.get(plain, n, "cents", for_update=True),
                 "timeout_us": lambda n: db.begin(timeout_us=n), "lock_us": lambda n: db.begin(lock_us=n),
                 "attempts_max": lambda n: db.run(lambda txn: None, attempts_max=n),
                 "durability": lambda n: db.begin(durability=n), "records_max": lambda n: db.table("t", PLAIN, n),
                 "alter": lambda n: db.alter(plain, PLAIN, n),
                 "key_bytes": lambda n: db.table("t", WORDS, 9, key_bytes=n),
                 "long_bytes": lambda n: db.table("t", {"v": "8v"}, 9, long_bytes=n),
                 "limit": lambda n: txn.scan(index, limit=n), "rows": lambda n: txn.scan_rows(index, limit=n),
                 "rollback_to": txn.rollback_to, "release": txn.release}
        txn.savepoint()
        for name, take in takes.items():
            for number in HUGE:
                error = refused(cellar.Invalid, f"not {number}", lambda: take(number))
                assert isinstance(error, ValueError) and error.code == cellar.INVALID, name
            for strange in STRANGE:
                refused(TypeError, "is an integer", lambda: take(strange))
        for name in ("key_bytes", "rollback_to", "release", "attempts_max", "durability"):  # of 32 bits
            refused(cellar.Invalid, "not 4294967296", lambda: takes[name](1 << 32))
        for limit in (0, 2049, 1 << 32):
            refused(cellar.Invalid, "limit is 1 to 2048", lambda: takes["limit"](limit))
        assert txn.row(plain, 7) == {"cents": 100, "owner": b"ada"} and txn.scan(index, limit=2048) == [8, 7]
        txn.insert(plain, (1 << 64) - 1, cents=1, owner=b"last")
        assert txn.get(plain, (1 << 64) - 1, "owner") == b"last"
        txn.commit()
        with db.begin(timeout_us=(1 << 64) - 1) as txn:
            assert txn.get(plain, 7, "cents") == 100


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


def values():
    """What a column cannot hold is refused, and a put that is wrong in one column has put none."""
    borders = {"b": 7, "B": 8, "h": 15, "H": 16, "i": 31, "I": 32, "q": 63, "Q": 64}
    with opened() as (db, _plain, _index):
        table = db.table("all", {code: code for code in borders} | {"f": "f", "d": "d", "s": "4s", "v": "4v"}, 10,
                         long_bytes=1 << 20)
        row = {**{code: 1 for code in borders}, "f": 0.5, "d": 0.25, "s": b"abcd", "v": b"long value"}
        txn = db.begin()
        txn.insert(table, 1, **row)
        for code, bits in borders.items():
            low, high = (-(1 << bits) if code.islower() else 0), (1 << bits) - 1
            for number in (low, high):
                txn.put(table, 1, **{code: number})
                assert txn.get(table, 1, code) == number
            txn.put(table, 1, **{code: 1})
            for number in (low - 1, high + 1, low - (1 << 64), high + (1 << 64), 1.5, math.nan, math.inf):
                refused(cellar.Invalid, f"column {code}", lambda: txn.put(table, 1, d=9.0, **{code: number}))
            for strange in ("1", b"1", None, [1]):
                refused(TypeError, f"column {code}", lambda: txn.put(table, 1, d=9.0, **{code: strange}))
        refused(cellar.Invalid, "column f", lambda: txn.put(table, 1, d=9.0, f=1e300))
        for strange in ("0.5", None, b"0.5"):
            refused(TypeError, "column f", lambda: txn.put(table, 1, d=9.0, f=strange))
        for name in ("s", "v"):
            for strange in ("text", 4, None, [1, 2], 1.5):
                refused(TypeError, f"column {name} is bytes", lambda: txn.put(table, 1, d=9.0, **{name: strange}))
        refused(cellar.Invalid, "it has 4", lambda: txn.put(table, 1, d=9.0, s=b"abcde"))
        long = bytes(1 + (1 << 20))
        assert refused(cellar.Invalid, "more bytes", lambda: txn.put(table, 1, d=9.0, v=long)).code == cellar.TOO_LARGE
        refused(cellar.Invalid, "more bytes", lambda: txn.insert(table, 2, **{**row, "v": long}))
        refused(cellar.NotFound, "", lambda: txn.get(table, 2, "q"))
        refused(cellar.Invalid, "no column", lambda: txn.put(table, 1, d=9.0, z=1))
        assert txn.row(table, 1) == row
        wide = memoryview(b"12345678").cast("H")  # four items
        refused(cellar.Invalid, "it has 4", lambda: txn.put(table, 1, s=wide))
        txn.put(table, 1, v=wide, s=bytearray(b"ab"))
        assert txn.row(table, 1) == {**row, "v": b"12345678", "s": b"ab"}
        txn.insert(table, 2, **{**row, "v": wide})
        assert txn.get(table, 2, "v") == b"12345678"
        txn.commit()


def texts():
    """Names with a zero byte are not cut there; keys are bytes."""
    with opened() as (db, plain, _index):
        refused(cellar.Invalid, "zero byte", lambda: db.table("plain\0x", PLAIN, 100))
        refused(cellar.Invalid, "zero byte", lambda: db.table("t", {"a\0b": "q"}, 100))
        refused(cellar.Invalid, "zero byte", lambda: db.index(plain, "by\0", ["cents"]))
        refused(cellar.Invalid, "zero byte", lambda: db.index(plain, "by", ["cents"], covering=["owner\0"]))
        for strange in (7, None, b"plain"):
            refused(TypeError, "is a str", lambda: db.table(strange, PLAIN, 100))
            refused(TypeError, "is a str", lambda: db.index(plain, strange, ["cents"]))
            refused(TypeError, "is a str", lambda: db.table("t", {strange: "q"}, 100))
        for code in ("4294967300s", "9999999s", "0s", "q\n", "-1s", "4S"):
            refused(cellar.Invalid, "column a", lambda: db.table("t", {"a": code}, 100))
        refused(cellar.Invalid, "has the key", lambda: db.table("t", {"a": "q"}, 100, key_bytes=4))
        words = db.table("words", WORDS, 100, key_bytes=20)
        with db.begin() as txn:
            record = txn.add(words, word=b"a\0b", count=1)
            assert txn.find(words, b"a\0b") == record == txn.find(words, bytearray(b"a\0b"))
            assert txn.find(words, b"a") is None and txn.get(words, record, "word") == b"a\0b"
            for strange in ("a", 7, None):
                refused(TypeError, "a key is bytes", lambda: txn.find(words, strange))


# ---- exceptions ----

def exceptions():
    """Whatever work raises: nothing of it stays, and the next one goes on."""
    with opened() as (db, plain, _index):
        for kind in (RuntimeError, KeyError, KeyboardInterrupt, SystemExit, GeneratorExit, AssertionError):
            def work(txn):
                txn.put(plain, 7, cents=1)
                txn.get(plain, 8, "cents", for_update=True)
                raise kind("on purpose")

            refused(kind, "on purpose", lambda: db.run(work))
            assert db.run(lambda txn: txn.row(plain, 7)) == {"cents": 100, "owner": b"ada"}
        refused(cellar.NotFound, "", lambda: db.run(lambda txn: (txn.put(plain, 7, cents=1),
                                                                          txn.get(plain, 70, "cents"))))
        refused(TypeError, "", lambda: db.run(None))
        assert db.run(lambda txn: txn.get(plain, 7, "cents")) == 100


for case in (database_closed, transaction_ended, dropped_owners, closed_within, closed_during_a_call,
             closed_beside_threads, kept_open_by_a_transaction, other_threads, forked, interpreter_exits, not_copied,
             strange_handles, names_of_columns, names_in_indexes, numbers, settings, values, texts, exceptions):
    if len(sys.argv) == 1 or case.__name__ in sys.argv[1:]:
        case()
