/*
 * api_keep.h - coordinators that are kept: calls wait in the queue meanwhile, for as long as a test wants.
 */
#pragma once

#include "api.h"
#include "coordinator.h"

#include <stdlib.h>
#include <unistd.h>

struct keeping {
    uint32_t release, pending;
    struct db_request *requests;
};

/* Keeps its coordinator from everything else. */
static inline int keep(struct coro *co, struct coordinator *coordinator, void *arg)
{
    while (!__atomic_load_n(&((struct keeping *)arg)->release, __ATOMIC_SEQ_CST))
        sched_sleep(co, &coordinator->worker->sched, &coordinator->task, 100000);
    return 0;
}

/* Returns when none of the coordinators is left for a call. */
static inline void keep_all(struct api *api, struct keeping *keeping)
{
    uint32_t count = api->db->coordinator_count, per_worker = count / api->db->worker_count;
    *keeping = (struct keeping){.pending = count, .requests = calloc(count, sizeof *keeping->requests)};
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &api->db->workers[i / per_worker];
        keeping->requests[i] = (struct db_request){.fn = keep, .arg = keeping, .pending = &keeping->pending};
        keeping->requests[i].target = &worker->coordinators[i % per_worker];
        worker_submit(worker, &keeping->requests[i]);
    }
    for (uint32_t i = 0; i < api->db->worker_count && api->variant->threads; i++)
        while (__atomic_load_n(&api->db->workers[i].queued, __ATOMIC_SEQ_CST)) usleep(100);
}

/* Returns when they are free again. */
static inline void keep_no_more(struct api *api, struct keeping *keeping)
{
    __atomic_store_n(&keeping->release, 1, __ATOMIC_SEQ_CST);
    db_wait(api->db, &keeping->pending);
    free(keeping->requests);
}
