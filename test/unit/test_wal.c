/*
 * test_wal.c - the write-ahead log on a disk that fails: power is lost at each operation of lives of a log, openings
 * included; syncs fail and lie; space ends; and planted bugs, each of which one of these sees (INV-DURABLE-1 to 4).
 *
 * `test_wal N` tries N lives of each kind instead of a sample.
 */
#include "share.h"
#include "wal_internal.h"
#include "wal_life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define CAPACITY (16u << 20)
#define LIVES 3

static uint64_t rounds = 60;

/* ---- scenarios: what was wrong with one seed, or NULL ---- */

/* Lives one after the other; in each the power is lost at an operation, which may be one of the opening. */
static const char *power_fails(uint64_t seed, uint64_t at, bool *reached)
{
    struct life life;
    life_begin(&life, seed, CAPACITY);
    *reached = false;
    for (uint32_t i = 0; i < LIVES && !life.wrong; i++) {
        uint64_t begun = disk_sim_operations(life.sim);
        uint64_t in = i == 0 ? at : 1 + prng_below(&life.prng, 12);
        disk_sim_set(life.sim, (struct disk_sim_faults){.power_lost_at = begun + in, .garbled = seed % 3 ? 0.3 : 0});
        int rc = life_live(&life);
        if (rc && !disk_sim_power_is_lost(life.sim)) life_fails(&life, "refused on a disk that works");
        if (i == 0) *reached = disk_sim_power_is_lost(life.sim);
        life_abandon(&life);
        disk_sim_power_cycle(life.sim);
    }
    if (!life.wrong) (void)!life_open(&life);
    return life_verdict(&life);
}

/* Every operation of a first life, by one seed. */
static const char *power_fails_anywhere(uint64_t seed)
{
    bool reached = true;
    const char *wrong = NULL;
    for (uint64_t at = 1; reached && !wrong; at++) wrong = power_fails(seed, at, &reached);
    return wrong;
}

/* A sync fails; the log is at its end; the process begins anew, and then the power fails. */
static const char *sync_fails(uint64_t seed)
{
    struct life life;
    life_begin(&life, seed, CAPACITY);
    disk_sim_set(life.sim, (struct disk_sim_faults){.sync_fails_at = 1 + prng_below(&life.prng, 12)});
    int rc = life_open(&life);
    while (!rc && life.acked < 12) rc = life_group(&life);
    if (rc && life.wal) {
        uint64_t group, operations = disk_sim_operations(life.sim);
        if (wal_sync(life.wal, &group, NULL) != CELLAR_SYSTEM) life_fails(&life, "a log goes on after its end");
        if (group > life.acked) life.acked = group;
        if (disk_sim_operations(life.sim) != operations) life_fails(&life, "a disk that failed is asked again");
    }
    life_abandon(&life);
    if (prng_below(&life.prng, 2)) {
        (void)!life_open(&life);
        life_abandon(&life);
    }
    disk_sim_power_cycle(life.sim);
    (void)!life_open(&life);
    return life_verdict(&life);
}

/* One sync returns 0 and does nothing; later the power fails. What it covered is there, or the log is refused. */
static const char *sync_lies(uint64_t seed, uint64_t *refused)
{
    struct life life;
    life_begin(&life, seed, CAPACITY);
    int rc = life_open(&life);
    disk_sim_set(life.sim,
                 (struct disk_sim_faults){.sync_lies_at = disk_sim_operations(life.sim) + 1 + prng_below(&life.prng, 6),
                                          .garbled = 0.2});
    while (!rc && life.acked < 12) rc = life_group(&life);
    /* Once more, and truly: then the lie is no part of the tail. */
    life_abandon(&life);
    disk_sim_power_cycle(life.sim);
    struct wal_found found = {0};
    life.expected = 0;
    rc = wal_read(&life.config, life_visit, &life, &found, &life.error);
    if (rc == CELLAR_CORRUPT)
        ++*refused;
    else
        life_judge(&life, rc, &found);
    return life_verdict(&life);
}

