/* metrics.h - numbers of a running memory node for a Prometheus server: text over HTTP, on this machine only. */
#pragma once

#include "err.h"

#include <stdint.h>

enum metrics_value {
    METRICS_BYTES,
    METRICS_CNS,
    METRICS_QUEUE_PAIRS,
    METRICS_ADMITTED,
    METRICS_REFUSED,
    METRICS_FENCED,
    METRICS_NATIVE,
    METRICS_WIDE,
    METRICS_HUGE_PAGES,
    METRICS_UPTIME_S,
    METRICS_VALUES
};

struct metrics;

/* Serves http://127.0.0.1:PORT/metrics until metrics_close. UNSUPPORTED in a build without libmicrohttpd. */
NODISCARD int metrics_open(uint16_t port, uint32_t node, struct metrics **out, struct cellar_error *error);
/* From any thread; NULL is allowed. */
void metrics_set(struct metrics *metrics, enum metrics_value value, uint64_t to);
void metrics_close(struct metrics *metrics);
