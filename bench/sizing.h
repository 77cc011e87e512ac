/*
 * sizing.h - how much memory a run needs, estimated before anything is allocated, so that it is refused early rather
 * than after minutes of loading. Memory is committed as it is touched: asking for more than is used costs nothing.
 */
#pragma once

#include "machine.h"
#include "settings.h"

struct sizing {
    uint64_t expected_txns; /* at most, warm-up included; what growing tables are sized for */
    uint64_t load_bytes;    /* of each memory node: fixed regions, logs, and the loaded tables */
    uint64_t run_bytes;     /* and the growth by expected_txns, with some reserve */
};

/*
 * Estimates. Refuses a pool that is too small for the load, or memory that the machine does not have; sets
 * db.pool_bytes when it was not given, with expected_txns cut to what fits.
 */
CELLAR_NODISCARD int sizing_apply(struct settings *settings, const struct machine *machine, struct sizing *sizing,
                                  struct cellar_error *error);
/* Refuses memory nodes of other processes when they are too small. */
CELLAR_NODISCARD int sizing_accept(const struct sizing *sizing, uint64_t mn_bytes, struct cellar_error *error);
