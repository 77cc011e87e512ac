/*
 * test_recover_input.c - what a killed process left in its pool file, changed before it is opened: log bytes
 * that are torn, stale, forged or not ours are ignored or refused in one line; they never end the process or change
 * what they do not name.
 */
#include "bulk.h"
#include "numbered.h"
#include "cellar.h"
#include "configuration.h"
#include "db_open.h"
#include "db_schema.h"
#include "engine_config.h"
#include "logseg.h"
#include "plant.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define POOL_BYTES (4u << 20)
#define ACCOUNTS 16
#define BALANCE 1000
#define CALLS 3000

struct account {
    uint64_t balance;
    char text[24];
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, balance),
                                                      CELLAR_COLUMN(struct account, text)};

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer;
    struct cellar_error error;
};

struct transfer {
    struct bank *bank;
    uint64_t from, to;
};

static int transfer_fn(struct cellar_txn *txn, void *arg)
{
    struct transfer *transfer = arg;
    const uint64_t keys[] = {transfer->from, transfer->to};
    uint64_t balances[2] = {0};
    int refs[2], code = 0;
    for (int i = 0; i < 2; i++)
        if ((refs[i] = cellar_proc_access(txn, transfer->bank->accounts, keys[i], 0, 1, 0)) < 0) return refs[i];
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    for (int i = 0; i < 2 && code == 0; i++) code = cellar_proc_get(txn, refs[i], 0, &balances[i]);
    balances[0]--;
    balances[1]++;
    for (int i = 0; i < 2 && code == 0; i++) code = cellar_proc_put(txn, refs[i], 0, &balances[i]);
    return code;
}

static int bank_open(struct bank *bank, const char *path)
{
    const struct engine_config config = {
        .cc = CELLAR_LAB_CC_CELL, .pool_path = path, .pool_bytes = POOL_BYTES, .cns_max = 1, .threads = 1, .coros = 2};
    const struct cellar_schema schema = {"accounts", sizeof(struct account), columns, 2, 4 * ACCOUNTS, 0, 0, 0, 0, 0};
    const struct cellar_proc_def def = {.name = "transfer", .fn = transfer_fn, .records_max = 2, .writes_max = 2};
    int rc = db_open(&config, &bank->db, &bank->error);
    if (rc == 0) rc = db_table_create(bank->db, &schema, &bank->accounts, &bank->error);
    return rc ? rc : db_proc_register(bank->db, &def, &bank->transfer, &bank->error);
}

/* ---- the process that dies ---- */

static int load_job(struct cellar_lab_client *client, void *arg)
{
    struct bank *bank = arg;
    int rc = 0;
    for (uint64_t key = 0; key < ACCOUNTS && rc == 0 && cellar_lab_index(client) == 0; key++)
        rc = db_load(client, bank->accounts, key, &(struct account){.balance = BALANCE}, NULL);
    return rc;
}

static int work_job(struct cellar_lab_client *client, void *arg)
{
    struct bank *bank = arg;
    for (uint64_t i = 1;; i++) {
        struct transfer transfer = {bank, i % ACCOUNTS, (i * 3 + 1) % ACCOUNTS};
        struct cellar_result result;
        if (i == CALLS) kill(getpid(), SIGKILL);
        if (transfer.from == transfer.to) continue;
        int code = cellar_lab_exec(client, bank->transfer, &transfer, NULL, &result);
        if (code < 0) return code;
    }
}

static void die_at_work(const char *path, bool fresh)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct bank bank = {0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int rc = bank_open(&bank, path);
        if (rc == 0 && fresh) rc = cellar_lab_run(bank.db, load_job, &bank);
        _exit(rc ? 2 : cellar_lab_run(bank.db, work_job, &bank) ? 3 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- what is found then ---- */

static int sum_row(void *arg, uint64_t key, const void *row)
{
    (void)key;
    *(uint64_t *)arg += ((const struct account *)row)->balance;
    return 0;
}

struct look {
    struct bank *bank;
    uint64_t sum;
};

static int look_job(struct cellar_lab_client *client, void *arg)
{
    struct look *look = arg;
    if (cellar_lab_index(client) != 0) return 0;
    int rc = db_audit(client, &look->bank->error);
    return rc ? rc : db_scan(client, look->bank->accounts, sum_row, &look->sum, &look->bank->error);
}

static void recovers(const char *path, const char *what)
{
    struct bank bank = {0};
    struct look look = {.bank = &bank};
    int rc = bank_open(&bank, path);
    if (rc == 0) rc = cellar_lab_run(bank.db, look_job, &look);
    if (rc) fail_msg("%s: %s", what, bank.error.text);
    assert_int_equal(look.sum, ACCOUNTS * BALANCE);
    cellar_close(bank.db);
}

static void file_read(const char *path, uint8_t *bytes)
{
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, POOL_BYTES), POOL_BYTES);
    close(fd);
}

