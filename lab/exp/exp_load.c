#include "exp_load.h"

#include "err.h"
#include "fabric_sim.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64u << 10)
#define START_SPREAD_NS 2000 /* clients do not begin in step */
#define AWAKE UINT64_MAX

struct thread {
    struct exp_load *load;
    struct fabric_ep *ep;
    struct exp_load_client *clients;
    uint32_t count, alive;
};

struct exp_load {
    const struct exp_load_config *config;
    struct exp_load_tally *tally;
    struct fabric *fabric;
    struct thread *threads;
    struct exp_load_client *clients;
    uint8_t *buffers;
    uint32_t running; /* threads */
    uint32_t failed;  /* operations */
};

/* ---- what clients call ---- */

void exp_load_do(struct coro *co, struct exp_load_client *client, struct fabric_op *ops, uint32_t count)
{
    struct fabric_wait wait = {.co = co};
    fabric_post(client->ep, ops, count, &wait);
    ((struct exp_load *)client->load)->failed += fabric_await(co, &wait);
}

void exp_load_sleep(struct coro *co, struct exp_load_client *client, uint64_t until_ns)
{
    client->wake_ns = until_ns;
    coro_yield(co);
    must(client->wake_ns == AWAKE);
}

bool exp_load_receive(struct coro *co, struct exp_load_client *client, struct fabric_message *message)
{
    while (!fabric_recv(client->ep, message)) {
        if (exp_load_now_ns(client) >= client->end_ns) return false;
        client->listening = true;
        client->wake_ns = client->end_ns;
        coro_yield(co);
    }
    return true;
}

static uint32_t threads_per_cn(const struct exp_load_config *config)
{
    return config->threads_per_cn ? config->threads_per_cn : config->threads;
}

struct fabric_addr exp_load_inbox(const struct exp_load *load, uint32_t thread)
{
    uint32_t per_cn = threads_per_cn(load->config);
    return fabric_endpoint_addr(thread / per_cn, thread % per_cn);
}

/* ---- a thread: resumes its clients when their operations, messages or times have come ---- */

static void resume(struct thread *thread, struct exp_load_client *client)
{
    client->wake_ns = AWAKE;
    client->listening = false;
    coro_resume(client->co);
    thread->alive -= coro_done(client->co);
}

static uint64_t earliest(const struct thread *thread)
{
    uint64_t earliest_ns = AWAKE;
    for (uint32_t i = 0; i < thread->count; i++) {
        if (thread->clients[i].wake_ns < earliest_ns) earliest_ns = thread->clients[i].wake_ns;
    }
    return earliest_ns;
}

static void resume_sleepers(struct thread *thread)
{
    uint64_t now_ns = fabric_now_ns(thread->ep);
    bool message = thread->ep->inbox_head != thread->ep->inbox_tail;
    for (uint32_t i = 0; i < thread->count; i++) {
        struct exp_load_client *client = &thread->clients[i];
        if (client->wake_ns <= now_ns || (client->listening && message)) resume(thread, client);
    }
}

static struct exp_load_client *owner(const struct thread *thread, const struct coro *co)
{
    uint32_t i = 0;
    while (thread->clients[i].co != co) i++;
    return &thread->clients[i];
}

static void thread_main(void *arg)
{
    struct thread *thread = arg;
    struct exp_load *load = thread->load;
    uint64_t *clock_ns = thread == load->threads ? load->config->clock_ns : NULL;
    while (thread->alive > 0) {
        uint64_t wake_ns = earliest(thread);
        fabric_idle(thread->ep, wake_ns);
        for (struct fabric_wait *wait = fabric_poll(thread->ep), *next; wait; wait = next) {
            next = wait->next;
            if (wait->co) resume(thread, owner(thread, wait->co));
        }
        if (wake_ns != AWAKE) resume_sleepers(thread);
        if (clock_ns) __atomic_store_n(clock_ns, fabric_sim_now_ns(load->fabric), __ATOMIC_RELAXED);
    }
    load->running--;
}

static void client_main(struct coro *co, void *arg)
{
    struct exp_load_client *client = arg;
    client->load->config->client(co, client);
}

/* ---- a run ---- */

