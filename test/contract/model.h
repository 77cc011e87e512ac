/*
 * model.h - what calls of sessions must say, by a plain array: two tables, of integer keys and of names, with ordered
 * indexes, one of them unique, and values of variable length. A transaction's calls are gone through from a state.
 */
#pragma once

#include "docs.h"
#include "schemadef.h"

#define KEYS 14
#define SAVES_MAX 6
#define SCAN_MAX (3 * KEYS)

struct entry {
    uint64_t a;
    int32_t b;
    uint32_t c;
    uint64_t u;
    CELLAR_VALUE(16) text;
};
static const struct cellar_schema_column entry_columns[] = {
    CELLAR_COLUMN(struct entry, a), CELLAR_COLUMN_IN(0, struct entry, b), CELLAR_COLUMN_IN(0, struct entry, c),
    CELLAR_COLUMN(struct entry, u), CELLAR_COLUMN(struct entry, text)};
struct named {
    CELLAR_KEY(12) key;
    uint64_t a;
    CELLAR_VALUE(8) text;
};
static const struct cellar_schema_column named_columns[] = {
    CELLAR_COLUMN(struct named, key), CELLAR_COLUMN(struct named, a), CELLAR_COLUMN(struct named, text)};

enum of_table { ENTRIES, NAMES, TABLES };
enum column { A, B, C, U, TEXT, COLUMNS };
static const int column_numbers[TABLES][COLUMNS] = {{0, 1, 2, 3, 4}, {1, -1, -1, -1, 2}};

/* ---- the array ---- */

struct row {
    bool there;
    uint64_t values[COLUMNS]; /* of TEXT its seed */
    size_t bytes;             /* of TEXT */
};

struct state {
    struct row rows[TABLES][KEYS];
    bool wrote;  /* the transaction */
    bool doomed; /* a record was written unread that was not there, or inserted that was: the commit will say so */
};

enum kind { GET, LOCK, PUT, INSERT, DELETE, SCAN, SAVEPOINT, ROLLBACK, RELEASE, CHECK, KINDS };
enum order { BY_KEY, BY_B, BY_U, BY_NAME, ORDERS };

struct call {
    enum kind kind;
    enum of_table table;
    uint32_t key; /* its place in the array */
    enum column column;
    struct row row; /* what was put, or inserted */
    int savepoint;
    enum order order;
    struct row ends[2];
    uint32_t end_keys[2], columns[2], flags;
    bool excluded[2];
    uint64_t limit;
    /* what it said: */
    int code;
    uint64_t value; /* of TEXT its sum */
    size_t bytes;
    uint32_t keys[SCAN_MAX]; /* places */
};

struct state_run { /* the calls of a transaction so far, from a state */
    struct state now, saves[SAVES_MAX];
    uint32_t save_count;
};

/* Keys at both ends of their numbers, neighbours among them. */
static uint64_t number_of(uint32_t place) { return place < KEYS / 2 ? place * 3 : UINT64_MAX - (KEYS - 1 - place); }

/* Names in the order of their places: of all lengths, some the beginning of others. */
static uint32_t name_of(uint32_t place, uint8_t *name)
{
    memset(name, 'a' + (int)(place / 5), 12);
    return place % 5 * 2 + 1;
}

static uint64_t text_sum(uint64_t seed, size_t bytes, uint8_t *room)
{
    uint64_t sum = bytes;
    docs_fill(room, bytes, seed);
    for (size_t i = 0; i < bytes; i++) sum = sum * 31 + room[i];
    return sum;
}

