/*
 * test_wal_damage.c - logs that are not as they were written: bits turned over, blocks in other places, files cut off,
 * missing, or of another log. Each is refused with its place, or shows all the same groups; nothing is lost silently.
 * And the same log on real files.
 */
#include "disk_real.h"
#include "share.h"
#include "wal_internal.h"
#include "wal_life.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GROUPS 14
#define CAPACITY (16u << 20)

static uint64_t rounds = 4000;

/* A log of several files, closed: its last group is the empty one of the close. */
static void log_make(struct life *life, uint64_t seed)
{
    life_begin(life, seed, CAPACITY);
    assert_int_equal(life_open(life), 0);
    for (uint32_t i = 0; i < GROUPS; i++) {
        assert_int_equal(life_group(life), 0);
        if (i != GROUPS / 2) continue;
        life_abandon(life); /* a second opening amid them */
        assert_int_equal(life_open(life), 0);
    }
    assert_int_equal(life_close(life), 0);
}

static uint32_t log_files(struct life *life)
{
    char name[DISK_NAME_MAX];
    uint32_t count = 0;
    for (wal_name(1, name); disk_sim_bytes(life->sim, name); wal_name(count + 1, name)) count++;
    return count;
}

static int log_read(struct life *life, struct wal_found *found)
{
    life->expected = 0;
    life->error = (struct cellar_error){0};
    return wal_read(&life->config, life_visit, life, found, &life->error);
}

/* Refused, or all is there; the empty group of the close may be taken for a torn tail. */
static const char *damage_judge(struct life *life)
{
    struct wal_found found = {0};
    int rc = log_read(life, &found);
    bool refused = rc == CELLAR_CORRUPT || rc == CELLAR_MISMATCH;
    if (rc && !refused) life_fails(life, "another code");
    if (refused && (!strchr(life->error.text, ':') || strchr(life->error.text, '\n'))) life_fails(life, "another line");
    if (!rc && found.last + 1 < life->acked) life_fails(life, "a group is lost silently");
    return life_verdict(life);
}

/* ---- scenarios ---- */

static const char *bit_turned(uint64_t seed)
{
    struct life life;
    struct prng prng;
    char name[DISK_NAME_MAX];
    log_make(&life, 1 + seed % 20);
    prng_seed_stream(&prng, seed, 9);
    wal_name(1 + prng_below(&prng, log_files(&life)), name);
    disk_sim_flip(life.sim, name, prng_below(&prng, 8 * disk_sim_bytes(life.sim, name)));
    return damage_judge(&life);
}

/* A disk writes a block of a group to another place, of this file or another one. */
static const char *block_misplaced(uint64_t seed)
{
    struct life life;
    struct prng prng;
    uint8_t block[WAL_BLOCK];
    char from[DISK_NAME_MAX], to[DISK_NAME_MAX];
    log_make(&life, 1 + seed % 20);
    prng_seed_stream(&prng, seed, 9);
    wal_name(1 + prng_below(&prng, log_files(&life)), from);
    wal_name(1 + prng_below(&prng, log_files(&life)), to);
    uint64_t blocks = LIFE_FILE_BYTES / WAL_BLOCK;
    disk_sim_peek(life.sim, from, (1 + prng_below(&prng, blocks - 1)) * WAL_BLOCK, block, sizeof block);
    disk_sim_poke(life.sim, to, prng_below(&prng, blocks) * WAL_BLOCK, block, sizeof block);
    return damage_judge(&life);
}

static const char *file_cut(uint64_t seed)
{
    struct life life;
    struct prng prng;
    char name[DISK_NAME_MAX];
    log_make(&life, 1 + seed % 20);
    prng_seed_stream(&prng, seed, 9);
    wal_name(1 + prng_below(&prng, log_files(&life)), name);
    disk_sim_truncate(life.sim, name, prng_below(&prng, LIFE_FILE_BYTES));
    return damage_judge(&life);
}

/* ---- tests ---- */

static void none_wrong(const char *scenario, const char *(*judge)(uint64_t seed), uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const char *wrong = judge(seed);
        if (wrong) print_error("%s, seed %llu: %s\n", scenario, (unsigned long long)seed, wrong);
        assert_null(wrong);
    }
}

