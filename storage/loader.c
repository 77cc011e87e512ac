/* loader.c - rows in, rows out, bytes counted: all at rest. */
#include "loader_internal.h"
#include "lazy.h"

#include <stdlib.h>
#include <string.h>

#define TRIES_MAX (1u << 26) /* of a bucket's lock: seconds, while another loader holds it for microseconds */
#define BUCKET_TAG_BITS 8
#define TEXT(number) ((unsigned long long)(number))

int loader_open(struct fabric_ep *ep, const struct catalog *catalog, struct space *space, uint32_t cn,
                struct loader **out)
{
    *out = NULL;
    struct loader *loader = NULL;
    if (posix_memalign((void **)&loader, LAYOUT_LINE, sizeof(*loader)) != 0) return CELLAR_NOMEM;
    memset(loader, 0, offsetof(struct loader, ops));
    loader->memory = lazy_map(sizeof(*loader->memory));
    loader->ep = ep;
    loader->catalog = catalog;
    loader->space = space;
    loader->cn = cn;
    int rc = loader->memory ? fabric_register_local(ep->fabric, loader->memory, sizeof(*loader->memory)) : CELLAR_NOMEM;
    if (rc)
        loader_free(loader);
    else
        *out = loader;
    return rc;
}

void loader_free(struct loader *loader)
{
    if (!loader) return;
    lazy_unmap(loader->memory, sizeof(*loader->memory));
    free(loader);
}

static int fabric_error(const struct table *table, uint64_t key, const char *what, int rc, struct cellar_error *error)
{
    return err_set(error, rc, "table %s, key %llu: %s: %s", table->name, TEXT(key), what, cellar_strerror(rc));
}

/* ---- loading ---- */

/* Either the chain runs in a circle, or so many records came to one bucket. */
static int chain_too_long(const struct loader *loader, const struct table *table, struct fabric_addr head,
                          uint64_t next, struct cellar_error *error)
{
    for (uint32_t b = 0; b + 1 < LOADER_CHAIN_MAX; b++)
        if (index_next(&loader->memory->chain[b]) == next)
            return err_set(error, CELLAR_CORRUPT,
                           "INV-STORE-7: table %s: the index chain at node %u, offset %#llx comes back to offset %#llx",
                           table->name, fabric_addr_node(head), TEXT(fabric_addr_offset(head)), TEXT(next));
    return err_set(
        error, CELLAR_FULL,
        "table %s: the index chain at node %u, offset %#llx has more than %d buckets: many more records than "
        "records_max (%llu)",
        table->name, fabric_addr_node(head), TEXT(fabric_addr_offset(head)), LOADER_CHAIN_MAX,
        TEXT(table->records_max));
}

int loader_chain_read(struct coro *co, struct loader *loader, const struct table *table, struct fabric_addr head,
                      struct cellar_error *error)
{
    struct bucket_wire *chain = loader->memory->chain;
    uint32_t node = fabric_addr_node(head), count = 1;
    for (uint64_t next; index_bucket_sane(&chain[count - 1], loader->catalog->area_bytes); count++) {
        loader->chain_count = count;
        if ((next = index_next(&chain[count - 1])) == 0) return 0;
        if (count == LOADER_CHAIN_MAX) return chain_too_long(loader, table, head, next, error);
        if (!catalog_in_heap(loader->catalog, fabric_addr_of(node, next), LAYOUT_LINE)) break;
        int rc = batch_read(co, loader->ep, fabric_addr_of(node, next), &chain[count], LAYOUT_LINE);
        if (rc) return err_set(error, rc, "table %s: reading an index bucket: %s", table->name, cellar_strerror(rc));
    }
    return err_set(
        error, CELLAR_CORRUPT,
        "INV-STORE-5: table %s: bucket %u of the index chain at node %u, offset %#llx has impossible entries",
        table->name, count - 1, node, TEXT(fabric_addr_offset(head)));
}

