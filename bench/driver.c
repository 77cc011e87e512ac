#include "driver.h"

#include "err.h"
#include "history_recorder.h"

#include <stdlib.h>
#include <string.h>

#define SYNC_TXNS                                                                                                      \
    64 /* transactions between two looks at the fabric's clock, and two yields to the worker's other coordinators */
#define LOOK_NS 10000 /* between two looks at what is on the disk, while there is room for more calls in flight */

int driver_init(struct driver *driver, uint32_t session_count, struct cellar_error *error)
{
    uint32_t type_count = driver->workload->type_count;
    size_t client_bytes = (driver->workload->client_bytes + 63) / 64 * 64;
    driver->session_count = session_count;
    driver->clients = calloc(session_count, sizeof(driver->clients[0]));
    driver->sessions = aligned_alloc(64, session_count * sizeof(driver->sessions[0]));
    if (driver->inflight) driver->pending = pending_make(session_count / driver->coros, driver->inflight);
    if (!driver->clients || !driver->sessions || (driver->inflight && !driver->pending)) goto nomem;
    memset(driver->sessions, 0, session_count * sizeof(driver->sessions[0]));
    for (uint32_t i = 0; i < session_count; i++) {
        struct driver_session *slot = &driver->sessions[i];
        slot->types = calloc(type_count, sizeof(slot->types[0]));
        slot->client = aligned_alloc(64, client_bytes);
        if (driver->tick_ns) slot->ticks = calloc(DRIVER_TICKS, sizeof(slot->ticks[0]));
        if (!slot->types || !slot->client || (driver->tick_ns && !slot->ticks)) goto nomem;
        memset(slot->client, 0, client_bytes);
        workload_client_begin(slot->client, driver->seed, driver->client_first + i,
                              driver->client_count ? driver->client_count : session_count);
        driver->clients[i] = slot->client;
    }
    return 0;
nomem:
    driver_free(driver);
    return err_set(error, CELLAR_NOMEM, "no memory for the counters of %u coordinators", session_count);
}

void driver_free(struct driver *driver)
{
    for (uint32_t i = 0; driver->sessions && i < driver->session_count; i++) {
        free(driver->sessions[i].types);
        free(driver->sessions[i].client);
        free(driver->sessions[i].ticks);
    }
    if (driver->pending) pending_free(driver->pending, driver->session_count / driver->coros);
    free(driver->sessions);
    free(driver->clients);
    driver->pending = NULL;
    driver->sessions = NULL;
    driver->clients = NULL;
}

/* ---- failures: the first one counts, and ends the run for all ---- */

static int fail(struct driver *driver, int code, const struct cellar_error *error)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&driver->failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        driver->failure = code;
        if (error && error->code)
            driver->error = *error;
        else if (code == CELLAR_DEADLINE)
            err_set(&driver->error, CELLAR_DEADLINE,
                    "a transaction did not commit within %.0f s: a compute node that died may hold its locks; "
                    "recover it (cellar recover)",
                    (double)driver->timeout_ns * 1e-9);
        else if (code == CELLAR_FENCED || code == CELLAR_INDETERMINATE)
            err_set(&driver->error, code,
                    "a transaction failed: %s: a memory node is gone, or another compute node has recovered this one",
                    cellar_strerror(code));
        else
            err_set(&driver->error, code, "a transaction failed: %s", cellar_strerror(code));
    }
    __atomic_store_n(driver->stop, 1, __ATOMIC_RELAXED);
    return code;
}

/* Called when all sessions have returned. */
static int outcome(struct driver *driver, int code, const char *what, struct cellar_error *error)
{
    if (driver->failed) {
        if (error) *error = driver->error;
        return driver->failure;
    }
    if (code < 0) return err_set(error, code, "%s: %s", what, cellar_strerror(code));
    return 0;
}

/* ---- loading ---- */

static int load_client(struct cellar_lab_client *self, void *arg)
{
    struct driver *driver = arg;
    struct cellar_error error = {0};
    int code = driver->workload->load(driver->run, self, &driver->loaded_rows, &error);
    return code < 0 ? fail(driver, code, &error) : 0;
}

