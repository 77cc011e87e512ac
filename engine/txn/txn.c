/*
 * txn.c - what a procedure calls (cellar_proc.h), the batch of operations, and the ways an attempt begins
 * and ends. Declaring is declare.c's, fetching fetch.c's, committing commit.c's.
 */
#include "txn.h"

#include "numbered.h"
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

int txn_error(struct txn *txn, int code, enum why why, uint64_t limit)
{
    return note(txn, code, (struct cellar_detail){.why = why, .column = -1, .limit = limit});
}

int txn_error_of(struct txn *txn, int code, enum why why, uint64_t limit, const struct cache_object *object)
{
    return note(txn, code,
                (struct cellar_detail){
                    .why = why, .column = -1, .table = &object->table->handle, .key = object->key, .limit = limit});
}

int txn_no_copies(struct txn *txn, const struct cache_object *object)
{
    return txn_error_of(txn, CELLAR_TOO_LARGE, WHY_COPIES, txn->cache.arena_most, object);
}

int txn_error_column(struct txn *txn, int code, enum why why, const struct cache_object *object, int column)
{
    return note(
        txn, code,
        (struct cellar_detail){.why = why, .column = column, .table = &object->table->handle, .key = object->key});
}

int txn_error_at(struct txn *txn, int code, enum why why, uint64_t limit, const struct table *table, uint64_t key)
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

/* ---- fetching ---- */

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

int txn_fetch_declared(struct txn *txn)
{
    bool none = !txn->block_count && !txn->error && !txn->doomed;
    return none ? 0 : cellar_proc_fetch(txn_public(txn));
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
        *rc = txn_error(txn, CELLAR_INVALID, WHY_REFERENCE, (uint64_t)(int64_t)ref);
        return NULL;
    }
    struct cache_object *object = txn_object(txn, ref);
    if (object->state != CACHE_PRESENT) {
        int code = object->state == CACHE_ABSENT ? CELLAR_NOT_FOUND : ERR_UNFETCHED;
        *rc = txn_error_of(txn, code, WHY_CODE, 0, object);
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
    if (declared & cell) return txn_error_column(txn, ERR_UNFETCHED, WHY_CODE, object, column);
    return txn_error_column(txn, ERR_UNDECLARED, put ? WHY_NOT_WRITTEN : WHY_NOT_READ, object, column);
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
        return txn_error_column(txn, CELLAR_INVALID, WHY_NO_COLUMN, object, column);
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
        return txn_error_column(txn, CELLAR_INVALID, WHY_NO_COLUMN, object, column);
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
    if (!cells) return txn_error_of(txn, ERR_UNDECLARED, WHY_NOTHING_WRITTEN, 0, object);
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
                      : txn_error_of(txn, code, WHY_POOL, txn->home->catalog->mn_bytes, object);
}
