/*
 * test_history_logs.c - the logs of a pool at rest against a history: what an honest run leaves is accepted, however
 * often the rings came around; each way in which they can disagree is told. And that entries name what they rest on.
 */
#define API_REDO_LOGS
#include "api.h"
#include "numbered.h"
#include "coordinator.h"
#include "db_queue.h"
#include "history_logs.h"
#include "history_recorder.h"
#include "loader_logs.h"

struct change {
    struct api_call call;
    uint64_t key;
    bool insert, erase;
};

static int change(struct cellar_txn *txn, struct api_call *call)
{
    struct change *change = (struct change *)call;
    struct item item = item_of(change->key + 1);
    int ref = change->insert
                  ? cellar_proc_insert(txn, call->items, change->key, &item)
                  : cellar_proc_access(txn, call->items, change->key, CELL_A, change->erase ? 0 : CELL_A | CELL_TEXT,
                                       change->erase ? CELLAR_DELETE : 0);
    if (ref < 0) return ref;
    int rc = cellar_proc_fetch(txn);
    if (rc || change->insert || change->erase) return rc;
    return cellar_proc_put_row(txn, ref, &item);
}

struct logged {
    struct api api;
    struct history history;
    struct history_recorder *recorder;
};

static void begin(struct logged *logged, const struct api_variant *variant, struct engine_config config)
{
    logged->history = (struct history){0};
    if (!config.log_bytes) config.log_bytes = 64 << 10;
    api_open_with(&logged->api, variant, config);
    api_load(&logged->api, 0, 10);
    MUST(&logged->api.error,
         history_recorder_open(logged->api.db, NULL, UINT64_MAX, NULL, &logged->recorder, &logged->api.error));
    history_recorder_start(logged->recorder);
}

static void call(struct logged *logged, uint64_t key, bool insert, bool erase)
{
    struct change args = {.key = key, .insert = insert, .erase = erase};
    assert_code(api_run(&logged->api, change, &args), 0);
}

static void end(struct logged *logged)
{
    MUST(&logged->api.error, history_recorder_close(logged->recorder, &logged->history, &logged->api.error));
}

static int check(struct logged *logged)
{
    logged->api.error = (struct cellar_error){0};
    return history_logs_check(&logged->history, logged->api.db, 0, 0, &logged->api.error);
}

static void close(struct logged *logged)
{
    history_free(&logged->history);
    api_close(&logged->api);
}

/* ---- what is there ---- */

struct seen {
    struct cellar *db;
    uint32_t replica;
    uint64_t count;
    struct loader_log last_at; /* of the newest */
    uint64_t sequence, ts, bytes, incarnation;
    struct cellar_error error;
};

static int see(void *arg, const struct loader_log *at, const struct log_entry_wire *entry)
{
    struct seen *seen = arg;
    seen->count++;
    if (entry->sequence < seen->sequence) return 0;
    seen->last_at = *at;
    seen->sequence = entry->sequence;
    seen->ts = entry->ts;
    seen->bytes = entry->bytes;
    seen->incarnation = entry->incarnation;
    return 0;
}

static int see_all(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct seen *seen = arg;
    int rc = 0;
    for (uint32_t node = 0; rc == 0 && node < seen->db->catalog->mn_count; node++)
        rc = loader_logs(co, coordinator->worker->loader, node, seen->replica, see, seen, &seen->error);
    return rc;
}

static struct seen look(struct logged *logged, uint32_t replica)
{
    struct seen seen = {.db = logged->api.db, .replica = replica};
    MUST(&seen.error, db_run_on(logged->api.db, 0, see_all, &seen));
    return seen;
}

/* ---- tests ---- */

#define LATER (1ull << 40) /* a TS above all that a run here comes to */

static int many_client(struct cellar_lab_client *client, void *arg)
{
    struct logged *logged = arg;
    uint32_t index = cellar_lab_index(client);
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < 700; i++) {
        uint64_t own = 100 + index; /* comes and goes */
        struct change args = {.call = {.body = change, .items = logged->api.items},
                              .key = i % 3 ? own : i % 10,
                              .insert = i % 3 == 1,
                              .erase = i % 3 == 2};
        struct cellar_result result;
        rc = cellar_lab_exec(client, logged->api.any, &args, NULL, &result);
    }
    return rc;
}

