/*
 * drops.h - a process that dies at an operation of what tables and indexes come and go by, or of the opening that
 * follows; and what is found then: the state before or the state after, whole.
 */
#pragma once

#include "bulk.h"
#include "numbered.h"
#include "coordinator.h"
#include "db.h"
#include "db_alter.h"
#include "db_company.h"
#include "db_define.h"
#include "db_drop.h"
#include "db_index.h"
#include "db_open.h"
#include "db_snapshot.h"
#include "fabric_sim.h"
#include "plant.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL_BYTES (4u << 20)
#define RECORDS 250
#define KILLS_MAX 4000
#define STEPS_MAX 4000000

struct row {
    uint64_t a, b;
    char text[600];
};

static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, a), CELLAR_COLUMN(struct row, b),
                                                      CELLAR_COLUMN(struct row, text)};
static const struct cellar_schema_index_column by_a[] = {{"a", CELLAR_SORT_UNSIGNED, false}};
static const struct cellar_schema_index def_a = {.name = "by_a", .columns = by_a, .column_count = 1};

/* Of the table that gets a column: typed, with the order of its key, an index, and values beside the row. */
struct typed {
    uint64_t id, a, b;
    char text[600];
    struct cellar_bytes note;
};
struct typed_wide {
    uint64_t c, id, a, b;
    char text[600];
    struct cellar_bytes note;
};
#define TYPED_COLUMNS(type)                                                                                            \
    {CELLAR_FIELD(type, id), .flags = CELLAR_KEY}, {CELLAR_FIELD(type, a)}, {CELLAR_FIELD(type, b)},                   \
        {CELLAR_FIELD(type, text)},                                                                                    \
    {                                                                                                                  \
        CELLAR_FIELD(type, note)                                                                                       \
    }
static const struct cellar_column typed_columns[] = {TYPED_COLUMNS(struct typed)};
static const struct cellar_column wide_columns[] = {TYPED_COLUMNS(struct typed_wide),
                                                    {CELLAR_FIELD(struct typed_wide, c)}};
static const struct cellar_index_def typed_by_a = {.name = "by_a", .columns = "a"};
#define TYPED_DEF(type, columns_)                                                                                      \
    CELLAR_TABLE(type, columns_, .name = "rows", .rows = 60, .indexes = &typed_by_a, .index_count = 1,                 \
                 .flags = CELLAR_ORDERED)
static const struct typed_wide wide_default = {.c = 77};

enum what { DROP, TRUNCATE, INDEX_DROP, INDEX_CREATE, ALTER, TABLE_CREATE, TABLE_ORDERED, WHATS };

struct dropping {
    struct fabric *fabric;
    struct cellar *db;
    struct cellar_error error;
    enum what what;
    uint32_t mns;
    uint64_t kill_at, again_at, ops; /* the operation at which it dies; that of the next opening: UINT64_MAX, none */
    enum fabric_sim_fault fault;     /* NONE; or it does not die: so many operations from there on end so */
    uint64_t stretch;
    bool flips; /* with odd operations it dies before, with even ones after: else the other way round */
    bool armed, dead, wide;
    bool old;                         /* as it was judged last: the state before */
    const struct cellar_table *typed; /* as it was opened last */
    uint64_t seen, value;
    uint64_t used_before, used_after; /* bytes of the pool: with the table; before there was one */
    char verdict[320];
};

static inline enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep,
                                          const struct fabric_op *op)
{
    struct dropping *run = arg;
    (void)index, (void)ep, (void)op;
    if (!run->armed || run->dead) return FABRIC_SIM_NONE;
    uint64_t at = run->ops++;
    if (run->fault) return at >= run->kill_at && at - run->kill_at < run->stretch ? run->fault : FABRIC_SIM_NONE;
    if (at != run->kill_at) return FABRIC_SIM_NONE;
    run->dead = true;
    return run->kill_at % 2 == run->flips ? FABRIC_SIM_CRASH_BEFORE : FABRIC_SIM_CRASH_AFTER;
}

/* Tables are made in bulk. */
static inline enum fabric_sim_fault watch_bulk(void *arg, uint64_t index, const struct fabric_ep *ep,
                                               const struct fabric_op *op)
{
    const struct dropping *run = arg;
    bool makes = run->what == TABLE_CREATE || run->what == TABLE_ORDERED;
    return makes ? watch(arg, index, ep, op) : FABRIC_SIM_NONE;
}