/* Locks the key's head bucket and reads it. */
static int head_lock(struct coro *co, struct loader *loader, const struct table *table, uint64_t key,
                     struct fabric_addr head, struct cellar_error *error)
{
    const uint64_t mask = lockword_mask(BUCKET_TAG_BITS, 1), tag = lockword_tags(1, loader->cn);
    uint64_t old = 0;
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        struct fabric_op ops[2] = {fabric_op_masked_cas(head, &old, 0, mask, tag, mask),
                                   fabric_op_read(head, &loader->memory->chain[0], LAYOUT_LINE)};
        int rc = batch_run(co, loader->ep, ops, 2);
        if (rc) return fabric_error(table, key, "locking its index bucket", rc, error);
        if ((old & mask) == 0) return 0;
    }
    return err_set(error, CELLAR_CORRUPT, "table %s, key %llu: its index bucket stays locked by compute node %d",
                   table->name, TEXT(key), lockword_owner(old, BUCKET_TAG_BITS, 0));
}

static struct fabric_op head_unlock_op(struct fabric_addr head, uint32_t cn, uint64_t *old)
{
    const uint64_t mask = lockword_mask(BUCKET_TAG_BITS, 1);
    return fabric_op_masked_cas(head, old, lockword_tags(1, cn), mask, 0, mask);
}

/* EXISTS when a record of the chain has this key. */
static int check_absent(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, uint32_t node,
                        struct cellar_error *error)
{
    uint16_t fingerprint = index_fingerprint(key);
    struct record_wire *header = &loader->memory->headers[0];
    for (uint32_t b = 0; b < loader->chain_count; b++) {
        uint32_t at = 0;
        uint64_t offset;
        while (index_find(&loader->memory->chain[b], fingerprint, &at, &offset)) {
            if (!catalog_in_heap(loader->catalog, fabric_addr_of(node, offset), table->schema.record_bytes))
                return err_set(error, CELLAR_CORRUPT,
                               "INV-STORE-5: table %s: an index entry leads to offset %#llx of node %u", table->name,
                               TEXT(offset), node);
            int rc = batch_read(co, loader->ep, fabric_addr_of(node, offset), header, sizeof(*header));
            if (rc) return fabric_error(table, key, "reading a record", rc, error);
            if (header->key == key && header->table_id == table->id && !(header->flags & LAYOUT_RECORD_DELETED))
                return err_set(error, CELLAR_EXISTS, "table %s has a record of key %llu already", table->name,
                               TEXT(key));
        }
    }
    return 0;
}

/*
 * What a load makes of the TS before. With old versions, that of the last writer: readers know no TS that the clock
 * has not shown yet.
 */
static uint64_t ts_next(const struct schema *schema, uint64_t last)
{
    return last && schema_keeps_versions(schema) ? last : last + 1;
}

/* Versions of the new image: 1, or what follows those of the slot's last record. */
static int image_versions(struct coro *co, struct loader *loader, const struct schema *schema,
                          const struct space_slot *slot)
{
    uint8_t *image = loader->memory->image, *before = loader->memory->other;
    int rc = slot->used_before ? batch_read(co, loader->ep, slot->addr, before, schema->record_bytes) : 0;
    for (uint32_t cell = 0; rc == 0 && cell < schema->cell_count; cell++) {
        uint64_t last = slot->used_before ? record_version(schema, before, cell) : 0;
        uint16_t en = slot->used_before ? record_header(before)->en[cell] : 0;
        record_version_set(schema, image, cell,
                           layout_version_of(layout_en_next(en), ts_next(schema, layout_version_ts(last))));
    }
    return rc;
}

/* Buckets [first, end) of the chain image that were changed; the head is always. */
struct changes {
    uint32_t first, end;
};

/* Puts the entry in the chain image. A full chain grows by a bucket. */
static int entry_put(struct coro *co, struct loader *loader, const struct table *table, uint64_t key,
                     struct fabric_addr record, struct changes *changes)
{
    struct bucket_wire *chain = loader->memory->chain;
    uint16_t fingerprint = index_fingerprint(key);
    for (uint32_t b = 0; b < loader->chain_count; b++) {
        if (!index_put(&chain[b], fingerprint, fabric_addr_offset(record))) continue;
        *changes = (struct changes){b, b + 1};
        return 0;
    }
    uint32_t last = loader->chain_count - 1;
    if (loader->chain_count == LOADER_CHAIN_MAX) return CELLAR_FULL;
    struct fabric_addr next;
    int rc = space_bucket_take(co, loader->space, table, fabric_addr_node(record), &next);
    if (rc) return rc;
    chain[last + 1] = (struct bucket_wire){0};
    index_link(&chain[last], &chain[last + 1], fabric_addr_offset(next));
    bool put = index_put(&chain[last + 1], fingerprint, fabric_addr_offset(record));
    must(put);
    loader->chain_count++;
    *changes = (struct changes){last, last + 2};
    return 0;
}

