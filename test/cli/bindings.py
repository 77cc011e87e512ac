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


with cellar.open(path=path, pool_bytes=32 << 20, log_bytes=1 << 20) as db:
    people = db.table("people", {"cents": "q", "name": "12s", "share": "d", "rank": "B"}, records_max=200)
    words = db.table("words", {"key": "24s", "count": "Q"}, records_max=200, key_bytes=20)
    by_cents = db.index(people, "by_cents", ["-cents"])
    by_word = db.index(words, "by_word", ["key"])
    with db.session() as session:
        with session.begin() as txn:
            for i in range(50):
                txn.insert(people, i, cents=100 - i, name=f"p{i}".encode(), share=i / 4, rank=i)
        with session.begin(read_only=True) as txn:
            assert txn.row(people, 7) == {"cents": 93, "name": b"p7", "share": 1.75, "rank": 7}
            assert txn.scan(by_cents, limit=3) == [0, 1, 2]
            assert txn.scan(by_cents, limit=2, backward=True) == [49, 48]
            assert txn.scan(by_cents, low={"cents": 95}, high={"cents": 93}) == [5, 6, 7]
            refused(cellar.Error, "read-only", lambda: txn.put(people, 1, cents=1))
        with session.begin() as txn:  # what is rolled back, and what is not
            txn.put(people, 1, cents=1000, name=b"first")
            point = txn.savepoint()
            txn.delete(people, 2)
            txn.rollback_to(point)
        assert session.transact(lambda txn: txn.row(people, 1)["cents"]) == 1000
        assert session.transact(lambda txn: txn.get(people, 2, "cents", for_update=True)) == 98
        try:
            with session.begin() as txn:
                txn.put(people, 1, cents=5)
                raise RuntimeError("on purpose")
        except RuntimeError:
            pass
        assert session.transact(lambda txn: txn.get(people, 1, "cents")) == 1000
        assert refused(cellar.NotFound, "key 999", lambda: session.transact(lambda txn: txn.get(people, 999, "cents")))
        assert refused(KeyError, "", lambda: session.transact(lambda txn: txn.delete(people, 999))).code == 8
        assert refused(cellar.Error, "", lambda: session.transact(
            lambda txn: txn.insert(people, 1, cents=0, name=b"", share=0, rank=0))).code == cellar.EXISTS
        # byte-string keys
        with session.begin() as txn:
            for word in b"the quick fox and the fox".split():
                record = txn.find(words, word)
                if record is None:
                    txn.add(words, key=word, count=1)
                else:
                    txn.put(words, record, count=txn.get(words, record, "count") + 1)
        with session.begin() as txn:
            order = [(txn.get(words, record, "key"), txn.get(words, record, "count")) for record in txn.scan(by_word)]
            assert order == [(b"and", 1), (b"fox", 2), (b"quick", 1), (b"the", 2)], order
            txn.remove(words, txn.find(words, b"quick"))
            assert txn.find(words, b"quick") is None
        # what is wrong
        refused(ValueError, "no column", lambda: session.transact(lambda txn: txn.get(people, 1, "nose")))
        refused(ValueError, "missing columns", lambda: session.transact(lambda txn: txn.insert(people, 77, cents=1)))
        refused(ValueError, "it has 12", lambda: session.transact(lambda txn: txn.put(people, 1, name=b"x" * 13)))
        refused(ValueError, "1 to 20", lambda: session.transact(lambda txn: txn.add(words, key=b"", count=1)))
        refused(ValueError, "is none of", lambda: db.table("bad", {"a": "z"}, 10))
        refused(ValueError, "floating-point", lambda: db.index(people, "by_share", ["share"]))
        refused(ValueError, "no setting", lambda: cellar.open(speed=9))
        refused(cellar.Error, "in use", lambda: cellar.open(path=path, pool_bytes=32 << 20))
        done = session.begin()
        done.commit()
        refused(cellar.Error, "has ended", lambda: done.get(people, 1, "cents"))
    refused(cellar.Error, "closed", session.begin)

    def count():
        with db.session() as own:
            for _ in range(100):
                own.transact(lambda txn: txn.put(people, 3, cents=txn.get(people, 3, "cents") + 1))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

with cellar.open(path=path, pool_bytes=32 << 20, log_bytes=1 << 20, existing=True) as db:
    people = db.table("people", {"cents": "q", "name": "12s", "share": "d", "rank": "B"}, records_max=200)
    with db.session() as session:
        assert session.transact(lambda txn: txn.get(people, 3, "cents")) == 97 + 300
        assert session.transact(lambda txn: txn.row(people, 1)["name"]) == b"first"
