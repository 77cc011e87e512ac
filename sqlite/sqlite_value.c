/* sqlite_value.c - values of SQL as bytes of a row, and bounds of what a constraint leaves. */
#include "sqlite_value.h"

#include <math.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

#define SIGN (1ull << 63)
#define TWO_63 9223372036854775808.0

const char *sqlite_type_name(enum sqlite_type type)
{
    static const char *const names[] = {"INTEGER", "REAL", "TEXT", "BLOB"};
    return names[type];
}

static bool is_number(const struct sqlite_column *column)
{
    return column->type == SQLITE_TYPE_INTEGER || column->type == SQLITE_TYPE_REAL;
}

uint32_t sqlite_value_bytes(enum sqlite_type type, uint32_t n)
{
    return type == SQLITE_TYPE_INTEGER || type == SQLITE_TYPE_REAL ? 9 : n + 3;
}

uint32_t sqlite_value_room(const struct sqlite_column *column)
{
    if (column->variable) return CELLAR_VALUE_BYTES_MAX;
    return column->is_key ? column->bytes - 4 : column->tagged ? column->bytes - 3 : column->bytes;
}

/* ---- bytes ---- */

static void be_put(uint8_t *at, uint64_t number, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> (8 * (bytes - 1 - i)));
}

static uint64_t be_get(const uint8_t *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) number = number << 8 | at[i];
    return number;
}

static uint64_t real_bits(double real)
{
    uint64_t bits;
    real += 0.0; /* -0.0 is 0.0 */
    memcpy(&bits, &real, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double real_of_bits(uint64_t bits)
{
    double real;
    bits = bits & SIGN ? bits & ~SIGN : ~bits;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static void integer_put(const struct sqlite_column *column, int64_t integer, uint8_t *at)
{
    if (column->tagged) {
        at[0] = 1;
        be_put(at + 1, (uint64_t)integer ^ SIGN, 8);
    } else {
        memcpy(at, &integer, column->bytes); /* little-endian, as are all machines that it runs on */
    }
}

static void real_put(double real, uint8_t *at)
{
    at[0] = 1;
    be_put(at + 1, real_bits(real), 8);
}

/* What does not fit is cut. */
static void bytes_put(const struct sqlite_column *column, const void *data, uint32_t bytes, uint8_t *at)
{
    uint32_t room = sqlite_value_room(column), used = bytes < room ? bytes : room;
    memset(at, 0, column->bytes);
    if (column->is_key) {
        uint16_t length = (uint16_t)used;
        memcpy(at, &length, sizeof length);
        at += 4;
    } else if (column->tagged) {
        *at++ = 1;
        be_put(at + room, used, 2);
    }
    if (used) memcpy(at, data, used);
}

/* ---- into a row ---- */

static bool is_utf8(const uint8_t *text, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes;) {
        uint8_t first = text[i];
        uint32_t more = first < 0x80   ? 0
                        : first < 0xc2 ? 4
                        : first < 0xe0 ? 1
                        : first < 0xf0 ? 2
                        : first < 0xf5 ? 3
                                       : 4;
        if (more > 3 || more >= bytes - i) return false;
        uint32_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        uint32_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        for (uint32_t k = 1; k <= more; k++, low = 0x80, high = 0xbf)
            if (text[i + k] < low || text[i + k] > high) return false;
        i += more + 1;
    }
    return true;
}

static int datatype(const struct sqlite_column *column, sqlite3_value *value, sqlite3_vtab *vtab)
{
    static const char *const names[] = {"", "INTEGER", "REAL", "TEXT", "BLOB", "NULL"};
    return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s is %s, and the value is %s", column->name,
                             sqlite_type_name(column->type), names[sqlite3_value_type(value)]);
}

bool sqlite_value_integer(sqlite3_value *value, int64_t *integer)
{
    int type = sqlite3_value_numeric_type(value);
    double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;
    if (type == SQLITE_FLOAT && real > -TWO_63 && real < TWO_63 && real == floor(real)) {
        *integer = (int64_t)real;
        return true;
    }
    if (type == SQLITE_INTEGER) *integer = sqlite3_value_int64(value);
    return type == SQLITE_INTEGER;
}

static int put_integer(const struct sqlite_column *column, sqlite3_value *value, uint8_t *at, sqlite3_vtab *vtab)
{
    int64_t integer;
    if (!sqlite_value_integer(value, &integer)) return datatype(column, value, vtab);
    uint32_t bits = 8 * column->bytes;
    if (!column->tagged && bits < 64) {
        int64_t low = column->is_unsigned ? 0 : -(1ll << (bits - 1));
        int64_t high = column->is_unsigned ? (1ll << bits) - 1 : (1ll << (bits - 1)) - 1;
        if (integer < low || integer > high)
            return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s has %d bytes: %lld to %lld, not %lld",
                                     column->name, (int)column->bytes, low, high, integer);
    }
    integer_put(column, integer, at);
    return SQLITE_OK;
}

