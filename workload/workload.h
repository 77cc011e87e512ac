/*
 * workload.h - the contract between the `cellar` program and a workload (tpcc, smallbank, ycsb, ...): one exported
 * table each. A workload uses the public API (cellar.h), base and this header, nothing else. All its randomness comes
 * from the seed.
 *
 * Life: defaults -> options, resolve -> validate -> open -> load, by all sessions -> client_init, next, next, ..., by
 * each client -> check, by one client, with nothing else running -> close.
 */
#pragma once

#include "cellar_lab.h"
#include "option_def.h"
#include "prng.h"

#include <stdbool.h>
#include <stdint.h>

/* Operations of YCSB's core workloads, as a file has them. */
enum workload_kind {
    WORKLOAD_NONE,
    WORKLOAD_READ,
    WORKLOAD_UPDATE,
    WORKLOAD_INSERT,
    WORKLOAD_SCAN,
    WORKLOAD_MODIFY,
    WORKLOAD_OPERATIONS
};
#define WORKLOAD_FIELDS 10
struct workload_operation {
    uint64_t record; /* its number */
    uint32_t more;   /* the field; of a scan how many records */
    uint8_t kind;
};
/* Client c of n does, or notes, operations c, c + n, c + 2n, ... */
struct workload_operations {
    struct workload_operation *all;
    uint64_t count;
    bool fills;        /* noted as they are drawn, else done */
    char core;         /* 'A' to 'F': the core workload that they are of, */
    uint64_t records;  /* ... that has so many records, */
    uint32_t scan_max; /* ... and scans of so many, at most */
};

/*
 * A workload's configuration begins with this. The whole is a struct of the workload's own, of config_bytes: bench and
 * the simulator pass it on, and know no other member.
 */
struct workload_config {
    uint64_t seed;
};

#define WORKLOAD_CONFIG_BYTES 256

/* Room for the configuration of any. */
union workload_room {
    struct workload_config config;
    uint64_t words[WORKLOAD_CONFIG_BYTES / 8];
};

#define WORKLOAD_TYPES_MAX 16
#define WORKLOAD_CHECKS_MAX 32
#define WORKLOAD_RATES_MAX 16

/* What check() found. Texts are written into the arrays here. */
struct workload_report {
    struct {
        char name[48];  /* "3.3.2.1 W_YTD = sum D_YTD" */
        char text[160]; /* "ok", or the first violation in words */
        bool ok;
    } checks[WORKLOAD_CHECKS_MAX];
    uint32_t check_count;
    struct {
        char name[48]; /* "remote Payment" */
        double value, low,
            high; /* fractions; low..high is what the workload's definition allows (sampling error apart) */
    } rates[WORKLOAD_RATES_MAX];
    uint32_t rate_count;
};
/* Adds a check with its verdict: ok when `violation` is NULL, else that printf text. (workload.c) */
void workload_report_check(struct workload_report *report, const char *name, const char *violation, ...)
    CELLAR_PRINTF(3, 4);
void workload_report_rate(struct workload_report *report, const char *name, double value, double low, double high);

#define WORKLOAD_LINE_BYTES 200
#define WORKLOAD_DETAILS_MAX 4

/* Something of a configuration, by name: a field of the report as JSON. */
struct workload_detail {
    const char *name, *value;
};

/* What CREST's records take beyond keys, table ids and columns, as a fraction of these: its Table 1. */
struct workload_overhead {
    double padded, metadata; /* with what fills cache lines, and without; 0: not published */
};

/* Of one simulated run: what its plan has drawn. */
struct workload_sim_load {
    uint32_t size; /* one of `sizes` */
    uint32_t tables, accesses_max;
    double theta;
};

/* How the simulator runs a workload: small, so that clients meet. */
struct workload_sim {
    /*
     * 1, 2, ...: its size is that draw of the plan's own stream, and `weight` seeds of 20 that name no workload run it.
     * Seeds mean what they mean by these; a workload that comes later has 0: it has a stream of its own, and is run
     * where it is named.
     */
    uint32_t place, weight;
    const uint32_t *sizes; /* one is drawn */
    uint32_t size_count;
    uint32_t txns_max; /* of all clients; 0: as many as of any */
    /* Behind defaults. */
    void (*configure)(struct workload_config *config, const struct workload_sim_load *load);
};

struct workload_run; /* a workload opened on a database */