/* What is freed is what nothing needs, and an opening after it shows the rest. */
static const char *freed(uint64_t seed)
{
    struct life life;
    life_begin(&life, seed, CAPACITY);
    int rc = life_open(&life);
    for (uint32_t i = 0; i < 20 && !rc; i++) rc = life_group(&life);
    life.config.from = 1 + prng_below(&life.prng, life.acked);
    if (!rc) rc = wal_free(life.wal, life.config.from, &life.error);
    if (!rc) rc = life_close(&life);
    if (!rc) rc = life_open(&life);
    if (rc) life_fails(&life, "refused on a disk that works");
    return life_verdict(&life);
}

/* Twelve lives, each of which may be cut off at its opening: several in a row are. */
static const char *lives_by_chance(uint64_t seed)
{
    struct life life;
    life_begin(&life, seed, CAPACITY);
    for (uint32_t i = 0; i < 12 && !life.wrong; i++) life_chance(&life);
    if (!life.wrong && life_open(&life)) life_fails(&life, "refused on a disk that works");
    return life_verdict(&life);
}

/* ---- scenarios with each fault at its place ---- */

/* The process ends; its disk keeps what it has, and reads show what was written. */
static void killed(struct life *life)
{
    life_abandon(life);
    disk_sim_set(life->sim, (struct disk_sim_faults){.garbled = 0});
}

static void power_lost(struct life *life)
{
    life_abandon(life);
    disk_sim_power_cycle(life->sim);
}

static void must_open(struct life *life)
{
    if (life_open(life)) life_fails(life, "refused on a disk that works");
}

/* The next sync from the operation behind so many others on fails, and what it was to write is in a cache only. */
static void sync_to_fail(struct life *life, uint64_t behind)
{
    disk_sim_set(life->sim, (struct disk_sim_faults){.sync_fails_at = disk_sim_operations(life->sim) + 1 + behind,
                                                     .sync_drops = true});
}

/* Groups of one block each. */
static void groups_put(struct life *life, uint32_t count)
{
    must_open(life);
    for (uint32_t i = 0; i < count && !life->wrong; i++)
        if (life_group_of(life, WAL_PAYLOAD)) life_fails(life, "refused on a disk that works");
}

/* A file is full; the next one is made, has its head, and a group that is in a cache only. */
static void group_unsynced_in_new_file(struct life *life)
{
    enum { MADE = 4 }; /* create, open, write of the head, its sync */
    groups_put(life, LIFE_FILE_BYTES / WAL_BLOCK - 1);
    sync_to_fail(life, MADE);
    if (life_group_of(life, WAL_PAYLOAD) != CELLAR_SYSTEM) life_fails(life, "a sync that failed is believed");
}

/* An opening amid whose operation `at` the power is lost, with all that was not synced; then another one. */
static bool opening_cut(struct life *life, uint64_t at)
{
    disk_sim_set(life->sim,
                 (struct disk_sim_faults){.power_lost_at = disk_sim_operations(life->sim) + at, .garbled = 1});
    (void)!life_open(life);
    bool cut = disk_sim_power_is_lost(life->sim);
    power_lost(life);
    if (!life->wrong) must_open(life);
    return cut;
}

/* `before`, then an opening that is cut off at each of its operations, by the loss of power. */
static const char *cut_anywhere(uint64_t seed, void (*before)(struct life *life))
{
    const char *wrong = NULL;
    bool cut = true;
    for (uint64_t at = 1; cut && !wrong; at++) {
        struct life life;
        life_begin(&life, seed, CAPACITY);
        before(&life);
        if (!life.wrong) cut = opening_cut(&life, at);
        wrong = life_verdict(&life);
    }
    return wrong;
}

/* A group is in a cache only; an opening makes it durable by its copy. That is the one that there is. */
static void copy_is_the_one(struct life *life)
{
    groups_put(life, 2);
    sync_to_fail(life, 0);
    (void)!life_group_of(life, WAL_PAYLOAD);
    killed(life);
    must_open(life);
    killed(life);
}

