/* sqlite_calls.c - one way for all calls: made, written down, and made again. */
#include "sqlite_calls.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TRIES 16

enum kind {
    GET,
    THERE,
    GET_BYTES,
    SCAN_ROWS,
    SCAN,
    FIND,
    PUT,
    PUT_BYTES,
    INSERT,
    ADD,
    DELETE,
    REMOVE,
    SAVEPOINT,
    ROLLBACK_TO,
    RELEASE,
    CHECK,
    COMMIT,
    PREFETCH
};

/* In the log `bytes` of `data`, and the rows of the range's ends, follow it. */
struct call {
    uint8_t kind; /* enum kind */
    uint8_t has_low, has_high;
    int32_t code;
    const struct cellar_table *table;
    const struct cellar_index *index;
    uint64_t key; /* or the limit, or the savepoint's number */
    int32_t column;
    uint32_t flags, bytes, row_bytes;
    cellar_cells cells;
    struct cellar_range range;
    XXH128_hash_t answer;
};

/* What a call is made with, and where its answer goes. */
struct made {
    struct call call;
    struct sqlite_calls *calls; /* GET_BYTES: its value */
    const void *data;
    void *answer;
    uint64_t answer_bytes;
};

void sqlite_calls_begin(struct sqlite_calls *calls, struct cellar *db, struct cellar_txn *txn)
{
    calls->db = db;
    calls->txn = txn;
    calls->used = 0;
    calls->whole = true;
    calls->answer_most = CELLAR_TXN_RECORDS_MAX * sizeof(uint64_t);
    _Static_assert(CELLAR_TXN_RECORDS_MAX * sizeof(uint64_t) >= CELLAR_COLUMN_BYTES_MAX,
                   "room for any answer but rows");
}

void sqlite_calls_free(struct sqlite_calls *calls)
{
    free(calls->log);
    free(calls->value);
    *calls = (struct sqlite_calls){.txn = NULL};
}

/* ---- making them ---- */

/* The answer is all keys that there might be, the rest of them zeros, and the rows that there are. */
static int run_scan_rows(struct cellar_txn *txn, struct made *made)
{
    const struct call *call = &made->call;
    uint64_t *keys = made->answer;
    memset(keys + call->key, 0, call->key * call->row_bytes); /* columns that the index does not have stay so */
    int count = cellar_txn_scan_rows(txn, call->index, &call->range, call->flags, keys, keys + call->key, call->key);
    if (count < 0) return count;
    memset(keys + count, 0, (call->key - (uint64_t)count) * sizeof *keys);
    made->answer_bytes = call->key * sizeof *keys + (uint64_t)count * call->row_bytes;
    return count;
}

static int run_read(struct cellar_txn *txn, struct made *made)
{
    const struct call *call = &made->call;
    made->answer_bytes = 0;
    if (call->kind == SCAN) {
        int count = cellar_txn_scan(txn, call->index, &call->range, call->cells, call->flags, made->answer, call->key);
        if (count > 0) made->answer_bytes = (uint64_t)count * sizeof(uint64_t);
        return count;
    }
    if (call->kind == SCAN_ROWS) return run_scan_rows(txn, made);
    int code = call->kind == FIND ? cellar_txn_find(txn, call->table, made->data, call->bytes, made->answer)
                                  : cellar_txn_get(txn, call->table, call->key, call->column, made->answer);
    if (code == 0 && call->kind != THERE) made->answer_bytes = call->kind == GET ? call->bytes : sizeof(uint64_t);
    return code;
}

static bool value_room(struct sqlite_calls *calls, size_t bytes)
{
    uint8_t *value = realloc(calls->value, bytes);
    if (!value) return false;
    calls->value = value;
    calls->value_room = bytes;
    return true;
}

/* The first answer may be how much room is wanted. */
static int run_bytes(struct cellar_txn *txn, struct made *made)
{
    const struct call *call = &made->call;
    struct sqlite_calls *calls = made->calls;
    int code;
    do {
        calls->value_bytes = 0;
        code = cellar_txn_get_bytes(txn, call->table, call->key, call->column, calls->value, calls->value_room,
                                    &calls->value_bytes);
        if (code != CELLAR_TOO_LARGE || calls->value_bytes <= calls->value_room) break;
    } while (value_room(calls, calls->value_bytes) || (code = CELLAR_NOMEM, false));
    made->answer = calls->value;
    made->answer_bytes = code == 0 ? calls->value_bytes : 0;
    return code;
}

