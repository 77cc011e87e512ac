/*
 * crest_block.c - executing a block on shared objects: join, claim, fetch, publish. Then copies are taken
 * (crest_take.c).
 *
 * The races it is built around: (1) an object may be closed (draining, being applied, deleted) just when a writer
 * comes: a writer that finds one closed takes back what it has announced in this block before it waits, and aborts if
 * it has announced anything in earlier ones, lest two closed objects wait for each other. (2) Two transactions may
 * each be the fetcher of what the other one needs: so a fetch is finished, and sole use given up, before it waits for
 * another.
 */
#include "crest_fetch.h"
#include "crest_plants.h"

#include <string.h>

/* ---- joining ---- */

static bool closed_to(const struct txn *txn, const struct cache_object *object)
{
    const struct local_object *local = crest_of(object)->local;
    bool others = crest_wants_alone(txn, object) && local->writers;
    bool applying = local->phase == LOCAL_APPLYING && !PLANT(crest_join_applying);
    return local->phase == LOCAL_DRAINING || applying || local->exclusive || others;
}

enum joined { JOINED, CLOSED, EXHAUSTED, VANISHED };

/* Deleted while this transaction waited: look for it anew. */
static void forget_gone(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;
    uint32_t slot = local->node.slot;

    local_lock(own->local, local, home->ep);
    if (local->gone && !part->ref_cells && !part->announced) {
        local_unpin(own->local, &crest_home(home)->magazine, local);
        part->local = NULL;
    }
    local_unlock_slot(own->local, slot);
}

/*
 * Under the lock: what an earlier block was to write is to be deleted. With other writers there it ends: they may wait
 * for what it has announced.
 */
static enum joined announce_alone(struct local_object *local)
{
    if (local->writers > 1 && !PLANT(crest_delete_joined)) return CLOSED;
    local->exclusive = true;
    return JOINED;
}

/* Under the lock: announces a transaction that means to write. */
static enum joined announce(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct local_object *local = part->local;

    if (local->gone) return VANISHED; /* read in an earlier block, and deleted since */
    if (part->announced && crest_wants_alone(txn, object) && !local->exclusive) return announce_alone(local);
    if (part->announced || !crest_cells_to_lock(txn, object)) return JOINED;
    if (closed_to(txn, object)) {
        if (local->phase == LOCAL_OPEN && local->writers && !local->exclusive) local->phase = LOCAL_DRAINING;
        return CLOSED;
    }
    local->writers++;
    local->exclusive = crest_wants_alone(txn, object);
    part->announced = true;
    crest_txn(txn)->announced_count++;
    return JOINED;
}

/*
 * Under the slot's lock: the object of that key, one in place of what was in sole use, or a new one; NULL when the
 * arena is exhausted.
 */
static struct local_object *find_or_make(struct txn_home *home, struct local_slot *slot,
                                         const struct cache_object *object)
{
    struct local_node *node = local_find(slot, &crest_of(object)->node);
    struct local_object *local = (struct local_object *)node;

    if (node && node->kind == LOCAL_SOLE) return crest_sole_share(home, node);
    if (!node) local = local_object_new(crest_home(home)->local, &crest_home(home)->magazine, &crest_of(object)->node);
    if (!local) return NULL;
    bool bare = !node && object->kind == CACHE_INSERT;
    if (!local->image && !bare && !local_expand(crest_home(home)->local, &crest_home(home)->magazine, local)) {
        if (!node) local_object_free(crest_home(home)->local, &crest_home(home)->magazine, local);
        return NULL;
    }
    if (!node) local_link(slot, &local->node);
    return local;
}

/* The first time: alone if no other has it. */
static enum joined join_first(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    enum joined joined = EXHAUSTED;

    if (crest_sole_begin(txn, object)) return JOINED;
    part->node.table = object->table;
    part->node.key = object->key;
    part->node.slot = local_slot_of(object->table, object->key);
    struct local_slot *slot = local_lock_slot(crest_txn(txn)->local, part->node.slot, home->ep);
    part->local = find_or_make(home, slot, object);
    if (part->local) {
        part->local->pins++;
        joined = announce(txn, object);
    }
    local_unlock_word(&slot->lock);
    return joined;
}

static enum joined join(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;

    if (object->busy) return JOINED;
    if (part->sole && !crest_sole_give_up(txn, object)) return EXHAUSTED; /* an earlier block's */
    if (part->local) forget_gone(txn, object);
    if (!part->local) return join_first(txn, object);
    local_lock(crest_txn(txn)->local, part->local, home->ep);
    enum joined joined = announce(txn, object);
    local_unlock(crest_txn(txn)->local, part->local);
    return joined;
}

/*
 * Does it hold anything from earlier blocks that others may wait for, or of an object announced in this one a copy,
 * which it would lose when it applies what others have left there?
 */