static inline bool held(struct dropping *run, const char *what, int rc)
{
    if (rc && !run->verdict[0])
        snprintf(run->verdict, sizeof run->verdict, "%s: %s (%.200s)", what, cellar_strerror(rc), run->error.text);
    return rc == 0;
}

static inline bool holds(struct dropping *run, bool fact, const char *what)
{
    if (!fact && !run->verdict[0]) snprintf(run->verdict, sizeof run->verdict, "%s", what);
    return fact;
}

/* Two tables with companions and indexes take some. */
static inline uint64_t pool_bytes(const struct dropping *run)
{
    return run->what == ALTER ? 2 * POOL_BYTES : POOL_BYTES;
}

static inline int open_as(struct dropping *run, uint32_t cn, struct cellar **db)
{
    const struct engine_config config = {.fabric = "sim",
                                         .cc = CELLAR_LAB_CC_CELL,
                                         .mns = run->mns,
                                         .coros = 1,
                                         .cn_index = cn,
                                         .replicas = run->mns - 1,
                                         .memnodes = "simulated",
                                         .lease_ns = CELLAR_LEASE_NONE,
                                         .pool_bytes = pool_bytes(run),
                                         .log_bytes = 128 << 10};
    return db_open_on(run->fabric, &config, db, &run->error);
}

static inline int open_pool(struct dropping *run) { return open_as(run, 0, &run->db); }

static inline int load(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    int rc = 0;
    for (uint64_t key = 0; key < RECORDS && rc == 0; key++) {
        struct row row = {.a = key / 2, .b = key};
        rc = db_load(client, table, key, &row, &run->error);
    }
    return rc;
}

static inline int seen(void *arg, uint64_t key, const void *row)
{
    struct dropping *run = arg;
    const struct row *plain = row;
    run->seen += plain->b == key && plain->a == key / 2;
    return 0;
}

static inline struct typed typed_of(uint64_t id)
{
    static uint8_t bytes[4 * RECORDS];
    if (!bytes[1])
        for (uint32_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)i;
    return (struct typed){.id = id, .a = id / 2, .b = id, .note = {bytes + id, id % 5 ? 0 : id * 3}};
}

static inline bool typed_right(uint64_t id, uint64_t a, uint64_t b, struct cellar_bytes note)
{
    struct typed want = typed_of(id);
    return a == want.a && b == want.b && note.bytes == want.note.bytes &&
           (!note.bytes || memcmp(note.data, want.note.data, note.bytes) == 0);
}

static inline int typed_seen(void *arg, uint64_t unused, const void *row)
{
    struct dropping *run = arg;
    const struct typed *narrow = row;
    const struct typed_wide *wide = row;
    (void)unused;
    run->seen += run->wide ? wide->c == wide_default.c && typed_right(wide->id, wide->a, wide->b, wide->note)
                           : typed_right(narrow->id, narrow->a, narrow->b, narrow->note);
    return 0;
}

/* With the column that it gets, or without it. */
static inline int typed_open(struct dropping *run)
{
    int rc =
        db_table_open(run->db, TYPED_DEF(struct typed_wide, wide_columns), CELLAR_EXISTING, &run->typed, &run->error);
    run->wide = rc == 0;
    return rc ? db_table_open(run->db, TYPED_DEF(struct typed, typed_columns), CELLAR_EXISTING, &run->typed,
                              &run->error)
              : 0;
}

static inline int look(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    int rc = run->typed ? db_scan_rows(client, run->typed, typed_seen, run, &run->error)
             : table    ? db_scan(client, table, seen, run, &run->error)
                        : 0;
    return rc ? rc : db_audit(client, &run->error);
}

static inline uint64_t used(struct dropping *run)
{
    struct cellar_lab_pool_space space;
    cellar_lab_pool_space_read(run->db, &space);
    return space.used_bytes;
}

static inline bool table_make(struct dropping *run)
{
    const struct cellar_table *table;
    const struct cellar_schema schema = {.name = "rows",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 3,
                                         .records_max = 60}; /* so that it has overflow buckets */
    return held(run, "a table", db_table_create(run->db, &schema, &table, &run->error)) &&
           held(run, "loading", cellar_lab_run(run->db, load, run));
}

static inline int typed_fill(struct cellar_txn *txn, void *arg)
{
    struct dropping *run = arg;
    int rc = 0;
    for (uint64_t id = run->value; id < run->value + 25 && rc == 0; id++) {
        struct typed row = typed_of(id);
        rc = cellar_insert(txn, run->typed, &row);
    }
    return rc;
}

