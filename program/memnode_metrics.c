#include "memnode_metrics.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name, *type, *help;
} described[MEMNODE_VALUES] = {
    [MEMNODE_BYTES] = {"cellar_memnode_bytes", "gauge", "Memory that is offered"},
    [MEMNODE_CNS] = {"cellar_memnode_compute_nodes", "gauge", "Compute nodes attached"},
    [MEMNODE_QUEUE_PAIRS] = {"cellar_memnode_queue_pairs", "gauge", "Connections, those of processes included"},
    [MEMNODE_ADMITTED] = {"cellar_memnode_admitted_total", "counter", "Requests granted"},
    [MEMNODE_REFUSED] = {"cellar_memnode_refused_total", "counter", "Requests turned away"},
    [MEMNODE_FENCED] = {"cellar_memnode_fenced_total", "counter", "Compute nodes fenced"},
    [MEMNODE_NATIVE] = {"cellar_memnode_native_masked_cas", "gauge", "1: the device executes masked atomics itself"},
    [MEMNODE_WIDE] = {"cellar_memnode_wide_atomics", "gauge", "1: and those on 16 bytes, too"},
    [MEMNODE_HUGE_PAGES] = {"cellar_memnode_huge_pages", "gauge", "1: the memory is of reserved huge pages"},
    [MEMNODE_UPTIME_S] = {"cellar_memnode_uptime_seconds", "counter", "Since it began to serve"},
};

void memnode_metrics_set(struct memnode_metrics *metrics, enum memnode_value value, uint64_t to)
{
    __atomic_store_n(&metrics->values[value], to, __ATOMIC_RELAXED);
}

size_t memnode_metrics_page(void *arg, char *text, size_t capacity)
{
    const struct memnode_metrics *metrics = arg;
    size_t at = 0;
    for (uint32_t i = 0; i < MEMNODE_VALUES && at < capacity; i++)
        at += (size_t)snprintf(text + at, capacity - at,
                               "# HELP %s %s\n# TYPE %s %s\n%s{node=\"%" PRIu32 "\"} %" PRIu64 "\n", described[i].name,
                               described[i].help, described[i].name, described[i].type, described[i].name,
                               metrics->node, __atomic_load_n(&metrics->values[i], __ATOMIC_RELAXED));
    return at;
}
