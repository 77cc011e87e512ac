/*
 * sim_load.h - what the clients of a simulated run do: transactions that follow from (seed, client, index) alone, so
 * that leaving one out changes none of the others, and a check of what they leave behind.
 */
#pragma once

#include "sim_plan.h"

#define SIM_LOAD_VERDICT_BYTES 320

struct sim_load;

struct sim_load_ops {
    bool concludes; /* its calls may end with conclusions of their own: NOT_FOUND, EXISTS, DUPLICATE, GIVEN_UP */
    /* Makes tables and procedures. */
    int (*open)(const struct sim_plan *plan, struct cellar *db, struct sim_load **out, struct cellar_error *error);
    /* The same tables and procedures in another database, which has opened that pool again. */
    int (*reopen)(struct sim_load *load, struct cellar *db, struct cellar_error *error);
    /* By each client, before anything else: its share of the rows, in bulk. */
    int (*fill)(struct sim_load *load, struct cellar_lab_client *client, struct cellar_error *error);
    /* At rest, once all clients have filled them; NULL: nothing is to be done. */
    int (*filled)(struct sim_load *load, struct cellar *db, struct cellar_error *error);
    /* Runs one transaction; returns its code. */
    int (*next)(struct sim_load *load, struct cellar_lab_client *client, uint32_t index,
                const struct cellar_call_options *options, struct cellar_result *result);
    /* By one client, at rest, with no node lost: 0, or CORRUPT with a verdict in words. */
    int (*check)(struct sim_load *load, struct cellar_lab_client *client, char verdict[SIM_LOAD_VERDICT_BYTES]);
    void (*close)(struct sim_load *load);
};

/* Implementations embed it as their first member. */
struct sim_load {
    const struct sim_load_ops *ops;
    const struct sim_plan *plan;
    uint32_t passing; /* tables of that number and above come and go meanwhile; 0: none do */
    /* The first impossible thing that a client saw; empty: none */
    char verdict[SIM_LOAD_VERDICT_BYTES];
};

/* Of that workload; the name is one that sim_plan_workload has. */
const struct sim_load_ops *sim_load_find(const char *workload);
/* Keeps the first verdict. */
void sim_load_complain(struct sim_load *load, const char *format, ...) CELLAR_PRINTF(2, 3);

extern const struct sim_load_ops sim_load_cells, sim_load_sessions; /* sim_cells.c */
extern const struct sim_load_ops sim_load_ranges;                   /* sim_ranges.c */
extern const struct sim_load_ops sim_load_whole;                    /* sim_load.c: those of workload_table */