static bool holds_more(const struct txn *txn, uint32_t announced_before)
{
    struct crest_txn *own = crest_txn(txn);
    bool any = announced_before > 0;
    for (uint32_t i = 0; i < txn->cache.locked_end; i++)
        any = any || crest_bucket(txn_bucket(txn, (int32_t)i))->claimed;
    for (uint32_t i = 0; i < own->part_count; i++)
        any = any || (crest_of(own->parts[i])->announced && !crest_of(own->parts[i])->sole &&
                      crest_of(own->parts[i])->ref_cells);
    return any;
}

static void wait_open(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    local_lock(own->local, part->local, home->ep);
    if (closed_to(txn, object) && !crest_stopped(txn))
        local_wait(co, own->local, part->local, home->sched, txn->task);
    else
        local_unlock(own->local, part->local);
}

/*
 * Takes back the announcements of this block: as the last writer of an object, it applies what others have left
 * there.
 */
static void take_back(struct coro *co, struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    for (uint32_t i = 0; i < own->part_count; i++)
        if (own->parts[i]->busy) crest_sole_end(txn, own->parts[i], false);
    crest_leave(txn);
    txn_apply(co, txn, 0);
    crest_applied(txn);
}

static int block_join(struct coro *co, struct txn *txn, uint32_t announced_before)
{
    struct crest_txn *own = crest_txn(txn);
    for (;;) {
        struct cache_object *closed = NULL;
        for (uint32_t i = 0; i < own->part_count && !closed; i++) {
            if (own->parts[i]->state == CACHE_ABSENT) continue;
            if (!crest_is_shared(own->parts[i]) && PLANT(crest_insert_unannounced)) continue;
            enum joined joined = join(txn, own->parts[i]);
            if (joined == EXHAUSTED) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
            if (joined == VANISHED) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
            if (joined == CLOSED) closed = own->parts[i];
        }
        if (!closed) return 0;
        bool more = holds_more(txn, announced_before) && !PLANT(crest_waits_announced);
        if (more || crest_stopped(txn)) return txn_abort(co, txn, CELLAR_ABORT_DRAINING);
        if (!PLANT(crest_announcements_kept)) take_back(co, txn);
        wait_open(co, txn, closed);
    }
}

/* ---- fetching what is missing, once for all ---- */

enum claim { CLAIM_NOTHING, CLAIM_OURS, CLAIM_OTHERS };

/* Cells with a version, which is what is read of them; of one of this attempt perhaps not. */
static uint32_t cells_above(const struct local_object *local)
{
    uint32_t above = 0;
    for (uint32_t cells = local->hollow_cells; cells; cells &= cells - 1) {
        const struct local_version *version = local->tails[__builtin_ctz(cells)];
        while (version && local_status_of(version->ref) == LOCAL_ABORTED) version = version->below;
        if (version) above |= cells & -cells;
    }
    return above;
}

static enum claim claim(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;
    enum claim claim = CLAIM_NOTHING;

    if (object->busy) return object->state == CACHE_DECLARED ? CLAIM_OURS : CLAIM_NOTHING;
    local_lock(crest_txn(txn)->local, local, home->ep);
    uint32_t lock = part->announced ? crest_cells_to_lock(txn, object) & ~local->held_cells : 0;
    uint32_t known = local->base_cells & ~(local->hollow_cells & ~cells_above(local));
    uint32_t read = (crest_cells_declared(object) & ~part->ref_cells & ~known) | lock;
    /* What it knows and has locked in earlier blocks is deleted: its bucket is still to be locked. */
    if (object->kind == CACHE_DELETE && object->bucket < 0) read = object->table->schema.all_cells;
    if (read && local->fetching && !PLANT(crest_fetch_shared)) {
        claim = CLAIM_OTHERS;
    } else if (read) {
        claim = CLAIM_OURS;
        local->fetching = true;
        part->claimed = true;
        part->want_read = read;
        part->want_lock = lock;
        part->behind_cells = part->announced ? local->held_cells : 0;
        object->fetching = NULL;
        if (local->addr.bits && object->bucket < 0) {
            object->addr = local->addr;
            object->hinted = true;
        }
    }
    local_unlock(crest_txn(txn)->local, local);
    return claim;
}