/* One client's generator; client_bytes long, all zero but for this first member, which workload_client_begin fills. */
struct workload_client {
    struct prng prng;
    uint32_t index, count; /* of all sessions */
    uint32_t lost;         /* set for check(): it died, and has done at least what is counted here, and perhaps more */
    uint32_t pad;
};
/* To be called before the workload's client_init: each index of a seed has random numbers of its own. (workload.c) */
void workload_client_begin(struct workload_client *client, uint64_t seed, uint32_t index, uint32_t count);

struct workload {
    const char *name;    /* "tpcc" */
    const char *summary; /* one line, for `cellar list` */
    uint32_t type_count; /* transaction types; user rollbacks are a type of their own */
    const char *const *types;
    const char *const
        *tables; /* names, NULL-terminated, for the report of memory; those not created are passed over. Or NULL */
    uint64_t client_bytes;
    uint64_t config_bytes;            /* of its configuration, at most WORKLOAD_CONFIG_BYTES */
    const struct option_def *options; /* of `cellar bench`; their fields are of that configuration */
    uint32_t option_count;
    uint32_t pace; /* so many times as many transactions as TPC-C commits in the same time, at most; 0: 1 */
    struct workload_overhead published;
    const struct workload_sim *sim; /* NULL: the simulator does not run it */

    void (*defaults)(struct workload_config *config); /* all was zero */
    /*
     * NULL, or what follows from the options that were given (bit i: options[i]), once all are parsed. INVALID where
     * they are not for each other.
     */
    int (*resolve)(struct workload_config *config, uint64_t given, struct cellar_error *error);
    /*
     * NULL: it has no operations as a file. From then on its clients do them; or they note what they do (`fills`), and
     * it says here of which workload that is. INVALID where options that were given are not for that.
     */
    int (*operate)(struct workload_config *config, uint64_t given, struct workload_operations *operations,
                   struct cellar_error *error);
    /* INVALID with one clear line when a size is zero or absurd. */
    int (*validate)(const struct workload_config *config, struct cellar_error *error);
    /* Estimated bytes of records and index on primaries at the start, and growth for each committed transaction. */
    uint64_t (*pool_bytes)(const struct workload_config *config);
    double (*growth_bytes)(const struct workload_config *config);
    /* NULL, or which workload runs that configuration: this one, or another one that takes the same. */
    const struct workload *(*variant)(const struct workload_config *config);
    /* The configuration as a line of the report, of WORKLOAD_LINE_BYTES at most. */
    void (*describe)(const struct workload_config *config, char *line, size_t bytes);
    /* NULL, or what of it is a field of the report as JSON: how many details of WORKLOAD_DETAILS_MAX. */
    uint32_t (*details)(const struct workload_config *config, struct workload_detail *details);
    /* How many records a transaction reads, writes, inserts and deletes, at most: what a recording has room for. */
    uint64_t (*accesses_max)(const struct workload_config *config);
    /* NULL, or how many ordered indexes it makes, and which option makes it do so: "--core E". */
    uint32_t (*indexes)(const struct workload_config *config, const char **option);
    /* NULL, or what the log of a coordinator has to hold; 0: as usual. */
    uint64_t (*log_bytes)(const struct workload_config *config);
    /* Creates or finds the tables, registers the procedures. `expected_txns` sizes tables that grow. */
    int (*open)(struct cellar *db, const struct workload_config *config, uint64_t expected_txns,
                struct workload_run **out, struct cellar_error *error);
    /* Loads this client's share; adds rows done to *progress (atomically) as it goes. */
    int (*load)(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                struct cellar_error *error);
    uint64_t (*load_rows)(const struct workload_run *run);
    /* NULL, or what is to be done at rest when all is loaded: ordered indexes. By one process. */
    int (*loaded)(struct workload_run *run, struct cellar_error *error);
    int (*client_init)(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *client);
    /*
     * Sets the type of the next transaction, and runs it until it commits (or rolls back by its own rules): the code
     * of *result is 0 then, else the call's that is returned.
     */
    int (*next)(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *client,
                uint32_t *type, const struct cellar_call_options *options, struct cellar_result *result);
    /*
     * Reads the memory pool and judges it, using also what the clients counted; `clients` has `client_count` entries.
     */
    int (*check)(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                 uint32_t client_count, struct workload_report *report, struct cellar_error *error);
    void (*close)(struct workload_run *run);
};

/* Those that are linked, NULL-terminated: the program's are in workload_table.c, an object of its own. */
extern const struct workload *const workload_table[];
/* NULL: there is none of that name. (workload.c) */
const struct workload *workload_find(const char *name);
/* Its defaults, and the seed. (workload.c) */
void workload_defaults(const struct workload *workload, uint64_t seed, union workload_room *room);
