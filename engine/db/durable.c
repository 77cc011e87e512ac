/* durable.c - a folder: whose it is, what of it counts; restoring; and the two threads' beginning and end. */
#include "durable.h"

#include "batch.h"
#include "counter.h"
#include "db.h"
#include "db_config.h"
#include "db_plants.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (256u << 10)
#define GROUP_BYTES ((4u << 20) + (64u << 10)) /* an entry takes half a ring at most */
#define LOG_BYTES_MAX (8ull << 20)             /* of a coordinator's ring */
#define FILES 16                               /* that the log may have at least */
#define FILE_BYTES_MIN (8ull << 20)
#define FILE_BYTES_MAX (64ull << 20)
#define LOG_DEFAULT_MIN (256ull << 20) /* as large as the pool, within these: a checkpoint writes all of that */
#define LOG_DEFAULT_MAX (4ull << 30)
#define LOG_MIN (FILES / 2 * FILE_BYTES_MIN)
#define PROGRESS_NS 1000000000
#define LOG_MAX (WAL_FILES_MAX / 2 * FILE_BYTES_MAX)

/* ---- the folder ---- */

static int shape_check(const struct engine_config *config, struct cellar_error *error)
{
    const char *fabric = config->fabric ? config->fabric : "shm";
    const struct mode *mode = mode_of(config->cc);
    if (strcmp(fabric, "shm") || config->memnodes || config->mns > 1 || config->replicas)
        return err_set(error, CELLAR_INVALID,
                       "durable: a folder keeps one memory node of this process, on fabric shm, without backups");
    if (mode && mode->undo)
        return err_set(error, CELLAR_UNSUPPORTED, "durable: mode %s logs what was there before, which cannot be redone",
                       mode->name);
    if (config->log_bytes > LOG_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "durable: log segments of %llu bytes: at most %llu",
                       (unsigned long long)config->log_bytes, (unsigned long long)LOG_BYTES_MAX);
    if (config->durable_bytes && (config->durable_bytes < LOG_MIN || config->durable_bytes > LOG_MAX))
        return err_set(error, CELLAR_INVALID, "durable: a log of %llu bytes: %llu to %llu",
                       (unsigned long long)config->durable_bytes, (unsigned long long)LOG_MIN,
                       (unsigned long long)LOG_MAX);
    return 0;
}

static struct durable_shape shape_of(uint64_t log_bytes, uint64_t memory_bytes)
{
    uint64_t bytes = log_bytes ? log_bytes : memory_bytes;
    if (!log_bytes && bytes < LOG_DEFAULT_MIN) bytes = LOG_DEFAULT_MIN;
    if (!log_bytes && bytes > LOG_DEFAULT_MAX) bytes = LOG_DEFAULT_MAX;
    uint64_t file_bytes = bytes / FILES;
    if (file_bytes < FILE_BYTES_MIN) file_bytes = FILE_BYTES_MIN;
    if (file_bytes > FILE_BYTES_MAX) file_bytes = FILE_BYTES_MAX;
    file_bytes -= file_bytes % CHECKPOINT_BLOCK;
    return (struct durable_shape){GROUP_BYTES, file_bytes, (uint32_t)(bytes / file_bytes)};
}

/* An empty one gets its number. */
static int folder_use(struct durable *durable, const struct engine_config *config, const uint64_t number[2],
                      struct cellar_error *error)
{
    int rc = folder_read(durable->disk, layout_fingerprint(), &durable->folder, error);
    if (rc == 0) return durable->look ? 0 : folder_settle(durable->disk, &durable->folder, error);
    if (rc != CELLAR_NOT_FOUND) return rc;
    if (config->existing || durable->look) return err_set(error, CELLAR_NOT_FOUND, "it has no pool");
    durable->first = true;
    durable->folder =
        (struct folder){.number = {number[0], number[1]},
                        .fingerprint = layout_fingerprint(),
                        .memory_bytes = config->pool_bytes ? config->pool_bytes : CONFIG_POOL_BYTES_DEFAULT};
    return folder_make(durable->disk, &durable->folder, error);
}

/* ---- which checkpoint counts ---- */

static int cut_look(struct durable *durable, uint64_t from, struct journal_found *found, struct cellar_error *error)
{
    durable->wal.from = from;
    int rc = journal_look(&durable->wal, found, error);
    return rc ? rc : journal_cut_of(found, 1, &durable->cut, error);
}

