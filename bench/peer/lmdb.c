/*
 * lmdb.c - SmallBank and YCSB-T on LMDB, an embedded transactional store, to have a figure beside which ours mean
 * something on whatever machine. Same sizes, mix and draws as smallbank and ycsb; one LMDB transaction each,
 * read-only for what only reads.
 *
 * LMDB is given its best case: fixed-size integer keys, both balances (or all four cells) in one value, a writable
 * memory map in a memory file system and no sync at all, so that nothing survives power loss: as with the shm fabric.
 * It has one writer at a time, so the best of several thread counts is what counts.
 */
#include "err.h"
#include "prng.h"
#include "zipf.h"

#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define YCSB_CELLS 4
#define YCSB_PER_TXN 4
#define LOAD_BATCH 10000  /* records loaded by one transaction */
#define WARMUP_SHARE 0.25 /* of the time measured */
#define SYNC_MODE (MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC)
#define SYNC_MODE_NAME "MDB_NOSYNC|MDB_WRITEMAP|MDB_MAPASYNC"

struct account {
    int64_t savings, checking;
};
#define INITIAL_CENTS 100000
#define DEPOSIT_CENTS 10000
#define SPEND_CENTS 1000
#define PENALTY_CENTS 100

struct cell {
    uint64_t key, cell, writer, writes, checksum;
};
struct row {
    struct cell cells[YCSB_CELLS];
};

enum type { AMALGAMATE, BALANCE, DEPOSIT_CHECKING, SEND_PAYMENT, TRANSACT_SAVINGS, WRITE_CHECK, TYPES };
/* In twentieths: 15/15/15/25/15/15 %. */
static const uint8_t mix[20] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5};

struct peer {
    MDB_env *env;
    MDB_dbi table;
    bool ycsb;
    uint64_t records, seed, txns; /* txns: of each thread; 0 when bounded by time */
    uint32_t threads;
    double theta, seconds;
    const char *folder;
    struct zipf zipf;
    uint32_t stop;   /* set, and the clients end */
    int64_t delta;   /* SmallBank: of all that committed, in cents */
    uint64_t writes; /* YCSB-T: cells written by all that committed */
};

struct client {
    struct peer *peer;
    pthread_t thread;
    struct prng prng;
    uint32_t index;
    MDB_txn *reader; /* reset between read-only transactions */
    uint64_t committed;
    int64_t delta;
    uint64_t writes;
    int rc;
} __attribute__((aligned(128)));

/* ---- records ---- */

static int record_get(MDB_txn *txn, const struct peer *peer, uint64_t key, void *value, size_t bytes)
{
    MDB_val name = {sizeof key, &key}, found;
    int rc = mdb_get(txn, peer->table, &name, &found);
    if (rc) return rc;
    if (found.mv_size != bytes) return MDB_CORRUPTED;
    memcpy(value, found.mv_data, bytes);
    return 0;
}

static int record_put(MDB_txn *txn, const struct peer *peer, uint64_t key, const void *value, size_t bytes,
                      unsigned flags)
{
    MDB_val name = {sizeof key, &key}, data = {bytes, (void *)value};
    return mdb_put(txn, peer->table, &name, &data, flags);
}

static int account_put(MDB_txn *txn, const struct peer *peer, uint64_t key, const struct account *account)
{
    return record_put(txn, peer, key, account, sizeof *account, 0);
}

static int end(MDB_txn *txn, int rc)
{
    if (rc == 0) return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

static uint64_t checksum_of(const struct cell *cell)
{
    const uint64_t words[] = {cell->key, cell->cell, cell->writer, cell->writes};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 32;
    }
    return sum;
}

/* ---- the six transactions of SmallBank ---- */

static int balance(struct client *client, uint64_t key)
{
    struct account account;
    int rc = client->reader ? mdb_txn_renew(client->reader)
                            : mdb_txn_begin(client->peer->env, NULL, MDB_RDONLY, &client->reader);
    if (rc) return rc;
    rc = record_get(client->reader, client->peer, key, &account, sizeof account);
    mdb_txn_reset(client->reader);
    return rc;
}

/* Changes the balances as `type` says. False: refused, which is an outcome too. */
static bool change(enum type type, int64_t cents, struct account *from, struct account *to, int64_t *delta)
{
    switch (type) {
    case AMALGAMATE:
        to->checking += from->savings + from->checking;
        *from = (struct account){0, 0};
        return true;
    case SEND_PAYMENT:
        if (from->checking < cents) return false;
        from->checking -= cents;
        to->checking += cents;
        return true;
    case TRANSACT_SAVINGS:
        if (from->savings + cents < 0) return false;
        from->savings += cents;
        *delta = cents;
        return true;
    case WRITE_CHECK:
        *delta = -cents - (from->savings + from->checking < cents ? PENALTY_CENTS : 0);
        from->checking += *delta;
        return true;
    default:
        from->checking += cents;
        *delta = cents;
        return true;
    }
}