static void turned_bits_are_noticed(void **state) { none_wrong("bit", bit_turned, rounds); }
static void misplaced_blocks_are_noticed(void **state) { none_wrong("block", block_misplaced, rounds); }
static void files_cut_off_are_noticed(void **state) { none_wrong("file", file_cut, rounds / 4); }

/* The place is that of the first broken block. */
static void a_hole_is_named_with_its_offset(void **state)
{
    struct life life;
    log_make(&life, 3);
    disk_sim_flip(life.sim, "wal-0000000000000001", 8ull * (WAL_BLOCK + 100));
    assert_int_equal(log_read(&life, NULL), CELLAR_CORRUPT);
    assert_non_null(strstr(life.error.text, "wal-0000000000000001, offset 4096"));
    assert_null(life_verdict(&life));
}

static void a_missing_file_is_noticed(void **state)
{
    for (uint32_t gone = 1; gone <= 2; gone++) {
        struct life life;
        char name[DISK_NAME_MAX];
        struct disk *disk;
        log_make(&life, 2);
        assert_in_range(log_files(&life), 3, 100);
        disk = disk_sim_disk(life.sim);
        wal_name(gone, name);
        assert_int_equal(disk->ops->remove(disk, name), 0);
        assert_int_equal(log_read(&life, NULL), CELLAR_CORRUPT);
        assert_null(life_verdict(&life));
    }
}

/* A group that is needed and was never there: the caller knows more than the log. */
static void a_log_that_is_too_short_is_noticed(void **state)
{
    struct life life;
    log_make(&life, 2);
    life.config.from = life.acked + 2;
    assert_int_equal(log_read(&life, NULL), CELLAR_CORRUPT);
    life.config.from = life.acked + 1;
    assert_int_equal(log_read(&life, NULL), 0);
    assert_null(life_verdict(&life));
}

static void check_refused(struct life *life, int code, const char *text)
{
    struct wal *wal;
    uint64_t operations = disk_sim_operations(life->sim);
    char name[DISK_NAME_MAX];
    wal_name(log_files(life) + 1, name);
    assert_int_equal(log_read(life, NULL), code);
    assert_non_null(strstr(life->error.text, text));
    assert_int_equal(wal_open(&life->config, NULL, NULL, &wal, NULL, &life->error), code);
    assert_null(wal);
    assert_int_equal(disk_sim_bytes(life->sim, name), 0); /* nothing was made */
    assert_true(disk_sim_operations(life->sim) > operations);
}

static void foreign_logs_are_refused(void **state)
{
    struct life life;
    log_make(&life, 4);
    struct wal_config own = life.config;
    life.config.directory[1]++;
    check_refused(&life, CELLAR_MISMATCH, "another pool");
    life.config = own;
    life.config.node++;
    check_refused(&life, CELLAR_MISMATCH, "another pool or memory node");
    life.config = own;
    life.config.fingerprint++;
    check_refused(&life, CELLAR_MISMATCH, "another layout");
    life.config = own;

    struct {
        struct wal_block header;
        struct wal_head head;
        uint8_t rest[WAL_BLOCK - sizeof(struct wal_block) - sizeof(struct wal_head)];
    } block;
    disk_sim_peek(life.sim, "wal-0000000000000001", 0, &block, sizeof block);
    block.head.version = WAL_VERSION + 1;
    block.header.checksum = wal_checksum(&block.header);
    disk_sim_poke(life.sim, "wal-0000000000000001", 0, &block, sizeof block);
    check_refused(&life, CELLAR_MISMATCH, "has format 2");
    assert_null(life_verdict(&life));
}

/* A file of that name that is no log is neither read nor removed; files of other names are of no interest. */
static void foreign_files_are_left_alone(void **state)
{
    struct life life;
    uint8_t bytes[300];
    life_begin(&life, 1, CAPACITY);
    struct disk *disk = disk_sim_disk(life.sim);
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(disk->ops->create(disk, "wal-1", 100, false), 0);
    assert_int_equal(disk->ops->create(disk, "wal-000000000000000G", 100, false), 0);
    assert_int_equal(life_open(&life), 0);
    life_end(&life);

    life_begin(&life, 1, CAPACITY);
    disk = disk_sim_disk(life.sim);
    assert_int_equal(disk->ops->create(disk, "wal-0000000000000001", 3 * WAL_BLOCK, true), 0);
    disk_sim_poke(life.sim, "wal-0000000000000001", 2 * WAL_BLOCK, bytes, sizeof bytes);
    assert_int_equal(life_open(&life), CELLAR_CORRUPT);
    assert_int_equal(disk_sim_bytes(life.sim, "wal-0000000000000001"), 3 * WAL_BLOCK);
    life.wrong = NULL; /* this is no log that lost power */
    life_end(&life);
}