static int run(struct cellar_txn *txn, struct made *made)
{
    const struct call *call = &made->call;
    switch ((enum kind)call->kind) {
    case GET:
    case THERE:
    case SCAN_ROWS:
    case SCAN:
    case FIND:
        return run_read(txn, made);
    case GET_BYTES:
        return run_bytes(txn, made);
    case PUT:
        return cellar_txn_put(txn, call->table, call->key, call->column, made->data);
    case PUT_BYTES:
        return cellar_txn_put_bytes(txn, call->table, call->key, call->column, made->data, call->bytes);
    case INSERT:
        return cellar_txn_insert(txn, call->table, call->key, made->data);
    case ADD:
        made->answer_bytes = sizeof(uint64_t);
        return cellar_txn_add(txn, call->table, made->data, made->answer);
    case DELETE:
        return cellar_txn_delete(txn, call->table, call->key);
    case REMOVE:
        return cellar_txn_remove(txn, call->table, call->key);
    case SAVEPOINT:
        return cellar_savepoint(txn);
    case ROLLBACK_TO:
        return cellar_rollback_to(txn, (int)call->key);
    case RELEASE:
        return cellar_release(txn, (int)call->key);
    case CHECK:
        return cellar_check(txn);
    case COMMIT:
        return cellar_commit(txn, NULL);
    case PREFETCH:
        return cellar_prefetch(txn, made->data, 1);
    }
    return CELLAR_INVALID;
}

static XXH128_hash_t answer_of(const struct made *made)
{
    return XXH3_128bits(made->answer_bytes ? made->answer : NULL, made->answer_bytes);
}

/* ---- the log ---- */

static uint64_t rounded(uint64_t bytes) { return (bytes + 7) & ~7ull; }

static bool has_data(const struct call *call) { return call->kind > SCAN; }

static uint64_t log_bytes_of(const struct call *call)
{
    return sizeof *call + rounded(has_data(call) ? call->bytes : 0) +
           rounded(call->row_bytes) * ((uint64_t)call->has_low + call->has_high);
}

static bool make_room(struct sqlite_calls *calls, uint64_t bytes)
{
    uint64_t size = calls->size ? calls->size : 1 << 16;
    while (size < calls->used + bytes) size *= 2;
    if (size > SQLITE_CALLS_BYTES) return false;
    uint8_t *log = size > calls->size ? realloc(calls->log, size) : calls->log;
    if (!log) return false;
    calls->log = log;
    calls->size = size;
    return true;
}

static void append(struct sqlite_calls *calls, const void *data, uint64_t bytes)
{
    if (bytes) memcpy(calls->log + calls->used, data, bytes);
    calls->used += rounded(bytes);
}

/* Calls that have failed but for what is an answer have changed nothing. */
static bool is_noted(const struct made *made, int code)
{
    if (made->call.kind >= CHECK) return false;
    return code >= 0 || code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS;
}

static void note(struct sqlite_calls *calls, struct made *made, int code)
{
    struct call *call = &made->call;
    if (!calls->whole || !is_noted(made, code)) return;
    call->code = code;
    call->answer = answer_of(made);
    bool scans = call->kind == SCAN || call->kind == SCAN_ROWS;
    call->has_low = scans && call->range.low.columns > 0;
    call->has_high = scans && call->range.high.columns > 0;
    calls->whole = make_room(calls, log_bytes_of(call));
    if (!calls->whole) return;
    append(calls, call, sizeof *call);
    if (has_data(call)) append(calls, made->data, call->bytes);
    if (call->has_low) append(calls, call->range.low.row, call->row_bytes);
    if (call->has_high) append(calls, call->range.high.row, call->row_bytes);
}

/* The call that stands there in the log; returns where the next one does. */
static uint64_t read_one(const struct sqlite_calls *calls, uint64_t at, struct made *made)
{
    memcpy(&made->call, calls->log + at, sizeof made->call);
    const struct call *call = &made->call;
    const uint8_t *more = calls->log + at + sizeof *call;
    made->data = more;
    if (has_data(call)) more += rounded(call->bytes);
    if (call->has_low) made->call.range.low.row = more;
    if (call->has_low) more += rounded(call->row_bytes);
    if (call->has_high) made->call.range.high.row = more;
    return at + log_bytes_of(call);
}

/* ---- again ---- */

static bool is_same(const struct made *made, int code)
{
    return code == made->call.code && XXH128_isEqual(answer_of(made), made->call.answer);
}

