/* catalog_table.c - tables of a pool: read with the catalog, found, and made. */
#include "catalog_internal.h"
#include "schemadef.h"
#include "handle.h"
#include "lazy.h"
#include "stock.h"
#include "storage_plants.h"
#include "vacant.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX_MAX (1ull << 40)
#define READS_MAX 8 /* of an entry whose checksum fails because its creation is under way */
#define TEXT(number) ((unsigned long long)(number))

struct fabric_addr catalog_entry_at(uint32_t index)
{
    return fabric_addr_of(0, sizeof(struct superblock_wire) + (uint64_t)index * LAYOUT_CATALOG_ENTRY_BYTES);
}

/* Other threads may look for tables meanwhile (catalog_table_find). */
static void table_publish(struct catalog *catalog, struct table *table)
{
    __atomic_store_n(&catalog->tables[table->id - 1], table, __ATOMIC_RELEASE);
    if (catalog->table_count < table->id) __atomic_store_n(&catalog->table_count, table->id, __ATOMIC_RELEASE);
}

static bool state_sane(uint64_t state)
{
    return state == LAYOUT_TABLE_WHOLE || state == LAYOUT_TABLE_MAKING || state == LAYOUT_TABLE_BUILDING ||
           state == LAYOUT_TABLE_ASKED || state == LAYOUT_TABLE_GONE || state == LAYOUT_TABLE_EMPTYING ||
           (layout_table_replacement(state) && layout_table_replacement(state) <= LAYOUT_CATALOG_TABLES_MAX);
}

bool catalog_state_hides(uint64_t state)
{
    return state == LAYOUT_TABLE_MAKING || state == LAYOUT_TABLE_BUILDING || state == LAYOUT_TABLE_GONE ||
           layout_table_replacement(state);
}

static int entry_add(struct catalog *catalog, const struct catalog_entry_wire *entry, uint32_t i,
                     struct cellar_error *error);

/* Those of a table that has them are known before it is. */
static int extents_add(struct catalog *catalog, const struct catalog_entry_wire *entry, uint32_t i,
                       struct cellar_error *error)
{
    const struct catalog_entry_wire *entries = entry - i;
    int rc = 0;
    for (uint32_t size = 0; size < EXTENT_SIZES && rc == 0; size++) {
        uint32_t id = entry->extents[size];
        bool is_one = id && id <= LAYOUT_CATALOG_TABLES_MAX && entries[id - 1].table_id && !entries[id - 1].variable;
        if (is_one && !catalog->tables[id - 1]) rc = entry_add(catalog, &entries[id - 1], id - 1, error);
    }
    return rc;
}

static int entry_add(struct catalog *catalog, const struct catalog_entry_wire *entry, uint32_t i,
                     struct cellar_error *error)
{
    if (!state_sane(entry->state))
        return err_set(error, CELLAR_CORRUPT, "catalog entry %u: no table is in state %#llx", i, TEXT(entry->state));
    if (catalog_state_hides(entry->state)) {
        catalog->going |= 1ull << i;
        return 0;
    }
    struct table *table = handle_new(sizeof *table);
    if (!table) return err_set(error, CELLAR_NOMEM, "no memory for a table");
    int rc = entry->variable ? extents_add(catalog, entry, i, error) : 0;
    if (rc == 0) rc = catalog_entry_decode(catalog, entry, i, table, error);
    table->emptying = entry->state == LAYOUT_TABLE_EMPTYING;
    if (rc)
        handle_drop(table, sizeof *table);
    else
        table_publish(catalog, table);
    return rc;
}

static int entries_decode(struct catalog *catalog, const struct catalog_entry_wire *entries, struct cellar_error *error)
{
    int rc = 0;
    catalog->going = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++)
        if (entries[i].table_id && !catalog->tables[i]) rc = entry_add(catalog, &entries[i], i, error);
    if (rc) return rc;
    catalog_each(catalog, table)
    { /* what is left of its parts goes with a table */
        uint32_t of = catalog_part_of(table);
        if (of && of <= LAYOUT_CATALOG_TABLES_MAX && catalog_is_going(catalog, of)) catalog_bury(catalog, table);
    }
    return 0;
}

