/* peer_report.h - all results of a comparison: as a table for people, and as JSON. */
#pragma once

#include "err.h"
#include "peer_run.h"

#define PEER_WORKS_MAX 16
#define PEER_COUNTS_MAX 16

struct peer_comparison {
    struct peer_work works[PEER_WORKS_MAX];
    uint64_t records[PEER_WORKS_MAX];
    uint32_t work_count;
    const struct peer *peers[32];
    uint32_t peer_count, base;                     /* base: index of the one that the others are divided by */
    uint32_t counts[PEER_COUNTS_MAX], count_count; /* of clients */
    uint32_t rounds;
    double seconds;
    uint64_t txns; /* 0: for so long */
    bool durable;
    const char *folder;
    struct peer_result *results; /* by work, peer, count, round; those not run are not `done` */
};

struct peer_result *peer_report_at(const struct peer_comparison *comparison, uint32_t work, uint32_t peer,
                                   uint32_t count, uint32_t round);
void peer_report_print(const struct peer_comparison *comparison);
NODISCARD int peer_report_json(const struct peer_comparison *comparison, const char *path, struct cellar_error *error);
/* Every run that was made has passed its check. */
bool peer_report_holds(const struct peer_comparison *comparison);
