"""Cellar for Python: interactive transactions over libcellar.so, by ctypes. What a call promises is in cellar.h.

    import cellar

    with cellar.open(path="bank.pool", pool_bytes=64 << 20) as db:
        accounts = db.table("accounts", {"cents": "q", "owner": "16s"}, records_max=1000)
        with db.session() as session:
            with session.begin() as txn:  # commits at the end; an exception aborts it
                txn.insert(accounts, 7, cents=100, owner=b"ada")
            session.transact(lambda txn: txn.put(accounts, 7, cents=txn.get(accounts, 7, "cents") - 10))

Columns are codes of the `struct` module, in the machine's byte order: b B h H i I q Q f d, and Ns for N bytes (zeros
at the end are cut); or Nv: bytes of any length up to a MiB, of which N have room in the row. A session is the thread's
that opened it. Errors are cellar.Error, with `code` and the engine's line; cellar.Retry means that another transaction
came between: begin again, or let transact do it.
"""

import ctypes
import ctypes.util
import os
import re
import struct

NOT_FOUND, EXISTS, RETRY = 8, 9, 22
READ_ONLY, BACKWARD = 1, 1
COVERED = 3  # CELLAR_COVERED
KEY_HEAD = struct.Struct("<HH")
VALUE_HEAD = struct.Struct("<IIQ")


class Error(Exception):
    """An engine's refusal: `code` is positive, of CELLAR_ERROR_MAP."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Retry(Error):
    """Another transaction came between."""


class NotFound(Error, KeyError):
    """No record has this key."""


def _error(code, text):
    kind = {RETRY: Retry, NOT_FOUND: NotFound}.get(code, Error)
    return kind(code, text)


class _CError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 240)]


class _Config(ctypes.Structure):
    """struct cellar_config, field by field."""

    _fields_ = [
        ("fabric", ctypes.c_char_p), ("cc", ctypes.c_int), ("cns", ctypes.c_uint32), ("mns", ctypes.c_uint32),
        ("cn_index", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("coros", ctypes.c_uint32),
        ("sessions", ctypes.c_uint32), ("replicas", ctypes.c_uint32), ("pool_bytes", ctypes.c_uint64),
        ("pool_path", ctypes.c_char_p), ("cns_max", ctypes.c_uint32), ("pool_private", ctypes.c_bool),
        ("durable", ctypes.c_char_p), ("durable_bytes", ctypes.c_uint64), ("epoch_ns", ctypes.c_uint64),
        ("level", ctypes.c_int), ("memnodes", ctypes.c_char_p),
        ("secret_path", ctypes.c_char_p), ("decider", ctypes.c_void_p), ("log_bytes", ctypes.c_uint64),
        ("existing", ctypes.c_bool),
        ("rtt_ns", ctypes.c_uint64), ("lease_ns", ctypes.c_uint64), ("backoff_cap_ns", ctypes.c_uint64),
        ("hot", ctypes.c_char_p), ("way", ctypes.c_char_p), ("seed", ctypes.c_uint64), ("lock", ctypes.c_char_p),
        ("lock_policy", ctypes.c_char_p), ("log", ctypes.c_void_p), ("log_arg", ctypes.c_void_p),
    ]


class _Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
                ("cell", ctypes.c_int32)]


class _Schema(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("row_bytes", ctypes.c_uint32), ("columns", ctypes.POINTER(_Column)),
                ("column_count", ctypes.c_uint32), ("records_max", ctypes.c_uint64),
                ("cluster_bits", ctypes.c_uint32), ("key_bytes", ctypes.c_uint32),
                ("variable", ctypes.c_uint64), ("long_bytes", ctypes.c_uint64)]


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
    _fields_ = [("flags", ctypes.c_uint32), ("timeout_ns", ctypes.c_uint64), ("cancel", ctypes.c_void_p),
                ("lock_ns", ctypes.c_uint64), ("level", ctypes.c_int)]


# enum cellar_abort_reason, in its order
ABORT_REASONS = ("lock_busy", "read_locked", "validation", "index_busy", "index_validation", "torn_read", "node_failed",
                 "local_order", "draining", "dependency", "cache_full", "log_full", "hot_wait", "snapshot_gone",
                 "lock_wait", "lock_upgrade", "tree_node")


class _TableTally(ctypes.Structure):
    """struct cellar_table_tally."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("read", "written", "inserted", "deleted")] + [
        ("conflicts", ctypes.c_uint64 * len(ABORT_REASONS))]