static int put_real(const struct sqlite_column *column, sqlite3_value *value, uint8_t *at, sqlite3_vtab *vtab)
{
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return datatype(column, value, vtab);
    real_put(sqlite3_value_double(value), at);
    return SQLITE_OK;
}

/* The bytes of a value that is of the column's type, and not too long. */
static int bytes_of(const struct sqlite_column *column, sqlite3_value *value, const void **data, uint32_t *bytes,
                    sqlite3_vtab *vtab)
{
    bool blob = column->type == SQLITE_TYPE_BLOB;
    if ((sqlite3_value_type(value) == SQLITE_BLOB) != blob) return datatype(column, value, vtab);
    *data = blob ? sqlite3_value_blob(value) : sqlite3_value_text(value);
    *bytes = (uint32_t)sqlite3_value_bytes(value);
    uint32_t room = sqlite_value_room(column);
    if (!*data && *bytes) return SQLITE_NOMEM;
    if (*bytes > room)
        return sqlite_txn_refuse(vtab, SQLITE_TOOBIG, "column %s takes %d bytes, not %d", column->name, (int)room,
                                 (int)*bytes);
    if (!blob && !is_utf8(*data, *bytes))
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s: the text is not valid UTF-8", column->name);
    return SQLITE_OK;
}

static int put_bytes(const struct sqlite_column *column, sqlite3_value *value, uint8_t *at, sqlite3_vtab *vtab)
{
    bool blob = column->type == SQLITE_TYPE_BLOB;
    const void *data;
    uint32_t bytes, room = sqlite_value_room(column);
    int rc = bytes_of(column, value, &data, &bytes, vtab);
    if (rc) return rc;
    if (column->is_key && !bytes)
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "a key (column %s) has one byte at least", column->name);
    if (!column->tagged && !blob && bytes && !((const char *)data)[bytes - 1] && !column->is_key)
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s keeps no zeros at the end of a text", column->name);
    if (!column->tagged && !column->is_key && blob && bytes != room)
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s has %d bytes, not %d", column->name, (int)room,
                                 (int)bytes);
    bytes_put(column, data, bytes, at);
    return SQLITE_OK;
}

static int null_check(const struct sqlite_column *column, sqlite3_vtab *vtab)
{
    if (!column->not_null) return SQLITE_OK;
    return sqlite_txn_refuse(vtab, SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: column %s", column->name);
}

int sqlite_value_put(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab)
{
    uint8_t *at = row + column->offset;
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        int rc = null_check(column, vtab);
        if (rc) return rc;
        memset(at, 0, column->bytes);
        return SQLITE_OK;
    }
    if (column->type == SQLITE_TYPE_INTEGER) return put_integer(column, value, at, vtab);
    return column->type == SQLITE_TYPE_REAL ? put_real(column, value, at, vtab) : put_bytes(column, value, at, vtab);
}

/* ---- values of variable length ---- */

#define PRESENT 0xff /* before a value that could be taken for NULL, or for this byte */

uint32_t sqlite_value_head(const struct sqlite_column *column)
{
    return column->bytes - (uint32_t)(sizeof(CELLAR_VALUE(8)) - 8);
}

int sqlite_value_pack(const struct sqlite_column *column, sqlite3_value *value, struct sqlite_bytes *packed,
                      sqlite3_vtab *vtab)
{
    const void *data;
    uint32_t bytes;
    *packed = (struct sqlite_bytes){.bytes = 0};
    if (sqlite3_value_type(value) == SQLITE_NULL) return null_check(column, vtab);
    int rc = bytes_of(column, value, &data, &bytes, vtab);
    if (rc) return rc;
    bool marked = column->tagged && (!bytes || *(const uint8_t *)data == PRESENT);
    if (marked && bytes == CELLAR_VALUE_BYTES_MAX)
        return sqlite_txn_refuse(vtab, SQLITE_TOOBIG, "column %s takes %d bytes, a blob that begins with ff one less",
                                 column->name, CELLAR_VALUE_BYTES_MAX);
    packed->data = sqlite3_malloc64((uint64_t)bytes + 1);
    if (!packed->data) return SQLITE_NOMEM;
    packed->data[0] = PRESENT;
    if (bytes) memcpy(packed->data + marked, data, bytes);
    packed->bytes = bytes + marked;
    return SQLITE_OK;
}