int catalog_tables_read(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct cellar_error *error)
{
    struct catalog_home *home = catalog_home_of(catalog);
    int rc = 0;
    /* An open does not take the lock: the lines of an entry that is just being made may be read in the wrong order. */
    for (uint32_t reads = 0; reads == 0 || (rc == CELLAR_CORRUPT && reads < READS_MAX); reads++) {
        rc = batch_read(co, ep, catalog_entry_at(0), home->entries, sizeof(home->entries));
        if (rc) return err_set(error, rc, "memory node 0: %s", cellar_strerror(rc));
        rc = entries_decode(catalog, home->entries, error);
    }
    return rc;
}

/* ---- comparing ---- */

static int column_differs(const struct table *table, uint32_t i, const struct schema *want, struct cellar_error *error)
{
    const struct schema_column *a = &table->schema.columns[i], *b = &want->columns[i];
    if (strcmp(a->name, b->name) != 0)
        return err_set(error, CELLAR_MISMATCH, "table %s exists with column %s in place %u; asked for %s", table->name,
                       a->name, i, b->name);
    if (a->row_offset != b->row_offset || a->bytes != b->bytes)
        return err_set(error, CELLAR_MISMATCH,
                       "table %s exists with column %s of %u bytes at %u; asked for %u bytes at %u", table->name,
                       a->name, a->bytes, a->row_offset, b->bytes, b->row_offset);
    if (a->cell != b->cell)
        return err_set(error, CELLAR_MISMATCH, "table %s exists with column %s in cell %u; asked for cell %u",
                       table->name, a->name, a->cell, b->cell);
    return 0;
}

/* 0 when the table is what `from` (built: `want`) asks for, else MISMATCH with the first difference. */
static int table_compare(const struct table *table, const struct cellar_schema *from, const struct schema *want,
                         struct cellar_error *error)
{
    const struct {
        const char *what;
        uint64_t have, want;
    } numbers[] = {
        {"columns", table->schema.column_count, want->column_count},
        {"bytes a row", table->schema.row_bytes, want->row_bytes},
        {"records at most", table->records_max, from->records_max},
        {"cluster bits", table->index.cluster_bits, from->cluster_bits},
        {"bytes of a key", table->key_bytes, from->key_bytes},
        {"as set of columns of variable length", table->variable, from->variable},
        {"bytes of long values at most", table->long_bytes, catalog_long_bytes(from)},
    };
    if (table->key.count)
        return err_set(error, CELLAR_MISMATCH, "table %s exists, with typed columns: cellar_table_open opens it",
                       table->name);
    if (schema_keeps_versions(&table->schema) != schema_keeps_versions(want))
        return err_set(error, CELLAR_MISMATCH, "table %s exists and keeps %s old versions: it is for modes that %s",
                       table->name, schema_keeps_versions(want) ? "no" : "its",
                       schema_keeps_versions(want) ? "keep none" : "keep them");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i].have != numbers[i].want)
            return err_set(error, CELLAR_MISMATCH, "table %s exists with %llu %s; asked for %llu", table->name,
                           TEXT(numbers[i].have), numbers[i].what, TEXT(numbers[i].want));
    for (uint32_t i = 0; i < want->column_count; i++) {
        int rc = column_differs(table, i, want, error);
        if (rc) return rc;
    }
    return 0;
}

/* ---- creating ---- */

/* The buckets of a table that is not to be, given back if no chunks were taken after them. */
static void buckets_undo(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct table *table,
                         uint32_t node_count)
{
    struct chunk_wire *run = &catalog_home_of(catalog)->chunk;
    uint64_t chunks = run->chunk_count, old;
    memset(run, 0, sizeof(*run));
    for (uint32_t node = 0; node < node_count; node++) {
        uint64_t offset = table->index.base[node] - sizeof(*run);
        uint64_t first = (offset - catalog->heap_offset) / LAYOUT_CHUNK_BYTES;
        /* A failure leaves chunks unused, nothing worse. */
        if (catalog_replicate(co, ep, catalog, fabric_addr_of(node, offset), run, sizeof(*run)) == 0)
            (void)!batch_cas(co, ep, fabric_addr_of(node, offsetof(struct superblock_wire, chunk_next)), first + chunks,
                             first, &old);
    }
}