static int bank_write(struct client *client, enum type type, uint64_t from_key, uint64_t to_key, int64_t cents)
{
    struct peer *peer = client->peer;
    bool two = type == AMALGAMATE || type == SEND_PAYMENT;
    struct account from, to;
    int64_t delta = 0;
    MDB_txn *txn;

    int rc = mdb_txn_begin(peer->env, NULL, 0, &txn);
    if (rc) return rc;
    rc = record_get(txn, peer, from_key, &from, sizeof from);
    if (rc == 0 && two) rc = record_get(txn, peer, to_key, &to, sizeof to);
    if (rc == 0 && !change(type, cents, &from, &to, &delta)) {
        mdb_txn_abort(txn);
        return 0;
    }
    if (rc == 0) rc = account_put(txn, peer, from_key, &from);
    if (rc == 0 && two) rc = account_put(txn, peer, to_key, &to);
    rc = end(txn, rc);
    if (rc == 0) client->delta += delta;
    return rc;
}

static int bank_next(struct client *client)
{
    struct prng *prng = &client->prng;
    const struct zipf *zipf = &client->peer->zipf;
    enum type type = mix[prng_below(prng, sizeof mix)];
    uint64_t from = zipf_next(zipf, prng), to = from;
    int64_t cents = 0;

    if (type == BALANCE) return balance(client, from);
    if (type == DEPOSIT_CHECKING) cents = 1 + (int64_t)prng_below(prng, DEPOSIT_CENTS);
    if (type == TRANSACT_SAVINGS) cents = (int64_t)prng_below(prng, 2 * DEPOSIT_CENTS + 1) - DEPOSIT_CENTS;
    if (type == SEND_PAYMENT || type == WRITE_CHECK) cents = 1 + (int64_t)prng_below(prng, SPEND_CENTS);
    while ((type == AMALGAMATE || type == SEND_PAYMENT) && to == from) to = zipf_next(zipf, prng);
    return bank_write(client, type, from, to, cents);
}

/* ---- the update of YCSB-T ---- */

/* Distinct keys, ascending. */
static void keys_draw(struct client *client, uint64_t *keys)
{
    for (uint32_t count = 0; count < YCSB_PER_TXN;) {
        uint64_t key = zipf_next(&client->peer->zipf, &client->prng);
        uint32_t at = count;
        while (at > 0 && keys[at - 1] > key) at--;
        if (at > 0 && keys[at - 1] == key) continue;
        memmove(&keys[at + 1], &keys[at], (count - at) * sizeof *keys);
        keys[at] = key;
        count++;
    }
}

static int update_one(MDB_txn *txn, struct client *client, uint64_t key)
{
    struct row row;
    int rc = record_get(txn, client->peer, key, &row, sizeof row);
    if (rc) return rc;
    struct cell *cell = &row.cells[prng_below(&client->prng, YCSB_CELLS)];
    cell->writer = client->index;
    cell->writes++;
    cell->checksum = checksum_of(cell);
    return record_put(txn, client->peer, key, &row, sizeof row, 0);
}

static int ycsb_next(struct client *client)
{
    uint64_t keys[YCSB_PER_TXN + 1];
    MDB_txn *txn;

    keys_draw(client, keys);
    int rc = mdb_txn_begin(client->peer->env, NULL, 0, &txn);
    if (rc) return rc;
    for (uint32_t i = 0; rc == 0 && i < YCSB_PER_TXN; i++) rc = update_one(txn, client, keys[i]);
    rc = end(txn, rc);
    if (rc == 0) client->writes += YCSB_PER_TXN;
    return rc;
}

/* ---- load and check ---- */

static int load_one(MDB_txn *txn, const struct peer *peer, uint64_t key)
{
    const struct account account = {INITIAL_CENTS, INITIAL_CENTS};
    struct row row;

    if (!peer->ycsb) return record_put(txn, peer, key, &account, sizeof account, MDB_APPEND);
    for (uint32_t i = 0; i < YCSB_CELLS; i++) {
        row.cells[i] = (struct cell){.key = key, .cell = i, .writer = UINT32_MAX};
        row.cells[i].checksum = checksum_of(&row.cells[i]);
    }
    return record_put(txn, peer, key, &row, sizeof row, MDB_APPEND);
}