/* One line; and no byte of the file was changed by the attempt (INV-RECOVER-11). */
static void is_refused(const char *path, const char *what, const char *word)
{
    static uint8_t before[POOL_BYTES], after[POOL_BYTES];
    struct bank bank = {0};
    file_read(path, before);
    int rc = bank_open(&bank, path);
    if (rc != CELLAR_CORRUPT || !strstr(bank.error.text, word) || strchr(bank.error.text, '\n'))
        fail_msg("%s: %s: %s", what, cellar_strerror(rc), bank.error.text);
    file_read(path, after);
    if (memcmp(before, after, POOL_BYTES) != 0) fail_msg("%s: refused, and yet the file was changed", what);
}

/* ---- the file in between ---- */

static uint8_t *image_of(const char *path)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    uint8_t *image = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(image != MAP_FAILED);
    close(fd);
    return image;
}

struct found {
    struct log_entry_wire *oldest, *newest; /* of one coordinator, in its last life */
};

static struct found entries_of(uint8_t *image)
{
    struct found found = {0};
    for (uint64_t at = 0; at < POOL_BYTES; at += LAYOUT_LINE) {
        struct log_entry_wire *wire = (struct log_entry_wire *)(void *)(image + at);
        if (!logseg_parse(image + at, POOL_BYTES - at) || wire->coordinator != 0) continue;
        if (!found.newest || wire->incarnation > found.newest->incarnation) found.oldest = found.newest = wire;
        if (wire->incarnation < found.newest->incarnation) continue;
        if (wire->sequence > found.newest->sequence) found.newest = wire;
        if (wire->sequence < found.oldest->sequence) found.oldest = wire;
    }
    assert_non_null(found.newest);
    assert_true(found.oldest->bytes == found.newest->bytes && found.oldest != found.newest);
    return found;
}

static struct log_write_wire *first_write(struct log_entry_wire *wire)
{
    return (struct log_write_wire *)(void *)((uint8_t *)(wire + 1) + wire->dep_count * sizeof(struct log_dep_wire));
}

static void certify(struct log_entry_wire *wire, uint32_t bytes)
{
    wire->checksum = 0;
    wire->checksum = XXH3_64bits(wire, bytes);
}

/* Each of these changes a copy of the newest entry, which is to be the next one. */
static void no_table(struct log_entry_wire *wire) { first_write(wire)->table_id = 0; }
static void far_table(struct log_entry_wire *wire) { first_write(wire)->table_id = 4000000; }
static void other_table(struct log_entry_wire *wire) { first_write(wire)->table_id = 9; }
static void far_cell(struct log_entry_wire *wire) { first_write(wire)->cell = 2; }
static void other_cell(struct log_entry_wire *wire) { first_write(wire)->cell = 1; }
static void far_place(struct log_entry_wire *wire) { first_write(wire)->addr = 1ull << 40; }
static void last_place(struct log_entry_wire *wire) { first_write(wire)->addr = POOL_BYTES - 8; }
static void no_node(struct log_entry_wire *wire) { first_write(wire)->addr |= 5ull << 48; }
static void superblock(struct log_entry_wire *wire) { first_write(wire)->addr = 0; }
static void crooked_place(struct log_entry_wire *wire) { first_write(wire)->addr += 8; }
static void no_kind(struct log_entry_wire *wire) { first_write(wire)->kind = 9; }
static void kind_zero(struct log_entry_wire *wire) { first_write(wire)->kind = 0; }
static void as_insert(struct log_entry_wire *wire) { first_write(wire)->kind = LAYOUT_LOG_INSERT; }
static void as_bucket(struct log_entry_wire *wire) { first_write(wire)->kind = LAYOUT_LOG_BUCKET; }
static void late(struct log_entry_wire *wire) { wire->ts = LAYOUT_TS_MAX + 2; }