/*
 * Of an earlier life than the last one those that did not count were removed when the next one began
 * (INV-DURABLE-12).
 */
static int counts(struct durable *durable, const struct checkpoint *head, bool *does, struct cellar_error *error)
{
    struct journal_found found;
    int rc = cut_look(durable, head->group, &found, error);
    if (rc) return rc;
    if (head->life > found.life)
        return err_set(error, CELLAR_CORRUPT, "a checkpoint is of life %llu, and the log's last one is %llu",
                       (unsigned long long)head->life, (unsigned long long)found.life);
    *does = head->life < found.life || head->last <= durable->cut.epoch;
    return 0;
}

static bool later(const struct checkpoint *a, const struct checkpoint *b)
{
    return a->life != b->life ? a->life > b->life : a->last > b->last;
}

static int checkpoint_choose(struct durable *durable, struct cellar_error *error)
{
    struct checkpoint heads[CHECKPOINT_FILES] = {0};
    struct journal_found found;
    bool there[CHECKPOINT_FILES], does = false;
    int rc = 0;
    for (uint32_t slot = 0; slot < CHECKPOINT_FILES; slot++) {
        rc = checkpoint_look(durable->disk, durable->folder.number, slot, &heads[slot], &durable->broken[slot], error);
        there[slot] = rc == 0;
        if (rc && rc != CELLAR_NOT_FOUND) return rc;
    }
    uint32_t newer = there[1] && (!there[0] || later(&heads[1], &heads[0]));
    for (uint32_t i = 0; i < CHECKPOINT_FILES; i++) {
        durable->slot = i ? 1 - newer : newer;
        if (!there[durable->slot]) continue;
        durable->beside = i > 0;
        rc = counts(durable, &heads[durable->slot], &does, error);
        durable->found = heads[durable->slot];
        if (rc || does) return rc;
    }
    durable->found = (struct checkpoint){0};
    rc = cut_look(durable, 1, &found, error);
    if (rc == 0 && found.closed)
        rc = err_set(error, CELLAR_CORRUPT, "the log has epoch %llu, and no checkpoint is whole",
                     (unsigned long long)found.closed);
    return rc;
}

/* What was refused within a folder, with the folder's name: a program may have several. */
static int named(const struct engine_config *config, int rc, const struct cellar_error *inner,
                 struct cellar_error *error)
{
    return rc ? err_set(error, rc, "%.100s: %.130s", config->durable, inner->text) : 0;
}

static struct durable *durable_new(void)
{
    struct durable *durable = aligned_alloc(64, (sizeof *durable + 63) & ~(size_t)63);
    if (durable) memset(durable, 0, sizeof *durable);
    return durable;
}

/* What its disk has. given NULL: a shape of its own. */
static int disk_use(struct durable *durable, const uint64_t number[2], const struct durable_shape *given,
                    struct engine_config *config, struct cellar_error *error)
{
    struct cellar_error inner = {0};
    int rc = named(config, folder_use(durable, config, number, &inner), &inner, error);
    if (rc) return rc;
    const struct folder *folder = &durable->folder;
    if (config->pool_bytes && config->pool_bytes != folder->memory_bytes)
        return err_set(error, CELLAR_MISMATCH, "durable: %s keeps a pool of %llu bytes, and %llu were asked for",
                       config->durable, (unsigned long long)folder->memory_bytes,
                       (unsigned long long)config->pool_bytes);
    struct durable_shape shape = given ? *given : shape_of(config->durable_bytes, folder->memory_bytes);
    durable->files = shape.files;
    durable->wal = (struct wal_config){.disk = durable->disk,
                                       .directory = {folder->number[0], folder->number[1]},
                                       .fingerprint = folder->fingerprint,
                                       .group_bytes = shape.group_bytes,
                                       .file_bytes = shape.file_bytes,
                                       .files_max = WAL_FILES_MAX,
                                       .files_kept = shape.files,
                                       .from = 1};
    rc = named(config, checkpoint_choose(durable, &inner), &inner, error);
    if (rc == 0) config->pool_bytes = folder->memory_bytes;
    return rc;
}

/* `durable` is freed where it does not open. */
static int opened(struct durable *durable, int rc, struct durable **out)
{
    if (rc)
        durable_free(durable);
    else
        *out = durable;
    return rc;
}

