/* lockmgr.c - algorithms by name, and what they share: birth and death, acquire and release, operations counted. */
#include "lockmgr.h"

#include "lockmgr_algorithm.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE_MAX 8 /* operations of one acquire that are done when they are posted, between two chances for others */

/* ---- by name ---- */

/* The i-th of the table; NULL after the last. */
static const struct lockmgr_algorithm *algorithm_at(uint32_t i)
{
    for (uint32_t at = 0; lockmgr_algorithms[at]; at++)
        if (at == i) return lockmgr_algorithms[at];
    return NULL;
}

const char *lockmgr_name(uint32_t i, const char **about)
{
    const struct lockmgr_algorithm *algorithm = algorithm_at(i);
    if (!algorithm) return NULL;
    *about = algorithm->about;
    return algorithm->name;
}

static const struct lockmgr_algorithm *algorithm_of(const char *name)
{
    for (uint32_t i = 0; name && lockmgr_algorithms[i]; i++)
        if (strcmp(lockmgr_algorithms[i]->name, name) == 0) return lockmgr_algorithms[i];
    return NULL;
}

/* The policy's index; -1: there is no such one. */
static int policy_of(const struct lockmgr_algorithm *algorithm, const char *name)
{
    if (!name) return 0;
    for (int i = 0; algorithm->policies && algorithm->policies[i]; i++)
        if (strcmp(algorithm->policies[i], name) == 0) return i;
    return -1;
}

const char *lockmgr_policy_name(const char *name, uint32_t i)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(name);
    for (uint32_t at = 0; algorithm && algorithm->policies && algorithm->policies[at]; at++)
        if (at == i) return algorithm->policies[at];
    return NULL;
}

/* "a, b, c" of all names. */
static const char *list_names(char *text, size_t bytes, const char *(*name_of)(const void *arg, uint32_t i),
                              const void *arg)
{
    const char *name;
    size_t used = 0;
    for (uint32_t i = 0; (name = name_of(arg, i)); i++) {
        size_t length = strlen(name);
        if (used + length + 3 > bytes) break;
        if (i) memcpy(text + used, ", ", 2), used += 2;
        memcpy(text + used, name, length), used += length;
    }
    text[used] = 0;
    return text;
}

static const char *name_of_algorithm(const void *arg, uint32_t i)
{
    const char *about;
    return lockmgr_name(i, &about);
}
static const char *name_of_policy(const void *arg, uint32_t i) { return ((const char *const *)arg)[i]; }

static int check_names(const struct lockmgr_config *config, const struct lockmgr_algorithm *algorithm,
                       struct cellar_error *error)
{
    char names[256];
    if (!algorithm)
        return err_set(error, CELLAR_INVALID, "no lock algorithm is called '%s'; there are %s",
                       config->algorithm ? config->algorithm : "",
                       list_names(names, sizeof names, name_of_algorithm, NULL));
    if (policy_of(algorithm, config->policy) >= 0) return 0;
    if (!algorithm->policies)
        return err_set(error, CELLAR_INVALID, "lock algorithm %s has no policies", algorithm->name);
    return err_set(error, CELLAR_INVALID, "lock algorithm %s has no policy '%s'; it has %s", algorithm->name,
                   config->policy, list_names(names, sizeof names, name_of_policy, algorithm->policies));
}

static int check_switches(const struct lockmgr_config *config, const struct lockmgr_algorithm *algorithm,
                          struct cellar_error *error)
{
    uint32_t first = config->switch_cn, count = config->switches;
    if (count == 0 || count > algorithm->switches_max)
        return err_set(error, CELLAR_INVALID, "lock algorithm %s needs 1 to %u switches, not %u", algorithm->name,
                       algorithm->switches_max, count);
    if (first < config->cn_count || (config->server_workers && config->server_cn - first < count))
        return err_set(error, CELLAR_INVALID, "a switch takes the place of a compute node or of the lock server");
    return 0;
}

