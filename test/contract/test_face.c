/*
 * test_face.c - the public headers as a program sees them: structs that begin with their size, what a path leads to,
 * the thread's last error, and that every call which can fail has it.
 */
#include "cellar_cluster.h"
#include "numbered.h"
#include "cellar_lab.h"
#include "face_calls.h"
#include "face_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pthread.h>

#define BYTES (8u << 20)
#define UNKNOWN_MOST 4096

struct account {
    int64_t cents;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents)};

static const struct cellar_table *accounts_of(struct cellar *db)
{
    const struct cellar_schema schema = {.name = "accounts",
                                         .row_bytes = sizeof(struct account),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = 100};
    const struct cellar_table *table = NULL;
    ok(cellar_table_create(db, &schema, &table));
    return table;
}

/* ---- structs that begin with their size ---- */

static int open_with(const void *options)
{
    struct cellar *db = NULL;
    int rc = cellar_open(NULL, options, &db);
    assert_true((rc == 0) == (db != NULL));
    if (db) ok(cellar_close(db));
    return rc;
}

/* As a program has it that was compiled with a later header: `bytes` of it, the last of which is `last`. */
static int open_later(uint32_t bytes, uint8_t last)
{
    union {
        struct cellar_options options;
        uint8_t bytes[UNKNOWN_MOST + 1];
    } *later = calloc(1, sizeof *later);
    later->options = (struct cellar_options){.size = bytes, .bytes = BYTES};
    later->bytes[bytes - 1] = last;
    int rc = open_with(later);
    free(later);
    return rc;
}

static void a_size_says_what_both_know(void **state)
{
    (void)state;
    const uint32_t known = sizeof(struct cellar_options);
    ok(open_with(NULL));
    ok(open_with(CELLAR_OPTIONS(.bytes = BYTES)));
    ok(open_later(known + 8, 0));
    ok(open_later(UNKNOWN_MOST, 0));
    refused(open_later(known + 8, 1), CELLAR_INVALID, "older than the header");
    refused(open_later(UNKNOWN_MOST + 1, 0), CELLAR_INVALID, "cellar_options.size is 4097");
    refused(open_with(&(struct cellar_options){.bytes = BYTES}), CELLAR_INVALID, "cellar_options.size is 0");
    /* As an earlier header had it: nothing behind that is read. */
    struct {
        uint32_t size, flags;
        uint64_t bytes;
    } *earlier = malloc(sizeof *earlier);
    *earlier = (__typeof__(*earlier)){.size = sizeof *earlier, .bytes = BYTES};
    ok(open_with(earlier));
    free(earlier);
    refused(open_with(CELLAR_OPTIONS(.lab = &(struct cellar_lab){.coros = 1})), CELLAR_INVALID, "cellar_lab.size is 0");
    refused(open_with(CELLAR_OPTIONS(.cluster = &(struct cellar_cluster){.memnodes = "x"})), CELLAR_INVALID,
            "cellar_cluster.size is 0");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused(open_with(CELLAR_OPTIONS(.flags = 4)), CELLAR_INVALID, "flags 0x4");
    refused(open_with(CELLAR_OPTIONS(.epoch_us = UINT64_MAX)), CELLAR_INVALID, "epoch_us");
    refused(open_with(CELLAR_OPTIONS(.durability = CELLAR_DURABLE)), CELLAR_INVALID, "no folder");
    refused(open_with(CELLAR_OPTIONS(.durability = (enum cellar_durability)3)), CELLAR_INVALID, "level");
    refused(open_with(CELLAR_OPTIONS(.processes_max = UINT32_MAX, .lab = CELLAR_LAB(.cns = 2))), CELLAR_INVALID,
            "cns_max");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.node = 1))), CELLAR_INVALID, "memnodes is NULL");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "x", .verbs = 2))), CELLAR_INVALID,
            "verbs 2");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "x", .lease_us = UINT64_MAX - 1))),
            CELLAR_INVALID, "lease_us");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "/nowhere/at/all"))), CELLAR_UNREACHABLE,
            "/nowhere/at/all");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "x"), .lab = CELLAR_LAB(.mns = 2))),
            CELLAR_INVALID, "cellar_lab.mns");
    refused(open_with(CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "x"), .lab = CELLAR_LAB(.sim = 1))),
            CELLAR_INVALID, "virtual time");
    refused(open_with(CELLAR_OPTIONS(.lab = CELLAR_LAB(.sim = 2))), CELLAR_INVALID, "sim 2");
    refused(open_with(CELLAR_OPTIONS(.lab = CELLAR_LAB(.lost = 1))), CELLAR_INVALID, "lost: ");
    refused(open_with(CELLAR_OPTIONS(.lab = CELLAR_LAB(.replicas = 1))), CELLAR_INVALID, "1 backups need 2");
    refused(cellar_open(NULL, NULL, NULL), CELLAR_INVALID, "no place");
    refused(cellar_open("", NULL, &(struct cellar *){NULL}), CELLAR_INVALID, "the path is empty");
    refused(cellar_open("/tmp/x", CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "x")), &(struct cellar *){NULL}),
            CELLAR_INVALID, "the memory nodes of a cluster keep the pool");
}

