/*
 * transfer.c - Cellar embedded in a program: accounts in a pool file, and threads that move money between them.
 *
 *     cc transfer.c -pthread $(pkg-config --cflags --libs cellar) -o transfer
 *     ./transfer [FILE]        FILE is kept, and used again by the next run; without it a temporary one
 *
 * It opens the pool and a table, opens accounts, transfers from several threads, and finds the total unchanged: before
 * it closes the pool, and after it has opened it again. docs/embedding.md walks through it.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */

#include <cellar_cluster.h>
#include <cellar_lab.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNTS 1000
#define THREADS 4
#define TRANSFERS 2000 /* of each thread */
#define OPENING_CENTS 10000

/* A row as the program sees it. Columns that change together share a cell, and so one lock; the owner has his own. */
struct account {
    int64_t cents;
    uint64_t transfers;
    char owner[24];
};
static const struct cellar_schema_column columns[] = {
    CELLAR_COLUMN_IN(0, struct account, cents),
    CELLAR_COLUMN_IN(0, struct account, transfers),
    CELLAR_COLUMN(struct account, owner),
};

/* An open database with what the program keeps of it. All of it is valid until cellar_close. */
struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *open_account, *transfer;
    cellar_cells money;        /* the cell of cents and transfers */
    int cents, transfer_count; /* columns */
};

/*
 * ---- two procedures: each may run several times for one call, so all they do is in `args` and in the transaction
 * ----
 */

struct open_args {
    const struct bank *bank;
    uint64_t id;
    char owner[24];
    bool existed; /* result */
};

/* Two blocks: what the second one declares depends on what the first one found. */
static int open_account(struct cellar_txn *txn, void *arg)
{
    struct open_args *args = arg;
    int ref = cellar_proc_access(txn, args->bank->accounts, args->id, args->bank->money, 0, CELLAR_OPTIONAL);
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code < 0) return code;
    args->existed = cellar_proc_found(txn, ref); /* a result is set anew in each run */
    if (args->existed) return 0;

    struct account row = {.cents = OPENING_CENTS};
    memcpy(row.owner, args->owner, sizeof(row.owner));
    ref = cellar_proc_insert(txn, args->bank->accounts, args->id, &row);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

struct transfer_args {
    const struct bank *bank;
    uint64_t from, to;
    int64_t cents;
};

/* Adds to an account that was fetched for writing. */
static int add(struct cellar_txn *txn, const struct bank *bank, int ref, int64_t cents)
{
    struct account row;
    int code = cellar_proc_get_row(txn, ref, &row); /* of the declared cells: the owner is not touched */
    if (code < 0) return code;
    row.cents += cents;
    row.transfers++;
    code = cellar_proc_put(txn, ref, bank->cents, &row.cents);
    return code < 0 ? code : cellar_proc_put(txn, ref, bank->transfer_count, &row.transfers);
}

/* One block: declare both accounts, fetch them in one go, compute. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct transfer_args *args = arg;
    const struct bank *bank = args->bank;
    int64_t balance;
    int from = cellar_proc_access(txn, bank->accounts, args->from, 0, bank->money, 0);
    if (from < 0) return from;
    int to = cellar_proc_access(txn, bank->accounts, args->to, 0, bank->money, 0);
    if (to < 0) return to;
    int code = cellar_proc_fetch(txn); /* from here on both are locked, for as long as the transaction lasts */
    if (code == 0) code = cellar_proc_get(txn, from, bank->cents, &balance);
    if (code < 0) return code; /* among others CELLAR_RETRY: return it at once, and the engine tries again */
    if (balance < args->cents) return CELLAR_USER_ABORT;
    code = add(txn, bank, from, -args->cents);
    return code < 0 ? code : add(txn, bank, to, args->cents);
}

/* ---- opening ---- */

static int bank_open(struct bank *bank, const char *path)
{
    const struct cellar_schema schema = {.name = "account",
                                         .row_bytes = sizeof(struct account),
                                         .columns = columns,
                                         .column_count = sizeof(columns) / sizeof(columns[0]),
                                         .records_max = ACCOUNTS};
    const struct cellar_proc_def open_def = {
        .name = "open_account", .fn = open_account, .records_max = 1, .writes_max = 1};
    const struct cellar_proc_def transfer_def = {.name = "transfer", .fn = transfer, .records_max = 2, .writes_max = 2};

    int code = cellar_open(path, CELLAR_OPTIONS(.threads = 2, .bytes = 16u << 20), &bank->db);
    if (code == 0) code = cellar_table_create(bank->db, &schema, &bank->accounts); /* or finds it */
    if (code == 0) code = cellar_proc_register(bank->db, &open_def, &bank->open_account);
    if (code == 0) code = cellar_proc_register(bank->db, &transfer_def, &bank->transfer);
    if (code < 0) return code;
    bank->money = cellar_cells_of(bank->accounts, "cents, transfers");
    bank->cents = cellar_column_of(bank->accounts, "cents");
    bank->transfer_count = cellar_column_of(bank->accounts, "transfers");
    return 0;
}

