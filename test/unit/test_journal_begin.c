/*
 * test_journal_begin.c - the end of a log that is in a cache only, since its sync failed, and is shown to the next
 * process: no other log names it in the mark of a new life before it is on its disk (INV-DURABLE-23).
 */
#include "disk_sim.h"
#include "journal.h"
#include "plant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two memory nodes of one machine. */
struct pair {
    struct disk_sim *sim[2];
    struct wal_config config[2];
    struct journal *journals[2];
    struct journal_cut cut;
    struct cellar_error error;
};

static void pair_open(struct pair *pair)
{
    *pair = (struct pair){.sim = {disk_sim_open(1, 1u << 20)}};
    pair->sim[1] = disk_sim_open_beside(pair->sim[0], 2, 1u << 20);
    for (uint32_t n = 0; n < 2; n++)
        pair->config[n] = (struct wal_config){.disk = disk_sim_disk(pair->sim[n]),
                                              .directory = {1, n},
                                              .node = n,
                                              .group_bytes = 4000,
                                              .file_bytes = 8 * 4096,
                                              .files_max = 9,
                                              .from = 1,
                                              .keeps = true};
}

static int pair_look(struct pair *pair)
{
    struct journal_found found[2];
    int rc = journal_look(&pair->config[0], &found[0], &pair->error);
    if (rc == 0) rc = journal_look(&pair->config[1], &found[1], &pair->error);
    return rc ? rc : journal_cut_of(found, 2, &pair->cut, &pair->error);
}

static int pair_recover(struct pair *pair)
{
    int rc = pair_look(pair);
    for (uint32_t n = 0; n < 2 && rc == 0; n++)
        rc = journal_open(&pair->config[n], &pair->cut, NULL, NULL, &pair->journals[n], &pair->error);
    for (uint32_t n = 0; n < 2 && rc == 0; n++) rc = journal_begin(pair->journals[n], &pair->error);
    return rc;
}

static int pair_close_epoch(struct pair *pair, uint32_t n, uint64_t epoch)
{
    assert_true(journal_close_epoch(pair->journals[n], epoch, epoch - 1));
    return journal_sync(pair->journals[n], &pair->error);
}

/* The process is no more: what it had opened is let go of, and no byte of that is written. */
static void pair_gone(struct pair *pair)
{
    disk_sim_off(pair->sim[0], true);
    for (uint32_t n = 0; n < 2; n++) {
        (void)!journal_end(pair->journals[n], NULL);
        pair->journals[n] = NULL;
    }
    disk_sim_off(pair->sim[0], false);
}

/*
 * The sync of an epoch's end fails on the second disk, and the next process sees it there: in a cache. The power fails
 * at the given operation of that process' recovery. False: the logs that are left are refused.
 */
static bool is_one_moment_after(uint64_t operation, bool *whole)
{
    struct pair pair;
    pair_open(&pair);
    assert_int_equal(pair_recover(&pair), 0);
    for (uint32_t n = 0; n < 2; n++) assert_int_equal(pair_close_epoch(&pair, n, 1), 0);
    assert_int_equal(pair_close_epoch(&pair, 0, 2), 0);
    disk_sim_set(pair.sim[0], (struct disk_sim_faults){.sync_fails_at = 1, .sync_drops = true});
    assert_int_equal(pair_close_epoch(&pair, 1, 2), CELLAR_SYSTEM);
    pair_gone(&pair);
    disk_sim_process_ends(pair.sim[0]);
    uint64_t before = disk_sim_operations(pair.sim[0]);
    disk_sim_set(pair.sim[0], (struct disk_sim_faults){.power_lost_at = before + operation});
    *whole = pair_recover(&pair) == 0;
    assert_true(!*whole || pair.cut.epoch == 2);
    pair_gone(&pair);
    disk_sim_power_cycle(pair.sim[0]);
    bool well = pair_recover(&pair) == 0 && pair.cut.epoch >= 1;
    pair_gone(&pair);
    disk_sim_close(pair.sim[0]);
    return well;
}

/* At each operation. */
static bool are_of_one_moment(void)
{
    bool whole = false, well = true;
    for (uint64_t operation = 1; !whole && well; operation++) well = is_one_moment_after(operation, &whole);
    return well;
}

static void a_life_begins_when_all_ends_are_on_disks(void **state)
{
    (void)state;
    assert_true(are_of_one_moment());
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("journal_begun_alone"));
    assert_false(are_of_one_moment());
    assert_true(plant_choose(NULL));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_life_begins_when_all_ends_are_on_disks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
