/*
 * sim_ranges.c - the workload "ranges": ordered indexes under transactions that insert, delete, move, look up and scan,
 * over keys so few that all meet, and entries so long that a leaf has room for 28 of them (docs/ordered.md).
 *
 * The table grows and shrinks by turns, so that leaves are split and joined all the while. A scan is judged by what it
 * says itself: its records are in order and within its range, each has the columns that say so, and a second scan of
 * the same transaction sees the first one's records and what the transaction has changed since, no more and no less.
 * In some seeds entries cover all that rows have: then they are compared with the rows.
 * What others have put into the range is judged by the history; the trees by the audit.
 */
#include "bulk.h"
#include "numbered.h"
#include "db_index.h"
#include "mode.h"
#include "prng.h"
#include "sim_load.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_DRAWN_MAX 240
#define TAIL_BYTES 78 /* of an entry: 10 * 8 bytes with the column before it, and the record's key */
#define STEPS_MAX 4
#define TURN_TXNS 6 /* of a client, until growing turns into shrinking */
#define RECORDS_MAX (STEPS_MAX + 3 * KEYS_DRAWN_MAX)
#define STREAM_RANGES 0x72616e676573ull

struct ranges_row {
    uint16_t a;
    uint8_t tail[TAIL_BYTES];
    uint64_t b, n;
};

enum ranges_column { RANGES_A, RANGES_TAIL, RANGES_B, RANGES_N, RANGES_COLUMNS };

struct ranges {
    struct sim_load load;
    const struct cellar_table *table;
    const struct cellar_index *by_a, *by_b, *by_key; /* by_b is unique; it and by_key are NULL in some seeds */
    const struct cellar_proc *proc;
    uint32_t keys, values; /* of a */
    bool covers;           /* by_a and by_key have all columns */
    bool seen[KEYS_DRAWN_MAX];
};

enum ranges_kind { RANGES_PUT, RANGES_MOVE, RANGES_TOUCH, RANGES_DELETE, RANGES_LOOKUP, RANGES_KINDS };

struct ranges_step {
    enum ranges_kind kind;
    uint64_t key;
    uint16_t a;
    uint64_t b;
};

/* A range of by_a, or of by_key. */
struct ranges_scan {
    const struct cellar_index *index;
    uint64_t low, high;
    bool low_excluded, high_excluded, backward, columns;
    uint64_t limit;
};

struct ranges_call {
    struct ranges *ranges;
    uint32_t number, count; /* the transaction's number; its steps */
    struct ranges_step steps[STEPS_MAX];
    struct ranges_scan scan;
    bool scans, twice, user_abort;
    /* what the first scan has found, changed as the transaction changes records; and the place of each in the order */
    bool there[KEYS_DRAWN_MAX], own_known[KEYS_DRAWN_MAX];
    uint16_t a[KEYS_DRAWN_MAX];
    char complaint[160]; /* counts if it commits */
};

static struct ranges *ranges_of(struct sim_load *load) { return (struct ranges *)load; }

/* ---- rows ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static struct ranges_row row_of(uint64_t key, uint16_t a, uint64_t b)
{
    struct ranges_row row = {.a = a, .b = b, .n = mix(mix(key, a), b)};
    memset(row.tail, (int)(a * 7), sizeof row.tail);
    return row;
}

static bool row_sound(uint64_t key, const struct ranges_row *row)
{
    struct ranges_row wanted = row_of(key, row->a, row->b);
    return row->n == wanted.n && memcmp(row->tail, wanted.tail, sizeof wanted.tail) == 0;
}

static void complain(struct ranges_call *call, const char *what, uint64_t key)
{
    if (!call->complaint[0])
        snprintf(call->complaint, sizeof call->complaint, "%s, at key %llu", what, (unsigned long long)key);
}

/* ---- a step ---- */

static int columns_put(struct cellar_txn *txn, int ref, const struct ranges_row *row, bool moves)
{
    int code = moves ? cellar_proc_put(txn, ref, RANGES_A, &row->a) : 0;
    if (code == 0 && moves) code = cellar_proc_put(txn, ref, RANGES_TAIL, row->tail);
    if (code == 0 && moves) code = cellar_proc_put(txn, ref, RANGES_B, &row->b);
    return code ? code : cellar_proc_put(txn, ref, RANGES_N, &row->n);
}