int durable_open_on(struct disk *disk, const uint64_t number[2], const struct durable_shape *shape,
                    struct engine_config *config, struct durable **out, struct cellar_error *error)
{
    struct durable *durable = durable_new();
    *out = NULL;
    if (!durable) return err_set(error, CELLAR_NOMEM, "no memory for a durable folder");
    durable->disk = disk;
    return opened(durable, disk_use(durable, number, shape, config, error), out);
}

int durable_open(struct engine_config *config, struct durable **out, struct cellar_error *error)
{
    uint64_t number[2];
    int rc = shape_check(config, error);
    *out = NULL;
    if (rc == 0 && !config->pool_private) rc = disk_real_make(config->durable, config->existing, error);
    if (rc) return rc;
    struct durable *durable = durable_new();
    if (!durable) return err_set(error, CELLAR_NOMEM, "no memory for a durable folder");
    durable->look = config->pool_private;
    rc = durable->look ? disk_real_look(config->durable, &durable->real, error)
                       : disk_real_open(config->durable, &durable->real, error);
    if (rc == 0) durable->disk = disk_real_disk(durable->real);
    if (rc == 0) rc = disk_real_number(durable->real, number, error);
    if (rc == 0) rc = disk_use(durable, number, NULL, config, error);
    return opened(durable, rc, out);
}

void durable_free(struct durable *durable)
{
    if (!durable) return;
    (void)!journal_end(durable->journal, NULL);
    replay_free(&durable->replay);
    epochs_close(&durable->epochs);
    disk_real_close(durable->real);
    free(durable);
}

/* ---- for callers ---- */

uint64_t cellar_durable_epoch(struct cellar *db)
{
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return 0;
    uint64_t epoch = db->durable ? atomic_load_explicit(&db->durable->epochs.durable, memory_order_acquire) : 0;
    db_call_end(db, counted);
    return epoch;
}

static int told_read(const struct cellar *db, struct cellar_lab_durable *durable)
{
    if (!db->durable) return CELLAR_INVALID;
    const struct cellar_lab_durable *told = &db->durable->told;
    *durable = (struct cellar_lab_durable){.epochs = counter_read(&told->epochs),
                                           .entries = counter_read(&told->entries),
                                           .entry_bytes = counter_read(&told->entry_bytes),
                                           .log_bytes = counter_read(&told->log_bytes),
                                           .syncs = counter_read(&told->syncs),
                                           .sync_ns = counter_read(&told->sync_ns),
                                           .sync_most_ns = counter_read(&told->sync_most_ns),
                                           .checkpoints = counter_read(&told->checkpoints),
                                           .checkpoint_bytes = counter_read(&told->checkpoint_bytes)};
    return 0;
}

int cellar_lab_durable_read(struct cellar *db, struct cellar_lab_durable *durable)
{
    uint32_t *counted;
    *durable = (struct cellar_lab_durable){0};
    int rc = db_look_begin(db, &counted, NULL);
    if (rc) return err_last_code(rc);
    rc = told_read(db, durable);
    db_call_end(db, counted);
    return err_last_code(rc);
}

/* The agent's next step is done here, if its thread lends it; what is left then is for that one. */
static bool agent_step(struct durable_thread *agent)
{
    if (!fabric_helm_borrow(agent->ep)) return false;
    uint32_t seen = __atomic_load_n(&agent->ep->rung, __ATOMIC_SEQ_CST);
    sched_signal(&agent->sched, &agent->sched, &agent->task, &agent->sleeper.called);
    agent->lent = true;
    counter_add(&agent->lendings, 1);
    (void)sched_round(&agent->sched);
    agent->lent = false;
    bool more = agent->sched.ready_head || sched_next_ns(&agent->sched) < agent->until_ns;
    fabric_helm_return(agent->ep, more, seen);
    return true;
}

int durable_await(struct durable *durable, uint64_t epoch)
{
    struct epochs *epochs = &durable->epochs;
    int reached = epochs_reached(epochs, epoch);
    if (reached) return reached > 0 ? 0 : reached;
    epochs_press(epochs, epoch);
    if (!agent_step(&durable->agent)) epochs_call(&epochs->agent, NULL);
    return epochs_wait(epochs, epoch, 0);
}

/* What was loaded, and what it wrote of runs and tables, too. */
static int all_await(struct epochs *epochs)
{
    bool loaded = atomic_load(&epochs->loads) != atomic_load(&epochs->loads_covered);
    uint64_t asked = loaded ? epochs_ask(epochs) : 0, epoch = atomic_load(&epochs->word);
    epochs_want(epochs, epoch, NULL);
    return epochs_wait(epochs, epoch, asked);
}