static void other_key(struct log_entry_wire *wire) { first_write(wire)->key += 1; }
static void other_record(struct log_entry_wire *wire) { first_write(wire)->addr += 4 * LAYOUT_LINE; }
static void other_node(struct log_entry_wire *wire) { wire->cn = 3; }
static void other_coordinator(struct log_entry_wire *wire) { wire->coordinator = 77; }
static void later_life(struct log_entry_wire *wire) { wire->incarnation++; }
static void unlocked(struct log_entry_wire *wire) { wire->ts += 1000; } /* its cells have no tag of the dead node */
static void more_deps(struct log_entry_wire *wire) { wire->dep_count = 3; }
static void all_deps(struct log_entry_wire *wire) { wire->dep_count = UINT32_MAX; }
static void more_writes(struct log_entry_wire *wire) { wire->write_count = 1000; }
static void long_value(struct log_entry_wire *wire) { first_write(wire)->value_bytes = UINT32_MAX - 3; }

static const struct {
    const char *what;
    void (*change)(struct log_entry_wire *wire);
    const char *refused; /* NULL: it does not count, or changes nothing */
} forged[] = {
    {"no table", no_table, "table 0"},
    {"a table that cannot be", far_table, "knows no such table"},
    {"a table that is not there", other_table, "knows no such table"},
    {"a cell that is not there", far_cell, "no such cell"},
    {"a value of another cell", other_cell, "another size"},
    {"an address outside", far_place, "no record can be there"},
    {"an address at the very end", last_place, "no record can be there"},
    {"a memory node that is not there", no_node, "no record can be there"},
    {"the superblock", superblock, "no record can be there"},
    {"an address between lines", crooked_place, "no record can be there"},
    {"no kind of change", no_kind, NULL},
    {"kind zero", kind_zero, NULL},
    {"half an insert", as_insert, "another size"},
    {"half a bucket", as_bucket, "no index bucket"},
    {"a timestamp of 49 bits", late, "no transaction can be so late"},
    {"another key", other_key, NULL},
    {"another record", other_record, NULL},
    {"another compute node's", other_node, "of another coordinator, or of a later life"},
    {"another coordinator's", other_coordinator, "of another coordinator, or of a later life"},
    {"of a life to come", later_life, "of another coordinator, or of a later life"},
    {"of cells that are not locked", unlocked, NULL},
    {"more dependencies than bytes", more_deps, NULL},
    {"dependencies without end", all_deps, NULL},
    {"changes without end", more_writes, NULL},
    {"a value without end", long_value, NULL},
};

static void copy_file(const char *from, const char *to)
{
    char command[200];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

struct place {
    char folder[40], killed[64], copy[64];
};

/* Killed twice, so that entries of an earlier life are there, too. */
static void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-input-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->killed, sizeof place->killed, "%s/killed", place->folder);
    snprintf(place->copy, sizeof place->copy, "%s/copy", place->folder);
    die_at_work(place->killed, true);
    die_at_work(place->killed, false);
}

static void place_remove(const struct place *place)
{
    unlink(place->killed);
    unlink(place->copy);
    rmdir(place->folder);
}

static void forged_entries_change_nothing_else(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        copy_file(place.killed, place.copy);
        uint8_t *image = image_of(place.copy);
        struct found found = entries_of(image);
        uint32_t bytes = found.newest->bytes;
        memcpy(found.oldest, found.newest, bytes); /* in the place of one whose effect is long there */
        found.oldest->sequence++;
        found.oldest->watermark = found.newest->sequence;
        forged[i].change(found.oldest);
        certify(found.oldest, bytes);
        munmap(image, POOL_BYTES);
        if (forged[i].refused)
            is_refused(place.copy, forged[i].what, forged[i].refused);
        else
            recovers(place.copy, forged[i].what);
    }
    place_remove(&place);
}

