/*
 * txn.c - what a procedure calls (cellar_proc.h), the batch of operations, and the ways an attempt begins
 * and ends. Fetching is fetch.c's, committing commit.c's.
 */
#include "txn.h"

#include "counter.h"
#include "indexed.h"
#include "large.h"
#include "lazy.h"
#include "must.h"
#include "probe.h"
#include "settle.h"
#include "txn_plants.h"

#include <stdlib.h>
#include <string.h>

static struct txn *txn_of(struct cellar_txn *public_txn) { return &public_txn->txn; }

/* ---- life ---- */

struct txn *txn_new(const struct mode *mode)
{
    size_t bytes = mode->txn_bytes > sizeof(struct txn) ? mode->txn_bytes : sizeof(struct txn);
    return calloc(1, bytes); /* set-up */
}

int txn_open(struct txn *txn, struct txn_home *home, struct sched_task *task, const struct logseg *log)
{
    struct fabric *fabric = home->ep->fabric;
    *txn = (struct txn){.home = home, .co = task->co, .task = task, .log = *log, .wait = {.co = task->co}};
    const struct cache_shape shape = {CACHE_OBJECTS_MAX, TXN_ARENA_BYTES, TXN_ARENA_BYTES};
    int rc = cache_open(&txn->cache, home->mode, fabric, shape);
    if (rc) return rc;
    txn->log_capacity = (uint32_t)(log->bytes / 2);
    txn->log_buffer = lazy_map(txn->log_capacity);
    txn->ops_max = TXN_OPS_FIRST;
    txn->ops = lazy_map(txn->ops_max * sizeof *txn->ops);
    txn->block = lazy_map(LARGE_RECORDS_MAX * sizeof *txn->block);
    txn->settle_image = home->mode->shares ? lazy_map(LAYOUT_RECORD_BYTES_MAX) : NULL;
    if (!txn->log_buffer || !txn->ops || !txn->block || (home->mode->shares && !txn->settle_image)) return CELLAR_NOMEM;
    rc = fabric_register_local(fabric, &txn->settle_word, sizeof txn->settle_word);
    if (rc == 0 && txn->settle_image) rc = fabric_register_local(fabric, txn->settle_image, LAYOUT_RECORD_BYTES_MAX);
    return rc ? rc : fabric_register_local(fabric, txn->log_buffer, txn->log_capacity);
}

static void close_txn(struct txn *txn)
{
    if (!txn->home) return;
    if (txn->home->mode->detach) txn->home->mode->detach(txn);
    cache_close(&txn->cache);
    lazy_unmap(txn->log_buffer, txn->log_capacity);
    lazy_unmap(txn->ops, txn->ops_max * sizeof *txn->ops);
    lazy_unmap(txn->block, LARGE_RECORDS_MAX * sizeof *txn->block);
    lazy_unmap(txn->settle_image, LAYOUT_RECORD_BYTES_MAX);
}

void txn_free(struct txn *txn)
{
    if (txn) close_txn(txn);
    free(txn); /* set-up */
}

void txn_begin(struct txn *txn, uint32_t records_max, uint32_t writes_max, bool sampled)
{
    txn->log.epoch = 0;
    must(txn->wait.pending == 0 && txn->op_count == 0);
    cache_reset(&txn->cache);
    txn->block_count = 0;
    txn->records_max = records_max;
    txn->writes_max = writes_max;
    txn->record_count = 0;
    txn->write_count = 0;
    txn->check_count = 0;
    txn->index_count = 0;
    txn->indexed_count = 0;
    txn->error = 0;
    txn->doomed = false;
    txn->unsettled = false;
    txn->lost_nodes = 0;
    txn->met.cn = -1;
    txn->at_once = false;
    txn->begin_ns = txn->oldest_ns = fabric_now_ns(txn->home->ep);
    fabric_work(txn->home->ep, 1);
    txn->phase_start_ns = sampled ? txn->begin_ns : 0;
    if (sampled) memset(txn->phase_ns, 0, sizeof txn->phase_ns);
    PROBE(attempt__begin, txn->log.cn, txn->log.coordinator);
    const struct observer *observer = txn->home->observer;
    if (observer && observer->begun(observer->arg, txn) && !sampled) txn->phase_start_ns = TXN_UNTIMED;
}

static int note(struct txn *txn, int code, struct cellar_detail detail)
{
    if (!txn->error) txn->detail = detail;
    if (!txn->error) txn->error = code;
    return code;
}