static const char *copy_is_kept(uint64_t seed) { return cut_anywhere(seed, copy_is_the_one); }

/* The group is durable where it was; of its copy there is nothing but what reads show. */
static void copy_is_nowhere(struct life *life)
{
    groups_put(life, 3);
    killed(life);
    sync_to_fail(life, 0);
    if (life_open(life) != CELLAR_SYSTEM) life_fails(life, "a sync that failed is believed");
    killed(life);
}

static const char *copy_is_not_believed(uint64_t seed) { return cut_anywhere(seed, copy_is_nowhere); }

/* A group and its copy are both in a cache only. */
static void both_are_nowhere(struct life *life)
{
    groups_put(life, 2);
    sync_to_fail(life, 0);
    (void)!life_group_of(life, WAL_PAYLOAD);
    killed(life);
    sync_to_fail(life, 0);
    if (life_open(life) != CELLAR_SYSTEM) life_fails(life, "a sync that failed is believed");
    killed(life);
}

static const char *neither_is_believed(uint64_t seed) { return cut_anywhere(seed, both_are_nowhere); }

/* All groups before the file's first one are freed, and that one is nowhere. */
static void head_is_all(struct life *life)
{
    group_unsynced_in_new_file(life);
    life->config.from = life->acked + 1;
    if (wal_free(life->wal, life->config.from, &life->error)) life_fails(life, "refused on a disk that works");
    power_lost(life);
}

static const char *head_is_enough(uint64_t seed) { return cut_anywhere(seed, head_is_all); }

/* The last group says that the file before it is not needed. It is not synced yet, and there is no other space. */
static void no_space_but_that(struct life *life)
{
    enum { MADE = 4 };
    groups_put(life, LIFE_FILE_BYTES / WAL_BLOCK - 1);
    disk_sim_set(life->sim, (struct disk_sim_faults){.sync_lies_at = disk_sim_operations(life->sim) + 1 + MADE});
    if (life_group_of(life, WAL_PAYLOAD)) life_fails(life, "refused on a disk that works");
    killed(life);
    life->acked--; /* nor was it acknowledged */
    life->config.from = life->acked + 1;
    disk_sim_resize(life->sim, disk_sim_used(life->sim));
}

/* Once that file is gone, the group is there. */
static const char *freed_by_what_is_there(uint64_t seed)
{
    const char *wrong = NULL;
    bool cut = true;
    for (uint64_t at = 1; cut && !wrong; at++) {
        struct life life;
        life_begin(&life, seed, CAPACITY);
        no_space_but_that(&life);
        disk_sim_set(life.sim,
                     (struct disk_sim_faults){.power_lost_at = disk_sim_operations(life.sim) + at, .garbled = 1});
        (void)!life_open(&life);
        cut = disk_sim_power_is_lost(life.sim);
        power_lost(&life);
        if (!disk_sim_bytes(life.sim, "wal-0000000000000001")) life.acked = life.config.from;
        if (!life.wrong) must_open(&life);
        wrong = life_verdict(&life);
    }
    return wrong;
}

/* ---- tests ---- */

static void none_wrong(const char *scenario, uint64_t seed, const char *wrong)
{
    if (wrong) print_error("%s, seed %llu: %s\n", scenario, (unsigned long long)seed, wrong);
    assert_null(wrong);
}

static void power_may_fail_at_every_operation(void **state)
{
    for (uint64_t seed = 1; seed <= rounds; seed++) none_wrong("power", seed, power_fails_anywhere(seed));
}

static void a_failed_sync_is_the_end(void **state)
{
    for (uint64_t seed = 1; seed <= 20 * rounds; seed++) none_wrong("sync fails", seed, sync_fails(seed));
}

static void a_lying_sync_loses_nothing_silently(void **state)
{
    uint64_t refused = 0;
    for (uint64_t seed = 1; seed <= 20 * rounds; seed++) none_wrong("sync lies", seed, sync_lies(seed, &refused));
    assert_true(refused > rounds); /* most lies leave a hole */
}