static inline bool typed_make(struct dropping *run)
{
    const struct cellar_table_def *def = TYPED_DEF(struct typed, typed_columns);
    bool good = held(run, "a typed table", db_table_open(run->db, def, 0, &run->typed, &run->error));
    for (run->value = 0; run->value < RECORDS && good; run->value += 25)
        good = held(run, "filling", cellar_run(run->db, typed_fill, run, NULL, NULL));
    return good;
}

static inline int index_make(struct dropping *run)
{
    const struct cellar_index *index;
    return db_index_create(run->db, cellar_table_find(run->db, "rows"), &def_a, &index, &run->error);
}

/* A second table. */
static inline int more_make(struct dropping *run)
{
    static const struct cellar_schema_column more_columns[] = {CELLAR_COLUMN(struct row, a),
                                                               CELLAR_COLUMN(struct row, text)};
    const struct cellar_schema schema = {
        .name = "more", .row_bytes = sizeof(struct row), .columns = more_columns, .column_count = 2, .records_max = 60};
    const struct cellar_table *table;
    return db_table_create(run->db, &schema, &table, &run->error);
}

/* A table of typed columns, with the order of its key and an index. */
struct person {
    uint64_t id;
    char name[12];
};

static inline int ordered_make(struct dropping *run, uint32_t flags)
{
    static const struct cellar_column columns_of[] = {{CELLAR_FIELD(struct person, id), .flags = CELLAR_KEY},
                                                      {CELLAR_FIELD(struct person, name)}};
    static const struct cellar_index_def by_name = {.name = "by_name", .columns = "name"};
    const struct cellar_table_def *def = CELLAR_TABLE(struct person, columns_of, .name = "more", .rows = 60,
                                                      .indexes = &by_name, .index_count = 1, .flags = CELLAR_ORDERED);
    const struct cellar_table *table;
    return db_table_open(run->db, def, flags, &table, &run->error);
}

/* One more row, of none that are counted: where the process does not know of an index, that lacks it. */
static inline int row_more(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    const struct row row = {.a = 7};
    return db_load(client, cellar_table_find(run->db, "rows"), RECORDS, &row, &run->error);
}

static inline bool begin(struct dropping *run)
{
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = run->mns;
    sim.cn_count = 2;
    sim.mn_bytes = pool_bytes(run);
    sim.torn = true;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.bulk_fault = watch_bulk;
    sim.fault_arg = run;
    if (!held(run, "a cluster", fabric_sim_open(&sim, &run->fabric, &run->error)) ||
        !held(run, "opening", open_pool(run)))
        return false;
    run->used_after = used(run);
    run->fabric->fresh = false; /* what opens it next looks for what there is */
    bool typed = run->what == ALTER;
    if (typed ? !typed_make(run)
              : !table_make(run) || (run->what != INDEX_CREATE && !held(run, "an index", index_make(run))))
        return false;
    run->used_before = used(run);
    return true;
}

static inline int act(struct dropping *run)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    switch (run->what) {
    case DROP:
        return db_table_drop(run->db, table, &run->error);
    case TRUNCATE:
        return db_table_truncate(run->db, table, &run->error);
    case INDEX_DROP:
        return db_index_drop(run->db, cellar_index_find(table, "by_a"), &run->error);
    case TABLE_CREATE:
        return more_make(run);
    case TABLE_ORDERED:
        return ordered_make(run, 0);
    case ALTER:
        return db_table_alter(run->db, run->typed, TYPED_DEF(struct typed_wide, wide_columns), &wide_default,
                              &run->typed, &run->error);
    default:
        return index_make(run);
    }
}