int driver_load(struct driver *driver, struct cellar_error *error)
{
    return outcome(driver, cellar_lab_run(driver->db, load_client, driver), "loading failed", error);
}

/* ---- running ---- */

/* Only the owner writes, so that a plain store is enough for readers of other threads. */
static inline void publish(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

/*
 * A call that began in the window: all its attempts count, whenever it ended; it is a transaction of the window if it
 * ended there, and was not dropped.
 */
static inline void measure_attempts(struct driver_session *slot, uint32_t type, const struct cellar_result *result)
{
    uint32_t aborted = result->attempts - (result->code != CELLAR_RETRY);
    slot->types[type].aborted += aborted;
    if (aborted) publish(&slot->aborted, slot->aborted + aborted);
}

static inline void measure(struct driver_session *slot, uint32_t type, bool dropped, uint64_t latency_ns)
{
    struct driver_type *stat = &slot->types[type];
    stat->dropped += dropped;
    if (dropped) return;
    stat->committed++;
    hist_add(&stat->latency_ns, latency_ns);
    publish(&slot->committed, slot->committed + 1);
}

/* One client's loop state; times are of the fabric's clock. */
struct loop {
    struct driver *driver;
    struct driver_session *slot;
    struct cellar_lab_client *self;
    struct pending *pending; /* its worker's; NULL: nothing waits for a disk */
    struct cellar_call_options options;
    uint64_t now_ns;      /* the last reading plus the latencies since: behind the clock, never ahead */
    uint64_t boundary_ns; /* end of warm-up, then of the window (UINT64_MAX: bounded by count) */
    uint64_t left;        /* transactions still to measure (UINT64_MAX: bounded by time) */
    uint32_t until_sync;
    uint64_t looked_ns; /* when it last saw what is on the disk */
};

static int sync_clock(struct loop *loop)
{
    struct driver *driver = loop->driver;
    struct driver_session *slot = loop->slot;
    cellar_lab_yield(loop->self);
    loop->now_ns = cellar_lab_now_ns(loop->self);
    loop->until_sync = SYNC_TXNS;
    publish(&slot->clock_ns, loop->now_ns);
    if (!driver->leave || loop->now_ns - slot->left_ns < driver->leave_every_ns) return 0;
    slot->left_ns = loop->now_ns;
    return driver->leave(driver->leave_arg, loop->self, slot->client);
}

/* Reading a real clock costs more than a small transaction's share of a lag is worth. */
static inline void pass_time(struct loop *loop, const struct cellar_result *result)
{
    if (result->latency_ns > loop->slot->longest_ns) loop->slot->longest_ns = result->latency_ns;
    loop->now_ns = loop->driver->exact ? cellar_lab_now_ns(loop->self) : loop->now_ns + result->latency_ns;
}

static inline bool stopped(const struct driver *driver)
{
    return __atomic_load_n(driver->stop, __ATOMIC_RELAXED) ||
           (driver->recorder && history_recorder_full(driver->recorder));
}

/* The next transaction. 0 also when it was dropped: result->code says so. */
static inline int run_next(struct loop *loop, uint32_t *type, struct cellar_result *result)
{
    const struct driver *driver = loop->driver;
    int code = driver->workload->next(driver->run, loop->self, loop->slot->client, type, &loop->options, result);
    return code == CELLAR_RETRY ? 0 : code;
}

/* Counts this moment's transactions, `count` of them; strikes when it is time. The clock may have been put back. */
static void count_in_time(struct loop *loop, struct driver_session *slot, uint32_t count)
{
    struct driver *driver = loop->driver;
    uint64_t start_ns = slot->window_start_ns, passed_ns = loop->now_ns > start_ns ? loop->now_ns - start_ns : 0;
    if (loop->now_ns < loop->boundary_ns) slot->ticks[passed_ns / driver->tick_ns] += count;
    if (!driver->strike || passed_ns < driver->strike_ns || (int32_t)slot->cn == driver->strike_cn) return;
    if (__atomic_exchange_n(&driver->struck, 1, __ATOMIC_RELAXED) == 0) driver->strike(driver->strike_arg);
}

/* ---- what waits for the disk ---- */

/* All calls of this worker that are on the disk by now are acknowledged. */
static void acknowledge(struct loop *loop)
{
    struct driver *driver = loop->driver;
    struct pending *pending = loop->pending;
    uint64_t epoch = cellar_durable_epoch(driver->db);
    loop->looked_ns = loop->now_ns;
    const struct pending_call *call = pending_first(pending);
    if (!call || call->epoch > epoch) return;
    loop->now_ns = cellar_lab_now_ns(loop->self);
    do {
        struct driver_session *slot = call->session;
        uint64_t latency_ns = loop->now_ns > call->begin_ns ? loop->now_ns - call->begin_ns : 0;
        if (latency_ns > loop->slot->longest_ns) loop->slot->longest_ns = latency_ns;
        if (slot && loop->now_ns < loop->boundary_ns) measure(slot, call->type, call->dropped, latency_ns);
        if (slot && driver->tick_ns) count_in_time(loop, slot, !call->dropped);
        pending_drop_first(pending);
    } while ((call = pending_first(pending)) != NULL && call->epoch <= epoch);
}

static int room_make(struct loop *loop)
{
    struct pending *pending = loop->pending;
    int code = 0;
    if (loop->now_ns - loop->looked_ns >= LOOK_NS) acknowledge(loop);
    while (code == 0 && !pending_has_room(pending)) {
        code = cellar_lab_wait_durable(loop->self, pending_first(pending)->epoch);
        acknowledge(loop);
    }
    return code;
}

/* At the end: what is left of this worker's calls. */
static int rest_await(struct loop *loop)
{
    int code = 0;
    const struct pending_call *call;
    while (code == 0 && (call = pending_first(loop->pending)) != NULL) {
        code = cellar_lab_wait_durable(loop->self, call->epoch);
        acknowledge(loop);
    }
    return code;
}

/* The next transaction is run, and measured, if `slot` is given, when it is on the disk. */
static __attribute__((noinline)) int perform_durably(struct loop *loop, struct driver_session *slot, bool *committed)
{
    struct pending *pending = loop->pending;
    struct cellar_result result;
    uint32_t type;
    int code = room_make(loop);
    if (code < 0) return code;
    uint64_t begin_ns = loop->now_ns;
    pending->running++;
    code = run_next(loop, &type, &result);
    pending->running--;
    if (code < 0) return code;
    pass_time(loop, &result);
    bool dropped = result.code == CELLAR_RETRY;
    *committed = result.code == 0;
    if (slot) measure_attempts(slot, type, &result);
    if (slot && !dropped) hist_add(&slot->commit_ns, result.latency_ns);
    pending_add(pending, &(struct pending_call){slot, result.epoch, begin_ns, type, dropped});
    return 0;
}

/* ... when it has ended. */
static inline int perform(struct loop *loop, struct driver_session *slot, bool *committed)
{
    struct cellar_result result;
    uint32_t type;
    int code = run_next(loop, &type, &result);
    if (code < 0) return code;
    pass_time(loop, &result);
    *committed = result.code == 0;
    if (!slot) return 0;
    measure_attempts(slot, type, &result);
    if (loop->now_ns < loop->boundary_ns) measure(slot, type, result.code == CELLAR_RETRY, result.latency_ns);
    if (loop->driver->tick_ns) count_in_time(loop, slot, *committed);
    return 0;
}

static inline int perform_next(struct loop *loop, struct driver_session *slot, bool *committed)
{
    return loop->pending ? perform_durably(loop, slot, committed) : perform(loop, slot, committed);
}

/* Runs and throws away transactions until the warm-up is over. */
static int warm_up(struct loop *loop)
{
    bool committed;
    while (loop->now_ns < loop->boundary_ns && !stopped(loop->driver)) {
        int code = perform_next(loop, NULL, &committed);
        if (code < 0) return code;
        if (--loop->until_sync == 0 && (code = sync_clock(loop)) < 0) return code;
    }
    return 0;
}

static int measured(struct loop *loop)
{
    struct driver_session *slot = loop->slot;
    bool committed;
    while (loop->left && loop->now_ns < loop->boundary_ns && !stopped(loop->driver)) {
        int code = perform_next(loop, slot, &committed);
        if (code < 0) return code;
        slot->done += committed;
        loop->left--;
        if (--loop->until_sync == 0 && (code = sync_clock(loop)) < 0) return code;
    }
    return 0;
}

static uint64_t share(uint64_t all, uint32_t index, uint32_t count) { return all / count + (index < all % count); }

/* The window of this client: from here to its end. */
static void begin_window(struct loop *loop)
{
    struct driver *driver = loop->driver;
    struct driver_session *slot = loop->slot;
    uint32_t index = cellar_lab_index(loop->self), count = cellar_lab_count(loop->self);
    if (__atomic_exchange_n(&driver->begun, 1, __ATOMIC_RELAXED) == 0) {
        cellar_lab_stats_read(driver->db, &driver->baseline);
        if (loop->pending) (void)cellar_lab_durable_read(driver->db, &driver->durable_baseline);
    }
    loop->now_ns = cellar_lab_now_ns(loop->self);
    slot->window_start_ns = driver->txns ? loop->now_ns : loop->boundary_ns;
    loop->left = driver->txns ? share(driver->txns, index, count) : UINT64_MAX;
    loop->boundary_ns = driver->txns ? UINT64_MAX : loop->boundary_ns + driver->measure_ns;
}

static uint64_t first_start(struct driver *driver, uint64_t now_ns)
{
    uint64_t none = 0;
    __atomic_compare_exchange_n(&driver->start_ns, &none, now_ns ? now_ns : 1, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return __atomic_load_n(&driver->start_ns, __ATOMIC_RELAXED);
}

static int run_client(struct cellar_lab_client *self, void *arg)
{
    struct driver *driver = arg;
    struct driver_session *slot = &driver->sessions[cellar_lab_index(self)];
    struct loop loop = {
        .driver = driver,
        .slot = slot,
        .self = self,
        .options = {.cancel = driver->stop, .timeout_ns = driver->timeout_ns, .attempts_max = driver->attempts_max},
        .until_sync = SYNC_TXNS};
    if (driver->pending) {
        loop.pending = &driver->pending[cellar_lab_index(self) / driver->coros];
        loop.options.level = CELLAR_MEMORY;
    }
    slot->cn = cellar_lab_cn(self);
    int code = driver->workload->client_init(driver->run, self, slot->client);
    loop.now_ns = cellar_lab_now_ns(self);
    loop.boundary_ns = first_start(driver, loop.now_ns) + driver->warmup_ns;
    if (code == 0 && driver->warmup_ns) code = warm_up(&loop); /* else a client that began first would run one more */
    begin_window(&loop);
    if (code == 0) code = measured(&loop);
    if (code == 0 && loop.pending) code = rest_await(&loop);
    slot->window_end_ns = loop.now_ns < loop.boundary_ns ? loop.now_ns : loop.boundary_ns;
    if (code == CELLAR_CANCELLED) return 0;
    if (code < 0 && __atomic_load_n(&driver->struck, __ATOMIC_RELAXED) && (int32_t)slot->cn == driver->strike_cn) {
        slot->client->lost = 1;
        return 0;
    }
    return code < 0 ? fail(driver, code, NULL) : 0;
}

int driver_run(struct driver *driver, struct cellar_error *error)
{
    return outcome(driver, cellar_lab_run(driver->db, run_client, driver), "the run failed", error);
}

/* ---- totals ---- */

static void type_merge(struct driver_type *into, const struct driver_type *from)
{
    into->committed += from->committed;
    into->aborted += from->aborted;
    into->dropped += from->dropped;
    hist_merge(&into->latency_ns, &from->latency_ns);
}

static void stats_subtract(struct cellar_lab_stats *stats, const struct cellar_lab_stats *from)
{
    stats->committed -= from->committed;
    stats->aborted -= from->aborted;
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) stats->aborts[i] -= from->aborts[i];
    for (uint32_t p = 0; p < CELLAR_PHASES; p++) {
        for (uint32_t v = 0; v < CELLAR_VERBS; v++) stats->ops[p][v] -= from->ops[p][v];
        stats->phase_ns[p] -= from->phase_ns[p];
    }
    stats->round_trips -= from->round_trips;
    stats->phase_samples -= from->phase_samples;
    stats->cache_bytes -= from->cache_bytes;
    stats->copy_bytes -= from->copy_bytes;
}

/* The longest sync is that of the whole run. */
static void durable_subtract(struct cellar_lab_durable *durable, const struct cellar_lab_durable *from)
{
    durable->epochs -= from->epochs;
    durable->entries -= from->entries;
    durable->entry_bytes -= from->entry_bytes;
    durable->log_bytes -= from->log_bytes;
    durable->syncs -= from->syncs;
    durable->sync_ns -= from->sync_ns;
    durable->checkpoints -= from->checkpoints;
    durable->checkpoint_bytes -= from->checkpoint_bytes;
}

/* (sum x)^2 / (n sum x^2): 1 when all compute nodes committed equally many. */
static double jain(const struct driver *driver)
{
    uint32_t cns = 0;
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < driver->session_count; i++)
        if (driver->sessions[i].cn >= cns) cns = driver->sessions[i].cn + 1;
    for (uint32_t cn = 0; cn < cns; cn++) {
        double committed = 0;
        for (uint32_t i = 0; i < driver->session_count; i++)
            if (driver->sessions[i].cn == cn) committed += (double)driver->sessions[i].committed;
        sum += committed;
        squares += committed * committed;
    }
    return squares > 0 ? sum * sum / (cns * squares) : 1;
}

