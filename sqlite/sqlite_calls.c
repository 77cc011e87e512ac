/* sqlite_calls.c - one way for all calls: written down, made, and made again. */
#include "sqlite_calls.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TRIES 16
#define ROWS_AT_ONCE 512            /* that a scan reads at one moment; */
#define LONG_AT_ONCE 32             /* ... where values beside the rows come with them */
#define BATCH_BYTES_MAX (16u << 20) /* of all that a scan's rows have: then it ends */
#define ROWS 3 /* that a call is made with: of a scan the low end, the high end, and the one to go on behind */

enum kind { GET, SCAN, PUT, INSERT, DELETE, SAVEPOINT, ROLLBACK_TO, RELEASE, CHECK, COMMIT };

/* In the log the rows that it is made with follow it, packed. */
struct call {
    uint8_t kind;     /* enum kind */
    bool has[ROWS];   /* of these rows */
    int32_t code;     /* what it gave, */
    uint32_t number;  /* the limit, or the savepoint's number */
    uint32_t bytes;   /* of the rows */
    uint64_t columns; /* that it is about */
    uint64_t given;   /* that the rows have */
    struct sqlite_shape shape;
    const struct cellar_index *index;
    uint32_t flags, from_columns, to_columns;
    XXH128_hash_t answer; /* ... and with which rows */
};

void sqlite_calls_begin(struct sqlite_calls *calls, struct cellar *db, struct cellar_txn *txn)
{
    calls->db = db;
    calls->txn = txn;
    calls->used = 0;
    calls->whole = true;
}

void sqlite_calls_free(struct sqlite_calls *calls)
{
    free(calls->log);
    free(calls->given);
    sqlite_rows_free(&calls->again);
    *calls = (struct sqlite_calls){.txn = NULL};
}

/* ---- making them ---- */

/* The rows that a call is made with, as structs; NULL where it has none. False: no memory. */
static bool rows_unpack(struct sqlite_calls *calls, const struct call *call, const void *rows[ROWS])
{
    const uint8_t *packed = (const uint8_t *)(call + 1), *end = packed + call->bytes;
    uint64_t bytes = (uint64_t)ROWS * call->shape.row_bytes;
    if (bytes > calls->given_bytes) {
        uint8_t *given = realloc(calls->given, bytes);
        if (!given) return false;
        calls->given = given;
        calls->given_bytes = bytes;
    }
    if (bytes) memset(calls->given, 0, bytes);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = NULL;
        if (!call->has[i]) continue;
        uint8_t *row = calls->given + (uint64_t)i * call->shape.row_bytes;
        packed += sqlite_row_unpack(&call->shape, call->given, packed, (size_t)(end - packed), row);
        rows[i] = row;
    }
    return true;
}

static int run_get(struct cellar_txn *txn, const struct call *call, const void *key, struct sqlite_rows *rows)
{
    const struct sqlite_shape *shape = &call->shape;
    if (!sqlite_rows_make(rows, shape, 1)) return CELLAR_NOMEM;
    memcpy(rows->rows, key, shape->row_bytes);
    int code = (cellar_get)(txn, shape->table, call->columns, 0, rows->rows, shape->row_bytes);
    rows->count = code == 0;
    return code || sqlite_rows_keep(rows, shape, call->columns) ? code : CELLAR_NOMEM;
}

static uint32_t rows_at_once(const struct call *call)
{
    const struct cellar_column *columns = call->shape.columns;
    for (uint64_t left = call->columns; left; left &= left - 1)
        if (columns[__builtin_ctzll(left)].bytes_max > CELLAR_SHORT_BYTES) return LONG_AT_ONCE;
    return ROWS_AT_ONCE;
}

/* Up to the limit, the end of the range, or as many bytes as a batch may have: a code, or 0. */
static int rows_read(struct cellar_cursor *cursor, const struct call *call, struct sqlite_rows *rows)
{
    const struct sqlite_shape *shape = &call->shape;
    uint32_t at_once = rows_at_once(call);
    size_t bytes = 0;
    rows->more = true;
    while (rows->more && rows->count < call->number && bytes < BATCH_BYTES_MAX) {
        uint32_t left = call->number - rows->count, most = left < at_once ? left : at_once;
        uint8_t *to = rows->rows + (size_t)rows->count * shape->row_bytes;
        int count = (cellar_cursor_next)(cursor, most, to, shape->row_bytes);
        if (count < 0) return count;
        for (int i = 0; i < count; i++)
            bytes += sqlite_row_bytes(shape, call->columns, to + (size_t)i * shape->row_bytes);
        rows->count += (uint32_t)count;
        rows->reads++;
        rows->more = (uint32_t)count == most;
    }
    return 0;
}

