/* lockmgr_wait.c - how a client waits: for a time, for a signal, and for an answer that may never come. */
#include "lockmgr.h"
#include "lockmgr_algorithm.h"
#include "lockmgr_plants.h"

#define SILENCE_PARTS 4 /* one question counts for so small a part of config.silence_ns at most */

void lockmgr_sleep(struct coro *co, struct lockmgr_client *client, uint64_t ns)
{
    client->task->why = "lock, to look again";
    sched_sleep(co, client->worker->sched, client->task, ns);
}

bool lockmgr_wait(struct coro *co, struct lockmgr_client *client, uint64_t until_ns)
{
    if (lockmgr_ends(client->worker)) return false;
    client->task->why = "lock";
    return sched_wait(co, client->worker->sched, client->task, &client->signal, until_ns);
}

void lockmgr_signal(struct lockmgr_worker *from, struct lockmgr_client *client)
{
    sched_signal(from->sched, client->worker->sched, client->task, &client->signal);
}

/* ---- servers that do not answer ---- */

bool lockmgr_surely_dead(struct coro *co, struct lockmgr_client *client, uint32_t cn)
{
    const struct lockmgr *lockmgr = client->worker->lockmgr;
    const struct lockmgr_view *view = &lockmgr->config.view;
    if (!lockmgr_dead(lockmgr, cn)) return false;
    if (!view->look || PLANT(lockmgr_view_trusted)) return true;
    return view->look(view->arg, co, client->worker->ep, cn) == 0 && lockmgr_dead(lockmgr, cn);
}

int lockmgr_unanswered(struct lockmgr_client *client, const char *who, uint64_t asked_ns, uint64_t *silent_ns)
{
    const struct lockmgr_config *config = &client->worker->lockmgr->config;
    uint64_t most_ns = config->silence_ns ? config->silence_ns : LOCKMGR_SILENCE_NS;
    uint64_t waited_ns = lockmgr_now_ns(client) - asked_ns;
    *silent_ns += waited_ns < most_ns / SILENCE_PARTS ? waited_ns : most_ns / SILENCE_PARTS;
    if (*silent_ns < most_ns || PLANT(lockmgr_silence_ignored)) return 0;
    return err_set(&client->reason, CELLAR_UNREACHABLE, "%s has not answered for %.3g s", who,
                   (double)*silent_ns * 1e-9);
}

int lockmgr_declared(struct lockmgr_client *client, const char *who, uint32_t cn)
{
    if (!lockmgr_dead(client->worker->lockmgr, cn) || PLANT(lockmgr_silence_ignored)) return 0;
    return err_set(&client->reason, CELLAR_UNREACHABLE, "%s, compute node %u, has been declared dead", who, cn);
}

const char *lockmgr_reason(const struct lockmgr_client *client, int code)
{
    return code && client->reason.code == code ? client->reason.text : cellar_strerror(code);
}