static int sync_to(struct cellar *db, uint64_t epoch, struct cellar_error *error)
{
    struct durable *durable = db->durable;
    if (!durable) return err_set(error, CELLAR_INVALID, "nothing can be durable: the database has no folder");
    uint64_t now = atomic_load(&durable->epochs.word);
    if (epoch > now)
        return err_set(error, CELLAR_INVALID, "no transaction has epoch %llu yet: it is %llu",
                       (unsigned long long)epoch, (unsigned long long)now);
    if (epoch && PLANT(durable_sync_early)) return 0;
    int rc = epoch ? durable_await(durable, epoch) : all_await(&durable->epochs);
    if (rc) durable_why(durable, error);
    return rc;
}

int db_sync(struct cellar *db, uint64_t epoch, struct cellar_error *error)
{
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = sync_to(db, epoch, error);
    db_call_end(db, counted);
    return rc;
}

/* ---- restoring ---- */

struct restoring {
    struct coro *co;
    struct fabric_ep *ep;
    struct durable *durable;
    uint8_t *piece; /* registered */
    struct cellar_error *error;
    uint64_t pieces, entries, told_ns; /* done so far; when that was said */
};

/* Once a second. */
static void progress_tell(struct restoring *run, uint64_t done, uint64_t all, const char *what)
{
    const struct durable *durable = run->durable;
    uint64_t now_ns = fabric_now_ns(run->ep);
    if (!durable->db || now_ns - run->told_ns < PROGRESS_NS) return; /* or none is there to tell it */
    run->told_ns = now_ns;
    node_log(&durable->db->opening, CELLAR_LOG_INFO, "restoring %.100s: %llu of %llu %s", durable->db->config.durable,
             (unsigned long long)done, (unsigned long long)all, what);
}

static void redone(void *arg, uint64_t done)
{
    struct restoring *run = arg;
    progress_tell(run, done, run->durable->replay.count, "entries of the log");
}

