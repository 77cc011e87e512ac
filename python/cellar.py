"""Cellar for Python: interactive transactions over libcellar.so, by ctypes. What a call promises is in cellar.h.

    import cellar

    with cellar.open("bank", bytes=64 << 20) as db:
        accounts = db.table("accounts", {"cents": "q", "owner": "16s"}, records_max=1000)
        with db.begin() as txn:  # commits at the end; an exception aborts it
            txn.insert(accounts, 7, cents=100, owner=b"ada")
        db.run(lambda txn: txn.put(accounts, 7, cents=txn.get(accounts, 7, "cents") - 10))

Columns are codes of the `struct` module, in the machine's byte order: b B h H i I q Q f d, and Ns for N bytes (zeros
at the end are cut); or Nv: bytes of any length up to a MiB, of which N have room in the row. Columns may have any
names: the arguments before them are given by place alone.

Any thread may use a transaction; calls of several take turns. One that nobody holds any more is aborted. A database may
be closed by any thread, while no other has a transaction: that waits for calls under way, and aborts those of the
thread's own; what is used after it says so. After a fork a child can close what it has, which does nothing, and open
anew. What nobody closes stays open until the process ends.

Errors are cellar.Error, with `code` and a line. cellar.Retry means that another transaction came between: begin again,
or let run do it. cellar.Invalid, a ValueError as well: an argument that cannot be, found before the engine has
seen it; one of a wrong type is a TypeError. After any of these the transaction goes on as if the call had not been
made, unless it has ended.
"""

import contextlib
import ctypes
import ctypes.util
import functools
import itertools
import numbers
import operator
import os
import re
import struct
import threading
import time

INVALID, NOT_FOUND, EXISTS, TOO_LARGE, CLOSED, RETRY, BUSY = -1, -8, -9, -12, -16, -22, -23
TXN_RECORDS_MAX, VALUE_BYTES_MAX = 2048, 1 << 20
UNIQUE, READ_ONLY, BACKWARD = 32, 64, 128
EXISTING, PRIVATE = 1, 2
MEMORY, DURABLE = 1, 2
COVERED = 3  # CELLAR_COVERED
KEY_HEAD = struct.Struct("<HH")
VALUE_HEAD = struct.Struct("<IIQ")


