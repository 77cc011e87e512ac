/*
 * history_recorder.c - takes down what each attempt reads and writes, and keeps it when the attempt ends with a
 * meaning.
 *
 *     begun -> fetched: READ, ABSENT as the images have them
 *           -> logging: WRITE, INSERT, DELETE over the base versions -> ended: kept
 *
 * Reads are taken down when they are fetched, because the procedure changes images afterwards; where versions are
 * known later (mode crest) they are filled in then; writes before they are logged, because the apply replaces the
 * base versions. An attempt that was about to be logged and never ended has perhaps had its effect: it is kept as
 * indeterminate.
 */
#include "history_recorder_lane.h"

#include "fence.h"
#include "history_digest.h"
#include "history_pool.h"
#include "history_snapshot.h"
#include "must.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

#define TAKEN_PRESENCE (1u << 31) /* in lane->taken, above the bits of all cells: by the bucket, */
#define TAKEN_WITNESS (1u << 30)  /* ... and by the record's witness */

_Static_assert(CELLAR_CELLS_MAX < 30, "bits of their own");

static uint64_t own_clock(const struct fabric_ep *ep) { return fabric_now_ns((struct fabric_ep *)(uintptr_t)ep); }

static struct history_recorder_lane *lane_of(struct history_recorder *recorder, const struct txn *txn)
{
    const struct engine_config *config = &recorder->db->config;
    uint32_t per_cn = config->threads * config->coros, cn = txn->log.cn - config->cn_index;
    uint32_t place = txn->log.coordinator; /* those of sessions come behind those of all compute nodes */
    if (place < per_cn) return &recorder->lanes[cn * per_cn + place];
    return &recorder->lanes[recorder->db->coordinator_count + (place - per_cn) * config->cns + cn];
}

/*
 * Reads the clock between what this thread did before and what it does after: a store still on its way would look
 * later than it ends.
 */
static uint64_t clock_read(const struct history_recorder *recorder, struct history_recorder_lane *lane,
                           const struct txn *txn)
{
    fence_full(&lane->fence);
    uint64_t now_ns = recorder->clock(txn->home->ep);
    fence_full(&lane->fence);
    return now_ns;
}

/* ---- taking down ---- */

void history_recorder_access(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             struct history_access access)
{
    if (lane->count == lane->capacity) {
        uint32_t capacity = lane->capacity ? 2 * lane->capacity : 64;
        struct history_access *accesses = realloc(lane->accesses, capacity * sizeof *accesses);
        if (!accesses) {
            atomic_store_explicit(&recorder->incomplete, true, memory_order_relaxed);
            return;
        }
        lane->accesses = accesses;
        lane->capacity = capacity;
    }
    lane->accesses[lane->count++] = access;
}

/* The version and what it says of the value are read at once, except where the version is not known yet. */
static void cells_read(struct history_recorder *recorder, struct history_recorder_lane *lane,
                       const struct cache_object *object, uint32_t number, uint32_t cells, bool dated)
{
    const struct schema *schema = &object->table->schema;

    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        history_recorder_access(
            recorder, lane,
            (struct history_access){.kind = HISTORY_READ,
                                    .cell = (uint16_t)cell,
                                    .table_id = object->table->id,
                                    .key = object->key,
                                    .version =
                                        dated ? record_version(schema, object->image, cell) & recorder->versions : 0,
                                    .over = dated ? 0 : number, /* of the object, until the version is known */
                                    .digest = history_digest_cell(schema, object->image, cell)});
    }
}

/*
 * Found there, and nothing else was asked for: by the version of the witness. Each insert and delete up to its TS has
 * been seen, and no later one.
 */
static void witness_read(struct history_recorder *recorder, struct history_recorder_lane *lane,
                         const struct cache_object *object)
{
    uint32_t witness = (uint32_t)__builtin_ctz(object->implied_cells);
    uint64_t version = record_version(&object->table->schema, object->image, witness);
    history_recorder_access(recorder, lane,
                            (struct history_access){.kind = HISTORY_READ,
                                                    .cell = HISTORY_PRESENCE,
                                                    .table_id = object->table->id,
                                                    .key = object->key,
                                                    .version = version & LAYOUT_TS_MAX});
}