static int load(struct peer *peer)
{
    for (uint64_t key = 0; key < peer->records;) {
        MDB_txn *txn;
        int rc = mdb_txn_begin(peer->env, NULL, 0, &txn);
        if (rc) return rc;
        if (key == 0) rc = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &peer->table);
        for (uint32_t i = 0; rc == 0 && i < LOAD_BATCH && key < peer->records; i++) rc = load_one(txn, peer, key++);
        rc = end(txn, rc);
        if (rc) return rc;
    }
    return 0;
}

/* Adds up all records. The sum must be what was loaded and what the clients added. */
static int check(struct peer *peer, bool *holds)
{
    int64_t cents = 0;
    uint64_t writes = 0, broken = 0;
    MDB_txn *txn;

    int rc = mdb_txn_begin(peer->env, NULL, MDB_RDONLY, &txn);
    if (rc) return rc;
    for (uint64_t key = 0; rc == 0 && key < peer->records; key++) {
        struct account account = {0, 0};
        struct row row;
        rc = peer->ycsb ? record_get(txn, peer, key, &row, sizeof row)
                        : record_get(txn, peer, key, &account, sizeof account);
        cents += account.savings + account.checking;
        for (uint32_t i = 0; rc == 0 && peer->ycsb && i < YCSB_CELLS; i++) {
            writes += row.cells[i].writes;
            broken += row.cells[i].key != key || row.cells[i].cell != i ||
                      row.cells[i].checksum != checksum_of(&row.cells[i]);
        }
    }
    mdb_txn_abort(txn);
    *holds = peer->ycsb ? writes == peer->writes && !broken
                        : cents == (int64_t)peer->records * 2 * INITIAL_CENTS + peer->delta;
    return rc;
}

/* ---- a run ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *client_main(void *arg)
{
    struct client *client = arg;
    struct peer *peer = client->peer;
    uint64_t left = peer->txns ? peer->txns : UINT64_MAX;

    while (left-- && !__atomic_load_n(&peer->stop, __ATOMIC_RELAXED)) {
        client->rc = peer->ycsb ? ycsb_next(client) : bank_next(client);
        if (client->rc) break;
        __atomic_store_n(&client->committed, client->committed + 1, __ATOMIC_RELAXED);
    }
    if (client->reader) mdb_txn_abort(client->reader);
    return NULL;
}

static uint64_t committed_so_far(const struct client *clients, uint32_t count)
{
    uint64_t committed = 0;
    for (uint32_t i = 0; i < count; i++) committed += __atomic_load_n(&clients[i].committed, __ATOMIC_RELAXED);
    return committed;
}

static void wait_s(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
}

/* Lets the clients run; the rate of the time after a warm-up. */
static double rate_timed(struct peer *peer, const struct client *clients, uint32_t count)
{
    wait_s(peer->seconds * WARMUP_SHARE);
    double begin_s = now_s();
    uint64_t before = committed_so_far(clients, count);
    wait_s(peer->seconds);
    double rate = (double)(committed_so_far(clients, count) - before) / (now_s() - begin_s);
    __atomic_store_n(&peer->stop, 1, __ATOMIC_RELAXED);
    return rate;
}

/* Transactions per second of `threads` threads: 0, or LMDB's code, or what pthread_create says. */
static int run(struct peer *peer, uint32_t threads, double *tps)
{
    struct client clients[THREADS_MAX];
    uint32_t started = 0;
    int rc = 0;

    memset(clients, 0, sizeof clients);
    __atomic_store_n(&peer->stop, 0, __ATOMIC_RELAXED);
    double begin_s = now_s();
    for (; rc == 0 && started < threads; started += rc == 0) {
        struct client *client = &clients[started];
        *client = (struct client){.peer = peer, .index = started};
        prng_seed_stream(&client->prng, peer->seed, threads * THREADS_MAX + started);
        rc = pthread_create(&client->thread, NULL, client_main, client);
    }
    if (rc)
        __atomic_store_n(&peer->stop, 1, __ATOMIC_RELAXED);
    else if (!peer->txns)
        *tps = rate_timed(peer, clients, threads);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(clients[i].thread, NULL);
        peer->delta += clients[i].delta;
        peer->writes += clients[i].writes;
        rc = rc ? rc : clients[i].rc;
    }
    if (peer->txns) *tps = (double)committed_so_far(clients, threads) / (now_s() - begin_s);
    return rc;
}

/* Each thread count in turn on the same data. */
static int measure(struct peer *peer)
{
    double best = 0;
    uint32_t best_threads = 0;
    bool holds = false;
    int rc = load(peer);

    for (uint32_t threads = 1; rc == 0 && threads <= peer->threads; threads++) {
        double tps = 0;
        rc = run(peer, threads, &tps);
        if (rc) break;
        printf("threads %" PRIu32 "  %.0f txn/s\n", threads, tps);
        if (tps > best) best = tps, best_threads = threads;
    }
    if (rc == 0) rc = check(peer, &holds);
    if (rc) {
        fprintf(stderr, "cellar-peer-lmdb: %s\n", mdb_strerror(rc));
        return 2;
    }
    printf("best  %.0f txn/s with %" PRIu32 " threads\n", best, best_threads);
    printf("check  %s\n", holds ? "ok" : peer->ycsb ? "updates lost or values broken" : "the total balance is wrong");
    return holds ? 0 : 1;
}

