/*
 * test_history_lost.c - what a history says of the lost: a compute node whose callers were told too much, a process
 * that died amid a transaction and left its journal, and a survivor that tells what the dead one had changed.
 */
#include "recorded.h"
#include "numbered.h"

#include "history_check.h"
#include "history_journal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Two transactions that write and two that read, on the compute node of the client: cellar_proc_run would choose one.
 */
static int told_client(struct cellar_lab_client *client, void *arg)
{
    struct recorded *r = arg;
    uint32_t cn = cellar_lab_cn(client);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < 4; i++) {
        uint64_t key = 2 * cn + i % 2;
        const struct step writes[] = {
            {ACCESS, key, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, key, 0, CELL_A, 1}, {END, 0, 0, 0, 0}};
        const struct step reads[] = {{ACCESS, key, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}, {END, 0, 0, 0, 0}};
        struct script script = {.call = {.body = script_body, .items = r->api.items}, .steps = i < 2 ? writes : reads};
        struct cellar_result result;
        rc = cellar_lab_exec(client, r->api.any, &script, NULL, &result);
    }
    return rc;
}

/* A node lost at some moment: what its callers were told later is void. */
static void what_a_lost_node_told(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){.cns = 2, .coros = 1}, 100);
    assert_code(cellar_lab_run(r.api.db, told_client, &r), 0);
    assert_int_equal(history_recorder_count(r.recorder), 8);
    history_recorder_lost(r.recorder, 1, 0);
    stop(&r);
    uint64_t unknown = 0, committed = 0;
    for (uint64_t i = 0; i < r.history.txn_count; i++) {
        const struct history_txn *txn = &r.history.txns[i];
        assert_int_equal(txn->id, i);
        assert_int_equal(txn->outcome, txn->cn == 1 ? HISTORY_INDETERMINATE : HISTORY_COMMITTED);
        unknown += txn->cn == 1;
        committed += txn->cn == 0;
    }
    assert_int_equal(unknown, 2); /* those that wrote; of the others nothing is known */
    assert_int_equal(committed, 4);
    done(&r);
}

/* A body that ends its process, amid a transaction. */
static int die_body(struct cellar_txn *txn, struct api_call *call)
{
    (void)!cellar_proc_access(txn, call->items, 1, CELL_A, CELL_A, 0);
    (void)!cellar_proc_fetch(txn);
    raise(SIGKILL);
    return 0;
}

static char journal[] = "/tmp/cellar-recorder-XXXXXX";

/* In a process of its own: it never returns. */
static void record_and_die(const struct api_variant *variant)
{
    const struct history_recorder_file file = {.path = journal, .part = 2, .parts = 4, .run = 5};
    struct recorded r = {0};

    api_open_with(&r.api, variant, (struct engine_config){0});
    api_load(&r.api, 0, 10);
    MUST(&r.api.error, history_recorder_open(r.api.db, NULL, 100, &file, &r.recorder, &r.api.error));
    history_recorder_start(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {ACCESS, 13, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}), CELLAR_NOT_FOUND);
    struct script script = {.steps = NULL};
    api_run(&r.api, die_body, &script);
}

/* Killed amid a transaction: those before it are in its journal, as they would be in its history. */
static void what_outlives_its_process(void **state)
{
    struct history history = {0};
    struct history_verdict verdict;
    struct cellar_error error = {0};
    int status, file = mkstemp(journal);

    assert_true(file >= 0);
    close(file);
    pid_t pid = fork();
    if (pid == 0) {
        record_and_die(*state);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    MUST(&error, history_journal_read(&history, journal, &error));
    unlink(journal);
    strcpy(journal + strlen(journal) - 6, "XXXXXX");
    assert_int_equal(history.txn_count, 3);
    EXPECT(&history, 0, LOADED(3, ITEM_A, 9), WRITE(3, ITEM_A, 2, history.txns[0].ts, 1, 500));
    EXPECT(&history, 1, PRESENCE(HISTORY_DELETE, 7, history.txns[1].ts), CELLS_GONE(7, 2, history.txns[1].ts, 1));
    assert_int_equal(history.txns[2].outcome, HISTORY_FAILED);
    assert_int_equal(history.loaded_count, 6); /* a cell of 3; of 7 four, and that it was there */
    assert_int_equal(history.died, 1);
    assert_int_equal(history.part, 2);
    assert_int_equal(history.run, 5);
    assert_false(history.has_final);
    const struct history_check_options options = {.realtime = true, .settled = true};
    if (history_check(&history, &options, &verdict)) fail_msg("%s: %s", verdict.kind, verdict.text);
    history_free(&history);
}

/* Of a process that died there are no finals: another one says of all that is not as it was how that was left. */
static void what_another_one_covers(void **state)
{
    struct recorded r;
    record(&r, *state, (struct engine_config){0}, 100);
    history_recorder_stop(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 13, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {DELETE, 13, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    history_recorder_start(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_B, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_B, 501}), 0);
    assert_code(RUN(&r.api, {ACCESS, 5, CELL_N, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    history_recorder_cover(r.recorder);
    stop(&r);
    assert_true(r.history.final_all);
    assert_int_equal(r.history.final_count,
                     9); /* two cells of 3, one of 5; 7 is gone; 12 is there with its four cells */
    assert_true(final_of(&r.history, 3, ITEM_A)->digest == digest_of(ITEM_A, 500));
    assert_true(final_of(&r.history, 3, ITEM_B)->digest == digest_of(ITEM_B, 501));
    assert_final(&r.history, 5, ITEM_N, 1, 1, 5);
    assert_presence(&r.history, 7, 0);
    assert_presence(&r.history, 12, 1);
    assert_true(final_of(&r.history, 12, ITEM_TEXT)->digest == digest_of(ITEM_TEXT, 20));
    assert_null(final_of(&r.history, 13, HISTORY_PRESENCE));
    done(&r);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(what_a_lost_node_told),
        API_TEST_EXACT(what_outlives_its_process),
        API_TEST_EXACT(what_another_one_covers),
    };
    return api_main("history_lost", tests, sizeof tests / sizeof *tests, argc, argv);
}