/* The names are known to be right. */
static int check_capacity(const struct lockmgr_config *config, const struct lockmgr_algorithm *algorithm,
                          struct cellar_error *error)
{
    if (config->capacity == 0) return 0;
    uint32_t policy = lockmgr_policy(config);
    if (!(algorithm->room_policies >> policy & 1))
        return err_set(error, CELLAR_INVALID, "lock algorithm %s%s%s has no queue that a capacity would bound",
                       algorithm->name, algorithm->policies ? ", policy " : "",
                       algorithm->policies ? algorithm->policies[policy] : "");
    if (config->capacity >= config->cn_count) return 0;
    return err_set(error, CELLAR_INVALID,
                   "a capacity of %u is below the number of compute nodes, %u: the queue could never hold them all",
                   config->capacity, config->cn_count);
}

int lockmgr_check(const struct lockmgr_config *config, struct cellar_error *error)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(config->algorithm);
    int code = check_names(config, algorithm, error);
    if (code) return code;
    if (config->cn_count == 0 || config->workers_per_cn == 0 || config->clients_per_worker == 0)
        return err_set(error, CELLAR_INVALID, "a lock needs compute nodes, workers and clients: at least one of each");
    /* Ids of clients have 32 bits, and 0 is no client's. */
    uint64_t all_workers = (uint64_t)config->cn_count * config->workers_per_cn;
    if (config->cn_count > FABRIC_CNS_MAX || all_workers > (UINT32_MAX - 1) / config->clients_per_worker)
        return err_set(error, CELLAR_INVALID,
                       "%u compute nodes of %u workers of %u clients: more than %u nodes, or than 32 bits can number",
                       config->cn_count, config->workers_per_cn, config->clients_per_worker, FABRIC_CNS_MAX);
    if (config->lease_ns && config->lease_ns < config->rtt_ns)
        return err_set(error, CELLAR_INVALID,
                       "a lease of %llu ns is shorter than a round trip of %llu ns: no client could renew it",
                       (unsigned long long)config->lease_ns, (unsigned long long)config->rtt_ns);
    if (config->silence_ns && lockmgr_ask_again_ns(config) < config->rtt_ns)
        return err_set(error, CELLAR_INVALID,
                       "%llu ns of silence are too few for eight questions of a round trip of %llu ns each",
                       (unsigned long long)config->silence_ns, (unsigned long long)config->rtt_ns);
    if (config->server_workers && config->server_cn < config->cn_count)
        return err_set(error, CELLAR_INVALID, "the lock server's compute node %u is one of the %u of the clients",
                       config->server_cn, config->cn_count);
    code = check_capacity(config, algorithm, error);
    if (code == 0 && lockmgr_numbered(config->algorithm) && (config->lock_count == 0 || config->lock_stride == 0))
        return err_set(error, CELLAR_INVALID, "lock algorithm %s must be told where its locks are", algorithm->name);
    if (code == 0 && algorithm->switches_max) code = check_switches(config, algorithm, error);
    return code == 0 && algorithm->check ? algorithm->check(config, error) : code;
}

uint64_t lockmgr_lock_bytes(const struct lockmgr_config *config)
{
    return algorithm_of(config->algorithm)->lock_bytes(config);
}

uint32_t lockmgr_promises(const struct lockmgr_config *config)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(config->algorithm);
    uint32_t promises = algorithm->promises | (config->server_workers ? algorithm->server_promises : 0);
    return promises | (algorithm->policy_promises ? algorithm->policy_promises(config) : 0);
}

uint32_t lockmgr_policy(const struct lockmgr_config *config)
{
    return (uint32_t)policy_of(algorithm_of(config->algorithm), config->policy);
}

bool lockmgr_has_server(const char *name)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(name);
    return algorithm && algorithm->server_deliver;
}

uint32_t lockmgr_switches_max(const char *name)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(name);
    return algorithm ? algorithm->switches_max : 0;
}

bool lockmgr_numbered(const char *name)
{
    const struct lockmgr_algorithm *algorithm = algorithm_of(name);
    return algorithm && (algorithm->numbered || algorithm->switches_max);
}

void lockmgr_switch_fail(struct lockmgr_worker *worker, uint64_t down_ns)
{
    worker->lockmgr->algorithm->switch_fail(worker, down_ns);
    lockmgr_stir(worker);
}