static struct sqlite_scalar scalar_data(const struct sqlite_column *column, const uint8_t *data, uint32_t bytes)
{
    bool text = column->type == SQLITE_TYPE_TEXT && is_utf8(data, bytes);
    return (struct sqlite_scalar){.type = text ? SQLITE_TEXT : SQLITE_BLOB, .data = data, .bytes = bytes};
}

struct sqlite_scalar sqlite_value_unpack(const struct sqlite_column *column, const uint8_t *data, uint32_t bytes)
{
    static const uint8_t nothing[1];
    if (column->tagged && !bytes) return (struct sqlite_scalar){.type = SQLITE_NULL};
    if (column->tagged && data[0] == PRESENT) return scalar_data(column, data + 1, bytes - 1);
    return scalar_data(column, bytes ? data : nothing, bytes);
}

/* ---- out of a row ---- */

static int64_t plain_integer(const struct sqlite_column *column, const uint8_t *at)
{
    uint64_t number = 0;
    memcpy(&number, at, column->bytes);
    uint32_t unused = 64 - 8 * column->bytes;
    return column->is_unsigned ? (int64_t)number : (int64_t)(number << unused) >> unused;
}

static struct sqlite_scalar scalar_bytes(const struct sqlite_column *column, const uint8_t *at)
{
    uint32_t room = sqlite_value_room(column), bytes = room;
    if (column->is_key) {
        uint16_t length;
        memcpy(&length, at, sizeof length);
        bytes = length;
        at += 4;
    } else if (column->tagged) {
        at++;
        bytes = (uint32_t)be_get(at + room, 2);
    } else if (column->type == SQLITE_TYPE_TEXT) {
        while (bytes && !at[bytes - 1]) bytes--;
    }
    /* bytes of another process: judged before they are used */
    return bytes > room ? (struct sqlite_scalar){.type = SQLITE_SCALAR_DAMAGED} : scalar_data(column, at, bytes);
}

struct sqlite_scalar sqlite_value_get(const struct sqlite_column *column, const uint8_t *at)
{
    if (column->tagged && at[0] == 0) return (struct sqlite_scalar){.type = SQLITE_NULL};
    if (!is_number(column)) return scalar_bytes(column, at);
    if (!column->tagged) return (struct sqlite_scalar){.type = SQLITE_INTEGER, .integer = plain_integer(column, at)};
    uint64_t bits = be_get(at + 1, 8);
    return column->type == SQLITE_TYPE_INTEGER
               ? (struct sqlite_scalar){.type = SQLITE_INTEGER, .integer = (int64_t)(bits ^ SIGN)}
               : (struct sqlite_scalar){.type = SQLITE_FLOAT, .real = real_of_bits(bits)};
}