void driver_totals(const struct driver *driver, struct driver_totals *totals)
{
    uint64_t start = UINT64_MAX, end = 0;
    memset(totals, 0, sizeof(*totals));
    for (uint32_t i = 0; i < driver->session_count; i++) {
        const struct driver_session *slot = &driver->sessions[i];
        for (uint32_t t = 0; t < driver->workload->type_count; t++) type_merge(&totals->types[t], &slot->types[t]);
        totals->done += slot->done;
        hist_merge(&totals->commit_ns, &slot->commit_ns);
        for (uint32_t t = 0; slot->ticks && t < DRIVER_TICKS; t++) totals->ticks[t] += slot->ticks[t];
        if (slot->longest_ns > totals->longest_ns) totals->longest_ns = slot->longest_ns;
        if (slot->window_start_ns < start) start = slot->window_start_ns;
        if (slot->window_end_ns > end) end = slot->window_end_ns;
    }
    for (uint32_t t = 0; t < driver->workload->type_count; t++) type_merge(&totals->all, &totals->types[t]);
    totals->committed = totals->all.committed;
    totals->aborted = totals->all.aborted;
    totals->dropped = totals->all.dropped;
    totals->elapsed_s = end > start ? (double)(end - start) * 1e-9 : 0;
    totals->fairness = jain(driver);
    totals->tick_ns = driver->tick_ns;
    cellar_lab_stats_read(driver->db, &totals->stats);
    stats_subtract(&totals->stats, &driver->baseline);
    if (driver->pending && cellar_lab_durable_read(driver->db, &totals->durable) == 0)
        durable_subtract(&totals->durable, &driver->durable_baseline);
}

/* ---- one client alone ---- */

struct lone_job {
    driver_job_fn job;
    void *arg;
    struct cellar_error *error;
};

static int lone_client(struct cellar_lab_client *self, void *arg)
{
    struct lone_job *lone = arg;
    return cellar_lab_index(self) == 0 ? lone->job(self, lone->arg, lone->error) : 0;
}

int driver_alone(struct cellar *db, driver_job_fn job, void *arg, struct cellar_error *error)
{
    struct lone_job lone = {.job = job, .arg = arg, .error = error};
    return cellar_lab_run(db, lone_client, &lone);
}