/* Where bucket b > 0 of the chain image lies. */
static struct fabric_addr chain_addr(const struct loader *loader, uint32_t node, uint32_t b)
{
    return fabric_addr_of(node, index_next(&loader->memory->chain[b - 1]));
}

/* The WRITEs of one replica: record, changed overflow buckets (a new one before the one that links to it), head. */
static uint32_t replica_ops(struct loader *loader, const struct schema *schema, struct fabric_addr head,
                            const struct space_slot *slot, struct changes changes, uint32_t replica,
                            struct fabric_op *ops)
{
    struct bucket_wire *chain = loader->memory->chain;
    uint32_t count = 0;
    ops[count++] = fabric_op_write(catalog_replica(loader->catalog, fabric_addr_plus(slot->addr, 8), replica),
                                   loader->memory->image + 8, schema->record_bytes - 8);
    for (uint32_t b = changes.end - 1; b > 0 && b >= changes.first; b--)
        ops[count++] = fabric_op_write(
            catalog_replica(loader->catalog, fabric_addr_plus(chain_addr(loader, fabric_addr_node(head), b), 16),
                            replica),
            chain[b].entries, LAYOUT_BUCKET_CELL_BYTES);
    ops[count++] = fabric_op_write(catalog_replica(loader->catalog, fabric_addr_plus(head, 8), replica),
                                   &chain[0].version, LAYOUT_LINE - 8);
    return count;
}

/* Writes record and chain everywhere and unlocks the head. */
static int changes_write(struct coro *co, struct loader *loader, const struct schema *schema, struct fabric_addr head,
                         const struct space_slot *slot, struct changes changes)
{
    struct bucket_wire *bucket = &loader->memory->chain[0];
    bucket->version = layout_version_of(layout_en_next(layout_version_en(bucket->version)),
                                        ts_next(schema, layout_version_ts(bucket->version)));
    uint64_t old, record_old;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= loader->catalog->replicas; i++)
        count += replica_ops(loader, schema, head, slot, changes, i, loader->ops + count);
    if (slot->used_before)
        loader->ops[count++] = fabric_op_masked_cas(slot->addr, &record_old, 0, 0, 0, LOCKWORD_DELETED | LOCKWORD_HOT);
    /* With backups, the next owner's WRITEs come on other connections: these must be done before the lock is free. */
    if (loader->catalog->replicas) {
        int rc = batch_run(co, loader->ep, loader->ops, count);
        if (rc) return rc;
        count = 0;
    }
    loader->ops[count++] = head_unlock_op(head, loader->cn, &old);
    return batch_run(co, loader->ep, loader->ops, count);
}

/* All but the lock, which publish gives back. */
static int load_locked(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, const void *row,
                       struct fabric_addr head, struct cellar_error *error)
{
    struct space_slot slot;
    struct changes changes;
    uint32_t node = fabric_addr_node(head);
    int rc = loader_chain_read(co, loader, table, head, error);
    if (rc == 0) rc = check_absent(co, loader, table, key, node, error);
    if (rc) return rc;
    rc = space_slot_take(co, loader->space, table, node, &slot);
    if (rc) return fabric_error(table, key, "a record slot", rc, error);
    record_init(&table->schema, loader->memory->image, table->id, key, row);
    rc = image_versions(co, loader, &table->schema, &slot);
    if (rc == 0) rc = entry_put(co, loader, table, key, slot.addr, &changes);
    if (rc) {
        space_slot_give(loader->space, table, slot);
        return fabric_error(table, key, "its index entry", rc, error);
    }
    rc = changes_write(co, loader, &table->schema, head, &slot, changes);
    return rc ? fabric_error(table, key, "writing it", rc, error) : 0;
}

