/*
 * sim_cells.c - the workload "cells": random transactions over a few hot records, made to meet each other in every
 * way that the engine knows: reads, writes, both, blind writes, several blocks, absent keys, inserts, deletes, used
 * slots, refused declarations, user aborts.
 *
 * A value says by whom, for which cell and after which reads it was written: a torn or misplaced one shows by itself.
 */
#include "sim_cells.h"

#include "numbered.h"
#include "bulk.h"
#include "db_define.h"
#include "mode.h"
#include "prng.h"
#include "sim_herds.h"
#include "sim_people.h"
#include "sim_sessions.h"
#include "sim_texts.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_TABLES 0x7461626cull
#define LOADED_SIXTEENTHS 11 /* of the keys are there at the start */
#define REDRAWS 3
#define TAKEN_PRESENCE CELLAR_CELLS_UNKNOWN /* beside cells: it was asked whether the record is there */

/* What a run of the procedure works on. */
struct cells_call {
    struct cells *cells;
    const struct cells_txn *txn;
    uint32_t writer; /* its number, from 1; 0 wrote what was loaded */
    uint64_t digest; /* of all it has read */
    int refs[SIM_ACCESSES_MAX];
    char complaint[120]; /* about a value read; counts only if the transaction commits */
};

static struct cells *cells_of(struct sim_load *load) { return (struct cells *)load; }

static uint32_t number_of(uint64_t key) { return key == UINT64_MAX ? 1 : (uint32_t)(key / 3); }

/* ---- values ---- */

uint64_t sim_cells_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

uint64_t sim_cells_identity(uint32_t writer, uint32_t table, uint32_t key, uint32_t cell)
{
    return (uint64_t)writer << 32 | key << 16 | table << 8 | cell;
}