static void presence_read(struct history_recorder *recorder, struct history_recorder_lane *lane, const struct txn *txn,
                          const struct cache_object *object, enum history_kind kind)
{
    history_recorder_access(recorder, lane,
                            (struct history_access){.kind = (uint16_t)kind,
                                                    .cell = HISTORY_PRESENCE,
                                                    .table_id = object->table->id,
                                                    .key = object->key,
                                                    .version = txn_bucket(txn, object->bucket)->image->version});
}

/* What the procedure can see of a record since the last fetch: cells declared to be written can be read as well. */
static void object_read(struct history_recorder *recorder, struct history_recorder_lane *lane, const struct txn *txn,
                        uint32_t number, bool dated)
{
    const struct cache_object *object = txn_object(txn, (int32_t)number);
    uint32_t *taken = &lane->taken[number];

    if (object->state == CACHE_PRESENT && object->kind != CACHE_INSERT) {
        const struct mode *mode = txn->home->mode;
        uint32_t declared = mode->cells_read ? mode->cells_read(object) : object->read_cells | object->write_cells;
        uint32_t seen = object->fetched_cells & declared, cells = seen & ~(uint32_t)object->implied_cells & ~*taken;
        cells_read(recorder, lane, object, number, cells, dated);
        *taken |= cells;
        if ((seen & object->implied_cells) && dated && !(*taken & TAKEN_WITNESS)) {
            *taken |= TAKEN_WITNESS;
            witness_read(recorder, lane, object);
        }
    }
    bool absent = object->state == CACHE_ABSENT;
    if ((absent || object->refused) && dated && !(*taken & TAKEN_PRESENCE)) {
        *taken |= TAKEN_PRESENCE;
        presence_read(recorder, lane, txn, object, absent ? HISTORY_ABSENT : HISTORY_READ);
    }
}

/* False without memory. */
static bool taken_reach(struct history_recorder_lane *lane, uint32_t objects)
{
    if (objects > lane->objects_max) {
        uint32_t most = objects > 2 * lane->objects_max ? objects : 2 * lane->objects_max;
        uint32_t *taken = realloc(lane->taken, most * sizeof *taken);
        if (!taken) return false;
        lane->taken = taken;
        lane->objects_max = most;
    }
    while (lane->objects < objects) lane->taken[lane->objects++] = 0;
    return true;
}

static void objects_read(struct history_recorder *recorder, struct history_recorder_lane *lane, const struct txn *txn,
                         bool dated)
{
    if (!taken_reach(lane, txn->cache.object_count)) {
        atomic_store(&recorder->incomplete, true);
        return;
    }
    for (uint32_t i = 0; i < txn->cache.object_count; i++) object_read(recorder, lane, txn, i, dated);
    lane->reads = lane->count;
    if (dated) lane->dated = lane->count;
}

static void fetched(void *arg, const struct txn *txn)
{
    struct history_recorder *recorder = arg;
    objects_read(recorder, lane_of(recorder, txn), txn, !txn->home->mode->shares);
}

/* The versions of what was read before they were known. */
static void serialized(void *arg, const struct txn *txn)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);

    for (uint32_t i = lane->dated; i < lane->count; i++) {
        struct history_access *read = &lane->accesses[i];
        const struct cache_object *object = txn_object(txn, (int32_t)read->over);
        read->version = record_version(&object->table->schema, object->image, read->cell) & recorder->versions;
        read->over = 0;
    }
    objects_read(recorder, lane, txn, true);
    history_recorder_ranges(recorder, lane, txn, NULL); /* now: what is released may be of others from then on */
}