/* The state before, or the state after: nothing else, and nothing lost. */
static inline bool judge(struct dropping *run, bool done)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    const struct cellar_index *index = table ? cellar_index_find(table, "by_a") : NULL;
    bool old = false;
    run->seen = 0;
    if (run->what == ALTER && !held(run, "opening the typed table", typed_open(run))) return false;
    if (!held(run, "looking", cellar_lab_run(run->db, look, run))) return false;
    switch (run->what) {
    case DROP:
        old = table;
        break;
    case TRUNCATE:
        old = run->seen > 0;
        break;
    case INDEX_DROP:
        old = index;
        break;
    case ALTER:
        old = !run->wide;
        break;
    case TABLE_CREATE:
        old = !cellar_table_find(run->db, "more");
        break;
    case TABLE_ORDERED:
        old = !cellar_table_find(run->db, "more");
        if (!old && !held(run, "a table that is there", ordered_make(run, CELLAR_EXISTING))) return false;
        break;
    default:
        old = !index;
        break;
    }
    run->old = old;
    uint64_t expected = run->what == DROP && !old ? 0 : run->what == TRUNCATE && !old ? 0 : RECORDS;
    if (!holds(run, run->seen == expected, "records are neither all there nor all gone") ||
        !holds(run, !done || !old, "it was done, and is not") ||
        !holds(run, run->what != TRUNCATE || (table && index), "a table that was emptied is not there") ||
        !holds(run, run->what != ALTER || table, "a table that was altered is not there"))
        return false;
    if ((run->what == TABLE_CREATE || run->what == TABLE_ORDERED) && !old) return true;
    if (old || run->what == INDEX_CREATE)
        return holds(run, !old || used(run) <= run->used_before, "space of what was not made is missing");
    if (run->what == ALTER) /* a line more for each record */
        return holds(run, used(run) <= run->used_before + (128 << 10), "the old records' space was not given back");
    return holds(run, run->what == DROP ? used(run) == run->used_after : used(run) < run->used_before,
                 "space was not given back");
}

/* All of it can be done again, and to its end. */
static inline bool goes_on(struct dropping *run)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    if (table && !held(run, "a drop afterwards", db_table_drop(run->db, table, &run->error))) return false;
    run->typed = NULL;
    if (run->what == TABLE_CREATE && !held(run, "a second table afterwards", more_make(run))) return false;
    if (run->what == TABLE_ORDERED && !held(run, "an ordered table afterwards", ordered_make(run, 0))) return false;
    return table_make(run) && held(run, "an index afterwards", index_make(run)) &&
           held(run, "looking afterwards", cellar_lab_run(run->db, look, run));
}

/* A first opening dies, too, and then one does not. */
static inline bool open_again(struct dropping *run)
{
    run->armed = run->again_at != UINT64_MAX;
    run->ops = 0;
    run->dead = false;
    run->kill_at = run->again_at;
    int rc = open_pool(run);
    run->armed = false;
    if (rc == 0 && !run->dead) return true;
    if (rc == 0) cellar_close(run->db);
    fabric_sim_cn_again(run->fabric, 0);
    return held(run, "opening again", open_pool(run));
}

/* False: it did not come to that operation. The verdict is in the run. */
static inline bool play(struct dropping *run)
{
    bool any = false;
    if (begin(run)) {
        run->armed = true;
        run->ops = 0;
        int rc = act(run);
        any = run->dead;
        run->armed = false;
        holds(run, any || rc == 0, run->error.text);
        cellar_close(run->db);
        if (any) fabric_sim_cn_again(run->fabric, 0);
        if (open_again(run) && judge(run, rc == 0)) goes_on(run);
        if (run->db) cellar_close(run->db);
    }
    if (run->fabric) fabric_close(run->fabric);
    return any;
}

static inline bool run_once(enum what what, uint32_t mns, uint64_t kill_at, uint64_t again_at, bool flips)
{
    struct dropping run = {.what = what, .mns = mns, .kill_at = kill_at, .again_at = again_at, .flips = flips};
    bool any = play(&run);
    if (run.verdict[0])
        fail_msg("%d, %u memory nodes, dies at %llu and %lld: %s", (int)what, mns, (unsigned long long)kill_at,
                 (long long)again_at, run.verdict);
    return any;
}

/* Before that operation, or after it; of the making of tables, which is short, both. */
static inline bool run_one(enum what what, uint32_t mns, uint64_t kill_at, uint64_t again_at)
{
    bool any = run_once(what, mns, kill_at, again_at, false);
    if (any && what >= TABLE_CREATE) (void)!run_once(what, mns, kill_at, again_at, true);
    return any;
}

/* Of each operation of it; and, at some of them, of each of the opening that follows. */
static inline void sweep(enum what what, uint32_t mns)
{
    uint64_t at = 0;
    for (bool any = true; any && at < KILLS_MAX; at++) {
        if ((at > 30 && at % 3) || !share_has(at)) continue;
        any = run_one(what, mns, at, UINT64_MAX);
        if (at % 23 == 5) (void)!run_one(what, mns, at, at * 7 % 331);
    }
    printf("%d, %u memory nodes: died at %llu operations\n", (int)what, mns, (unsigned long long)at);
    assert_true(at > 3 && at < KILLS_MAX);
}
