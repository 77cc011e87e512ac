"""Cellar for Python: interactive transactions over libcellar.so, by ctypes. What a call promises is in cellar.h.

    import cellar

    with cellar.open("bank", bytes=64 << 20) as db:
        accounts = db.table("accounts", {"id": int, "owner": "str:40", "cents": "q"}, key="id", ordered=True,
                            indexes=[cellar.Index("by_owner", "owner, -cents")])
        with db.begin() as txn:  # commits at the end; an exception aborts it
            txn.insert(accounts, id=7, owner="ada", cents=100)

        @db.transaction()  # again and again, until nothing comes between
        def pay(txn, id, cents):
            row = txn.get(accounts, id)
            txn.put(accounts, id=id, cents=row["cents"] - cents)

        pay(7, 10)
        with db.begin(read_only=True) as txn:
            for row in txn.scan(accounts.indexes["by_owner"], prefix="a"):
                print(row["owner"], row["cents"])

A column is
    b B h H i I q Q f d    a number, as in the module struct; int is q, float is d
    ?, bool                True or False, in a byte
    Ns                     N bytes; shorter ones are filled up with zeros
    bytes:N, str:N         up to N bytes, a str in UTF-8; bytes, str: up to a MiB. With N above 256 they lie beside the
                           row, and no index has them. A key wants N

A row is a dict: all columns, or those that were asked for and always the key. Any mapping may be put. Columns may have
any names: the arguments before them are given by place alone. A key is given as its values, in the order of `key`.

Any thread may use a transaction; calls of several take turns. One that nobody holds any more is aborted. A database may
be closed by any thread, while no other has a transaction: that waits for calls under way, and aborts those of the
thread's own; what is used after it says so. After a fork a child can close what it has, which does nothing, and open
anew. What nobody closes stays open until the process ends.

Errors are cellar.Error, with `code` and a line. cellar.Retry means that another transaction came between: begin again,
or let run do it. cellar.NotFound is a KeyError as well, and cellar.Invalid, an argument that cannot be or a use of what
has ended, a ValueError; one of a wrong type is a TypeError. After any of these but Retry the transaction goes on as if
the call had not been made, unless it has ended.
"""

import contextlib
import ctypes
import ctypes.util
import functools
import inspect
import itertools
import numbers
import operator
import os
import random
import re
import struct
import threading
import time
from collections import deque
from collections.abc import Mapping

INVALID, NOT_FOUND, EXISTS, TOO_LARGE, CLOSED, RETRY, BUSY = -1, -8, -9, -10, -13, -17, -18
VALUE_BYTES_MAX = 1 << 20
EXISTING, PRIVATE, ADD, ORDERED, KEY, UNIQUE, READ_ONLY = 1, 2, 4, 8, 16, 32, 64
BACKWARD, PREFIX, FROM_EXCLUDED, TO_EXCLUDED = 128, 256, 512, 1024
MEMORY, DURABLE = 1, 2
UINT, INT, FLOAT, FIXED, BYTES = 1, 2, 3, 4, 5
BATCH_MAX = 512  # rows that a cursor reads at one moment