static void object_written(struct history_recorder *recorder, struct history_recorder_lane *lane,
                           const struct cache_object *object, uint64_t ts)
{
    const struct schema *schema = &object->table->schema;
    struct history_access access = {
        .cell = HISTORY_PRESENCE, .table_id = object->table->id, .key = object->key, .version = ts};

    if (object->kind != CACHE_ACCESS) {
        access.kind = object->kind == CACHE_INSERT ? HISTORY_INSERT : HISTORY_DELETE;
        history_recorder_access(recorder, lane, access);
    }
    access.kind = HISTORY_WRITE;
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        access.cell = (uint16_t)cell;
        access.over = txn_version_below(object, cell);
        access.version = layout_version_of(layout_en_next(layout_version_en(access.over)), ts) & recorder->versions;
        access.over &= recorder->versions;
        access.digest = object->kind == CACHE_DELETE ? 0 : history_digest_cell(schema, object->image, cell);
        history_recorder_access(recorder, lane, access);
    }
}

/* ---- keeping ---- */

/* Room for one more transaction in the lane's last chunk, or a new one. */
static struct history_txn *txn_room(struct history_journal *journal, struct history_recorder_lane *lane, uint64_t bytes)
{
    if (!lane->last || lane->last->bytes - lane->last->used < bytes) {
        struct history_chunk *chunk = history_journal_chunk(journal, HISTORY_CHUNK_TXNS, bytes, lane->last);
        if (!chunk) return NULL;
        if (lane->last)
            lane->last->next = chunk;
        else
            lane->first = chunk;
        lane->last = chunk;
    }
    return (void *)((uint8_t *)lane->last->data + lane->last->used);
}

static uint64_t txn_bytes(uint32_t count) { return sizeof(struct history_txn) + count * sizeof(struct history_access); }

/* NULL: there is no room for it, and the history is worth nothing. */
static struct history_txn *put_down(struct history_recorder *recorder, struct history_recorder_lane *lane,
                                    enum history_outcome outcome, uint64_t ts, uint64_t end_ns)
{
    uint32_t count = outcome == HISTORY_FAILED ? lane->reads : lane->count;
    struct history_txn *txn = txn_room(recorder->journal, lane, txn_bytes(count));

    if (!txn) {
        atomic_store_explicit(&recorder->incomplete, true, memory_order_relaxed);
        return NULL;
    }
    *txn = (struct history_txn){.cn = lane->cn,
                                .coordinator = lane->coordinator,
                                .begin_ns = lane->begin_ns,
                                .end_ns = end_ns,
                                .ts = outcome == HISTORY_FAILED ? 0 : ts,
                                .outcome = (uint8_t)outcome,
                                .count = count};
    if (count) memcpy(txn + 1, lane->accesses, count * sizeof *lane->accesses);
    history_journal_used(lane->last, lane->last->used + txn_bytes(count));
    return txn;
}

static void keep(struct history_recorder *recorder, struct history_recorder_lane *lane, enum history_outcome outcome,
                 uint64_t ts, uint64_t end_ns)
{
    lane->open = false;
    if (put_down(recorder, lane, outcome, ts, end_ns))
        atomic_fetch_add_explicit(&recorder->count, 1, memory_order_relaxed);
}

/* Before the log has it: the journal of a process that died shows what may have been done. */
static void logging(void *arg, const struct txn *txn, uint64_t ts)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);

    history_recorder_notes(recorder, lane, txn);
    history_recorder_ranges(recorder, lane, txn, NULL);
    txn_each_object (txn, object)
        if (txn_cells_to_apply(object)) object_written(recorder, lane, object, ts);
    lane->pending = put_down(recorder, lane, HISTORY_INDETERMINATE, ts, INT64_MAX);
}

/* It had no effect after all. */
static void pending_drop(struct history_recorder_lane *lane)
{
    if (lane->pending) history_journal_used(lane->last, lane->last->used - txn_bytes(lane->pending->count));
    lane->pending = NULL;
}