static void shapes_that_cannot_be_are_refused(void **state)
{
    struct life life;
    struct wal *wal;
    life_begin(&life, 1, CAPACITY);
    const struct wal_config good = life.config;
    struct wal_config bad[11];
    for (int i = 0; i < 11; i++) bad[i] = good;
    bad[0].disk = NULL;
    bad[1].group_bytes = 0;
    bad[2].group_bytes = LIFE_FILE_BYTES;
    bad[3].file_bytes = 0;
    bad[4].file_bytes = LIFE_FILE_BYTES + 1;
    bad[5].file_bytes = 1ull << 40;
    bad[6].files_max = 1;
    bad[7].files_max = WAL_FILES_MAX + 1;
    bad[8].from = 0;
    bad[9].file_bytes = WAL_BLOCK;
    bad[10].group_most = (1u << 31) + 1;
    for (int i = 0; i < 11; i++) {
        assert_int_equal(wal_open(&bad[i], NULL, NULL, &wal, NULL, &life.error), CELLAR_INVALID);
        assert_null(wal);
    }
    assert_int_equal(disk_sim_operations(life.sim), 0);
    life_end(&life);
}

/* A group that fills a file but for its head. */
static void the_largest_group_fits(void **state)
{
    static uint8_t bytes[(LIFE_FILE_BYTES / WAL_BLOCK - 1) * WAL_PAYLOAD];
    struct wal_found found;
    struct life life;
    uint64_t group;
    life_begin(&life, 1, CAPACITY);
    life.config.group_bytes = sizeof bytes;
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(wal_open(&life.config, NULL, NULL, &life.wal, &found, &life.error), 0);
        assert_true(wal_append(life.wal, bytes, sizeof bytes));
        assert_false(wal_append(life.wal, bytes, 1));
        assert_int_equal(wal_sync(life.wal, &group, &life.error), 0);
        assert_int_equal(group, i);
        life_abandon(&life);
    }
    assert_int_equal(wal_read(&life.config, NULL, NULL, &found, &life.error), 0);
    assert_int_equal(found.last, 3);
    life.config.group_bytes++;
    assert_int_equal(wal_read(&life.config, NULL, NULL, &found, &life.error), CELLAR_INVALID);
    life_end(&life);
}

/* The last group lacks a block: it does not count, and its others show that something was there. */
static void a_torn_tail_is_told(void **state)
{
    static const uint8_t zeros[WAL_BLOCK];
    static uint8_t bytes[2 * WAL_PAYLOAD + 1];
    for (uint64_t lacks = 1; lacks <= 4; lacks++) {
        struct wal_found found;
        struct life life;
        uint64_t group;
        life_begin(&life, 1, CAPACITY);
        assert_int_equal(wal_open(&life.config, NULL, NULL, &life.wal, &found, &life.error), 0);
        assert_false(found.torn);
        assert_true(wal_append(life.wal, bytes, sizeof bytes));
        assert_int_equal(wal_sync(life.wal, &group, &life.error), 0);
        life_abandon(&life);
        disk_sim_poke(life.sim, "wal-0000000000000001", lacks * WAL_BLOCK, zeros, WAL_BLOCK);
        assert_int_equal(wal_read(&life.config, NULL, NULL, &found, &life.error), 0);
        assert_int_equal(found.last, lacks < 4 ? 0 : 1); /* block 4 is no part of it */
        assert_int_equal(found.torn, lacks < 4);
        life_end(&life);
    }
}

/* ---- real files ---- */

static char folder[] = "/tmp/cellar-wal-XXXXXX";
static uint64_t real_from; /* of the log that the first test leaves */

static struct disk_real *folder_open(void)
{
    struct disk_real *disk;
    struct cellar_error error;
    assert_int_equal(disk_real_open(folder, &disk, &error), 0);
    return disk;
}

