#include "motor.h"

#include "fetch.h"
#include "modes_plants.h"
#include "versions.h"

#include <string.h>

#define LOCKED_READS_MAX 16 /* of a record that stays locked, in a row */

static struct motor_txn *motor_txn(const struct txn *txn) { return (struct motor_txn *)txn; }
static struct motor_object *motor_of(const struct cache_object *object) { return (struct motor_object *)object; }

int motor_attach(struct txn *txn, uint32_t index)
{
    (void)index;
    return fabric_register_local(txn->home->ep->fabric, motor_txn(txn)->clock_words,
                                 sizeof motor_txn(txn)->clock_words);
}

/* ---- the clock ---- */

static struct fabric_addr clock_at(const struct txn *txn, uint32_t replica)
{
    return catalog_replica(txn->home->catalog, fabric_addr_of(0, offsetof(struct superblock_wire, clock)), replica);
}

int motor_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts)
{
    (void)log_bytes;
    (void)attempts;
    motor_txn(txn)->snapshot_ts = motor_txn(txn)->commit_ts = 0;
    motor_txn(txn)->undo_count = 0;
    if (txn->writes_max) return 0;
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, clock_at(txn, 0), &motor_txn(txn)->clock_words[0],
             sizeof motor_txn(txn)->clock_words[0]);
    if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    motor_txn(txn)->snapshot_ts = LAYOUT_CLOCK_STEP + motor_txn(txn)->clock_words[0];
    if (PLANT(motor_clock_per_node)) motor_txn(txn)->snapshot_ts = LAYOUT_CLOCK_STEP + txn->home->ts_last;
    return 0;
}

static bool writes(const struct txn *txn)
{
    txn_each_object (txn, object)
        if (txn_cells_to_apply(object)) return true;
    return false;
}

/* A TS that is drawn and not used is a gap, and does no harm. */
static int stamp(struct coro *co, struct txn *txn)
{
    if (motor_txn(txn)->commit_ts || !writes(txn)) return 0;
    for (uint32_t i = 0; i <= txn->home->catalog->replicas; i++) {
        struct fabric_op *op = txn_slot(co, txn, FABRIC_FAA, CELLAR_PHASE_VALIDATE);
        op->size_bytes = sizeof motor_txn(txn)->clock_words[0];
        op->addr = clock_at(txn, i);
        op->local = &motor_txn(txn)->clock_words[i > 0];
        op->swap = 1;
    }
    if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    motor_txn(txn)->commit_ts = LAYOUT_CLOCK_STEP + motor_txn(txn)->clock_words[0] + 1;
    if (PLANT(motor_clock_per_node)) motor_txn(txn)->commit_ts = LAYOUT_CLOCK_STEP + txn->home->ts_last + 1;
    return 0;
}

uint64_t motor_ts(const struct txn *txn, uint64_t below)
{
    (void)below;
    return motor_txn(txn)->commit_ts;
}

int motor_commit(struct coro *co, struct txn *txn)
{
    int rc = PLANT(motor_clock_behind_checks) ? 0 : stamp(co, txn);
    if (rc == 0) rc = txn_validate(co, txn);
    if (rc == 0 && PLANT(motor_clock_behind_checks)) sched_sleep(co, txn->home->sched, txn->task, 20000);
    if (rc == 0) rc = stamp(co, txn);
    return txn_commit_checked(co, txn, rc);
}

/* ---- what a writer leaves ---- */

void motor_displace(struct cache_object *object, uint64_t ts)
{
    const struct schema *schema = &object->table->schema;
    struct motor_object *motor = motor_of(object);
    uint32_t cells = object->written_cells;
    motor->bar_bytes = versions_bytes(schema, cells);
    motor->bar_at = versions_push(schema, versions_of(motor->head), ts, cells);
    versions_pack(schema, object->slot_image, cells, object->slot_image + motor->bar_at);
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_header(motor->head)->en[cell] = record_header(object->image)->en[cell];
    }
}

/* The whole record is locked, so that all epoch numbers and tuples are ours. */
void motor_apply(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct motor_object *motor = motor_of(object);
    const uint32_t en = offsetof(struct record_wire, en);
    txn_apply_write(co, txn, object->addr, motor->bar_at, object->slot_image + motor->bar_at, motor->bar_bytes);
    txn_apply_values(co, txn, object);
    txn_apply_write(co, txn, object->addr, en, motor->head + en, object->table->schema.head_bytes - en);
}