class Error(Exception):
    """An engine's refusal: `code` is one of CELLAR_ERROR_MAP."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Retry(Error):
    """Another transaction came between."""


class NotFound(Error, KeyError):
    """No record has this key."""


class Invalid(Error, ValueError):
    """An argument that cannot be; the engine has not seen it."""

    def __init__(self, text, code=INVALID):
        super().__init__(code, text)


def _error(code, text):
    kind = {RETRY: Retry, NOT_FOUND: NotFound}.get(code, Error)
    return kind(code, text)


class _CError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 240)]


class _Cluster(ctypes.Structure):
    """struct cellar_cluster, field by field, as _Lab and _Options are theirs."""

    _fields_ = [
        ("size", ctypes.c_uint32), ("verbs", ctypes.c_uint32), ("replicas", ctypes.c_uint32), ("node", ctypes.c_uint32),
        ("memnodes", ctypes.c_char_p), ("secret_path", ctypes.c_char_p), ("lease_us", ctypes.c_uint64),
        ("decider", ctypes.c_void_p),
    ]


class _Lab(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32), ("cc", ctypes.c_int), ("cns", ctypes.c_uint32), ("mns", ctypes.c_uint32),
        ("replicas", ctypes.c_uint32), ("coros", ctypes.c_uint32), ("sim", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32), ("seed", ctypes.c_uint64), ("log_bytes", ctypes.c_uint64),
        ("rtt_ns", ctypes.c_uint64), ("backoff_cap_ns", ctypes.c_uint64), ("hot", ctypes.c_char_p),
        ("way", ctypes.c_char_p), ("lock", ctypes.c_char_p), ("lock_policy", ctypes.c_char_p),
    ]


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("bytes", ctypes.c_uint64), ("durability", ctypes.c_int),
        ("txns_max", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("processes_max", ctypes.c_uint32),
        ("epoch_us", ctypes.c_uint64), ("log_bytes", ctypes.c_uint64), ("log", ctypes.c_void_p),
        ("log_arg", ctypes.c_void_p), ("cluster", ctypes.POINTER(_Cluster)), ("lab", ctypes.POINTER(_Lab)),
    ]


class _Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
                ("cell", ctypes.c_int32)]


class _Schema(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("row_bytes", ctypes.c_uint32), ("columns", ctypes.POINTER(_Column)),
                ("column_count", ctypes.c_uint32), ("records_max", ctypes.c_uint64),
                ("cluster_bits", ctypes.c_uint32), ("key_bytes", ctypes.c_uint32),
                ("variable", ctypes.c_uint64), ("long_bytes", ctypes.c_uint64), ("typed", ctypes.c_uint32)]


class _IndexColumn(ctypes.Structure):
    _fields_ = [("column", ctypes.c_char_p), ("sort", ctypes.c_int), ("descending", ctypes.c_bool)]


class _IndexDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("columns", ctypes.POINTER(_IndexColumn)),
                ("column_count", ctypes.c_uint32), ("flags", ctypes.c_uint32)]


class _Bound(ctypes.Structure):
    _fields_ = [("row", ctypes.c_void_p), ("columns", ctypes.c_uint32), ("excluded", ctypes.c_bool)]


class _Range(ctypes.Structure):
    _fields_ = [("low", _Bound), ("high", _Bound), ("low_key", ctypes.c_uint64), ("high_key", ctypes.c_uint64)]


class _TxnOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("durability", ctypes.c_int),
                ("attempts_max", ctypes.c_uint32), ("timeout_us", ctypes.c_uint64), ("lock_us", ctypes.c_uint64),
                ("cancel", ctypes.c_void_p)]


# enum cellar_abort_reason, in its order
ABORT_REASONS = ("lock_busy", "read_locked", "validation", "index_busy", "index_validation", "torn_read", "node_failed",
                 "local_order", "draining", "dependency", "cache_full", "log_full", "hot_wait", "snapshot_gone",
                 "lock_wait", "lock_upgrade", "tree_node")


class _TableTally(ctypes.Structure):
    """struct cellar_lab_table_tally."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("read", "written", "inserted", "deleted")] + [
        ("conflicts", ctypes.c_uint64 * len(ABORT_REASONS))]


def _load():
    path = os.environ.get("CELLAR_LIBRARY") or ctypes.util.find_library("cellar") or "libcellar.so.0"
    library = ctypes.CDLL(path)
    handle, out, key = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64
    number = ctypes.POINTER(ctypes.c_uint64)
    size = ctypes.c_size_t
    signatures = {
        "cellar_open": [ctypes.c_char_p, ctypes.POINTER(_Options), out],
        "cellar_table_create": [handle, ctypes.POINTER(_Schema), out],
        "cellar_table_alter": [handle, handle, ctypes.POINTER(_Schema), ctypes.c_void_p, out],
        "cellar_index_create": [handle, handle, ctypes.POINTER(_IndexDef), out],
        "cellar_begin": [handle, ctypes.POINTER(_TxnOptions), out],
        "cellar_txn_get": [handle, handle, key, ctypes.c_int, ctypes.c_void_p],
        "cellar_txn_get_for_update": [handle, handle, key, ctypes.c_int, ctypes.c_void_p],
        "cellar_txn_get_bytes": [handle, handle, key, ctypes.c_int, ctypes.c_void_p, size, ctypes.POINTER(size)],
        "cellar_txn_put_bytes": [handle, handle, key, ctypes.c_int, ctypes.c_char_p, size],
        "cellar_txn_put": [handle, handle, key, ctypes.c_int, ctypes.c_void_p],
        "cellar_txn_insert": [handle, handle, key, ctypes.c_void_p],
        "cellar_txn_delete": [handle, handle, key],
        "cellar_txn_find": [handle, handle, ctypes.c_char_p, ctypes.c_uint32, number],
        "cellar_txn_add": [handle, handle, ctypes.c_void_p, number],
        "cellar_txn_remove": [handle, handle, key],
        "cellar_txn_scan_rows": [handle, handle, ctypes.POINTER(_Range), ctypes.c_uint32, number, ctypes.c_void_p, key],
        "cellar_txn_scan": [handle, handle, ctypes.POINTER(_Range), ctypes.c_uint32, ctypes.c_uint32, number, key],
        "cellar_savepoint": [handle],
        "cellar_rollback_to": [handle, ctypes.c_int],
        "cellar_release": [handle, ctypes.c_int],
        "cellar_check": [handle],
        "cellar_commit": [handle, ctypes.c_void_p],
        "cellar_close": [handle],
    }
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    for name, arguments in {"cellar_abort": [handle],
                            "cellar_lab_table_read": [handle, handle, ctypes.POINTER(_TableTally)]}.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, None
    library.cellar_last_error.argtypes, library.cellar_last_error.restype = [], ctypes.POINTER(_CError)
    return library


