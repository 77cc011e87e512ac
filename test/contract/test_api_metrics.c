/* test_api_metrics.c - cellar.h: which records conflicts are about, and all counts as Prometheus text. */
#include "sessions.h"

#include <stdlib.h>

/* `one` has read the item before `two` changes it: its commit is a conflict about that item. */
static void conflict_make(struct sessions_pair *pair, uint64_t key)
{
    struct cellar_txn *txn = sessions_begun(pair->one), *other = sessions_begun(pair->two);
    uint64_t a = sessions_got(&pair->api, txn, key);
    sessions_put(&pair->api, other, key, a + 1);
    assert_code(session_commit(other, NULL), 0);
    sessions_put(&pair->api, txn, key, a + 2);
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
}

static void conflicts_name_their_records(void **state)
{
    struct sessions_pair pair;
    struct cellar_lab_hot_record records[3];
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_int_equal(0, cellar_lab_hot_read(pair.api.db, records, 3));
    for (int i = 0; i < 3; i++) conflict_make(&pair, 5);
    for (uint64_t key = 0; key < 5; key++) conflict_make(&pair, key);
    assert_int_equal(3, cellar_lab_hot_read(pair.api.db, records, 3));
    assert_ptr_equal(records[0].table, pair.api.items);
    assert_int_equal(records[0].key, 5);
    assert_true(records[0].conflicts >= 3);
    assert_true(records[1].conflicts >= 1 && records[1].conflicts <= records[0].conflicts);
    cellar_lab_stats_reset(pair.api.db);
    assert_int_equal(1, cellar_lab_hot_read(pair.api.db, records, 1));
    assert_int_equal(records[0].key, 5);
    sessions_pair_close(&pair);
}

static uint64_t number_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (!at || at[strlen(name)] != ' ') fail_msg("no %s in the metrics", name);
    return strtoull(at + strlen(name), NULL, 10);
}

static void all_counts_are_told_as_text(void **state)
{
    static char text[CELLAR_METRICS_BYTES], cut[100];
    struct sessions_pair pair;
    struct cellar_lab_stats stats;
    if (!sessions_pair_open(&pair, *state)) skip();
    for (int i = 0; i < 4; i++) conflict_make(&pair, 7);
    size_t bytes = cellar_metrics(pair.api.db, text, sizeof text);
    cellar_lab_stats_read(pair.api.db, &stats);
    assert_true(bytes < sizeof text && strlen(text) == bytes && text[bytes - 1] == '\n');
    assert_int_equal(number_of(text, "\ncellar_transactions_total"), stats.committed);
    assert_true(number_of(text, "cellar_aborts_total{reason=\"validation\"}") >= 4);
    assert_true(number_of(text, "cellar_record_conflicts{table=\"items\",key=\"7\"}") >= 4);
    assert_int_equal(number_of(text, "cellar_table_records_total{table=\"items\",did=\"written\"}"), 4);
    assert_int_equal(number_of(text, "cellar_table_conflicts_total{table=\"items\"}"), 4);
    assert_int_equal(number_of(text, "\ncellar_round_trips_total"), stats.round_trips);
    assert_int_equal(number_of(text, "cellar_verbs_total{phase=\"execute\",verb=\"read\"}"),
                     stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ]);
    assert_int_equal(bytes, cellar_metrics(pair.api.db, cut, sizeof cut));
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_int_equal(0, strncmp(text, cut, sizeof cut - 1));
    assert_int_equal(bytes, cellar_metrics(pair.api.db, NULL, 0));
    cellar_lab_stats_reset(pair.api.db);
    cellar_metrics(pair.api.db, text, sizeof text);
    assert_int_equal(number_of(text, "\ncellar_transactions_total"), stats.committed);
    sessions_pair_close(&pair);
}

/* Together as cellar_lab_pool_space_read has it, which asks the memory nodes. */
static uint64_t used_told(struct cellar *db)
{
    static char text[CELLAR_METRICS_BYTES];
    uint64_t used = 0;
    cellar_metrics(db, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "\ncellar_memory_used_bytes{node=\"")); at++)
        used += strtoull(strchr(at, '}') + 1, NULL, 10);
    return used;
}

static void memory_in_use_is_told(void **state)
{
    struct api api;
    struct cellar_lab_pool_space space;
    api_open(&api, *state);
    uint64_t before = used_told(api.db);
    api_load(&api, 0, 3000);
    uint64_t after = used_told(api.db);
    assert_true(after > before);
    cellar_lab_pool_space_read(api.db, &space);
    assert_int_equal(after, space.used_bytes);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(conflicts_name_their_records), API_TEST(all_counts_are_told_as_text),
                                      API_TEST(memory_in_use_is_told)};
    return api_main("api_metrics", tests, sizeof tests / sizeof *tests, argc, argv);
}
