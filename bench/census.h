/*
 * census.h - what the operations of a simulated run were for: counted as memory nodes execute them, outside of the
 * engine, by what kind of bytes they touch (layout.h) and in which phase.
 */
#pragma once

#include "fabric_sim.h"

#include <stdbool.h>
#include <stdint.h>

struct catalog;

/* X(name, text) */
#define CENSUS_PURPOSES(X)                                                                                             \
    X(FIND, "find: READ of index buckets")                                                                             \
    X(FETCH, "fetch: READ of records")                                                                                 \
    X(LOCK, "lock: CAS of a record's or bucket's lock word")                                                           \
    X(VALIDATE, "validate: READ of headers, versions and buckets")                                                     \
    X(LOG, "log: WRITE of an entry")                                                                                   \
    X(LOG_BACKUP, "log: the same to backups")                                                                          \
    X(CELLS, "apply: WRITE of cells")                                                                                  \
    X(HEADER, "apply: WRITE of epoch numbers and headers")                                                             \
    X(INDEX, "apply: WRITE of index buckets")                                                                          \
    X(BACKUP, "apply: all of these to backups")                                                                        \
    X(UNLOCK, "unlock: CAS of a record's or bucket's lock word")                                                       \
    X(QUEUE, "words of locks outside of records, and of the clock")                                                    \
    X(MESSAGE, "SEND between compute nodes")                                                                           \
    X(REST, "new chunks of the heap, and the rest")

enum census_purpose {
#define X(name, text) CENSUS_##name,
    CENSUS_PURPOSES(X)
#undef X
        CENSUS_PURPOSE_COUNT
};
extern const char *const census_texts[CENSUS_PURPOSE_COUNT];

struct census_run; /* of a heap: what its chunks hold */

struct census {
    uint64_t counts[CENSUS_PURPOSE_COUNT];
    const uint32_t *begun; /* nothing is counted before this word is 1 */
    const struct fabric *fabric;
    const struct catalog *catalog;
    struct census_run *runs; /* of each chunk of each memory node's area 0 */
};

/*
 * For fabric_sim_config.fault: counts, and lets it run. `arg` is the census, which begins to count when it is opened
 * and *begun.
 */
enum fabric_sim_fault census_take(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op);
/* NOMEM. */
NODISCARD int census_open(struct census *census, const struct fabric *fabric, const struct catalog *catalog,
                          const uint32_t *begun, struct cellar_error *error);
void census_close(struct census *census);