/* The end first: a committed one has one. */
static void pending_end(struct history_recorder *recorder, struct history_recorder_lane *lane,
                        enum history_outcome outcome, uint64_t end_ns)
{
    lane->open = false;
    lane->pending->end_ns = end_ns;
    __atomic_store_n(&lane->pending->outcome, (uint32_t)outcome, __ATOMIC_RELEASE);
    lane->pending = NULL;
    atomic_fetch_add_explicit(&recorder->count, 1, memory_order_relaxed);
}

/* What was read by an attempt that is tried again. Versions that were never known stay 0. */
static void keep_aborted(struct history_recorder *recorder, struct history_recorder_lane *lane, uint64_t end_ns)
{
    if (!lane->open || !recorder->aborted) return;
    lane->count = lane->reads;
    for (uint32_t i = lane->dated; i < lane->count; i++) lane->accesses[i].over = 0;
    keep(recorder, lane, HISTORY_ABORTED, 0, end_ns);
}

/* An attempt before this one of which no end was told was aborted. */
static bool begun(void *arg, const struct txn *txn)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);
    uint64_t now_ns = clock_read(recorder, lane, txn);

    pending_drop(lane);
    keep_aborted(recorder, lane, now_ns);
    lane->count = lane->reads = lane->dated = lane->objects = lane->claim_count = 0;
    lane->begin_ns = now_ns;
    lane->open = true;
    return false;
}

static void ranged(void *arg, const struct txn *txn, const struct cellar_index *index, uint64_t low, uint64_t high,
                   const uint64_t *keys, uint32_t count)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);
    history_recorder_claim(recorder, lane, (struct history_recorder_claim){index, low, high, false});
    for (uint32_t i = 0; i < count; i++)
        history_recorder_claim(recorder, lane, (struct history_recorder_claim){index, keys[i], keys[i], true});
}

static void ended(void *arg, const struct txn *txn, int code, uint64_t ts)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);

    /*
     * Fenced while it logged: the node is lost, and it is unknown whether its last WRITE ran. Stopped: nor is it known
     * whether all was applied.
     */
    bool stopped = atomic_load_explicit(&txn->home->gate->failed, memory_order_relaxed);
    bool unknown = code == CELLAR_INDETERMINATE || (ts && (code == CELLAR_FENCED || (code == 0 && stopped)));
    uint64_t end_ns = clock_read(recorder, lane, txn);
    if (!unknown && code) pending_drop(lane);
    if (!lane->pending && code != CELLAR_RETRY && lane->count == lane->reads) {
        history_recorder_notes(recorder, lane, txn);
        history_recorder_ranges(recorder, lane, txn, NULL);
    }
    if (lane->pending)
        pending_end(recorder, lane, unknown ? HISTORY_INDETERMINATE : HISTORY_COMMITTED, end_ns);
    else if (code == CELLAR_RETRY)
        keep_aborted(recorder, lane, end_ns);
    else
        keep(recorder, lane,
             unknown     ? HISTORY_INDETERMINATE
             : code == 0 ? HISTORY_COMMITTED
                         : HISTORY_FAILED,
             ts, end_ns);
    lane->open = false;
}

static void glanced(void *arg, const struct txn *txn, const struct draft *draft, bool again)
{
    struct history_recorder *recorder = arg;
    struct history_recorder_lane *lane = lane_of(recorder, txn);
    history_recorder_glance(recorder, lane, draft, again);
    history_recorder_ranges(recorder, lane, txn, draft);
    keep(recorder, lane, HISTORY_COMMITTED, 0, clock_read(recorder, lane, txn));
}

/* ---- opening ---- */

static int tables_add(const struct cellar *db, struct history *history)
{
    int rc = 0;
    catalog_each(db->catalog, table) if (rc == 0) rc =
        history_table_add(history, table->id, table->schema.cell_count, table->name);
    return rc;
}

