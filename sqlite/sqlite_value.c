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

/* ---- bytes ---- */

static void be_put(uint8_t *at, uint64_t number)
{
    number = __builtin_bswap64(number);
    memcpy(at, &number, sizeof number);
}

static uint64_t be_get(const uint8_t *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return __builtin_bswap64(number);
}

static uint64_t real_bits(double real)
{
    uint64_t bits;
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

/* The integers that a plain column has. */
static void integer_limits(const struct sqlite_column *column, int64_t *low, int64_t *high)
{
    uint32_t bits = 8 * column->bytes;
    bool is_unsigned = column->kind == CELLAR_UINT && bits < 64;
    *low = is_unsigned ? 0 : INT64_MIN >> (64 - bits);
    *high = is_unsigned ? (int64_t)(UINT64_MAX >> (64 - bits)) : INT64_MAX >> (64 - bits);
}

bool sqlite_value_integer_put(const struct sqlite_column *column, int64_t integer, uint8_t *row)
{
    int64_t low, high;
    integer_limits(column, &low, &high);
    memcpy(row + column->offset, &integer, column->bytes); /* little-endian, as are all machines that it runs on */
    return integer >= low && integer <= high;
}

static bool integer_put(const struct sqlite_column *column, int64_t integer, uint8_t *row)
{
    if (!column->tagged) return sqlite_value_integer_put(column, integer, row);
    row[column->offset] = 1;
    be_put(row + column->offset + 1, (uint64_t)integer ^ SIGN);
    return true;
}

static void real_put(const struct sqlite_column *column, double real, uint8_t *row)
{
    uint8_t *at = row + column->offset;
    real += 0.0; /* -0.0 is 0.0 */
    float narrow = (float)real;
    if (column->tagged) {
        *at = 1;
        be_put(at + 1, real_bits(real));
    } else {
        memcpy(at, column->bytes == sizeof narrow ? (const void *)&narrow : &real, column->bytes);
    }
}

static void text_set(const struct sqlite_column *column, const void *data, size_t bytes, uint8_t *row)
{
    const struct cellar_bytes text = {data, bytes};
    memcpy(row + column->offset, &text, sizeof text);
}

static struct cellar_bytes text_of(const struct sqlite_column *column, const uint8_t *row)
{
    struct cellar_bytes text;
    memcpy(&text, row + column->offset, sizeof text);
    return text;
}

/* Of a column that lies in the row. What does not fit is cut. */
static void bytes_put(const struct sqlite_column *column, const void *data, uint32_t bytes, uint8_t *row)
{
    uint32_t used = bytes < column->room ? bytes : column->room;
    uint8_t *at = row + (column->kind == CELLAR_BYTES ? column->spot : column->offset);
    if (column->kind == CELLAR_BYTES)
        text_set(column, at, used + column->tagged, row);
    else
        memset(at, 0, column->bytes);
    if (column->tagged) *at++ = 1;
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

static int put_integer(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab)
{
    int64_t integer, low, high;
    if (!sqlite_value_integer(value, &integer)) return datatype(column, value, vtab);
    if (integer_put(column, integer, row)) return SQLITE_OK;
    integer_limits(column, &low, &high);
    return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s has %d bytes: %lld to %lld, not %lld", column->name,
                             (int)column->bytes, low, high, integer);
}

static int put_real(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab)
{
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return datatype(column, value, vtab);
    real_put(column, sqlite3_value_double(value), row);
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
    if (!*data && *bytes) return SQLITE_NOMEM;
    if (*bytes > column->room)
        return sqlite_txn_refuse(vtab, SQLITE_TOOBIG, "column %s takes %d bytes, not %d", column->name,
                                 (int)column->room, (int)*bytes);
    if (!blob && !is_utf8(*data, *bytes))
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s: the text is not valid UTF-8", column->name);
    return SQLITE_OK;
}

#define PRESENT 0xff /* before a value beside the row that could be taken for NULL, or for this byte */

/* In memory of its own. */
static int put_long(const struct sqlite_column *column, const void *data, uint32_t bytes, uint8_t *row,
                    sqlite3_vtab *vtab)
{
    bool marked = column->tagged && (!bytes || *(const uint8_t *)data == PRESENT);
    if (marked && bytes == CELLAR_VALUE_BYTES_MAX)
        return sqlite_txn_refuse(vtab, SQLITE_TOOBIG, "column %s takes %d bytes, a blob that begins with ff one less",
                                 column->name, CELLAR_VALUE_BYTES_MAX);
    uint8_t *copy = sqlite3_malloc64((uint64_t)bytes + 1);
    if (!copy) return SQLITE_NOMEM;
    copy[0] = PRESENT;
    if (bytes) memcpy(copy + marked, data, bytes);
    text_set(column, copy, bytes + marked, row);
    return SQLITE_OK;
}

static int put_bytes(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab)
{
    const void *data = NULL;
    uint32_t bytes = 0;
    int rc = bytes_of(column, value, &data, &bytes, vtab);
    if (rc) return rc;
    if (sqlite_value_is_long(column)) return put_long(column, data, bytes, row, vtab);
    bool blob = column->type == SQLITE_TYPE_BLOB, whole = column->kind != CELLAR_BYTES;
    if (whole && !blob && bytes && !((const char *)data)[bytes - 1])
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s keeps no zeros at the end of a text", column->name);
    if (whole && blob && bytes != column->room)
        return sqlite_txn_refuse(vtab, SQLITE_MISMATCH, "column %s has %d bytes, not %d", column->name,
                                 (int)column->room, (int)bytes);
    bytes_put(column, data, bytes, row);
    return SQLITE_OK;
}

int sqlite_value_put(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab)
{
    if (sqlite3_value_type(value) != SQLITE_NULL) {
        if (column->type == SQLITE_TYPE_INTEGER) return put_integer(column, value, row, vtab);
        return column->type == SQLITE_TYPE_REAL ? put_real(column, value, row, vtab)
                                                : put_bytes(column, value, row, vtab);
    }
    if (column->not_null)
        return sqlite_txn_refuse(vtab, SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: column %s",
                                 column->name);
    memset(row + column->offset, 0, column->bytes);
    return SQLITE_OK;
}

bool sqlite_value_copy(const struct sqlite_column *column, const uint8_t *from, uint8_t *row)
{
    if (column->kind != CELLAR_BYTES) {
        memcpy(row + column->offset, from + column->offset, column->bytes);
        return true;
    }
    const struct cellar_bytes text = text_of(column, from);
    uint8_t *to = column->spot ? row + column->spot : sqlite3_malloc64(text.bytes + 1);
    if (!to) return false;
    if (text.bytes) memcpy(to, text.data, text.bytes);
    text_set(column, to, text.bytes, row);
    return true;
}

/* ---- out of a row ---- */

static struct sqlite_scalar scalar_integer(const struct sqlite_column *column, const uint8_t *at)
{
    uint64_t number = 0;
    uint32_t unused = 64 - 8 * column->bytes;
    if (column->tagged)
        return (struct sqlite_scalar){.type = SQLITE_INTEGER, .integer = (int64_t)(be_get(at + 1) ^ SIGN)};
    memcpy(&number, at, column->bytes);
    int64_t integer = column->kind == CELLAR_UINT ? (int64_t)number : (int64_t)(number << unused) >> unused;
    return (struct sqlite_scalar){.type = SQLITE_INTEGER, .integer = integer};
}

static struct sqlite_scalar scalar_real(const struct sqlite_column *column, const uint8_t *at)
{
    double real;
    float narrow;
    if (column->tagged) {
        real = real_of_bits(be_get(at + 1));
    } else if (column->bytes == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        real = narrow;
    } else {
        memcpy(&real, at, sizeof real);
    }
    return (struct sqlite_scalar){.type = SQLITE_FLOAT, .real = real};
}

static struct sqlite_scalar scalar_bytes(const struct sqlite_column *column, const uint8_t *row)
{
    static const uint8_t nothing[1];
    struct cellar_bytes text = {row + column->offset, column->bytes};
    const uint8_t *data = text.data;
    if (column->kind == CELLAR_BYTES) {
        text = text_of(column, row);
        data = text.bytes ? text.data : nothing;
        if (column->tagged && !text.bytes) return (struct sqlite_scalar){.type = SQLITE_NULL};
        bool marked = column->tagged && (!sqlite_value_is_long(column) || *data == PRESENT);
        if (marked && !sqlite_value_is_long(column) && *data != 1)
            return (struct sqlite_scalar){.type = SQLITE_SCALAR_DAMAGED}; /* another program has written it */
        data += marked;
        text.bytes -= marked;
    } else if (column->type == SQLITE_TYPE_TEXT) {
        while (text.bytes && !data[text.bytes - 1]) text.bytes--;
    }
    bool is_text = column->type == SQLITE_TYPE_TEXT && is_utf8(data, (uint32_t)text.bytes);
    return (struct sqlite_scalar){
        .type = is_text ? SQLITE_TEXT : SQLITE_BLOB, .data = data, .bytes = (uint32_t)text.bytes};
}

struct sqlite_scalar sqlite_value_get(const struct sqlite_column *column, const uint8_t *row)
{
    const uint8_t *at = row + column->offset;
    if (column->type == SQLITE_TYPE_TEXT || column->type == SQLITE_TYPE_BLOB) return scalar_bytes(column, row);
    if (column->tagged && *at == 0) return (struct sqlite_scalar){.type = SQLITE_NULL};
    return column->type == SQLITE_TYPE_INTEGER ? scalar_integer(column, at) : scalar_real(column, at);
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

enum sqlite_reach sqlite_value_integer_bound(sqlite3_value *value, enum sqlite_side side, int64_t *integer)
{
    bool low = side == SQLITE_SIDE_LOW;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_NULL:
        return SQLITE_REACH_NONE;
    case SQLITE_INTEGER:
        *integer = sqlite3_value_int64(value);
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
    *integer = (int64_t)real;
    return SQLITE_REACH_BOUND;
}

static enum sqlite_reach integer_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                       uint8_t *row)
{
    int64_t integer, low, high;
    enum sqlite_reach reach = sqlite_value_integer_bound(value, side, &integer);
    if (reach != SQLITE_REACH_BOUND || integer_put(column, integer, row)) return reach;
    integer_limits(column, &low, &high);
    if (side == SQLITE_SIDE_LOW) return integer > high ? SQLITE_REACH_NONE : SQLITE_REACH_ALL;
    return integer < low ? SQLITE_REACH_NONE : SQLITE_REACH_ALL;
}

/* Rounded as the column's values are: what is above it stays above, or becomes the same. */
static enum sqlite_reach real_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                    uint8_t *row)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL) return SQLITE_REACH_NONE;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return side == SQLITE_SIDE_LOW ? SQLITE_REACH_NONE : SQLITE_REACH_ALL;
    real_put(column, sqlite3_value_double(value), row);
    return SQLITE_REACH_BOUND;
}