_lib = _load()


def _number(what, value, most, least=0):
    """An integer in that range: ctypes takes any, and cuts it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {value!r}") from None
    if not least <= number <= most:
        raise Invalid(f"{what} is {least} to {most}, not {number}")
    return number


def _uint32(what, value):
    return _number(what, value, (1 << 32) - 1)


def _uint64(what, value):
    return _number(what, value, (1 << 64) - 1)


def _key(key):
    return _uint64("a key", key)


def _bytes(what, value):
    """As bytes: others may count in something else than bytes."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{what} is bytes, not {value!r}")
    return bytes(value)


def _zeroless(what, text):
    """For C, where a text ends at a zero."""
    if b"\0" in text:
        raise Invalid(f"{what} has a zero byte: {text!r}")
    return text


def _name(what, value):
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {value!r}")
    return _zeroless(what, value.encode())


def _setting(name, kind, value):
    """What a field of one of the structs of cellar_open may be."""
    if kind is ctypes.c_char_p:
        return value if value is None else _zeroless(name, os.fsencode(value))
    if kind is ctypes.c_void_p:
        return value if value is None or isinstance(value, kind) else _uint64(name, value)
    if kind is ctypes.c_int:
        return _number(name, value, (1 << 31) - 1)
    return _number(name, value, 1 if kind is ctypes.c_bool else (1 << 8 * ctypes.sizeof(kind)) - 1)


def _last(code):
    """The exception for a call of this thread that has just returned this code."""
    return _error(code, _lib.cellar_last_error().contents.text.decode(errors="replace"))


def _made(function, *arguments):
    """Calls a function that gives a handle."""
    handle = ctypes.c_void_p()
    code = function(*arguments, ctypes.byref(handle))
    if code:
        raise _last(code)
    return handle