static int load(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, const void *row,
                struct cellar_error *error)
{
    struct fabric_addr head = index_bucket_addr(&table->index, key);
    int rc = head_lock(co, loader, table, key, head, error);
    if (rc) return rc;
    rc = load_locked(co, loader, table, key, row, head, error);
    if (rc == 0) return 0;
    uint64_t old;
    struct fabric_op unlock = head_unlock_op(head, loader->cn, &old);
    /* The first failure is the one to tell. When publish failed, it may have unlocked: then this compares unequal. */
    (void)!batch_run(co, loader->ep, &unlock, 1);
    return rc;
}

int loader_load(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, const void *row,
                struct cellar_error *error)
{
    bool before = batch_bulk_enter(loader->ep);
    int rc = load(co, loader, table, key, row, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}

/* ---- scanning ---- */

static int bad_record(const struct table *table, struct fabric_addr addr, const struct record_wire *header,
                      const char *invariant, const char *what, uint64_t found, uint64_t expected,
                      struct cellar_error *error)
{
    return err_set(error, CELLAR_CORRUPT, "%s: table %s, key %llu at node %u, offset %#llx: %s: %#llx, expected %#llx",
                   invariant, table->name, TEXT(header->key), fabric_addr_node(addr), TEXT(fabric_addr_offset(addr)),
                   what, TEXT(found), TEXT(expected));
}

int loader_record_check(const struct table *table, struct fabric_addr addr, const uint8_t *image,
                        struct cellar_error *error)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    bool deleted = header->flags & LAYOUT_RECORD_DELETED;
    uint64_t tags = header->lock & ~(LOCKWORD_DELETED | LOCKWORD_HOT);
    if (tags)
        return bad_record(table, addr, header, "INV-STORE-2", "its lock word has tags", header->lock,
                          header->lock & ~tags, error);
    if (header->table_id == 0) {
        if (header->flags)
            return bad_record(table, addr, header, "INV-STORE-4", "flags of an unused slot", header->flags, 0, error);
        return 0;
    }
    if (header->table_id != table->id)
        return bad_record(table, addr, header, "INV-STORE-4", "its table id", header->table_id, table->id, error);
    if (header->flags & ~(uint32_t)LAYOUT_RECORD_DELETED)
        return bad_record(table, addr, header, "INV-STORE-4", "its flags", header->flags,
                          header->flags & LAYOUT_RECORD_DELETED, error);
    if (deleted != !!(header->lock & LOCKWORD_DELETED))
        return bad_record(table, addr, header, "INV-STORE-4", "DELETED in its lock word", !deleted, deleted, error);
    for (uint32_t cell = 0; cell < table->schema.cell_count; cell++)
        if (!record_whole(&table->schema, image, 1u << cell))
            return bad_record(table, addr, header, "INV-STORE-3", "versions (EN, TS) of a cell against the header's EN",
                              record_version(&table->schema, image, cell), (uint64_t)header->en[cell] << LAYOUT_TS_BITS,
                              error);
    const struct schema_versions *versions = table->schema.versions;
    struct schema_flaw flaw;
    if (versions && !versions->sound(&table->schema, image, &flaw))
        return bad_record(table, addr, header, "INV-STORE-9", flaw.what, flaw.found, flaw.expected, error);
    if (deleted) return 0;
    uint32_t home = fabric_addr_node(index_bucket_addr(&table->index, header->key));
    if (home != fabric_addr_node(addr))
        return bad_record(table, addr, header, "INV-STORE-4", "its node", fabric_addr_node(addr), home, error);
    return 1;
}

/* The records of the run that the walk is at. fn may be NULL; *live counts them. */
static int scan_run(struct coro *co, struct loader *loader, const struct table *table, struct heap_walk *walk,
                    cellar_lab_row_fn fn, void *arg, uint64_t *live, struct cellar_error *error)
{
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, error)) > 0) {
        rc = loader_record_check(table, fabric_addr_of(walk->node, offset), slot, error);
        if (rc < 0) return rc;
        if (rc == 0) continue;
        ++*live;
        if (!fn) continue;
        record_row_get(&table->schema, slot, table->schema.all_cells, loader->row);
        rc = fn(arg, record_header(slot)->key, loader->row);
        if (rc < 0) return rc;
    }
    return rc;
}