/* A run of zeroed buckets on each node. */
static int buckets_take(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table,
                        struct cellar_error *error)
{
    struct chunk_wire *run = &catalog_home_of(catalog)->chunk;
    uint64_t bytes = sizeof(*run) + table->index.buckets_per_node * LAYOUT_LINE;
    uint64_t chunks = (bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES;
    if (chunks > catalog->chunk_count || chunks > UINT32_MAX)
        return err_set(error, CELLAR_FULL,
                       "table %s: the index for %llu records takes %llu bytes of each memory node, which has %llu",
                       table->name, TEXT(table->records_max), TEXT(bytes),
                       TEXT(catalog->chunk_count * LAYOUT_CHUNK_BYTES));
    *run = (struct chunk_wire){.kind = LAYOUT_RUN_BUCKETS,
                               .table_id = table->id,
                               .chunk_count = (uint32_t)chunks,
                               .owner_cn = ep->cn,
                               .slot_bytes = LAYOUT_LINE};
    for (uint32_t node = 0; node < catalog->mn_count; node++) {
        uint64_t offset;
        int rc = catalog_run_take(co, ep, catalog, node, run, &offset);
        if (rc) {
            buckets_undo(co, ep, catalog, table, node);
            return err_set(error, rc, "table %s: an index of %llu bytes on memory node %u: %s", table->name,
                           TEXT(bytes), node, cellar_strerror(rc));
        }
        table->index.base[node] = offset + sizeof(*run);
    }
    return 0;
}

/* A part of an entry as it is in memory, to all replicas. */
static int entry_put(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t index, uint64_t at,
                     uint64_t bytes)
{
    const uint8_t *entry = (const uint8_t *)&catalog_home_of(catalog)->entries[index];
    return catalog_replicate(co, ep, catalog, fabric_addr_plus(catalog_entry_at(index), at), entry + at,
                             (uint32_t)bytes);
}

static int number_put(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t index)
{
    return entry_put(co, ep, catalog, index, 0, sizeof(((struct catalog_entry_wire *)0)->table_id));
}

/* All of it but its number, as MAKING. Returns the state that it gets at the end in *state. */
static int making_put(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct table *table,
                      uint64_t *state)
{
    struct catalog_entry_wire *entry = &catalog_home_of(catalog)->entries[table->id - 1];
    const uint64_t at = sizeof(entry->table_id);
    catalog_entry_encode(table, entry);
    *state = entry->state;
    entry->state = LAYOUT_TABLE_MAKING;
    return entry_put(co, ep, catalog, table->id - 1, at, sizeof(*entry) - at);
}

/*
 * INV-RECLAIM-6. The entry is there, as MAKING, before the table has a run. If the maker dies, its entry tells whose
 * the runs are, and no other table gets the number.
 */
static int entry_begin(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct table *table)
{
    uint64_t state;
    int rc = making_put(co, ep, catalog, table, &state);
    return rc ? rc : number_put(co, ep, catalog, table->id - 1);
}

/* The number is free again. A failure leaves it to the next process that is alone with the pool. */
static void entry_undo(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct table *table)
{
    catalog_home_of(catalog)->entries[table->id - 1].table_id = 0;
    (void)!number_put(co, ep, catalog, table->id - 1);
}

/* Its state is the last word to change: those that read without the lock have all of it, or none. */
static int entry_end(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table)
{
    struct catalog_entry_wire *entry = &catalog_home_of(catalog)->entries[table->id - 1];
    uint64_t state;
    int rc = making_put(co, ep, catalog, table, &state);
    table->checksum = entry->checksum;
    entry->state = state;
    return rc ? rc
              : entry_put(co, ep, catalog, table->id - 1, offsetof(struct catalog_entry_wire, state), sizeof(state));
}

/* Its entry, its buckets, and its entry again: whole. */
static int table_write(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table,
                       struct cellar_error *error)
{
    int written = PLANT(table_entry_last) ? 0 : entry_begin(co, ep, catalog, table);
    int rc = written ? 0 : buckets_take(co, ep, catalog, table, error);
    if (rc) entry_undo(co, ep, catalog, table);
    if (rc) return rc;
    if (written == 0 && PLANT(table_entry_last)) written = entry_begin(co, ep, catalog, table);
    if (written == 0) written = entry_end(co, ep, catalog, table);
    return written ? err_set(error, written, "writing the catalog: %s", cellar_strerror(written)) : 0;
}

static int table_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct catalog_wish *wish,
                      const struct schema *schema, const struct table **made, struct cellar_error *error)
{
    const struct catalog_entry_wire *entries = catalog_home_of(catalog)->entries;
    const struct cellar_schema *from = wish->from;
    uint32_t index = 0;
    while (index < LAYOUT_CATALOG_TABLES_MAX &&
           (entries[index].table_id || catalog->tables[index] || index + 1 == wish->extents_of))
        index++;
    if (index == LAYOUT_CATALOG_TABLES_MAX)
        return err_set(error, CELLAR_FULL, "table %s: the pool has %d tables, no more are possible", from->name,
                       LAYOUT_CATALOG_TABLES_MAX);
    struct table *table = handle_new(sizeof *table);
    if (!table) return err_set(error, CELLAR_NOMEM, "no memory for table %s", from->name);
    table->handle = (struct cellar_table){.catalog = catalog, .table = table};
    table->id = index + 1;
    memcpy(table->name, from->name, strnlen(from->name, CELLAR_NAME_BYTES - 1));
    table->records_max = from->records_max;
    table->schema = *schema;
    table->key_bytes = from->key_bytes;
    if (wish->typing) {
        table->key = wish->typing->key;
        catalog_typing_apply(wish->typing->types, wish->typing->places, &table->schema);
    }
    if (wish->orders) table->orders = *wish->orders;
    table->extent_size = wish->extent_size;
    table->extents_of = wish->extents_of;
    table->unborn = wish->typing && wish->typing->building;
    table->variable = from->variable;
    table->long_bytes = catalog_long_bytes(from);
    table->index = (struct index_geometry){
        .buckets_per_node = index_buckets_for(from->records_max, catalog->mn_count, from->cluster_bits),
        .mn_count = catalog->mn_count,
        .cluster_bits = from->cluster_bits};
    int rc = catalog_extents_make(co, ep, catalog, table, error);
    if (rc == 0) rc = table_write(co, ep, catalog, table, error);
    if (rc) {
        handle_drop(table, sizeof *table);
        return rc;
    }
    table->unborn = wish->typing && wish->typing->twin; /* others are found before they are WHOLE */
    table_publish(catalog, table);
    if (wish->typing) wish->typing->made = true;
    *made = table;
    return 0;
}