static void lives_are_cut_off_in_a_row(void **state)
{
    for (uint64_t seed = 1; seed <= 50 * rounds; seed++) none_wrong("chance", seed, lives_by_chance(seed));
}

/* INV-DURABLE-21: an opening that is cut off takes nothing away that may be the only copy. */
static void the_only_copy_stays(void **state)
{
    none_wrong("copy kept", 1, copy_is_kept(1));
    none_wrong("copy not believed", 1, copy_is_not_believed(1));
    none_wrong("neither believed", 1, neither_is_believed(1));
    none_wrong("head", 3, head_is_enough(3)); /* keeps no file that is not needed */
    none_wrong("no space", 1, freed_by_what_is_there(1));
}

/* An opening copies the only group of a file, and frees those before it: the power is lost, and that group with it. */
static void a_first_file_without_groups_is_passed_over(void **state)
{
    struct life life;
    life_begin(&life, 1, CAPACITY);
    group_unsynced_in_new_file(&life);
    killed(&life);
    life.config.from = life.acked + 1;
    must_open(&life);
    assert_int_equal(life.acked, life.config.from);
    power_lost(&life);
    must_open(&life);
    assert_null(life_verdict(&life));
}

/* Two files at the end were never begun: the next opening must not go on between them. */
static void files_without_groups_are_removed_together(void **state)
{
    struct life life;
    life_begin(&life, 1, CAPACITY);
    group_unsynced_in_new_file(&life);
    killed(&life);
    sync_to_fail(&life, 0);
    assert_int_equal(life_open(&life), CELLAR_SYSTEM);
    power_lost(&life);
    for (uint32_t i = 0; i < 2; i++) {
        must_open(&life);
        assert_null(life.wrong);
        killed(&life);
    }
    assert_null(life_verdict(&life));
}

/* However many openings fail, there are the files that there were, and two more. */
static void openings_that_fail_pile_up_no_files(void **state)
{
    struct life life;
    life_begin(&life, 1, CAPACITY);
    groups_put(&life, 3);
    killed(&life);
    for (uint32_t i = 0; i < 10; i++) {
        sync_to_fail(&life, 0);
        assert_int_equal(life_open(&life), CELLAR_SYSTEM);
        killed(&life);
        assert_true(disk_sim_used(life.sim) <= 3 * LIFE_FILE_BYTES);
    }
    must_open(&life);
    assert_true(disk_sim_used(life.sim) <= 2 * LIFE_FILE_BYTES);
    assert_null(life_verdict(&life));
}

/* Without space for its own copy an opening does not free the file that a copy in a cache only comes from. */
static void no_space_is_made_of_the_only_copy(void **state)
{
    struct life life;
    life_begin(&life, 1, CAPACITY);
    copy_is_nowhere(&life);
    life.config.from = life.acked;
    disk_sim_resize(life.sim, disk_sim_used(life.sim));
    assert_int_equal(life_open(&life), CELLAR_FULL);
    power_lost(&life);
    disk_sim_resize(life.sim, CAPACITY);
    must_open(&life);
    assert_null(life_verdict(&life));
}

static void freed_space_is_of_no_use_any_more(void **state)
{
    for (uint64_t seed = 1; seed <= 5 * rounds; seed++) none_wrong("freed", seed, freed(seed));
}