class Error(Exception):
    """An engine's refusal: `code` is one of CELLAR_ERROR_MAP."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Retry(Error):
    """Another transaction came between."""


class NotFound(Error, KeyError):
    """There is no such row, or table."""

    __str__ = Error.__str__


class Exists(Error):
    """There is such a row already."""


class Invalid(Error, ValueError):
    """An argument that cannot be, or a use of what has ended."""

    def __init__(self, text, code=INVALID):
        super().__init__(code, text)


def _error(code, text):
    if code == INVALID:
        return Invalid(text)
    kind = {RETRY: Retry, NOT_FOUND: NotFound, EXISTS: Exists}.get(code, Error)
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
        ("lost", ctypes.c_uint32), ("seed", ctypes.c_uint64), ("log_bytes", ctypes.c_uint64),
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
                ("type", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("bytes_max", ctypes.c_uint32),
                ("cell", ctypes.c_uint32)]


class _IndexDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("columns", ctypes.c_char_p), ("covers", ctypes.c_char_p),
                ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class _TableDef(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("row_bytes", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("columns", ctypes.POINTER(_Column)), ("column_count", ctypes.c_uint32),
                ("cluster_bits", ctypes.c_uint32), ("rows", ctypes.c_uint64), ("indexes", ctypes.POINTER(_IndexDef)),
                ("index_count", ctypes.c_uint32), ("flags", ctypes.c_uint32)]


class _Read(ctypes.Structure):
    _fields_ = [("table", ctypes.c_void_p), ("index", ctypes.c_void_p), ("row", ctypes.c_void_p),
                ("columns", ctypes.c_uint64), ("lock", ctypes.c_uint64), ("row_bytes", ctypes.c_uint32),
                ("code", ctypes.c_int32)]


class _Scan(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("table", ctypes.c_void_p),
                ("index", ctypes.c_void_p), ("from", ctypes.c_char_p), ("to", ctypes.c_char_p),
                ("from_columns", ctypes.c_uint32), ("to_columns", ctypes.c_uint32), ("after", ctypes.c_char_p),
                ("columns", ctypes.c_uint64), ("lock", ctypes.c_uint64), ("row_bytes", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


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
    handle, out, row = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p
    columns, count, size = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_size_t
    signatures = {
        "cellar_open": [ctypes.c_char_p, ctypes.POINTER(_Options), out],
        "cellar_close": [handle],
        "cellar_table_open": [handle, ctypes.POINTER(_TableDef), count, out],
        "cellar_table_describe": [handle, handle, ctypes.POINTER(_TableDef)],
        "cellar_table_alter": [handle, handle, ctypes.POINTER(_TableDef), row, out],
        "cellar_table_drop": [handle, handle],
        "cellar_table_truncate": [handle, handle],
        "cellar_index_drop": [handle, handle],
        "cellar_begin": [handle, ctypes.POINTER(_TxnOptions), out],
        "cellar_get": [handle, handle, columns, columns, handle, size],
        "cellar_get_many": [handle, ctypes.POINTER(_Read), count],
        "cellar_put": [handle, handle, columns, row, size],
        "cellar_insert": [handle, handle, row, size],
        "cellar_delete": [handle, handle, row, size],
        "cellar_cursor_open": [handle, ctypes.POINTER(_Scan), out],
        "cellar_cursor_next": [handle, count, handle, size],
        "cellar_savepoint": [handle],
        "cellar_rollback_to": [handle, ctypes.c_int],
        "cellar_release": [handle, ctypes.c_int],
        "cellar_check": [handle],
        "cellar_commit": [handle, ctypes.c_void_p],
    }
    for name, arguments in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    for name, arguments in {"cellar_abort": [handle], "cellar_cursor_close": [handle],
                            "cellar_lab_table_read": [handle, handle, ctypes.POINTER(_TableTally)]}.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, None
    library.cellar_index_find.argtypes, library.cellar_index_find.restype = [handle, ctypes.c_char_p], handle
    library.cellar_table_next.argtypes, library.cellar_table_next.restype = [handle, ctypes.c_char_p], ctypes.c_char_p
    library.cellar_last_error.argtypes, library.cellar_last_error.restype = [], ctypes.POINTER(_CError)
    return library


_lib = _load()


def _shown(value):
    """As text; an integer may have more digits than Python prints."""
    try:
        return repr(value)
    except ValueError:
        return f"a value of type {type(value).__name__}"


def _number(what, value, most, least=0):
    """An integer in that range: ctypes takes any, and cuts it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {_shown(value)}") from None
    if not least <= number <= most:
        raise Invalid(f"{what} is {least} to {most}, not {_shown(number)}")
    return number


def _uint32(what, value):
    return _number(what, value, (1 << 32) - 1)


def _uint64(what, value):
    return _number(what, value, (1 << 64) - 1)


def _zeroless(what, text):
    """For C, where a text ends at a zero."""
    if b"\0" in text:
        raise Invalid(f"{what} has a zero byte: {text!r}")
    return text


def _is(kind, what, value):
    if not isinstance(value, kind):
        raise TypeError(f"{what} is a {kind.__name__}, not {_shown(value)}")
    return value


def _name(what, value):
    return _zeroless(what, _is(str, what, value).encode())


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


# ---- tables ----

_KINDS = {int: "q", float: "d", bool: "?", bytes: "bytes", str: "str"}
_CODE = re.compile(r"[?bBhHiIqQfd]|([1-9][0-9]{0,6})s|(?:bytes|str)(?::([1-9][0-9]{0,6}))?")
_TYPES = {**dict.fromkeys("?BHIQ", UINT), **dict.fromkeys("bhiq", INT), **dict.fromkeys("fd", FLOAT), "s": FIXED,
          "bytes": BYTES, "str": BYTES}