static void real_files_do_the_same(void **state)
{
    struct disk_real *disk = folder_open(), *second;
    struct life life;
    life_begin(&life, 5, CAPACITY);
    life.config.disk = disk_real_disk(disk);
    assert_int_equal(disk_real_open(folder, &second, &life.error), CELLAR_EXISTS);
    assert_non_null(strstr(life.error.text, "in use"));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(life_open(&life), 0);
        for (uint32_t g = 0; g < 6; g++) assert_int_equal(life_group(&life), 0);
        life.config.from = life.acked - 2;
        assert_int_equal(wal_free(life.wal, life.config.from, &life.error), 0);
        assert_int_equal(life_close(&life), 0);
        disk_real_close(disk);
        disk = folder_open();
        life.config.disk = disk_real_disk(disk);
    }
    assert_null(life.wrong);
    real_from = life.config.from;
    life_end(&life);
    disk_real_close(disk);
}

/* A limit of the process stands for a disk without space: FULL, and what there is stays. */
static void real_space_ends(void **state)
{
    struct disk_real *disk = folder_open();
    struct rlimit limit, small = {.rlim_cur = LIFE_FILE_BYTES / 2};
    struct wal_found found, after;
    struct life life;
    life_begin(&life, 5, CAPACITY);
    life.config.disk = disk_real_disk(disk);
    life.config.from = real_from;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small.rlim_max = limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = wal_open(&life.config, NULL, NULL, &life.wal, &found, &life.error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(rc, CELLAR_FULL);
    assert_null(life.wal);
    assert_true(found.last > real_from);
    assert_int_equal(wal_read(&life.config, NULL, NULL, &after, &life.error), 0);
    assert_int_equal(after.last, found.last);
    life_end(&life);
    disk_real_close(disk);
}

static void folders_that_cannot_be_are_refused(void **state)
{
    struct disk_real *disk;
    struct cellar_error error;
    char path[128];
    snprintf(path, sizeof path, "%s/none", folder);
    assert_int_equal(disk_real_open(path, &disk, &error), CELLAR_SYSTEM);
    assert_non_null(strstr(error.text, "No such file"));
    snprintf(path, sizeof path, "%s/file", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(disk_real_open(path, &disk, &error), CELLAR_SYSTEM);
    assert_null(disk);
    unlink(path);
}

static int folder_make(void **state) { return mkdtemp(folder) ? 0 : -1; }

static int file_remove(void *arg, const char *name) { return unlinkat(*(int *)arg, name, 0); }

static int folder_remove(void **state)
{
    struct disk_real *disk = folder_open();
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    int rc = disk_real_disk(disk)->ops->list(disk_real_disk(disk), file_remove, &at);
    close(at);
    disk_real_close(disk);
    return rc || rmdir(folder);
}

/* ---- planted bugs ---- */

static void planted_bugs_are_seen(void **state)
{
#ifdef CELLAR_PLANTS
    static const struct {
        const char *plant;
        const char *(*scenario)(uint64_t seed);
    } hunts[] = {{"wal_hole_is_tail", bit_turned},
                 {"wal_checksum_ignored", bit_turned},
                 {"wal_place_unlooked", block_misplaced}};
    for (size_t i = 0; i < sizeof hunts / sizeof *hunts; i++) {
        bool seen = life_plant_seen(hunts[i].plant, hunts[i].scenario, 4000);
        if (!seen) fail_msg("planted %s: not seen", hunts[i].plant);
    }
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turned_bits_are_noticed),
        cmocka_unit_test(misplaced_blocks_are_noticed),
        cmocka_unit_test(files_cut_off_are_noticed),
        cmocka_unit_test(a_hole_is_named_with_its_offset),
        cmocka_unit_test(a_missing_file_is_noticed),
        cmocka_unit_test(a_log_that_is_too_short_is_noticed),
        cmocka_unit_test(foreign_logs_are_refused),
        cmocka_unit_test(foreign_files_are_left_alone),
        cmocka_unit_test(shapes_that_cannot_be_are_refused),
        cmocka_unit_test(the_largest_group_fits),
        cmocka_unit_test(a_torn_tail_is_told),
        cmocka_unit_test_setup_teardown(real_files_do_the_same, folder_make, NULL),
        cmocka_unit_test(real_space_ends),
        cmocka_unit_test_teardown(folders_that_cannot_be_are_refused, folder_remove),
        cmocka_unit_test(planted_bugs_are_seen),
    };
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds * share_percent() / 100;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
