/*
 * test_history_died.c - a process that died: its journal, read back as it was left and as no process would leave it;
 * and its writes, judged by finals that another one took of all that had changed.
 */
#include "history_cases.h"
#include "history_file.h"
#include "history_journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- finals of all that changed ---- */

static void loaded(struct history *history, uint64_t key, uint16_t cell, uint64_t version, uint64_t digest)
{
    const struct history_final state = {.table_id = 1, .key = key, .cell = cell, .version = version, .digest = digest};
    assert_int_equal(history_loaded_add(history, &state), 0);
    history->has_loaded = history->has_final = history->final_all = true;
}
#define LOADED(key, cell, version) loaded(&history, key, cell, version, DIGEST(version))
#define LOADED_PRESENT(key) loaded(&history, key, HISTORY_PRESENCE, 0, 1)

static void a_write_that_stayed(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, wr(1, 0, V(1, 1), V(2, 5)));
    REST(1, 0, V(2, 5));
    REST_PRESENT(1);
    expect(&history, &strict, "ok", "");
}

static void a_write_that_was_lost(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, wr(1, 0, V(1, 1), V(2, 5)));
    expect(&history, &strict, "final", "accounts[1]");
}

static void an_insert_that_was_lost(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(9, 0, V(1, 1));
    TXN(1, 0, 10, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    expect(&history, &strict, "final", "accounts[1]");
}

static void a_delete(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    LOADED_PRESENT(1);
    TXN(1, 0, 10, del(1, 30), wr0(1, 0, V(1, 1), V(2, 30)));
    REST_ABSENT(1);
    expect(&history, &strict, "ok", "");
}

/* Not listed: the record is there as it was loaded. */
static void a_delete_that_was_lost(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    LOADED_PRESENT(1);
    TXN(1, 0, 10, del(1, 30), wr0(1, 0, V(1, 1), V(2, 30)));
    expect(&history, &strict, "final", "accounts[1]");
}

/* Neither then nor now: nothing to list. */
static void gone_again(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(9, 0, V(1, 1));
    TXN(1, 0, 10, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 20, 30, del(1, 30), wr0(1, 0, V(1, 10), V(2, 30)));
    expect(&history, &strict, "ok", "");
}

/* No client was told whether it committed; one of its versions is there, so both must be. */
static void unknown_and_half_there(void **state)
{
    for (int whole = 0; whole < 2; whole++) {
        struct history history = {0};
        (void)state;
        LOADED(1, 0, V(1, 1));
        LOADED(2, 0, V(1, 1));
        TXN_AS(HISTORY_INDETERMINATE, 1, 0, INT64_MAX, wr(1, 0, V(1, 1), V(2, 5)), wr(2, 0, V(1, 1), V(2, 5)));
        REST(1, 0, V(2, 5));
        if (whole) REST(2, 0, V(2, 5));
        expect(&history, &strict, whole ? "ok" : "final", "");
    }
}

/* ---- journals ---- */

static char folder[] = "/tmp/cellar-journal-XXXXXX", path[64];

static int folder_make(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/h" HISTORY_JOURNAL_SUFFIX, folder);
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* One transaction that reads `key` of a pool that holds nothing else. */
static void put(struct history_chunk *chunk, uint64_t end_ns, uint64_t key, enum history_outcome outcome)
{
    struct {
        struct history_txn txn;
        struct history_access access;
    } *room = (void *)((uint8_t *)chunk->data + chunk->used);
    room->txn = (struct history_txn){.begin_ns = end_ns - 1, .end_ns = end_ns, .count = 1, .outcome = outcome};
    room->access = rd(key, 0, V(1, 1));
    history_journal_used(chunk, chunk->used + sizeof *room);
}

/*
 * In a process that then dies: three transactions in two chunks, one of them unknown, and bytes that are not yet part
 * of any.
 */
static void journal_leave(void)
{
    struct history like = {.part = 1, .parts = 3, .run = 77, .no_epochs = true};
    struct history_journal *journal;

    if (history_table_add(&like, 1, 2, "accounts") || history_journal_open(path, &like, &journal, NULL)) _exit(1);
    struct history_chunk *chunk = history_journal_chunk(journal, HISTORY_CHUNK_TXNS, 1000, NULL);
    put(chunk, 30, 3, HISTORY_COMMITTED);
    put(chunk, 40, 4, HISTORY_COMMITTED);
    history_journal_used(chunk, chunk->used - sizeof(struct history_txn) - sizeof(struct history_access));
    put(chunk, INT64_MAX, 5, HISTORY_INDETERMINATE);
    struct history_chunk *next = history_journal_chunk(journal, HISTORY_CHUNK_TXNS, 100000, chunk);
    put(next, 20, 2, HISTORY_FAILED);
    memset((uint8_t *)next->data + next->used, 0xff, 64);
    abort();
}

static void journal_make(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) journal_leave();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void what_it_had_put_down_is_there(void **state)
{
    struct history history = {0};
    struct cellar_error error = {0};
    (void)state;
    journal_make();
    assert_true(history_journal_is(path));
    if (history_read(&history, path, &error)) fail_msg("%s", error.text);
    assert_int_equal(history.txn_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        static const uint64_t keys[] = {2, 3, 5},
                              outcomes[] = {HISTORY_FAILED, HISTORY_COMMITTED, HISTORY_INDETERMINATE};
        assert_int_equal(history.txns[i].id, i);
        assert_int_equal(history.txns[i].outcome, outcomes[i]);
        assert_int_equal(history.accesses[history.txns[i].first].key, keys[i]);
    }
    assert_int_equal(history.died, 1);
    assert_int_equal(history.part, 1);
    assert_int_equal(history.parts, 3);
    assert_int_equal(history.run, 77);
    assert_true(history.no_epochs);
    assert_false(history.has_final);
    assert_true(history.has_loaded);
    assert_int_equal(history.loaded_count, 0);
    assert_string_equal(history.tables[0].name, "accounts");
    assert_int_equal(history.tables[0].cells, 2);
    history_free(&history);
    /* A user who asks for the history that it was to become is told. */
    path[strlen(path) - strlen(HISTORY_JOURNAL_SUFFIX)] = 0;
    assert_int_equal(history_read(&history, path, &error), CELLAR_SYSTEM);
    path[strlen(path)] = HISTORY_JOURNAL_SUFFIX[0];
    if (!strstr(error.text, "its process left")) fail_msg("%s", error.text);
}

/* Any byte may be another one, and any end missing: a history or one clear line, and nothing read beyond the file. */
static void damaged_journals(void **state)
{
    static uint8_t bytes[1 << 18], damaged[sizeof bytes];
    struct prng prng;
    (void)state;
    journal_make();
    int file = open(path, O_RDONLY);
    ssize_t count = read(file, bytes, sizeof bytes);
    close(file);
    assert_true(count > 8192 && (size_t)count < sizeof bytes);
    prng_seed(&prng, 5);
    for (int round = 0; round < 2000; round++) {
        struct history history = {0};
        struct cellar_error error = {0};
        size_t at = 8 + prng_below(&prng, round % 2 ? 200 : 4096 + 400), end = (size_t)count;
        memcpy(damaged, bytes, (size_t)count);
        if (round % 4 < 3)
            damaged[at % 600 + (at > 600 ? 3800 : 0)] ^= (uint8_t)(1 + prng_below(&prng, 255));
        else
            end = 8 + prng_below(&prng, end - 8);
        file = open(path, O_WRONLY);
        assert_int_equal(pwrite(file, damaged, end, 0), end);
        assert_int_equal(ftruncate(file, (off_t)end), 0);
        close(file);
        int rc = history_read(&history, path, &error);
        if (rc && (!error.text[0] || strchr(error.text, '\n'))) fail_msg("round %d: %d, '%s'", round, rc, error.text);
        history_free(&history);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_stayed),     cmocka_unit_test(a_write_that_was_lost),
        cmocka_unit_test(an_insert_that_was_lost), cmocka_unit_test(a_delete),
        cmocka_unit_test(a_delete_that_was_lost),  cmocka_unit_test(gone_again),
        cmocka_unit_test(unknown_and_half_there),  cmocka_unit_test(what_it_had_put_down_is_there),
        cmocka_unit_test(damaged_journals),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