static int step_insert(struct cellar_txn *txn, struct ranges_call *call, const struct ranges_step *step)
{
    struct ranges_row row = row_of(step->key, step->a, step->b);
    int ref = cellar_proc_insert(txn, call->ranges->table, step->key, &row);
    if (ref < 0) return ref;
    call->there[step->key] = true;
    call->a[step->key] = step->a;
    return cellar_proc_fetch(txn);
}

/* A record that may be there or not: what is to become of it. */
static int step_change(struct cellar_txn *txn, struct ranges_call *call, const struct ranges_step *step)
{
    bool gone = step->kind == RANGES_DELETE, moves = step->kind == RANGES_MOVE || step->kind == RANGES_PUT;
    struct ranges_row then;
    int ref = cellar_proc_access(txn, call->ranges->table, step->key, gone ? 0 : CELLAR_ALL_CELLS,
                                 gone ? 0 : CELLAR_ALL_CELLS, CELLAR_OPTIONAL | (gone ? CELLAR_DELETE : 0));
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code) return code;
    bool found = cellar_proc_found(txn, ref);
    if (call->own_known[step->key] && found != call->there[step->key])
        complain(call, "a record and its entry do not agree", step->key);
    if (gone) call->there[step->key] = false;
    if (!found) return step->kind == RANGES_PUT ? step_insert(txn, call, step) : 0;
    if (gone) return 0;
    code = cellar_proc_get_row(txn, ref, &then);
    if (code) return code;
    if (!row_sound(step->key, &then)) complain(call, "a row that no client wrote so", step->key);
    struct ranges_row row = moves ? row_of(step->key, step->a, step->b) : then;
    if (moves) call->a[step->key] = row.a;
    return columns_put(txn, ref, &row, moves);
}

/* By the unique index: the record that it leads to has that b. */
static int step_lookup(struct cellar_txn *txn, struct ranges_call *call, const struct ranges_step *step)
{
    struct ranges_row wanted = row_of(step->key, step->a, step->b), row;
    uint64_t key;
    int found = cellar_proc_lookup(txn, call->ranges->by_b, &wanted, &key);
    if (found != 1) return found;
    int ref = cellar_proc_access(txn, call->ranges->table, key, CELLAR_ALL_CELLS, 0, CELLAR_OPTIONAL);
    if (ref == ERR_DUPLICATE) return ref;
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code) return code;
    if (!cellar_proc_found(txn, ref)) complain(call, "an entry leads to a record that is not there", key);
    if (cellar_proc_found(txn, ref) && (code = cellar_proc_get_row(txn, ref, &row)) == 0 && row.b != step->b)
        complain(call, "a lookup leads to a record with other columns", key);
    return code;
}

/* ---- a scan ---- */

static bool in_range(const struct ranges_scan *scan, uint64_t value)
{
    bool above = scan->low_excluded ? value > scan->low : value >= scan->low;
    return above && (scan->high_excluded ? value < scan->high : value <= scan->high);
}

static int cursor_open(struct cellar_txn *txn, const struct ranges_call *call, uint64_t limit)
{
    const struct ranges_scan *scan = &call->scan;
    struct ranges_row low = {.a = (uint16_t)scan->low}, high = {.a = (uint16_t)scan->high};
    struct cellar_range range = {.low = {&low, 1, scan->low_excluded}, .high = {&high, 1, scan->high_excluded}};
    if (scan->index == call->ranges->by_key)
        range = (struct cellar_range){.low_key = scan->low, .high_key = scan->high};
    return cellar_proc_cursor_open(txn, scan->index, &range, scan->columns ? CELLAR_ALL_CELLS : 0, 0,
                                   scan->backward ? CELLAR_BACKWARD : 0, limit);
}

/* Where the record stands in the order, as far as the transaction knows. */
static uint64_t place_of(const struct ranges_call *call, uint64_t key, uint16_t a)
{
    return call->scan.index == call->ranges->by_key ? key : (uint64_t)a << 32 | key;
}