static void said(void *arg, enum cellar_log_level level, const char *text)
{
    (void)arg;
    (void)level;
    (void)text;
}

/* Every member comes to where the engine looks for it: all have other values. */
static void every_option_arrives(void **state)
{
    struct engine_config config;
    struct cellar_error error;
    struct cellar_decider decider = {.name = "x"};
    (void)state;
    const struct cellar_cluster *cluster = CELLAR_CLUSTER(.verbs = 1, .replicas = 2, .node = 3, .memnodes = "m",
                                                          .secret_path = "s", .lease_us = 4, .decider = &decider);
    const struct cellar_lab *lab =
        CELLAR_LAB(.cc = CELLAR_LAB_CC_CELL, .cns = 5, .coros = 6, .seed = 7, .log_bytes = 8, .rtt_ns = 9,
                   .backoff_cap_ns = 10, .hot = "h", .way = "w", .lock = "l", .lock_policy = "p");
    assert_int_equal(face_options_read(&config, NULL,
                                       CELLAR_OPTIONS(.flags = CELLAR_EXISTING, .bytes = 11,
                                                      .durability = CELLAR_MEMORY, .txns_max = 12, .threads = 13,
                                                      .processes_max = 14, .epoch_us = 15, .log_bytes = 16, .log = said,
                                                      .log_arg = &config, .cluster = cluster, .lab = lab),
                                       &error),
                     0);
    assert_string_equal(config.fabric, "verbs");
    assert_true(config.replicas == 2 && config.cn_index == 3 && config.lease_ns == 4000 && config.decider == &decider);
    assert_true(!strcmp(config.memnodes, "m") && !strcmp(config.secret_path, "s"));
    assert_true(config.cc == CELLAR_LAB_CC_CELL && config.cns == 5 && config.coros == 6 && config.seed == 7);
    assert_true(config.log_bytes == 8 && config.rtt_ns == 9 && config.backoff_cap_ns == 10);
    assert_true(!strcmp(config.hot, "h") && !strcmp(config.way, "w"));
    assert_true(!strcmp(config.lock, "l") && !strcmp(config.lock_policy, "p"));
    assert_true(config.existing && !config.pool_private && config.pool_bytes == 11 && config.level == CELLAR_MEMORY);
    assert_true(config.sessions == 12 && config.threads == 13 && config.cns_max == 5 * 14);
    assert_true(config.epoch_ns == 15000 && config.durable_bytes == 16);
    assert_true(config.log == said && config.log_arg == &config);
    assert_int_equal(
        face_options_read(&config, NULL,
                          CELLAR_OPTIONS(.flags = CELLAR_PRIVATE, .lab = CELLAR_LAB(.mns = 2, .replicas = 1, .sim = 1)),
                          &error),
        0);
    assert_true(config.pool_private && !config.existing && config.mns == 2 && config.replicas == 1);
    assert_string_equal(config.fabric, "sim");
    cluster = CELLAR_CLUSTER(.memnodes = "m", .lease_us = CELLAR_LEASE_NONE);
    assert_int_equal(face_options_read(&config, NULL, CELLAR_OPTIONS(.cluster = cluster), &error), 0);
    assert_true(config.lease_ns == CELLAR_LEASE_NONE && !strcmp(config.fabric, "shm") && config.cns_max == 0);
}

/* ---- what a path leads to ---- */

struct place {
    char folder[32], path[48];
};