int lockmgr_worker_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    int (*audit)(const struct lockmgr_worker *, struct fabric_addr, struct cellar_error *) =
        worker->lockmgr->switches ? algorithm->switch_audit
        : worker->lockmgr->serves ? algorithm->server_audit
                                  : algorithm->worker_audit;
    return audit ? audit(worker, lock, error) : 0;
}

int lockmgr_audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    return algorithm_of(config->algorithm)->audit(config, bytes, error);
}

/* ---- birth and death ---- */

int lockmgr_open(const struct lockmgr_config *config, struct fabric *fabric, uint32_t cn, struct lockmgr **out,
                 struct cellar_error *error)
{
    *out = NULL;
    int code = lockmgr_check(config, error);
    if (code) return code;
    if (algorithm_of(config->algorithm)->wide && !fabric->wide_atomics)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "lock algorithm %s needs atomics on 16 bytes, which no memory node of this %s fabric executes; "
                       "take another one (cellar list)",
                       config->algorithm, fabric->ops->name);
    bool serves = config->server_workers && cn == config->server_cn;
    if (serves && !algorithm_of(config->algorithm)->server_deliver)
        return err_set(error, CELLAR_INVALID, "lock algorithm %s has no server", config->algorithm);
    bool switches = algorithm_of(config->algorithm)->switches_max && cn - config->switch_cn < config->switches;
    uint32_t workers = serves ? config->server_workers : switches ? 1 : config->workers_per_cn;
    struct lockmgr *lockmgr = calloc(1, sizeof *lockmgr);
    if (!lockmgr || !(lockmgr->workers = calloc(workers, sizeof *lockmgr->workers))) goto no_memory;
    lockmgr->config = *config;
    lockmgr->algorithm = algorithm_of(config->algorithm);
    lockmgr->era = LOCKMGR_ERA_FIRST;
    lockmgr->serves = serves;
    lockmgr->switches = switches;
    lockmgr->worker_count = workers;
    lockmgr->policy = (uint32_t)policy_of(lockmgr->algorithm, config->policy);
    lockmgr->promises = lockmgr_promises(config);
    lockmgr->cn = cn;
    lockmgr->fabric = fabric;
    code = lockmgr->algorithm->open && !serves && !switches ? lockmgr->algorithm->open(lockmgr, error) : 0;
    if (code) goto out;
    *out = lockmgr;
    return 0;
no_memory:
    code = err_set(error, CELLAR_NOMEM, "no memory for a lock manager");
out:
    if (lockmgr) free(lockmgr->workers);
    free(lockmgr);
    return code;
}

void lockmgr_close(struct lockmgr *lockmgr)
{
    if (!lockmgr) return;
    for (uint32_t i = 0; i < lockmgr->worker_count; i++) must(!lockmgr->workers[i]);
    if (lockmgr->algorithm->close && !lockmgr->serves && !lockmgr->switches) lockmgr->algorithm->close(lockmgr);
    free(lockmgr->workers);
    free(lockmgr);
}

static int open_clients(struct lockmgr_worker *worker, struct cellar_error *error)
{
    uint32_t count =
        worker->lockmgr->serves || worker->lockmgr->switches ? 0 : worker->lockmgr->config.clients_per_worker;
    worker->client_count = count;
    worker->clients = calloc(count + 1ull, sizeof *worker->clients);
    uint64_t letters = (count + 1ull) * LOCKMGR_CLIENT_BYTES;
    uint64_t bytes = letters + LOCKMGR_LETTERS * sizeof(struct lockmgr_message_wire);
    worker->buffers = aligned_alloc(64, bytes);
    if (!worker->clients || !worker->buffers || lockmgr_outbox_open(worker, worker->buffers + letters))
        return err_set(error, CELLAR_NOMEM, "no memory for %u clients of locks", count);
    memset(worker->buffers, 0, bytes);
    worker->tender = (struct lockmgr_client){.worker = worker,
                                             .number = LOCKMGR_NO_CLIENT,
                                             .task = &worker->tender_task,
                                             .buffer = worker->buffers + (size_t)count * LOCKMGR_CLIENT_BYTES};
    for (uint32_t i = 0; i < count; i++) {
        worker->clients[i].worker = worker;
        worker->clients[i].number = i;
        worker->clients[i].slots = 1;
        worker->clients[i].buffer = worker->buffers + (size_t)i * LOCKMGR_CLIENT_BYTES;
    }
    int code = fabric_register_local(worker->lockmgr->fabric, worker->buffers, bytes);
    return code ? err_set(error, code, "the fabric refused the lock clients' buffers") : 0;
}