/* What a journal's file says of the history that is to become of it. */
static int journal_open(struct cellar *db, const struct history_recorder_file *file, uint64_t versions,
                        struct history_journal **out, struct cellar_error *error)
{
    struct history like = {.no_epochs = versions == LAYOUT_TS_MAX};

    if (file) {
        like.part = file->part;
        like.parts = file->parts;
        like.run = file->run;
    }
    int rc = file ? tables_add(db, &like) : 0;
    rc = rc ? err_set(error, CELLAR_NOMEM, "no memory for a history")
            : history_journal_open(file ? file->path : NULL, &like, out, error);
    history_free(&like);
    return rc;
}

/* Coordinators, and those that sessions may have, as lane_of counts them. */
static uint32_t lanes_of(const struct cellar *db)
{
    uint32_t cns = db->config.cns, places = (db->config.sessions + cns - 1) / cns;
    return db->coordinator_count + SESSION_COORDINATORS * places * cns;
}

static int recorder_make(struct cellar *db, const struct history_recorder_file *file, struct history_recorder *recorder,
                         struct cellar_error *error)
{
    const struct engine_config *config = &db->config;
    uint32_t per_cn = config->threads * config->coros;

    recorder->db = db;
    recorder->versions = mode_of(config->cc)->shares || mode_of(config->cc)->undo ? LAYOUT_TS_MAX : UINT64_MAX;
    memset(recorder->lost_ns, 0xff, sizeof recorder->lost_ns);
    uint32_t count = lanes_of(db);
    recorder->lanes = aligned_alloc(64, count * sizeof *recorder->lanes);
    if (!recorder->lanes) return err_set(error, CELLAR_NOMEM, "no memory for a history of %u coordinators", count);
    recorder->lane_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t session = i - db->coordinator_count; /* of those behind the others */
        bool own = i < db->coordinator_count;
        recorder->lanes[i] =
            (struct history_recorder_lane){.cn = config->cn_index + (own ? i / per_cn : session % config->cns),
                                           .coordinator = own ? i % per_cn : per_cn + session / config->cns};
    }
    int rc = journal_open(db, file, recorder->versions, &recorder->journal, error);
    return rc ? rc : history_snapshot_take(db, 0, recorder->versions, recorder->journal, &recorder->snapshot, error);
}

int history_recorder_open(struct cellar *db, history_clock_fn clock, uint64_t txns_max,
                          const struct history_recorder_file *file, struct history_recorder **out,
                          struct cellar_error *error)
{
    *out = NULL;
    struct history_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder) return err_set(error, CELLAR_NOMEM, "no memory for a history");
    recorder->clock = clock ? clock : own_clock;
    recorder->txns_max = txns_max;
    recorder->observer = (struct observer){.arg = recorder,
                                           .begun = begun,
                                           .fetched = fetched,
                                           .serialized = serialized,
                                           .logging = logging,
                                           .ended = ended,
                                           .glanced = glanced,
                                           .ranged = ranged};
    int rc = recorder_make(db, file, recorder, error);
    if (rc) {
        history_recorder_free(recorder);
        return rc;
    }
    *out = recorder;
    return 0;
}

void history_recorder_start(struct history_recorder *recorder) { db_observe(recorder->db, &recorder->observer); }

void history_recorder_leave_out(struct history_recorder *recorder, const struct cellar_table *table)
{
    recorder->left_out = table ? table->table : NULL;
}

void history_recorder_cover(struct history_recorder *recorder) { recorder->cover = true; }

uint64_t history_recorder_count(const struct history_recorder *recorder)
{
    return atomic_load_explicit(&recorder->count, memory_order_relaxed);
}

void history_recorder_keep_aborted(struct history_recorder *recorder) { recorder->aborted = true; }

bool history_recorder_full(const struct history_recorder *recorder)
{
    return history_recorder_count(recorder) >= recorder->txns_max ||
           atomic_load_explicit(&recorder->incomplete, memory_order_relaxed);
}

void history_recorder_stop(struct history_recorder *recorder) { db_observe(recorder->db, NULL); }

