/*
 * durable_folder.c - durable folders for test_durable_folder.sh, by the public API.
 *
 *     durable_folder make DIR N     a pool with table accounts; accounts 1 to N get 100 cents, each durable; closed
 *     durable_folder make DIR N MNS BACKUPS       likewise, of so many memory nodes
 *     durable_folder add DIR N      each of them gets one more; closed
 *     durable_folder stay DIR N     likewise, then says `ready` and waits, to be killed
 *     durable_folder load DIR N     N further accounts are loaded, durable by a checkpoint; then as stay
 *     durable_folder fill DIR N     2,000 more, of level memory, so that the log takes several files; then as stay
 *     durable_folder look DIR N     opened privately: reads and changes them, and nothing of that is kept
 *     durable_folder older DIR      the file `cellar`, as a build with other layouts would have written it
 */
#include <cellar_lab.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct account {
    uint64_t id;
    int64_t cents;
};
#define ROUNDS 2000

enum { ID, CENTS };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents)}};

struct deed {
    const struct cellar_table *table;
    struct account row; /* in: its id; out: what it has now */
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static int insert(struct cellar_txn *txn, void *arg)
{
    struct deed *deed = arg;
    deed->row.cents = 100;
    return cellar_insert(txn, deed->table, &deed->row);
}

static int add(struct cellar_txn *txn, void *arg)
{
    struct deed *deed = arg;
    int code = cellar_get(txn, deed->table, CELLAR_COL(CENTS), 0, &deed->row);
    deed->row.cents++;
    return code ? code : cellar_put(txn, deed->table, CELLAR_COL(CENTS), &deed->row);
}

/* The table: made, or (EXISTING) that of an earlier run. */
static const struct cellar_table *table_open(struct cellar *db, uint32_t flags)
{
    const struct cellar_table *table;
    if (cellar_table_open(db, CELLAR_TABLE(struct account, columns, .name = "accounts", .rows = 1000), flags, &table))
        fail("accounts", cellar_last_error()->text);
    return table;
}

static void each(struct cellar *db, uint64_t count, cellar_txn_fn fn)
{
    struct deed deed = {.table = table_open(db, CELLAR_EXISTING)};
    for (deed.row.id = 1; deed.row.id <= count; deed.row.id++) {
        int code = cellar_run(db, fn, &deed, NULL, NULL);
        if (code) fail("transaction", cellar_last_error()->text);
    }
    printf("account %" PRIu64 " has %" PRId64 "\n", count, deed.row.cents);
}

static void fill(struct cellar *db, uint64_t count)
{
    for (int i = 0; i < ROUNDS; i++) each(db, count, add);
    if (cellar_sync(db, 0)) fail("fill", cellar_last_error()->text);
}

static int rows_load(struct cellar_lab_client *client, void *arg)
{
    const struct deed *deed = arg;
    struct account row = {.cents = 100};
    int code = 0;
    for (uint64_t i = 0; i < deed->row.id && code == 0 && cellar_lab_index(client) == 0; i++) {
        row.id = 1000 + i;
        code = cellar_lab_load(client, deed->table, 0, &row);
    }
    return code;
}

static void load(struct cellar *db, uint64_t count)
{
    struct deed deed = {.table = table_open(db, CELLAR_EXISTING), .row = {.id = count}};
    if (cellar_lab_run(db, rows_load, &deed)) fail("load", "rows");
    if (cellar_sync(db, 0)) fail("load", cellar_last_error()->text);
}

static void stay(void)
{
    puts("ready");
    fflush(stdout);
    pause();
}

/* Nothing that rests on a folder that was only looked at can be durable. */
static void look(const char *folder, uint64_t count)
{
    struct cellar *db;
    if (cellar_open(folder, CELLAR_OPTIONS(.flags = CELLAR_PRIVATE, .durability = CELLAR_DURABLE), &db) !=
        CELLAR_INVALID)
        fail("look", "level durable");
    if (cellar_open(folder, CELLAR_OPTIONS(.flags = CELLAR_PRIVATE, .durability = CELLAR_MEMORY), &db))
        fail("look", cellar_last_error()->text);
    each(db, count, add);
    if (cellar_sync(db, 0) != CELLAR_INVALID) fail("look", "it waits for a disk");
    cellar_close(db);
}

/* Bytes as docs/durability.md has them: the fingerprint is at 56, the checksum at 80. */
static void older(const char *folder)
{
    char path[4096];
    uint64_t block[512], zero = 0;
    snprintf(path, sizeof path, "%s/cellar", folder);
    FILE *file = fopen(path, "r+b");
    if (!file || fread(block, sizeof block, 1, file) != 1) fail(path, "cannot be read");
    block[7]++;
    block[10] = zero;
    block[10] = XXH3_64bits(block, sizeof block);
    rewind(file);
    if (fwrite(block, sizeof block, 1, file) != 1 || fclose(file)) fail(path, "cannot be written");
}

static void said(void *arg, enum cellar_log_level level, const char *text)
{
    (void)arg;
    if (level >= CELLAR_LOG_WARNING || !strncmp(text, "restor", 6))
        fprintf(stderr, "%s: %s\n", level >= CELLAR_LOG_WARNING ? "warning" : "info", text);
}

int main(int count, char **arguments)
{
    if (count < 3) return 2;
    const char *what = arguments[1], *folder = arguments[2];
    uint64_t accounts = count > 3 ? strtoull(arguments[3], NULL, 10) : 0;
    struct cellar_lab lab = {.size = sizeof lab};
    if (count > 5) lab.mns = (uint32_t)strtoul(arguments[4], NULL, 10);
    if (count > 5) lab.replicas = (uint32_t)strtoul(arguments[5], NULL, 10);
    const struct cellar_options *options =
        CELLAR_OPTIONS(.bytes = 16u << 20, .log_bytes = 64u << 20, .log = said, .lab = &lab,
                       .durability = strcmp(what, "fill") ? CELLAR_DURABLE : CELLAR_MEMORY);
    struct cellar *db;
    if (!strcmp(what, "older")) return older(folder), 0;
    if (!strcmp(what, "look")) return look(folder, accounts), 0;
    if (cellar_open(folder, options, &db)) fail("open", cellar_last_error()->text);
    if (!strcmp(what, "make")) (void)table_open(db, 0);
    if (!strcmp(what, "fill"))
        fill(db, accounts);
    else if (!strcmp(what, "load"))
        load(db, accounts);
    else
        each(db, accounts, strcmp(what, "make") ? add : insert);
    if (!strcmp(what, "fill") || !strcmp(what, "load") || !strcmp(what, "stay")) stay();
    cellar_close(db);
    return 0;
}