static int row_look(struct cellar_txn *txn, struct ranges_call *call, int cursor, uint64_t key, int ref, uint64_t *last,
                    uint32_t count)
{
    const struct ranges_scan *scan = &call->scan;
    bool by_key = scan->index == call->ranges->by_key;
    const bool covers = call->ranges->covers, known = scan->columns || covers;
    struct ranges_row row = {0}, entry = {0};
    int code = scan->columns ? cellar_proc_get_row(txn, ref, &row) : 0;
    if (code == 0 && covers) code = cellar_proc_cursor_row(txn, cursor, &entry);
    if (code) return code;
    if (scan->columns && covers && memcmp(&row, &entry, sizeof row) != 0)
        complain(call, "an entry covers other values than its record has", key);
    if (!scan->columns) row = entry;
    if (known && !row_sound(key, &row)) complain(call, "a scan found a row that no client wrote so", key);
    if (!known && !by_key) return 0;
    if (!in_range(scan, by_key ? key : row.a)) complain(call, "a scan found a record out of its range", key);
    uint64_t place = place_of(call, key, row.a);
    if (count && (scan->backward ? place >= *last : place <= *last)) complain(call, "a scan is out of order", key);
    *last = place;
    return 0;
}

/* Reads the range; `found` says which keys it gave. */
static int scan_run(struct cellar_txn *txn, struct ranges_call *call, uint64_t limit, bool *found)
{
    uint64_t key, last = 0;
    uint32_t count = 0;
    int cursor = cursor_open(txn, call, limit), ref = -1, got;
    if (cursor < 0) return cursor;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, &ref)) == 1) {
        if (key >= call->ranges->keys || found[key]) {
            complain(call, "a scan found a key that was never inserted, or one twice", key);
            return ERR_GIVEN_UP;
        }
        found[key] = true;
        int code = row_look(txn, call, cursor, key, ref, &last, count++);
        if (code) return code;
    }
    if (got == 0 && limit && count > limit) complain(call, "a scan found more than its limit", 0);
    return got < 0 ? got : cellar_proc_cursor_close(txn, cursor);
}

static int scan_first(struct cellar_txn *txn, struct ranges_call *call)
{
    bool found[KEYS_DRAWN_MAX] = {0};
    int code = scan_run(txn, call, call->twice ? 0 : call->scan.limit, found);
    for (uint32_t key = 0; key < call->ranges->keys && code == 0 && call->twice; key++) {
        bool by_key = call->scan.index == call->ranges->by_key;
        call->there[key] = found[key];
        call->own_known[key] = by_key && in_range(&call->scan, key);
    }
    return code;
}

/* The whole range again, of keys: what it found before, and what was changed since. */
static int scan_again(struct cellar_txn *txn, struct ranges_call *call)
{
    bool found[KEYS_DRAWN_MAX] = {0};
    int code = scan_run(txn, call, 0, found);
    for (uint32_t key = 0; key < call->ranges->keys && code == 0; key++)
        if (call->own_known[key] && found[key] != call->there[key])
            complain(call,
                     found[key] ? "a second scan sees a record that is not there"
                                : "a second scan does not see a record that is there",
                     key);
    return code;
}

/* ---- a transaction ---- */

static int run_txn(struct cellar_txn *txn, void *args)
{
    struct ranges_call *call = args;
    call->complaint[0] = 0;
    memset(call->own_known, 0, sizeof call->own_known);
    int code = call->scans ? scan_first(txn, call) : 0;
    for (uint32_t i = 0; i < call->count && code == 0; i++)
        code = call->steps[i].kind == RANGES_LOOKUP ? step_lookup(txn, call, &call->steps[i])
                                                    : step_change(txn, call, &call->steps[i]);
    if (code == 0 && call->scans && call->twice) code = scan_again(txn, call);
    return code == 0 && call->user_abort ? ERR_GIVEN_UP : code;
}

/* Clients insert more than they delete for some transactions, then the reverse. */
static void draw_step(const struct ranges *ranges, struct prng *prng, bool grows, struct ranges_step *step)
{
    uint64_t at = prng_below(prng, 10);
    step->kind = at < 5   ? grows ? RANGES_PUT : RANGES_DELETE
                 : at < 6 ? grows ? RANGES_DELETE : RANGES_PUT
                 : at < 8 ? RANGES_MOVE
                 : at < 9 ? RANGES_TOUCH
                          : RANGES_LOOKUP;
    if (step->kind == RANGES_LOOKUP && !ranges->by_b) step->kind = RANGES_TOUCH;
    step->key = prng_below(prng, ranges->keys);
    step->a = (uint16_t)prng_below(prng, ranges->values);
    step->b = prng_below(prng, 4) ? step->key : prng_below(prng, ranges->keys);
}

