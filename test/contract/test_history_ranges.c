/*
 * test_history_ranges.c - a scan of an index over records' keys is in the history as the range that it has read; and a
 * scan that overlooks a record is one that the checker refuses.
 */
#include "ordered.h"

#include "history_check.h"
#include "history_recorder.h"

#define LOADED 60

struct scanned {
    struct api api;
    const struct cellar_index *by_key;
    struct history_recorder *recorder;
    struct history history;
};

static void scanned_open(struct scanned *scanned, const struct api_variant *variant)
{
    *scanned = (struct scanned){.by_key = NULL};
    api_open_with(&scanned->api, variant, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
    api_load(&scanned->api, 0, LOADED);
    scanned->by_key = ordered_index(&scanned->api, "by_key", NULL, 0, 0);
    MUST(&scanned->api.error,
         history_recorder_open(scanned->api.db, NULL, 1000, NULL, &scanned->recorder, &scanned->api.error));
    history_recorder_start(scanned->recorder);
}

static uint32_t scan(struct scanned *scanned, uint64_t low, uint64_t high, uint32_t flags, uint64_t limit)
{
    static struct ordered_scan args;
    args = (struct ordered_scan){
        .index = scanned->by_key, .range = {.low_key = low, .high_key = high}, .flags = flags, .limit = limit};
    assert_code(api_run(&scanned->api, ordered_scan, &args), 0);
    return args.count;
}

static void scanned_stop(struct scanned *scanned)
{
    MUST(&scanned->api.error, history_recorder_close(scanned->recorder, &scanned->history, &scanned->api.error));
}

static int judge(const struct scanned *scanned, struct history_verdict *verdict)
{
    const struct history_check_options options = {.realtime = true, .settled = true};
    return history_check(&scanned->history, &options, verdict);
}

/* The parts of what the last transaction has read, one behind the other; how many records it found. */
static uint32_t assert_ranges(const struct scanned *scanned, uint64_t low, uint64_t high)
{
    const struct history *history = &scanned->history;
    const struct history_txn *txn = &history->txns[history->txn_count - 1];
    uint64_t at = low;
    uint32_t found = 0;
    for (uint32_t i = 0; i < txn->count; i++) {
        const struct history_access *access = &history->accesses[txn->first + i];
        if (access->table_id != scanned->api.items->table->id) continue;
        found += access->kind == HISTORY_READ && access->cell == HISTORY_PRESENCE;
        if (access->kind != HISTORY_RANGE) continue;
        assert_int_equal(access->key, at);
        assert_true(access->version > 0);
        at = access->over + 1;
    }
    assert_int_equal(at, high + 1);
    return found;
}

static void a_scan_is_a_range(void **state)
{
    struct scanned scanned;
    struct history_verdict verdict;
    if (!ordered_supported(*state)) skip();
    scanned_open(&scanned, *state);
    assert_int_equal(scan(&scanned, 3, 99, 0, 0), LOADED - 3);
    scanned_stop(&scanned);
    assert_int_equal(assert_ranges(&scanned, 3, 99), LOADED - 3);
    assert_int_equal(judge(&scanned, &verdict), 0);
    history_free(&scanned.history);
    api_close(&scanned.api);
}

/* A record of the range that the scan does not have. */
static void what_it_overlooks_is_seen(void **state)
{
    struct scanned scanned;
    struct history_verdict verdict;
    if (!ordered_supported(*state)) skip();
    scanned_open(&scanned, *state);
    assert_int_equal(scan(&scanned, 0, 40, CELLAR_BACKWARD, 0), 41);
    scanned_stop(&scanned);
    struct history *history = &scanned.history;
    const struct history_txn *txn = &history->txns[history->txn_count - 1];
    for (uint32_t i = 0; i < txn->count; i++) {
        struct history_access *access = &history->accesses[txn->first + i];
        bool presence = access->kind == HISTORY_READ && access->cell == HISTORY_PRESENCE;
        if (presence && access->table_id == scanned.api.items->table->id && access->key == 7) access->key = 8;
    }
    assert_int_equal(judge(&scanned, &verdict), CELLAR_CORRUPT);
    assert_string_equal(verdict.kind, "absent");
    history_free(&scanned.history);
    api_close(&scanned.api);
}

/* Changes, and then a scan of all keys: own changes may have shared the leaf's entries out anew. */
struct changed_scan {
    struct api_call call;
    struct ordered_change change;
    struct ordered_scan scan;
};

static int changed_scan(struct cellar_txn *txn, struct api_call *call)
{
    struct changed_scan *both = (struct changed_scan *)call;
    both->change.call = both->scan.call = *call;
    TRY(ordered_change(txn, &both->change.call));
    return ordered_scan(txn, &both->scan.call);
}

static void scans_after_own_changes_are_dated(void **state)
{
    static struct changed_scan both;
    struct scanned scanned;
    struct history_verdict verdict;
    struct prng prng;
    if (!ordered_supported(*state)) skip();
    prng_seed(&prng, 7);
    scanned_open(&scanned, *state);
    for (uint32_t i = 0; i < 150; i++) {
        ordered_draw(&prng, &both.change, 2 * LOADED, 5);
        both.scan = (struct ordered_scan){.index = scanned.by_key, .range = {.high_key = UINT64_MAX}};
        assert_code(api_run(&scanned.api, changed_scan, &both), 0);
    }
    scanned_stop(&scanned);
    if (judge(&scanned, &verdict)) fail_msg("%s", verdict.kind);
    history_free(&scanned.history);
    api_close(&scanned.api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(a_scan_is_a_range), API_TEST(what_it_overlooks_is_seen),
                                      API_TEST(scans_after_own_changes_are_dated)};
    return api_main("history_ranges", tests, sizeof tests / sizeof *tests, argc, argv);
}
