/* peer_run.c - one run: its folder, its process, its clients, and what is measured of them. */
#include "peer_run.h"

#include "peer_phase.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10) /* of a client's thread */

/* ---- the folder ---- */

static uint64_t folder_bytes; /* that nftw has added up: it hands on no argument */

static int file_count(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)path;
    (void)where;
    if (kind == FTW_F) folder_bytes += (uint64_t)status->st_blocks * 512;
    return 0;
}

static int file_remove(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static uint64_t resident_bytes(void)
{
    unsigned long long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- clients ---- */

struct crew {
    const struct peer_order *order;
    void *db;
    struct peer_client *clients;
    uint32_t phase, gone; /* gone: one has ended before it was told to */
    pthread_t *threads;
    uint32_t started;
    pthread_t driver; /* where the store has threads of its own */
    int rc;
};

static void *client_main(void *arg)
{
    struct peer_client *client = arg;
    const struct peer_ops *ops = client->order->peer->ops;
    void *session;
    client->rc = ops->session_open(client->db, &session);
    if (client->rc == 0) {
        peer_client_run(client, session);
        ops->session_close(session);
    }
    if (client->rc) __atomic_store_n(client->gone, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *driver_main(void *arg)
{
    struct crew *crew = arg;
    crew->rc = crew->order->peer->ops->drive(crew->db, crew->clients, crew->order->loops);
    if (crew->rc) __atomic_store_n(&crew->gone, 1, __ATOMIC_RELAXED);
    return NULL;
}

static int crew_start(struct crew *crew)
{
    const struct peer_setup *setup = &crew->order->setup;
    pthread_attr_t attributes;
    int rc = 0;
    if (crew->order->peer->ops->drive) return pthread_create(&crew->driver, NULL, driver_main, crew);
    pthread_attr_init(&attributes);
    if (setup->clients > 16) pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (; rc == 0 && crew->started < setup->clients; crew->started += rc == 0)
        rc = pthread_create(&crew->threads[crew->started], &attributes, client_main, &crew->clients[crew->started]);
    pthread_attr_destroy(&attributes);
    return rc;
}

static uint64_t ended_so_far(const struct crew *crew)
{
    uint64_t ended = 0;
    for (uint32_t i = 0; i < crew->order->loops; i++)
        ended += __atomic_load_n(&crew->clients[i].ended, __ATOMIC_RELAXED);
    return ended;
}

/* In pieces, so that a run whose client fails ends soon. */
static void pass_s(const struct crew *crew, double seconds)
{
    uint64_t end = peer_now_ns() + (uint64_t)(seconds * 1e9);
    while (!__atomic_load_n(&crew->gone, __ATOMIC_RELAXED)) {
        uint64_t now = peer_now_ns();
        if (now >= end) break;
        uint64_t piece = end - now < 50000000 ? end - now : 50000000;
        nanosleep(&(struct timespec){.tv_nsec = (long)piece}, NULL);
    }
}

static void phase_set(struct crew *crew, enum peer_phase phase)
{
    __atomic_store_n(&crew->phase, phase, __ATOMIC_RELAXED);
}

static void crew_join(struct crew *crew, int rc)
{
    if (crew->order->peer->ops->drive && rc == 0) pthread_join(crew->driver, NULL);
    for (uint32_t i = 0; i < crew->started; i++) pthread_join(crew->threads[i], NULL);
}

static void rates(const struct crew *crew, uint64_t before, uint64_t begin, uint64_t cpu, struct peer_result *result)
{
    double ended = (double)(ended_so_far(crew) - before);
    result->tps = ended * 1e9 / (double)(peer_now_ns() - begin);
    result->cpu_ns = ended > 0 ? (double)(peer_cpu_ns() - cpu) / ended : 0;
}

/* Lets the clients run; the rate of the time after the warm-up, or of all draws. */
static int crew_run(struct crew *crew, struct peer_result *result)
{
    const struct peer_order *order = crew->order;
    crew->phase = order->once ? PEER_MEASURE : PEER_WARM;
    uint64_t begin = peer_now_ns(), cpu = peer_cpu_ns(), before = 0;
    int rc = crew_start(crew);
    if (rc) phase_set(crew, PEER_STOP);
    if (rc == 0 && !order->once) {
        pass_s(crew, order->warmup_s);
        phase_set(crew, PEER_MEASURE);
        begin = peer_now_ns();
        cpu = peer_cpu_ns();
        before = ended_so_far(crew);
        pass_s(crew, order->seconds);
        rates(crew, before, begin, cpu, result);
        phase_set(crew, PEER_STOP);
    }
    crew_join(crew, rc);
    if (order->once) rates(crew, 0, begin, cpu, result);
    return rc ? peer_fail("no thread: %s", strerror(rc)) : crew->rc;
}

static int crew_sum(const struct crew *crew, struct peer_outcome *outcome, struct peer_result *result)
{
    struct hist *latency = calloc(1, sizeof *latency);
    int rc = latency ? 0 : peer_fail("no memory");
    for (uint32_t i = 0; rc == 0 && i < crew->order->loops; i++) {
        const struct peer_client *client = &crew->clients[i];
        outcome->cents += client->outcome.cents;
        outcome->writes += client->outcome.writes;
        outcome->foreign += client->outcome.foreign;
        result->ended += client->ended;
        result->retries += client->retries;
        hist_merge(latency, &client->latency);
        rc = client->rc;
    }
    if (rc == 0) {
        result->measured = latency->count;
        result->p50_ns = (double)hist_quantile(latency, 0.5);
        result->p99_ns = (double)hist_quantile(latency, 0.99);
    }
    free(latency);
    return rc;
}

static int measure(struct crew *crew, struct peer_result *result, struct peer_outcome *outcome)
{
    uint32_t count = crew->order->loops;
    crew->clients = aligned_alloc(128, count * sizeof *crew->clients);
    crew->threads = calloc(count, sizeof *crew->threads);
    if (!crew->clients || !crew->threads) return peer_fail("no memory");
    memset(crew->clients, 0, count * sizeof *crew->clients);
    for (uint32_t i = 0; i < count; i++) {
        crew->clients[i].order = crew->order;
        crew->clients[i].db = crew->db;
        crew->clients[i].phase = &crew->phase;
        crew->clients[i].gone = &crew->gone;
        crew->clients[i].index = i;
    }
    int rc = crew_run(crew, result);
    return rc ? rc : crew_sum(crew, outcome, result);
}

static int check(const struct crew *crew, const struct peer_outcome *outcome, struct peer_result *result)
{
    const struct peer_setup *setup = &crew->order->setup;
    struct peer_sum sum = {.work = setup->work};
    int rc = crew->order->peer->ops->each(crew->db, peer_work_add, &sum);
    if (rc) return rc;
    const char *wrong = peer_work_judge(&sum, setup->records, outcome);
    result->holds = !wrong;
    snprintf(result->wrong, sizeof result->wrong, "%s", wrong ? wrong : "");
    return 0;
}

/* ---- a run ---- */

static int run_in(const struct peer_order *order, struct peer_result *result)
{
    const struct peer_ops *ops = order->peer->ops;
    struct crew crew = {.order = order};
    struct peer_outcome outcome = {0};
    uint64_t before = resident_bytes(), begin = peer_now_ns();

    int rc = ops->open(&order->setup, &crew.db);
    if (rc) return rc;
    rc = ops->load(crew.db);
    result->load_s = (double)(peer_now_ns() - begin) * 1e-9;
    if (rc == 0) rc = measure(&crew, result, &outcome);
    uint64_t after = resident_bytes();
    result->memory_bytes = after > before ? after - before : 0;
    folder_bytes = 0;
    nftw(order->setup.folder, file_count, 16, FTW_PHYS);
    result->files_bytes = folder_bytes;
    if (rc == 0) rc = check(&crew, &outcome, result);
    ops->close(crew.db);
    free(crew.clients);
    free(crew.threads);
    result->done = rc == 0;
    return rc;
}

static int result_read(int from, struct peer_result *result)
{
    size_t got = 0;
    while (got < sizeof *result) {
        ssize_t bytes = read(from, (char *)result + got, sizeof *result - got);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) return -1;
        got += (size_t)bytes;
    }
    return 0;
}

static int run_apart(const struct peer_order *order, struct peer_result *result)
{
    int ends[2], status;
    if (pipe(ends)) return peer_fail("no pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        int failure = errno;
        close(ends[0]);
        close(ends[1]);
        return peer_fail("no process: %s", strerror(failure));
    }
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        int rc = run_in(order, result);
        if (rc == 0 && write(ends[1], result, sizeof *result) != (ssize_t)sizeof *result) rc = -1;
        _exit(rc ? 1 : 0);
    }
    close(ends[1]);
    int rc = result_read(ends[0], result);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (rc && WIFSIGNALED(status))
        return peer_fail("%s: the run ended by signal %d", order->peer->name, WTERMSIG(status));
    return rc;
}

int peer_run(const struct peer_order *order, bool apart, struct peer_result *result)
{
    char folder[4096];
    const struct peer_ops *ops = order->peer->ops;
    struct peer_order placed = *order;
    placed.loops = ops->loops ? ops->loops(&order->setup) : order->setup.clients;
    *result = (struct peer_result){.clients = order->setup.clients};
    int length = snprintf(folder, sizeof folder, "%s/cellar-peers-XXXXXX", order->setup.folder);
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
        return peer_fail("no folder in %s: %s", order->setup.folder, strerror(errno));
    placed.setup.folder = folder;
    int rc = apart ? run_apart(&placed, result) : run_in(&placed, result);
    nftw(folder, file_remove, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}