static void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-face-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/bank", place->folder);
}

static void place_remove(const struct place *place)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", place->folder);
    assert_int_equal(system(command), 0);
}

static mode_t kind_of(const char *path)
{
    struct stat status;
    return stat(path, &status) ? 0 : status.st_mode & S_IFMT;
}

static int insert_one(struct cellar_txn *txn, void *table)
{
    return cellar_txn_insert(txn, table, 7, &(struct account){100});
}

static int read_one(struct cellar_txn *txn, void *table)
{
    int64_t cents = 0;
    int rc = cellar_txn_get(txn, table, 7, 0, &cents);
    return rc ? rc : cents == 100 ? 0 : CELLAR_CORRUPT;
}

static int transact(struct cellar *db, cellar_txn_fn fn)
{
    return cellar_run(db, fn, (void *)(uintptr_t)accounts_of(db), NULL, NULL);
}

/* Opens, runs fn, closes. */
static void visit(const char *path, const struct cellar_options *options, cellar_txn_fn fn)
{
    struct cellar *db;
    ok(cellar_open(path, options, &db));
    ok(transact(db, fn));
    ok(cellar_close(db));
}

static int look(const char *path, const struct cellar_options *options)
{
    struct cellar *db = NULL;
    int rc = cellar_open(path, options, &db);
    if (rc == 0) ok(cellar_close(db));
    return rc;
}

static void where_nothing_is_a_folder_is_made(void **state)
{
    struct place place;
    struct cellar *db;
    (void)state;
    place_make(&place);
    refused(look(place.path, CELLAR_OPTIONS(.flags = CELLAR_EXISTING)), CELLAR_NOT_FOUND, place.path);
    assert_int_equal(kind_of(place.path), 0);
    visit(place.path, CELLAR_OPTIONS(.bytes = BYTES), insert_one);
    assert_int_equal(kind_of(place.path), S_IFDIR);
    visit(place.path, NULL, read_one);
    visit(place.path, CELLAR_OPTIONS(.durability = CELLAR_MEMORY), read_one);
    visit(place.path, CELLAR_OPTIONS(.flags = CELLAR_EXISTING, .durability = CELLAR_DURABLE), read_one);
    visit(place.path, CELLAR_OPTIONS(.flags = CELLAR_PRIVATE), read_one);
    ok(cellar_open(place.path, NULL, &db));
    refused(look(place.path, NULL), CELLAR_EXISTS, place.path);
    ok(cellar_close(db));
    place_remove(&place);
}

static void a_file_keeps_memory(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    visit(place.path, CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY), insert_one);
    assert_int_equal(kind_of(place.path), S_IFREG);
    visit(place.path, NULL, read_one); /* it is there, so it is what it is */
    refused(look(place.path, CELLAR_OPTIONS(.durability = CELLAR_DURABLE)), CELLAR_INVALID, "kept in a folder");
    visit(place.path, CELLAR_OPTIONS(.bytes = 2 * BYTES), read_one); /* of its own size */
    refused(look("/nowhere/at/all", CELLAR_OPTIONS(.flags = CELLAR_PRIVATE)), CELLAR_NOT_FOUND, "there is no pool");
    place_remove(&place);
}

static int commit_one(struct cellar *db, const struct cellar_table *table, uint64_t *epoch)
{
    struct cellar_result result;
    struct cellar_txn *txn;
    ok(cellar_begin(db, NULL, &txn));
    ok(cellar_txn_insert(txn, table, 8, &(struct account){1}));
    int rc = cellar_commit(txn, &result);
    *epoch = result.epoch;
    return rc;
}

