/* declare.c - declaring the records of a block (cellar_proc.h, txn.h): what is read, written, inserted and deleted. */
#include "indexed.h"
#include "numbered.h"
#include "txn.h"
#include "txn_plants.h"

static struct txn *txn_of(struct cellar_txn *public_txn) { return &public_txn->txn; }

/* Puts an object on the block's list, once. */
static inline void block_add(struct txn *txn, struct cache_object *object)
{
    if (object->pending) return;
    object->pending = true;
    object->rounds = 0;
    txn->block[txn->block_count++] = object;
}

static inline bool is_known(const struct txn *txn, const struct cellar_table *handle)
{
    return !txn->doomed && catalog_owns(txn->home->catalog, handle);
}

static __attribute__((noinline)) int no_table(struct txn *txn, const struct cellar_table *handle)
{
    if (txn->doomed) return txn_doomed(txn);
    return txn_error(txn, CELLAR_INVALID, handle ? WHY_FOREIGN : WHY_NO_TABLE, 0);
}

/* Every declaration comes through here: the object, or a code. */
static inline int declare(struct txn *txn, const struct table *table, uint64_t key, bool *made)
{
    if (txn->doomed) return txn_doomed(txn);
    if (__builtin_expect(table->dropped, 0)) return txn_error(txn, CELLAR_DROPPED, WHY_CODE, 0);
    int32_t ref = cache_pin(&txn->cache, table, key, made);
    fabric_work(txn->home->ep, 1);
    if (ref < 0 || (*made && ++txn->record_count > txn->records_max))
        return txn_error_at(txn, CELLAR_TOO_LARGE, WHY_RECORDS_MAX, txn->records_max, table, key);
    return ref;
}

static inline int count_write(struct txn *txn, const struct cache_object *object)
{
    bool first = !object->write_cells && object->kind == CACHE_ACCESS;
    if (first && ++txn->write_count > txn->writes_max)
        return txn_error_of(txn, CELLAR_TOO_LARGE, WHY_WRITES_MAX, txn->writes_max, object);
    return 0;
}

/* An image to be filled: as memory is that was in use before. */
static inline int image_take(struct txn *txn, struct cache_object *object)
{
    object->image = cache_alloc(&txn->cache, object->table->schema.record_bytes);
    return object->image ? 0 : txn_no_copies(txn, object);
}

/*
 * `write`: cells that the transaction may change now, unread, too. They are written whole, and what was in use before
 * would get into the pool behind their values.
 */
static inline int image_make(struct txn *txn, struct cache_object *object, uint32_t write)
{
    const struct schema *schema = &object->table->schema;
    int rc = object->image ? 0 : image_take(txn, object);
    if (rc) return rc;
    for (uint32_t tailed = write & schema->tailed_cells; tailed; tailed &= tailed - 1)
        record_tail_clear(schema, object->image, (uint32_t)__builtin_ctz(tailed));
    return 0;
}

/*
 * INV-TXN-1: that a record is there is read like a value. Of an access that names no cell, and deletes nothing, the
 * witness is read; what locks, checks, versions and dependencies are to one cell they are to it (storage/schema.h).
 */
static inline void imply_witness(struct cache_object *object)
{
    if ((object->read_cells | object->write_cells) || object->kind != CACHE_ACCESS) return;
    object->read_cells = object->implied_cells = SCHEMA_WITNESS;
}

/* A call by number would write what only calls by rows keep in order. */
static __attribute__((cold, noinline)) int guarded(struct txn *txn, const struct table *table, uint64_t key)
{
    enum why why = table->key_bytes ? WHY_KEYED : WHY_VARIABLE;
    if (table->guarded_cells & CATALOG_GUARD_NARROW) why = WHY_TYPED;
    return txn_error_at(txn, CELLAR_INVALID, why, 0, table, key);
}