class _Table:
    """A table's columns, and rows of them as bytes."""

    def __init__(self, database, name, columns, key_bytes):
        self.database, self.handle, self.key_bytes = database, None, _uint32("key_bytes", key_bytes)
        self.name = name
        self.names, self.formats, self.offsets, self.variable = [], [], [], set()
        at = 0
        for name, code in columns.items():
            if not re.fullmatch(r"[bBhHiIqQfd]|[1-9][0-9]*[sv]", code):
                raise Invalid(f"column {name}: {code!r} is none of b B h H i I q Q f d, Ns or Nv")
            if len(code) > 6:
                raise Invalid(f"column {name}: {code!r} is more bytes than a column may have")
            if code.endswith("v"):
                self.variable.add(len(self.names))
                code = f"{VALUE_HEAD.size + int(code[:-1])}s"
            packed = struct.Struct("=" + code)
            if not code.endswith("s"):
                at = -(-at // packed.size) * packed.size
            self.names.append(name)
            self.formats.append(packed)
            self.offsets.append(at)
            at += packed.size
        self.row_bytes = -(-at // 8) * 8
        _uint32("a row's bytes", self.row_bytes)
        if key_bytes and self.formats and (0 in self.variable or not self.formats[0].format.endswith("s")):
            raise Invalid(f"column {self.names[0]}: the first one of a table with key_bytes has the key, and is Ns")

    def schema(self, records_max, long_bytes):
        fields = (_Column * len(self.names))()
        for i, column in enumerate(self.names):
            fields[i] = _Column(_name("a column's name", column), self.offsets[i], self.formats[i].size, -1)
        return _Schema(_name("a table's name", self.name), self.row_bytes, fields, len(fields),
                       _uint64("records_max", records_max), 0, self.key_bytes,
                       sum(1 << column for column in self.variable), _uint64("long_bytes", long_bytes))

    def column(self, name):
        try:
            return self.names.index(name)
        except ValueError:
            raise Invalid(f"the table has no column {name!r}") from None

    def value(self, column, value):
        """What a column of bytes may take, as bytes."""
        value = _bytes(f"column {self.names[column]}", value)
        if self.key_bytes and column == 0 and not 1 <= len(value) <= self.key_bytes:
            raise Invalid(f"a key has 1 to {self.key_bytes} bytes, not {len(value)}")
        if column in self.variable and len(value) > VALUE_BYTES_MAX:
            raise Invalid(f"column {self.names[column]}: {len(value)} is more bytes than a value may have", TOO_LARGE)
        if column not in self.variable and len(value) > self.formats[column].size:
            raise Invalid(f"column {self.names[column]}: {len(value)} bytes; it has {self.formats[column].size}")
        return value

    def pack(self, column, value):
        if self.formats[column].format.endswith("s"):
            value = self.value(column, value)
        if self.key_bytes and column == 0:
            value = KEY_HEAD.pack(len(value), 0) + value
        if column in self.variable:
            room = self.formats[column].size - VALUE_HEAD.size
            value = VALUE_HEAD.pack(len(value), 0, 0) + value if len(value) <= room else b""
        try:
            return self.formats[column].pack(value)
        except (struct.error, OverflowError) as error:
            text = f"column {self.names[column]}: {value!r}: {error}"
            raise (Invalid if isinstance(value, numbers.Number) else TypeError)(text) from None

    def packed(self, values):
        """Of columns by name: their numbers and what is put there. Nothing is put when one of them is wrong."""
        columns = [(self.column(name), value) for name, value in values.items()]
        return [(number, self.value(number, value) if number in self.variable else self.pack(number, value))
                for number, value in columns]

    def unpack(self, column, data):
        value = self.formats[column].unpack(data)[0]
        if self.key_bytes and column == 0:
            return value[KEY_HEAD.size:KEY_HEAD.size + KEY_HEAD.unpack_from(value)[0]]
        return value.rstrip(b"\0") if isinstance(value, bytes) else value

    def unpack_at(self, name, rows, at):
        """A column of a row that begins there."""
        column = self.column(name)
        first = at + self.offsets[column]
        return self.unpack(column, rows[first:first + self.formats[column].size])

    def long_values(self, values):
        """Those that have no room in a row."""
        columns = {name: self.column(name) for name in values}
        return {name: values[name] for name, number in columns.items() if number in self.variable
                and len(self.value(number, values[name])) > self.formats[number].size - VALUE_HEAD.size}

    def row(self, values, partly=False):
        """Bytes of a row; `partly`: columns that are not named are zero, else there are none."""
        unknown = set(values) - set(self.names)
        missing = [] if partly else [name for name in self.names if name not in values]
        if unknown or missing:
            raise Invalid(f"unknown columns {sorted(unknown)}, missing columns {missing}")
        row = ctypes.create_string_buffer(self.row_bytes)
        for name, value in values.items():
            column = self.names.index(name)
            data = self.pack(column, value)
            row[self.offsets[column]:self.offsets[column] + len(data)] = data
        return row


class _Index:
    """An index's columns, and those that it covers."""

    def __init__(self, handle, table, names, covering):
        self.database, self.handle, self.table = table.database, handle, table
        self.names, self.covering = names, covering


def _of(database, thing, kind):
    """The handle of a table or an index: for the engine any pointer is one."""
    if not isinstance(thing, kind):
        raise TypeError(f"{'an index' if kind is _Index else 'a table'} is wanted, not {thing!r}")
    if thing.database is not database:
        raise Invalid(f"{thing.table.name if kind is _Index else thing.name}: it is a table of another database")
    return thing.handle


class _TxnHandle(ctypes.c_void_p):
    """Of a transaction; NULL once it has ended. Who has the lock is in a call of it; `thread`: who was the last."""

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        self.lock, self.thread = threading.RLock(), threading.get_ident()


def _whole(method):
    """One of several calls, between which no other thread's come."""
    @functools.wraps(method)
    def whole(self, /, *arguments, **named):
        self._database._usable()
        with self._handle.lock:
            return method(self, *arguments, **named)
    return whole


class Transaction:
    """One interactive transaction. With `with` it commits at the end, and an exception aborts it."""

    def __init__(self, database, options):
        self._database, self._handle, self._over = database, _TxnHandle(), False
        code = _lib.cellar_begin(database._usable(), ctypes.byref(options), ctypes.byref(self._handle))
        if code:
            raise _last(code)
        database._txns.add(self._handle)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and not self._over:
            self.commit()
        else:
            self.abort()

    def __del__(self):
        self.abort()

    def __reduce_ex__(self, _):
        raise TypeError("a transaction cannot be copied")

    def _call(self, function, *arguments, ends=False):
        """The code of function(handle, ...), if it went well."""
        self._database._usable()
        with self._handle.lock:
            if not self._handle:
                raise Error(INVALID, "the transaction has ended")
            self._handle.thread = threading.get_ident()
            code = function(self._handle, *arguments)
            if ends:
                self._over = True
                self._database._ended(self._handle)
        if code >= 0:
            return code
        raise _last(code)

    def _call_of(self, function, table, *arguments):
        """A call about a table."""
        return self._call(function, _of(self._database, table, _Table), *arguments)

    @_whole
    def get(self, table, key, column, for_update=False):
        _of(self._database, table, _Table)
        number = table.column(column)
        value = ctypes.create_string_buffer(table.formats[number].size)
        function = _lib.cellar_txn_get_for_update if for_update else _lib.cellar_txn_get
        self._call_of(function, table, _key(key), number, value)
        if number in table.variable:
            return self._get_bytes(table, key, number, VALUE_HEAD.unpack_from(value)[0])
        return table.unpack(number, value.raw)

    def _get_bytes(self, table, key, number, length):
        value, size = ctypes.create_string_buffer(length or 1), ctypes.c_size_t()
        self._call_of(_lib.cellar_txn_get_bytes, table, _key(key), number, value, len(value), ctypes.byref(size))
        return value.raw[:size.value]

    @_whole
    def row(self, table, key):
        """All columns, by name."""
        _of(self._database, table, _Table)
        return {name: self.get(table, key, name) for name in table.names}

    @_whole
    def put(self, table, key, /, **values):
        """Columns by name; those before them are given by place."""
        _of(self._database, table, _Table)
        for number, value in table.packed(values):
            if number in table.variable:
                self._call_of(_lib.cellar_txn_put_bytes, table, _key(key), number, value, len(value))
            else:
                self._call_of(_lib.cellar_txn_put, table, _key(key), number, value)

    @_whole
    def insert(self, table, key, /, **values):
        """All columns by name; those before them are given by place."""
        _of(self._database, table, _Table)
        self._call_of(_lib.cellar_txn_insert, table, _key(key), table.row(values))
        self.put(table, key, **table.long_values(values))

    def delete(self, table, key):
        self._call_of(_lib.cellar_txn_delete, table, _key(key))

    def find(self, table, key):
        """The number of the record with this byte-string key, or None."""
        record, key = ctypes.c_uint64(), _bytes("a key", key)
        try:
            self._call_of(_lib.cellar_txn_find, table, key, _uint32("a key's length", len(key)), ctypes.byref(record))
        except NotFound:
            return None
        return record.value

    @_whole
    def add(self, table, /, **values):
        """Inserts a row of a table with byte-string keys: its record's number. Its table is given by place."""
        _of(self._database, table, _Table)
        record = ctypes.c_uint64()
        self._call_of(_lib.cellar_txn_add, table, table.row(values), ctypes.byref(record))
        self.put(table, record.value, **table.long_values(values))
        return record.value

    def remove(self, table, record):
        self._call_of(_lib.cellar_txn_remove, table, _key(record))

    def scan(self, index, low=None, high=None, limit=1000, backward=False):
        """Keys in the index's order; low and high are columns' values by name, both included."""
        scope, _rows = self._range(index, low, high)
        keys = self._keys(limit)
        found = self._call(_lib.cellar_txn_scan, index.handle, ctypes.byref(scope), 0, BACKWARD if backward else 0,
                           keys, len(keys))
        return list(keys[:found])

    def scan_rows(self, index, low=None, high=None, limit=1000, backward=False):
        """The same, each key with the index's columns by name, covered ones too: no record is read."""
        scope, _rows = self._range(index, low, high)
        table, keys = index.table, self._keys(limit)
        names = [name for name in index.names if table.column(name) or not table.key_bytes] + index.covering
        rows = ctypes.create_string_buffer(len(keys) * table.row_bytes)
        found = self._call(_lib.cellar_txn_scan_rows, index.handle, ctypes.byref(scope), BACKWARD if backward else 0,
                           keys, rows, len(keys))
        return [(keys[i], {name: table.unpack_at(name, rows, i * table.row_bytes) for name in names})
                for i in range(found)]

    @staticmethod
    def _keys(limit):
        return (ctypes.c_uint64 * _number("limit", limit, TXN_RECORDS_MAX, 1))()

    def _range(self, index, low, high):
        """And what it points to."""
        _of(self._database, index, _Index)
        rows, scope = [], _Range(high_key=2**64 - 1)
        for bound, values in ((scope.low, low), (scope.high, high)):
            if values:
                if list(values) != index.names[:len(values)]:
                    raise Invalid(f"a range is of the index's first columns, in order: {index.names}")
                rows.append(index.table.row(values, partly=True))
                bound.row, bound.columns = ctypes.addressof(rows[-1]), len(values)
        return scope, rows

    def savepoint(self):
        return self._call(_lib.cellar_savepoint)

    def rollback_to(self, savepoint):
        self._call(_lib.cellar_rollback_to, self._savepoint(savepoint))

    def release(self, savepoint):
        self._call(_lib.cellar_release, self._savepoint(savepoint))

    @staticmethod
    def _savepoint(savepoint):
        return _number("a savepoint", savepoint, (1 << 31) - 1)

    def check(self):
        self._call(_lib.cellar_check)

    def commit(self):
        self._call(_lib.cellar_commit, None, ends=True)

    def abort(self):
        """Does nothing when it has ended, as with its database, or in a child of its process."""
        if self._database._forked():
            return
        with self._handle.lock:
            if self._database._handle:
                _lib.cellar_abort(self._handle)
            self._over = True
            self._database._ended(self._handle)


class Database:
    """An open database."""

    def __init__(self, handle):
        self._handle, self._process = handle, os.getpid()
        self._txns, self._closing = set(), threading.RLock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce_ex__(self, _):
        raise TypeError("a database cannot be copied")

    def _forked(self):
        return self._process != os.getpid()

    def _usable(self):
        """The handle; or why there is none."""
        if self._forked():
            raise Error(INVALID, "the database is the parent process's: open the database anew in a child")
        if not self._handle:
            raise Error(CLOSED, "the database is closed")
        return self._handle

    def _ended(self, txn):
        txn.value = None
        self._txns.discard(txn)

    def begin(self, read_only=False, **settings):
        """A transaction. Settings are fields of struct cellar_txn_options: durability, timeout_us, lock_us."""
        return Transaction(self, _txn_options(read_only, settings))

    def run(self, work, read_only=False, **settings):
        """
        Runs work(txn) until it commits; what it returned then. An exception of it aborts. Settings are those of begin,
        and attempts_max: after so many Retry is raised. timeout_us is of all of them together.
        """
        options = _txn_options(read_only, settings)
        until_us = time.monotonic_ns() // 1000 + options.timeout_us
        for attempt in itertools.count(1):
            try:
                with Transaction(self, options) as txn:
                    result = work(txn)
                return result
            except Retry:
                if attempt == options.attempts_max:
                    raise
            if options.timeout_us:
                options.timeout_us = max(until_us - time.monotonic_ns() // 1000, 1)

    def close(self):
        """
        Aborts the transactions that this thread was the last to use. Error with BUSY while another thread has one: then
        the database stays open. Does nothing when it is closed, or in a child of the process that opened it.
        """
        if self._forked():
            return
        with self._closing, contextlib.ExitStack() as kept:
            for txn in list(self._txns):
                if not txn.lock.acquire(blocking=False):
                    raise Error(BUSY, "another thread is in a call of a transaction")
                kept.callback(txn.lock.release)
                if txn.thread == threading.get_ident():
                    _lib.cellar_abort(txn)
                    self._ended(txn)
            code = _lib.cellar_close(self._handle)
            if code not in (0, CLOSED):
                raise _error(code, "another thread has a transaction that has not ended")
            self._handle = None

    def _made(self, function, *arguments):
        return _made(function, self._usable(), *arguments)

    def table(self, name, columns, records_max, key_bytes=0, long_bytes=0):
        """
        Creates a table, or finds it. key_bytes: keys are byte strings of at most so many bytes, in the first column,
        whose code must leave room for 4 bytes more. long_bytes: of columns Nv, what has no room in rows, all together.
        """
        table = _Table(self, name, columns, key_bytes)
        schema = table.schema(records_max, long_bytes)
        table.handle = self._made(_lib.cellar_table_create, ctypes.byref(schema))
        return table

    def alter(self, table, columns, records_max, /, **defaults):
        """
        Gives a table other columns: those that both have keep their values, new ones get `defaults` (else zeros). At
        rest; all records are written anew. The table that is there then; the old one is of no use.
        """
        handle = _of(self, table, _Table)
        altered = _Table(self, table.name, columns, table.key_bytes)
        schema, row = altered.schema(records_max, 0), altered.row(defaults, partly=True)
        altered.handle = self._made(_lib.cellar_table_alter, handle, ctypes.byref(schema), row)
        return altered

    def index(self, table, name, columns=(), unique=False, covering=()):
        """
        Of columns, in that order; none: of the keys. A name with - before it: descending. `covering`: columns that
        scan_rows finds in the index, too. Key columns of byte strings, which lose their length there, can only be
        covered.
        """
        _of(self, table, _Table)
        descending = [column not in table.names and column.startswith("-") for column in columns]
        names = [column[1:] if down else column for column, down in zip(columns, descending)]
        fields = (_IndexColumn * max(len(names) + len(covering), 1))()
        for i, column in enumerate(covering):
            fields[len(names) + i] = _IndexColumn(_name("a column's name", column), COVERED, False)
        for i, column in enumerate(names):
            code = table.formats[table.column(column)].format[-1]
            if code in "fd":
                raise Invalid(f"column {column}: an index has no order for floating-point numbers")
            sort = 2 if code == "s" else 1 if code in "bhiq" else 0
            fields[i] = _IndexColumn(_name("a column's name", column), sort, descending[i])
        definition = _IndexDef(_name("an index's name", name), fields, len(names) + len(covering),
                               UNIQUE if unique else 0)
        handle = self._made(_lib.cellar_index_create, table.handle, ctypes.byref(definition))
        return _Index(handle, table, names, list(covering))

    def table_tally(self, table):
        """What transactions of this process did with the table's records: counts by name, and conflicts by reason."""
        tally, of = _TableTally(), _of(self, table, _Table)
        _lib.cellar_lab_table_read(self._usable(), of, ctypes.byref(tally))
        counts = {name: getattr(tally, name) for name in ("read", "written", "inserted", "deleted")}
        return {**counts, "conflicts": {name: count for name, count in zip(ABORT_REASONS, tally.conflicts) if count}}


def _struct(kind, what, settings):
    """A struct of that kind with these fields; others that it has are zero."""
    made, kinds = kind(size=ctypes.sizeof(kind)), dict(kind._fields_)
    for name, value in settings.items():
        if name not in kinds or name in ("size", "flags", "cluster", "lab", "cancel"):
            raise Invalid(f"no setting {name!r} of {what}")
        setattr(made, name, _setting(name, kinds[name], value))
    return made


def _txn_options(read_only, settings):
    options = _struct(_TxnOptions, "cellar_txn_options", settings)
    options.flags = READ_ONLY if read_only else 0
    return options


def open(path=None, *, existing=False, private=False, cluster=None, lab=None, **settings):
    """
    Settings are the fields of struct cellar_options (bytes, durability, txns_max ...); `cluster` and `lab` are dicts of
    those of struct cellar_cluster and struct cellar_lab; texts are str. In memory without a path; where nothing is a
    folder is made, and what commits is durable, or a file with durability=cellar.MEMORY.
    """
    options = _struct(_Options, "cellar_options", settings)
    options.flags = (EXISTING if existing else 0) | (PRIVATE if private else 0)
    if cluster is not None:
        options.cluster = ctypes.pointer(_struct(_Cluster, "cellar_cluster", cluster))
    if lab is not None:
        options.lab = ctypes.pointer(_struct(_Lab, "cellar_lab", lab))
    path = _setting("path", ctypes.c_char_p, path)
    return Database(_made(_lib.cellar_open, path, ctypes.byref(options)))