/* ---- a reader's fetch ---- */

static uint64_t tags_of(const struct schema *schema, const uint8_t *head)
{
    return record_word(head, 0) & lockword_mask(schema->tag_bits, schema->all_ones);
}

/*
 * Were both unlocked, and nothing changed in between? Each change of a record leaves a TS in its tuples that was
 * never there.
 */
static bool heads_equal(const struct schema *schema, const uint8_t *before, const uint8_t *after)
{
    return !tags_of(schema, before) && !tags_of(schema, after) &&
           memcmp(before + 8, after + 8, schema->head_bytes - 8) == 0;
}

static bool read_before(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint32_t bytes = object->table->schema.head_bytes;
    bool slow = object->rounds && txn_en_may_wrap(txn);
    motor_of(object)->again = NULL;
    motor_of(object)->again_before = slow;
    if (txn->home->ep->fabric->line_atomic && !slow) return true;
    motor_of(object)->again = cache_alloc(&txn->cache, 2 * bytes);
    if (motor_of(object)->again && slow)
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, motor_of(object)->again + bytes, bytes);
    return motor_of(object)->again;
}

static void read_after(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint32_t bytes = object->table->schema.head_bytes;
    if (motor_of(object)->again) txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, motor_of(object)->again, bytes);
}

static bool unchanged(const struct txn *txn, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    if (!motor_of(object)->again_before && txn_en_may_wrap(txn)) return false;
    if (!motor_of(object)->again) return true;
    return heads_equal(schema,
                       motor_of(object)->again_before ? motor_of(object)->again + schema->head_bytes : object->fetching,
                       motor_of(object)->again);
}

static bool is_newer(const struct txn *txn, const struct cache_object *object, const uint8_t *image, uint32_t cell)
{
    return layout_version_ts(record_version(&object->table->schema, image, cell)) > motor_txn(txn)->snapshot_ts;
}

static void fetched(struct txn *txn, struct cache_object *object)
{
    motor_of(object)->head = object->fetching;
    if (!motor_txn(txn)->snapshot_ts || PLANT(motor_reads_newest)) return;
    motor_of(object)->undo_cells = 0;
    for (uint32_t cells = object->fetching_cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (is_newer(txn, object, object->fetching, cell)) motor_of(object)->undo_cells |= 1u << cell;
    }
    motor_txn(txn)->undo_count += motor_of(object)->undo_cells != 0;
}

enum mode_absence motor_absent(const struct txn *txn, const struct cache_object *object,
                               const struct cache_bucket *bucket)
{
    if (!motor_txn(txn)->snapshot_ts) return MODE_ABSENCE_CHECKED;
    bool old =
        layout_version_ts(bucket->image->version) <= motor_txn(txn)->snapshot_ts || PLANT(motor_absence_unversioned);
    if (!old) return MODE_ABSENCE_GONE;
    /* One bucket, read at once, is all that was read; what was read after it may be newer. */
    bool all = bucket->next < 0 && txn->home->ep->fabric->line_atomic;
    return all && (!object->misled || PLANT(motor_absence_misled)) ? MODE_ABSENCE_KNOWN : MODE_ABSENCE_CHECKED;
}

/* ---- old values ---- */

/*
 * INV-MOTOR-3: the bar, after it the header's line, and after that the tuples: a writer that has changed the bar has
 * unlocked the record before the header is found unlocked, so that the tuples are its own or later ones. One READ of
 * header and tuples fetches its lines in any order (fabric.h, rule 2). Where lines may be torn both are read before the
 * bar, too.
 */
static bool undo_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t head_bytes = schema->head_bytes;
    if (!motor_of(object)->again)
        motor_of(object)->again = cache_alloc(&txn->cache, 2 * head_bytes + schema->bar_bytes);
    if (!motor_of(object)->again) return false;
    uint8_t *before = motor_of(object)->again + head_bytes, *bar = before + head_bytes;
    if (!txn->home->ep->fabric->line_atomic) txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, before, head_bytes);
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, fabric_addr_plus(object->addr, schema->cells_end), bar, schema->bar_bytes);
    uint32_t first = PLANT(motor_head_at_once) ? head_bytes : LAYOUT_LINE;
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, motor_of(object)->again, first);
    if (first < head_bytes)
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, fabric_addr_plus(object->addr, first), motor_of(object)->again + first,
                 head_bytes - first);
    return true;
}

