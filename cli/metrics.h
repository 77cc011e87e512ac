/* metrics.h - numbers of a running process for a Prometheus server: text over HTTP, on this machine only. */
#pragma once

#include "err.h"

#define METRICS_PAGE_BYTES CELLAR_METRICS_BYTES

struct metrics;

/* Writes the text, as cellar_metrics does; called from a thread of the server. */
typedef size_t (*metrics_page_fn)(void *arg, char *text, size_t capacity);

/* Serves http://127.0.0.1:PORT/metrics until metrics_close. UNSUPPORTED in a build without libmicrohttpd. */
NODISCARD int metrics_open(uint16_t port, metrics_page_fn page, void *arg, struct metrics **out,
                           struct cellar_error *error);
void metrics_close(struct metrics *metrics);