static int piece_write(void *arg, uint64_t offset, const uint8_t *bytes)
{
    struct restoring *run = arg;
    if (offset > run->durable->folder.memory_bytes - CHECKPOINT_PIECE || offset % CHECKPOINT_PIECE)
        return err_set(run->error, CELLAR_CORRUPT, "a checkpoint has a piece at %#llx", (unsigned long long)offset);
    progress_tell(run, run->pieces++, run->durable->found.pieces, "pieces of the checkpoint");
    memcpy(run->piece, bytes, CHECKPOINT_PIECE);
    struct fabric_op op = fabric_op_write(fabric_addr_of(0, offset), run->piece, CHECKPOINT_PIECE);
    int rc = batch_run(run->co, run->ep, &op, 1);
    return rc ? err_set(run->error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

static int pieces_restore(struct restoring *run)
{
    struct durable *durable = run->durable;
    run->piece = aligned_alloc(LAYOUT_LINE, CHECKPOINT_PIECE);
    if (!run->piece) return err_set(run->error, CELLAR_NOMEM, "no memory to read a checkpoint");
    int rc = fabric_register_local(run->ep->fabric, run->piece, CHECKPOINT_PIECE);
    if (rc == 0) rc = checkpoint_read(durable->disk, durable->slot, &durable->found, piece_write, run, run->error);
    fabric_forget_local(run->ep->fabric, run->piece, CHECKPOINT_PIECE);
    free(run->piece);
    return rc;
}

/* INV-DURABLE-17. Pages of all that counts: they only grow. */
static int entry_see(void *arg, uint64_t epoch, const uint8_t *bytes, uint32_t count)
{
    struct restoring *run = arg;
    struct durable *durable = run->durable;
    bool page = count >= sizeof(uint32_t) && *(const uint32_t *)(const void *)bytes == REPLAY_PAGE_MAGIC;
    if (!page && epoch <= durable->found.begin && !PLANT(durable_begin_ignored)) return 0;
    run->entries++;
    progress_tell(run, run->entries, run->entries, "entries of the log read");
    int rc = replay_add(&durable->replay, epoch, bytes, count);
    return rc ? err_set(run->error, rc, "log of a memory node: %s", cellar_strerror(rc)) : 0;
}

static void incarnations_raise(struct durable *durable)
{
    uint64_t *last = &durable->replay.incarnation_last, found = durable->found.incarnation;
    if (*last < found) *last = found;
}

/* INV-DURABLE-17 likewise, without the mark of a new life. */
static int look_restore(struct restoring *run, bool restored)
{
    struct durable *durable = run->durable;
    if (!restored) return err_set(run->error, CELLAR_NOT_FOUND, "the folder has no pool: none was ever whole");
    int rc = journal_show(&durable->wal, &durable->cut, entry_see, run, run->error);
    incarnations_raise(durable);
    return rc ? rc : replay_pages(run->co, run->ep, &durable->replay, durable->folder.memory_bytes, run->error);
}

/* It may have been the newest, and rows that were loaded before it are in no log. */
static void broken_tell(const struct durable *durable)
{
    if (!durable->db) return; /* a command that looks at files has its own line for each */
    for (uint32_t slot = 0; slot < CHECKPOINT_FILES; slot++)
        if (durable->broken[slot])
            node_log(&durable->db->opening, CELLAR_LOG_WARNING,
                     "%.100s: checkpoint-%u: its head is damaged, or power failed as it was written: %s",
                     durable->db->config.durable, slot + 1,
                     durable->found.pieces_max ? "the other one is restored, with the log since"
                                               : "no checkpoint is there");
}

int durable_restore(struct coro *co, struct fabric_ep *ep, struct durable *durable, bool *restored,
                    struct cellar_error *error)
{
    struct restoring run = {.co = co, .ep = ep, .durable = durable, .error = error, .told_ns = fabric_now_ns(ep)};
    uint64_t from = durable->wal.from;
    durable->begun_ns = run.told_ns;
    broken_tell(durable);
    *restored = durable->found.pieces_max > 0;
    int rc = *restored ? pieces_restore(&run) : 0;
    if (durable->look) return rc ? rc : look_restore(&run, *restored);
    /* What does not count now must not count later, when the cut of this life is past it. */
    bool beside = durable->beside || PLANT(durable_older_removed);
    for (uint32_t slot = 0; slot < CHECKPOINT_FILES && rc == 0; slot++)
        if (!*restored || (beside && slot != durable->slot)) rc = checkpoint_remove(durable->disk, slot, error);
    durable->wal.from = from;
    if (rc == 0) rc = journal_open(&durable->wal, &durable->cut, entry_see, &run, &durable->journal, error);
    if (rc) return rc;
    incarnations_raise(durable);
    uint64_t last = durable->cut.last > durable->found.last ? durable->cut.last : durable->found.last;
    epochs_open(&durable->epochs, ep->fabric, (last > durable->cut.epoch ? last : durable->cut.epoch) + 1);
    atomic_store(&durable->group, journal_group(durable->journal));
    if (!*restored) { /* INV-DURABLE-18: what a pool begins with is no log's, either */
        atomic_store(&durable->epochs.loads, 1);
        atomic_store(&durable->epochs.loads_over, 1);
    }
    return *restored ? replay_pages(co, ep, &durable->replay, durable->folder.memory_bytes, error) : 0;
}

int durable_redo(struct coro *co, struct fabric_ep *ep, struct durable *durable, const struct catalog *catalog,
                 struct cellar_error *error)
{
    struct restoring run = {.durable = durable, .ep = ep, .told_ns = fabric_now_ns(ep)};
    durable->replay.progress = redone;
    durable->replay.progress_arg = &run;
    int rc = replay_entries(co, ep, catalog, &durable->replay, error);
    if (rc == 0 && durable->db)
        node_log(&durable->db->opening, CELLAR_LOG_INFO, "restored %.100s: %llu pieces, %llu entries, in %.1f s",
                 durable->db->config.durable, (unsigned long long)durable->found.pieces,
                 (unsigned long long)durable->replay.count, (double)(fabric_now_ns(ep) - durable->begun_ns) * 1e-9);
    replay_free(&durable->replay);
    return rc;
}

/* ---- the threads ---- */

static void thread_main(void *arg)
{
    struct durable_thread *thread = arg;
    sched_ready(&thread->sched, &thread->task);
    while (!atomic_load(&thread->over)) {
        if (sched_round(&thread->sched)) continue;
        thread->until_ns = sched_next_ns(&thread->sched);
        fabric_idle(thread->ep, thread->until_ns);
    }
    fabric_done(thread->durable->db->fabric, &thread->running);
}

static int thread_start(struct durable *durable, struct durable_thread *thread, uint32_t number, coro_fn fn,
                        uint32_t piece_bytes, struct cellar_error *error)
{
    _Atomic(struct epochs_sleeper *) *sleeper =
        thread == &durable->agent ? &durable->epochs.agent : &durable->epochs.keeper;
    struct cellar *db = durable->db;
    thread->durable = durable;
    thread->piece_bytes = piece_bytes;
    thread->piece = aligned_alloc(DISK_BLOCK, (piece_bytes + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK);
    thread->task.co = coro_new(STACK_BYTES, fn, thread);
    if (!thread->piece || !thread->task.co) return err_set(error, CELLAR_NOMEM, "no memory for a durable folder");
    int rc = fabric_register_local(db->fabric, thread->piece, piece_bytes);
    if (rc) return err_set(error, rc, "no memory for a durable folder");
    rc = fabric_endpoint_open(db->fabric, db->config.cn_index, number, &thread->ep, error);
    if (rc) return rc;
    thread->ep->patient = true;
    thread->ep->lends = thread == &durable->agent;
    sched_init(&thread->sched, thread->ep);
    thread->sleeper = (struct epochs_sleeper){.sched = &thread->sched, .task = &thread->task};
    atomic_store(sleeper, &thread->sleeper);
    thread->running = 1;
    rc = db->fabric->ops->spawn(db->fabric, thread->ep, thread_main, thread);
    if (rc) thread->running = 0;
    return rc ? err_set(error, rc, "cannot start a thread for a durable folder") : 0;
}

static void thread_end(struct durable_thread *thread)
{
    if (!thread->durable) return; /* it was never begun */
    atomic_store(&thread->stop, true);
    if (thread->running) sched_signal(NULL, &thread->sched, &thread->task, &thread->sleeper.called);
    db_wait(thread->durable->db, &thread->running);
}

/* When both have ended: until then one may call the other. */
static void thread_free(struct durable_thread *thread)
{
    if (!thread->durable) return;
    struct cellar *db = thread->durable->db;
    if (thread->ep) fabric_endpoint_close(thread->ep);
    coro_free(thread->task.co);
    if (thread->piece) fabric_forget_local(db->fabric, thread->piece, thread->piece_bytes);
    free(thread->piece);
    *thread = (struct durable_thread){0};
}

static int checkpoint_now(struct durable *durable, struct cellar_error *error)
{
    uint64_t number = epochs_ask(&durable->epochs);
    int rc = epochs_wait(&durable->epochs, 0, number);
    if (rc) durable_why(durable, error);
    return rc;
}

int durable_start(struct durable *durable, struct cellar_error *error)
{
    const struct engine_config *config = &durable->db->config;
    uint32_t number = config->threads + config->sessions, ring = (uint32_t)config->log_bytes;
    int rc = thread_start(durable, &durable->agent, number, durable_agent_main,
                          ring > CHECKPOINT_PIECE ? ring : CHECKPOINT_PIECE, error);
    if (rc == 0) rc = thread_start(durable, &durable->keeper, number + 1, durable_keeper_main, CHECKPOINT_PIECE, error);
    return rc ? rc : checkpoint_now(durable, error);
}

int durable_stop(struct durable *durable, bool whole, struct cellar_error *error)
{
    int rc = whole && durable->keeper.running ? checkpoint_now(durable, error) : 0;
    thread_end(&durable->keeper);
    thread_end(&durable->agent);
    thread_free(&durable->keeper);
    thread_free(&durable->agent);
    int ended = journal_end(durable->journal, rc ? NULL : error);
    durable->journal = NULL;
    return rc ? rc : ended;
}

void durable_why_set(struct durable *durable, const struct cellar_error *why)
{
    struct epochs *epochs = &durable->epochs;
    fabric_lock(epochs->fabric, &epochs->lock);
    durable->why = *why;
    fabric_unlock(epochs->fabric, &epochs->lock);
}

void durable_refuse(struct durable *durable, const struct cellar_error *why)
{
    struct epochs *epochs = &durable->epochs;
    if (atomic_load(&epochs->refused) == why->code) return;
    durable_why_set(durable, why);
    atomic_store(&epochs->refused, why->code);
    node_log(&durable->db->opening, CELLAR_LOG_ERROR, "nothing becomes durable any more: %s", why->text);
}

void durable_why(const struct durable *durable, struct cellar_error *error)
{
    if (!error) return;
    struct epochs *epochs = (struct epochs *)(uintptr_t)&durable->epochs;
    fabric_lock(epochs->fabric, &epochs->lock);
    *error = durable->why;
    fabric_unlock(epochs->fabric, &epochs->lock);
}
