/*
 * test_damage.c - pool files with a flipped bit: of one that was closed each is refused, or the byte was in no use;
 * of one whose process was killed each is refused, repaired, or in what has no checksum then (values, and the last
 * entries of logs). A refused open has changed no byte, and no call hangs.
 *
 * And a tag that names no member, met in a pool that is in use: calls end CORRUPT, in every mode.
 *
 * `test_damage N` draws N flips of each kind of file instead of a sample; `test_damage N PLANT` with a planted bug.
 */
#include "batch.h"
#include "numbered.h"
#include "bulk.h"
#include "coordinator.h"
#include "db.h"
#include "db_open.h"
#include "plant.h"
#include "prng.h"
#include "rivals.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define POOL_BYTES (2ull << 20)
#define ROWS 200
#define PATIENCE_S 60 /* no open takes so long, however loaded the machine is */
#define BALANCE 1000000

static uint32_t flips = 120;
static char folder[] = "/tmp/cellar-damage-XXXXXX";
static char path[64];
static uint8_t file[POOL_BYTES], after[POOL_BYTES];

struct row {
    uint64_t left, right; /* their sum never changes */
};

/* ---- a database ---- */

struct bank {
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *move;
    bool dies; /* amid a transaction that holds its locks */
    struct cellar_error error;
};

struct move_args {
    struct bank *bank;
    uint64_t key;
};

static int move_proc(struct cellar_txn *txn, void *arg)
{
    struct move_args *args = arg;
    struct row row;
    int ref = cellar_proc_access(txn, args->bank->table, args->key, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get_row(txn, ref, &row);
    if (code < 0) return code;
    if (args->bank->dies) raise(SIGKILL);
    row.left--;
    row.right++;
    return cellar_proc_put_row(txn, ref, &row);
}

static int bank_prepare(struct bank *bank)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, left),
                                                          CELLAR_COLUMN(struct row, right)};
    const struct cellar_schema schema = {.name = "bank",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 2 * ROWS};
    const struct cellar_proc_def move = {.name = "move", .fn = move_proc, .records_max = 1, .writes_max = 1};
    int code = db_table_create(bank->db, &schema, &bank->table, &bank->error);
    return code ? code : db_proc_register(bank->db, &move, &bank->move, &bank->error);
}

static int bank_open(struct bank *bank)
{
    const struct engine_config config = {.pool_path = path, .pool_bytes = POOL_BYTES, .coros = 1, .log_bytes = 65536};
    int code = db_open(&config, &bank->db, &bank->error);
    return code ? code : bank_prepare(bank);
}

static int load_client(struct cellar_lab_client *client, void *arg)
{
    struct bank *bank = arg;
    int code = 0;
    for (uint64_t key = 0; key < ROWS && code == 0; key++)
        code = db_load(client, bank->table, key, &(struct row){BALANCE, key}, &bank->error);
    return code;
}

/* Every row once, without a deadline. */
static int move_client(struct cellar_lab_client *client, void *arg)
{
    struct bank *bank = arg;
    int code = 0;
    for (uint64_t key = 0; key < ROWS && code == 0; key++) {
        struct cellar_result result;
        code = cellar_lab_exec(client, bank->move, &(struct move_args){bank, key}, NULL, &result);
    }
    return code;
}

struct sums {
    uint32_t rows, wrong;
};

static int row_sum(void *arg, uint64_t key, const void *bytes)
{
    struct sums *sums = arg;
    const struct row *row = bytes;
    sums->rows++;
    sums->wrong += key >= ROWS || row->left + row->right != BALANCE + key;
    return 0;
}

struct judge {
    struct bank *bank;
    struct sums sums;
};

static int judge_client(struct cellar_lab_client *client, void *arg)
{
    struct judge *judge = arg;
    int code = db_audit(client, &judge->bank->error);
    return code ? code : db_scan(client, judge->bank->table, row_sum, &judge->sums, &judge->bank->error);
}

/* ---- in a process of its own ---- */

enum end { END_RIGHT, END_REFUSED, END_FOUND, END_WRONG, END_STRANGE };

static const char *const ends[] = {"right", "refused", "found", "wrong", "strange"};

