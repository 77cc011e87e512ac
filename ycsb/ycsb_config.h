/*
 * ycsb_config.h - what the two workloads that are `cellar bench ycsb` are told: YCSB-T, and with --core YCSB's core
 * workloads. They take the same options.
 */
#pragma once

#include "workload.h"

extern const struct workload ycsb_workload, ycsb_core_workload;

struct ycsb_config {
    struct workload_config base;
    uint64_t records;
    double theta;
    /* YCSB-T */
    double write_ratio;
    uint32_t per_txn;
    /* core */
    uint32_t scan_max;                      /* E: records of a scan, at most */
    const char *core;                       /* "A" to "F"; NULL: YCSB-T */
    struct workload_operations *operations; /* to follow or to fill; NULL: drawn, and not noted */
};

#define YCSB_CONFIG_OPTIONS 6
extern const struct option_def ycsb_config_options[YCSB_CONFIG_OPTIONS];

/* As in struct workload; the defaults are YCSB-T's. */
void ycsb_config_defaults(struct workload_config *base);
const struct workload *ycsb_config_variant(const struct workload_config *base);
int ycsb_config_resolve(struct workload_config *base, uint64_t given, struct cellar_error *error);
int ycsb_config_operate(struct workload_config *base, uint64_t given, struct workload_operations *operations,
                        struct cellar_error *error);