/* Identity, digest, and as much that follows from both as there is room for. */
void sim_cells_value_make(uint8_t *value, uint32_t bytes, uint64_t id, uint64_t digest)
{
    for (uint32_t at = 0, i = 0; at < bytes; at += 8, i++) {
        uint64_t word = i == 0 ? id : i == 1 ? digest : sim_cells_mix(sim_cells_mix(id, digest), i);
        memcpy(value + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

bool sim_cells_value_sound(const uint8_t *value, uint32_t bytes, uint32_t table, uint32_t key, uint32_t cell)
{
    uint8_t expected[SIM_CELLS_VALUE_BYTES_MAX];
    uint64_t id, digest = 0;
    memcpy(&id, value, sizeof id);
    if (bytes > 8) memcpy(&digest, value + 8, bytes - 8 < 8 ? bytes - 8 : 8);
    if ((uint32_t)id != (uint32_t)sim_cells_identity(0, table, key, cell)) return false;
    if (bytes <= 16) return true;
    sim_cells_value_make(expected, bytes, id, digest);
    return memcmp(value, expected, bytes) == 0;
}

void sim_cells_row_make(const struct cells_table *table, uint32_t number, uint32_t key, uint32_t writer,
                        uint64_t digest, uint8_t *row)
{
    for (uint32_t cell = 0; cell < table->cells; cell++)
        sim_cells_value_make(row + table->columns[cell].offset, table->columns[cell].bytes,
                             sim_cells_identity(writer, number, key, cell), digest);
}

/* ---- the procedure ---- */

static bool skipped(struct cellar_txn *txn, const struct cells_call *call, uint32_t i)
{
    return call->txn->accesses[i].if_absent && cellar_proc_found(txn, call->refs[i - 1]);
}

static int declare(struct cellar_txn *txn, struct cells_call *call, uint32_t i)
{
    const struct cells_access *access = &call->txn->accesses[i];
    const struct cells_table *table = &call->cells->tables[access->table];
    uint32_t flags = (access->optional ? CELLAR_OPTIONAL : 0) | (access->kind == CELLS_DELETE ? CELLAR_DELETE : 0);
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    call->refs[i] = -1;
    if (skipped(txn, call, i)) return 0;
    if (access->kind == CELLS_INSERT) {
        sim_cells_row_make(table, access->table, access->key, call->writer, call->digest, row);
        call->refs[i] = cellar_proc_insert(txn, table->table, sim_cells_key(access->key), row);
    } else {
        call->refs[i] =
            cellar_proc_access(txn, table->table, sim_cells_key(access->key), access->read, access->write, flags);
    }
    return call->refs[i] < 0 ? call->refs[i] : 0;
}

static int take_reads(struct cellar_txn *txn, struct cells_call *call, uint32_t i)
{
    const struct cells_access *access = &call->txn->accesses[i];
    const struct cells_table *table = &call->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    bool found = cellar_proc_found(txn, call->refs[i]);
    call->digest = sim_cells_mix(call->digest, found);
    for (uint32_t cell = 0; found && cell < table->cells; cell++) {
        if (!(access->read >> cell & 1)) continue;
        int code = cellar_proc_get(txn, call->refs[i], (int)cell, value);
        if (code != 0) return code;
        uint64_t id;
        memcpy(&id, value, sizeof id);
        call->digest = sim_cells_mix(call->digest, id);
        if (!sim_cells_value_sound(value, table->columns[cell].bytes, access->table, access->key, cell))
            snprintf(call->complaint, sizeof call->complaint,
                     "table %s, key %u, cell %u: a value that no client wrote so, beginning with %#llx", table->name,
                     access->key, cell, (unsigned long long)id);
    }
    return 0;
}

static int put_writes(struct cellar_txn *txn, struct cells_call *call, uint32_t i)
{
    const struct cells_access *access = &call->txn->accesses[i];
    const struct cells_table *table = &call->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    if (!cellar_proc_found(txn, call->refs[i])) return 0;
    for (uint32_t cell = 0; cell < table->cells; cell++) {
        if (!(access->write >> cell & 1)) continue;
        sim_cells_value_make(value, table->columns[cell].bytes,
                             sim_cells_identity(call->writer, access->table, access->key, cell), call->digest);
        int code = cellar_proc_put(txn, call->refs[i], (int)cell, value);
        if (code != 0) return code;
    }
    return 0;
}

static int put_all(struct cellar_txn *txn, struct cells_call *call, uint32_t first, uint32_t end)
{
    int code = 0;
    for (uint32_t i = first; i < end && code == 0; i++)
        if (call->txn->accesses[i].kind < CELLS_INSERT) code = put_writes(txn, call, i);
    return code;
}

/* One block, [first, end): declare all, fetch, read all, then write all. */
static int run_block(struct cellar_txn *txn, struct cells_call *call, uint32_t first, uint32_t end)
{
    const struct cells_access *accesses = call->txn->accesses;
    int code = 0;
    for (uint32_t i = first; i < end && code == 0; i++) code = declare(txn, call, i);
    if (code == 0) code = cellar_proc_fetch(txn);
    for (uint32_t i = first; i < end && code == 0; i++)
        if (accesses[i].kind != CELLS_INSERT) code = take_reads(txn, call, i);
    return code == 0 && !call->txn->writes_last ? put_all(txn, call, first, end) : code;
}

static int run_txn(struct cellar_txn *txn, void *args)
{
    struct cells_call *call = args;
    const struct cells_txn *todo = call->txn;
    call->digest = 0;
    call->complaint[0] = 0;
    for (uint32_t first = 0, end; first < todo->count; first = end) {
        end = first + 1;
        while (end < todo->count && !todo->accesses[end].block) end++;
        int code = run_block(txn, call, first, end);
        if (code != 0) return code;
    }
    int code = todo->writes_last ? put_all(txn, call, 0, todo->count) : 0;
    if (code != 0) return code;
    return todo->user_abort ? ERR_GIVEN_UP : 0;
}

/* ---- drawing a transaction ---- */

static uint32_t draw_key(const struct cells *cells, struct prng *prng)
{
    uint32_t keys = cells->load.plan->keys, key = 0;
    uint64_t at = prng_below(prng, cells->popularity[keys - 1]);
    while (cells->popularity[key] <= at) key++;
    return key;
}

static enum cells_kind draw_kind(const struct cells *cells, struct prng *prng)
{
    uint32_t total = 0, kind = 0;
    for (uint32_t i = 0; i < CELLS_KINDS; i++) total += cells->kind_weights[i];
    uint64_t at = prng_below(prng, total);
    for (; at >= cells->kind_weights[kind]; kind++) at -= cells->kind_weights[kind];
    return (enum cells_kind)kind;
}

/* One to three of the table's cells, or all of them. */
static cellar_cells draw_cells(const struct cells_table *table, struct prng *prng)
{
    cellar_cells cells = 0;
    if (prng_below(prng, 6) == 0) return table->all;
    for (uint64_t count = prng_between(prng, 1, 3); count > 0; count--) cells |= 1u << prng_below(prng, table->cells);
    return cells;
}

/* Cells of that record that earlier accesses name; all of them once one inserts or deletes it. */
static cellar_cells cells_taken(const struct cells *cells, const struct cells_txn *txn, uint32_t table, uint32_t key)
{
    cellar_cells taken = 0;
    for (uint32_t i = 0; i < txn->count; i++) {
        const struct cells_access *access = &txn->accesses[i];
        if (access->table != table || access->key != key) continue;
        taken |= access->kind < CELLS_INSERT ? access->read | access->write | TAKEN_PRESENCE : cells->tables[table].all;
    }
    return taken;
}

static void draw_access_cells(const struct cells_table *table, struct prng *prng, struct cells_access *access)
{
    cellar_cells some = draw_cells(table, prng), others = draw_cells(table, prng);
    bool presence = (access->kind == CELLS_READ || access->kind == CELLS_DELETE) && prng_below(prng, 6) == 0;
    if (access->kind != CELLS_INSERT) access->read = presence || access->kind == CELLS_BLIND ? 0 : some;
    if (access->kind == CELLS_UPDATE || access->kind == CELLS_BLIND) access->write = some;
    if (access->kind == CELLS_MIXED) access->write = others;
}

/*
 * An access to a record that the transaction does not use yet, or to other cells of it; now and then to the same,
 * which is refused.
 */
static void draw_access(const struct cells *cells, struct prng *prng, struct cells_txn *txn)
{
    struct cells_access access = {.kind = draw_kind(cells, prng)};
    bool careless = prng_below(prng, 48) == 0;
    cellar_cells taken = 0;
    for (uint32_t tries = 0; tries <= REDRAWS; tries++) {
        access.table = (uint32_t)prng_below(prng, cells->load.plan->tables);
        access.key = draw_key(cells, prng);
        taken = cells_taken(cells, txn, access.table, access.key);
        if (!taken) break;
    }
    const struct cells_table *table = &cells->tables[access.table];
    draw_access_cells(table, prng, &access);
    access.optional = prng_below(prng, 12) != 0;
    access.block = txn->count > 0 && prng_below(prng, 4) == 0;
    if (taken && !careless) {
        if (access.kind >= CELLS_INSERT) return;
        bool presence = !(access.read | access.write);
        access.read &= ~taken;
        access.write &= ~taken;
        if (!(access.read | access.write) && !presence) return;
    }
    txn->accesses[txn->count++] = access;
}

/*
 * Looks for a key and inserts it, in the next block, if it is absent. Where the plan has upserts, a third of them
 * update a record that is there.
 */
static void draw_insert_if_absent(const struct cells *cells, struct prng *prng, struct cells_txn *txn)
{
    struct cells_access look = {.kind = CELLS_READ, .optional = true, .block = txn->count > 0};
    look.table = (uint32_t)prng_below(prng, cells->load.plan->tables);
    look.key = draw_key(cells, prng);
    look.read = prng_below(prng, 3) == 0 ? 0 : draw_cells(&cells->tables[look.table], prng);
    if (cells_taken(cells, txn, look.table, look.key)) return;
    if (cells->load.plan->upserts && look.read && (look.key + look.table + txn->count) % 3 == 0) {
        look.kind = CELLS_UPDATE;
        look.write = look.read;
    }
    struct cells_access insert = {
        .kind = CELLS_INSERT, .table = look.table, .key = look.key, .block = true, .if_absent = true};
    txn->accesses[txn->count++] = look;
    txn->accesses[txn->count++] = insert;
}

void sim_cells_draw(const struct cells *cells, uint32_t client, uint32_t index, struct cells_txn *txn)
{
    const struct sim_plan *plan = cells->load.plan;
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, (uint64_t)index << 32 | (client + 1));
    *txn = (struct cells_txn){0};
    uint32_t wanted = (uint32_t)prng_between(&prng, 1, plan->accesses_max);
    for (uint32_t i = 0; i < wanted && txn->count < wanted; i++) {
        if (wanted - txn->count >= 2 && prng_below(&prng, 12) == 0)
            draw_insert_if_absent(cells, &prng, txn);
        else
            draw_access(cells, &prng, txn);
    }
    txn->user_abort = prng_below(&prng, 24) == 0;
    txn->writes_last = prng_below(&prng, 4) == 0;
}

/* ---- tables ---- */

/* By the clients' rows; `columns` has room for one more than there are cells. */
static struct cellar_table_def definition(const struct cells_table *table, struct cellar_column *columns)
{
    columns[0] =
        (struct cellar_column){.name = "key", .bytes = sizeof(uint64_t), .type = CELLAR_UINT, .flags = CELLAR_KEY};
    for (uint32_t cell = 0; cell < table->cells; cell++)
        columns[cell + 1] = (struct cellar_column){.name = table->column_names[cell],
                                                   .offset = table->offsets[cell],
                                                   .bytes = table->columns[cell].bytes,
                                                   .type = CELLAR_FIXED};
    return (struct cellar_table_def){
        .name = table->name, .row_bytes = table->client_bytes, .columns = columns, .column_count = table->cells + 1};
}

static int table_make(struct cells *cells, struct cellar *db, struct prng *prng, uint32_t number,
                      struct cellar_error *error)
{
    const struct sim_plan *plan = cells->load.plan;
    struct cells_table *table = &cells->tables[number];
    const uint32_t sizes[] = {1, plan->keys, plan->keys * 4};
    snprintf(table->name, sizeof table->name, "cells%u", number);
    table->cells = number == 0 ? plan->cells : (uint32_t)prng_between(prng, 1, plan->cells);
    table->all = table->cells == 32 ? UINT32_MAX : (1u << table->cells) - 1;
    table->client_bytes = sizeof(uint64_t);
    for (uint32_t cell = 0; cell < table->cells; cell++) {
        table->columns[cell].bytes = (uint32_t)prng_between(prng, 8, plan->cell_bytes);
        snprintf(table->column_names[cell], sizeof table->column_names[cell], "c%u", cell);
        table->offsets[cell] = table->client_bytes;
        table->client_bytes += table->columns[cell].bytes;
    }
    struct cellar_column columns[CELLAR_CELLS_MAX + 1];
    struct cellar_table_def def = definition(table, columns);
    def.rows = sizes[prng_below(prng, 3)];
    def.cluster_bits = prng_below(prng, 4) == 0 ? 3 : 0;
    int code = db_table_open(db, &def, 0, &table->table, error);
    if (code) return code;
    struct cellar_schema schema;
    cellar_schema_describe(table->table, &schema, table->columns);
    table->row_bytes = schema.row_bytes;
    return 0;
}

static uint64_t square_root(uint64_t square)
{
    uint64_t root = 0;
    for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= square) root |= bit;
    return root;
}

/* Weights (number + 1) ^ -theta, for theta in quarters: integers only, so that they are the same everywhere. */
static void popularity_make(struct cells *cells)
{
    uint32_t quarters = (uint32_t)(cells->load.plan->theta * 4);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cells->load.plan->keys; i++) {
        uint64_t power = 1;
        for (uint32_t q = 0; q < quarters; q++) power *= i + 1;
        uint64_t root = square_root(square_root(power << 32) << 16); /* (power ^ 1/4) * 2^16 */
        sum += (1ull << 40) / root;
        cells->popularity[i] = sum;
    }
}