static void draw_scan(const struct ranges *ranges, struct prng *prng, struct ranges_scan *scan)
{
    bool by_key = prng_below(prng, 2) && ranges->by_key;
    uint64_t span = by_key ? ranges->keys : ranges->values, width = prng_below(prng, 4) ? span / 4 + 1 : span;
    scan->index = by_key ? ranges->by_key : ranges->by_a;
    scan->low = prng_below(prng, span);
    scan->high = scan->low + prng_below(prng, width);
    if (scan->high >= span) scan->high = span - 1;
    scan->low_excluded = !by_key && prng_below(prng, 4) == 0;
    scan->high_excluded = !by_key && prng_below(prng, 4) == 0;
    scan->backward = prng_below(prng, 2);
    scan->columns = prng_below(prng, 3) == 0;
    scan->limit = prng_below(prng, 2) ? prng_between(prng, 1, 6) : 0;
}

static void draw_call(struct ranges *ranges, uint32_t client, uint32_t index, struct ranges_call *call)
{
    struct prng prng;
    prng_seed_stream(&prng, ranges->load.plan->seed ^ STREAM_RANGES, (uint64_t)index << 32 | (client + 1));
    *call = (struct ranges_call){.ranges = ranges, .number = sim_plan_txn(ranges->load.plan, client, index)};
    bool grows = index / TURN_TXNS % 2 == 0;
    call->scans = prng_below(&prng, 2);
    call->count = (uint32_t)prng_between(&prng, call->scans ? 0 : 1, STEPS_MAX);
    for (uint32_t i = 0; i < call->count; i++) {
        bool again = true;
        while (again) { /* a record once */
            draw_step(ranges, &prng, grows, &call->steps[i]);
            again = false;
            for (uint32_t k = 0; k < i; k++) again = again || call->steps[k].key == call->steps[i].key;
        }
    }
    draw_scan(ranges, &prng, &call->scan);
    call->twice = call->scans && call->count && prng_below(&prng, 2);
    if (call->twice) call->scan.columns = false;
    call->user_abort = prng_below(&prng, 24) == 0;
}

static int ranges_next(struct sim_load *load, struct cellar_lab_client *self, uint32_t index,
                       const struct cellar_call_options *options, struct cellar_result *result)
{
    struct ranges *ranges = ranges_of(load);
    struct ranges_call call;
    draw_call(ranges, cellar_lab_index(self), index, &call);
    int code = cellar_lab_exec(self, ranges->proc, &call, options, result);
    if (code == 0 && call.complaint[0]) sim_load_complain(load, "transaction %u: %s", call.number, call.complaint);
    return code;
}

/* ---- tables ---- */

static int fill(struct cellar_lab_client *self, void *arg)
{
    struct ranges *ranges = arg;
    struct cellar_error error;
    int code = 0;
    if (cellar_lab_index(self) != 0) return 0;
    for (uint64_t key = 0; key < ranges->keys && code == 0; key++) {
        uint64_t drawn = mix(ranges->load.plan->seed, key);
        if (drawn % 2) continue;
        struct ranges_row row = row_of(key, (uint16_t)(drawn / 2 % ranges->values), key);
        code = db_load(self, ranges->table, key, &row, &error);
    }
    return code;
}

static int indexes_make(struct ranges *ranges, struct cellar *db, struct cellar_error *error)
{
    uint64_t seed = ranges->load.plan->seed;
    const struct cellar_schema_index_column a[] = {{"a", CELLAR_SORT_UNSIGNED, false},
                                                   {"tail", CELLAR_SORT_BYTES, false},
                                                   {"b", CELLAR_COVERED, false},
                                                   {"n", CELLAR_COVERED, false}};
    const struct cellar_schema_index_column key[] = {{"n", CELLAR_COVERED, false},
                                                     {"tail", CELLAR_COVERED, false},
                                                     {"a", CELLAR_COVERED, false},
                                                     {"b", CELLAR_COVERED, false}};
    const struct cellar_schema_index_column b[] = {{"b", CELLAR_SORT_UNSIGNED, seed % 2}};
    const struct cellar_schema_index by_a = {"by_a", a, ranges->covers ? 4 : 2, 0},
                                     by_b = {"by_b", b, 1, CELLAR_UNIQUE},
                                     by_key = {"by_key", key, ranges->covers ? 4 : 0, 0};
    int code = db_index_create(db, ranges->table, &by_a, &ranges->by_a, error);
    if (code == 0 && seed % 3 != 0) code = db_index_create(db, ranges->table, &by_b, &ranges->by_b, error);
    if (code == 0 && seed % 4 != 0) code = db_index_create(db, ranges->table, &by_key, &ranges->by_key, error);
    return code;
}