/* A cursor of its own: more of SQLite's may be open than a transaction has. */
static int run_scan(struct cellar_txn *txn, const struct call *call, const void *const given[ROWS],
                    struct sqlite_rows *rows)
{
    struct cellar_cursor *cursor;
    const struct sqlite_shape *shape = &call->shape;
    const struct cellar_scan scan = {.size = sizeof scan,
                                     .flags = call->flags,
                                     .table = shape->table,
                                     .index = call->index,
                                     .from = given[0],
                                     .to = given[1],
                                     .from_columns = call->from_columns,
                                     .to_columns = call->to_columns,
                                     .after = given[2],
                                     .columns = call->columns,
                                     .row_bytes = shape->row_bytes};
    if (!sqlite_rows_make(rows, shape, call->number)) return CELLAR_NOMEM;
    int code = cellar_cursor_open(txn, &scan, &cursor);
    if (code) return code;
    code = rows_read(cursor, call, rows);
    cellar_cursor_close(cursor);
    if (code) return code;
    return sqlite_rows_keep(rows, shape, call->columns | call->given) ? (int)rows->count : CELLAR_NOMEM;
}

static int run(struct sqlite_calls *calls, const struct call *call, struct sqlite_rows *rows)
{
    struct cellar_txn *txn = calls->txn;
    const struct cellar_table *table = call->shape.table;
    const void *given[ROWS];
    if (!rows_unpack(calls, call, given)) return CELLAR_NOMEM;
    switch ((enum kind)call->kind) {
    case GET:
        return run_get(txn, call, given[0], rows);
    case SCAN:
        return run_scan(txn, call, given, rows);
    case PUT:
        return (cellar_put)(txn, table, call->columns, given[0], call->shape.row_bytes);
    case INSERT:
        return (cellar_insert)(txn, table, given[0], call->shape.row_bytes);
    case DELETE:
        return (cellar_delete)(txn, table, given[0], call->shape.row_bytes);
    case SAVEPOINT:
        return cellar_savepoint(txn);
    case ROLLBACK_TO:
        return cellar_rollback_to(txn, (int)call->number);
    case RELEASE:
        return cellar_release(txn, (int)call->number);
    case CHECK:
        return cellar_check(txn);
    case COMMIT:
        return cellar_commit(txn, NULL);
    }
    return CELLAR_INVALID;
}

static XXH128_hash_t answer_of(const struct call *call, const struct sqlite_rows *rows)
{
    bool reads = call->kind <= SCAN && rows->count;
    return XXH3_128bits(reads ? rows->packed : NULL, reads ? rows->bytes : 0);
}

/* ---- the log ---- */

static uint64_t log_bytes_of(const struct call *call) { return sizeof *call + ((call->bytes + 7) & ~7ull); }

static struct call *call_at(const struct sqlite_calls *calls, uint64_t at) { return (struct call *)(calls->log + at); }

/* Room for a call behind the others; where they are too many, all of them go. */
static bool make_room(struct sqlite_calls *calls, uint64_t bytes)
{
    uint64_t size = calls->size ? calls->size : 1 << 16;
    if (calls->used + bytes > SQLITE_CALLS_BYTES) calls->whole = false;
    if (!calls->whole) calls->used = 0;
    while (size < calls->used + bytes) size *= 2;
    uint8_t *log = size > calls->size ? realloc(calls->log, size) : calls->log;
    if (!log) return false;
    calls->log = log;
    calls->size = size;
    return true;
}

/* Writes the call and its rows where the next one stands. */
static bool write_down(struct sqlite_calls *calls, struct call *call, const void *const rows[ROWS])
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        call->has[i] = rows[i] != NULL;
        if (rows[i]) bytes += sqlite_row_bytes(&call->shape, call->given, rows[i]);
    }
    call->bytes = (uint32_t)bytes;
    if (!make_room(calls, log_bytes_of(call))) return false;
    uint8_t *at = calls->log + calls->used + sizeof *call;
    memcpy(calls->log + calls->used, call, sizeof *call);
    for (uint32_t i = 0; i < ROWS; i++)
        if (rows[i]) at = sqlite_row_pack(&call->shape, call->given, rows[i], at);
    return true;
}

/* Calls that have failed but for what is an answer have changed nothing. */
static void note(struct sqlite_calls *calls, int code, const struct sqlite_rows *rows)
{
    struct call *call = call_at(calls, calls->used);
    bool is_noted = call->kind < CHECK && (code >= 0 || code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS);
    if (!calls->whole || !is_noted) return;
    call->code = code;
    call->answer = answer_of(call, rows);
    calls->used += log_bytes_of(call);
}

/* ---- again ---- */