void history_recorder_lost(struct history_recorder *recorder, uint32_t cn, uint64_t since_ns)
{
    recorder->lost_ns[cn] = since_ns;
}

/* ---- another life ---- */

static void lane_settle(const struct history_recorder *recorder, struct history_recorder_lane *lane)
{
    for (struct history_chunk *chunk = lane->first; chunk; chunk = chunk->next)
        for (uint64_t at = 0; at < chunk->used;) {
            struct history_txn *txn = (void *)((uint8_t *)chunk->data + at);
            if (!history_recorder_told(recorder, txn)) txn->id = HISTORY_RECORDER_VOID;
            at += txn_bytes(txn->count);
        }
}

void history_recorder_pause(struct history_recorder *recorder)
{
    history_recorder_stop(recorder);
    for (uint32_t i = 0; i < recorder->lane_count; i++) {
        struct history_recorder_lane *lane = &recorder->lanes[i];
        if (lane->pending) pending_end(recorder, lane, HISTORY_INDETERMINATE, INT64_MAX);
        lane->open = false;
        lane_settle(recorder, lane);
    }
    memset(recorder->lost_ns, 0xff, sizeof recorder->lost_ns);
    recorder->db = NULL;
}

void history_recorder_resume(struct history_recorder *recorder, struct cellar *db)
{
    must(lanes_of(db) == recorder->lane_count);
    recorder->db = db;
    db_observe(db, &recorder->observer);
}

/* ---- closing ---- */

/* On a compute node that is still there. A memory node that is not leaves the history without final versions. */
static int finals_read(const struct history_recorder *recorder, struct history *history, struct cellar_error *error)
{
    const struct engine_config *config = &recorder->db->config;
    uint32_t cn = 0;

    while (cn < config->cns && recorder->lost_ns[config->cn_index + cn] != UINT64_MAX) cn++;
    if (cn == config->cns) return 0;
    const struct history_pool_since since = {recorder->snapshot, recorder->left_out};
    int rc = history_pool_read(recorder->db, cn * config->threads * config->coros, history,
                               recorder->cover ? &since : NULL, error);
    return rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE ? 0 : rc;
}

int history_recorder_close(struct history_recorder *recorder, struct history *history, struct cellar_error *error)
{
    history_recorder_stop(recorder);
    for (uint32_t i = 0; i < recorder->lane_count; i++) {
        struct history_recorder_lane *lane = &recorder->lanes[i];
        if (lane->pending) pending_end(recorder, lane, HISTORY_INDETERMINATE, INT64_MAX);
    }
    history->no_epochs = recorder->versions == LAYOUT_TS_MAX;
    history_recorder_reserve(recorder, history);
    int rc = atomic_load(&recorder->incomplete) ? CELLAR_NOMEM : 0;
    if (rc == 0) rc = history_recorder_merge(recorder, history);
    if (rc == 0) rc = tables_add(recorder->db, history);
    if (rc == 0) rc = history_snapshot_add(recorder->snapshot, history);
    if (rc)
        err_set(error, CELLAR_NOMEM, "no memory, or no space beside its file, for a history of %llu transactions",
                (unsigned long long)history_recorder_count(recorder));
    if (rc == 0) rc = finals_read(recorder, history, error);
    history_recorder_free(recorder);
    return rc;
}

void history_recorder_free(struct history_recorder *recorder)
{
    if (!recorder) return;
    if (recorder->db) db_observe(recorder->db, NULL);
    for (uint32_t i = 0; i < recorder->lane_count; i++) {
        struct history_recorder_lane *lane = &recorder->lanes[i];
        while (lane->first) {
            struct history_chunk *done = lane->first;
            lane->first = done->next;
            history_journal_release(recorder->journal, done);
        }
        free(lane->accesses);
        free(lane->taken);
        free(lane->claims);
    }
    free(recorder->lanes);
    history_snapshot_free(recorder->snapshot);
    history_journal_close(recorder->journal);
    free(recorder);
}