/* Each seed has its own mix: some kinds may be missing, others frequent. */
static void kinds_make(struct cells *cells, struct prng *prng)
{
    static const uint8_t weights[] = {0, 1, 2, 4, 8};
    cells->kind_weights[CELLS_READ] = 1;
    cells->kind_weights[CELLS_UPDATE] = 1;
    for (uint32_t i = 0; i < CELLS_KINDS; i++) cells->kind_weights[i] += weights[prng_below(prng, sizeof weights)];
}

/* All that follows from the plan; of tables that are there the same. */
static int cells_make(struct cells *cells, struct cellar *db, struct cellar_error *error)
{
    const struct sim_plan *plan = cells->load.plan;
    struct prng prng;
    int code = 0;
    *cells = (struct cells){.load = cells->load, .sessions = cells->sessions};
    prng_seed_stream(&prng, plan->seed, STREAM_TABLES);
    popularity_make(cells);
    kinds_make(cells, &prng);
    for (uint32_t i = 0; i < plan->tables && code == 0; i++) code = table_make(cells, db, &prng, i, error);
    const struct cellar_proc_def def = {
        .name = "cells", .fn = run_txn, .records_max = SIM_ACCESSES_MAX, .writes_max = SIM_ACCESSES_MAX};
    const struct cellar_proc_def reads = {.name = "cells.read", .fn = run_txn, .records_max = SIM_ACCESSES_MAX};
    if (code == 0 && plan->values) code = sim_texts_make(db, &cells->texts, error);
    if (code == 0) code = db_proc_register(db, &def, &cells->proc, error);
    if (code == 0 && mode_of(plan->cc)->versions) code = db_proc_register(db, &reads, &cells->read_proc, error);
    return code;
}

