"""What test_bindings.sh runs: the Python module against a pool file. Prints nothing unless something is wrong."""
import sys
import threading

import cellar

path = sys.argv[1]


def refused(kind, word, work):
    try:
        work()
    except kind as error:
        assert word in str(error), error
        return error
    raise AssertionError(f"not refused: {word}")


def locked(work):
    """In a transaction that locks: a busy machine may stop it for longer than it may keep others out (DEADLINE)."""
    while True:
        try:
            return db.run(work)
        except cellar.Error as error:
            if error.code != -14:
                raise


with cellar.open(path, bytes=32 << 20, durability=cellar.MEMORY, lab={"log_bytes": 1 << 20}) as db:
    people = db.table("people", {"cents": "q", "name": "12s", "share": "d", "rank": "B"}, records_max=200)
    words = db.table("words", {"key": "24s", "count": "Q"}, records_max=200, key_bytes=20)
    by_cents = db.index(people, "by_cents", ["-cents"])
    by_word = db.index(words, "by_word", ["key"])
    by_rank = db.index(people, "by_rank", ["rank"], covering=["cents", "share"])
    by_count = db.index(words, "by_count", ["count"], covering=["key"])
    with db.begin() as txn:
        for i in range(50):
            txn.insert(people, i, cents=100 - i, name=f"p{i}".encode(), share=i / 4, rank=i)
    with db.begin(read_only=True) as txn:
        assert txn.row(people, 7) == {"cents": 93, "name": b"p7", "share": 1.75, "rank": 7}
        assert txn.scan(by_cents, limit=3) == [0, 1, 2]
        assert txn.scan(by_cents, limit=2, backward=True) == [49, 48]
        assert txn.scan(by_cents, low={"cents": 95}, high={"cents": 93}) == [5, 6, 7]
        assert txn.scan_rows(by_rank, low={"rank": 48}) == [
            (48, {"rank": 48, "cents": 52, "share": 12.0}), (49, {"rank": 49, "cents": 51, "share": 12.25})]
        assert txn.scan_rows(by_rank, limit=1, backward=True)[0][1]["cents"] == 51
        refused(cellar.Error, "read-only", lambda: txn.put(people, 1, cents=1))
        refused(ValueError, "a key is 0", lambda: txn.get(people, 1 << 64, "cents"))
        refused(ValueError, "a key is 0", lambda: txn.get(people, -1, "cents"))
    with db.begin() as txn:  # what is rolled back, and what is not
        txn.put(people, 1, cents=1000, name=b"first")
        point = txn.savepoint()
        txn.delete(people, 2)
        txn.rollback_to(point)
    assert db.run(lambda txn: txn.row(people, 1)["cents"]) == 1000
    assert locked(lambda txn: txn.get(people, 2, "cents", for_update=True)) == 98
    try:
        with db.begin() as txn:
            txn.put(people, 1, cents=5)
            raise RuntimeError("on purpose")
    except RuntimeError:
        pass
    assert db.run(lambda txn: txn.get(people, 1, "cents")) == 1000
    assert refused(cellar.NotFound, "key 999", lambda: db.run(lambda txn: txn.get(people, 999, "cents")))
    missing = refused(KeyError, "", lambda: db.run(lambda txn: txn.delete(people, 999)))
    assert missing.code == cellar.NOT_FOUND
    assert refused(cellar.Error, "", lambda: db.run(
        lambda txn: txn.insert(people, 1, cents=0, name=b"", share=0, rank=0))).code == cellar.EXISTS
    # byte-string keys
    with db.begin() as txn:
        for word in b"the quick fox and the fox".split():
            record = txn.find(words, word)
            if record is None:
                txn.add(words, key=word, count=1)
            else:
                txn.put(words, record, count=txn.get(words, record, "count") + 1)
    with db.begin() as txn:
        order = [(txn.get(words, record, "key"), txn.get(words, record, "count")) for record in txn.scan(by_word)]
        assert [row for _, row in txn.scan_rows(by_count, backward=True, limit=1)] == [{"count": 2, "key": b"the"}]
        assert order == [(b"and", 1), (b"fox", 2), (b"quick", 1), (b"the", 2)], order
        txn.remove(words, txn.find(words, b"quick"))
        assert txn.find(words, b"quick") is None
    # values of variable length
    letters = db.table("letters", {"to": "12s", "text": "16v"}, records_max=50, long_bytes=1 << 20)
    long = bytes(range(256)) * 400
    with db.begin() as txn:
        txn.insert(letters, 1, to=b"ada", text=b"short")
        txn.insert(letters, 2, to=b"bob", text=long)
        assert txn.get(letters, 2, "text") == long and txn.get(letters, 1, "text") == b"short"
    with db.begin() as txn:
        assert txn.row(letters, 2) == {"to": b"bob", "text": long}
        txn.put(letters, 2, text=long[::-1] * 2)
        txn.put(letters, 1, text=b"")
    assert locked(lambda txn: txn.get(letters, 2, "text", for_update=True)) == long[::-1] * 2
    assert db.run(lambda txn: txn.get(letters, 1, "text")) == b""
    refused(cellar.Error, "more bytes than a value", lambda: db.run(
        lambda txn: txn.put(letters, 1, text=bytes(1 + (1 << 20)))))
    db.run(lambda txn: txn.delete(letters, 2))
    tally = db.table_tally(letters)
    assert (tally["inserted"], tally["deleted"], tally["written"]) == (2, 1, 2), tally
    assert tally["read"] > 0 and tally["conflicts"] == {}, tally
    plain = db.table("plain", {"cents": "q", "old": "i"}, records_max=50)
    with db.begin() as txn:
        txn.insert(plain, 1, cents=5, old=7)
    plain = db.alter(plain, {"name": "8s", "cents": "q", "share": "d"}, 100, name=b"none", share=0.5)
    assert db.run(lambda txn: txn.row(plain, 1)) == {"name": b"none", "cents": 5, "share": 0.5}
    refused(cellar.Error, "bytes", lambda: db.alter(plain, {"cents": "i"}, 50))
    # what is wrong
    refused(ValueError, "no column", lambda: db.run(lambda txn: txn.get(people, 1, "nose")))
    refused(ValueError, "missing columns", lambda: db.run(lambda txn: txn.insert(people, 77, cents=1)))
    refused(ValueError, "it has 12", lambda: db.run(lambda txn: txn.put(people, 1, name=b"x" * 13)))
    refused(ValueError, "1 to 20", lambda: db.run(lambda txn: txn.add(words, key=b"", count=1)))
    refused(ValueError, "is none of", lambda: db.table("bad", {"a": "z"}, 10))
    refused(ValueError, "floating-point", lambda: db.index(people, "by_share", ["share"]))
    refused(ValueError, "no setting", lambda: cellar.open(speed=9))
    refused(cellar.Error, "in use", lambda: cellar.open(path, bytes=32 << 20, private=True))
    with cellar.open(path, bytes=32 << 20) as beside:
        with beside.begin() as txn:
            its = beside.table("people", {"cents": "q", "name": "12s", "share": "d", "rank": "B"}, records_max=200)
            assert txn.get(its, 1, "cents") == 1000
    done = db.begin()
    done.commit()
    refused(cellar.Error, "has ended", lambda: done.get(people, 1, "cents"))

    # until it commits, or may not go on
    runs = []

    def overtaken(txn):
        cents = txn.get(people, 4, "cents")
        db.run(lambda other: other.put(people, 4, cents=cents + 1))
        txn.put(people, 4, cents=0)
        runs.append(cents)

    refused(cellar.Retry, "", lambda: db.run(overtaken, attempts_max=3))
    assert runs == [96, 97, 98], runs
    assert refused(cellar.Error, "", lambda: db.run(overtaken, timeout_us=50_000)).code == -14
    assert db.run(lambda txn: txn.get(people, 4, "cents"), attempts_max=1, lock_us=1, durability=cellar.MEMORY) > 98

    # of one thread after the other
    handed = []

    def begin():
        handed.append(db.begin())
        handed[0].put(people, 5, cents=7)

    for work in (begin, lambda: handed[0].put(people, 6, cents=8), lambda: handed[0].commit()):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    refused(cellar.Error, "has ended", handed[0].check)
    assert db.run(lambda txn: [txn.get(people, key, "cents") for key in (5, 6)]) == [7, 8]

    def count():
        for _ in range(100):
            db.run(lambda txn: txn.put(people, 3, cents=txn.get(people, 3, "cents") + 1))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

with cellar.open(path, bytes=32 << 20, lab={"log_bytes": 1 << 20}, existing=True) as db:
    people = db.table("people", {"cents": "q", "name": "12s", "share": "d", "rank": "B"}, records_max=200)
    assert db.run(lambda txn: txn.get(people, 3, "cents")) == 97 + 300
    assert db.run(lambda txn: txn.row(people, 1)["name"]) == b"first"
