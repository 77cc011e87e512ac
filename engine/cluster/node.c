/* node.c - what a compute node says, and recoveries that it makes, as its own or a caller's task. */
#include "node.h"

#include "cluster_plants.h"
#include "vigil.h"

#include <stdarg.h>
#include <stdio.h>

void node_log(struct opening *opening, enum cellar_log_level level, const char *format, ...)
{
    if (!opening->log.fn) return;
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    while (atomic_flag_test_and_set_explicit(&opening->log.busy, memory_order_acquire))
        ;
    opening->log.fn(opening->log.arg, level, text);
    atomic_flag_clear_explicit(&opening->log.busy, memory_order_release);
}

struct recover_home node_recover_home(const struct node_worker *by, struct sched_task *task)
{
    struct node *node = by->node;
    const struct opening *opening = node->opening;
    return (struct recover_home){.ep = by->ep,
                                 .catalog = node->catalog,
                                 .member = &opening->member,
                                 .sched = by->sched,
                                 .task = task,
                                 .cn = node->cn,
                                 .first = opening->shared ? opening->cn_first : 0,
                                 .count = opening->shared ? opening->cn_count : LAYOUT_MEMBERS_MAX,
                                 .incarnation = opening->joined ? opening->incarnation : 0};
}

void node_recover_tell(struct opening *opening, uint32_t by, uint32_t dead, const struct recover_report *report)
{
    node_log(opening, CELLAR_LOG_WARNING,
             "compute node %u was recovered by compute node %u: %llu log entries, %llu redone in %llu changes, %llu "
             "erased, %llu tags cleared",
             dead, by, (unsigned long long)report->entries, (unsigned long long)report->due,
             (unsigned long long)report->redone, (unsigned long long)report->erased,
             (unsigned long long)report->tags_cleared);
}

/*
 * A memory node does not answer. Those that would meet it may all wait for this recovery: its loss is noticed here, or
 * not at all.
 */
static void suspect_all(struct node *node)
{
    const struct catalog *catalog = node->catalog;
    if (!catalog->replicas || PLANT(recover_silence_ignored)) return;
    for (uint32_t mn = 0; mn < catalog->mn_count; mn++) halt_suspect(&node->halt, mn);
}

int node_recover(struct coro *co, const struct node_worker *by, struct sched_task *task, uint32_t dead, uint64_t life,
                 enum recover_how how, struct recover_report *report, struct cellar_error *error)
{
    struct node *own = by->node;
    struct opening *opening = own->opening;
    struct recover_home home = node_recover_home(by, task);
    home.life = life;
    home.late = how == RECOVER_LATE;
    home.watching = own->vigil && task == &own->vigil->watcher;
    home.halting = &own->gate.halted;
    home.takeover = own->vigil ? &own->vigil->takeover : NULL;

    if (atomic_load(&own->gate.failed)) return err_set(error, CELLAR_FENCED, "compute node %u has stopped", own->cn);
    if (atomic_load(home.halting)) /* what is dead is recovered there, if that cannot wait */
        return err_set(error, CELLAR_EXISTS, "the configuration changes; compute node %u stands still", own->cn);
    /* A claim names a compute node: two coordinators of one could not tell theirs apart. */
    if (atomic_exchange(&own->recovering, true))
        return err_set(error, CELLAR_EXISTS, "compute node %u is busy with a recovery", own->cn);
    int rc = recover_run(co, &home, dead, how, report, error);
    atomic_store(&own->recovering, false);
    if (rc == CELLAR_UNREACHABLE) suspect_all(own);
    if (rc == 0 && report->done) node_recover_tell(opening, own->cn, dead, report);
    if (rc == 0 && opening->recovered.fn) opening->recovered.fn(opening->recovered.arg, own->cn, dead);
    return rc;
}
