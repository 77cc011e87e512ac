/* tpcc.h - TPC-C as a workload of the program and the simulator. */
#pragma once

#include "workload.h"

extern const struct workload tpcc_workload;

/* Choices are those of its options. */
struct tpcc_config {
    struct workload_config base;
    uint64_t warehouses;
    const char *scale;  /* "full"; "small": customers and items divided by 10 */
    const char *mix;    /* "standard"; "crest": 50/46/4/0/0 */
    const char *access; /* "hash"; "index": ordered indexes, no helper tables */
};