/* Walks the runs of a table; *space counts what it is made of. */
static int scan_table(struct coro *co, struct loader *loader, const struct table *table, cellar_lab_row_fn fn,
                      void *arg, struct cellar_lab_space *space, struct cellar_error *error)
{
    struct heap_walk walk;
    memset(loader->row, 0, table->schema.row_bytes);
    for (uint32_t node = 0; node < loader->catalog->mn_count; node++) {
        int rc = heap_walk_begin(co, &walk, loader->ep, loader->catalog, node, &loader->memory->heap);
        if (rc) return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
        while ((rc = heap_walk_next(co, &walk, error)) > 0) {
            const struct chunk_wire *run = &walk.memory->run;
            if (run->table_id != table->id) continue;
            if (run->kind != LAYOUT_RUN_RECORDS) {
                space->index_bytes += heap_run_bytes(run);
                continue;
            }
            space->slot_bytes += heap_run_bytes(run);
            rc = scan_run(co, loader, table, &walk, fn, arg, &space->records, error);
            if (rc < 0) return rc;
        }
        if (rc < 0) return rc;
    }
    return 0;
}

int loader_scan(struct coro *co, struct loader *loader, const struct table *table, cellar_lab_row_fn fn, void *arg,
                struct cellar_error *error)
{
    struct cellar_lab_space space = {0};
    bool before = batch_bulk_enter(loader->ep);
    int rc = scan_table(co, loader, table, fn, arg, &space, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}

/* The record that an entry of the chain leads to, if its key is that one: 1, its image is in memory->image; or 0. */
static int entry_read(struct coro *co, struct loader *loader, const struct table *table, uint64_t key,
                      struct fabric_addr addr, struct cellar_error *error)
{
    uint8_t *image = loader->memory->image;
    if (!catalog_in_heap(loader->catalog, addr, table->schema.record_bytes))
        return err_set(error, CELLAR_CORRUPT, "INV-STORE-5: table %s: an index entry leads to offset %#llx of node %u",
                       table->name, TEXT(fabric_addr_offset(addr)), fabric_addr_node(addr));
    int rc = batch_read(co, loader->ep, addr, image, table->schema.record_bytes);
    if (rc) return fabric_error(table, key, "reading a record", rc, error);
    rc = loader_record_check(table, addr, image, error);
    return rc > 0 && record_header(image)->key != key ? 0 : rc;
}

static int find(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, void *row,
                struct cellar_error *error)
{
    struct fabric_addr head = index_bucket_addr(&table->index, key);
    struct bucket_wire *chain = loader->memory->chain;
    int rc = batch_read(co, loader->ep, head, &chain[0], LAYOUT_LINE);
    if (rc) return fabric_error(table, key, "reading its index bucket", rc, error);
    rc = loader_chain_read(co, loader, table, head, error);
    for (uint32_t b = 0, at = 0; rc == 0 && b < loader->chain_count; b++, at = 0)
        for (uint64_t offset; rc == 0 && index_find(&chain[b], index_fingerprint(key), &at, &offset);)
            rc = entry_read(co, loader, table, key, fabric_addr_of(fabric_addr_node(head), offset), error);
    if (rc > 0) record_row_get(&table->schema, loader->memory->image, table->schema.all_cells, row);
    return rc;
}

int loader_find(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, void *row,
                struct cellar_error *error)
{
    bool before = batch_bulk_enter(loader->ep);
    int rc = find(co, loader, table, key, row, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}

uint8_t *loader_row(struct loader *loader) { return loader->row; }

static int run_slots(struct coro *co, struct heap_walk *walk, const struct table *table, loader_slot_fn fn, void *arg,
                     struct cellar_error *error)
{
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, error)) > 0) {
        if (record_header(slot)->table_id == 0) continue;
        rc = fn(arg, table, fabric_addr_of(walk->node, offset), slot);
        if (rc < 0) return rc;
    }
    return rc;
}

static int node_slots(struct coro *co, struct loader *loader, uint32_t node, loader_slot_fn fn, void *arg,
                      struct cellar_error *error)
{
    struct heap_walk walk;
    int rc = heap_walk_begin(co, &walk, loader->ep, loader->catalog, node, &loader->memory->heap);
    if (rc) return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    while ((rc = heap_walk_next(co, &walk, error)) > 0) {
        const struct chunk_wire *run = &walk.memory->run;
        if (run->kind != LAYOUT_RUN_RECORDS) continue;
        const struct table *table = loader->catalog->tables[run->table_id - 1];
        rc = table ? run_slots(co, &walk, table, fn, arg, error) : 0;
        if (rc < 0) return rc;
    }
    return rc;
}