/* A later block may add cells to a record; a cell stands once, and inserts and deletes stand alone. */
static __attribute__((noinline)) bool stands_already(const struct cache_object *object, uint32_t cells, uint32_t flags)
{
    uint32_t declared =
        (object->read_cells | object->write_cells) & ~(object->ordered_cells | (uint32_t)object->implied_cells);
    return object->kind != CACHE_ACCESS || (flags & CELLAR_DELETE) || (cells & declared);
}

/* `by_number`: it is a call's, and known when this is compiled. */
static inline __attribute__((always_inline)) int access_of(struct txn *txn, const struct table *table, uint64_t key,
                                                           uint32_t read, uint32_t write, uint32_t flags,
                                                           bool by_number)
{
    bool made = false;
    int ref = declare(txn, table, key, &made);
    if (ref < 0) return ref;

    struct cache_object *object = txn_object(txn, ref);
    uint32_t all = table->schema.all_cells;
    read = read == CELLAR_ALL_CELLS ? all : read;
    write = write == CELLAR_ALL_CELLS ? all : write;
    if (((read | write) & ~all) || (flags & ~(uint32_t)(CELLAR_OPTIONAL | CELLAR_DELETE)))
        return txn_error_of(txn, CELLAR_INVALID, WHY_CELLS, 0, object);
    if (by_number && __builtin_expect(table->guarded_cells, 0) &&
        ((write & table->guarded_cells) || (flags & CELLAR_DELETE)))
        return guarded(txn, table, key);
    if (!made && stands_already(object, read | write, flags))
        return txn_error_of(txn, ERR_DUPLICATE, WHY_CODE, 0, object);
    int rc = write || (flags & CELLAR_DELETE) ? count_write(txn, object) : 0;
    if (rc == 0) rc = image_make(txn, object, flags & CELLAR_DELETE ? all : write);
    if (rc) return rc;

    object->optional = (made || object->optional) && (flags & CELLAR_OPTIONAL); /* by all that name it */
    object->implied_cells &= (uint8_t) ~(read | write);
    if (table->ordered_count) read |= indexed_declare(txn, object, write, flags & CELLAR_DELETE);
    object->read_cells |= read;
    object->write_cells |= write;
    if (flags & CELLAR_DELETE) {
        object->kind = CACHE_DELETE;
        txn->index_count++;
    }
    imply_witness(object);
    if (object->state != CACHE_ABSENT)
        block_add(txn, object);
    else if (!object->optional) /* an earlier block has looked */
        return txn_error_of(txn, CELLAR_NOT_FOUND, WHY_CODE, 0, object);
    return ref;
}

int cellar_proc_access(struct cellar_txn *public_txn, const struct cellar_table *handle, uint64_t key,
                       cellar_cells read, cellar_cells write, uint32_t flags)
{
    struct txn *txn = txn_of(public_txn);
    if (__builtin_expect(!is_known(txn, handle), 0)) return no_table(txn, handle);
    return access_of(txn, handle->table, key, read, write, flags, true);
}

int txn_access(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write, uint32_t flags)
{
    return access_of(txn, table, key, read, write, flags, false);
}

/* The rest of a declaration that is not the procedure's: only cells that are new to it. */
static int want(struct txn *txn, struct cache_object *object, uint32_t read, uint32_t write)
{
    if (object->kind != CACHE_ACCESS || object->state == CACHE_ABSENT) return 0;
    uint32_t declared = (object->read_cells | object->write_cells) & ~(uint32_t)object->implied_cells;
    write &= ~object->write_cells;
    read &= ~(declared | write);
    if (!(read | write) && (object->read_cells | object->write_cells)) return 0;
    if (image_make(txn, object, write)) return txn->error;
    object->upgraded_cells |= write & object->read_cells;
    object->implied_cells &= (uint8_t) ~(read | write);
    if (write && object->table->ordered_count) read |= indexed_declare(txn, object, write, false);
    object->read_cells |= read;
    object->write_cells |= write;
    imply_witness(object);
    block_add(txn, object);
    return 0;
}