static void free_worker(struct lockmgr_worker *worker)
{
    lockmgr_outbox_close(worker);
    free(worker->buffers);
    free(worker->clients);
    free(worker);
}

int lockmgr_worker_open(struct lockmgr *lockmgr, uint32_t number, struct fabric_ep *ep, struct sched *sched,
                        struct lockmgr_worker **out, struct cellar_error *error)
{
    *out = NULL;
    const struct lockmgr_algorithm *algorithm = lockmgr->algorithm;
    must(number < lockmgr->worker_count);
    must(!lockmgr->workers[number]);
    struct lockmgr_worker *worker = calloc(1, sizeof *worker);
    if (!worker) return err_set(error, CELLAR_NOMEM, "no memory for a worker of the lock manager");
    *worker = (struct lockmgr_worker){.lockmgr = lockmgr, .number = number, .ep = ep, .sched = sched};
    worker->era = lockmgr->era;
    int code = open_clients(worker, error);
    int (*open_own)(struct lockmgr_worker *, struct cellar_error *) = lockmgr->switches ? algorithm->switch_open
                                                                      : lockmgr->serves ? algorithm->server_open
                                                                                        : algorithm->worker_open;
    if (code == 0 && open_own) code = open_own(worker, error);
    if (code) {
        free_worker(worker);
        return code;
    }
    lockmgr->workers[number] = *out = worker;
    return 0;
}

void lockmgr_worker_close(struct lockmgr_worker *worker)
{
    if (!worker) return;
    struct lockmgr *lockmgr = worker->lockmgr;
    const struct lockmgr_algorithm *algorithm = lockmgr->algorithm;
    void (*close)(struct lockmgr_worker *) = lockmgr->switches ? algorithm->switch_close
                                             : lockmgr->serves ? algorithm->server_close
                                                               : algorithm->worker_close;
    for (uint32_t i = 0; i < worker->client_count; i++) must(!worker->clients[i].holds);
    if (close) close(worker);
    lockmgr->workers[worker->number] = NULL;
    free_worker(worker);
}

struct lockmgr_client *lockmgr_client_of(struct lockmgr_worker *worker, uint32_t number, struct sched_task *task)
{
    const struct lockmgr *lockmgr = worker->lockmgr;
    must(number < worker->client_count);
    struct lockmgr_client *client = &worker->clients[number];
    client->task = task;
    client->wait.co = task->co;
    client->id = 1 +
                 (lockmgr->cn * lockmgr->config.workers_per_cn + worker->number) * lockmgr->config.clients_per_worker +
                 number;
    return client;
}

bool lockmgr_locate(const struct lockmgr_config *config, uint32_t id, uint32_t *cn, uint32_t *worker, uint32_t *client)
{
    uint32_t of_cn = config->workers_per_cn * config->clients_per_worker;
    if (id == 0 || id - 1 >= config->cn_count * of_cn) return false;
    *cn = (id - 1) / of_cn;
    *worker = (id - 1) % of_cn / config->clients_per_worker;
    *client = (id - 1) % config->clients_per_worker;
    return true;
}

/* ---- acquire and release ---- */

static void forget_hold(struct lockmgr_hold *hold)
{
    struct lockmgr_hold **at = &hold->client->holds;
    while (*at != hold) at = &(*at)->next;
    *at = hold->next;
    hold->held = false;
}