static void cells_close(struct sim_load *load)
{
    struct cells *cells = cells_of(load);
    sim_sessions_close(cells->sessions);
    free(cells);
}

static int cells_open(const struct sim_plan *plan, struct cellar *db, struct sim_load **out, struct cellar_error *error)
{
    if (plan->keys > SIM_CELLS_KEYS_MAX || plan->cell_bytes > SIM_CELLS_VALUE_BYTES_MAX ||
        plan->cells * plan->cell_bytes > SIM_CELLS_ROW_BYTES_MAX || plan->accesses_max > SIM_ACCESSES_MAX)
        return err_set(error, CELLAR_INVALID, "cells has at most %d keys, rows of %d bytes, and %d accesses",
                       SIM_CELLS_KEYS_MAX, SIM_CELLS_ROW_BYTES_MAX, SIM_ACCESSES_MAX);
    struct cells *cells = calloc(1, sizeof *cells);
    if (!cells) return err_set(error, CELLAR_NOMEM, "no memory for a workload");
    cells->load.ops = sim_load_find(plan->workload);
    cells->load.plan = plan;
    int code = cells->load.ops == &sim_load_sessions ? sim_sessions_open(cells, error) : 0;
    if (code == 0) code = cells_make(cells, db, error);
    if (code < 0)
        cells_close(&cells->load);
    else
        *out = &cells->load;
    return code;
}

