/*
 * pool_shared.h - processes on one pool file: accounts whose sum stays, a row of its own for each process that counts
 * what it has committed, and the verdict on the file when all are gone.
 */
#pragma once

#include "bulk.h"
#include "numbered.h"
#include "cellar.h"
#include "db_open.h"
#include "db_schema.h"
#include "engine_config.h"
#include "prng.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL_BYTES (16u << 20)
#define ACCOUNTS 16
#define COUNTERS 8 /* keys from ACCOUNTS on */
#define OPENING 1000

struct place {
    char folder[48], path[64], roll[80];
};

static inline void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-shared-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/pool", place->folder);
    snprintf(place->roll, sizeof place->roll, "%s-roll", place->path);
}

/* Nothing but the pool file is left: the last one that closed it took the roll away. */
static inline void place_remove(struct place *place)
{
    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0);
}

static inline void nap_us(uint64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000}, NULL);
}

/* ---- a bank ---- */

struct shared_row {
    int64_t cents;
};
static const struct cellar_schema_column shared_columns[] = {CELLAR_COLUMN(struct shared_row, cents)};

struct bank {
    struct cellar *db;
    const struct cellar_table *rows;
    const struct cellar_proc *transfer;
    struct cellar_error error;
};

struct transfer {
    const struct bank *bank;
    uint64_t from, to, counter;
};

static inline int add(struct cellar_txn *txn, int ref, int64_t cents)
{
    int64_t have;
    int rc = cellar_proc_get(txn, ref, 0, &have);
    have += cents;
    return rc ? rc : cellar_proc_put(txn, ref, 0, &have);
}

static inline int transfer_fn(struct cellar_txn *txn, void *arg)
{
    const struct transfer *args = arg;
    const struct cellar_table *rows = args->bank->rows;
    int from = cellar_proc_access(txn, rows, args->from, 0, 1, 0);
    int to = from < 0 ? from : cellar_proc_access(txn, rows, args->to, 0, 1, 0);
    int counter = to < 0 ? to : cellar_proc_access(txn, rows, ACCOUNTS + args->counter, 0, 1, 0);
    int rc = counter < 0 ? counter : cellar_proc_fetch(txn);
    if (rc == 0) rc = add(txn, from, -1);
    if (rc == 0) rc = add(txn, to, 1);
    return rc ? rc : add(txn, counter, 1);
}

/* All rows, or none: the one that comes first makes them. */
static inline int make_fn(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int first = cellar_proc_access(txn, bank->rows, 0, 1, 0, CELLAR_OPTIONAL);
    int rc = first < 0 ? first : cellar_proc_fetch(txn);
    if (rc || cellar_proc_found(txn, first)) return rc;
    for (uint64_t key = 0; key < ACCOUNTS + COUNTERS && rc >= 0; key++) {
        struct shared_row row = {key < ACCOUNTS ? OPENING : 0};
        rc = cellar_proc_insert(txn, bank->rows, key, &row);
    }
    return rc < 0 ? rc : cellar_proc_fetch(txn);
}

static inline int bank_open(struct bank *bank, const struct engine_config *config)
{
    const struct cellar_schema schema = {"rows", sizeof(struct shared_row), shared_columns, 1, 256, 0, 0, 0, 0, 0};
    const struct cellar_proc_def transfer = {.name = "transfer", .fn = transfer_fn, .records_max = 3, .writes_max = 3};
    const struct cellar_proc_def make = {
        .name = "make", .fn = make_fn, .records_max = ACCOUNTS + COUNTERS, .writes_max = ACCOUNTS + COUNTERS};
    const struct cellar_proc *maker;
    int rc = db_open(config, &bank->db, &bank->error);
    if (rc) return rc;
    rc = db_table_create(bank->db, &schema, &bank->rows, &bank->error);
    if (rc == 0) rc = db_proc_register(bank->db, &transfer, &bank->transfer, &bank->error);
    if (rc == 0) rc = db_proc_register(bank->db, &make, &maker, &bank->error);
    if (rc == 0 && (rc = cellar_proc_run(bank->db, maker, bank, NULL, NULL)))
        snprintf(bank->error.text, sizeof bank->error.text, "rows: %s", cellar_strerror(rc));
    return rc;
}

static inline int bank_transfer(const struct bank *bank, struct prng *prng, uint64_t counter)
{
    struct transfer args = {bank, prng_below(prng, ACCOUNTS), prng_below(prng, ACCOUNTS - 1), counter};
    args.to += args.to >= args.from;
    return cellar_proc_run(bank->db, bank->transfer, &args, NULL, NULL);
}

/* ---- the verdict ---- */

struct sums {
    int64_t accounts, counters[COUNTERS];
    uint64_t rows;
};

static inline int sum_row(void *arg, uint64_t key, const void *row)
{
    struct sums *sums = arg;
    int64_t cents = ((const struct shared_row *)row)->cents;
    sums->rows++;
    if (key < ACCOUNTS)
        sums->accounts += cents;
    else
        sums->counters[key - ACCOUNTS] = cents;
    return 0;
}

struct judging {
    struct bank *bank;
    struct sums sums;
};

static inline int judge_client(struct cellar_lab_client *client, void *arg)
{
    struct judging *judging = arg;
    if (cellar_lab_index(client) != 0) return 0;
    int rc = db_scan(client, judging->bank->rows, sum_row, &judging->sums, &judging->bank->error);
    return rc ? rc : db_audit(client, &judging->bank->error);
}

/* Opens what all have left: whole, audited, and the sum is what it was. Closed again, `cellar check` says so, too. */
static inline void pool_judge(const struct place *place, enum cellar_lab_cc cc, struct sums *sums)
{
    struct engine_config config = {.pool_path = place->path, .pool_bytes = POOL_BYTES, .cc = cc};
    struct bank bank = {0};
    struct judging judging = {.bank = &bank};
    char command[160];
    if (bank_open(&bank, &config)) fail_msg("%s", bank.error.text);
    if (cellar_lab_run(bank.db, judge_client, &judging)) fail_msg("%s", bank.error.text);
    cellar_close(bank.db);
    assert_int_equal(judging.sums.rows, ACCOUNTS + COUNTERS);
    assert_int_equal(judging.sums.accounts, ACCOUNTS * OPENING);
    *sums = judging.sums;
    assert_int_not_equal(access(place->roll, F_OK), 0);
    snprintf(command, sizeof command, "out=$(%.60s/cellar check %.60s) && ! echo \"$out\" | grep 'not closed'",
             getenv("CELLAR_BUILD") ? getenv("CELLAR_BUILD") : ".", place->path);
    assert_int_equal(system(command), 0);
}