/* The call's first operations, and the rest of it. */
static void count_times(struct lockmgr_client *client, uint64_t begin_ns, enum lockmgr_time first,
                        enum lockmgr_time rest)
{
    uint64_t end_ns = lockmgr_now_ns(client), first_ns = client->first_ns ? client->first_ns : begin_ns;
    if (client->worker->lockmgr->algorithm->times_itself) return;
    client->stats.times_ns[first] += first_ns - begin_ns;
    client->stats.times_ns[rest] += end_ns - first_ns;
}

static void count_acquire(struct lockmgr_client *client, const struct lockmgr_hold *hold, int code)
{
    struct lockmgr_stats *stats = &client->stats;
    if (code == CELLAR_DEADLINE)
        stats->timeouts++;
    else if (code)
        stats->failures++;
    else
        stats->acquires++, stats->shared += hold->mode == LOCKMGR_SHARED;
}

static uint64_t deadline_of(uint64_t now_ns, uint64_t timeout_ns)
{
    return timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

void lockmgr_ask_slots(struct lockmgr_client *client, uint32_t slots) { client->slots = slots ? slots : 1; }

int lockmgr_acquire(struct coro *co, struct lockmgr_client *client, struct lockmgr_hold *hold, struct fabric_addr lock,
                    enum lockmgr_mode mode, uint64_t timeout_ns)
{
    must(!hold->held);
    if (lockmgr_ends(client->worker)) return CELLAR_CLOSED;
    if (mode == LOCKMGR_UPDATE && !(client->worker->lockmgr->promises & LOCKMGR_UPDATES)) mode = LOCKMGR_EXCLUSIVE;
    uint64_t now_ns = lockmgr_now_ns(client);
    uint64_t deadline_ns = deadline_of(now_ns, timeout_ns);
    *hold = (struct lockmgr_hold){.lock = lock, .mode = mode, .client = client, .next = client->holds};
    client->holds = hold;
    client->releasing = false;
    client->first_ns = 0;
    client->at_once = 0;
    client->reason.code = 0;
    uint64_t immediate = client->stats.immediate;
    int code = client->worker->lockmgr->algorithm->acquire(co, hold, deadline_ns);
    hold->held = code == 0;
    hold->at_once = client->stats.immediate != immediate;
    bool shared = mode == LOCKMGR_SHARED;
    count_times(client, now_ns, shared ? LOCKMGR_FIRST_SHARED : LOCKMGR_FIRST_EXCLUSIVE,
                shared ? LOCKMGR_RETRY_SHARED : LOCKMGR_RETRY_EXCLUSIVE);
    if (code && lockmgr_ends(client->worker)) code = CELLAR_CLOSED;
    count_acquire(client, hold, code);
    if (code) forget_hold(hold);
    return code;
}

int lockmgr_upgrade(struct coro *co, struct lockmgr_hold *hold, uint64_t timeout_ns)
{
    must(hold->held && hold->mode != LOCKMGR_SHARED);
    struct lockmgr_client *client = hold->client;
    if (hold->mode == LOCKMGR_EXCLUSIVE) return 0;
    uint64_t now_ns = lockmgr_now_ns(client);
    client->releasing = false;
    int code = client->worker->lockmgr->algorithm->upgrade(co, hold, deadline_of(now_ns, timeout_ns));
    client->stats.times_ns[LOCKMGR_WAIT_READERS] += lockmgr_now_ns(client) - now_ns;
    if (code == 0) hold->mode = LOCKMGR_EXCLUSIVE;
    return code;
}

int lockmgr_release(struct coro *co, struct lockmgr_hold *hold)
{
    must(hold->held);
    struct lockmgr_client *client = hold->client;
    client->releasing = true;
    client->first_ns = 0;
    client->reason.code = 0;
    uint64_t begin_ns = lockmgr_now_ns(client), messages = client->stats.messages;
    int code = client->worker->lockmgr->algorithm->release(co, hold);
    if (lockmgr_ends(client->worker)) code = 0; /* whatever it found, the lock is free soon */
    hold->handed = client->stats.messages != messages;
    count_times(client, begin_ns, LOCKMGR_FIRST_RELEASE, LOCKMGR_HAND_OVER);
    if (code == 0) client->stats.releases++;
    forget_hold(hold);
    return code;
}

void lockmgr_abandon(struct lockmgr_hold *hold)
{
    must(hold->held && hold->client->worker->lockmgr->promises & LOCKMGR_ABANDONS);
    forget_hold(hold);
}

bool lockmgr_followed(struct coro *co, struct lockmgr_hold *hold)
{
    must(hold->held);
    const struct lockmgr_algorithm *algorithm = hold->client->worker->lockmgr->algorithm;
    return !algorithm->followed || algorithm->followed(co, hold);
}

static void add_counters(struct lockmgr_stats *sum, const struct lockmgr_stats *stats)
{
    _Static_assert(sizeof *sum % sizeof(uint64_t) == 0, "counters only");
    for (size_t word = 0; word < sizeof *sum / sizeof(uint64_t); word++)
        ((uint64_t *)sum)[word] += ((const uint64_t *)stats)[word];
}

uint64_t lockmgr_client_ops(const struct lockmgr_client *client)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < FABRIC_KINDS; kind++)
        sum += client->stats.acquire_ops[kind] + client->stats.release_ops[kind];
    return sum;
}

