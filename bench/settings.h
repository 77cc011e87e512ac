/*
 * settings.h - what `cellar bench` was asked to do: its defaults, and which options go together. The options are in
 * settings_options.h.
 */
#pragma once

#include "cluster.h"
#include "engine_config.h"
#include "operations.h"
#include "options.h"
#include "workload.h"

struct settings {
    const struct workload *workload;
    union workload_room room; /* its configuration */
    struct engine_config db;  /* pool_bytes 0: still to be estimated */
    double seconds, warmup_s;
    uint64_t txns;               /* 0: the run is bounded by time */
    uint32_t attempts_max;       /* of a transaction, which is dropped then; 0: none is */
    uint32_t inflight;           /* with db.durable */
    bool survive;                /* the others go on when one of these processes dies */
    uint32_t process, processes; /* this is number `process` of so many that run together on the same memory nodes */
    const char *json, *html;
    uint32_t metrics_port;                 /* 0: none */
    const char *history;                   /* the file that the run is recorded in; NULL: it is not */
    uint64_t history_max;                  /* transactions of it */
    const char *write_operations, *replay; /* files of operations; NULL: none */
    struct workload_operations operations; /* of either */
    const char *trace;                     /* the file of a trace; NULL: none */
    uint32_t trace_every;                  /* one of so many transactions of a coordinator is in it */
    uint64_t trace_events;                 /* ... of at most so many events */
    bool sim;
    int32_t kill_cn, kill_mn; /* sim: which one dies, -1: none; */
    double kill_at_s;         /* so long after the window's begin */
    const char *nic;          /* of sim: its profile */
    /* as written on the command line, before they become the above */
    const char *cc, *kill_cn_text, *kill_mn_text, *process_text, *lease_text, *plant, *cluster_path, *etcd,
        *etcd_prefix;
    struct cluster cluster; /* what db points to, with cluster_path */
};

/*
 * Parses the arguments behind `cellar bench`: the workload's name, then options. `cores` is the default number of
 * threads. Returns 0, OPTIONS_HELP, or a negative code with one line.
 */
NODISCARD int settings_parse(int count, char *const *arguments, uint32_t cores, struct settings *settings,
                             struct cellar_error *error);
void settings_print_help(FILE *out);
/* All coordinators of one process. */
uint64_t settings_coordinators(const struct settings *settings);
/*
 * Of several processes: how long a transaction may take, and how much longer than expected another process, until
 * that one must have died. What a dead one has locked stays so until its lease tells.
 */
uint64_t settings_patience_ns(const struct settings *settings);
/* The algorithm of records, or of hot ones; NULL: the mode has none of the lock manager's. */
const char *settings_lock(const struct settings *settings);
