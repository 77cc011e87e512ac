/* durable.c - what callers ask of a database with a folder; its threads' beginning and end. */
#include "durable.h"

#include "counter.h"
#include "db.h"
#include "db_plants.h"

#include <stdlib.h>

#define STACK_BYTES (256u << 10)

/* ---- for callers ---- */

uint64_t cellar_durable_epoch(struct cellar *db)
{
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return 0;
    uint64_t epoch = db->durable ? atomic_load_explicit(&db->durable->epochs.durable, memory_order_acquire) : 0;
    db_call_end(db, counted);
    return epoch;
}

static void node_told(const struct cellar_lab_durable *told, struct cellar_lab_durable *all)
{
    uint64_t most_ns = counter_read(&told->sync_most_ns);
    all->entries += counter_read(&told->entries);
    all->entry_bytes += counter_read(&told->entry_bytes);
    all->log_bytes += counter_read(&told->log_bytes);
    all->syncs += counter_read(&told->syncs);
    all->sync_ns += counter_read(&told->sync_ns);
    if (most_ns > all->sync_most_ns) all->sync_most_ns = most_ns;
}

static int told_read(const struct cellar *db, struct cellar_lab_durable *durable)
{
    if (!db->durable) return CELLAR_INVALID;
    const struct cellar_lab_durable *told = &db->durable->told;
    *durable = (struct cellar_lab_durable){.epochs = counter_read(&db->durable->nodes[0].told.epochs),
                                           .checkpoints = counter_read(&told->checkpoints),
                                           .checkpoint_bytes = counter_read(&told->checkpoint_bytes)};
    for (uint32_t i = 0; i < db->durable->node_count; i++) node_told(&db->durable->nodes[i].told, durable);
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

/* An agent's next step is done here, if its thread lends it; what is left then is for that one. */
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
    epochs_call_agents(epochs, 1, NULL);
    if (!agent_step(&durable->nodes[0].agent)) epochs_call(&epochs->nodes[0].agent, NULL);
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
    struct durable_node *node = thread->node;
    _Atomic(struct epochs_sleeper *) *sleeper =
        node ? &durable->epochs.nodes[node->number].agent : &durable->epochs.keeper;
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
    thread->ep->lends = node != NULL;
    sched_init(&thread->sched, thread->ep);
    thread->sleeper = (struct epochs_sleeper){.sched = &thread->sched, .task = &thread->task};
    atomic_store(sleeper, &thread->sleeper);
    thread->running = 1;
    rc = db->fabric->ops->spawn(db->fabric, thread->ep, thread_main, thread);
    if (rc) thread->running = 0;
    return rc ? err_set(error, rc, "cannot start a thread for a durable folder") : 0;
}

/* It says itself when it has ended, at any time after it was told to stop. */
static bool thread_runs(const struct durable_thread *thread) { return fabric_count_left(&thread->running) != 0; }

static void thread_end(struct durable_thread *thread)
{
    if (!thread->durable) return; /* it was never begun */
    atomic_store(&thread->stop, true);
    if (thread_runs(thread)) sched_signal(NULL, &thread->sched, &thread->task, &thread->sleeper.called);
    db_wait(thread->durable->db, &thread->running);
}

/* When all have ended: until then one may call the other. */
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

static int agent_start(struct durable_node *node, uint32_t number, struct cellar_error *error)
{
    const struct engine_config *config = &node->durable->db->config;
    uint32_t ring = (uint32_t)config->log_bytes;
    node->agent.node = node;
    node->areas = calloc(config->replicas + 1, sizeof *node->areas);
    if (!node->areas) return err_set(error, CELLAR_NOMEM, "no memory for a durable folder");
    return thread_start(node->durable, &node->agent, number, durable_agent_main,
                        ring > CHECKPOINT_PIECE ? ring : CHECKPOINT_PIECE, error);
}

int durable_start(struct durable *durable, struct cellar_error *error)
{
    const struct engine_config *config = &durable->db->config;
    uint32_t number = config->threads + config->sessions;
    int rc = thread_start(durable, &durable->keeper, number, durable_keeper_main, CHECKPOINT_PIECE, error);
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++)
        rc = agent_start(&durable->nodes[i], number + 1 + i, error);
    return rc ? rc : checkpoint_now(durable, error);
}

int durable_stop(struct durable *durable, bool whole, struct cellar_error *error)
{
    int rc = whole && thread_runs(&durable->keeper) ? checkpoint_now(durable, error) : 0;
    thread_end(&durable->keeper);
    for (uint32_t i = 0; i < durable->node_count; i++) thread_end(&durable->nodes[i].agent);
    thread_free(&durable->keeper);
    for (uint32_t i = 0; i < durable->node_count; i++) thread_free(&durable->nodes[i].agent);
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        int ended = journal_end(node->journal, rc ? NULL : error);
        node->journal = NULL;
        if (rc == 0) rc = ended;
    }
    return rc;
}

int durable_which(const struct durable_node *node, int rc, struct cellar_error *error)
{
    const struct cellar_error of = *error;
    if (rc && error->code && node->durable->node_count > 1)
        (void)err_set(error, of.code, "memory node %u: %.200s", node->number, of.text);
    return rc;
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