static void a_sync_waits_for_an_epoch(void **state)
{
    struct place place;
    struct cellar *db;
    uint64_t epoch = 0;
    (void)state;
    place_make(&place);
    ok(cellar_open(place.path, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = accounts_of(db);
    ok(cellar_sync(db, 0));
    ok(commit_one(db, table, &epoch));
    assert_true(epoch > 0 && cellar_durable_epoch(db) >= epoch); /* of level DURABLE, by default */
    ok(cellar_sync(db, epoch));
    refused(cellar_sync(db, UINT64_MAX), CELLAR_INVALID, "no transaction has epoch 18446744073709551615 yet");
    ok(cellar_close(db));
    ok(cellar_open(place.path, CELLAR_OPTIONS(.durability = CELLAR_MEMORY, .epoch_us = 1000000), &db));
    struct cellar_txn *txn;
    struct cellar_result result;
    ok(cellar_begin(db, NULL, &txn));
    ok(cellar_txn_delete(txn, accounts_of(db), 8));
    ok(cellar_commit(txn, &result));
    ok(cellar_sync(db, result.epoch));
    assert_true(cellar_durable_epoch(db) >= result.epoch);
    ok(cellar_close(db));
    place_remove(&place);
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    refused(cellar_sync(db, 0), CELLAR_INVALID, "no folder");
    ok(cellar_close(db));
}

/* ---- the last error ---- */

static void *of_another_thread(void *arg)
{
    bool *right = arg;
    *right = cellar_last_error()->code == 0 && cellar_last_error()->text[0] == 0;
    *right = cellar_open("", NULL, &(struct cellar *){NULL}) == CELLAR_INVALID &&
             strstr(cellar_last_error()->text, "empty") && *right;
    return NULL;
}

static void each_thread_has_its_last_error(void **state)
{
    pthread_t thread;
    bool right = false;
    (void)state;
    refused(cellar_close(NULL) ? 0 : cellar_sync(NULL, 0), CELLAR_INVALID, "the database is NULL");
    assert_int_equal(pthread_create(&thread, NULL, of_another_thread, &right), 0);
    pthread_join(thread, NULL);
    assert_true(right);
    ok(open_with(NULL)); /* what goes well says nothing */
    refused(CELLAR_INVALID, CELLAR_INVALID, "the database is NULL");
}

static int proc_gets(struct cellar_txn *txn, void *table)
{
    int ref = cellar_proc_access(txn, table, 99, 1, 0, 0);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

static int proc_waits(struct cellar_txn *txn, void *db)
{
    (void)txn;
    return cellar_sync(db, 0) == CELLAR_INVALID && cellar_cluster_audit(db) == CELLAR_INVALID ? 1 : 0;
}

static int client_fails(struct cellar_lab_client *client, void *table)
{
    int64_t cents = 1;
    if (cellar_lab_index(client)) return 0;
    int rc = cellar_lab_load(client, table, 1, &cents);
    if (rc == 0) rc = cellar_lab_load(client, table, 1, &cents);
    return rc == CELLAR_EXISTS && cellar_last_error()->code == CELLAR_EXISTS ? CELLAR_FULL : CELLAR_CORRUPT;
}

/* Of a transaction: where it was found, where it commits, where there is none, and of procedures. */
static void a_transactions_error_names_its_record(void **state)
{
    struct cellar *db;
    struct cellar_txn *txn;
    int64_t cents;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = accounts_of(db);
    ok(cellar_begin(db, NULL, &txn));
    refused(cellar_txn_get(txn, table, 42, 0, &cents), CELLAR_NOT_FOUND, "table accounts, key 42");
    refused(cellar_txn_get(txn, table, 42, 5, &cents), CELLAR_INVALID, "no column of this number");
    refused(cellar_txn_get(txn, NULL, 42, 0, &cents), CELLAR_INVALID, "the table is NULL");
    refused(cellar_close(db), CELLAR_BUSY, "a transaction has not ended");
    ok(cellar_txn_delete(txn, table, 43));
    refused(cellar_commit(txn, NULL), CELLAR_NOT_FOUND, "table accounts, key 43");
    refused(cellar_commit(txn, NULL), CELLAR_INVALID, "the transaction has ended");
    refused(cellar_txn_get(NULL, table, 1, 0, &cents), CELLAR_INVALID, "");
    const struct cellar_proc *gets, *waits;
    ok(cellar_proc_register(db, &(struct cellar_proc_def){"gets", proc_gets, 1, 1, 0, 0}, &gets));
    ok(cellar_proc_register(db, &(struct cellar_proc_def){"waits", proc_waits, 1, 1, 0, 0}, &waits));
    refused(cellar_proc_run(db, gets, (void *)(uintptr_t)table, NULL, NULL), CELLAR_NOT_FOUND,
            "table accounts, key 99");
    refused(cellar_proc_run(db, NULL, NULL, NULL, NULL), CELLAR_INVALID, "");
    assert_int_equal(cellar_proc_run(db, waits, db, NULL, NULL), 1);
    refused(cellar_lab_run(db, client_fails, (void *)(uintptr_t)table), CELLAR_FULL, "no space");
    refused(cellar_lab_run(db, NULL, NULL), CELLAR_INVALID, "invalid");
    ok(cellar_cluster_audit(db));
    ok(cellar_close(db));
    refused(cellar_close(db), CELLAR_CLOSED, "closed");
    refused(cellar_begin(db, NULL, &txn), CELLAR_CLOSED, "closed");
    refused(cellar_commit(txn, NULL), CELLAR_INVALID, "");
    refused(cellar_cluster_audit(db), CELLAR_CLOSED, "closed");
}

#define NO_DATABASE(call) refused((call), CELLAR_INVALID, "the database is NULL")

/* Each call that takes a database, and each that makes something of what it is given. */
static void every_call_says_what_it_lacks(void **state)
{
    const struct cellar_table *table;
    const struct cellar_index *index;
    const struct cellar_proc *proc;
    struct cellar_queue *queue;
    struct cellar_txn *txn;
    struct cellar_key_part part = {.sort = (enum cellar_sort)9};
    enum cellar_fate fate;
    uint64_t id[2] = {0, 0};
    char key[8];
    (void)state;
    NO_DATABASE(cellar_sync(NULL, 0));
    NO_DATABASE(cellar_backup(NULL, "x"));
    NO_DATABASE(cellar_table_create(NULL, &(struct cellar_schema){.name = "x"}, &table));
    NO_DATABASE(cellar_table_drop(NULL, NULL));
    NO_DATABASE(cellar_table_truncate(NULL, NULL));
    NO_DATABASE(cellar_table_alter(NULL, NULL, &(struct cellar_table_def){.size = sizeof(struct cellar_table_def)},
                                   NULL, &table));
    NO_DATABASE(cellar_index_create(NULL, NULL, &(struct cellar_schema_index){.name = "x"}, &index));
    refused(cellar_index_drop(NULL, NULL), CELLAR_INVALID, "the index is NULL");
    NO_DATABASE(cellar_begin(NULL, NULL, &txn));
    NO_DATABASE(cellar_run(NULL, read_one, NULL, NULL, NULL));
    NO_DATABASE(cellar_proc_register(NULL, &(struct cellar_proc_def){.name = "x", .fn = proc_gets}, &proc));
    NO_DATABASE(cellar_proc_queue_open(NULL, 1, NULL, NULL, &queue));
    NO_DATABASE(cellar_cluster_recover(NULL, 0));
    NO_DATABASE(cellar_cluster_replace(NULL, 0));
    NO_DATABASE(cellar_cluster_outcome(NULL, id, &fate));
    NO_DATABASE(cellar_cluster_audit(NULL));
    refused(cellar_lab_run(NULL, client_fails, NULL), CELLAR_INVALID, "invalid");
    refused(cellar_lab_durable_read(NULL, &(struct cellar_lab_durable){0}), CELLAR_INVALID, "invalid");
    refused(cellar_proc_submit(NULL, NULL, NULL, NULL, NULL), CELLAR_INVALID, "invalid");
    refused(cellar_proc_reap(NULL, NULL, 0, 0), CELLAR_INVALID, "invalid");
    refused(cellar_key_set(key, sizeof key, "much too long", 13), CELLAR_TOO_LARGE, "larger");
    refused(cellar_value_set(key, sizeof key, "x", 1), CELLAR_TOO_LARGE, "larger");
    refused(cellar_key_pack(key, sizeof key, &part, 1), CELLAR_INVALID, "invalid");
    refused(cellar_key_unpack(key, sizeof key, &part, 1, NULL, 0), CELLAR_INVALID, "invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_says_what_both_know),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(every_option_arrives),
        cmocka_unit_test(where_nothing_is_a_folder_is_made),
        cmocka_unit_test(a_file_keeps_memory),
        cmocka_unit_test(a_sync_waits_for_an_epoch),
        cmocka_unit_test(each_thread_has_its_last_error),
        cmocka_unit_test(a_transactions_error_names_its_record),
        cmocka_unit_test(every_call_says_what_it_lacks),
    };
    return cmocka_run_group_tests_name("face", tests, NULL, NULL);
}