void lockmgr_stats_add(struct lockmgr_stats *sum, const struct lockmgr_worker *worker)
{
    for (uint32_t i = 0; i < worker->client_count; i++) add_counters(sum, &worker->clients[i].stats);
    add_counters(sum, &worker->tender.stats);
}

/* ---- operations ---- */

/*
 * Where operations are done at once no other coroutine of the worker would ever run while a client tries again and
 * again.
 */
static void give_way(struct coro *co, struct lockmgr_client *client)
{
    if (++client->at_once % AT_ONCE_MAX) return;
    sched_yield_task(co, client->worker->sched, client->task);
}

/* As of a compute node that is fenced: algorithms end such calls at once. */
static int refuse(struct fabric_op *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) ops[i].status = CELLAR_FENCED;
    return CELLAR_FENCED;
}

int lockmgr_do(struct coro *co, struct lockmgr_client *client, struct fabric_op *ops, uint32_t count)
{
    uint64_t *counters = client->releasing ? client->stats.release_ops : client->stats.acquire_ops;
    if (lockmgr_ends(client->worker)) return refuse(ops, count);
    for (uint32_t i = 0; i < count; i++) counters[ops[i].kind]++;
    fabric_post(client->worker->ep, ops, count, &client->wait);
    if (client->wait.pending == 0) give_way(co, client);
    uint32_t failed = fabric_await(co, &client->wait);
    if (!client->first_ns) client->first_ns = lockmgr_now_ns(client);
    if (failed == 0) return 0;
    int code = 0;
    for (uint32_t i = 0; i < count; i++)
        if (ops[i].status && (code == 0 || ops[i].status == CELLAR_INDETERMINATE)) code = ops[i].status;
    return code;
}

static struct fabric_addr word_addr(const struct lockmgr_hold *hold, uint32_t word)
{
    return fabric_addr_plus(hold->lock, word * sizeof(uint64_t));
}

int lockmgr_cas_word(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t compare, uint64_t swap,
                     uint64_t *old)
{
    struct fabric_op op = fabric_op_cas(word_addr(hold, word), &hold->client->old[0], compare, swap);
    int code = lockmgr_do(co, hold->client, &op, 1);
    *old = hold->client->old[0];
    return code;
}

int lockmgr_faa_word(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t addend, uint64_t *old)
{
    struct fabric_op op = fabric_op_faa(word_addr(hold, word), &hold->client->old[0], addend);
    int code = lockmgr_do(co, hold->client, &op, 1);
    *old = hold->client->old[0];
    return code;
}

int lockmgr_read_words(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t *out, uint32_t count)
{
    must(count * sizeof *out <= LOCKMGR_CLIENT_BYTES);
    struct fabric_op op = fabric_op_read(word_addr(hold, word), hold->client->buffer, count * (uint32_t)sizeof *out);
    int code = lockmgr_do(co, hold->client, &op, 1);
    memcpy(out, hold->client->buffer, count * sizeof *out);
    return code;
}