/* An entry that would be the next one, as far as it got: torn at a line or a word, or longer than the ring. */
static void torn_and_oversized_entries_do_not_count(void **state)
{
    struct place place;
    struct prng prng;
    (void)state;
    prng_seed(&prng, 11);
    place_make(&place);
    for (int round = 0; round < 24; round++) {
        copy_file(place.killed, place.copy);
        uint8_t *image = image_of(place.copy);
        struct found found = entries_of(image);
        uint32_t bytes = found.newest->bytes, cut = (uint32_t)prng_below(&prng, bytes / 8) * 8;
        memcpy(found.oldest, found.newest, bytes);
        found.oldest->sequence++;
        if (round % 3 == 2) found.oldest->bytes = (uint32_t)prng_next(&prng) | 1u << 22;
        certify(found.oldest, bytes);
        for (uint32_t at = cut; round % 3 < 2 && at < bytes; at += 8) {
            uint64_t word = round % 3 ? 0 : prng_next(&prng);
            memcpy((uint8_t *)found.oldest + at, &word, sizeof word);
        }
        munmap(image, POOL_BYTES);
        recovers(place.copy, "torn");
    }
    place_remove(&place);
}

/* All that no entry of the last life is in, overwritten at random. */
static void noise_around_the_log_does_not_count(void **state)
{
    struct place place;
    struct prng prng;
    (void)state;
    prng_seed(&prng, 12);
    place_make(&place);
    for (int round = 0; round < 8; round++) {
        copy_file(place.killed, place.copy);
        uint8_t *image = image_of(place.copy);
        struct found found = entries_of(image);
        for (uint64_t at = 0; at < POOL_BYTES; at += LAYOUT_LINE) {
            const struct log_entry_wire *wire = logseg_parse(image + at, POOL_BYTES - at);
            if (!wire || wire->incarnation == found.newest->incarnation) continue;
            for (uint32_t word = 8; word < LAYOUT_LINE; word += 8) { /* the magic stays */
                uint64_t noise = prng_next(&prng);
                memcpy(image + at + word, &noise, sizeof noise);
            }
        }
        munmap(image, POOL_BYTES);
        recovers(place.copy, "noise");
    }
    place_remove(&place);
}

/* The killed process is recovered as it left its pool, and again by the next one. */
static void a_killed_process_is_recovered(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    recovers(place.killed, "killed");
    recovers(place.killed, "and closed");
    place_remove(&place);
}

/* The opener of a pool follows its configuration word (docs/failover.md): one that cannot be is refused. */
static void configurations_that_cannot_be_are_refused(void **state)
{
    static const struct configuration bad[] = {
        {.epoch = 2, .away = -1, .leader = 1},
        {.epoch = 3, .from = CONFIGURATION_LOST, .state = CONFIGURATION_STEADY, .away = -1, .leader = 65000},
        {.epoch = 2, .state = CONFIGURATION_LOST, .away = 1, .leader = 0},
        {.epoch = 2, .state = CONFIGURATION_LOST, .away = -1, .leader = 0},
        {.epoch = 2, .state = CONFIGURATION_STATES, .away = 0, .leader = 0},
        {.epoch = 2, .from = (enum configuration_state)15, .away = -1, .leader = 0},
        {.epoch = UINT32_MAX, .away = -1, .leader = 0}, /* the next one would be less */
    };
    struct place place;
    (void)state;
    place_make(&place);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char what[16];
        copy_file(place.killed, place.copy);
        uint8_t *image = image_of(place.copy);
        ((struct superblock_wire *)(void *)image)->configuration = configuration_word(&bad[i]);
        munmap(image, POOL_BYTES);
        snprintf(what, sizeof what, "word %zu", i);
        is_refused(place.copy, what, "is damaged: the configuration");
    }
    place_remove(&place);
}

/* An argument: a planted bug. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_process_is_recovered),
        cmocka_unit_test(forged_entries_change_nothing_else),
        cmocka_unit_test(torn_and_oversized_entries_do_not_count),
        cmocka_unit_test(noise_around_the_log_does_not_count),
        cmocka_unit_test(configurations_that_cannot_be_are_refused),
    };
#if PLANT_BUILD
    if (argc > 1 && !plant_choose(argv[1])) return 64;
#else
    (void)argc, (void)argv;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
