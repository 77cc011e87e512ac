/* scrape.h - the metrics of a running process, fetched from its HTTP server: names, labels and numbers. */
#pragma once

#include "err.h"

#include <stddef.h>

#define SCRAPE_SAMPLES_MAX 512

struct scrape_sample {
    const char *name; /* with its labels: cellar_aborts_total{reason="lock_busy"} */
    double value;
};
struct scrape {
    char *text; /* names lie here */
    struct scrape_sample samples[SCRAPE_SAMPLES_MAX];
    uint32_t count;
};

/*
 * where: PORT, HOST:PORT or http://HOST:PORT; the page is /metrics. SYSTEM: it is not reached, or gives something
 * else. Frees what the scrape had before; scrape_free frees the last.
 */
NODISCARD int scrape_fetch(const char *where, struct scrape *scrape, struct cellar_error *error);
void scrape_free(struct scrape *scrape);
/* 0 where there is no such sample. */
double scrape_value(const struct scrape *scrape, const char *name);
/* The text of a label of a sample's name, unescaped, into `text`; empty: it has none of that name. */
const char *scrape_label(const struct scrape_sample *sample, const char *label, char *text, size_t bytes);