/* All calls of the log, in a new transaction: 0, RETRY (it met another one), or 1: something is not as it was. */
static int replay(struct sqlite_calls *calls)
{
    int rc = 0;
    for (uint64_t at = 0; at < calls->used && rc == 0; at += log_bytes_of(call_at(calls, at))) {
        const struct call *call = call_at(calls, at);
        int code = run(calls, call, &calls->again);
        bool same = code == call->code && XXH128_isEqual(answer_of(call, &calls->again), call->answer);
        rc = code == CELLAR_RETRY ? code : !same;
    }
    return rc;
}

/* 0: the transaction goes on as a new one. */
static int again(struct sqlite_calls *calls)
{
    int rc = calls->whole ? CELLAR_RETRY : 1;
    for (int tries = 0; tries < TRIES && rc == CELLAR_RETRY; tries++) {
        cellar_abort(calls->txn);
        rc = cellar_begin(calls->db, NULL, &calls->txn) ? 1 : replay(calls);
    }
    return rc;
}

static int run_once(struct sqlite_calls *calls, struct sqlite_rows *rows)
{
    const struct call *call = call_at(calls, calls->used);
    int code = run(calls, call, rows);
    if (call->kind == COMMIT) calls->txn = NULL; /* it has ended, whatever came of it */
    if (code < 0) calls->error = *cellar_last_error();
    return code;
}

static int make(struct sqlite_calls *calls, struct call *call, const void *const given[ROWS], struct sqlite_rows *rows)
{
    if (!write_down(calls, call, given)) return CELLAR_NOMEM;
    int code = run_once(calls, rows);
    for (int tries = 0; tries < TRIES && code == CELLAR_RETRY && again(calls) == 0; tries++)
        code = run_once(calls, rows);
    note(calls, code, rows);
    return code;
}

/* ---- one function for each ---- */

int sqlite_calls_get(struct sqlite_calls *calls, const struct sqlite_shape *shape, uint64_t columns, const void *key,
                     struct sqlite_rows *rows)
{
    struct call call = {.kind = GET, .shape = *shape, .columns = columns | shape->keys, .given = shape->keys};
    return make(calls, &call, (const void *[ROWS]){key}, rows);
}

int sqlite_calls_scan(struct sqlite_calls *calls, const struct sqlite_shape *shape, const struct cellar_scan *scan,
                      uint64_t order, uint32_t limit, struct sqlite_rows *rows)
{
    struct call call = {.kind = SCAN,
                        .shape = *shape,
                        .index = scan->index,
                        .columns = scan->columns | shape->keys,
                        .given = order | shape->keys,
                        .flags = scan->flags,
                        .from_columns = scan->from_columns,
                        .to_columns = scan->to_columns,
                        .number = limit};
    return make(calls, &call, (const void *[ROWS]){scan->from, scan->to, scan->after}, rows);
}

static int write_row(struct sqlite_calls *calls, enum kind kind, const struct sqlite_shape *shape, uint64_t columns,
                     const void *row)
{
    struct call call = {.kind = (uint8_t)kind, .shape = *shape, .columns = columns, .given = columns | shape->keys};
    return make(calls, &call, (const void *[ROWS]){row}, NULL);
}

int sqlite_calls_put(struct sqlite_calls *calls, const struct sqlite_shape *shape, uint64_t columns, const void *row)
{
    return write_row(calls, PUT, shape, columns, row);
}

int sqlite_calls_insert(struct sqlite_calls *calls, const struct sqlite_shape *shape, const void *row)
{
    return write_row(calls, INSERT, shape, UINT64_MAX >> (64 - shape->column_count), row);
}

int sqlite_calls_delete(struct sqlite_calls *calls, const struct sqlite_shape *shape, const void *key)
{
    return write_row(calls, DELETE, shape, 0, key);
}

static int call_plain(struct sqlite_calls *calls, enum kind kind, int number)
{
    struct call call = {.kind = (uint8_t)kind, .number = (uint32_t)number};
    return make(calls, &call, (const void *[ROWS]){NULL}, NULL);
}

int sqlite_calls_savepoint(struct sqlite_calls *calls) { return call_plain(calls, SAVEPOINT, 0); }
int sqlite_calls_rollback_to(struct sqlite_calls *calls, int savepoint)
{
    return call_plain(calls, ROLLBACK_TO, savepoint);
}
int sqlite_calls_release(struct sqlite_calls *calls, int savepoint) { return call_plain(calls, RELEASE, savepoint); }
int sqlite_calls_check(struct sqlite_calls *calls) { return call_plain(calls, CHECK, 0); }
int sqlite_calls_commit(struct sqlite_calls *calls)
{
    int code = call_plain(calls, COMMIT, 0);
    cellar_abort(calls->txn); /* one that was made again, and has read what is another now */
    calls->txn = NULL;
    return code;
}