void sqlite_value_result(const struct sqlite_scalar *scalar, sqlite3_context *context)
{
    switch (scalar->type) {
    case SQLITE_NULL:
        sqlite3_result_null(context);
        break;
    case SQLITE_INTEGER:
        sqlite3_result_int64(context, scalar->integer);
        break;
    case SQLITE_FLOAT:
        sqlite3_result_double(context, scalar->real);
        break;
    case SQLITE_TEXT:
        sqlite3_result_text(context, scalar->data, (int)scalar->bytes, SQLITE_TRANSIENT);
        break;
    case SQLITE_BLOB:
        sqlite3_result_blob(context, scalar->data, (int)scalar->bytes, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_result_error_code(context, SQLITE_CORRUPT_VTAB);
        break;
    }
}

int sqlite_value_bind(const struct sqlite_scalar *scalar, sqlite3_stmt *statement, int number)
{
    switch (scalar->type) {
    case SQLITE_NULL:
        return sqlite3_bind_null(statement, number);
    case SQLITE_INTEGER:
        return sqlite3_bind_int64(statement, number, scalar->integer);
    case SQLITE_FLOAT:
        return sqlite3_bind_double(statement, number, scalar->real);
    case SQLITE_TEXT:
        return sqlite3_bind_text(statement, number, scalar->data, (int)scalar->bytes, SQLITE_TRANSIENT);
    case SQLITE_BLOB:
        return sqlite3_bind_blob(statement, number, scalar->data, (int)scalar->bytes, SQLITE_TRANSIENT);
    default:
        return SQLITE_CORRUPT_VTAB;
    }
}

/* ---- bounds ---- */

enum sqlite_reach sqlite_value_key_bound(sqlite3_value *value, enum sqlite_side side, int64_t *key)
{
    bool low = side == SQLITE_SIDE_LOW;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_NULL:
        return SQLITE_REACH_NONE;
    case SQLITE_INTEGER:
        *key = sqlite3_value_int64(value);
        return SQLITE_REACH_BOUND;
    case SQLITE_FLOAT:
        break;
    default:
        return low ? SQLITE_REACH_NONE : SQLITE_REACH_ALL; /* numbers are below all texts and blobs */
    }
    double real = sqlite3_value_double(value);
    real = low ? ceil(real) : floor(real);
    if (low ? real >= TWO_63 : real < -TWO_63) return SQLITE_REACH_NONE;
    if (low ? real < -TWO_63 : real >= TWO_63) return SQLITE_REACH_ALL;
    *key = (int64_t)real;
    return SQLITE_REACH_BOUND;
}

static enum sqlite_reach integer_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                       uint8_t *at)
{
    int64_t integer;
    uint32_t bits = 8 * column->bytes;
    enum sqlite_reach reach = sqlite_value_key_bound(value, side, &integer);
    if (reach != SQLITE_REACH_BOUND) return reach;
    if (!column->tagged && bits < 64) {
        int64_t low = column->is_unsigned ? 0 : -(1ll << (bits - 1));
        int64_t high = column->is_unsigned ? (1ll << bits) - 1 : (1ll << (bits - 1)) - 1;
        if (side == SQLITE_SIDE_LOW ? integer > high : integer < low) return SQLITE_REACH_NONE;
        if (side == SQLITE_SIDE_LOW ? integer < low : integer > high) return SQLITE_REACH_ALL;
    }
    integer_put(column, integer, at);
    return SQLITE_REACH_BOUND;
}

static enum sqlite_reach real_bound(sqlite3_value *value, enum sqlite_side side, uint8_t *at)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL) return SQLITE_REACH_NONE;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return side == SQLITE_SIDE_LOW ? SQLITE_REACH_NONE : SQLITE_REACH_ALL;
    /* An integer may lie between two doubles. */
    double real = sqlite3_value_double(value);
    if (type == SQLITE_INTEGER) real = nextafter(real, side == SQLITE_SIDE_LOW ? -INFINITY : INFINITY);
    real_put(real, at);
    return SQLITE_REACH_BOUND;
}

static enum sqlite_reach bytes_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *at)
{
    int type = sqlite3_value_type(value);
    bool blob = column->type == SQLITE_TYPE_BLOB;
    if (type == SQLITE_NULL) return SQLITE_REACH_NONE;
    /* A number, or a value of the other kind: how these compare depends on what it comes from. */
    if (type != (blob ? SQLITE_BLOB : SQLITE_TEXT)) return SQLITE_REACH_ALL;
    const void *data = blob ? sqlite3_value_blob(value) : sqlite3_value_text(value);
    uint32_t bytes = (uint32_t)sqlite3_value_bytes(value);
    if (!data && bytes) return SQLITE_REACH_ALL;
    bytes_put(column, data, bytes, at); /* cut, if need be: no value of the column lies between */
    return SQLITE_REACH_BOUND;
}

enum sqlite_reach sqlite_value_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *row)
{
    uint8_t *at = row + column->offset;
    if (column->type == SQLITE_TYPE_INTEGER) return integer_bound(column, value, side, at);
    return column->type == SQLITE_TYPE_REAL ? real_bound(value, side, at) : bytes_bound(column, value, side, at);
}

bool sqlite_value_is_less(const struct sqlite_column *column, const uint8_t *row, const uint8_t *other)
{
    row += column->offset;
    other += column->offset;
    if (column->type == SQLITE_TYPE_INTEGER && !column->tagged)
        return plain_integer(column, row) < plain_integer(column, other);
    return memcmp(row, other, column->bytes) < 0;
}