def _load():
    path = os.environ.get("CELLAR_LIBRARY") or ctypes.util.find_library("cellar") or "libcellar.so.0"
    library = ctypes.CDLL(path)
    handle, out, key = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64
    error, number = ctypes.POINTER(_CError), ctypes.POINTER(ctypes.c_uint64)
    size = ctypes.c_size_t
    signatures = {
        "cellar_open": [ctypes.POINTER(_Config), out, error],
        "cellar_table_create": [handle, ctypes.POINTER(_Schema), out, error],
        "cellar_table_alter": [handle, handle, ctypes.POINTER(_Schema), ctypes.c_void_p, out, error],
        "cellar_index_create": [handle, handle, ctypes.POINTER(_IndexDef), out, error],
        "cellar_session_open": [handle, out, error],
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
        "cellar_abort": [handle],
    }
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    for name, arguments in {"cellar_close": [handle], "cellar_session_close": [handle],
                            "cellar_session_error": [handle, error],
                            "cellar_table_read": [handle, handle, ctypes.POINTER(_TableTally)]}.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, None
    return library


_lib = _load()


def _key(key):
    """An integer that a record's key may be: ctypes takes any, and cuts it."""
    if not 0 <= key < 1 << 64:
        raise ValueError(f"a key is 0 to 2**64 - 1, not {key}")
    return key


def _made(function, *arguments):
    """Calls a function that gives a handle and an error."""
    handle, error = ctypes.c_void_p(), _CError()
    code = function(*arguments, ctypes.byref(handle), ctypes.byref(error))
    if code:
        raise _error(-code, error.text.decode(errors="replace"))
    return handle


class _Owner:
    """What is closed once; usable with `with`."""

    def __init__(self, handle, close):
        self._handle, self._close = handle, close

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            self._close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def handle(self):
        if not self._handle:
            raise Error(1, "it is closed")
        return self._handle


class _Table:
    """A table's columns, and rows of them as bytes."""

    def __init__(self, name, columns, key_bytes):
        self.handle, self.key_bytes = None, key_bytes
        self.name = name
        self.names, self.formats, self.offsets, self.variable = [], [], [], set()
        at = 0
        for name, code in columns.items():
            if not re.fullmatch(r"[bBhHiIqQfd]|[1-9][0-9]*[sv]", code):
                raise ValueError(f"column {name}: {code!r} is none of b B h H i I q Q f d, Ns or Nv")
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

    def schema(self, records_max, long_bytes):
        fields = (_Column * len(self.names))()
        for i, column in enumerate(self.names):
            fields[i] = _Column(column.encode(), self.offsets[i], self.formats[i].size, -1)
        return _Schema(self.name.encode(), self.row_bytes, fields, len(fields), records_max, 0, self.key_bytes,
                       sum(1 << column for column in self.variable), long_bytes)

    def column(self, name):
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(f"the table has no column {name!r}") from None

    def pack(self, column, value):
        if self.key_bytes and column == 0:
            if not 1 <= len(value) <= self.key_bytes:
                raise ValueError(f"a key has 1 to {self.key_bytes} bytes, not {len(value)}")
            value = KEY_HEAD.pack(len(value), 0) + value
        if column in self.variable:
            room = self.formats[column].size - VALUE_HEAD.size
            value = VALUE_HEAD.pack(len(value), 0, 0) + value if len(value) <= room else b""
        code = self.formats[column].format
        if code.endswith("s") and len(value) > self.formats[column].size:
            raise ValueError(f"column {self.names[column]}: {len(value)} bytes; it has {self.formats[column].size}")
        return self.formats[column].pack(value)

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
        return {name: value for name, value in values.items() if self.column(name) in self.variable
                and len(value) > self.formats[self.column(name)].size - VALUE_HEAD.size}

    def row(self, values, partly=False):
        """Bytes of a row; `partly`: columns that are not named are zero, else there are none."""
        unknown = set(values) - set(self.names)
        missing = [] if partly else [name for name in self.names if name not in values]
        if unknown or missing:
            raise ValueError(f"unknown columns {sorted(unknown)}, missing columns {missing}")
        row = ctypes.create_string_buffer(self.row_bytes)
        for name, value in values.items():
            column = self.names.index(name)
            data = self.pack(column, value)
            row[self.offsets[column]:self.offsets[column] + len(data)] = data
        return row