/* Space for three files: commits stop with FULL, lose nothing, and go on when files were freed. */
static void a_full_disk_stops_and_goes_on(void **state)
{
    struct life life;
    life_begin(&life, 1, 3 * LIFE_FILE_BYTES + 1000);
    assert_int_equal(life_open(&life), 0);
    for (uint32_t i = 0; i < 4; i++) {
        int rc;
        while ((rc = life_group(&life)) == 0) assert_true(life.acked < LIFE_GROUPS - 2);
        assert_int_equal(rc, CELLAR_FULL);
        uint64_t group;
        uint32_t pending = wal_pending(life.wal);
        assert_int_equal(wal_sync(life.wal, &group, &life.error), CELLAR_FULL);
        assert_int_equal(group, life.acked);
        assert_int_equal(wal_pending(life.wal), pending);
        assert_int_equal(wal_free(life.wal, life.acked, &life.error), 0);
        life.config.from = life.acked;
        assert_int_equal(wal_sync(life.wal, &group, &life.error), 0); /* the same group, now */
        assert_int_equal(group, ++life.acked);
    }
    assert_int_equal(life_close(&life), 0);
    assert_int_equal(life_open(&life), 0);
    assert_null(life_verdict(&life));
}

/* So many files and no more, whatever the disk has; an opening is never refused for that. */
static void its_own_bound_is_kept(void **state)
{
    struct life life;
    int rc;
    life_begin(&life, 1, CAPACITY);
    life.config.files_max = 3;
    assert_int_equal(life_open(&life), 0);
    while ((rc = life_group(&life)) == 0) assert_true(life.acked < LIFE_GROUPS - 2);
    assert_int_equal(rc, CELLAR_FULL);
    life_abandon(&life);
    assert_int_equal(life_open(&life), 0);
    assert_int_equal(life_group(&life), 0);
    assert_int_equal(wal_free(life.wal, life.acked, NULL), 0);
    assert_null(life_verdict(&life));
}

static uint64_t bytes_of(const struct life *life, uint64_t number)
{
    char name[DISK_NAME_MAX];
    wal_name(number, name);
    return disk_sim_bytes(life->sim, name);
}

/* Usual ones come before and after it; it counts as two files, is copied by an opening, and goes with its file. */
static void a_longer_group_is_alone_in_a_longer_file(void **state)
{
    struct life life;
    (void)state;
    life_begin(&life, 4, CAPACITY); /* three files are kept */
    life.config.group_most = LIFE_GROUP_MOST;
    assert_int_equal(life_open(&life), 0);
    assert_int_equal(life_group_of(&life, 100), 0);
    assert_true(wal_append(life.wal, "a", 1));
    assert_true(wal_room(life.wal, LIFE_GROUP_BYTES - 1));
    assert_false(wal_room(life.wal, LIFE_GROUP_BYTES)); /* only one that is alone may be longer */
    life_abandon(&life);
    assert_int_equal(life_open(&life), 0);
    assert_true(wal_room(life.wal, LIFE_GROUP_MOST));
    assert_int_equal(wal_files(life.wal), 1);
    assert_int_equal(life_group_of(&life, LIFE_GROUP_MOST), 0);
    assert_int_equal(bytes_of(&life, 3), (2 + LIFE_GROUP_MOST / WAL_PAYLOAD) * WAL_BLOCK);
    assert_int_equal(wal_files(life.wal), 3);
    life_abandon(&life);
    assert_int_equal(life_open(&life), 0); /* an opening has it once more */
    assert_int_equal(bytes_of(&life, 4), (2 + LIFE_GROUP_MOST / WAL_PAYLOAD) * WAL_BLOCK);
    assert_int_equal(life_group_of(&life, LIFE_GROUP_BYTES), 0);
    assert_int_equal(life_group_of(&life, LIFE_GROUP_MOST), 0);
    assert_int_equal(life_group_of(&life, 1), 0);
    life.config.from = life.acked;
    assert_int_equal(wal_free(life.wal, life.config.from, &life.error), 0);
    for (uint64_t number = 1; number <= 6; number++) assert_int_equal(bytes_of(&life, number), 0);
    assert_int_equal(bytes_of(&life, 7), LIFE_FILE_BYTES);
    assert_int_equal(wal_files(life.wal), 1);
    life_abandon(&life);
    disk_sim_power_cycle(life.sim);
    assert_int_equal(life_open(&life), 0);
    assert_null(life_verdict(&life));
}