int txn_error(struct txn *txn, int code, enum cellar_why why, uint64_t limit)
{
    return note(txn, code, (struct cellar_detail){.why = why, .column = -1, .limit = limit});
}

int txn_error_of(struct txn *txn, int code, enum cellar_why why, uint64_t limit, const struct cache_object *object)
{
    return note(txn, code,
                (struct cellar_detail){
                    .why = why, .column = -1, .table = &object->table->handle, .key = object->key, .limit = limit});
}

int txn_no_copies(struct txn *txn, const struct cache_object *object)
{
    return txn_error_of(txn, CELLAR_TOO_LARGE, CELLAR_WHY_COPIES, txn->cache.arena_most, object);
}

int txn_error_column(struct txn *txn, int code, enum cellar_why why, const struct cache_object *object, int column)
{
    return note(
        txn, code,
        (struct cellar_detail){.why = why, .column = column, .table = &object->table->handle, .key = object->key});
}

/* Of a record that was not pinned. */
static __attribute__((cold, noinline)) int error_at(struct txn *txn, int code, enum cellar_why why, uint64_t limit,
                                                    const struct table *table, uint64_t key)
{
    return note(txn, code,
                (struct cellar_detail){.why = why, .column = -1, .table = &table->handle, .key = key, .limit = limit});
}

/* ---- the batch ---- */

void txn_ops_grow(struct coro *co, struct txn *txn)
{
    uint64_t bytes = txn->ops_max * sizeof *txn->ops;
    struct fabric_op *more = lazy_grow(txn->ops, bytes, 2 * bytes);
    if (more) {
        txn->ops = more;
        txn->ops_max *= 2;
    } else {
        txn->wait.failed += txn_await(co, txn);
    }
}

/* Where there are backups the agent finds out whether it is gone for good. */
static __attribute__((noinline, cold)) void suspect(struct txn *txn, uint32_t count)
{
    for (uint32_t i = 0; i < count && txn->home->catalog->replicas; i++)
        if (txn->ops[i].status == CELLAR_UNREACHABLE) halt_suspect(txn->home->halt, fabric_addr_node(txn->ops[i].addr));
}

static inline uint32_t awaited(struct txn *txn, uint32_t failed)
{
    if (__builtin_expect(failed > 0, 0)) suspect(txn, txn->op_count);
    PROBE(round__trip, txn->log.cn, txn->log.coordinator, txn->op_count, failed);
    txn->op_count = 0;
    counter_add(&txn->home->stats.round_trips, 1);
    return failed;
}

uint32_t txn_await(struct coro *co, struct txn *txn)
{
    if (txn->op_count == 0) return 0;
    fabric_post(txn->home->ep, txn->ops, txn->op_count, &txn->wait);
    return awaited(txn, fabric_await(co, &txn->wait));
}

uint32_t txn_await_timed(struct coro *co, struct txn *txn, uint64_t *wait_ns)
{
    struct fabric_ep *ep = txn->home->ep;
    *wait_ns = UINT64_MAX;
    if (txn->op_count == 0) return 0;
    fabric_post(ep, txn->ops, txn->op_count, &txn->wait);
    uint64_t posted_ns = fabric_now_ns(ep);
    uint32_t failed = fabric_await(co, &txn->wait);
    *wait_ns = fabric_now_ns(ep) - posted_ns;
    return awaited(txn, failed);
}

/* ---- declaring ---- */

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
    return txn_error(txn, CELLAR_INVALID, handle ? CELLAR_WHY_FOREIGN : CELLAR_WHY_NO_TABLE, 0);
}

/* Every declaration comes through here: the object, or a code. */
static inline int declare(struct txn *txn, const struct table *table, uint64_t key, bool *made)
{
    if (txn->doomed) return txn_doomed(txn);
    if (__builtin_expect(table->dropped, 0)) return txn_error(txn, CELLAR_DROPPED, CELLAR_WHY_CODE, 0);
    int32_t ref = cache_pin(&txn->cache, table, key, made);
    fabric_work(txn->home->ep, 1);
    if (ref < 0 || (*made && ++txn->record_count > txn->records_max))
        return error_at(txn, CELLAR_TOO_LARGE, CELLAR_WHY_RECORDS_MAX, txn->records_max, table, key);
    return ref;
}

static inline int count_write(struct txn *txn, const struct cache_object *object)
{
    bool first = !object->write_cells && object->kind == CACHE_ACCESS;
    if (first && ++txn->write_count > txn->writes_max)
        return txn_error_of(txn, CELLAR_TOO_LARGE, CELLAR_WHY_WRITES_MAX, txn->writes_max, object);
    return 0;
}

