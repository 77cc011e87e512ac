/*
 * ordered.h - what tests of ordered indexes share: the table `items` with indexes over its columns, a plain array that
 * says what must be in them, and one procedure that scans.
 */
#pragma once

#include "api_items.h"
#include "numbered.h"
#include "db_index.h"
#include "engine_config.h"
#include "prng.h"

#include <stdlib.h>

#define ORDERED_KEYS 3000
#define ORDERED_LIMIT 4000
#define ORDERED_LOG_BYTES (512u << 10) /* three indexes, and 64 writes of a procedure */

struct ordered {
    struct api api;
    const struct cellar_index *by_a, *by_n, *by_key; /* a; n descending, then b; keys */
    bool there[ORDERED_KEYS];
    uint64_t a[ORDERED_KEYS];
};

static inline const struct cellar_index *ordered_index(struct api *api, const char *name,
                                                       const struct cellar_schema_index_column *columns, uint32_t count,
                                                       uint32_t flags)
{
    const struct cellar_index *index;
    struct cellar_schema_index def = {name, columns, count, flags};
    MUST(&api->error, db_index_create(api->db, api->items, &def, &index, &api->error));
    assert_ptr_equal(index, cellar_index_find(api->items, name));
    return index;
}

static inline bool ordered_supported(const struct api_variant *variant) { return variant->cc != CELLAR_LAB_CC_MOTOR; }

static inline void ordered_indexes(struct ordered *ordered)
{
    static const struct cellar_schema_index_column a[] = {{"a", CELLAR_SORT_UNSIGNED, false}};
    static const struct cellar_schema_index_column n[] = {{"n", CELLAR_SORT_SIGNED, true},
                                                          {"b", CELLAR_SORT_UNSIGNED, false}};
    ordered->by_a = ordered_index(&ordered->api, "by_a", a, 1, 0);
    ordered->by_n = ordered_index(&ordered->api, "by_n", n, 2, 0);
    ordered->by_key = ordered_index(&ordered->api, "by_key", NULL, 0, 0);
}

static inline struct item ordered_item(uint64_t key, uint64_t a)
{
    struct item item = item_of(key);
    item.a = a;
    item.n = (uint32_t)(a % 7) - 3;
    return item;
}

/* ---- scanning ---- */

struct ordered_scan {
    struct api_call call;
    const struct cellar_index *index;
    struct cellar_range range;
    cellar_cells read;
    uint32_t flags, count;
    uint64_t limit;
    uint64_t keys[ORDERED_LIMIT], a[ORDERED_LIMIT];
};

static inline int ordered_scan(struct cellar_txn *txn, struct api_call *call)
{
    struct ordered_scan *scan = (struct ordered_scan *)call;
    scan->count = 0;
    int cursor = cellar_proc_cursor_open(txn, scan->index, &scan->range, scan->read, 0, scan->flags, scan->limit), got,
        ref;
    TRY(cursor);
    while ((got = cellar_proc_cursor_next(txn, cursor, &scan->keys[scan->count], &ref)) == 1) {
        if (scan->read) TRY(cellar_proc_get(txn, ref, ITEM_A, &scan->a[scan->count]));
        if (++scan->count == ORDERED_LIMIT) return ERR_GIVEN_UP;
    }
    TRY(got);
    return cellar_proc_cursor_close(txn, cursor);
}

/* ---- changing ---- */

enum ordered_kind { ORDERED_PUT, ORDERED_DELETE };

struct ordered_change {
    struct api_call call;
    uint32_t count;
    struct {
        uint64_t key, a;
        enum ordered_kind kind;
    } steps[16];
};

/* Puts a row, new or not, or takes one out. */
static inline int ordered_change(struct cellar_txn *txn, struct api_call *call)
{
    const struct ordered_change *change = (const struct ordered_change *)call;
    int refs[16];
    for (uint32_t i = 0; i < change->count; i++) {
        bool gone = change->steps[i].kind == ORDERED_DELETE;
        refs[i] = cellar_proc_access(txn, call->items, change->steps[i].key, 0, gone ? 0 : CELL_A | CELL_N,
                                     CELLAR_OPTIONAL | (gone ? CELLAR_DELETE : 0));
        TRY(refs[i]);
    }
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < change->count; i++) {
        struct item item = ordered_item(change->steps[i].key, change->steps[i].a);
        if (change->steps[i].kind == ORDERED_DELETE) continue;
        if (!cellar_proc_found(txn, refs[i])) {
            TRY(cellar_proc_insert(txn, call->items, change->steps[i].key, &item));
            continue;
        }
        TRY(cellar_proc_put(txn, refs[i], ITEM_A, &item.a));
        TRY(cellar_proc_put(txn, refs[i], ITEM_N, &item.n));
    }
    return cellar_proc_fetch(txn);
}