class Transaction:
    """One interactive transaction. With `with` it commits at the end, and an exception aborts it."""

    def __init__(self, session, flags, timeout_ns):
        self._session, self._handle = session, ctypes.c_void_p()
        options = _TxnOptions(flags=flags, timeout_ns=timeout_ns)
        session.wants(_lib.cellar_begin(session.handle, ctypes.byref(options), ctypes.byref(self._handle)))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self._handle:
            self.commit()
        else:
            self.abort()

    def _call(self, function, *arguments):
        if not self._handle:
            raise Error(1, "the transaction has ended")
        return self._session.wants(function(self._handle, *arguments))

    def get(self, table, key, column, for_update=False):
        number = table.column(column)
        value = ctypes.create_string_buffer(table.formats[number].size)
        if number in table.variable:
            return self._get_bytes(table, key, number, for_update)
        function = _lib.cellar_txn_get_for_update if for_update else _lib.cellar_txn_get
        self._call(function, table.handle, _key(key), number, value)
        return table.unpack(number, value.raw)

    def _get_bytes(self, table, key, number, for_update):
        head = ctypes.create_string_buffer(table.formats[number].size)
        function = _lib.cellar_txn_get_for_update if for_update else _lib.cellar_txn_get
        self._call(function, table.handle, _key(key), number, head)
        value, size = ctypes.create_string_buffer(VALUE_HEAD.unpack_from(head)[0] or 1), ctypes.c_size_t()
        self._call(_lib.cellar_txn_get_bytes, table.handle, _key(key), number, value, len(value), ctypes.byref(size))
        return value.raw[:size.value]

    def row(self, table, key):
        """All columns, by name."""
        return {name: self.get(table, key, name) for name in table.names}

    def put(self, table, key, **values):
        for name, value in values.items():
            number = table.column(name)
            if number in table.variable:
                self._call(_lib.cellar_txn_put_bytes, table.handle, _key(key), number, value, len(value))
            else:
                self._call(_lib.cellar_txn_put, table.handle, _key(key), number, table.pack(number, value))

    def insert(self, table, key, **values):
        self._call(_lib.cellar_txn_insert, table.handle, _key(key), table.row(values))
        self.put(table, key, **table.long_values(values))

    def delete(self, table, key):
        self._call(_lib.cellar_txn_delete, table.handle, _key(key))

    def find(self, table, key):
        """The number of the record with this byte-string key, or None."""
        record = ctypes.c_uint64()
        try:
            self._call(_lib.cellar_txn_find, table.handle, key, len(key), ctypes.byref(record))
        except NotFound:
            return None
        return record.value

    def add(self, table, **values):
        """Inserts a row of a table with byte-string keys: its record's number."""
        record = ctypes.c_uint64()
        self._call(_lib.cellar_txn_add, table.handle, table.row(values), ctypes.byref(record))
        self.put(table, record.value, **table.long_values(values))
        return record.value

    def remove(self, table, record):
        self._call(_lib.cellar_txn_remove, table.handle, _key(record))

    def scan(self, index, low=None, high=None, limit=1000, backward=False):
        """Keys in the index's order; low and high are columns' values by name, both included."""
        scope, _rows = self._range(index, low, high)
        keys = (ctypes.c_uint64 * limit)()
        found = self._call(_lib.cellar_txn_scan, index.handle, ctypes.byref(scope), 0, BACKWARD if backward else 0,
                           keys, limit)
        return list(keys[:found])

    def scan_rows(self, index, low=None, high=None, limit=1000, backward=False):
        """The same, each key with the index's columns by name, covered ones too: no record is read."""
        scope, _rows = self._range(index, low, high)
        table, keys = index.table, (ctypes.c_uint64 * limit)()
        names = [name for name in index.names if table.column(name) or not table.key_bytes] + index.covering
        rows = ctypes.create_string_buffer(limit * table.row_bytes)
        found = self._call(_lib.cellar_txn_scan_rows, index.handle, ctypes.byref(scope), BACKWARD if backward else 0,
                           keys, rows, limit)
        return [(keys[i], {name: table.unpack_at(name, rows, i * table.row_bytes) for name in names})
                for i in range(found)]

    @staticmethod
    def _range(index, low, high):
        """And what it points to."""
        rows, scope = [], _Range(high_key=2**64 - 1)
        for bound, values in ((scope.low, low), (scope.high, high)):
            if values:
                if list(values) != index.names[:len(values)]:
                    raise ValueError(f"a range is of the index's first columns, in order: {index.names}")
                rows.append(index.table.row(values, partly=True))
                bound.row, bound.columns = ctypes.addressof(rows[-1]), len(values)
        return scope, rows

    def savepoint(self):
        return self._call(_lib.cellar_savepoint)

    def rollback_to(self, savepoint):
        self._call(_lib.cellar_rollback_to, savepoint)

    def release(self, savepoint):
        self._call(_lib.cellar_release, savepoint)

    def check(self):
        self._call(_lib.cellar_check)

    def commit(self):
        handle, self._handle = self._handle, None
        if not handle:
            raise Error(1, "the transaction has ended")
        self._session.wants(_lib.cellar_commit(handle, None))

    def abort(self):
        handle, self._handle = self._handle, None
        if handle:
            _lib.cellar_abort(handle)