static bool expected(int code) { return code == CELLAR_CORRUPT || code == CELLAR_MISMATCH; }

/* Opens, looks at everything, uses everything, closes, opens again. */
static enum end use(void)
{
    struct bank bank = {0};
    int code = bank_open(&bank);
    if (code && !bank.db) return expected(code) ? END_REFUSED : END_STRANGE;
    for (int times = 0; code == 0 && times < 2; times++) {
        struct judge judge = {&bank, {0, 0}};
        code = cellar_lab_run(bank.db, judge_client, &judge);
        if (code == 0 && (judge.sums.wrong || judge.sums.rows != ROWS)) return END_WRONG;
        if (code == 0) code = cellar_lab_run(bank.db, move_client, &bank);
    }
    if (code) return expected(code) ? END_FOUND : END_STRANGE;
    cellar_close(bank.db);
    memset(&bank, 0, sizeof bank);
    if (bank_open(&bank)) return END_STRANGE; /* it closed it itself */
    cellar_close(bank.db);
    return END_RIGHT;
}

static enum end used(void)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit((int)use());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? (enum end)WEXITSTATUS(status) : END_STRANGE;
}

static void file_read(uint8_t *bytes)
{
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, POOL_BYTES), POOL_BYTES);
    close(fd);
}

static void file_write(const uint8_t *bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, POOL_BYTES), POOL_BYTES);
    close(fd);
}