/* Tables that have orders at once: made while nothing else runs. */
static int ordered_make(struct cells *cells, struct cellar *db, struct cellar_error *error)
{
    const struct sim_plan *plan = cells->load.plan;
    int code = plan->herds ? sim_herds_make(db, &cells->herds, error) : 0;
    if (code == 0 && plan->people) code = sim_people_make(db, &cells->people, error);
    if (code == 0 && plan->remakes && !cells->load.passing)
        cells->load.passing = sim_people_passing(cells->people, plan->remakes == SIM_REMAKES_TABLE);
    return code;
}

static int cells_reopen(struct sim_load *load, struct cellar *db, struct cellar_error *error)
{
    struct cells *cells = cells_of(load);
    sim_sessions_end(cells->sessions);
    int code = cells_make(cells, db, error);
    return code ? code : ordered_make(cells, db, error);
}

static int cells_fill(struct sim_load *load, struct cellar_lab_client *self, struct cellar_error *error)
{
    struct cells *cells = cells_of(load);
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    int code = 0;
    if (cellar_lab_index(self) != 0) return 0;
    for (uint32_t t = 0; t < load->plan->tables; t++) {
        for (uint32_t key = 0; key < load->plan->keys && code == 0; key++) {
            if (sim_cells_mix(load->plan->seed, t << 8 | key) % 16 >= LOADED_SIXTEENTHS) continue;
            sim_cells_row_make(&cells->tables[t], t, key, 0, 0, row);
            code = db_load(self, cells->tables[t].table, sim_cells_key(key), row, error);
        }
    }
    return code;
}

/* Tables are loaded before they have an order. */
static int sessions_filled(struct sim_load *load, struct cellar *db, struct cellar_error *error)
{
    struct cells *cells = cells_of(load);
    struct cellar_column columns[CELLAR_CELLS_MAX + 1];
    int code = 0;
    for (uint32_t t = 0; t < load->plan->tables && load->plan->ordered && code == 0; t++) {
        struct cellar_table_def def = definition(&cells->tables[t], columns);
        def.flags = CELLAR_ORDERED;
        code = db_table_open(db, &def, CELLAR_ADD, &cells->tables[t].table, error);
    }
    return code ? code : ordered_make(cells, db, error);
}