/* ---- calls ---- */

static int accounts_open(const struct bank *bank, uint32_t *opened)
{
    for (uint64_t id = 0; id < ACCOUNTS; id++) {
        struct open_args args = {.bank = bank, .id = id};
        snprintf(args.owner, sizeof(args.owner), "owner %" PRIu64, id);
        int code = cellar_proc_run(bank->db, bank->open_account, &args, NULL, NULL);
        if (code < 0) return code;
        *opened += !args.existed;
    }
    return 0;
}

struct teller {
    const struct bank *bank;
    uint64_t random;
    uint64_t made, refused, retried;
    int code;
    pthread_t thread;
};

static uint64_t draw(uint64_t *random, uint64_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % below;
}

static void *teller_main(void *arg)
{
    struct teller *teller = arg;
    for (int i = 0; i < TRANSFERS && teller->code == 0; i++) {
        struct cellar_result result;
        struct transfer_args args = {.bank = teller->bank, .from = draw(&teller->random, ACCOUNTS)};
        args.to =
            (args.from + 1 + draw(&teller->random, ACCOUNTS - 1)) % ACCOUNTS; /* another one: a cell stands once */
        args.cents = (int64_t)draw(&teller->random, OPENING_CENTS);
        int code = cellar_proc_run(teller->bank->db, teller->bank->transfer, &args, NULL, &result);
        teller->retried += result.attempts - 1;
        if (code == 0)
            teller->made++;
        else if (code == CELLAR_USER_ABORT)
            teller->refused++;
        else
            teller->code = code;
    }
    return NULL;
}

static int transfers_make(const struct bank *bank)
{
    struct teller tellers[THREADS];
    uint64_t made = 0, refused = 0, retried = 0;
    int code = 0;
    for (int i = 0; i < THREADS; i++) {
        tellers[i] = (struct teller){.bank = bank, .random = (uint64_t)i + 1};
        if (pthread_create(&tellers[i].thread, NULL, teller_main, &tellers[i]) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(tellers[i].thread, NULL);
        made += tellers[i].made;
        refused += tellers[i].refused;
        retried += tellers[i].retried;
        if (tellers[i].code < 0) code = tellers[i].code;
    }
    printf("%" PRIu64 " transfers, %" PRIu64 " refused for want of money, %" PRIu64 " attempts repeated\n", made,
           refused, retried);
    return code;
}

/* ---- the total: a scan by one client, while nothing else runs ---- */

struct total {
    const struct bank *bank;
    uint64_t accounts;
    int64_t cents;
};

static int add_account(void *arg, uint64_t key, const void *row)
{
    struct total *total = arg;
    (void)key;
    total->accounts++;
    total->cents += ((const struct account *)row)->cents;
    return 0;
}

static int sum_up(struct cellar_lab_client *client, void *arg)
{
    struct total *total = arg;
    if (cellar_lab_index(client) != 0) return 0; /* every coordinator runs this; one does the work */
    return cellar_lab_scan(client, total->bank->accounts, add_account, total);
}

/* 0 if all the money is there. */
static int check(const struct bank *bank, const char *when)
{
    struct total total = {.bank = bank};
    int code = cellar_lab_run(bank->db, sum_up, &total);
    if (code == 0) code = cellar_cluster_audit(bank->db);
    if (code < 0) {
        fprintf(stderr, "transfer: %s: %s\n", when, cellar_last_error()->text);
        return 1;
    }
    bool right = total.accounts == ACCOUNTS && total.cents == (int64_t)ACCOUNTS * OPENING_CENTS;
    printf("%s: %" PRIu64 " accounts with %" PRId64 " cents: %s\n", when, total.accounts, total.cents,
           right ? "as it should be" : "WRONG");
    return right ? 0 : 1;
}

static int fail(void)
{
    fprintf(stderr, "transfer: %s\n", cellar_last_error()->text);
    return 1;
}

static int run(const char *path)
{
    struct bank bank = {0};
    uint32_t opened = 0;
    int wrong = 0;

    int code = bank_open(&bank, path);
    if (code == 0) code = accounts_open(&bank, &opened);
    if (code == 0) {
        printf("%u accounts opened\n", opened);
        code = transfers_make(&bank);
    }
    if (code == 0) wrong = check(&bank, "after the transfers");
    cellar_close(bank.db); /* marks the file as whole; NULL is allowed */
    if (code < 0) return fail();

    bank = (struct bank){0};
    code = bank_open(&bank, path);
    if (code == 0) wrong += check(&bank, "after opening again");
    cellar_close(bank.db);
    return code < 0 ? fail() : wrong;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/transfer-XXXXXX";
    if (argc > 1) return run(argv[1]);
    int fd = mkstemp(path); /* an empty file is a new pool */
    if (fd < 0) {
        perror("transfer: a temporary file");
        return 1;
    }
    close(fd);
    int status = run(path);
    unlink(path);
    return status;
}
