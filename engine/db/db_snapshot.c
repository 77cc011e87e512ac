/*
 * db_snapshot.c - a copy of the pool as of one moment, while transactions run (docs/snapshot.md).
 *
 *     watch ─> rest ─> copy all that is in use ─> rest ─> copy what was written ─> … ─> rest: copy the last of it
 *
 * INV-SNAPSHOT-1: a piece that is written by an operation posted in generation g, or later, is copied by the pass that
 *                 begins when all operations of generation g have had their effect, or by a later one. The last pass
 *                 runs while no attempt and no whole-table work is under way, and none begins: after it the file has
 *                 what the pool has.
 * INV-SNAPSHOT-2: while it is made no other process was a member: all that writes to the pool is watched.
 */
#include "db_snapshot.h"

#include "batch.h"
#include "coordinator.h"
#include "db_company.h"
#include "db_index.h"
#include "db_plants.h"
#include "descriptor.h"
#include "fabric_route.h"
#include "lazy.h"
#include "pwrite_all.h"
#include "session.h"
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE FABRIC_WATCH_BYTES
#define PASSES_MAX 12
#define PIECES_FEW 1024          /* so many are left for the last pass, unless they do not become fewer */
#define BUFFER_BYTES (16u << 20) /* of the last pass: written to the file when all go on */
#define RUNS_MAX (BUFFER_BYTES / PIECE)
#define RUN_BYTES_MAX LAYOUT_CHUNK_BYTES
#define STEP_BYTES (128u << 10) /* between two pauses, beside transactions */
#define WORKS_ONE_IN 20         /* of the time that the first pass takes */
#define WORKS_LATER_ONE_IN 2    /* later ones: what they take long for is written anew meanwhile */
#define RESTS_MAX 4000          /* tries, while whole-table work is under way */
#define REST_TRY_NS 1000000ull
#define PATH_BYTES 4096

/* Lives as long as the database: an operation may be on its way past `route` whenever that is taken away. */
struct db_snapshot {
    struct fabric_watch watch;
    struct fabric_route route;
    uint64_t *incarnation; /* registered, as is */
    uint8_t *buffer;       /* of BUFFER_BYTES */
    uint64_t bytes;        /* of both */
};

struct snapshot {
    struct cellar *db;
    struct db_snapshot *own;
    struct coordinator *coordinator; /* of a session, on whose thread it runs */
    struct coro *co;
    struct cellar_error *error;
    int fd;
    const char *path;
    uint64_t incarnation; /* of the pool: it grows when a process opens it */
    uint32_t works_one_in;
    uint32_t run_count;
    uint64_t buffered;
    struct run {
        uint64_t offset, bytes;
    } runs[RUNS_MAX]; /* in the buffer, one after the other */
};

/* ---- memory ---- */

void db_snapshot_free(struct cellar *db)
{
    struct db_snapshot *own = db->snapshot;
    if (!own) return;
    lazy_unmap(own->watch.marks, own->watch.count);
    lazy_unmap(own->incarnation, own->bytes);
    free(own);
}

/* NULL without memory. */
static struct db_snapshot *snapshot_make(struct cellar *db)
{
    struct db_snapshot *own = db->snapshot ? db->snapshot : calloc(1, sizeof *own);
    if (!own || db->snapshot) return own;
    db->snapshot = own;
    own->bytes = BUFFER_BYTES + PIECE;
    own->watch.count = db->catalog->mn_bytes / PIECE;
    own->watch.marks = lazy_map(own->watch.count);
    own->incarnation = lazy_map(own->bytes);
    own->buffer = (uint8_t *)own->incarnation + PIECE;
    own->route = (struct fabric_route){.watch = &own->watch, .mn_count = 1, .promoted = true};
    if (own->watch.marks && own->incarnation && fabric_register_local(db->fabric, own->incarnation, own->bytes) == 0) {
        memset(own->buffer, 1, BUFFER_BYTES); /* its pages are there before all wait for it */
        return own;
    }
    db_snapshot_free(db);
    db->snapshot = NULL;
    return NULL;
}