/* All calls of the log, in a new transaction: 0, RETRY (it met another one), or 1: something is not as it was. */
static int replay(struct sqlite_calls *calls)
{
    void *answer = malloc(calls->answer_most);
    struct made made = {.calls = calls};
    int rc = answer ? 0 : 1;
    for (uint64_t at = 0; at < calls->used && rc == 0;) {
        made.answer = answer;
        made.answer_bytes = 0;
        at = read_one(calls, at, &made);
        int code = run(calls->txn, &made);
        rc = code == CELLAR_RETRY ? code : !is_same(&made, code);
    }
    free(answer);
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

static int run_once(struct sqlite_calls *calls, struct made *made)
{
    struct cellar_txn *txn = calls->txn;
    if (made->call.kind == COMMIT) calls->txn = NULL; /* it ends, whatever comes of it */
    int code = run(txn, made);
    if (code < 0) calls->error = *cellar_last_error();
    return code;
}

static int call(struct sqlite_calls *calls, struct made *made)
{
    int code = run_once(calls, made);
    for (int tries = 0; tries < TRIES && code == CELLAR_RETRY && again(calls) == 0; tries++)
        code = run_once(calls, made);
    note(calls, made, code);
    return code;
}

/* ---- one function for each ---- */

int sqlite_calls_get(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                     uint32_t bytes, void *value)
{
    struct made made = {.call = {.kind = GET, .table = table, .key = key, .column = column, .bytes = bytes},
                        .answer = value};
    return call(calls, &made);
}

int sqlite_calls_there(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column)
{
    uint8_t value[CELLAR_COLUMN_BYTES_MAX];
    struct made made = {.call = {.kind = THERE, .table = table, .key = key, .column = column}, .answer = value};
    return call(calls, &made);
}

int sqlite_calls_scan(struct sqlite_calls *calls, const struct cellar_index *index, const struct cellar_range *range,
                      uint32_t row_bytes, cellar_cells cells, uint32_t flags, uint64_t *keys, uint64_t limit)
{
    struct made made = {.answer = keys};
    made.call = (struct call){.kind = SCAN,
                              .index = index,
                              .range = *range,
                              .row_bytes = row_bytes,
                              .cells = cells,
                              .flags = flags,
                              .key = limit};
    return call(calls, &made);
}

int sqlite_calls_scan_rows(struct sqlite_calls *calls, const struct cellar_index *index,
                           const struct cellar_range *range, uint32_t row_bytes, uint32_t flags, void *found,
                           uint64_t limit)
{
    uint64_t bytes = limit * (sizeof(uint64_t) + row_bytes);
    struct made made = {.answer = found};
    made.call = (struct call){
        .kind = SCAN_ROWS, .index = index, .range = *range, .row_bytes = row_bytes, .flags = flags, .key = limit};
    if (bytes > calls->answer_most) calls->answer_most = bytes;
    return call(calls, &made);
}

int sqlite_calls_find(struct sqlite_calls *calls, const struct cellar_table *table, const void *key, uint32_t bytes,
                      uint64_t *record)
{
    struct made made = {.call = {.kind = FIND, .table = table, .bytes = bytes}, .data = key, .answer = record};
    return call(calls, &made);
}

int sqlite_calls_put(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                     uint32_t bytes, const void *value)
{
    struct made made = {.call = {.kind = PUT, .table = table, .key = key, .column = column, .bytes = bytes},
                        .data = value};
    return call(calls, &made);
}

int sqlite_calls_get_bytes(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column)
{
    struct made made = {.call = {.kind = GET_BYTES, .table = table, .key = key, .column = column}, .calls = calls};
    return call(calls, &made);
}

int sqlite_calls_put_bytes(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                           uint32_t bytes, const void *value)
{
    struct made made = {.call = {.kind = PUT_BYTES, .table = table, .key = key, .column = column, .bytes = bytes},
                        .data = value};
    return call(calls, &made);
}

int sqlite_calls_insert(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, uint32_t row_bytes,
                        const void *row)
{
    struct made made = {.call = {.kind = INSERT, .table = table, .key = key, .bytes = row_bytes}, .data = row};
    return call(calls, &made);
}

int sqlite_calls_add(struct sqlite_calls *calls, const struct cellar_table *table, uint32_t row_bytes, const void *row,
                     uint64_t *record)
{
    struct made made = {.call = {.kind = ADD, .table = table, .bytes = row_bytes}, .data = row, .answer = record};
    return call(calls, &made);
}

int sqlite_calls_delete(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, bool keyed)
{
    struct made made = {.call = {.kind = keyed ? REMOVE : DELETE, .table = table, .key = key}};
    return call(calls, &made);
}

static int call_plain(struct sqlite_calls *calls, enum kind kind, int number)
{
    struct made made = {.call = {.kind = (uint8_t)kind, .key = (uint64_t)number}};
    return call(calls, &made);
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

int sqlite_calls_prefetch(struct sqlite_calls *calls, const struct cellar_txn_read *read)
{
    struct made made = {.call = {.kind = PREFETCH}, .data = read};
    return call(calls, &made);
}