/* One step back for each cell that is too new. False: its tuple is gone. */
static bool step_back(struct txn *txn, struct cache_object *object, const uint8_t *bar)
{
    const struct schema *schema = &object->table->schema;
    for (uint32_t cells = motor_of(object)->undo_cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint64_t ts = layout_version_ts(record_version(schema, object->image, cell));
        const struct tuple_wire *tuple = versions_find(schema, versions_of(motor_of(object)->again), ts);
        if (!tuple || !(tuple->cells >> cell & 1)) return false;
        versions_undo(schema, tuple, bar, object->image, 1u << cell);
        if (!is_newer(txn, object, object->image, cell)) motor_of(object)->undo_cells &= ~(1u << cell);
    }
    return true;
}

/* False: gone. What cannot be told yet stays in undo_cells. */
static bool undo_judge(struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    const uint8_t *before = motor_of(object)->again + schema->head_bytes, *bar = before + schema->head_bytes;
    bool torn = !txn->home->ep->fabric->line_atomic && !heads_equal(schema, before, motor_of(object)->again);
    if ((tags_of(schema, motor_of(object)->again) || torn) && !PLANT(motor_bar_unlooked)) return true;
    for (uint32_t steps = 0; motor_of(object)->undo_cells; steps++)
        if (steps == LAYOUT_TUPLES || !step_back(txn, object, bar))
            return PLANT(motor_gone_ignored) && !(motor_of(object)->undo_cells = 0);
    return true;
}

static int undo_round(struct coro *co, struct txn *txn)
{
    txn_each_object (txn, object)
        if (motor_of(object)->undo_cells && !undo_post(co, txn, object)) return txn_no_copies(txn, object);
    if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    motor_txn(txn)->undo_count = 0;
    txn_each_object (txn, object) {
        if (!motor_of(object)->undo_cells) continue;
        if (!undo_judge(txn, object)) return txn_abort(co, txn, CELLAR_ABORT_SNAPSHOT_GONE);
        motor_txn(txn)->undo_count += motor_of(object)->undo_cells != 0;
    }
    return 0;
}

static int undo(struct coro *co, struct txn *txn)
{
    txn_each_object (txn, object)
        if (motor_of(object)->undo_cells) motor_of(object)->again = NULL; /* what may be there is too small */
    for (uint32_t rounds = 0; motor_txn(txn)->undo_count; rounds++) {
        int rc = rounds < LOCKED_READS_MAX ? undo_round(co, txn) : txn_abort(co, txn, CELLAR_ABORT_READ_LOCKED);
        if (rc) return rc;
    }
    return 0;
}

/* ---- fetch ---- */

/* Of a reader: whose writer is at work is read again, since that one may be older than the snapshot. */
static enum fetch_verdict judge(struct txn *txn, struct cache_object *object, const struct record_wire *header)
{
    const struct schema *schema = &object->table->schema;
    if ((header->lock & lockword_mask(schema->tag_bits, schema->all_ones)) && !PLANT(motor_reads_locked)) {
        fetch_foreign_tag(txn, object->addr, header->lock, schema->tag_bits, schema->all_cells);
        return object->rounds + 1 < LOCKED_READS_MAX ? FETCH_AGAIN : FETCH_READ_LOCKED;
    }
    return unchanged(txn, object) ? FETCH_DONE : FETCH_AGAIN;
}

static int rounds_of_reader(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {
        .read_before = read_before, .read_after = read_after, .judge = judge, .fetched = fetched};
    return fetch_rounds(co, txn, &rules);
}

static int rounds_of_writer(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {.fetched = fetched};
    return fetch_rounds(co, txn, &rules);
}

int motor_fetch(struct coro *co, struct txn *txn)
{
    int rc = motor_txn(txn)->snapshot_ts ? rounds_of_reader(co, txn) : rounds_of_writer(co, txn);
    if (txn->doomed) return rc;
    int undone = motor_txn(txn)->undo_count ? undo(co, txn) : 0;
    return undone ? undone : rc;
}