static int open_fabric(struct exp_load *load, struct cellar_error *error)
{
    const struct exp_load_config *config = load->config;
    const struct fabric_sim_profile *profile = fabric_sim_profile_find(config->profile);
    if (!profile) return err_set(error, CELLAR_INVALID, "no NIC profile '%s'", config->profile);
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.cn_count = (config->threads - 1) / threads_per_cn(config) + 1;
    sim.mn_bytes = config->mn_bytes;
    sim.seed = config->seed;
    sim.profile = *profile;
    return fabric_sim_open(&sim, &load->fabric, error);
}

static int start_client(struct exp_load *load, struct thread *thread, uint32_t number)
{
    const struct exp_load_config *config = load->config;
    struct exp_load_client *client = &load->clients[number];
    client->plan = config->plan;
    client->ep = thread->ep;
    client->load = load;
    client->number = number;
    client->start_ns = config->warmup_ns;
    client->end_ns = config->warmup_ns + config->window_ns;
    client->tally = load->tally;
    client->buffer = load->buffers + (uint64_t)number * EXP_LOAD_BYTES;
    prng_seed_stream(&client->prng, config->seed, number);
    client->wake_ns = prng_below(&client->prng, START_SPREAD_NS);
    client->co = coro_new(STACK_BYTES, client_main, client);
    return client->co ? 0 : CELLAR_NOMEM;
}

static int start_thread(struct exp_load *load, uint32_t number, struct cellar_error *error)
{
    struct thread *thread = &load->threads[number];
    struct fabric_addr inbox = exp_load_inbox(load, number);
    uint32_t count = load->config->clients_per_thread;
    thread->load = load;
    thread->clients = &load->clients[(uint64_t)number * count];
    thread->count = thread->alive = count;
    int code = fabric_endpoint_open(load->fabric, fabric_addr_node(inbox), (uint32_t)fabric_addr_offset(inbox),
                                    &thread->ep, error);
    if (code < 0) return code;
    for (uint32_t i = 0; i < count; i++) {
        code = start_client(load, thread, number * count + i);
        if (code < 0) return err_set(error, CELLAR_NOMEM, "no memory for another client");
    }
    load->running++;
    code = load->fabric->ops->spawn(load->fabric, thread->ep, thread_main, thread);
    return code < 0 ? err_set(error, CELLAR_NOMEM, "no memory for another thread") : 0;
}

static int allocate(struct exp_load *load, struct cellar_error *error)
{
    uint64_t clients = (uint64_t)load->config->threads * load->config->clients_per_thread;
    load->threads = calloc(load->config->threads, sizeof *load->threads);
    load->clients = calloc(clients, sizeof *load->clients);
    load->buffers = calloc(clients, EXP_LOAD_BYTES);
    if (!load->threads || !load->clients || !load->buffers)
        return err_set(error, CELLAR_NOMEM, "no memory for %llu clients", (unsigned long long)clients);
    if (fabric_register_local(load->fabric, load->clients, clients * sizeof *load->clients) < 0 ||
        fabric_register_local(load->fabric, load->buffers, clients * EXP_LOAD_BYTES) < 0)
        return err_set(error, CELLAR_NOMEM, "no memory to register that of clients");
    return 0;
}

static int run(struct exp_load *load, struct cellar_error *error)
{
    int code = open_fabric(load, error);
    if (code == 0) code = allocate(load, error);
    for (uint32_t i = 0; code == 0 && i < load->config->threads; i++) code = start_thread(load, i, error);
    if (code < 0) return code;
    code = load->fabric->ops->wait(load->fabric, &load->running, UINT64_MAX);
    if (code < 0) return err_set(error, CELLAR_INDETERMINATE, "the simulated clients came to a stop");
    if (load->failed) return err_set(error, CELLAR_INVALID, "%u operations of clients failed", load->failed);
    return 0;
}

int exp_load_run(const struct exp_load_config *config, struct exp_load_tally *tally, struct cellar_error *error)
{
    must(config->threads >= 1 && config->clients_per_thread >= 1);
    struct exp_load load = {.config = config, .tally = tally};
    int code = run(&load, error);
    fabric_close(load.fabric);
    for (uint64_t i = 0; load.clients && i < (uint64_t)config->threads * config->clients_per_thread; i++)
        coro_free(load.clients[i].co);
    free(load.buffers);
    free(load.clients);
    free(load.threads);
    return code;
}