static bool orders_same(const struct catalog_index *a, const struct catalog_index *b)
{
    return a->of == b->of && a->flags == b->flags && a->column_count == b->column_count &&
           memcmp(a->columns, b->columns, sizeof(a->columns)) == 0;
}

/* The table of the name that is asked for; an index's nodes may have the name of those of the table's twin. */
static const struct table *wish_find(const struct catalog *catalog, const struct catalog_wish *wish)
{
    if (wish->typing && wish->typing->twin) return NULL;
    if (!wish->orders) return catalog_table_find(catalog, wish->from->name);
    catalog_each(catalog, table)
    {
        bool others = table->orders.of && table->orders.of != wish->orders->of;
        if (!others && strcmp(table->name, wish->from->name) == 0) return table;
    }
    return NULL;
}

/* Finds or makes it, with the lock held. */
static int find_or_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct catalog_wish *wish,
                        const struct schema *schema, const struct table **out, struct cellar_error *error)
{
    static const struct catalog_index none;
    const char *name = wish->from->name;
    int rc = catalog_tables_read(co, ep, catalog, error);
    if (rc) return rc;
    const struct table *table = *out = wish_find(catalog, wish);
    if (!table && wish->typing && wish->typing->existing)
        return err_set(error, CELLAR_NOT_FOUND, "there is no table %s", name);
    if (!table) return table_make(co, ep, catalog, wish, schema, out, error);
    if (table->emptying)
        return err_set(error, CELLAR_BUSY,
                       "table %s: a process that emptied it did not come to the end: the next one that opens the pool "
                       "alone does",
                       name);
    if (!orders_same(&table->orders, wish->orders ? wish->orders : &none))
        return err_set(error, CELLAR_MISMATCH, "table %s exists, and is %s", name,
                       table->orders.of ? "an index, or one of other columns" : "no index");
    if (table->extent_size)
        return err_set(error, CELLAR_MISMATCH, "table %s exists, and has another one's extents", name);
    if (wish->typing) return 0;
    return table_compare(table, wish->from, schema, error);
}