/* A file that nothing needs is used again: no other one is made, and what it had is not believed. */
static void freed_files_are_used_again(void **state)
{
    struct life life;
    (void)state;
    life_begin(&life, 1, 4 * LIFE_FILE_BYTES + 1000);
    assert_int_equal(life.config.files_kept, 3);
    assert_int_equal(life_open(&life), 0);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(life_group(&life), 0);
        life.config.from = life.acked;
        assert_int_equal(wal_free(life.wal, life.config.from, &life.error), 0);
        assert_true(wal_files(life.wal) <= 2);
    }
    assert_true(disk_sim_used(life.sim) <= 3 * LIFE_FILE_BYTES);
    life_abandon(&life);
    disk_sim_power_cycle(life.sim);
    assert_int_equal(life_open(&life), 0);
    assert_null(life_verdict(&life));
}

/*
 * What is not needed any more is freed by an opening, too: else a log at its bound could not be opened for ever. Not
 * where other logs may show that it is needed (INV-DURABLE-23).
 */
static void an_opening_frees(void **state)
{
    struct life life;
    life_begin(&life, 1, CAPACITY);
    assert_int_equal(life_open(&life), 0);
    while (life.acked < 20) assert_int_equal(life_group(&life), 0);
    life_abandon(&life);
    life.config.from = life.acked;
    life.config.keeps = true;
    assert_int_equal(life_open(&life), 0);
    life_abandon(&life);
    life.config.keeps = false;
    assert_true(disk_sim_bytes(life.sim, "wal-0000000000000001") > 0);
    assert_int_equal(life_open(&life), 0);
    assert_int_equal(disk_sim_bytes(life.sim, "wal-0000000000000001"), 0);
    assert_int_equal(life_group(&life), 0);
    assert_null(life_verdict(&life));
}

/* Each plant is seen by one of the scenarios, within so many seeds. */
static void planted_bugs_are_seen(void **state)
{
#ifdef CELLAR_PLANTS
    static const struct {
        const char *plant;
        const char *(*scenario)(uint64_t seed);
    } hunts[] = {{"wal_acked_unsynced", power_fails_anywhere},
                 {"wal_head_unsynced", power_fails_anywhere},
                 {"wal_torn_accepted", power_fails_anywhere},
                 {"wal_checksum_ignored", power_fails_anywhere},
                 {"wal_sync_retried", sync_fails},
                 {"wal_tail_trusted", sync_fails},
                 {"wal_copy_removed", copy_is_kept},
                 {"wal_copy_trusted", neither_is_believed},
                 {"wal_spare_headed", power_fails_anywhere},
                 {"wal_freed_early", freed}};
    for (size_t i = 0; i < sizeof hunts / sizeof *hunts; i++) {
        bool seen = life_plant_seen(hunts[i].plant, hunts[i].scenario, 400);
        if (!seen) fail_msg("planted %s: not seen", hunts[i].plant);
    }
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_may_fail_at_every_operation),
        cmocka_unit_test(a_failed_sync_is_the_end),
        cmocka_unit_test(a_lying_sync_loses_nothing_silently),
        cmocka_unit_test(lives_are_cut_off_in_a_row),
        cmocka_unit_test(the_only_copy_stays),
        cmocka_unit_test(a_first_file_without_groups_is_passed_over),
        cmocka_unit_test(files_without_groups_are_removed_together),
        cmocka_unit_test(openings_that_fail_pile_up_no_files),
        cmocka_unit_test(no_space_is_made_of_the_only_copy),
        cmocka_unit_test(freed_space_is_of_no_use_any_more),
        cmocka_unit_test(a_full_disk_stops_and_goes_on),
        cmocka_unit_test(its_own_bound_is_kept),
        cmocka_unit_test(freed_files_are_used_again),
        cmocka_unit_test(an_opening_frees),
        cmocka_unit_test(a_longer_group_is_alone_in_a_longer_file),
        cmocka_unit_test(planted_bugs_are_seen),
    };
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds * share_percent() / 100;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
