/*
 * api_items.h - what tests of transactions do to the table `items` (api.h): look at a record, put it in or take it
 * out, add to two of them.
 */
#pragma once

#include "api.h"
#include "numbered.h"

static const uint64_t ones = 0x1111111111111111ull;

/* ---- looking ---- */

struct look {
    struct api_call call;
    uint64_t key;
    bool found;
    struct item item;
};

static inline int look(struct cellar_txn *txn, struct api_call *call)
{
    struct look *look = (struct look *)call;
    int ref = cellar_proc_access(txn, call->items, look->key, CELLAR_ALL_CELLS, 0, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    look->found = cellar_proc_found(txn, ref);
    return look->found ? cellar_proc_get_row(txn, ref, &look->item) : 0;
}

/* The record of that key as a transaction sees it. */
static inline struct look look_at(struct api *api, uint64_t key)
{
    struct look args = {.key = key};
    struct api_call *call = &args.call;
    call->body = look;
    call->items = api->items;
    assert_code(cellar_proc_run(api->db, api->any, &args, NULL, &api->result), 0);
    return args;
}

static inline void assert_item(struct api *api, uint64_t key, const struct item *wanted)
{
    struct look seen = look_at(api, key);
    assert_true(seen.found);
    assert_int_equal(seen.item.a, wanted->a);
    assert_int_equal(seen.item.b, wanted->b);
    assert_memory_equal(seen.item.text, wanted->text, sizeof wanted->text);
    assert_int_equal(seen.item.n, wanted->n);
}

/* ---- coming and going ---- */

struct upsert {
    struct api_call call;
    uint64_t key;
    bool found;
};

/* Looks, and inserts what is absent. */
static inline int insert_absent(struct cellar_txn *txn, struct api_call *call)
{
    struct upsert *args = (struct upsert *)call;
    struct item item = item_of(args->key);
    int ref = cellar_proc_access(txn, call->items, args->key, CELL_A, 0, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    args->found = cellar_proc_found(txn, ref);
    if (args->found) return 0;
    ref = cellar_proc_insert(txn, call->items, args->key, &item);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_found(txn, ref) ? 0 : -1000;
}

static inline int erase(struct cellar_txn *txn, struct api_call *call)
{
    struct upsert *args = (struct upsert *)call;
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, args->key, CELL_A, 0, CELLAR_DELETE | CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    args->found = cellar_proc_found(txn, ref);
    if (!args->found) return 0;
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a)); /* what is deleted can still be read */
    return a == args->key * 3 ? 0 : -1000;
}

static inline int run_upsert(struct api *api, api_body body, uint64_t key, bool *found)
{
    struct upsert args = {.key = key};
    args.call = (struct api_call){.body = body, .items = api->items};
    int rc = cellar_proc_run(api->db, api->any, &args, NULL, &api->result);
    *found = args.found;
    return rc;
}

/* ---- transfers ---- */

struct add {
    struct api_call call;
    uint64_t keys[2]; /* the first gets 1, the second loses it, unless they are the same */
};

static inline int add(struct cellar_txn *txn, struct api_call *call)
{
    const struct add *args = (const struct add *)call;
    int refs[2];
    uint32_t count = args->keys[0] == args->keys[1] ? 1 : 2;
    for (uint32_t i = 0; i < count; i++)
        TRY(refs[i] = cellar_proc_access(txn, call->items, args->keys[i], 0, CELL_A, 0));
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t a;
        TRY(cellar_proc_get(txn, refs[i], ITEM_A, &a));
        a = i ? a - 1 : a + 1;
        TRY(cellar_proc_put(txn, refs[i], ITEM_A, &a));
    }
    return 0;
}

static inline struct add add_args(const struct api *api, uint64_t to, uint64_t from)
{
    return (struct add){.call = {.body = add, .items = api->items}, .keys = {to, from}};
}

static inline int add_one(struct api *api, uint64_t key, const struct cellar_call_options *options)
{
    struct add args = add_args(api, key, key);
    return cellar_proc_run(api->db, api->any, &args, options, &api->result);
}

/*
 * Compute node 6 uses the pool from now on, as far as can be seen, or has left it. A tag of none that does would be
 * CORRUPT.
 */
static inline void member_six(struct api *api, bool lives)
{
    struct catalog *catalog = (struct catalog *)(uintptr_t)api->db->catalog;
    const struct members_state state = {
        .state = lives ? LAYOUT_MEMBER_LIVE : LAYOUT_MEMBER_FREE, .incarnation = 1, .recoverer = -1};
    uint64_t word = LAYOUT_MEMBERS_OFFSET + 6 * sizeof(struct member_wire) + offsetof(struct member_wire, word);
    const struct fabric_addr epoch = fabric_addr_of(0, offsetof(struct superblock_wire, epoch));
    uint64_t now;
    catalog->cn_count = lives ? 7 : api->db->fabric->cn_count;
    api_poke_word(api, fabric_addr_of(0, word), members_word(&state), UINT64_MAX);
    api_peek(api, epoch, &now, sizeof now);
    api_poke_word(api, epoch, now + 1, UINT64_MAX);
}

/* Locks record 5 for compute node 6, or frees it. */
static inline void lock_five(struct api *api, bool locked)
{
    struct fabric_addr head, addr = api_find(api, 5, &head);
    member_six(api, locked);
    api_poke_word(api, addr, locked ? api_foreign_tags(api->items) : 0, api_tag_mask(api->items));
}