static inline int image_make(struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    if (object->image) return 0;
    object->image = cache_alloc(&txn->cache, schema->record_bytes);
    if (object->image && schema->tailed_cells) record_tails_clear(schema, object->image);
    return object->image ? 0 : txn_no_copies(txn, object);
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
    enum cellar_why why = table->key_bytes ? CELLAR_WHY_KEYED : CELLAR_WHY_VARIABLE;
    if (table->guarded_cells & CATALOG_GUARD_NARROW) why = CELLAR_WHY_TYPED;
    return error_at(txn, CELLAR_INVALID, why, 0, table, key);
}

/* A later block may add cells to a record; a cell stands once, and inserts and deletes stand alone. */
static __attribute__((noinline)) bool stands_already(const struct cache_object *object, uint32_t cells, uint32_t flags)
{
    uint32_t declared =
        (object->read_cells | object->write_cells) & ~(object->ordered_cells | (uint32_t)object->implied_cells);
    return object->kind != CACHE_ACCESS || (flags & CELLAR_DELETE) || (cells & declared);
}

static inline __attribute__((always_inline)) int access_of(struct txn *txn, const struct table *table, uint64_t key,
                                                           uint32_t read, uint32_t write, uint32_t flags)
{
    bool made = false;
    int ref = declare(txn, table, key, &made);
    if (ref < 0) return ref;

    struct cache_object *object = txn_object(txn, ref);
    uint32_t all = table->schema.all_cells;
    read = read == CELLAR_ALL_CELLS ? all : read;
    write = write == CELLAR_ALL_CELLS ? all : write;
    if (((read | write) & ~all) || (flags & ~(uint32_t)(CELLAR_OPTIONAL | CELLAR_DELETE)))
        return txn_error_of(txn, CELLAR_INVALID, CELLAR_WHY_CELLS, 0, object);
    if (!made && stands_already(object, read | write, flags))
        return txn_error_of(txn, CELLAR_DUPLICATE, CELLAR_WHY_CODE, 0, object);
    int rc = write || (flags & CELLAR_DELETE) ? count_write(txn, object) : 0;
    if (rc == 0) rc = image_make(txn, object);
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
        return txn_error_of(txn, CELLAR_NOT_FOUND, CELLAR_WHY_CODE, 0, object);
    return ref;
}

int cellar_proc_access(struct cellar_txn *public_txn, const struct cellar_table *handle, uint64_t key,
                       cellar_cells read, cellar_cells write, uint32_t flags)
{
    struct txn *txn = txn_of(public_txn);
    if (__builtin_expect(!is_known(txn, handle), 0)) return no_table(txn, handle);
    const struct table *table = handle->table;
    bool writes = (write & table->guarded_cells) || (flags & CELLAR_DELETE);
    if (__builtin_expect(table->guarded_cells, 0) && writes) return guarded(txn, table, key);
    return access_of(txn, table, key, read, write, flags);
}

int txn_access(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write, uint32_t flags)
{
    return access_of(txn, table, key, read, write, flags);
}