static enum sqlite_reach bytes_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *row)
{
    int type = sqlite3_value_type(value);
    bool blob = column->type == SQLITE_TYPE_BLOB;
    if (type == SQLITE_NULL) return SQLITE_REACH_NONE;
    /* A number, or a value of the other kind: how these compare depends on what it comes from. */
    if (type != (blob ? SQLITE_BLOB : SQLITE_TEXT)) return SQLITE_REACH_ALL;
    const void *data = blob ? sqlite3_value_blob(value) : sqlite3_value_text(value);
    uint32_t bytes = (uint32_t)sqlite3_value_bytes(value);
    if (!data && bytes) return SQLITE_REACH_ALL;
    if (sqlite_value_is_unordered(column) && bytes != column->room) return SQLITE_REACH_ALL;
    bytes_put(column, data, bytes, row); /* cut, if need be: no value of the column lies between */
    return SQLITE_REACH_BOUND;
}

enum sqlite_reach sqlite_value_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *row)
{
    if (column->type == SQLITE_TYPE_INTEGER) return integer_bound(column, value, side, row);
    return column->type == SQLITE_TYPE_REAL ? real_bound(column, value, side, row)
                                            : bytes_bound(column, value, side, row);
}

bool sqlite_value_is_less(const struct sqlite_column *column, const uint8_t *row, const uint8_t *other)
{
    const struct sqlite_scalar a = sqlite_value_get(column, row), b = sqlite_value_get(column, other);
    if (column->type == SQLITE_TYPE_INTEGER) return a.integer < b.integer;
    if (column->type == SQLITE_TYPE_REAL) return a.real < b.real;
    int order = memcmp(a.data, b.data, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order < 0 || (order == 0 && a.bytes < b.bytes);
}
