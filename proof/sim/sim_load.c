/*
 * sim_load.c - whole workloads as loads of a simulated run, through the contract of workload.h.
 */
#include "sim_load.h"

#include "prng.h"
#include "workload.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct whole {
    struct sim_load load;
    const struct workload *workload;
    struct workload_run *run;
    struct workload_client **clients;
    uint32_t client_count;
    uint64_t rows;
};

static struct whole *whole_of(struct sim_load *load) { return (struct whole *)load; }

const struct sim_load_ops *sim_load_find(const char *workload)
{
    if (strcmp(workload, "cells") == 0) return &sim_load_cells;
    if (strcmp(workload, "sessions") == 0) return &sim_load_sessions;
    return strcmp(workload, "ranges") == 0 ? &sim_load_ranges : &sim_load_whole;
}

void sim_load_complain(struct sim_load *load, const char *format, ...)
{
    va_list args;
    if (load->verdict[0]) return;
    va_start(args, format);
    vsnprintf(load->verdict, sizeof load->verdict, format, args);
    va_end(args);
}

static void configure(const struct sim_plan *plan, const struct workload *workload, union workload_room *room)
{
    const struct workload_sim_load load = {
        .size = plan->keys, .tables = plan->tables, .accesses_max = plan->accesses_max, .theta = plan->theta};
    workload_defaults(workload, plan->seed, room);
    workload->sim->configure(&room->config, &load);
}

static void whole_close(struct sim_load *load)
{
    struct whole *whole = whole_of(load);
    for (uint32_t i = 0; i < whole->client_count; i++) free(whole->clients[i]);
    free(whole->clients);
    if (whole->run) whole->workload->close(whole->run);
    free(whole);
}

static int clients_make(struct whole *whole, uint32_t count)
{
    whole->clients = calloc(count, sizeof *whole->clients);
    if (!whole->clients) return CELLAR_NOMEM;
    for (; whole->client_count < count; whole->client_count++) {
        struct workload_client *client = calloc(1, whole->workload->client_bytes);
        if (!client) return CELLAR_NOMEM;
        workload_client_begin(client, whole->load.plan->seed, whole->client_count, count);
        whole->clients[whole->client_count] = client;
    }
    return 0;
}

static int run_open(struct whole *whole, struct cellar *db, struct cellar_error *error)
{
    const struct sim_plan *plan = whole->load.plan;
    union workload_room room;
    configure(plan, whole->workload, &room);
    uint64_t txns = (uint64_t)sim_plan_clients(plan) * (plan->txns + sim_plan_heal_txns(plan));
    return whole->workload->open(db, &room.config, txns, &whole->run, error);
}

static int client_begin(struct cellar_lab_client *self, void *arg)
{
    struct whole *whole = arg;
    return whole->workload->client_init(whole->run, self, whole->clients[cellar_lab_index(self)]);
}

/* What clients have counted goes on; their run is another process's, which has loaded nothing. */
static int whole_reopen(struct sim_load *load, struct cellar *db, struct cellar_error *error)
{
    struct whole *whole = whole_of(load);
    whole->workload->close(whole->run);
    whole->run = NULL;
    int code = run_open(whole, db, error);
    return code ? code : cellar_lab_run(db, client_begin, whole);
}

static int whole_open(const struct sim_plan *plan, struct cellar *db, struct sim_load **out, struct cellar_error *error)
{
    struct whole *whole = calloc(1, sizeof *whole);
    if (!whole) return err_set(error, CELLAR_NOMEM, "no memory for a workload");
    whole->load.ops = &sim_load_whole;
    whole->load.plan = plan;
    whole->workload = workload_find(plan->workload);
    int code = run_open(whole, db, error);
    if (code == 0 && (code = clients_make(whole, sim_plan_clients(plan))) < 0)
        (void)err_set(error, CELLAR_NOMEM, "no memory for clients");
    if (code < 0)
        whole_close(&whole->load);
    else
        *out = &whole->load;
    return code;
}

static int whole_fill(struct sim_load *load, struct cellar_lab_client *self, struct cellar_error *error)
{
    struct whole *whole = whole_of(load);
    int code = whole->workload->load(whole->run, self, &whole->rows, error);
    if (code < 0) return code;
    return whole->workload->client_init(whole->run, self, whole->clients[cellar_lab_index(self)]);
}

static int whole_next(struct sim_load *load, struct cellar_lab_client *self, uint32_t index,
                      const struct cellar_call_options *options, struct cellar_result *result)
{
    struct whole *whole = whole_of(load);
    struct workload_client *client = whole->clients[cellar_lab_index(self)];
    uint32_t type;
    prng_seed_stream(&client->prng, load->plan->seed, (uint64_t)index << 32 | (client->index + 1));
    return whole->workload->next(whole->run, self, client, &type, options, result);
}

static int whole_check(struct sim_load *load, struct cellar_lab_client *self, char verdict[SIM_LOAD_VERDICT_BYTES])
{
    struct whole *whole = whole_of(load);
    struct workload_report report = {0};
    struct cellar_error error = {0};
    int code = whole->workload->check(whole->run, self, whole->clients, whole->client_count, &report, &error);
    if (code < 0) {
        snprintf(verdict, SIM_LOAD_VERDICT_BYTES, "the check ends with: %s", error.text);
        return CELLAR_CORRUPT;
    }
    for (uint32_t i = 0; i < report.check_count; i++) {
        if (report.checks[i].ok) continue;
        snprintf(verdict, SIM_LOAD_VERDICT_BYTES, "%s: %s", report.checks[i].name, report.checks[i].text);
        return CELLAR_CORRUPT;
    }
    return 0;
}

const struct sim_load_ops sim_load_whole = {.open = whole_open,
                                            .reopen = whole_reopen,
                                            .fill = whole_fill,
                                            .next = whole_next,
                                            .check = whole_check,
                                            .close = whole_close};