static int ranges_make(struct ranges *ranges, struct cellar *db, bool fresh, struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {
        {"a", offsetof(struct ranges_row, a), 2, CELLAR_OWN_CELL},
        {"tail", offsetof(struct ranges_row, tail), TAIL_BYTES, CELLAR_OWN_CELL},
        {"b", offsetof(struct ranges_row, b), 8, CELLAR_OWN_CELL},
        {"n", offsetof(struct ranges_row, n), 8, CELLAR_OWN_CELL}};
    const struct cellar_schema schema = {.name = "ranges",
                                         .row_bytes = sizeof(struct ranges_row),
                                         .columns = columns,
                                         .column_count = RANGES_COLUMNS,
                                         .records_max = ranges->keys};
    const struct cellar_proc_def def = {
        .name = "ranges", .fn = run_txn, .records_max = RECORDS_MAX, .writes_max = STEPS_MAX};
    int code = db_table_create(db, &schema, &ranges->table, error);
    if (code == 0 && fresh && (code = cellar_lab_run(db, fill, ranges)) < 0)
        err_set(error, code, "cannot load the table: %s", cellar_strerror(code));
    if (code == 0) code = indexes_make(ranges, db, error);
    return code ? code : db_proc_register(db, &def, &ranges->proc, error);
}

static void ranges_close(struct sim_load *load) { free(ranges_of(load)); }

static int ranges_open(const struct sim_plan *plan, struct cellar *db, struct sim_load **out,
                       struct cellar_error *error)
{
    static const uint32_t keys[] = {8, 30, 60, 120, KEYS_DRAWN_MAX}, values[] = {4, 16, 64, 1000};
    struct ranges *ranges = calloc(1, sizeof *ranges);
    if (!ranges) return err_set(error, CELLAR_NOMEM, "no memory for a workload");
    ranges->load = (struct sim_load){.ops = &sim_load_ranges, .plan = plan};
    ranges->keys = keys[mix(plan->seed, 1) % 5];
    ranges->values = values[mix(plan->seed, 2) % 4];
    ranges->covers = mix(plan->seed, 3) % 2;
    int code = ranges_make(ranges, db, true, error);
    if (code < 0)
        ranges_close(&ranges->load);
    else
        *out = &ranges->load;
    return code;
}

static int ranges_reopen(struct sim_load *load, struct cellar *db, struct cellar_error *error)
{
    return ranges_make(ranges_of(load), db, false, error);
}

static int ranges_fill(struct sim_load *load, struct cellar_lab_client *client, struct cellar_error *error)
{
    (void)load, (void)client, (void)error; /* before its indexes were made */
    return 0;
}

/* ---- what is left ---- */

static int scan_row(void *arg, uint64_t key, const void *row)
{
    struct ranges *ranges = arg;
    struct ranges_row own;
    memcpy(&own, row, sizeof own);
    if (key < ranges->keys && !ranges->seen[key] && row_sound(key, &own)) {
        ranges->seen[key] = true;
        return 0;
    }
    sim_load_complain(&ranges->load, "the record of key %llu is left twice, or with a row that no client wrote so",
                      (unsigned long long)key);
    return CELLAR_CORRUPT;
}

static int ranges_check(struct sim_load *load, struct cellar_lab_client *self, char verdict[SIM_LOAD_VERDICT_BYTES])
{
    struct ranges *ranges = ranges_of(load);
    struct cellar_error error = {0};
    memset(ranges->seen, 0, sizeof ranges->seen);
    int code = db_scan(self, ranges->table, scan_row, ranges, &error);
    if (code) snprintf(verdict, SIM_LOAD_VERDICT_BYTES, "%s", load->verdict[0] ? load->verdict : error.text);
    return code ? CELLAR_CORRUPT : 0;
}

const struct sim_load_ops sim_load_ranges = {.concludes = true,
                                             .open = ranges_open,
                                             .reopen = ranges_reopen,
                                             .fill = ranges_fill,
                                             .next = ranges_next,
                                             .check = ranges_check,
                                             .close = ranges_close};
