/*
 * locks_death.c - a compute node that dies in the middle of a simulated run: how it is killed, when the others are
 * told, and which client takes its locks at the end, so that the audit finds all locks idle.
 *
 *     window: ... kill_ns: the node is fenced, nothing of it executes any more ... + detect_ns: the view says so
 *     ... end: an heir takes each lock that one of its clients held or waited for, exclusively, and gives it back
 */
#include "fabric_sim.h"
#include "fabric_sim_faults.h"
#include "locks.h"

int locks_death_check(const struct locks_plan *plan, struct cellar_error *error)
{
    if (!plan->kills) return 0;
    if (!plan->sim) return err_set(error, CELLAR_INVALID, "--kill-cn is for --fabric sim");
    if (plan->ops) return err_set(error, CELLAR_INVALID, "--kill-cn needs a window: --ops excludes it");
    if (plan->kill_cn >= plan->lock.cn_count || plan->lock.cn_count < 2)
        return err_set(error, CELLAR_INVALID, "--kill-cn %u: there are %u compute nodes, and one must be left",
                       plan->kill_cn, plan->lock.cn_count);
    if (plan->kill_ns == 0 || plan->kill_ns + plan->detect_ns >= plan->window_ns)
        return err_set(error, CELLAR_INVALID,
                       "--kill-at and --detect must lie within the window, with time before and after them");
    if (lockmgr_promises(&plan->lock) & LOCKMGR_RECOVERS) return 0;
    return err_set(error, CELLAR_INVALID, "--kill-cn: lock algorithm %s%s%s does not survive dead compute nodes",
                   plan->lock.algorithm, plan->lock.policy ? ", policy " : "",
                   plan->lock.policy ? plan->lock.policy : "");
}

bool locks_death_is_gone(const struct locks_run *run, uint32_t cn)
{
    bool dies = run->plan->kills || run->plan->loses_server;
    return dies && fabric_sim_cn_lost_ns(run->fabric, cn) != UINT64_MAX;
}

static bool is_declared(void *arg, uint32_t cn)
{
    const struct locks_run *run = arg;
    return run->death.declared && cn == run->plan->kill_cn;
}

/* A dead client holds nothing any more, for the monitors. */
static void forget_grants(struct locks_run *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        struct locks_client *client = &run->clients[i];
        for (uint32_t j = 0; client->worker->cn == run->plan->kill_cn && j < LOCKS_TXN_MAX; j++)
            locks_forget_grant(client, j);
    }
}

static void service_main(void *arg)
{
    struct locks_run *run = arg;
    const struct locks_plan *plan = run->plan;
    struct fabric_ep *ep = run->death.service;
    uint64_t kill_ns = fabric_now_ns(ep) + plan->warmup_ns + plan->kill_ns, declare_ns = kill_ns + plan->detect_ns;
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = plan->kill_cn};
    while (atomic_load(&run->active) && !run->death.declared) {
        uint64_t now_ns = fabric_now_ns(ep);
        if (now_ns >= kill_ns && !locks_death_is_gone(run, plan->kill_cn)) {
            (void)run->fabric->ops->control(run->fabric, &control, NULL);
            forget_grants(run);
        }
        run->death.declared = now_ns >= declare_ns;
        if (run->death.declared) locks_wake_all(run);
        fabric_idle(ep, now_ns < kill_ns ? kill_ns : declare_ns);
    }
    __atomic_fetch_sub(&run->running, 1, __ATOMIC_ACQ_REL);
}

/* The lock server's worker ends in its loop. */
static void lose_main(void *arg)
{
    struct locks_run *run = arg;
    struct fabric_ep *ep = run->death.service;
    uint64_t lose_ns = fabric_now_ns(ep) + run->plan->warmup_ns + run->plan->lose_ns;
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = run->config.server_cn};
    while (atomic_load(&run->active) && fabric_now_ns(ep) < lose_ns) fabric_idle(ep, lose_ns);
    if (atomic_load(&run->active)) (void)run->fabric->ops->control(run->fabric, &control, NULL);
    locks_wake_all(run);
    __atomic_fetch_sub(&run->running, 1, __ATOMIC_ACQ_REL);
}

void locks_death_configure(struct locks_run *run)
{
    if (run->plan->kills) run->config.view = (struct lockmgr_view){.dead = is_declared, .arg = run};
}

int locks_death_start(struct locks_run *run, struct cellar_error *error)
{
    if (!run->plan->kills && !run->plan->loses_server) return 0;
    int code = fabric_endpoint_open(run->fabric, run->config.cn_count + 1, 1, &run->death.service, error);
    if (code) return code;
    __atomic_fetch_add(&run->running, 1, __ATOMIC_ACQ_REL);
    void (*loop)(void *) = run->plan->loses_server ? lose_main : service_main;
    code = run->fabric->ops->spawn(run->fabric, run->death.service, loop, run);
    return code ? err_set(error, CELLAR_NOMEM, "no memory for the membership service") : 0;
}

/* Its clients stand still for ever, and the run does not wait for them. */
void locks_death_leave(struct locks_worker *worker)
{
    struct locks_run *run = worker->run;
    uint32_t left = 0;
    for (uint32_t i = 0; i < worker->client_count; i++) left += !worker->clients[i].ended;
    atomic_fetch_sub(&run->active, left);
    if (!worker->quiet) atomic_fetch_sub(&run->unquiet, 1);
    worker->quiet = true;
    locks_wake_all(run);
}

bool locks_death_is_heir(const struct locks_client *client)
{
    const struct locks_run *run = client->worker->run;
    uint32_t cn = run->plan->kill_cn == 0;
    return run->death.declared && client == run->workers[cn * run->config.workers_per_cn].clients;
}

bool locks_death_inherit(struct coro *co, struct locks_client *heir)
{
    struct locks_run *run = heir->worker->run;
    for (uint32_t i = 0; i < run->client_count; i++) {
        const struct locks_client *dead = &run->clients[i];
        for (uint32_t j = 0; dead->worker->cn == run->plan->kill_cn && j < LOCKS_TXN_MAX; j++) {
            if (!dead->wanted[j]) continue;
            if (!locks_take_once(co, heir, dead->wanted[j] - 1)) return false;
            run->death.inherited++;
        }
    }
    return true;
}

uint64_t locks_death_of_switch(struct locks_worker *worker)
{
    const struct locks_plan *plan = worker->run->plan;
    if (!plan->switch_fails || worker->cn != plan->lock.switch_cn || worker->switch_failed) return UINT64_MAX;
    uint64_t due_ns = worker->start_ns + plan->switch_fail_ns;
    if (fabric_now_ns(worker->ep) < due_ns) return due_ns;
    worker->switch_failed = true;
    lockmgr_switch_fail(worker->locks, plan->switch_down_ns);
    return UINT64_MAX;
}