class _Field:
    """A column: how its values look in a row's bytes."""

    def __init__(self, name, code, key):
        self.encoded, self.name, self.key = _name("a column's name", name), name, key
        code = _KINDS.get(code, code) if isinstance(code, type) else code
        match = _CODE.fullmatch(code) if isinstance(code, str) else None
        if not match:
            raise Invalid(f"column {name}: {code!r} is none of ? b B h H i I q Q f d, Ns, bytes, bytes:N, str or str:N")
        self.code = "s" if match[1] else code.partition(":")[0]
        self.type, self.room = _TYPES[self.code], int(match[1] or match[2] or VALUE_BYTES_MAX)
        self.format = {FIXED: f"{self.room}s", BYTES: "QQ"}.get(self.type, self.code)
        self.bytes = struct.calcsize("=" + self.format)
        self.check = {"?": self._bool, "s": self._bytes, "bytes": self._bytes, "str": self._str}.get(self.code)
        self.offset = 0

    @classmethod
    def described(cls, column):
        """Of what the engine says; a str is bytes to it."""
        codes = {UINT: " BH I   Q", INT: " bh i   q", FLOAT: "    f   d"}.get(column.type)
        code = codes[column.bytes] if codes else f"{column.bytes}s" if column.type == FIXED else (
            f"bytes:{column.bytes_max or VALUE_BYTES_MAX}")
        field = cls(column.name.decode(), code, bool(column.flags & KEY))
        field.offset = column.offset
        return field

    def place(self, at):
        """Puts it where it can be in a row of which so many bytes are taken: how many are then."""
        align = 1 if self.type == FIXED else min(self.bytes, 8)
        self.offset = -(-at // align) * align
        return self.offset + self.bytes

    def column(self):
        return _Column(self.encoded, self.offset, self.bytes, self.type, KEY if self.key else 0,
                       self.room if self.type == BYTES else 0, 0)

    def _bool(self, value):
        return _is(bool, f"column {self.name}", value)

    def _bytes(self, value):
        """As bytes: others may count in something else than bytes."""
        if not isinstance(value, (bytearray, memoryview)):
            _is(bytes, f"column {self.name}", value)
        return self._fitting(bytes(value))

    def _str(self, value):
        try:
            return self._fitting(_is(str, f"column {self.name}", value).encode())
        except UnicodeEncodeError as error:
            raise Invalid(f"column {self.name}: {error}") from None

    def _fitting(self, value):
        if len(value) > self.room:
            raise Invalid(f"column {self.name}: {len(value)} bytes; it has room for {self.room}", TOO_LARGE)
        return value

    def refuse(self, value):
        """Raises what is wrong with a number that `struct` does not take, if this is the one."""
        try:
            struct.pack("=" + self.code, value)
        except (struct.error, OverflowError):
            if isinstance(value, numbers.Real) if self.type == FLOAT else hasattr(value, "__index__"):
                raise Invalid(f"column {self.name}: {_shown(value)} is out of the range of {self.code}") from None
            kind = "a number" if self.type == FLOAT else "an integer"
            raise TypeError(f"column {self.name} is {kind}, not {_shown(value)}") from None


class _Shape:
    """Some of a table's columns, as a set and as one `struct` of the whole row: values to bytes, and back."""

    def __init__(self, fields, mask, row_bytes):
        self.mask, self.fields = mask, [field for i, field in enumerate(fields) if mask >> i & 1]
        self.names = tuple(field.name for field in self.fields)
        code, at = "=", 0
        for field in self.fields:
            code += f"{field.offset - at}x{field.format}"
            at = field.offset + field.bytes
        self.struct = struct.Struct(f"{code}{row_bytes - at}x")
        self._checks = [(place, field.check) for place, field in enumerate(self.fields) if field.check]
        # Columns that are an address and a length there, and where that is; the last one first.
        lent = [place for place, field in enumerate(self.fields) if field.type == BYTES]
        self._lent = lent[::-1]
        self._slots = [(place + i, self.fields[place].code == "str") for i, place in enumerate(lent)][::-1]
        self._pointers = ctypes.c_char_p * len(self._lent)
        self._addresses = struct.Struct(f"{len(self._lent)}P")

    def pack(self, values):
        """A row's bytes, and what keeps alive what they lead to."""
        fields, kept = list(values), None
        for place, check in self._checks:
            fields[place] = check(fields[place])
        if self._lent:
            kept = self._pointers(*[fields[place] for place in self._lent])
            for place, address in zip(self._lent, self._addresses.unpack(kept)):
                fields[place:place + 1] = address, len(fields[place])
        try:
            return self.struct.pack(*fields), kept
        except (struct.error, OverflowError):
            for field, value in zip(self.fields, values):
                if not field.check:
                    field.refuse(value)
            raise

    def row(self, fields):
        """A row of what `struct` has unpacked; bytes that are lent are copied."""
        if self._slots:
            fields = list(fields)
            for slot, text in self._slots:
                value = ctypes.string_at(fields[slot], fields[slot + 1])
                fields[slot:slot + 2] = (value.decode() if text else value,)
        return dict(zip(self.names, fields))

    def unpack(self, buffer):
        return self.row(self.struct.unpack(buffer))

    def unpack_many(self, buffer, count):
        return [self.row(fields) for fields in self.struct.iter_unpack(memoryview(buffer)[:count * self.struct.size])]


class Index:
    """Of a table that is opened: `columns` as "city, -age" or ["city", "-age"], - is descending; likewise `covers`."""

    def __init__(self, name, columns, covers=(), unique=False):
        self.name, self.columns, self.covers, self.unique = name, _names(columns), _names(covers), unique

    def order(self):
        return [name[1:] if name.startswith("-") else name for name in self.columns]

    def definition(self):
        covers = _name("a column's name", ",".join(self.covers)) if self.covers else None
        return _IndexDef(_name("an index's name", self.name), _name("a column's name", ",".join(self.columns)), covers,
                         UNIQUE if self.unique else 0, 0)


def _names(columns):
    """As the engine finds them between commas."""
    return [name.strip(" ") for name in columns.split(",")] if isinstance(columns, str) else list(columns or ())


class _Order:
    """What can be scanned, or asked for one row: a table by its key, or by an index."""

    def __init__(self, table, index, order):
        self.table, self.index, self.order = table, index, tuple(order)
        self.mask = table.key_mask | table.set_of(self.order)
        self._ends = [table.shape(table.set_of(self.order[:count])) for count in range(len(self.order) + 1)]

    def pack(self, values):
        """A row with the first so many columns of the order."""
        if len(values) > len(self.order):
            raise Invalid(f"{self}: {len(values)} values; its columns are {', '.join(self.order)}")
        shape = self._ends[len(values)]
        if shape.names != self.order[:len(values)]:
            named = dict(zip(self.order, values))
            values = [named[name] for name in shape.names]
        return shape.pack(values)

    def pack_key(self, values):
        if len(values) != len(self.order):
            raise Invalid(f"{self}: {len(values)} values for {', '.join(self.order)}")
        return self.pack(values)


class Table(_Order):
    """A table: `name`, `key`, and `indexes` by their names. Database.table opens it."""

    def __init__(self, database, name, handle, fields, row_bytes, indexes):
        self.database, self.name, self.handle, self.row_bytes = database, name, handle, row_bytes
        self.buffer = ctypes.c_char * row_bytes
        self._fields, self._shapes = fields, {}
        self._bits = {field.name: 1 << i for i, field in enumerate(fields)}
        self.columns = tuple(self._bits)
        self.key = tuple(field.name for field in fields if field.key)
        self.key_mask, self.all = self.set_of(self.key), (1 << len(fields)) - 1
        super().__init__(self, None, self.key)
        self.indexes = {index.name: TableIndex(self, index) for index in indexes}

    def __repr__(self):
        return f"table {self.name}"

    def set_of(self, names):
        """A set of columns; None and True: all of them."""
        if names is None or names is True:
            return self.all
        columns, bits = 0, self._bits
        for name in (names,) if isinstance(names, str) else names:
            if name not in bits:
                raise Invalid(f"{self} has no column {name!r}")
            columns |= bits[name]
        return columns

    def shape(self, columns):
        found = self._shapes.get(columns)
        if not found:
            found = self._shapes[columns] = _Shape(self._fields, columns, self.row_bytes)
        return found

    def pack_row(self, row, columns, needed):
        """Of a mapping and of columns by name: which they are, the row's bytes, and what keeps those alive."""
        values = columns if row is None else {**_is(Mapping, "a row", row), **columns}
        shape = self.shape(self.set_of(values))
        if needed & ~shape.mask:
            missing = [name for name, bit in self._bits.items() if bit & needed & ~shape.mask]
            raise Invalid(f"{self}: missing columns: {', '.join(missing)}")
        return shape.mask, *shape.pack([values[name] for name in shape.names])


class TableIndex(_Order):
    """An index of a table: `table`, and `order`, the names of its columns."""

    def __init__(self, table, index):
        self.database, self.name = table.database, index.name
        handle = _lib.cellar_index_find(table.handle, index.name.encode())
        if not handle:  # by another thread, since the table was opened; without one a scan would go by the key
            self.database._usable()
            raise NotFound(NOT_FOUND, f"index {index.name} of {table} was dropped")
        super().__init__(table, handle, index.order())

    def __repr__(self):
        return f"index {self.name} of {self.table}"


def _fields(columns, key):
    """The columns of a table that is to be opened, those of the key first and in its order; and a row's bytes."""
    _is(Mapping, "what gives columns their codes", columns)
    key = (key,) if isinstance(key, str) else tuple(key)
    missing = [name for name in key if name not in columns]
    if missing or len(set(key)) != len(key):
        raise Invalid(f"a key is of columns, each once, not {key!r}")
    fields = [_Field(name, columns[name], True) for name in key]
    fields += [_Field(name, code, False) for name, code in columns.items() if name not in key]
    taken = 0
    for field in fields:
        taken = field.place(taken)
    row_bytes = -(-taken // 8) * 8
    return fields, _uint32("a row's bytes", row_bytes)


def _indexes(indexes):
    """A list of cellar.Index, or their columns by name."""
    return [Index(*item) for item in indexes.items()] if isinstance(indexes, Mapping) else list(indexes)


def _definition(name, fields, row_bytes, indexes):
    """For the engine. Indexes are of columns that are given: of others it would make what cannot be scanned here."""
    columns = (_Column * len(fields))(*[field.column() for field in fields])
    orders = (_IndexDef * len(indexes))(*[_is(Index, "an index", index).definition() for index in indexes])
    given = [field.name for field in fields]
    for index in indexes:
        for column in index.order():
            if column not in given:
                raise Invalid(f"index {index.name} of table {name}: no column {column!r} is given")
    return _TableDef(size=ctypes.sizeof(_TableDef), row_bytes=row_bytes, name=_name("a table's name", name),
                     columns=columns, column_count=len(columns), indexes=orders or None, index_count=len(orders))


def _of(database, thing, kind=Table):
    """The table of a table, or of an index: for the engine any pointer is one."""
    if not isinstance(thing, kind):
        raise TypeError(f"a table{'' if kind is Table else ' or an index'} is wanted, not {_shown(thing)}")
    if thing.database is not database:
        raise Invalid(f"{thing} is of another database")
    return thing.table


# ---- transactions ----

class _TxnHandle(ctypes.c_void_p):
    """
    Of a transaction; NULL once it has ended. Who has the lock is in a call of it; `thread`: who was the last. `lent`:
    that call has bytes of the engine's, so that nothing that interrupts it ends the transaction. `dropped`: cursors
    that nobody holds any more.
    """

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        self.lock, self.thread, self.lent, self.dropped = threading.RLock(), threading.get_ident(), False, []


class Read:
    """One of the rows of Transaction.get_many: as the arguments of get."""

    def __init__(self, of, /, *key, columns=None, lock=()):
        self.of, self.key, self.columns, self.lock = of, key, columns, lock


class _Uncopied:
    def __reduce_ex__(self, _):
        raise TypeError(f"a {type(self).__name__.lower()} cannot be copied")


class Cursor(_Uncopied):
    """Rows of a scan, an iterator. It closes at its end, by close(), after `with`, or when nobody holds it any more."""

    _handle = None

    def __init__(self, txn, handle, shape):
        self._txn, self._handle, self._shape = txn, handle, shape
        self._rows, self._batch, self._closed = deque(), 1, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if self._handle:  # others may be in a call of the transaction: its next one closes it
            self._txn._handle.dropped.append(self._handle)

    def __iter__(self):
        return self

    def __next__(self):
        while self._handle or self._rows or self._closed:
            self._txn._database._usable()
            self._txn._live()
            if self._closed:
                raise Invalid("the cursor is closed")
            try:
                return self._rows.popleft()
            except IndexError:
                self._fill()
        raise StopIteration

    def _fill(self):
        with self._txn._handle.lock:
            if self._rows or not self._handle:
                return
            batch, shape = self._batch, self._shape
            buffer = ctypes.create_string_buffer(batch * shape.struct.size)
            try:
                rows = self._txn._call(_lib.cellar_cursor_next, batch, buffer, shape.struct.size, of=self._handle,
                                       take=functools.partial(shape.unpack_many, buffer))
                self._rows.extend(rows)
            except Error:
                raise
            except BaseException:  # of what interrupts it, or of a text that is none: rows are lost
                self.close()
                raise
            if len(rows) < batch:
                self._drop()
            self._batch = max(1, min(8 * batch, BATCH_MAX, VALUE_BYTES_MAX // shape.struct.size))

    def _drop(self):
        handle, self._handle = self._handle, None
        if handle:
            self._txn._handle.dropped.append(handle)
            self._txn._sweep()

    def close(self):
        """Does nothing when it has come to its end, or its transaction has."""
        if self._handle or self._rows:
            self._closed = True
            self._rows.clear()
            self._drop()


_RAISES = object()


def _commit(handle):
    return _lib.cellar_commit(handle, None)


class Transaction(_Uncopied):
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

    def _live(self):
        """Raises, if it is over."""
        if not self._handle:
            self._database._usable()
            raise Invalid("the transaction has ended")

    def _call(self, function, *arguments, of=None, take=None):
        """
        The code of function(handle, ...), if it went well; `of`: the handle of a cursor instead. Or what take(code)
        makes of what the call has lent: until then the transaction cannot end.
        """
        self._database._usable()  # before the lock, which after a fork nobody gives back
        handle = self._handle
        with handle.lock:
            if not handle:
                self._live()
            if handle.dropped:
                self._sweep()
            handle.thread, before = threading.get_ident(), handle.lent
            try:
                handle.lent = before or take is not None
                code = function(of or handle, *arguments)
                if code >= 0:
                    return take(code) if take else code
            finally:
                handle.lent = before
        raise _last(code)

    def _end(self, handle, function):
        """Calls what ends it."""
        if handle.lent:
            raise Invalid("a call of this transaction has not returned")
        code = function(handle)
        self._over = True
        self._database._ended(handle)
        return code

    def _sweep(self):
        """Closes cursors that nobody holds any more."""
        handle = self._handle
        if handle.dropped and not self._database._forked():
            with handle.lock:
                while handle.dropped:
                    cursor = handle.dropped.pop()
                    if handle and self._database._handle:
                        _lib.cellar_cursor_close(cursor)

    def get(self, of, /, *key, columns=None, lock=(), default=_RAISES):
        """
        The row of a table with this key, or the first one of an index with these values of its columns. `columns`:
        names of those that are wanted. `lock`: of those that no other transaction is to change before this one ends;
        True: all. `default`: what there is instead of NotFound.
        """
        try:
            return self._get(of, key, columns, lock)
        except NotFound:
            if default is _RAISES:
                raise
            return default

    def _get(self, of, key, columns, lock):
        table = _of(self._database, of, _Order)
        if of is not table:
            row, = self.get_many([Read(of, *key, columns=columns, lock=lock)])
            if row is None:
                raise NotFound(NOT_FOUND, f"no row is equal in these columns: {of}, {', '.join(of.order)} {key!r}")
            return row
        shape = table.shape(table.set_of(columns) | table.key_mask)
        packed, _kept = table.pack_key(key)
        row = table.buffer.from_buffer_copy(packed)
        return self._call(_lib.cellar_get, table.handle, shape.mask, table.set_of(lock or ()), row, table.row_bytes,
                          take=lambda _: shape.unpack(row))

    def get_many(self, reads):
        """
        The rows of these reads, as of one moment; None where there is none. Each is a cellar.Read, or a tuple: a table
        or index, and the values of its key.
        """
        reads = [read if isinstance(read, Read) else Read(*read) for read in reads]
        asked, taken, kept = (_Read * len(reads))(), [], []
        for place, read in zip(asked, reads):
            table = _of(self._database, read.of, _Order)
            shape = table.shape(table.set_of(read.columns) | read.of.mask)
            packed, pointed = read.of.pack_key(read.key)
            row = table.buffer.from_buffer_copy(packed)
            place.table, place.index, place.row = table.handle, read.of.index, ctypes.addressof(row)
            place.columns, place.lock, place.row_bytes = shape.mask, table.set_of(read.lock or ()), table.row_bytes
            taken.append((place, shape, row))
            kept.append(pointed)
        return self._call(_lib.cellar_get_many, asked, len(asked),
                          take=lambda _: [None if place.code else shape.unpack(row) for place, shape, row in taken])

    def put(self, table, row=None, /, **columns):
        """Changes columns of a row; with all of them it also makes the row. A mapping, or columns by name, or both."""
        _of(self._database, table)
        mask, packed, _kept = table.pack_row(row, columns, table.key_mask)
        self._call(_lib.cellar_put, table.handle, mask, packed, table.row_bytes)

    def insert(self, table, row=None, /, **columns):
        """Makes a row, of all columns."""
        _of(self._database, table)
        _mask, packed, _kept = table.pack_row(row, columns, table.all)
        self._call(_lib.cellar_insert, table.handle, packed, table.row_bytes)

    def delete(self, table, /, *key):
        """That there was no such row is no error."""
        _of(self._database, table)
        packed, _kept = table.pack_key(key)
        self._call(_lib.cellar_delete, table.handle, packed, table.row_bytes)

    def scan(self, of, /, *, from_=None, to=None, equal=None, prefix=None, from_excluded=False, to_excluded=False,
             backward=False, after=None, columns=None, lock=()):
        """
        A cursor over rows in the order of an index, or of a table's key. The ends are values of the first columns of
        that order: a tuple, or a value alone. `from_` is the low end in that order, and `to` the high one, also
        backward; rows that are equal to an end belong to the range, unless it is excluded. `equal`: both ends.
        `prefix`: likewise, but the last value says how those of the column begin. `after`: a row of an earlier scan,
        behind which this one goes on. `columns` and `lock` as in get; those of the order are in each row.
        """
        table = _of(self._database, of, _Order)
        shape = table.shape(table.set_of(columns) | of.mask)
        scan = _Scan(size=ctypes.sizeof(_Scan), table=table.handle, index=of.index, columns=shape.mask,
                     lock=table.set_of(lock or ()), row_bytes=table.row_bytes)
        for flag, given in ((BACKWARD, backward), (PREFIX, prefix is not None), (FROM_EXCLUDED, from_excluded),
                            (TO_EXCLUDED, to_excluded)):
            scan.flags |= flag if given else 0
        if sum((from_ is not None or to is not None, equal is not None, prefix is not None)) > 1:
            raise Invalid("a range has from_ and to, or equal, or prefix")
        both, kept = equal if prefix is None else prefix, []
        for end, values in (("from", from_ if both is None else both), ("to", to if both is None else both)):
            if values is not None:
                values = values if isinstance(values, (tuple, list)) else (values,)
                packed, pointed = of.pack(values)
                setattr(scan, end, packed)
                setattr(scan, end + "_columns", len(values))
                kept.append(pointed)
        if after is not None:
            wanted = table.shape(of.mask).names
            own = {name: value for name, value in _is(Mapping, "`after`", after).items() if name in wanted}
            _mask, scan.after, pointed = table.pack_row(own, {}, of.mask)
            kept.append(pointed)
        handle = ctypes.c_void_p()
        self._call(_lib.cellar_cursor_open, ctypes.byref(scan), ctypes.byref(handle))
        return Cursor(self, handle, shape)

    def savepoint(self):
        return self._call(_lib.cellar_savepoint)

    def rollback_to(self, savepoint):
        """Forgets what was written since, and later savepoints."""
        self._call(_lib.cellar_rollback_to, self._savepoint(savepoint))

    def release(self, savepoint):
        """Forgets that savepoint and later ones; what was written stays."""
        self._call(_lib.cellar_release, self._savepoint(savepoint))

    @staticmethod
    def _savepoint(savepoint):
        return _number("a savepoint", savepoint, (1 << 31) - 1)

    def check(self):
        """Retry, unless all that was read is true at one moment, now."""
        self._call(_lib.cellar_check)

    def commit(self):
        self._call(self._end, _commit)

    def abort(self):
        """Does nothing when it has ended, as with its database, or in a child of its process."""
        if self._over or self._database._forked():
            return
        with self._handle.lock:
            self._end(self._handle, _lib.cellar_abort if self._database._handle else bool)


class _Transactions:
    """What Database.transaction gives."""

    def __init__(self, database, settings):
        self._database, self._settings, self._txn = database, settings, None

    def __enter__(self):
        if self._txn:
            raise Invalid("this one has begun a transaction that has not ended")
        self._txn = self._database.begin(**self._settings)
        return self._txn

    def __exit__(self, *raised):
        txn, self._txn = self._txn, None
        txn.__exit__(*raised)

    def __call__(self, function):
        if any(is_one(function) for is_one in (inspect.isgeneratorfunction, inspect.iscoroutinefunction,
                                               inspect.isasyncgenfunction)):
            raise TypeError(f"{function!r} would go on when its transaction has ended")

        @functools.wraps(function)
        def run(*arguments, **named):
            return self._database.run(lambda txn: function(txn, *arguments, **named), **self._settings)
        return run


# ---- databases ----

class Database(_Uncopied):
    """An open database."""

    def __init__(self, handle):
        self._handle, self._process = handle, os.getpid()
        self._txns, self._closing = set(), threading.RLock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _forked(self):
        return self._process != os.getpid()

    def _usable(self):
        """The handle; or why there is none."""
        if self._forked():
            raise Invalid("the database is the parent process's: open the database anew in a child")
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
            time.sleep(random.random() * (1 << min(attempt, 12)) / 1e6)
            if options.timeout_us:
                options.timeout_us = max(until_us - time.monotonic_ns() // 1000, 1)

    def transaction(self, read_only=False, **settings):
        """
        As begin, for `with db.transaction() as txn:`; and a decorator of functions whose first argument is a
        transaction, which their callers leave out: as run, each call runs until it commits.
        """
        _txn_options(read_only, settings)  # what is wrong is said here
        return _Transactions(self, {"read_only": read_only, **settings})

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
                if txn.lent:
                    raise Error(BUSY, "a call of a transaction has not returned")
            for txn in list(self._txns):
                if txn.thread == threading.get_ident():
                    _lib.cellar_abort(txn)
                    self._ended(txn)
            code = _lib.cellar_close(self._handle)
            if code not in (0, CLOSED):
                raise _error(code, "another thread has a transaction that has not ended")
            self._handle = None

    def tables(self):
        """Their names, sorted."""
        names, name = [], _lib.cellar_table_next(self._usable(), None)
        while name is not None:
            names.append(name.decode())
            name = _lib.cellar_table_next(self._usable(), name)
        return names

    def table(self, name, columns=None, key=(), *, ordered=False, indexes=(), rows=65536, existing=False, add=False):
        """
        Opens a table, or makes it. `columns` are codes by name (above), all or some of the table's; `key`: the names of
        those of the key. `ordered`: it can be scanned by its key. `indexes`: cellar.Index, or their columns by name.
        `rows`: how many are expected, of one that is made. `existing`: NotFound where there is none. `add`: indexes
        that it lacks are made. Without columns: one that is there, with all that it has; what is a str elsewhere is
        bytes then.
        """
        if columns is None:
            if key or indexes or ordered or add:
                raise Invalid("without columns a table is opened as it is")
            return self._described(name)
        fields, row_bytes = _fields(columns, key)
        indexes = _indexes(indexes)
        definition = _definition(name, fields, row_bytes, indexes)
        definition.rows, definition.flags = _uint64("rows", rows), ORDERED if ordered else 0
        flags = (EXISTING if existing else 0) | (ADD if add else 0)
        handle = _made(_lib.cellar_table_open, self._usable(), ctypes.byref(definition), flags)
        return Table(self, name, handle, fields, row_bytes, indexes)

    def alter(self, table, columns, defaults=None, *, ordered=False, indexes=(), rows=0):
        """
        Gives a table other columns, codes by name as for `table`, those of the key among them, and returns it as it is
        then; the one that was given says Dropped. Rows keep what they had, lose columns that are not named, and get
        `defaults`, by name, in new ones (else zeros, or empty). Indexes stay; `ordered` and `indexes` are made where
        they are missing. `rows`: as for `table`; 0: as it was.
        """
        _of(self, table)
        fields, row_bytes = _fields(columns, [name for name in table.key if name in columns])
        indexes = _indexes(indexes)
        definition = _definition(table.name, fields, row_bytes, indexes)
        definition.rows, definition.flags = _uint64("rows", rows), ORDERED if ordered else 0
        values = {} if defaults is None else _is(Mapping, "defaults", defaults)
        fresh = [field for field in fields if field.name not in table.columns]
        for name in values:
            if name not in [field.name for field in fresh]:
                raise Invalid(f"{table} gets no new column {name!r}")
        shape = _Shape(fields, sum(1 << i for i, field in enumerate(fields) if field.name in values), row_bytes)
        packed, kept = shape.pack([values[name] for name in shape.names])
        handle = _made(_lib.cellar_table_alter, self._usable(), table.handle, ctypes.byref(definition), packed)
        del kept
        return Table(self, table.name, handle, fields, row_bytes, indexes)

    def _described(self, name):
        definition = _TableDef(size=ctypes.sizeof(_TableDef), name=_name("a table's name", name))
        handle = _made(_lib.cellar_table_open, self._usable(), ctypes.byref(definition), EXISTING)
        self._done(_lib.cellar_table_describe(self._usable(), handle, ctypes.byref(definition)))
        fields = [_Field.described(column) for column in definition.columns[:definition.column_count]]
        indexes = [Index(index.name.decode(), index.columns.decode(), (index.covers or b"").decode(),
                         bool(index.flags & UNIQUE)) for index in definition.indexes[:definition.index_count]]
        return Table(self, name, handle, fields, definition.row_bytes, indexes)

    def drop(self, of):
        """Drops a table with its indexes, or an index. At rest, as truncate."""
        table = _of(self, of, _Order)
        self._done(_lib.cellar_table_drop(self._usable(), table.handle) if of is table else
                   _lib.cellar_index_drop(self._usable(), of.index))

    def truncate(self, table):
        """Takes all rows of a table."""
        self._done(_lib.cellar_table_truncate(self._usable(), _of(self, table).handle))

    @staticmethod
    def _done(code):
        if code:
            raise _last(code)

    def table_tally(self, table):
        """What transactions of this process did with the table's records: counts by name, and conflicts by reason."""
        tally, of = _TableTally(), _of(self, table)
        _lib.cellar_lab_table_read(self._usable(), of.handle, ctypes.byref(tally))
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