/* The rest of a declaration that is not the procedure's: only cells that are new to it. */
static int want(struct txn *txn, struct cache_object *object, uint32_t read, uint32_t write)
{
    if (object->kind != CACHE_ACCESS || object->state == CACHE_ABSENT) return 0;
    uint32_t declared = (object->read_cells | object->write_cells) & ~(uint32_t)object->implied_cells;
    write &= ~object->write_cells;
    read &= ~(declared | write);
    if (!(read | write) && (object->read_cells | object->write_cells)) return 0;
    if (image_make(txn, object)) return txn->error;
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
    if (ref < 0) return error_at(txn, CELLAR_TOO_LARGE, CELLAR_WHY_RECORDS_MAX, txn->cache.objects_max, table, key);
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
        return txn_error_of(txn, CELLAR_DUPLICATE, CELLAR_WHY_CODE, 0, object);
    int rc = count_write(txn, object); /* once, if what was looked for was to be written */
    if (rc == 0) rc = image_make(txn, object);
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

int cellar_proc_fetch(struct cellar_txn *public_txn)
{
    struct txn *txn = txn_of(public_txn);
    if (txn->doomed) return txn_doomed(txn);
    if (txn->error) return txn->error;
    const struct mode *mode = txn->home->mode;
    int rc = mode->fetch(txn->co, txn);
    if (txn->indexed_count && rc == 0) rc = indexed_fetched(txn);
    const struct observer *observer = txn->home->observer;
    if (observer && !txn->doomed) observer->fetched(observer->arg, txn);
    return rc;
}

/* ---- reading and writing the own copy ---- */

bool cellar_proc_found(struct cellar_txn *public_txn, int ref)
{
    struct txn *txn = txn_of(public_txn);
    return ref >= 0 && (uint32_t)ref < txn->cache.object_count && txn_object(txn, ref)->state == CACHE_PRESENT;
}

/* The object behind a reference, its record present; else NULL and the code in *rc. */
static inline struct cache_object *present(struct txn *txn, int ref, int *rc)
{
    if (txn->doomed) {
        *rc = txn_doomed(txn);
        return NULL;
    }
    if ((uint32_t)ref >= txn->cache.object_count) { /* or negative */
        *rc = txn_error(txn, CELLAR_INVALID, CELLAR_WHY_REFERENCE, (uint64_t)(int64_t)ref);
        return NULL;
    }
    struct cache_object *object = txn_object(txn, ref);
    if (object->state != CACHE_PRESENT) {
        int code = object->state == CACHE_ABSENT ? CELLAR_NOT_FOUND : CELLAR_UNFETCHED;
        *rc = txn_error_of(txn, code, CELLAR_WHY_CODE, 0, object);
        return NULL;
    }
    return object;
}

/* A cell that is not there: declared in a block that was not fetched yet, or not so. */
static __attribute__((cold, noinline)) int column_refused(struct txn *txn, const struct cache_object *object,
                                                          int column, bool put)
{
    uint32_t cell = 1u << object->table->schema.columns[column].cell;
    uint32_t declared =
        (put ? object->write_cells : object->read_cells | object->write_cells) & ~(uint32_t)object->implied_cells;
    if (declared & cell) return txn_error_column(txn, CELLAR_UNFETCHED, CELLAR_WHY_CODE, object, column);
    return txn_error_column(txn, CELLAR_UNDECLARED, put ? CELLAR_WHY_NOT_WRITTEN : CELLAR_WHY_NOT_READ, object, column);
}

int cellar_proc_get(struct cellar_txn *public_txn, int ref, int column, void *value)
{
    struct txn *txn = txn_of(public_txn);
    int rc;
    struct cache_object *object = present(txn, ref, &rc);
    if (!object) return rc;
    const struct schema *schema = &object->table->schema;
    uint32_t number = (uint32_t)column;
    if (number >= schema->column_count) /* or negative */
        return txn_error_column(txn, CELLAR_INVALID, CELLAR_WHY_NO_COLUMN, object, column);
    uint32_t readable = object->fetched_cells & ~(uint32_t)object->implied_cells;
    if (!(readable >> schema->columns[number].cell & 1)) return column_refused(txn, object, column, false);
    record_column_get(schema, object->image, number, value);
    return 0;
}

int txn_keep_old(struct txn *txn, struct cache_object *object, uint32_t cells)
{
    const struct schema *schema = &object->table->schema;
    if (object->kind != CACHE_ACCESS) return 0;
    if (!object->slot_image) object->slot_image = cache_alloc(&txn->cache, schema->record_bytes);
    if (!object->slot_image) return txn_no_copies(txn, object);
    for (cells &= ~object->written_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        memcpy(object->slot_image + cell->offset, object->image + cell->offset, record_cell_bytes(cell));
    }
    return 0;
}

/* Another transaction may look at this copy, or the mode wants to know what is put over. */
static inline bool put_prepares(const struct txn *txn, const struct cache_object *object)
{
    return txn->home->mode->put && !object->busy;
}

static inline int put_column(struct cache_object *object, uint32_t number, const void *value)
{
    const struct schema *schema = &object->table->schema;
    object->written_cells |= 1u << schema->columns[number].cell;
    record_column_put(schema, object->image, number, value);
    return 0;
}

/* Out of the way of those that need not. */
static __attribute__((noinline)) int put_prepared(struct txn *txn, struct cache_object *object, uint32_t number,
                                                  const void *value)
{
    int rc = txn->home->mode->put(txn, object, 1u << object->table->schema.columns[number].cell);
    return rc ? rc : put_column(object, number, value);
}

int cellar_proc_put(struct cellar_txn *public_txn, int ref, int column, const void *value)
{
    struct txn *txn = txn_of(public_txn);
    int rc;
    struct cache_object *object = present(txn, ref, &rc);
    if (!object) return rc;
    const struct schema *schema = &object->table->schema;
    uint32_t number = (uint32_t)column;
    if (number >= schema->column_count) /* or negative */
        return txn_error_column(txn, CELLAR_INVALID, CELLAR_WHY_NO_COLUMN, object, column);
    uint32_t writable = object->write_cells & object->fetched_cells;
    if (!(writable >> schema->columns[number].cell & 1)) return column_refused(txn, object, column, true);
    return put_prepares(txn, object) ? put_prepared(txn, object, number, value) : put_column(object, number, value);
}

int cellar_proc_get_row(struct cellar_txn *public_txn, int ref, void *row)
{
    struct txn *txn = txn_of(public_txn);
    int rc;
    struct cache_object *object = present(txn, ref, &rc);
    if (!object) return rc;
    uint32_t readable = object->fetched_cells & ~(uint32_t)object->implied_cells;
    record_row_get(&object->table->schema, object->image, readable, row);
    return 0;
}

int cellar_proc_put_row(struct cellar_txn *public_txn, int ref, const void *row)
{
    struct txn *txn = txn_of(public_txn);
    int rc;
    struct cache_object *object = present(txn, ref, &rc);
    if (!object) return rc;
    uint32_t cells = object->write_cells & object->fetched_cells;
    if (!cells) return txn_error_of(txn, CELLAR_UNDECLARED, CELLAR_WHY_NOTHING_WRITTEN, 0, object);
    rc = put_prepares(txn, object) ? txn->home->mode->put(txn, object, cells) : 0;
    if (rc) return rc;
    record_row_put(&object->table->schema, object->image, cells, row);
    object->written_cells |= cells;
    return 0;
}

/* ---- ending without effect ---- */

void txn_unlock(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint64_t mask = txn_lock_mask(&object->table->schema, object->locked_cells);
    object->lock_old = UINT64_MAX; /* which no lock word is: a reply has come when it has changed */
    txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, object->addr, &object->lock_old, object->held, mask, 0, mask);
    if (!PLANT(unlock_reply_lost_ignored)) object->unsettled |= object->held; /* until the batch has returned */
    object->unsettled_addr = object->addr;
    object->unlocking = object->held;
    object->held = 0;
    object->locked_cells = 0;
}