/* A file that was closed; or one whose process died amid a transaction. */
static void file_make(bool dirty)
{
    int status;
    unlink(path);
    pid_t child = fork();
    if (child == 0) {
        struct bank bank = {0};
        alarm(PATIENCE_S);
        if (bank_open(&bank) || cellar_lab_run(bank.db, load_client, &bank)) _exit(1);
        if (cellar_lab_run(bank.db, move_client, &bank)) _exit(1);
        bank.dies = dirty;
        if (dirty) (void)!cellar_lab_run(bank.db, move_client, &bank);
        cellar_close(bank.db);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(dirty ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    file_read(file);
}

/* ---- what lies where ---- */

struct places {
    uint64_t heap, used_end, spares, spares_end, seal, seal_end;
};

/* As the superblock says, of a pool of one memory node and one compute node. */
static struct places places_of(void)
{
    const struct superblock_wire *block = (const struct superblock_wire *)(const void *)file;
    uint64_t all = (block->area_bytes - block->heap_offset) / LAYOUT_CHUNK_BYTES;
    uint64_t spares = block->cn_count < all / LAYOUT_SPARES_PART ? block->cn_count : all / LAYOUT_SPARES_PART;
    struct places places = {.heap = block->heap_offset, .seal = block->area_bytes - LAYOUT_CHUNK_BYTES};
    places.used_end = places.heap + block->chunk_next * LAYOUT_CHUNK_BYTES;
    places.spares_end = places.seal;
    places.spares = places.seal - spares * LAYOUT_CHUNK_BYTES;
    places.seal_end = places.seal + sizeof(struct seal_wire) + (block->chunk_next + spares) * sizeof(uint64_t);
    return places;
}

static bool covered(const struct places *places, uint64_t at)
{
    if (at >= LAYOUT_LOCKS_OFFSET && at < places->heap) return false; /* every opening clears its locks */
    return at < places->used_end || (at >= places->spares && at < places->seal_end);
}

/* The run that a byte of the heap is in; NULL: none. */
static const struct chunk_wire *run_at(const struct places *places, uint64_t at, uint64_t *in_run)
{
    for (uint64_t offset = places->heap; offset < places->used_end;) {
        const struct chunk_wire *run = (const struct chunk_wire *)(const void *)(file + offset);
        uint64_t end = offset + (run->chunk_count ? run->chunk_count : 1) * LAYOUT_CHUNK_BYTES;
        *in_run = at - offset;
        if (at >= offset && at < end) return run;
        offset = end;
    }
    return NULL;
}

/* Without a checksum: what a killed process left of values, and of log entries that may be no whole ones. */
static bool unprotected(const struct places *places, uint64_t at)
{
    uint64_t in_run = 0;
    const struct chunk_wire *run = run_at(places, at, &in_run);
    if (!run || in_run < sizeof *run) return false;
    if (run->kind == LAYOUT_RUN_LOG) return true;
    return run->kind == LAYOUT_RUN_RECORDS && (in_run - sizeof *run) % run->slot_bytes >= sizeof(struct record_wire);
}

/* A place in one of the regions, so that each has its share. */
static uint64_t place_draw(struct prng *prng, const struct places *places)
{
    const uint64_t regions[][2] = {{0, 64},
                                   {64, 4096},
                                   {4096, 4096 + 1024},
                                   {LAYOUT_MEMBERS_OFFSET, LAYOUT_MEMBERS_OFFSET + 128},
                                   {LAYOUT_LOCKS_OFFSET, places->heap},
                                   {places->heap, places->used_end},
                                   {places->heap, places->used_end},
                                   {places->heap, places->used_end},
                                   {places->spares, places->seal},
                                   {places->seal, places->seal_end},
                                   {0, POOL_BYTES}};
    const uint64_t *region = regions[prng_next(prng) % (sizeof regions / sizeof *regions)];
    uint64_t at = region[0] + prng_next(prng) % (region[1] - region[0]);
    /*
     * In the heap most bytes are zero, and in no use within their chunk: half of the places are near the start of
     * one.
     */
    if (region[0] == places->heap && prng_next(prng) % 2)
        at = at / LAYOUT_CHUNK_BYTES * LAYOUT_CHUNK_BYTES + prng_next(prng) % 16384;
    return at;
}

static void flips_pass(bool dirty)
{
    struct prng prng;
    uint32_t counts[END_STRANGE + 1] = {0}, failures = 0;
    prng_seed(&prng, dirty ? 2 : 1);
    file_make(dirty);
    const struct places places = places_of();
    for (uint32_t i = 0; i < flips; i++) {
        uint64_t at = place_draw(&prng, &places);
        uint8_t bit = (uint8_t)(1u << prng_next(&prng) % 8);
        file[at] ^= bit;
        file_write(file);
        enum end end = used();
        file_read(after);
        bool right = end == END_RIGHT || end == END_REFUSED || (dirty && end == END_FOUND);
        right |= dirty && end == END_WRONG && unprotected(&places, at);
        if (!dirty) right = end == (covered(&places, at) ? END_REFUSED : END_RIGHT);
        if (end == END_REFUSED) right = right && memcmp(file, after, POOL_BYTES) == 0;
        if (!right)
            fprintf(stderr, "flip %u of a %s file, offset %#llx, bit %#x: %s%s\n", i, dirty ? "dirty" : "closed",
                    (unsigned long long)at, bit, ends[end],
                    end == END_REFUSED && memcmp(file, after, POOL_BYTES) != 0 ? ", and changed" : "");
        failures += !right;
        counts[end]++;
        file[at] ^= bit;
    }
    printf("%s: %u right, %u refused, %u found, %u values\n", dirty ? "dirty" : "closed", counts[END_RIGHT],
           counts[END_REFUSED], counts[END_FOUND], counts[END_WRONG]);
    assert_int_equal(failures, 0);
}

static void flips_of_a_closed_file_are_refused(void **state)
{
    (void)state;
    flips_pass(false);
}

static void flips_of_a_file_left_open_are_refused_or_repaired(void **state)
{
    (void)state;
    flips_pass(true);
}

/* ---- tags of no member, in a pool that is in use ---- */

#define OWNER_LEFT 1    /* the pool was made for two, and this one has closed it */
#define OWNER_BEYOND 77 /* none that there can be */

struct orphan {
    struct bank *bank;
    uint64_t key;
    uint32_t owner;
    bool bucket;
};

/* Writes the tag into the lock word of the key's bucket, or of its record. */
static int orphan_make(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct orphan *orphan = arg;
    struct fabric_ep *ep = coordinator->worker->ep;
    const struct cellar_table *table = orphan->bank->table;
    struct fabric_addr addr = index_bucket_addr(&table->table->index, orphan->key);
    struct bucket_wire bucket;
    uint64_t old, offset, *entries = bucket.entries;
    uint32_t at = 0;
    int rc = 0;
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES && rc == 0; i++)
        rc = batch_faa(co, ep, fabric_addr_plus(addr, offsetof(struct bucket_wire, entries) + 8 * i), 0, &entries[i]);
    if (rc || (!orphan->bucket && !index_find(&bucket, index_fingerprint(orphan->key), &at, &offset))) return -1;
    if (!orphan->bucket) addr = fabric_addr_of(fabric_addr_node(addr), offset);
    uint64_t word = lockword_tags(orphan->bucket ? 1 : table->table->schema.all_ones, orphan->owner);
    rc = batch_cas(co, ep, addr, 0, word, &old);
    return rc ? rc : old == 0 ? 0 : -2;
}

static int insert_proc(struct cellar_txn *txn, void *arg)
{
    struct move_args *args = arg;
    int ref = cellar_proc_insert(txn, args->bank->table, args->key, &(struct row){1, 1});
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

/* Exit 0: the call ended as it should. It may not wait for ever, so it is a process of its own. */
static int orphan_met(enum cellar_lab_cc cc, uint32_t owner, bool bucket)
{
    struct engine_config config = {
        .cc = cc, .cns = 2, .cns_max = 2, .coros = 1, .pool_bytes = POOL_BYTES, .pool_path = path};
    const struct cellar_proc_def insert = {.name = "insert", .fn = insert_proc, .records_max = 1, .writes_max = 1};
    struct bank bank = {0};
    const struct cellar_proc *proc;
    alarm(PATIENCE_S);
    unlink(path);
    if (db_open(&config, &bank.db, &bank.error)) return 1;
    cellar_close(bank.db);
    config.cns = 1;
    if (db_open(&config, &bank.db, &bank.error) || bank_prepare(&bank)) return 1;
    if (cellar_lab_run(bank.db, load_client, &bank)) return 2;
    if (db_proc_register(bank.db, &insert, &proc, &bank.error)) return 3;
    struct orphan orphan = {.bank = &bank, .key = bucket ? ROWS : 5, .owner = owner, .bucket = bucket};
    if (db_run_on(bank.db, 0, orphan_make, &orphan)) return 4;
    struct cellar_result result;
    int code =
        cellar_proc_run(bank.db, bucket ? proc : bank.move, &(struct move_args){&bank, orphan.key}, NULL, &result);
    bool locks_elsewhere = cc == CELLAR_LAB_CC_TWOPL && !bucket;
    if (code != CELLAR_CORRUPT && !(locks_elsewhere && code == 0)) return 5;
    if (code && (result.detail.why != WHY_LOCK || result.detail.limit != owner)) return 7;
    /* Another process could be that owner: the walk, which holds up none, does not know. */
    code = cellar_lab_run(bank.db, judge_client, &(struct judge){&bank, {0, 0}});
    return code == CELLAR_CORRUPT || code == CELLAR_BUSY ? 0 : 6;
}

static void tags_of_no_member_are_corrupt(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_FORD, CELLAR_LAB_CC_MOTOR,
                                               CELLAR_LAB_CC_TWOPL};
    (void)state;
    for (uint32_t i = 0; i < 4 * sizeof modes / sizeof *modes; i++) {
        if (!mode_of(modes[i / 4])) continue;
        uint32_t owner = i / 2 % 2 ? OWNER_LEFT : OWNER_BEYOND;
        int status;
        pid_t child = fork();
        if (child == 0) _exit(orphan_met(modes[i / 4], owner, i % 2));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("mode %d, %s, owner %u: status %#x", (int)modes[i / 4], i % 2 ? "bucket" : "record", owner,
                     status);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_of_no_member_are_corrupt),
        cmocka_unit_test(flips_of_a_closed_file_are_refused),
        cmocka_unit_test(flips_of_a_file_left_open_are_refused_or_repaired),
    };
    if (argc > 1) flips = (uint32_t)strtoul(argv[1], NULL, 10);
#if PLANT_BUILD
    if (argc > 2 && !plant_choose(argv[2])) return 64;
#endif
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/pool", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