/* ---- the environment, in a folder of its own that is gone afterwards ---- */

static int measure_in(struct peer *peer, const char *folder)
{
    uint64_t bytes = (64ull << 20) + peer->records * (peer->ycsb ? 1024 : 256);
    int rc = mdb_env_create(&peer->env);
    if (rc == 0) {
        rc = mdb_env_set_mapsize(peer->env, bytes);
        if (rc == 0) rc = mdb_env_open(peer->env, folder, SYNC_MODE, 0600);
        int exit_code = rc ? 2 : measure(peer);
        mdb_env_close(peer->env);
        if (rc == 0) return exit_code;
    }
    fprintf(stderr, "cellar-peer-lmdb: %s: %s\n", folder, mdb_strerror(rc));
    return 2;
}

static int measure_in_new_folder(struct peer *peer)
{
    char folder[4096], file[4200];
    int length = snprintf(folder, sizeof folder, "%s/cellar-peer-XXXXXX", peer->folder);
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder)) {
        fprintf(stderr, "cellar-peer-lmdb: no folder in %s: %s\n", peer->folder, strerror(errno));
        return 2;
    }
    int exit_code = measure_in(peer, folder);
    static const char *const names[] = {"data.mdb", "lock.mdb"};
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    if (rmdir(folder)) fprintf(stderr, "cellar-peer-lmdb: %s stays: %s\n", folder, strerror(errno));
    return exit_code;
}

/* ---- command line ---- */

static const char usage[] =
    "usage: cellar-peer-lmdb smallbank|ycsb [--threads N] [--seconds S | --txns N] [--records N] [--theta T] [--seed "
    "N] [--dir FOLDER]\n"
    "  runs the workload on LMDB with 1, 2, ... N threads and prints the best (default: 2 threads, 1 second for each "
    "count);\n"
    "  records: accounts of smallbank (100000), records of ycsb (1000000, theta 0.1); --txns is for each thread\n";

static bool number(const char *text, double low, double high, double *value)
{
    char *rest;
    *value = strtod(text, &rest);
    return *text && !*rest && *value >= low && *value <= high;
}

static bool option(struct peer *peer, const char *name, const char *text)
{
    double value = 0;
    if (!strcmp(name, "--dir")) {
        peer->folder = text;
        return *text != 0;
    }
    if (!strcmp(name, "--threads") && number(text, 1, THREADS_MAX, &value))
        peer->threads = (uint32_t)value;
    else if (!strcmp(name, "--seconds") && number(text, 0.01, 1000, &value))
        peer->seconds = value;
    else if (!strcmp(name, "--txns") && number(text, 1, 1e12, &value))
        peer->txns = (uint64_t)value;
    else if (!strcmp(name, "--records") && number(text, 1000, 1e8, &value))
        peer->records = (uint64_t)value;
    else if (!strcmp(name, "--theta") && number(text, 0, 1.99, &value))
        peer->theta = value;
    else if (!strcmp(name, "--seed") && number(text, 1, 1e15, &value))
        peer->seed = (uint64_t)value;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--help")) return fputs(usage, stdout) < 0 ? 2 : 0;
    struct peer peer = {.ycsb = argc > 1 && !strcmp(argv[1], "ycsb"), .seed = 1, .threads = 2, .seconds = 1};
    if (argc < 2 || (!peer.ycsb && strcmp(argv[1], "smallbank") != 0)) return fputs(usage, stderr), 2;
    peer.records = peer.ycsb ? 1000000 : 100000;
    peer.theta = peer.ycsb ? 0.1 : 0;
    peer.folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 == argc || !option(&peer, argv[i], argv[i + 1])) {
            fprintf(stderr, "cellar-peer-lmdb: %s %s is no option with a sensible value: see --help\n", argv[i],
                    i + 1 < argc ? argv[i + 1] : "");
            return 2;
        }
    }
    if (zipf_init(&peer.zipf, peer.records, peer.theta)) return 2;
    printf("lmdb %d.%d.%d  %s  %" PRIu64 " records  theta %g  %s  in %s\n", MDB_VERSION_MAJOR, MDB_VERSION_MINOR,
           MDB_VERSION_PATCH, argv[1], peer.records, peer.theta, SYNC_MODE_NAME, peer.folder);
    fflush(stdout);
    return measure_in_new_folder(&peer);
}