static int compared(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* Two rows in that order, by so many of its columns; all of them: by their keys, too. */
static int in_order(enum order order, uint32_t columns, const struct row *a, uint32_t a_key, const struct row *b,
                    uint32_t b_key, bool by_key)
{
    int by = 0;
    if (order == BY_B && columns > 0)
        by = ((int32_t)b->values[B] > (int32_t)a->values[B]) -
             ((int32_t)b->values[B] < (int32_t)a->values[B]); /* descending */
    if (order == BY_B && columns > 1 && !by) by = compared(a->values[A], b->values[A]);
    if (order == BY_U && columns > 0) by = compared(a->values[U], b->values[U]);
    if (order == BY_NAME && columns > 0) by = compared(a_key, b_key);
    return by || !by_key ? by : compared(a_key, b_key);
}

static uint32_t columns_of(enum order order) { return order == BY_KEY ? 0 : order == BY_B ? 2 : 1; }

static bool u_is_taken(const struct state *state, uint64_t u, uint32_t but)
{
    for (uint32_t k = 0; k < KEYS; k++)
        if (k != but && state->rows[ENTRIES][k].there && state->rows[ENTRIES][k].values[U] == u) return true;
    return false;
}

static bool breaks_unique(const struct state *state)
{
    for (uint32_t k = 0; k < KEYS; k++)
        if (state->rows[ENTRIES][k].there && u_is_taken(state, state->rows[ENTRIES][k].values[U], k)) return true;
    return false;
}

/* ---- what a call must say ---- */

/* Is the record within that end of the range? */
static bool is_within(const struct call *call, int end, uint32_t key, const struct row *row)
{
    bool after = (call->flags & CELLAR_AFTER) && end == !!(call->flags & CELLAR_BACKWARD);
    int by = in_order(call->order, call->columns[end], row, key, &call->ends[end], call->end_keys[end],
                      (after && call->order != BY_U) || call->order == BY_KEY);
    if (end) by = -by;
    if (call->order == BY_KEY) return by >= 0;
    return after || call->excluded[end] ? by > 0 || !(after || call->columns[end]) : by >= 0;
}

static bool is_reversed(const struct call *call)
{
    uint32_t columns = call->columns[0] < call->columns[1] ? call->columns[0] : call->columns[1];
    return in_order(call->order, columns, &call->ends[0], call->end_keys[0], &call->ends[1], call->end_keys[1],
                    call->order == BY_KEY) > 0;
}

static bool scan_is_right(const struct state *state, const struct call *call)
{
    uint32_t keys[KEYS], count = 0;
    if (is_reversed(call)) return call->code == CELLAR_INVALID;
    if (call->order == BY_U && breaks_unique(state)) return true; /* they have no order */
    for (uint32_t k = 0; k < KEYS; k++) {
        const struct row *row = &state->rows[call->table][k];
        if (!row->there || !is_within(call, 0, k, row) || !is_within(call, 1, k, row)) continue;
        uint32_t at = count++;
        for (; at > 0; at--) {
            const struct row *before = &state->rows[call->table][keys[at - 1]];
            int by = in_order(call->order, columns_of(call->order), before, keys[at - 1], row, k, true);
            if (call->flags & CELLAR_BACKWARD ? by > 0 : by < 0) break;
            keys[at] = keys[at - 1];
        }
        keys[at] = k;
    }
    if (count > call->limit) count = (uint32_t)call->limit;
    return call->code == (int)count && memcmp(keys, call->keys, count * sizeof *keys) == 0;
}

static bool value_is_right(const struct row *row, const struct call *call)
{
    if (!row->there) return call->code == CELLAR_NOT_FOUND;
    if (call->code) return false;
    if (call->column != TEXT) return call->value == row->values[call->column];
    static uint8_t room[CELLAR_VALUE_BYTES_MAX];
    return call->bytes == row->bytes && call->value == text_sum(row->values[TEXT], row->bytes, room);
}

/* A record that is not there may be found out at the commit only; a row like it, too. */
static bool put_is_right(struct state *state, const struct call *call)
{
    state->wrote |= call->code == 0;
    struct row *row = &state->rows[call->table][call->key];
    if (!row->there) {
        state->doomed = call->code == 0;
        return call->code == 0 || call->code == CELLAR_NOT_FOUND;
    }
    if (call->code) return false;
    row->values[call->column] = call->row.values[call->column];
    if (call->column == TEXT) row->bytes = call->row.bytes;
    return true;
}

static bool insert_is_right(struct state *state, const struct call *call)
{
    state->wrote |= call->code == 0;
    struct row *row = &state->rows[call->table][call->key];
    if (row->there) {
        state->doomed = call->code == 0;
        return call->code == 0 || call->code == CELLAR_EXISTS;
    }
    *row = call->row;
    return call->code == 0;
}

static bool delete_is_right(struct state *state, const struct call *call)
{
    state->wrote |= call->code == 0;
    struct row *row = &state->rows[call->table][call->key];
    if (!row->there) {
        state->doomed = call->code == 0;
        return call->code == 0 || call->code == CELLAR_NOT_FOUND;
    }
    row->there = false;
    return call->code == 0;
}

/* Does the call say what it must after those before it? Of a transaction that is doomed anything goes. */
static bool call_is_right(struct state_run *run, const struct call *call)
{
    struct state *now = &run->now;
    switch (call->kind) {
    case SAVEPOINT:
        run->saves[run->save_count++] = *now;
        return call->code == (int)run->save_count - 1;
    case ROLLBACK:
        *now = run->saves[call->savepoint];
        run->save_count = (uint32_t)call->savepoint + 1;
        return call->code == 0;
    case RELEASE:
        run->save_count = (uint32_t)call->savepoint;
        return call->code == 0;
    default:
        break;
    }
    if (now->doomed) return true;
    switch (call->kind) {
    case GET:
    case LOCK:
        return value_is_right(&now->rows[call->table][call->key], call);
    case PUT:
        return put_is_right(now, call);
    case INSERT:
        return insert_is_right(now, call);
    case DELETE:
        return delete_is_right(now, call);
    case SCAN:
        return scan_is_right(now, call);
    default:
        return call->code == 0;
    }
}

/* All of them, from that state: what is there then. -1, or the first call that was wrong. */
static int first_wrong(const struct state *from, const struct call *calls, uint32_t count, struct state *then)
{
    static struct state_run run;
    run = (struct state_run){.now = *from};
    for (uint32_t i = 0; i < count; i++)
        if (!call_is_right(&run, &calls[i])) return (int)i;
    *then = run.now;
    return -1;
}