void txn_bucket_unlock(struct coro *co, struct txn *txn, struct cache_bucket *bucket)
{
    bucket->lock_old = UINT64_MAX;
    txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, bucket->addr, &bucket->lock_old, lockword_tags(1, txn->home->owner),
                   TXN_BUCKET_TAG_MASK, 0, TXN_BUCKET_TAG_MASK);
}

/* The last one first: so they are taken again in the order of their addresses, as neighbours. */
static void slots_give(struct txn *txn)
{
    for (uint32_t i = txn->cache.object_count; i-- > 0;) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        if (object->slot_taken)
            space_slot_give(txn->home->space, object->table,
                            (struct space_slot){.addr = object->addr, .used_before = object->slot_used_before});
        object->slot_taken = false;
    }
}

void txn_release_own(struct coro *co, struct txn *txn)
{
    bool blindly = settle_return_begin(txn);
    txn->op_count = 0; /* what an error kept from being posted */
    txn_each_object (txn, object) {
        if (object->held && blindly) txn_unlock(co, txn, object);
        if (object->held) settle_leave(txn, object);
    }
    if (txn->index_count) slots_give(txn);
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *bucket = txn_bucket(txn, (int32_t)i);
        if (bucket->held) txn_bucket_unlock(co, txn, bucket);
        bucket->unsettled = bucket->unsettled || bucket->held;
        bucket->held = false;
    }
    bool failed = txn_await(co, txn) > 0;
    if (blindly) settle_return_end(txn);
    if (failed || txn->unsettled) {
        settle_known(txn);
        settle_locks(co, txn);
    }
    txn->unsettled = false;
}

void txn_release(struct coro *co, struct txn *txn)
{
    const struct mode *mode = txn->home->mode;
    if (mode->release)
        mode->release(co, txn);
    else
        txn_release_own(co, txn);
}

int txn_space_error(struct coro *co, struct txn *txn, int code, const struct cache_object *object)
{
    bool unanswered = code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE;
    return unanswered ? txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED)
                      : txn_error_of(txn, code, CELLAR_WHY_POOL, txn->home->catalog->mn_bytes, object);
}
