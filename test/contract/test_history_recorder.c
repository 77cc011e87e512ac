/*
 * test_history_recorder.c - what a recorder takes down: each kind of access, with its exact versions in the modes in
 * which these can be foretold; what ends without effect; what is unknown; and the pool's final versions.
 */
#include "recorded.h"
#include "numbered.h"
#include "rivals.h"
#include "session.h"

static void reads_and_writes(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){0}, 100);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A | CELL_TEXT, CELL_A | CELL_B | CELL_N, 0}, {FETCH, 0, 0, 0, 0},
                    {PUT, 3, 0, CELL_A, 500}, {PUT, 3, 0, CELL_N, 77}),
                0);
    assert_code(RUN(&r.api, {ACCESS, 3, CELLAR_ALL_CELLS, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    /* Never put: locked, and read. A write of the same value is a write. */
    assert_code(RUN(&r.api, {ACCESS, 3, 0, CELL_A, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {ACCESS, 3, 0, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_int_equal(history_recorder_count(r.recorder), 4);
    stop(&r);

    assert_int_equal(r.history.txn_count, 4);
    EXPECT(&r.history, 0, LOADED(3, ITEM_A, 9), LOADED(3, ITEM_B, 10), LOADED(3, ITEM_TEXT, 3), LOADED(3, ITEM_N, 3),
           WRITE(3, ITEM_A, 2, 2, 1, 500), WRITE(3, ITEM_N, 2, 2, 1, 77));
    EXPECT(&r.history, 1, READ(3, ITEM_A, 2, 2, 500), LOADED(3, ITEM_B, 10), LOADED(3, ITEM_TEXT, 3),
           READ(3, ITEM_N, 2, 2, 77));
    EXPECT(&r.history, 2, READ(3, ITEM_A, 2, 2, 500));
    EXPECT(&r.history, 3, READ(3, ITEM_A, 2, 2, 500), WRITE(3, ITEM_A, 3, r.history.txns[3].ts, 2, 500));
    assert_int_equal(r.history.txns[0].ts, 2);
    assert_int_equal(r.history.txns[1].ts, 0);
    for (uint64_t i = 0; i < 4; i++) {
        const struct history_txn *txn = &r.history.txns[i];
        assert_int_equal(txn->id, i);
        assert_int_equal(txn->outcome, HISTORY_COMMITTED);
        assert_int_equal(txn->cn, 0);
        assert_true(txn->begin_ns <= txn->end_ns);
        assert_true(i == 0 || txn->begin_ns >= r.history.txns[i - 1].end_ns);
    }
    assert_int_equal(r.history.table_count, 1);
    assert_string_equal(r.history.tables[0].name, "items");
    assert_true(r.history.has_final);
    assert_int_equal(r.history.final_count, 4); /* what was only read, too */
    assert_final(&r.history, 3, ITEM_B, 1, 1, 10);
    assert_final(&r.history, 3, ITEM_A, 3, r.history.txns[3].ts, 500);
    assert_final(&r.history, 3, ITEM_N, 2, 2, 77);
    done(&r);
}

/* What a later block brings is taken down then; what was changed meanwhile stays as it was read. */
static void blocks(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){0}, 100);
    assert_code(RUN(&r.api, {ACCESS, 4, CELL_A, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 4, 0, CELL_B, 900},
                    {ACCESS, 5, CELL_A, 0, 0}, {ACCESS, 4, CELL_N, CELL_TEXT, 0}, {FETCH, 0, 0, 0, 0},
                    {PUT, 4, 0, CELL_B, 901}),
                0);
    stop(&r);
    EXPECT(&r.history, 0, LOADED(4, ITEM_A, 12), LOADED(4, ITEM_B, 11), LOADED(4, ITEM_TEXT, 4), LOADED(4, ITEM_N, 4),
           LOADED(5, ITEM_A, 15), WRITE(4, ITEM_B, 2, 2, 1, 901));
    done(&r);
}

static void inserts_and_deletes(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){.coros = 1}, 100);
    uint64_t bucket = bucket_version(&r.api, 12);
    uint16_t en = layout_version_en(bucket);
    uint64_t ts = layout_version_ts(bucket);

    /* Looks, then inserts into a new slot; deletes; inserts again, into that slot: its versions go on. */
    assert_code(
        RUN(&r.api, {OPTIONAL, 12, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {DELETE, 12, CELL_N, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 30}, {FETCH, 0, 0, 0, 0}, {PUT, 12, 0, CELL_A, 5}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    stop(&r);

    const struct history_txn *txns = r.history.txns;
    assert_int_equal(r.history.txn_count, 4);
    uint64_t a = txns[0].ts, b = txns[1].ts, c = txns[2].ts, d = txns[3].ts;
    assert_true(a < b && b < c && c < d);
    EXPECT(&r.history, 0, ABSENT(12, en, ts), PRESENCE(HISTORY_INSERT, 12, a), CELLS_WRITTEN(12, 1, a, 0, 20));
    EXPECT(&r.history, 1, READ(12, ITEM_N, 1, a, 20), PRESENCE(HISTORY_DELETE, 12, b), CELLS_GONE(12, 2, b, a));
    EXPECT(&r.history, 2, PRESENCE(HISTORY_INSERT, 12, c), WRITE(12, ITEM_A, 3, c, b, 5),
           WRITE(12, ITEM_B, 3, c, b, 37), WRITE(12, ITEM_TEXT, 3, c, b, 30), WRITE(12, ITEM_N, 3, c, b, 30));
    EXPECT(&r.history, 3, PRESENCE(HISTORY_DELETE, 7, d), CELLS_GONE(7, 2, d, 1));
    assert_presence(&r.history, 12, 1);
    assert_presence(&r.history, 7, 0);
    assert_final(&r.history, 12, ITEM_A, 3, c, 5);
    assert_final(&r.history, 12, ITEM_TEXT, 3, c, 30);
    assert_null(final_of(&r.history, 7, ITEM_A));
    assert_int_equal(r.history.final_count, 6);
    done(&r);
}

/* Asked for without a cell: its presence, by the version that showed it; and the cell once it is asked for. */
static void presence_without_cells(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){.coros = 1}, 100);
    assert_code(RUN(&r.api, {OPTIONAL, 4, 0, 0, 0}, {ACCESS, 5, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(
        RUN(&r.api, {ACCESS, 12, 0, 0, 0}, {FETCH, 0, 0, 0, 0}, {ACCESS, 12, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    stop(&r);
    uint64_t ts = r.history.txns[1].ts;
    EXPECT(&r.history, 0, PRESENCE(HISTORY_READ, 4, 1), PRESENCE(HISTORY_READ, 5, 1));
    EXPECT(&r.history, 2, PRESENCE(HISTORY_READ, 12, ts), READ(12, ITEM_A, 1, ts, 60));
    done(&r);
}

static void what_fails_has_read(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){0}, 100);
    uint64_t bucket = bucket_version(&r.api, 13), bucket_of_2 = bucket_version(&r.api, 2);
    assert_code(
        RUN(&r.api, {ACCESS, 1, CELL_A, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 1, 0, CELL_B, 4}, {ABORT, 0, 0, 0, 0}),
        ERR_GIVEN_UP);
    assert_code(RUN(&r.api, {ACCESS, 2, CELL_A, 0, 0}, {ACCESS, 13, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}),
                CELLAR_NOT_FOUND);
    assert_code(RUN(&r.api, {ACCESS, 6, CELL_N, 0, 0}, {INSERT, 2, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), CELLAR_EXISTS);
    stop(&r);
    assert_int_equal(r.history.txn_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(r.history.txns[i].outcome, HISTORY_FAILED);
        assert_int_equal(r.history.txns[i].ts, 0);
    }
    EXPECT(&r.history, 0, LOADED(1, ITEM_A, 3), LOADED(1, ITEM_B, 8));
    EXPECT(&r.history, 1, LOADED(2, ITEM_A, 6), ABSENT(13, layout_version_en(bucket), layout_version_ts(bucket)));
    EXPECT(&r.history, 2, LOADED(6, ITEM_N, 6),
           {.kind = HISTORY_READ,
            .key = 2,
            .cell = HISTORY_PRESENCE,
            .en = layout_version_en(bucket_of_2),
            .ts = layout_version_ts(bucket_of_2),
            .no_value = true});
    assert_true(r.history.has_final);
    assert_int_equal(r.history.final_count, 6);
    assert_final(&r.history, 1, ITEM_B, 1, 1, 8);
    assert_presence(&r.history, 2, 1);
    assert_presence(&r.history, 13, 0);
    assert_true(r.history.has_loaded);
    assert_int_equal(r.history.loaded_count, 5); /* as the finals, but of key 13, which was not there */
    done(&r);
}

/* Attempts that abort leave nothing, even when the call ends with the last of them. */
static void what_aborts_is_not_there(void **state)
{
    struct recorded r;
    struct fabric_addr head;
    const struct step steps[] = {{ACCESS, 2, CELL_B, 0, 0},
                                 {ACCESS, 3, CELL_A, CELL_A, 0},
                                 {FETCH, 0, 0, 0, 0},
                                 {PUT, 3, 0, CELL_A, 1},
                                 {END, 0, 0, 0, 0}};
    struct script script = {.steps = steps};
    struct cellar_call_options options = {.timeout_ns = 1000000};
    record(&r, *state, (struct engine_config){0}, 100);
    struct fabric_addr addr = api_find(&r.api, 3, &head);
    api_poke_word(&r.api, addr, api_foreign_tags(r.api.items), api_tag_mask(r.api.items));
    do {
        options.timeout_ns *= 2;
        assert_code(api_run_with(&r.api, script_body, &script, &options), CELLAR_DEADLINE);
    } while (api_longer(&r.api, script.call.runs, options.timeout_ns));
    assert_true(script.call.runs > 1);
    api_poke_word(&r.api, addr, 0, api_tag_mask(r.api.items));
    assert_int_equal(history_recorder_count(r.recorder), 0);
    assert_code(run(&r.api, steps), 0);
    stop(&r);
    assert_int_equal(r.history.txn_count, 1);
    EXPECT(&r.history, 0, LOADED(2, ITEM_B, 9), LOADED(3, ITEM_A, 9), WRITE(3, ITEM_A, 2, 2, 1, 1));
    done(&r);
}

/* Two replicas of the log do not answer, more than can be away at a time: its end is unknown. */
static void what_is_unknown(void **state)
{
    struct recorded r;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1}, also = {.kind = FABRIC_NODE_KILL, .node = 2};
    record(&r, *state, (struct engine_config){.mns = 3, .replicas = 2, .coros = 1}, 100);
    uint64_t key = 0;
    while (fabric_addr_node(index_bucket_addr(&r.api.items->table->index, key)) != 0) key++;
    const struct step steps[] = {
        {ACCESS, key, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, key, 0, CELL_A, 1}, {END, 0, 0, 0, 0}};
    assert_code(run(&r.api, steps), 0);
    MUST(&r.api.error, db_fabric(r.api.db)->ops->control(db_fabric(r.api.db), &kill, &r.api.error));
    MUST(&r.api.error, db_fabric(r.api.db)->ops->control(db_fabric(r.api.db), &also, &r.api.error));
    assert_code(run(&r.api, steps), CELLAR_INDETERMINATE);
    stop(&r);
    assert_int_equal(r.history.txn_count, 2);
    assert_int_equal(r.history.txns[1].outcome, HISTORY_INDETERMINATE);
    assert_int_equal(r.history.txns[1].ts, 3);
    EXPECT(&r.history, 1, READ(key, ITEM_A, 2, 2, 1), WRITE(key, ITEM_A, 3, 3, 2, 1));
    assert_false(r.history.has_final); /* a node's records cannot be read */
    done(&r);
}

static int add_one(struct cellar_txn *txn, struct api_call *call)
{
    struct script *script = (struct script *)call;
    uint64_t a = 0;
    int ref = cellar_proc_access(txn, call->items, script->steps->key, CELL_A, CELL_A, 0);
    if (ref < 0) return ref;
    int rc = cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, ITEM_A, &a);
    a++;
    return rc ? rc : cellar_proc_put(txn, ref, ITEM_A, &a);
}

#define ADDS 200

static int add_client(struct cellar_lab_client *client, void *arg)
{
    struct recorded *r = arg;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < ADDS; i++) {
        const struct step step = {.key = i % 2};
        struct script script = {.call = {.body = add_one, .items = r->api.items}, .steps = &step};
        struct cellar_result result;
        rc = cellar_lab_exec(client, r->api.any, &script, NULL, &result);
    }
    return rc;
}

/* Two counters, all coordinators: one unbroken chain of versions and values each, and nothing in the wrong order. */
static void many_at_once(void **state)
{
    const struct api_variant *variant = *state;
    struct recorded r;
    struct {
        uint64_t version, value;
    } *chain = calloc(2 * 8 * ADDS, sizeof *chain);
    uint64_t last[2] = {layout_version_of(1, 1), layout_version_of(1, 1)}, count[2] = {0, 0};

    record(&r, variant, (struct engine_config){.threads = 2, .coros = 4}, 8 * ADDS);
    assert_false(history_recorder_full(r.recorder));
    assert_code(cellar_lab_run(r.api.db, add_client, &r), 0);
    assert_true(history_recorder_full(r.recorder));
    stop(&r);
    assert_int_equal(r.history.txn_count, 8 * ADDS);
    bool progress = true;
    while (progress) { /* recorded in the order of ends, which need not be that of versions */
        progress = false;
        for (uint64_t i = 0; i < r.history.txn_count; i++) {
            const struct history_access *access = &r.history.accesses[r.history.txns[i].first];
            if (access[0].version != last[access[0].key]) continue;
            uint64_t key = access[0].key;
            assert_int_equal(r.history.txns[i].count, 2);
            assert_true(access[0].digest == digest_of(ITEM_A, 3 * key + count[key]));
            assert_true(access[1].digest == digest_of(ITEM_A, 3 * key + count[key] + 1));
            assert_true(access[1].over == last[key]);
            assert_true(layout_version_ts(access[1].version) == r.history.txns[i].ts);
            last[key] = access[1].version;
            count[key]++;
            progress = true;
        }
    }
    assert_int_equal(count[0], 4 * ADDS);
    assert_int_equal(count[1], 4 * ADDS);
    for (uint64_t i = 1; i < r.history.txn_count; i++)
        assert_true(r.history.txns[i - 1].end_ns <= r.history.txns[i].end_ns);
    assert_true(final_of(&r.history, 0, ITEM_A)->version == last[0]);
    assert_true(final_of(&r.history, 1, ITEM_A)->digest == digest_of(ITEM_A, 3 + 4 * ADDS));
    free(chain);
    done(&r);
}

/* In sim the same seed gives the same history, to the byte. */
static void the_same_again(void **state)
{
    const struct api_variant *variant = *state;
    struct recorded r[2];
    if (variant->threads) skip();
    for (int i = 0; i < 2; i++) {
        record(&r[i], variant, (struct engine_config){.cns = 2, .threads = 2, .coros = 2, .seed = 9}, 10);
        assert_code(cellar_lab_run(r[i].api.db, add_client, &r[i]), 0);
        stop(&r[i]);
    }
    const struct history *a = &r[0].history, *b = &r[1].history;
    assert_int_equal(a->txn_count, 8 * ADDS); /* more than txns_max: nothing is left out */
    assert_int_equal(a->txn_count, b->txn_count);
    assert_int_equal(a->access_count, b->access_count);
    assert_int_equal(a->final_count, b->final_count);
    assert_memory_equal(a->txns, b->txns, a->txn_count * sizeof *a->txns);
    for (uint64_t i = 0; i < a->access_count; i++) {
        assert_true(a->accesses[i].version == b->accesses[i].version);
        assert_true(a->accesses[i].digest == b->accesses[i].digest);
    }
    for (int i = 0; i < 2; i++) done(&r[i]);
}

/* ---- sessions ---- */

static int commit_beside(struct recorded *r, struct session *session, uint64_t key, uint64_t other)
{
    struct cellar_txn *txn;
    uint64_t a;
    assert_code(session_begin(session, NULL, &txn), 0);
    assert_code(cellar_txn_get(txn, r->api.items, key, ITEM_A, &a), 0);
    if (other != key) assert_code(cellar_txn_get(txn, r->api.items, other, ITEM_A, &a), CELLAR_NOT_FOUND);
    if (other == key) /* meanwhile */
        assert_code(RUN(&r->api, {ACCESS, key, 0, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, key, 0, CELL_A, 50}), 0);
    a = 77;
    assert_code(cellar_txn_put(txn, r->api.items, key, ITEM_N, &a), 0);
    return session_commit(txn, NULL);
}

/* What an interactive transaction has noted it has read; its coordinator is one behind those of its compute node. */
static void notes_are_reads(void **state)
{
    struct recorded r;
    struct session *sessions[2];
    if (((const struct api_variant *)*state)->cc == CELLAR_LAB_CC_TWOPL) skip(); /* which has no sessions */
    record(&r, *state, (struct engine_config){.cns = 2, .threads = 1, .coros = 2, .sessions = 3}, 100);
    for (int i = 0; i < 2; i++) MUST(&r.api.error, session_open(r.api.db, &sessions[i], &r.api.error));
    uint64_t bucket = bucket_version(&r.api, 12);
    assert_code(commit_beside(&r, sessions[1], 3, 12), 0);
    assert_code(commit_beside(&r, sessions[0], 4, 4), CELLAR_RETRY);
    stop(&r);

    assert_int_equal(r.history.txn_count, 5);
    EXPECT(&r.history, 0, LOADED(3, ITEM_A, 9));
    EXPECT(&r.history, 1, ABSENT(12, layout_version_en(bucket), layout_version_ts(bucket)));
    EXPECT(&r.history, 2, LOADED(3, ITEM_N, 3), LOADED(3, ITEM_A, 9),
           ABSENT(12, layout_version_en(bucket), layout_version_ts(bucket)),
           WRITE(3, ITEM_N, 2, r.history.txns[2].ts, 1, 77));
    EXPECT(&r.history, 3, LOADED(4, ITEM_A, 12));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r.history.txns[i].cn, 1);
        assert_int_equal(r.history.txns[i].coordinator, 2);
    }
    assert_int_equal(r.history.txns[3].cn, 0);
    assert_int_equal(r.history.txns[3].coordinator, 2);
    assert_int_equal(r.history.txns[4].outcome, HISTORY_COMMITTED);
    for (int i = 0; i < 2; i++) session_close(sessions[i]);
    done(&r);
}

/* ---- no room ---- */

struct crowd {
    struct api_call call;
    uint64_t key;
};

/* Reads a record that stays as it was loaded, and inserts one. */
static int insert_beside(struct cellar_txn *txn, struct api_call *call)
{
    const struct crowd *crowd = (const struct crowd *)call;
    struct item item = item_of(crowd->key);
    TRY(cellar_proc_access(txn, call->items, 0, CELL_A, 0, 0));
    TRY(cellar_proc_insert(txn, call->items, crowd->key, &item));
    return cellar_proc_fetch(txn);
}

/* An index of few buckets: one of its chains gets as long as may be, which an insert finds out after its validation. */
static void what_finds_no_room_has_read(void **state)
{
    struct recorded r = {0};
    struct crowd crowd = {.key = 1};
    int code = 0;
    api_open_bare(&r.api, *state, (struct engine_config){.coros = 1});
    r.api.items = api_table(&r.api, "items", 1);
    api_procs(&r.api);
    api_load(&r.api, 0, 1);
    MUST(&r.api.error, history_recorder_open(r.api.db, NULL, 10000, NULL, &r.recorder, &r.api.error));
    history_recorder_start(r.recorder);
    for (; code == 0 && crowd.key < 10000; crowd.key++) code = api_run(&r.api, insert_beside, &crowd);
    assert_code(code, CELLAR_FULL);
    assert_int_equal(r.api.result.detail.why, WHY_CHAIN);
    stop(&r);

    const struct history_txn *last = &r.history.txns[r.history.txn_count - 1];
    const struct history_access *read = &r.history.accesses[last->first];
    assert_int_equal(last->outcome, HISTORY_FAILED);
    assert_int_equal(last->count, 1);
    assert_int_equal(read->kind, HISTORY_READ);
    assert_int_equal(layout_version_ts(read->version), 1);
    assert_int_equal(read->digest, digest_of(ITEM_A, 0));
    done(&r);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_EXACT(reads_and_writes),
        API_TEST_EXACT(blocks),
        API_TEST_EXACT(inserts_and_deletes),
        API_TEST_EXACT(presence_without_cells),
        API_TEST_EXACT(what_fails_has_read),
        API_TEST_EXACT(what_aborts_is_not_there),
        API_TEST_EXACT(what_is_unknown),
        API_TEST_EXACT(many_at_once),
        API_TEST_EXACT(notes_are_reads),
        API_TEST(what_finds_no_room_has_read),
        API_TEST(the_same_again),
    };
    return api_main("history_recorder", tests, sizeof tests / sizeof *tests, argc, argv);
}