static void rings_come_around(void **state)
{
    struct logged logged;
    begin(&logged, *state, (struct engine_config){.cns = 2, .threads = 2, .coros = 2, .mns = 3, .replicas = 1});
    assert_code(cellar_lab_run(logged.api.db, many_client, &logged), 0);
    end(&logged);
    assert_int_equal(logged.history.txn_count, 8 * 700);
    struct seen seen = look(&logged, 1);
    assert_int_equal(seen.sequence, 700);
    assert_true(seen.count > 8 * 50 && seen.count < 8 * 700);
    MUST(&logged.api.error, check(&logged));
    close(&logged);
}

static void an_entry_missing(void **state)
{
    struct logged logged;
    uint64_t zero[8] = {0};
    begin(&logged, *state, (struct engine_config){.mns = 2, .replicas = 1, .coros = 1});
    for (uint64_t key = 0; key < 5; key++) call(&logged, key, false, false);
    end(&logged);
    MUST(&logged.api.error, check(&logged));
    struct seen seen = look(&logged, 0);
    assert_int_equal(seen.count, 5);
    struct fabric_addr backup = catalog_replica(logged.api.db->catalog, seen.last_at.addr, 1);
    api_poke(&logged.api, fabric_addr_plus(backup, 64), zero, 8);
    assert_int_equal(look(&logged, 1).count, 4);
    FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "is the coordinator's last");
    /* An older one: on the primary, and not on the backup. */
    api_poke(&logged.api, fabric_addr_plus(backup, -(int64_t)(seen.bytes + 63) / 64 * 64), zero, 8);
    assert_int_equal(look(&logged, 1).count, 3);
    logged.history.txn_count = 4; /* as if the last had never been: then its entry is of none */
    FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "no transaction that can have written");
    close(&logged);
}

static void an_entry_tells_something_else(void **state)
{
    struct logged logged;
    begin(&logged, *state, (struct engine_config){.coros = 1});
    call(&logged, 1, false, false);
    call(&logged, 50, true, false);
    call(&logged, 2, false, true);
    end(&logged);
    MUST(&logged.api.error, check(&logged));
    for (uint64_t t = 0; t < 3; t++) {
        struct history_txn *txn = &logged.history.txns[t];
        for (uint32_t i = 0; i < txn->count; i++) {
            struct history_access *access = &logged.history.accesses[txn->first + i], before = *access;
            bool write = access->kind == HISTORY_WRITE;
            access->key ^= 64;
            assert_code(check(&logged), access->kind == HISTORY_READ ? 0 : CELLAR_CORRUPT);
            *access = before;
            access->digest ^= write;
            assert_code(check(&logged), write ? CELLAR_CORRUPT : 0);
            *access = before;
            access->cell ^= 1;
            assert_code(check(&logged), access->kind == HISTORY_READ ? 0 : CELLAR_CORRUPT);
            *access = before;
        }
        txn->count--; /* the entry has one more */
        FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "tells another change");
        txn->count++;
        txn->ts += 1000; /* the entry's is another one */
        FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "no transaction that can have written");
        txn->ts -= 1000;
    }
    MUST(&logged.api.error, check(&logged));
    close(&logged);
}

/* Writes an empty entry of that sequence and TS into the coordinator's ring, `lines` behind its newest. */
static void forge(struct logged *logged, const struct seen *seen, uint64_t sequence, uint64_t ts, uint32_t lines)
{
    uint64_t buffer[32];
    struct logseg seg;
    struct logseg_entry entry;
    struct fabric_addr at, behind = fabric_addr_plus(seen->last_at.addr, (seen->bytes + 63) / 64 * 64 + 64 * lines);
    logseg_init(&seg, behind, 4096, seen->last_at.cn, seen->last_at.coordinator, seen->incarnation);
    seg.sequence = sequence - 1;
    logseg_entry_begin(&entry, (uint8_t *)buffer, sizeof buffer);
    assert_code(logseg_entry_finish(&seg, &entry, ts, 0, &at), 0);
    assert_true(at.bits == behind.bits);
    api_poke(&logged->api, at, buffer, entry.bytes);
}