/* In the model. */
static inline void ordered_apply(struct ordered *ordered, const struct ordered_change *change)
{
    for (uint32_t i = 0; i < change->count; i++) {
        uint64_t key = change->steps[i].key;
        ordered->there[key] = change->steps[i].kind == ORDERED_PUT;
        ordered->a[key] = change->steps[i].a;
    }
}

/* Different keys, of the first `keys`; values of a below `values`. */
static inline void ordered_draw(struct prng *prng, struct ordered_change *change, uint32_t keys, uint64_t values)
{
    change->count = (uint32_t)prng_between(prng, 1, 16);
    for (uint32_t i = 0; i < change->count; i++) {
        bool again;
        do {
            change->steps[i].key = prng_below(prng, keys);
            again = false;
            for (uint32_t k = 0; k < i; k++) again = again || change->steps[k].key == change->steps[i].key;
        } while (again);
        change->steps[i].a = prng_below(prng, values);
        change->steps[i].kind = prng_below(prng, 3) ? ORDERED_PUT : ORDERED_DELETE;
    }
}

static inline void ordered_call(struct ordered *ordered, struct ordered_change *change)
{
    assert_code(api_run(&ordered->api, ordered_change, change), 0);
    ordered_apply(ordered, change);
}

/* ---- comparing ---- */

static struct ordered *ordered_compared; /* of qsort */

static inline int ordered_by_a(const void *left, const void *right)
{
    uint64_t x = *(const uint64_t *)left, y = *(const uint64_t *)right;
    uint64_t ax = ordered_compared->a[x], ay = ordered_compared->a[y];
    if (ax != ay) return ax < ay ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Keys whose a is in [low, high), in order; backward, from its end. */
static inline uint32_t ordered_wanted(struct ordered *ordered, uint64_t low, uint64_t high, bool backward,
                                      uint64_t *keys)
{
    uint32_t count = 0;
    for (uint64_t key = 0; key < ORDERED_KEYS; key++)
        if (ordered->there[key] && ordered->a[key] >= low && ordered->a[key] < high) keys[count++] = key;
    ordered_compared = ordered;
    qsort(keys, count, sizeof *keys, ordered_by_a);
    for (uint32_t i = 0; backward && i < count / 2; i++) {
        uint64_t key = keys[i];
        keys[i] = keys[count - 1 - i];
        keys[count - 1 - i] = key;
    }
    return count;
}

static inline void ordered_compare(struct ordered *ordered, uint64_t low, uint64_t high, uint32_t flags, uint64_t limit,
                                   cellar_cells read)
{
    static struct ordered_scan scan;
    static uint64_t wanted[ORDERED_KEYS];
    struct item low_row = {.a = low}, high_row = {.a = high};
    scan.index = ordered->by_a;
    scan.range = (struct cellar_range){.low = {&low_row, 1, false}, .high = {&high_row, 1, true}};
    scan.flags = flags;
    scan.limit = limit;
    scan.read = read;
    assert_code(api_run(&ordered->api, ordered_scan, &scan), 0);
    uint32_t count = ordered_wanted(ordered, low, high, flags & CELLAR_BACKWARD, wanted);
    if (limit && limit < count) count = (uint32_t)limit;
    if (scan.count != count) fail_msg("%u records in the range, not %u", scan.count, count);
    for (uint32_t i = 0; i < count; i++) {
        if (scan.keys[i] != wanted[i])
            fail_msg("record %llu is at place %u, not %llu", (unsigned long long)scan.keys[i], i,
                     (unsigned long long)wanted[i]);
        if (read) assert_int_equal(scan.a[i], ordered->a[wanted[i]]);
    }
}

static inline void ordered_open(struct ordered *ordered, const struct api_variant *variant)
{
    memset(ordered, 0, sizeof *ordered);
    api_open_with(&ordered->api, variant, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
    ordered_indexes(ordered);
}

static inline void ordered_close(struct ordered *ordered)
{
    api_audit_clean(&ordered->api);
    api_close(&ordered->api);
}