/* What was fetched becomes the base, for all; tags taken are the CN's from now on. Under the lock. */
static void base_take(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct local_object *local = part->local;
    const struct schema *schema = &object->table->schema;

    if (local->addr.bits != object->addr.bits) { /* deleted and inserted again elsewhere: nothing of it was held */
        local->addr = object->addr;
        local->base_cells = local->hollow_cells = 0;
    }
    if (!local->base_cells) local->base_ns = txn->begin_ns;
    for (uint32_t cells = part->want_read; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        const struct schema_cell *cell = &schema->cells[number];
        bool known = local->base_cells >> number & 1;
        bool same = record_version(schema, local->image, number) == record_version(schema, object->image, number);
        bool hollow = local->hollow_cells >> number & 1;
        if (known && !hollow && (same || PLANT(crest_base_stale))) continue;
        memcpy(local->image + cell->offset, object->image + cell->offset, record_cell_bytes(cell));
        record_header(local->image)->en[number] = record_header(object->image)->en[number];
        local->origins[number] = (struct local_ref){0};
    }
    local->base_cells |= part->want_read;
    local->hollow_cells &= ~part->want_read;
    if (object->locked_cells) {
        if (!local->tagged_cells) {
            local->held_ns = fabric_now_ns(txn->home->ep);
            local->commits = 0;
        }
        local->held_cells |= object->locked_cells;
        local->tagged_cells |= object->locked_cells;
        object->held = 0;
        object->locked_cells = 0;
        object->unsettled = 0;
    }
}

static void announcement_end(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    if (!part->announced) return;
    part->announced = false;
    crest_txn(txn)->announced_count--;
    part->local->writers--;
    part->local->exclusive = false;
}

/* The fetch is over; its waiters look again. */
static void fetched_share(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;
    bool absent = object->state == CACHE_ABSENT && !part->ref_cells;
    bool fetched = object->state == CACHE_PRESENT && object->fetching && !object->pending;

    local_lock(own->local, local, home->ep);
    if (fetched) base_take(txn, object);
    part->own_read = fetched && object->fetching == object->image;
    local->fetching = part->claimed = false;
    if (absent) {
        announcement_end(txn, object);
        local_reopen(local);
    }
    local_wake_all(local, home->sched);
    uint32_t slot = local->node.slot;
    if (absent) {
        local_unpin(own->local, &crest_home(home)->magazine, local);
        part->local = NULL;
    }
    local_unlock_slot(own->local, slot);
}

static __attribute__((noinline)) void fetched_share_all(struct txn *txn)
{
    for (uint32_t i = 0; i < crest_txn(txn)->part_count; i++) {
        struct cache_object *object = crest_txn(txn)->parts[i];
        if (object->busy && object->state == CACHE_ABSENT)
            crest_sole_end(txn, object, false);
        else if (crest_of(object)->claimed)
            fetched_share(txn, object);
    }
}

/*
 * Before this transaction waits: others may be waiting for what it has alone. What it has read of that is taken
 * again.
 */
static bool share_all(struct txn *txn)
{
    bool all = true;

    for (uint32_t i = 0; i < crest_txn(txn)->part_count && all; i++) {
        struct cache_object *object = crest_txn(txn)->parts[i];
        if (!object->busy || PLANT(crest_sole_waits)) continue;
        all = crest_sole_give_up(txn, object);
        if (all) crest_of(object)->ref_cells = 0;
    }
    return all;
}

static void wait_fetched(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    local_lock(own->local, part->local, home->ep);
    if (part->local->fetching && !crest_stopped(txn))
        local_wait(co, own->local, part->local, home->sched, txn->task);
    else
        local_unlock(own->local, part->local);
}

/* Puts what is missing and free to be fetched on the block's list; the first object that another one is fetching. */
static struct cache_object *claim_all(struct txn *txn)
{
    struct cache_object *others = NULL;

    txn->block_count = 0;
    for (uint32_t i = 0; i < crest_txn(txn)->part_count; i++) {
        struct cache_object *object = crest_txn(txn)->parts[i];
        enum claim got = crest_is_shared(object)                                           ? claim(txn, object)
                         : object->kind == CACHE_INSERT && object->state == CACHE_DECLARED ? CLAIM_OURS
                                                                                           : CLAIM_NOTHING;
        object->pending = got == CLAIM_OURS;
        if (got == CLAIM_OURS) txn->block[txn->block_count++] = object;
        if (got == CLAIM_OTHERS && !others) others = object;
        if (got != CLAIM_NOTHING) crest_of(object)->own_read = false;
    }
    return others;
}

/* Read in an earlier block, and absent in this one: that read cannot validate. */
static bool any_vanished(const struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    for (uint32_t i = 0; i < own->part_count; i++)
        if (own->parts[i]->state == CACHE_ABSENT && crest_of(own->parts[i])->ref_cells) return true;
    return false;
}