static void sequences_rise(void **state)
{
    static const struct {
        uint64_t sequence, ts, lines;
        const char *word;
    } cases[] = {
        {4, LATER, 0, NULL},                               /* the next one */
        {5, LATER, 1, NULL},                               /* one behind a gap that was never written */
        {5, LATER, 0, "lies directly before"},             /* but not where it cannot be */
        {3, LATER, 0, "is there with"},                    /* twice */
        {2, LATER, 0, "is there with"},                    /* and older than what it lies behind, yet later */
        {4, LATER + 1, 0, "no transaction that can have"}, /* not of the history */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct logged logged;
        begin(&logged, *state, (struct engine_config){.coros = 1});
        for (uint64_t key = 0; key < 3; key++) call(&logged, key, false, false);
        end(&logged);
        struct seen seen = look(&logged, 0);
        struct history_txn txn = {.id = 3, .ts = LATER, .outcome = HISTORY_COMMITTED};
        assert_int_equal(seen.sequence, 3);
        assert_int_equal(history_txn_add(&logged.history, &txn, NULL), 0);
        forge(&logged, &seen, cases[i].sequence, cases[i].ts, (uint32_t)cases[i].lines);
        if (cases[i].word)
            FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, cases[i].word);
        else
            MUST(&logged.api.error, check(&logged));
        close(&logged);
    }
}

/*
 * What did not fit into the first half begins the second one, directly behind what an earlier lap left at the end of
 * the first.
 */
static void halves_are_of_different_laps(void **state, uint64_t log_bytes)
{
    static const uint64_t sequences[] = {4, 9};
    struct logged logged;
    begin(&logged, *state, (struct engine_config){.coros = 1, .log_bytes = log_bytes});
    for (uint64_t key = 0; key < 3; key++) call(&logged, key, false, false);
    end(&logged);
    struct seen seen = look(&logged, 0);
    uint64_t lines = (seen.bytes + 63) / 64, entry_lines = (sizeof(struct log_entry_wire) + 63) / 64;
    uint64_t half = logseg_half(logged.api.db->config.log_bytes - sizeof(struct chunk_wire)) / 64;
    for (uint32_t back = 0; back < 2; back++) { /* at the half, and one line before it */
        for (uint32_t i = 0; i < 2; i++) {
            struct history_txn txn = {.id = 3 + 2 * back + i, .ts = LATER + i + 2 * back, .outcome = HISTORY_COMMITTED};
            assert_int_equal(history_txn_add(&logged.history, &txn, NULL), 0);
            forge(&logged, &seen, sequences[i] + 10 * back, txn.ts,
                  (uint32_t)(half - 3 * lines - back - (1 - i) * entry_lines - 2 * back * entry_lines));
        }
        if (back == 0)
            MUST(&logged.api.error, check(&logged));
        else
            FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "lies directly before");
    }
    close(&logged);
}

static void halves_of_whole_chunks(void **state) { halves_are_of_different_laps(state, 64 << 10); }
/* The rest of the last chunk is not part of the ring. */
static void halves_of_part_of_a_chunk(void **state) { halves_are_of_different_laps(state, 80 << 10); }

/* Of an indeterminate transaction there may be an entry or none; but none of its versions without one. */
static void no_effect_without_an_entry(void **state)
{
    struct logged logged;
    uint64_t zero = 0;
    begin(&logged, *state, (struct engine_config){.coros = 1});
    call(&logged, 1, false, false);
    call(&logged, 2, false, false);
    end(&logged);
    logged.history.txns[1].outcome = HISTORY_INDETERMINATE;
    MUST(&logged.api.error, check(&logged));
    struct seen seen = look(&logged, 0);
    api_poke(&logged.api, fabric_addr_plus(seen.last_at.addr, 64), &zero, 8);
    assert_int_equal(look(&logged, 0).count, 1);
    FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "had its effect, but its log entry");
    logged.history.final_count = 0; /* had no reader seen it, all would be well */
    MUST(&logged.api.error, check(&logged));
    struct history_access read = logged.history.accesses[logged.history.txns[1].first + 2];
    struct history_txn reader = {.id = 2, .count = 1, .outcome = HISTORY_COMMITTED};
    assert_int_equal(read.kind, HISTORY_WRITE);
    read.kind = HISTORY_READ;
    assert_int_equal(history_txn_add(&logged.history, &reader, &read), 0);
    FAILS(&logged.api.error, check(&logged), CELLAR_CORRUPT, "had its effect, but its log entry");
    close(&logged);
}