int loader_slots(struct coro *co, struct loader *loader, loader_slot_fn fn, void *arg, struct cellar_error *error)
{
    int rc = 0;
    bool before = batch_bulk_enter(loader->ep);
    for (uint32_t node = 0; rc == 0 && node < loader->catalog->mn_count; node++)
        rc = node_slots(co, loader, node, fn, arg, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}

/* ---- measuring ---- */

/* What a row's long values have beside it. */
struct long_values {
    const struct table *table;
    uint64_t bytes;
};

static int long_values_add(void *arg, uint64_t key, const void *row)
{
    struct long_values *values = arg;
    (void)key;
    for (uint64_t columns = values->table->variable; columns; columns &= columns - 1) {
        const struct schema_column *column = &values->table->schema.columns[__builtin_ctzll(columns)];
        uint32_t bytes;
        memcpy(&bytes, (const uint8_t *)row + column->row_offset, sizeof bytes);
        values->bytes += extent_rest(bytes, column->bytes - EXTENT_HEAD_BYTES);
    }
    return 0;
}

/* Adds what a table, or one of its companions, is made of. */
static int space_add(struct coro *co, struct loader *loader, const struct table *table, cellar_lab_row_fn fn, void *arg,
                     struct cellar_lab_space *space, struct cellar_error *error)
{
    struct cellar_lab_space own = {0};
    int rc = scan_table(co, loader, table, fn, arg, &own, error);
    space->record_bytes += own.records * table->schema.record_bytes;
    space->slot_bytes += own.slot_bytes;
    space->index_bytes += own.index_bytes;
    if (!table->extent_size) space->records = own.records;
    return rc;
}

int loader_space(struct coro *co, struct loader *loader, const struct table *table, struct cellar_lab_space *space,
                 struct cellar_error *error)
{
    const struct schema *schema = &table->schema;
    struct long_values values = {.table = table};
    uint64_t row_payload = sizeof(uint64_t);
    for (uint32_t i = 0; i < schema->column_count; i++) row_payload += schema->columns[i].bytes;
    *space = (struct cellar_lab_space){0};
    bool before = batch_bulk_enter(loader->ep);
    int rc = space_add(co, loader, table, table->variable ? long_values_add : NULL, &values, space, error);
    for (uint32_t size = 0; size < EXTENT_SIZES && table->variable && rc == 0; size++)
        rc = space_add(co, loader, table->extents[size], NULL, NULL, space, error);
    batch_bulk_leave(loader->ep, before);
    space->payload_bytes = space->records * row_payload + values.bytes;
    return rc;
}

static int node_space(struct coro *co, struct loader *loader, uint32_t node, struct cellar_lab_pool_space *space)
{
    const struct catalog *catalog = loader->catalog;
    struct heap_walk walk;
    uint64_t fixed = catalog->heap_offset;
    int rc = heap_walk_begin(co, &walk, loader->ep, catalog, node, &loader->memory->heap);
    if (rc) return rc;
    uint64_t used = catalog->heap_offset + walk.chunk_end * LAYOUT_CHUNK_BYTES;
    walk.all = true;
    while ((rc = heap_walk_next(co, &walk, NULL)) > 0) {
        const struct chunk_wire *run = &walk.memory->run;
        if (run->kind == LAYOUT_RUN_LOG) fixed += heap_run_bytes(run);
        if (run->kind == LAYOUT_RUN_VACANT) used -= heap_run_bytes(run);
    }
    space->fixed_bytes += fixed * (catalog->replicas + 1);
    space->used_bytes += used * (catalog->replicas + 1);
    space->pool_bytes += catalog->mn_bytes;
    return rc;
}

int loader_pool_space(struct coro *co, struct loader *loader, struct cellar_lab_pool_space *space)
{
    int rc = 0;
    *space = (struct cellar_lab_pool_space){0};
    bool before = batch_bulk_enter(loader->ep);
    for (uint32_t node = 0; rc == 0 && node < loader->catalog->mn_count; node++)
        rc = node_space(co, loader, node, space);
    batch_bulk_leave(loader->ep, before);
    return rc;
}