/* ---- watching ---- */

/* In the thread of a compute node that gives routes to endpoints, new ones included. */
static int route_set(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct halt *halt = &coordinator->worker->node->halt;
    (void)co;
    for (uint32_t i = 0; i < halt->ep_count; i++)
        atomic_store_explicit(&halt->eps[i]->route, (const struct fabric_route *)arg, memory_order_release);
    return 0;
}

static int routes_set(struct cellar *db, struct fabric_route *route, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++)
        rc = db_call_on(db, i * db->config.threads * db->config.coros, route_set, route, error);
    return rc;
}

/* ---- resting ---- */

static void go_on(struct snapshot *snapshot, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++) gate_rested(&snapshot->db->nodes[i].gate);
}

static int rest_once(struct snapshot *snapshot)
{
    struct coordinator *coordinator = snapshot->coordinator;
    struct cellar *db = snapshot->db;
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++) {
        rc = gate_rest(snapshot->co, &db->nodes[i].gate, &coordinator->worker->sched, &coordinator->task);
        if (rc) go_on(snapshot, i);
    }
    return rc;
}

/* All compute nodes of this process; then all operations posted before have had their effect. */
static int rest(struct snapshot *snapshot)
{
    struct coordinator *coordinator = snapshot->coordinator;
    int rc = CELLAR_BUSY;
    for (uint32_t tries = 0; tries < RESTS_MAX && (rc == CELLAR_BUSY || rc == CELLAR_RETRY); tries++) {
        if (tries) sched_sleep(snapshot->co, &coordinator->worker->sched, &coordinator->task, REST_TRY_NS);
        rc = rest_once(snapshot);
    }
    if (rc == 0) return 0;
    if (rc == CELLAR_FENCED) return err_set(snapshot->error, rc, "a snapshot: %s", cellar_strerror(rc));
    return err_set(snapshot->error, CELLAR_BUSY, "a snapshot: whole tables are being read, loaded or changed");
}

/* ---- copying ---- */

