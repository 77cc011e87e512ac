/*
 * acks.c - a worker's calls that wait for the disk, the oldest first: they are told in the order of their ends, though
 * one may rest on an older epoch than the one before it.
 *
 *     call ends ─> acks_add: says which epoch it waits for, then urges the agent ─> its coordinator serves others
 *     agent publishes ─> wakes the worker ─> acks_look ─> ended(), or pending
 *
 *     call of a thread that waits for nothing else ─> acks_await: it syncs itself, or the agent wakes it
 */
#include "acks.h"

#include "db.h"
#include "db_tally.h"
#include "durable.h"
#include "worker.h"

int acks_open(struct worker *worker)
{
    worker->acks.watch = epochs_watch(worker->home.epochs, worker->ep);
    return worker->acks.watch ? 0 : CELLAR_NOMEM;
}

void acks_add(struct worker *worker, struct db_request *request)
{
    struct acks *acks = &worker->acks;
    request->next = NULL;
    *(acks->last ? &acks->last->next : &acks->first) = request;
    acks->last = request;
    if (acks->first == request) epochs_watch_for(acks->watch, request->ack.epoch);
    epochs_urge(worker->home.epochs, request->ack.epoch, &worker->sched);
}

static void disk_refused(struct ack ack, int code, struct cellar_result *result)
{
    result->code = ack.logged ? CELLAR_INDETERMINATE : code;
    result->detail = (struct cellar_detail){.why = WHY_DISK, .column = -1};
}

static void end(struct worker *worker, struct db_request *request, int reached)
{
    struct cellar_result *result = request->result;
    if (reached < 0) disk_refused(request->ack, reached, result);
    result->latency_ns = fabric_now_ns(worker->ep) - request->begin_ns;
    db_tally_end(worker, request->proc, result);
    db_request_end(worker->db, request);
}

void acks_look(struct worker *worker)
{
    struct acks *acks = &worker->acks;
    int reached = 0;
    while (acks->first && (reached = epochs_reached(worker->home.epochs, acks->first->ack.epoch)) != 0) {
        struct db_request *request = acks->first;
        acks->first = request->next;
        if (!acks->first) acks->last = NULL;
        epochs_watch_for(acks->watch, acks->first ? acks->first->ack.epoch : 0);
        end(worker, request, reached);
    }
}

int acks_await(struct worker *worker, const struct cellar_proc *proc, struct ack ack, struct cellar_result *result)
{
    if (!ack.epoch) return result->code;
    uint64_t begin_ns = fabric_now_ns(worker->ep);
    int rc = durable_await(worker->db->durable, ack.epoch);
    if (rc) disk_refused(ack, rc, result);
    result->latency_ns += fabric_now_ns(worker->ep) - begin_ns;
    if (proc) db_tally_end_beside(worker->db, proc, result);
    return result->code;
}