static bool reads_only(const struct cells_txn *txn)
{
    for (uint32_t i = 0; i < txn->count; i++)
        if (txn->accesses[i].kind != CELLS_READ) return false;
    return true;
}

static int cells_next(struct sim_load *load, struct cellar_lab_client *self, uint32_t index,
                      const struct cellar_call_options *options, struct cellar_result *result)
{
    struct cells *cells = cells_of(load);
    uint32_t client = cellar_lab_index(self);
    struct cells_txn txn;
    sim_cells_draw(cells, client, index, &txn);
    struct cells_call call = {.cells = cells, .txn = &txn, .writer = sim_plan_txn(load->plan, client, index) + 1};
    const struct cellar_proc *proc = cells->read_proc && reads_only(&txn) ? cells->read_proc : cells->proc;
    int code = cellar_lab_exec(self, proc, &call, options, result);
    if (code == 0 && call.complaint[0])
        sim_load_complain(load, "transaction %u read %s", call.writer - 1, call.complaint);
    return code;
}

/* ---- what is left ---- */

static int scan_row(void *arg, uint64_t unused, const void *row)
{
    struct cells *cells = arg;
    const struct cells_table *table = &cells->tables[cells->scanning];
    uint64_t key;
    (void)unused;
    memcpy(&key, row, sizeof key); /* a client's row: sim_cells.h */
    uint32_t number = number_of(key);
    if (number >= cells->load.plan->keys || sim_cells_key(number) != key || cells->seen[number]) {
        sim_load_complain(&cells->load, "table %s has a record of key %llu, which was never inserted or is there twice",
                          table->name, (unsigned long long)key);
        return CELLAR_CORRUPT;
    }
    cells->seen[number] = true;
    for (uint32_t cell = 0; cell < table->cells; cell++) {
        if (sim_cells_value_sound((const uint8_t *)row + table->offsets[cell], table->columns[cell].bytes,
                                  cells->scanning, number, cell))
            continue;
        sim_load_complain(&cells->load, "table %s, key %u, cell %u is left with a value that no client wrote so",
                          table->name, number, cell);
        return CELLAR_CORRUPT;
    }
    return 0;
}

static int cells_check(struct sim_load *load, struct cellar_lab_client *self, char verdict[SIM_LOAD_VERDICT_BYTES])
{
    struct cells *cells = cells_of(load);
    struct cellar_error error = {0};
    int code = 0;
    for (cells->scanning = 0; cells->scanning < load->plan->tables && code == 0; cells->scanning++) {
        memset(cells->seen, 0, sizeof cells->seen);
        code = db_scan_rows(self, cells->tables[cells->scanning].table, scan_row, cells, &error);
    }
    if (code == 0 && cells->texts) code = sim_texts_check(self, cells->texts, &error);
    if (code == 0 && cells->people) code = sim_people_check(self, cells->people, &error);
    if (code == 0 && cells->herds) code = sim_herds_check(self, cells->herds, &error);
    if (code == 0) return 0;
    snprintf(verdict, SIM_LOAD_VERDICT_BYTES, "%s", load->verdict[0] ? load->verdict : error.text);
    return CELLAR_CORRUPT;
}

/* Half of the transactions are interactive ones; the others are procedures beside them. */
static int sessions_next(struct sim_load *load, struct cellar_lab_client *self, uint32_t index,
                         const struct cellar_call_options *options, struct cellar_result *result)
{
    struct cells *cells = cells_of(load);
    uint32_t client = cellar_lab_index(self), txn = sim_plan_txn(load->plan, client, index);
    if (sim_cells_mix(load->plan->seed, txn) % 2) return cells_next(load, self, index, options, result);
    return sim_sessions_next(cells, self, index, options, result);
}

const struct sim_load_ops sim_load_cells = {.concludes = true,
                                            .open = cells_open,
                                            .reopen = cells_reopen,
                                            .fill = cells_fill,
                                            .next = cells_next,
                                            .check = cells_check,
                                            .close = cells_close};
const struct sim_load_ops sim_load_sessions = {.concludes = true,
                                               .open = cells_open,
                                               .reopen = cells_reopen,
                                               .fill = cells_fill,
                                               .filled = sessions_filled,
                                               .next = sessions_next,
                                               .check = cells_check,
                                               .close = cells_close};