static int unread(struct snapshot *snapshot, int rc)
{
    return rc ? err_set(snapshot->error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

static int bytes_read(struct snapshot *snapshot, uint64_t offset, void *bytes, uint32_t size)
{
    struct fabric_ep *ep = snapshot->coordinator->worker->ep;
    bool before = batch_bulk_enter(ep);
    int rc = batch_read(snapshot->co, ep, fabric_addr_of(0, offset), bytes, size);
    batch_bulk_leave(ep, before);
    return unread(snapshot, rc);
}

static int unwritten(struct snapshot *snapshot, int code)
{
    return code ? err_set(snapshot->error, CELLAR_SYSTEM, "cannot write %.160s: %s", snapshot->path, strerror(code))
                : 0;
}

static int buffer_write(struct snapshot *snapshot)
{
    const uint8_t *bytes = snapshot->own->buffer;
    int code = 0;
    for (uint32_t i = 0; i < snapshot->run_count && code == 0; bytes += snapshot->runs[i++].bytes)
        code = pwrite_all(snapshot->fd, bytes, snapshot->runs[i].bytes, (off_t)snapshot->runs[i].offset);
    snapshot->run_count = 0;
    snapshot->buffered = 0;
    return unwritten(snapshot, code);
}

/* To the buffer, which is written when it is full. */
static int run_take(struct snapshot *snapshot, uint64_t offset, uint32_t bytes)
{
    bool full = snapshot->buffered + bytes > BUFFER_BYTES;
    int rc = full ? buffer_write(snapshot) : 0;
    if (rc == 0) rc = bytes_read(snapshot, offset, snapshot->own->buffer + snapshot->buffered, bytes);
    if (rc) return rc;
    snapshot->runs[snapshot->run_count++] = (struct run){offset, bytes};
    snapshot->buffered += bytes;
    return 0;
}

/* Most of the time others have the machine, and the ways to memory. */
static void make_way(struct snapshot *snapshot, uint64_t began_ns)
{
    struct worker *worker = snapshot->coordinator->worker;
    uint64_t took_ns = fabric_now_ns(worker->ep) - began_ns;
    sched_sleep(snapshot->co, &worker->sched, &snapshot->coordinator->task, took_ns * (snapshot->works_one_in - 1));
}

static int range_copy(struct snapshot *snapshot, uint64_t offset, uint64_t end)
{
    int rc = 0;
    while (offset < end && rc == 0) {
        uint64_t began_ns = fabric_now_ns(snapshot->coordinator->worker->ep);
        uint32_t size = (uint32_t)(end - offset < LAYOUT_CHUNK_BYTES ? end - offset : LAYOUT_CHUNK_BYTES);
        rc = bytes_read(snapshot, offset, snapshot->own->buffer, size);
        if (rc == 0) rc = unwritten(snapshot, pwrite_all(snapshot->fd, snapshot->own->buffer, size, (off_t)offset));
        if (rc == 0) make_way(snapshot, began_ns);
        offset += size;
    }
    return rc;
}

/* All that was in use when it began; what comes later is watched. */
static int all_copy(struct snapshot *snapshot)
{
    const struct catalog *catalog = snapshot->db->catalog;
    uint64_t chunks, spares = catalog->heap_offset + catalog->chunk_count * LAYOUT_CHUNK_BYTES;
    int rc = unread(snapshot, catalog_chunks_used(snapshot->co, snapshot->coordinator->worker->ep, catalog, 0,
                                                  snapshot->own->incarnation, &chunks));
    if (rc == 0) rc = range_copy(snapshot, 0, catalog->heap_offset + chunks * LAYOUT_CHUNK_BYTES);
    if (rc == 0) rc = range_copy(snapshot, spares, spares + catalog->spare_count * LAYOUT_CHUNK_BYTES);
    return rc;
}

static bool is_marked(const struct fabric_watch *watch, uint64_t i, uint8_t low, uint8_t high)
{
    uint8_t mark = __atomic_load_n(&watch->marks[i], __ATOMIC_RELAXED);
    return mark >= low && mark <= high;
}

/* The first piece from `i` on whose mark is from `low` (not 0) to `high`; the count: there is none. */
static uint64_t marked_next(const struct fabric_watch *watch, uint64_t i, uint8_t low, uint8_t high)
{
    const uint64_t *words = (const uint64_t *)(const void *)watch->marks;
    while (i < watch->count && !is_marked(watch, i, low, high)) {
        bool none = i % sizeof *words == 0 && !__atomic_load_n(&words[i / sizeof *words], __ATOMIC_RELAXED);
        i += none ? sizeof *words : 1;
    }
    return i < watch->count ? i : watch->count;
}

static uint64_t marked_count(const struct fabric_watch *watch, uint8_t low)
{
    uint64_t count = 0;
    for (uint64_t i = 0; (i = marked_next(watch, i, low, UINT8_MAX)) < watch->count; i++) count++;
    return count;
}

/* Those so marked, neighbours in one go. `beside` transactions: with pauses. */
static int marked_copy(struct snapshot *snapshot, uint64_t i, uint64_t end, uint8_t low, uint8_t high, bool beside)
{
    const struct fabric_watch *watch = &snapshot->own->watch;
    uint64_t began_ns = fabric_now_ns(snapshot->coordinator->worker->ep);
    int rc = 0;
    while (rc == 0 && (i = marked_next(watch, i, low, high)) < end) {
        uint64_t next = i + 1;
        while (next < end && (next - i) * PIECE < RUN_BYTES_MAX && is_marked(watch, next, low, high)) next++;
        rc = run_take(snapshot, i * PIECE, (uint32_t)((next - i) * PIECE));
        i = next;
        if (rc || !beside || snapshot->buffered < STEP_BYTES) continue;
        rc = buffer_write(snapshot);
        if (rc == 0) make_way(snapshot, began_ns);
        began_ns = fabric_now_ns(snapshot->coordinator->worker->ep);
    }
    return rc;
}

/* From now on operations are of the next generation, and those before have had their effect. */
static int generation_end(struct snapshot *snapshot, uint8_t generation)
{
    atomic_store(&snapshot->own->watch.generation, (uint8_t)(generation + 1));
    int rc = rest(snapshot);
    if (rc == 0) go_on(snapshot, snapshot->db->config.cns);
    return rc;
}

/* INV-SNAPSHOT-2. The count grows with each opening: a process that has come and gone shows, too. */
static int alone_check(struct snapshot *snapshot)
{
    uint64_t now;
    int rc =
        bytes_read(snapshot, offsetof(struct superblock_wire, incarnation), snapshot->own->incarnation, sizeof now);
    now = *snapshot->own->incarnation;
    if (rc == 0 && !snapshot->incarnation) snapshot->incarnation = now;
    if (rc == 0) rc = db_alone_check(snapshot->co, snapshot->coordinator->worker, snapshot->error);
    if (rc == 0 && now != snapshot->incarnation)
        rc = err_set(snapshot->error, CELLAR_BUSY, "another process has opened the pool under a snapshot of it");
    return rc;
}

/* While all stand still. Words that others than attempts write lie before the heap: those marked at all. */
static int last_copy(struct snapshot *snapshot, uint8_t generation)
{
    uint64_t heap = snapshot->db->catalog->heap_offset / PIECE;
    int rc = alone_check(snapshot);
    if (rc == 0) rc = marked_copy(snapshot, 0, heap, 1, UINT8_MAX, false);
    return rc ? rc : marked_copy(snapshot, heap, snapshot->own->watch.count, generation, UINT8_MAX, false);
}

static int last_pass(struct snapshot *snapshot, uint8_t generation)
{
    struct worker *worker = snapshot->coordinator->worker;
    uint64_t began_ns = fabric_now_ns(worker->ep);
    int rc = PLANT(snapshot_running) ? 0 : rest(snapshot);
    if (rc) return rc;
    uint64_t rests_ns = fabric_now_ns(worker->ep);
    rc = last_copy(snapshot, generation);
    if (!PLANT(snapshot_running)) go_on(snapshot, snapshot->db->config.cns);
    uint64_t now_ns = fabric_now_ns(worker->ep);
    if (rc == 0)
        node_log(&snapshot->db->opening, CELLAR_LOG_INFO,
                 "a snapshot: %u passes; the last one waited %llu us for rest, and copied %llu KiB in %llu us",
                 generation, (unsigned long long)(rests_ns - began_ns) / 1000,
                 (unsigned long long)snapshot->buffered / 1024, (unsigned long long)(now_ns - rests_ns) / 1000);
    return rc ? rc : buffer_write(snapshot);
}

/* What was written is copied again, and what was written meanwhile; each pass has less to do, or is the last. */
static int later_passes(struct snapshot *snapshot, uint8_t *generation)
{
    const struct fabric_watch *watch = &snapshot->own->watch;
    uint64_t before = UINT64_MAX, pieces = 0;
    int rc = 0;
    snapshot->works_one_in = WORKS_LATER_ONE_IN;
    for (; rc == 0 && *generation < PASSES_MAX; ++*generation, before = pieces) {
        pieces = marked_count(watch, *generation);
        if (pieces <= PIECES_FEW || pieces >= before - before / 4) break;
        rc = generation_end(snapshot, *generation);
        if (rc == 0) rc = marked_copy(snapshot, 0, watch->count, *generation, *generation, true);
        if (rc == 0) rc = buffer_write(snapshot);
    }
    return rc;
}

/* On the session's coordinator. */
static int copy(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct snapshot *snapshot = arg;
    uint8_t generation = 1;
    snapshot->co = co;
    snapshot->coordinator = coordinator;
    snapshot->works_one_in = WORKS_ONE_IN;
    int rc = alone_check(snapshot);
    if (rc == 0) rc = rest(snapshot); /* what was posted unwatched has had its effect */
    if (rc == 0) go_on(snapshot, snapshot->db->config.cns);
    if (rc == 0) rc = all_copy(snapshot);
    if (PLANT(snapshot_torn)) return rc;
    if (rc == 0) rc = later_passes(snapshot, &generation);
    /* The one before, too: who is not counted by a gate may have marked a piece a little late. */
    return rc ? rc : last_pass(snapshot, generation > 1 ? (uint8_t)(generation - 1) : 1);
}

/* ---- the file ---- */

/* An operation that was posted as the snapshot before ended may still mark a piece: harmless, since all are copied. */
static void marks_clear(const struct fabric_watch *watch)
{
    for (uint64_t i = 0; i < watch->count; i++) __atomic_store_n(&watch->marks[i], 0, __ATOMIC_RELAXED);
}

/* All that is to be said is said; the session is given back. */
static int copy_by_session(struct snapshot *snapshot)
{
    struct session *session;
    struct cellar *db = snapshot->db;
    int rc = session_open(db, &session, snapshot->error);
    if (rc) return rc;
    marks_clear(&snapshot->own->watch);
    atomic_store(&snapshot->own->watch.generation, 1);
    rc = routes_set(db, &snapshot->own->route, snapshot->error);
    if (rc == 0) rc = session_call(session, copy, snapshot);
    if (rc == CELLAR_CLOSED) err_set(snapshot->error, CELLAR_CLOSED, "the database is closing");
    (void)!routes_set(db, NULL, NULL); /* it fails when the database closes: then nothing is posted any more */
    session_close(session);
    return rc;
}

/* Under another name until it is whole and on the disk. */
static int file_make(struct snapshot *snapshot)
{
    char part[PATH_BYTES];
    uint64_t bytes = snapshot->db->catalog->mn_bytes;
    if (snprintf(part, sizeof part, "%s.part", snapshot->path) >= (int)sizeof part)
        return err_set(snapshot->error, CELLAR_INVALID, "a path of %d bytes at most", PATH_BYTES - 6);
    if (access(snapshot->path, F_OK) == 0)
        return err_set(snapshot->error, CELLAR_EXISTS, "%.200s is there already", snapshot->path);
    snapshot->fd = descriptor_high(open(part, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (snapshot->fd < 0) return unwritten(snapshot, errno);
    int rc = unwritten(snapshot, file_limit(bytes));
    if (rc == 0) rc = unwritten(snapshot, ftruncate(snapshot->fd, (off_t)bytes) ? errno : 0);
    if (rc == 0) rc = copy_by_session(snapshot);
    if (rc == 0) rc = unwritten(snapshot, fsync(snapshot->fd) ? errno : 0);
    close(snapshot->fd);
    if (rc == 0 && rename(part, snapshot->path)) rc = unwritten(snapshot, errno);
    if (rc) unlink(part);
    return rc;
}

static int snapshot_run(struct cellar *db, const char *path, struct cellar_error *error)
{
    if (!path || !path[0]) return err_set(error, CELLAR_INVALID, "a snapshot needs a path");
    if (db->catalog->mn_count != 1)
        return err_set(error, CELLAR_UNSUPPORTED, "a snapshot is a file of one memory node; the pool has %u",
                       db->catalog->mn_count);
    if (atomic_exchange(&db->snapshots, true)) return err_set(error, CELLAR_BUSY, "another snapshot is being made");
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct db_snapshot *own = snapshot_make(db);
    int rc = snapshot && own ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a snapshot");
    if (rc == 0) {
        *snapshot = (struct snapshot){.db = db, .own = own, .path = path, .error = error};
        rc = file_make(snapshot);
    }
    free(snapshot);
    atomic_store(&db->snapshots, false);
    return rc;
}

int db_backup(struct cellar *db, const char *path, struct cellar_error *error)
{
    struct cellar_error unused;
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = snapshot_run(db, path, error ? error : &unused);
    db_call_end(db, counted);
    return rc;
}