/* Checks what is asked for, and lays it out. */
static int wish_check(const struct catalog *catalog, const struct cellar_schema *from, struct schema *schema,
                      struct cellar_error *error)
{
    int rc = schema_build(from, catalog->cn_count, schema, error);
    if (rc) return rc;
    if (catalog->versions && !catalog->known_versions->lay_out(schema))
        return err_set(error, CELLAR_INVALID, "table %s: with its old versions a record would take more than %d bytes",
                       from->name, LAYOUT_RECORD_BYTES_MAX);
    if (!catalog_key_sane(schema, from->key_bytes))
        return err_set(error, CELLAR_INVALID,
                       "table %s: keys of %u bytes: 1 to %d are possible, and the first column must be a key of that "
                       "size (CELLAR_KEY), in a cell of its own",
                       from->name, from->key_bytes, CELLAR_KEY_BYTES_MAX);
    if (from->records_max == 0 || from->records_max > RECORDS_MAX_MAX)
        return err_set(error, CELLAR_INVALID, "table %s: records_max is %llu; 1 to %llu are possible", from->name,
                       TEXT(from->records_max), TEXT(RECORDS_MAX_MAX));
    if (from->cluster_bits > CATALOG_CLUSTER_BITS_MAX)
        return err_set(error, CELLAR_INVALID, "table %s: cluster_bits is %u; 0 to %d are possible", from->name,
                       from->cluster_bits, CATALOG_CLUSTER_BITS_MAX);
    return catalog_extents_check(catalog, from, schema, error);
}

int catalog_extent_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct catalog_wish *wish,
                        const struct table **made, struct cellar_error *error)
{
    struct schema schema;
    int rc = wish_check(catalog, wish->from, &schema, error);
    return rc ? rc : table_make(co, ep, catalog, wish, &schema, made, error);
}

static int wish_serve(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct catalog_wish *wish,
                      const struct table **out, struct cellar_error *error)
{
    const struct table *table = NULL;
    struct schema schema;
    *out = NULL;
    bool named = wish->typing && wish->typing->existing && !wish->from->column_count;
    int rc = named ? 0 : wish_check(catalog, wish->from, &schema, error);
    if (rc) return rc;
    bool before = batch_bulk_enter(ep);
    rc = catalog_lock_take(co, ep, error);
    if (rc == 0) {
        rc = find_or_make(co, ep, catalog, wish, &schema, &table, error);
        int given = catalog_lock_give(co, ep);
        if (rc == 0 && given) rc = err_set(error, given, "releasing the catalog: %s", cellar_strerror(given));
    }
    batch_bulk_leave(ep, before);
    if (rc == 0) *out = table;
    return rc;
}

int catalog_table_create(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                         const struct cellar_schema *from, const struct table **out, struct cellar_error *error)
{
    return wish_serve(co, ep, catalog, &(const struct catalog_wish){.from = from}, out, error);
}

int catalog_nodes_create(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                         const struct cellar_schema *from, const struct catalog_index *orders, const struct table **out,
                         struct cellar_error *error)
{
    return wish_serve(co, ep, catalog, &(const struct catalog_wish){.from = from, .orders = orders}, out, error);
}

int catalog_typed_open(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct cellar_schema *from,
                       struct catalog_typing *typing, const struct table **out, struct cellar_error *error)
{
    return wish_serve(co, ep, catalog, &(const struct catalog_wish){.from = from, .typing = typing}, out, error);
}

const struct table *catalog_table_find(const struct catalog *catalog, const char *name)
{
    catalog_each(catalog, table)
    {
        const struct table *base = catalog_base(catalog, table);
        bool unborn = base && base->unborn;
        if (!unborn && strcmp(table->name, name) == 0) return table;
    }
    return NULL;
}

int catalog_table_check(const struct catalog *catalog, const struct cellar_table *handle, struct cellar_error *error)
{
    if (!catalog_owns(catalog, handle))
        return err_set(error, CELLAR_INVALID, "the table is NULL, or of another database, or of one that was closed");
    if (!handle->table->dropped) return 0;
    return err_set(error, CELLAR_DROPPED, "table %s: %s", handle->table->name, cellar_strerror(CELLAR_DROPPED));
}

void catalog_bury(struct catalog *catalog, struct table *table)
{
    catalog->going |= 1ull << (table->id - 1);
    __atomic_store_n(&catalog->tables[table->id - 1], NULL, __ATOMIC_RELEASE);
    atomic_store(&table->dropped, true);
    table->buried = catalog->buried;
    catalog->buried = table;
    atomic_fetch_add(&catalog->changes, 1);
}

void catalog_free(struct catalog *catalog)
{
    if (!catalog) return;
    for (uint32_t i = 0; i < catalog->table_count; i++) handle_drop(catalog->tables[i], sizeof *catalog->tables[i]);
    while (catalog->buried) {
        struct table *table = catalog->buried;
        catalog->buried = table->buried;
        handle_drop(table, sizeof *table);
    }
    vacant_free(catalog->vacant);
    stock_set_free(catalog->stocks);
    lazy_unmap(catalog_home_of(catalog), sizeof(struct catalog_home));
}