/* Until every object has a base for its cells, and tags where they are wanted. */
static int block_fetch(struct coro *co, struct txn *txn, crest_rounds_fn rounds)
{
    for (uint32_t tries = 0; tries < TXN_FETCH_ROUNDS_MAX; tries++) {
        struct cache_object *others = claim_all(txn);
        if (!txn->block_count && !others) return 0;
        int rc = rounds(co, txn);
        if (txn->doomed) return rc;
        fetched_share_all(txn);
        if (crest_stopped(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
        if (any_vanished(txn)) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
        if (txn->error) return 0; /* the procedure's doing: what is there still counts as read */
        if (!others) continue;
        if (!share_all(txn)) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
        wait_fetched(co, txn, others);
    }
    return txn_abort(co, txn, CELLAR_ABORT_LOCK_BUSY);
}

/* ---- a block ---- */

/* Room for the versions that are read: of the base where nothing is noted. */
static int refs_make(struct txn *txn)
{
    for (uint32_t i = 0; i < crest_txn(txn)->part_count; i++) {
        struct cache_object *object = crest_txn(txn)->parts[i];
        if (crest_of(object)->refs || crest_of(object)->sole || !crest_is_shared(object)) continue;
        uint64_t bytes = object->table->schema.cell_count * sizeof *crest_of(object)->refs;
        crest_of(object)->refs = cache_alloc(&txn->cache, bytes);
        if (!crest_of(object)->refs) return txn_no_copies(txn, object);
        memset(crest_of(object)->refs, 0, bytes);
    }
    return 0;
}

/* A transaction that wants a record that was found absent is to look for itself. */
static __attribute__((noinline)) void absent_end(struct txn *txn)
{
    txn_each_object (txn, object)
        if (object->busy && object->state == CACHE_ABSENT) crest_sole_end(txn, object, false);
}

/* No wait, and nothing to take from others: as in mode `cell`. */
static int fetch_alone(struct coro *co, struct txn *txn, crest_rounds_fn rounds)
{
    int rc = rounds(co, txn);
    if (txn->doomed) return rc;
    if (__builtin_expect(txn->check_count > 0, 0)) absent_end(txn);
    if (crest_stopped(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    return rc;
}

/* True when no other has any of what the block declares, and it is still to be fetched. */
static bool begin_alone(struct txn *txn)
{
    uint32_t begun = 0;
    while (begun < txn->block_count && crest_sole_begin(txn, txn->block[begun])) begun++;
    return begun == txn->block_count;
}

static int taken_end(struct coro *co, struct txn *txn, enum crest_taken taken)
{
    return txn_abort(co, txn, taken == CREST_TAKEN_LATER ? CELLAR_ABORT_LOCAL_ORDER : CELLAR_ABORT_DEPENDENCY);
}

/* Another one has some of it, or this transaction had it in an earlier block. */
static __attribute__((noinline)) int fetch_shared(struct coro *co, struct txn *txn, crest_rounds_fn rounds,
                                                  uint32_t announced_before)
{
    struct crest_txn *own = crest_txn(txn);
    own->part_count = txn->block_count;
    for (uint32_t i = 0; i < own->part_count; i++) {
        own->parts[i] = txn->block[i];
        own->parts[i]->pending = false;
    }
    txn->block_count = 0;
    int rc = block_join(co, txn, announced_before);
    for (uint32_t tries = 0; rc == 0; tries++) {
        rc = block_fetch(co, txn, rounds);
        if (rc == 0 && !txn->error) rc = refs_make(txn);
        if (rc || txn->error) break;
        enum crest_taken taken = crest_take(txn);
        if (taken == CREST_TAKEN) return 0;
        if (taken != CREST_TAKEN_MISSING || tries == TXN_FETCH_ROUNDS_MAX) return taken_end(co, txn, taken);
    }
    return rc ? rc : txn->error;
}

int crest_fetch_by(struct coro *co, struct txn *txn, crest_rounds_fn rounds, crest_enter_fn enter)
{
    struct crest_txn *own = crest_txn(txn);
    bool first = !own->later_block;
    int rc = first ? 0 : crest_block_end(co, txn);
    uint32_t announced_before = own->announced_count;

    if (rc) return rc;
    if (!first) local_exec_ts_take(own->local, own->writer); /* before it meets another attempt */
    own->later_block = true;
    if (enter && (rc = enter(co, txn)) != 0) return rc;
    bool alone = begin_alone(txn);
    own->alone = alone && first;
    return alone ? fetch_alone(co, txn, rounds) : fetch_shared(co, txn, rounds, announced_before);
}

static int fetch_rounds_shared(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = CREST_FETCH_RULES;
    return fetch_rounds(co, txn, &rules);
}

int crest_fetch(struct coro *co, struct txn *txn) { return crest_fetch_by(co, txn, fetch_rounds_shared, NULL); }

/* ---- index buckets ---- */

bool crest_bucket_claim(struct txn *txn, struct cache_bucket *bucket)
{
    crest_bucket(bucket)->claim = (struct local_node){.key = bucket->addr.bits, .kind = LOCAL_CLAIM};
    crest_bucket(bucket)->claimed =
        local_link_first(crest_txn(txn)->local, &crest_bucket(bucket)->claim, txn->home->ep);
    return crest_bucket(bucket)->claimed || PLANT(crest_bucket_shared);
}