/* A memory node that does not answer: what the others have is judged. */
static void a_node_is_lost(void **state)
{
    struct logged logged;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1};
    begin(&logged, *state, (struct engine_config){.mns = 3, .replicas = 1, .coros = 3});
    for (uint64_t i = 0; i < 30; i++) call(&logged, i % 10, false, false);
    end(&logged);
    MUST(&logged.api.error, check(&logged));
    struct fabric *fabric = db_fabric(logged.api.db);
    MUST(&logged.api.error, fabric->ops->control(fabric, &kill, &logged.api.error));
    MUST(&logged.api.error, check(&logged));
    struct history_txn unlogged = logged.history.txns[0];
    struct history_access accesses[8]; /* a copy: adding may move the history's own */
    assert_true(unlogged.count <= 8);
    memcpy(accesses, logged.history.accesses, unlogged.count * sizeof *accesses);
    unlogged.id = 30;
    unlogged.ts = LATER;
    uint32_t found = 0;
    for (unlogged.coordinator = 0; unlogged.coordinator < 3; unlogged.coordinator++) {
        assert_int_equal(history_txn_add(&logged.history, &unlogged, accesses), 0);
        found += check(&logged) == CELLAR_CORRUPT;
        logged.history.txn_count--;
    }
    assert_int_equal(found, 2); /* the third's log began on the lost node */
    close(&logged);
}

/* ---- dependencies ---- */

#define COUNTS 40
#define COUNTED 3 /* the key */

/* Adds one to what another transaction of the compute node may just have written. */
static int count(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, COUNTED, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

struct counted {
    uint64_t count;
    struct {
        uint64_t coordinator, sequence, a;
        struct log_dep_wire dep;
        uint32_t dep_count;
    } entries[COUNTS];
};

static int counted_see(void *arg, const struct loader_log *at, const struct log_entry_wire *entry)
{
    struct counted *counted = arg;
    const struct log_write_wire *write = logseg_next_write(entry, NULL);
    (void)at;
    if (!write || write->kind != LAYOUT_LOG_CELL || counted->count == COUNTS) return 0;
    uint64_t i = counted->count++;
    counted->entries[i].coordinator = entry->coordinator;
    counted->entries[i].sequence = entry->sequence;
    counted->entries[i].dep_count = entry->dep_count;
    memcpy(&counted->entries[i].a, write + 1, sizeof counted->entries[i].a);
    if (entry->dep_count) memcpy(&counted->entries[i].dep, entry + 1, sizeof counted->entries[i].dep);
    return 0;
}

static int counted_see_all(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct cellar_error error;
    return loader_logs(co, coordinator->worker->loader, 0, 0, counted_see, arg, &error);
}

/* All of them at once. */
static void counts_run(struct api *api)
{
    struct api_call calls[COUNTS];
    struct cellar_completion ended;
    struct cellar_queue *queue;
    MUST(&api->error, db_queue_open(api->db, COUNTS, NULL, NULL, &queue, &api->error));
    for (int i = 0; i < COUNTS; i++) {
        calls[i] = (struct api_call){.body = count, .items = api->items};
        assert_code(cellar_proc_submit(queue, api->any, &calls[i], NULL, NULL), 0);
    }
    for (int i = 0; i < COUNTS; i++) {
        assert_int_equal(cellar_proc_reap(queue, &ended, 1, UINT64_MAX), 1);
        assert_code(ended.result.code, 0);
    }
    cellar_proc_queue_close(queue);
}

/* An entry names the one whose write its transaction has read, and no other: its count is one less. */
static void entries_name_what_they_rest_on(void **state)
{
    struct api api;
    struct counted counted = {0};
    uint64_t named = 0;
    api_open_with(&api, *state, (struct engine_config){.mns = 1, .coros = 4, .log_bytes = 64 << 10});
    api_load(&api, 0, 10);
    counts_run(&api);
    assert_code(db_run_on(api.db, 0, counted_see_all, &counted), 0);
    assert_int_equal(counted.count, COUNTS);
    for (uint64_t i = 0; i < COUNTS; i++) {
        if (!counted.entries[i].dep_count) continue;
        uint64_t on = 0;
        assert_int_equal(counted.entries[i].dep_count, 1);
        while (on < COUNTS && (counted.entries[on].coordinator != counted.entries[i].dep.coordinator ||
                               counted.entries[on].sequence != counted.entries[i].dep.sequence))
            on++;
        assert_true(on < COUNTS);
        assert_int_equal(counted.entries[on].a + 1, counted.entries[i].a);
        named++;
    }
    if (!api.variant->threads && api.variant->cc == CELLAR_LAB_CC_CREST) assert_true(named > 0);
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(rings_come_around),
        API_TEST(an_entry_missing),
        API_TEST(an_entry_tells_something_else),
        API_TEST(sequences_rise),
        API_TEST(no_effect_without_an_entry),
        API_TEST(a_node_is_lost),
        API_TEST(halves_of_whole_chunks),
        API_TEST(halves_of_part_of_a_chunk),
        API_TEST_SHARED(entries_name_what_they_rest_on),
    };
    return api_main("history_logs", tests, sizeof tests / sizeof *tests, argc, argv);
}
