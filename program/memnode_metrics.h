/* memnode_metrics.h - numbers of a running memory node, in Prometheus' text format. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum memnode_value {
    MEMNODE_BYTES,
    MEMNODE_CNS,
    MEMNODE_QUEUE_PAIRS,
    MEMNODE_ADMITTED,
    MEMNODE_REFUSED,
    MEMNODE_FENCED,
    MEMNODE_NATIVE,
    MEMNODE_WIDE,
    MEMNODE_HUGE_PAGES,
    MEMNODE_UPTIME_S,
    MEMNODE_VALUES
};

struct memnode_metrics {
    uint32_t node;
    uint64_t values[MEMNODE_VALUES]; /* atomically */
};

/* From any thread. */
void memnode_metrics_set(struct memnode_metrics *metrics, enum memnode_value value, uint64_t to);
/* A metrics_page_fn; arg is a struct memnode_metrics. */
size_t memnode_metrics_page(void *metrics, char *text, size_t capacity);