class Session(_Owner):
    """What a thread has for transactions, one at a time."""

    def wants(self, code):
        """The code, if the call went well."""
        if code >= 0:
            return code
        error = _CError()
        _lib.cellar_session_error(self.handle, ctypes.byref(error))
        raise _error(-code, error.text.decode(errors="replace"))

    def begin(self, read_only=False, timeout_ns=0):
        return Transaction(self, READ_ONLY if read_only else 0, timeout_ns)

    def transact(self, work, read_only=False):
        """Runs work(txn) until it commits; what it returned then."""
        while True:
            try:
                with self.begin(read_only) as txn:
                    result = work(txn)
                return result
            except Retry:
                continue


class _Index:
    def __init__(self, handle, table, names, covering):
        self.handle, self.table, self.names, self.covering = handle, table, names, covering


class Database(_Owner):
    def table(self, name, columns, records_max, key_bytes=0, long_bytes=0):
        """
        Creates a table, or finds it. key_bytes: keys are byte strings of at most so many bytes, in the first column,
        whose code must leave room for 4 bytes more. long_bytes: of columns Nv, what has no room in rows, all together.
        """
        table = _Table(name, columns, key_bytes)
        schema = table.schema(records_max, long_bytes)
        table.handle = _made(_lib.cellar_table_create, self.handle, ctypes.byref(schema))
        return table

    def alter(self, table, columns, records_max, **defaults):
        """
        Gives a table other columns: those that both have keep their values, new ones get `defaults` (else zeros). At
        rest; all records are written anew. The table that is there then; the old one is of no use.
        """
        altered = _Table(table.name, columns, table.key_bytes)
        schema, row = altered.schema(records_max, 0), altered.row(defaults, partly=True)
        altered.handle = _made(_lib.cellar_table_alter, self.handle, table.handle, ctypes.byref(schema), row)
        return altered

    def index(self, table, name, columns=(), unique=False, covering=()):
        """
        Of columns, in that order; none: of the keys. A name with - before it: descending. `covering`: columns that
        scan_rows finds in the index, too. Key columns of byte strings, which lose their length there, can only be
        covered.
        """
        names = [column.lstrip("-") for column in columns]
        fields = (_IndexColumn * max(len(names) + len(covering), 1))()
        for i, column in enumerate(covering):
            fields[len(names) + i] = _IndexColumn(column.encode(), COVERED, False)
        for i, column in enumerate(names):
            code = table.formats[table.column(column)].format[-1]
            if code in "fd":
                raise ValueError(f"column {column}: an index has no order for floating-point numbers")
            sort = 2 if code == "s" else 1 if code in "bhiq" else 0
            fields[i] = _IndexColumn(column.encode(), sort, columns[i].startswith("-"))
        definition = _IndexDef(name.encode(), fields, len(names) + len(covering), 1 if unique else 0)
        handle = _made(_lib.cellar_index_create, self.handle, table.handle, ctypes.byref(definition))
        return _Index(handle, table, names, list(covering))

    def table_tally(self, table):
        """What transactions of this process did with the table's records: counts by name, and conflicts by reason."""
        tally = _TableTally()
        _lib.cellar_table_read(self.handle, table.handle, ctypes.byref(tally))
        counts = {name: getattr(tally, name) for name in ("read", "written", "inserted", "deleted")}
        return {**counts, "conflicts": {name: count for name, count in zip(ABORT_REASONS, tally.conflicts) if count}}

    def session(self):
        return Session(_made(_lib.cellar_session_open, self.handle), _lib.cellar_session_close)


def open(path=None, pool_bytes=0, memnodes=None, **settings):
    """Settings are the fields of struct cellar_config; texts are str. In memory without a path."""
    config = _Config(pool_bytes=pool_bytes)
    for name, value in {"pool_path": path, "memnodes": memnodes, **settings}.items():
        if name not in dict(_Config._fields_):
            raise ValueError(f"no setting {name!r}")
        setattr(config, name, os.fsencode(value) if isinstance(value, (str, os.PathLike)) else value)
    return Database(_made(_lib.cellar_open, ctypes.byref(config)), _lib.cellar_close)