int txn_want(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write)
{
    bool made = false;
    if (txn->doomed) return CELLAR_RETRY;
    int32_t ref = cache_pin(&txn->cache, table, key, &made);
    fabric_work(txn->home->ep, 1);
    if (ref < 0) return txn_error_at(txn, CELLAR_TOO_LARGE, WHY_RECORDS_MAX, txn->cache.objects_max, table, key);
    struct cache_object *object = txn_object(txn, ref);
    if (made) object->optional = true;
    int rc = want(txn, object, read, write);
    return rc ? rc : ref;
}

int txn_want_counted(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write)
{
    bool made = false;
    int ref = declare(txn, table, key, &made);
    if (ref < 0) return ref;
    struct cache_object *object = txn_object(txn, ref);
    if (made) object->optional = true;
    int rc = write ? count_write(txn, object) : 0;
    if (rc == 0) rc = want(txn, object, read, write);
    return rc ? rc : ref;
}

int txn_insert(struct txn *txn, const struct table *table, uint64_t key, const void *row)
{
    bool made = false;
    int ref = declare(txn, table, key, &made);
    if (ref < 0) return ref;

    /* Look first, then insert what was absent: the one way a record may stand twice. */
    struct cache_object *object = txn_object(txn, ref);
    if (!made && !(object->kind == CACHE_ACCESS && object->state == CACHE_ABSENT))
        return txn_error_of(txn, ERR_DUPLICATE, WHY_CODE, 0, object);
    int rc = count_write(txn, object);                           /* once, if what was looked for was to be written */
    if (rc == 0 && !object->image) rc = image_take(txn, object); /* record_init fills it */
    if (rc) return rc;
    object->kind = CACHE_INSERT;
    txn->index_count++;
    object->state = CACHE_DECLARED;
    object->read_cells = object->implied_cells = 0;
    object->write_cells = object->written_cells = table->schema.all_cells;
    object->bucket = object->scan_bucket = -1;
    object->addr.bits = 0;
    record_init(&table->schema, object->image, table->id, key, row);
    if (table->ordered_count) indexed_insert(txn, object);
    block_add(txn, object);
    return ref;
}

/*
 * What an earlier block has read is deleted: it is fetched again with all its cells locked, and is what was read
 * (INV-FETCH-3), and its bucket is locked.
 */
static int delete_late(struct txn *txn, struct cache_object *object)
{
    int rc = count_write(txn, object);
    if (rc == 0) rc = image_make(txn, object, object->table->schema.all_cells);
    if (rc) return rc;
    if (!PLANT(delete_late_unchecked)) object->upgraded_cells |= object->read_cells;
    object->implied_cells = 0;
    object->kind = CACHE_DELETE;
    object->state = CACHE_DECLARED; /* it is no delete before that */
    object->bucket = object->scan_bucket = -1;
    /* All of it is written (apply.c): where records are shared the header of a copy may lack this. */
    record_header(object->image)->key = object->key;
    record_header(object->image)->table_id = object->table->id;
    txn->index_count++;
    if (object->table->ordered_count) (void)indexed_declare(txn, object, 0, true);
    block_add(txn, object);
    return 0;
}

int txn_delete(struct txn *txn, const struct table *table, uint64_t key)
{
    int32_t ref = txn->doomed ? -1 : cache_find(&txn->cache, table, key);
    struct cache_object *object = ref < 0 ? NULL : txn_object(txn, ref);
    if (!object || object->state == CACHE_DECLARED || object->kind != CACHE_ACCESS)
        return txn_access(txn, table, key, 0, 0, CELLAR_DELETE | CELLAR_OPTIONAL);
    int rc = object->state == CACHE_ABSENT ? 0 : delete_late(txn, object);
    return rc ? rc : ref;
}

int cellar_proc_insert(struct cellar_txn *public_txn, const struct cellar_table *handle, uint64_t key, const void *row)
{
    struct txn *txn = txn_of(public_txn);
    if (__builtin_expect(!is_known(txn, handle), 0)) return no_table(txn, handle);
    if (__builtin_expect(handle->table->guarded_cells, 0)) return guarded(txn, handle->table, key);
    return txn_insert(txn, handle->table, key, row);
}
