#include "ycsb_config.h"

#include "err.h"

#include <string.h>

#define CORE_RECORDS 100000

static const char *const cores[] = {"A", "B", "C", "D", "E", "F", NULL};

#define AT(field) offsetof(struct ycsb_config, field)

const struct option_def ycsb_config_options[YCSB_CONFIG_OPTIONS] = {
    {.name = "records",
     .argument = "N",
     .help = "records",
     .fallback = "1000000, with --core 100000",
     .kind = OPTION_NUMBER,
     .offset = AT(records)},
    {.name = "core",
     .help = "a core workload of YCSB, one operation a transaction, instead of YCSB-T (docs/ycsb.md)",
     .kind = OPTION_CHOICE,
     .offset = AT(core),
     .choices = cores},
    {.name = "scan-max",
     .argument = "N",
     .help = "--core E: records of a scan, at most",
     .fallback = "100",
     .kind = OPTION_COUNT,
     .offset = AT(scan_max),
     .min = 1,
     .max = 1000},
    {.name = "write-ratio",
     .argument = "R",
     .help = "share of transactions that update",
     .fallback = "1",
     .kind = OPTION_REAL,
     .offset = AT(write_ratio),
     .max = 1},
    {.name = "per-txn",
     .argument = "N",
     .help = "distinct records of a transaction",
     .fallback = "4",
     .kind = OPTION_COUNT,
     .offset = AT(per_txn),
     .min = 1,
     .max = 64},
    {.name = "theta",
     .argument = "T",
     .help = "skew of the Zipf distribution, 0 (uniform) to below 2",
     .fallback = "0.99",
     .kind = OPTION_REAL,
     .offset = AT(theta),
     .max = 1.999999},
};

void ycsb_config_defaults(struct workload_config *base)
{
    struct ycsb_config *config = (struct ycsb_config *)base;
    config->records = 1000000;
    config->theta = 0.99;
    config->write_ratio = 1;
    config->per_txn = 4;
    config->scan_max = 100;
}

const struct workload *ycsb_config_variant(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return config->core ? &ycsb_core_workload : &ycsb_workload;
}

static bool is_given(uint64_t given, const char *name)
{
    return option_def_given(ycsb_config_options, YCSB_CONFIG_OPTIONS, given, name);
}

int ycsb_config_resolve(struct workload_config *base, uint64_t given, struct cellar_error *error)
{
    static const char *const ycsb_t[] = {"write-ratio", "per-txn"};
    struct ycsb_config *config = (struct ycsb_config *)base;
    for (uint32_t i = 0; config->core && i < sizeof(ycsb_t) / sizeof(ycsb_t[0]); i++)
        if (is_given(given, ycsb_t[i]))
            return err_set(error, CELLAR_INVALID, "--%s is of YCSB-T: --core %s says what a transaction does",
                           ycsb_t[i], config->core);
    if (is_given(given, "scan-max") && !(config->core && !strcmp(config->core, "E")))
        return err_set(error, CELLAR_INVALID, "--scan-max is for --core E");
    if (config->core && !config->operations && !is_given(given, "records")) config->records = CORE_RECORDS;
    return 0;
}

int ycsb_config_operate(struct workload_config *base, uint64_t given, struct workload_operations *operations,
                        struct cellar_error *error)
{
    static const char *const said[] = {"core", "records", "scan-max"};
    struct ycsb_config *config = (struct ycsb_config *)base;
    if (operations->fills) {
        if (!config->core) return err_set(error, CELLAR_INVALID, "--write-operations is for --core A to F");
        operations->core = config->core[0];
        operations->records = config->records;
        operations->scan_max = config->scan_max;
    } else {
        for (uint32_t i = 0; i < sizeof said / sizeof *said; i++)
            if (is_given(given, said[i]))
                return err_set(error, CELLAR_INVALID, "--replay and --%s exclude each other", said[i]);
        config->core = cores[operations->core - 'A'];
        config->records = operations->records;
        config->scan_max = operations->scan_max;
    }
    config->operations = operations;
    return 0;
}
