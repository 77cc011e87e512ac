/*
 * test_proc_rows.c - procedures that speak rows: the same function as in an interactive transaction, its round trips,
 * a row that is deleted after it was read, and handles where they do not belong. What rows come to in procedures is
 * compared with a model by test_face_model.c.
 */
#include "cellar_lab.h"
#include "numbered.h"
#include "cellar_proc.h"
#include "db.h"
#include "face_calls.h"
#include "observe.h"
#include "plant.h"
#include "rivals.h"
#include "txn.h"

#include <pthread.h>
#include <stdbool.h>

struct account {
    uint64_t id;
    int64_t cents;
};
enum { ID, CENTS };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents)}};
enum { FIRST = 1, SECOND, THIRD, ACCOUNTS = THIRD };
enum { TOO_POOR = 1, OPENING = 100 };

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    /* of the calls */
    int64_t cents;
    bool locks;
    int64_t seen[ACCOUNTS + 1];
    int codes[8];
    struct cellar_txn *kept;
    /* of one that uses another one's handle */
    const struct cellar_proc *procs[2], *waits;
    bool meets, reads, met, over;
};

static int open_accounts(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int rc = 0;
    for (uint64_t id = FIRST; id <= ACCOUNTS && rc == 0; id++)
        rc = cellar_insert(txn, bank->accounts, &(struct account){id, OPENING});
    return rc;
}

static bool bank_open_empty(struct bank *bank, uint32_t mode, uint32_t flags, bool sim)
{
    *bank = (struct bank){0};
    const struct cellar_lab *lab = CELLAR_LAB(.cc = mode, .sim = sim);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .threads = 1, .lab = lab), &bank->db);
    if (rc == CELLAR_UNSUPPORTED) return false; /* this build does not have it */
    ok(rc);
    ok(cellar_table_open(bank->db, CELLAR_TABLE(struct account, columns, .name = "accounts", .flags = flags), 0,
                         &bank->accounts));
    return true;
}

static bool bank_open(struct bank *bank, uint32_t mode, uint32_t flags, bool sim)
{
    if (!bank_open_empty(bank, mode, flags, sim)) return false;
    ok(cellar_run(bank->db, open_accounts, bank, NULL, NULL));
    return true;
}

static const struct cellar_proc *registered(struct bank *bank, const char *name, cellar_txn_fn fn)
{
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {.name = name, .fn = fn, .records_max = 8, .writes_max = 8};
    ok(cellar_proc_register(bank->db, &def, &proc));
    return proc;
}

static int64_t cents_of(const struct bank *bank, uint64_t id)
{
    struct account account = {.id = id, .cents = -1};
    struct cellar_txn *txn = face_begun(bank->db);
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account);
    if (rc != CELLAR_NOT_FOUND) ok(rc);
    cellar_abort(txn);
    return account.cents;
}

/* ---- one function ---- */

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    struct account from = {.id = FIRST}, to = {.id = SECOND};
    const uint64_t cents = CELLAR_COL(CENTS), lock = bank->locks ? cents : 0;
    struct cellar_read reads[] = {CELLAR_READ(bank->accounts, &from, .columns = cents, .lock = lock),
                                  CELLAR_READ(bank->accounts, &to, .columns = cents, .lock = lock)};
    int rc = cellar_get_many(txn, reads, 2);
    if (rc) return rc;
    if (from.cents < bank->cents) return TOO_POOR;
    from.cents -= bank->cents;
    to.cents += bank->cents;
    rc = cellar_put(txn, bank->accounts, cents, &from);
    return rc ? rc : cellar_put(txn, bank->accounts, cents, &to);
}

static void one_function_runs_three_ways(void **state)
{
    struct bank bank;
    struct cellar_queue *queue;
    struct cellar_completion done;
    struct cellar_result result;
    (void)state;
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELLAR, 0, false));
    const struct cellar_proc *proc = registered(&bank, "transfer", transfer);
    ok(cellar_proc_queue_open(bank.db, 1, NULL, NULL, &queue));
    bank.cents = 10;
    for (int locks = 0; locks < 2; locks++) {
        bank.locks = locks;
        ok(cellar_run(bank.db, transfer, &bank, NULL, NULL));
        ok(cellar_proc_run(bank.db, proc, &bank, NULL, &result));
        assert_int_equal(result.attempts, 1);
        ok(cellar_proc_submit(queue, proc, &bank, NULL, &bank));
        assert_int_equal(cellar_proc_reap(queue, &done, 1, UINT64_MAX), 1);
        assert_int_equal(done.result.code, 0);
    }
    assert_int_equal(cents_of(&bank, FIRST), OPENING - 6 * 10);
    assert_int_equal(cents_of(&bank, SECOND), OPENING + 6 * 10);
    bank.cents = OPENING;
    assert_int_equal(cellar_run(bank.db, transfer, &bank, NULL, NULL), TOO_POOR);
    assert_int_equal(cellar_proc_run(bank.db, proc, &bank, NULL, &result), TOO_POOR);
    assert_int_equal(result.code, TOO_POOR);
    assert_int_equal(cents_of(&bank, FIRST), OPENING - 6 * 10);
    cellar_proc_queue_close(queue);
    face_close(bank.db);
}

/* The same by declared cells: of a table whose keys are all numbers of 8 bytes. */
static int transfer_cells(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int refs[2], rc = 0;
    for (int i = 0; i < 2; i++) {
        refs[i] = cellar_proc_access(txn, bank->accounts, FIRST + (uint64_t)i, 0, 1, 0);
        if (refs[i] < 0) return refs[i];
    }
    rc = cellar_proc_fetch(txn);
    for (int i = 0; i < 2 && rc == 0; i++) {
        int64_t cents;
        rc = cellar_proc_get(txn, refs[i], 0, &cents);
        cents += i ? bank->cents : -bank->cents;
        if (rc == 0) rc = cellar_proc_put(txn, refs[i], 0, &cents);
    }
    return rc;
}

#define ROUNDS 8

/*
 * The least of several equal calls: the first one finds out where rows are, and one that is kept off the processor
 * between a read and its check compares more (txn_en_may_wrap).
 */
static uint64_t round_trips(struct bank *bank, const struct cellar_proc *proc)
{
    struct cellar_lab_stats before, after;
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        cellar_lab_stats_read(bank->db, &before);
        ok(cellar_proc_run(bank->db, proc, bank, NULL, NULL));
        cellar_lab_stats_read(bank->db, &after);
        uint64_t taken = after.round_trips - before.round_trips;
        if (taken < least) least = taken;
    }
    return least;
}

/* What it names to be locked is locked by the block that reads it; else by another one. */
static void a_block_reads_and_locks(void **state)
{
    struct bank bank;
    (void)state;
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELL, 0, false));
    const struct cellar_proc *rows = registered(&bank, "rows", transfer);
    const struct cellar_proc *cells = registered(&bank, "cells", transfer_cells);
    bank.cents = 1;
    bank.locks = true;
    uint64_t locked = round_trips(&bank, rows);
    assert_int_equal(locked, round_trips(&bank, cells));
    bank.locks = false;
    assert_int_equal(round_trips(&bank, rows), locked + 2); /* and what it had read is compared */
    face_close(bank.db);
}

/* Does the attempt have the row's cell locked? */
static bool is_locked(struct cellar_txn *txn, const struct bank *bank, uint64_t id)
{
    int32_t ref = cache_find(&txn->txn.cache, bank->accounts->table, id);
    return ref >= 0 && txn_object(&txn->txn, ref)->locked_cells;
}

/* One cent more for each account, by a cursor that locks what it shows. */
static int interest(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account rows[ACCOUNTS];
    struct cellar_cursor *cursor;
    const uint64_t lock = bank->locks ? CELLAR_COL(CENTS) : 0;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct account, bank->accounts, .columns = CELLAR_ALL, .lock = lock),
                                &cursor);
    int count = rc ? rc : cellar_cursor_next(cursor, ACCOUNTS, rows);
    if (count < 0) return count;
    for (int i = 0; i < count; i++) bank->codes[i] = is_locked(txn, bank, rows[i].id);
    for (int i = 0; i < count && rc == 0; i++) {
        rows[i].cents++;
        rc = cellar_put(txn, bank->accounts, CELLAR_COL(CENTS), &rows[i]);
    }
    return rc;
}

static void a_cursor_locks_what_it_shows(void **state)
{
    struct bank bank;
    (void)state;
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELL, CELLAR_ORDERED, false));
    const struct cellar_proc *proc = registered(&bank, "interest", interest);
    for (int locks = 0; locks < 2; locks++) {
        bank.locks = locks;
        ok(cellar_proc_run(bank.db, proc, &bank, NULL, NULL));
        for (int i = 0; i < ACCOUNTS; i++) assert_int_equal(bank.codes[i], locks);
    }
    for (uint64_t id = FIRST; id <= ACCOUNTS; id++) assert_int_equal(cents_of(&bank, id), OPENING + 2);
    face_close(bank.db);
}

/* A cursor that is older than an insert shows the row that was there all along. */
static int insert_over_shown(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account shown;
    struct cellar_cursor *cursor;
    const uint64_t lock = bank->locks ? CELLAR_COL(CENTS) : 0;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct account, bank->accounts, .columns = CELLAR_ALL, .lock = lock),
                                &cursor);
    if (rc == 0) rc = cellar_insert(txn, bank->accounts, &(struct account){FIRST, 2 * OPENING});
    if (rc) return rc;
    bank->codes[0] = cellar_cursor_next(cursor, 1, &shown);
    bank->seen[0] = shown.cents;
    return bank->codes[0] < 0 ? bank->codes[0] : 0;
}

static void a_row_that_was_shown_exists(void **state)
{
    static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL,
                                     CELLAR_LAB_CC_CREST, CELLAR_LAB_CC_FORD};
    const struct cellar_call_options few = {.attempts_max = 3};
    (void)state;
    for (size_t i = 0; i < 4 * sizeof modes / sizeof *modes; i++) {
        struct bank bank;
        if (!bank_open(&bank, modes[i / 4], CELLAR_ORDERED, false)) continue;
        const struct cellar_proc *proc = registered(&bank, "insert_over_shown", insert_over_shown);
        bank.locks = i / 2 % 2;
        int rc = i % 2 ? cellar_proc_run(bank.db, proc, &bank, &few, NULL)
                       : cellar_run(bank.db, insert_over_shown, &bank, NULL, NULL);
        assert_int_equal(rc, CELLAR_EXISTS);
        assert_int_equal(bank.codes[0], 1);
        assert_int_equal(bank.seen[0], OPENING);
        assert_int_equal(cents_of(&bank, FIRST), OPENING);
        face_close(bank.db);
    }
}

/* ---- a row that is deleted after it was read ---- */

/* What the first account has goes to the second. */
static int merge(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    struct account first = {.id = FIRST}, second = {.id = SECOND};
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &first);
    if (rc == 0) rc = cellar_get(txn, bank->accounts, CELLAR_ALL, CELLAR_ALL, &second);
    if (rc == 0) rc = cellar_delete(txn, bank->accounts, &first);
    if (rc == 0) rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &first) == CELLAR_NOT_FOUND ? 0 : CELLAR_CORRUPT;
    second.cents += first.cents;
    return rc ? rc : cellar_put(txn, bank->accounts, CELLAR_ALL, &second);
}

static int deposit(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    struct account first = {.id = FIRST};
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &first);
    first.cents += 5;
    return rc ? rc : cellar_put(txn, bank->accounts, CELLAR_ALL, &first);
}

struct between {
    struct bank *bank;
    uint32_t fetches;
};

static void *deposit_main(void *arg)
{
    struct bank *bank = arg;
    return cellar_run(bank->db, deposit, bank, NULL, NULL) ? arg : NULL;
}

/* Behind the first block of the procedure, which is no attempt of an interactive transaction. */
static void fetched(void *arg, const struct txn *txn)
{
    struct between *between = arg;
    pthread_t thread;
    void *failed;
    if (!txn->runs || txn->draft || txn->of_hold || ++between->fetches > 1) return;
    assert_int_equal(pthread_create(&thread, NULL, deposit_main, between->bank), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
}

static bool begun(void *arg, const struct txn *txn)
{
    (void)arg;
    (void)txn;
    return false;
}
static void seen(void *arg, const struct txn *txn) { (void)begun(arg, txn); }
static void logged(void *arg, const struct txn *txn, uint64_t ts)
{
    seen(arg, txn);
    (void)ts;
}
static void ended(void *arg, const struct txn *txn, int code, uint64_t ts)
{
    logged(arg, txn, ts);
    (void)code;
}

/* Merges the first account into the second while another one deposits: how many attempts that took. */
static uint32_t merged(struct bank *bank)
{
    struct cellar_result result;
    const struct cellar_proc *proc = registered(bank, "merge", merge);
    struct between between = {.bank = bank};
    struct observer observer = {
        .arg = &between, .begun = begun, .fetched = fetched, .serialized = seen, .logging = logged, .ended = ended};
    db_observe(bank->db, &observer);
    ok(cellar_proc_run(bank->db, proc, bank, NULL, &result));
    db_observe(bank->db, NULL);
    return result.attempts;
}

static void a_change_before_the_delete_is_not_lost(void **state)
{
    /* Where records are shared another one waits for the block's end. */
    static const uint32_t modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_FORD, CELLAR_LAB_CC_MOTOR};
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct bank bank;
        if (!bank_open(&bank, modes[i], 0, false)) continue;
        assert_int_equal(merged(&bank), 2);
        assert_int_equal(cents_of(&bank, FIRST), -1);
        assert_int_equal(cents_of(&bank, SECOND), 2 * OPENING + 5);
        face_close(bank.db);
    }
}

/* ---- handles where they do not belong, and what is refused ---- */

static void *elsewhere(void *arg)
{
    struct bank *bank = arg;
    bank->codes[5] = cellar_get(bank->kept, bank->accounts, CELLAR_ALL, 0, &(struct account){.id = FIRST});
    return NULL;
}

static int misuse(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account account = {.id = FIRST};
    pthread_t thread;
    bank->kept = txn;
    bank->codes[0] = (cellar_get)(txn, bank->accounts, CELLAR_ALL, 0, &account, 8);
    bank->codes[1] = cellar_get(txn, NULL, CELLAR_ALL, 0, &account);
    bank->codes[2] = cellar_get(txn, bank->accounts, 1u << 9, 0, &account);
    bank->codes[3] = cellar_commit(txn, NULL);
    cellar_abort(txn);
    bank->codes[4] = cellar_rollback_to(txn, 0);
    if (pthread_create(&thread, NULL, elsewhere, bank) == 0) pthread_join(thread, NULL);
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account); /* it goes on */
    return rc ? rc : account.cents == OPENING ? TOO_POOR : 0;
}

static int nine_rows(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account account = {0};
    int rc = 0;
    for (account.id = 0; account.id < 9 && (rc == 0 || rc == CELLAR_NOT_FOUND); account.id++)
        rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account);
    bank->codes[6] = rc;
    bank->codes[7] = cellar_put(txn, bank->accounts, CELLAR_ALL, &account);
    return 0;
}

static int absent(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    return cellar_put(txn, bank->accounts, CELLAR_COL(CENTS), &(struct account){.id = 77});
}

static int present(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    return cellar_insert(txn, bank->accounts, &(struct account){.id = FIRST});
}

static int keeps(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account account = {.id = FIRST};
    bank->kept = txn;
    bank->reads = true;
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account);
    bank->reads = false;
    return rc;
}

static int uses_kept(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account account = {.id = FIRST};
    assert_true(txn != bank->kept);
    bank->met = bank->reads;
    return cellar_get(bank->kept, bank->accounts, CELLAR_ALL, 0, &account);
}

/* In virtual time: others go on meanwhile. */
static int waits(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    struct account account = {.id = SECOND};
    return cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account);
}

/* The second one speaks by the handle of the first one's attempt: while that reads, or once it has ended. */
static int in_turn(struct cellar_lab_client *client, void *arg)
{
    struct bank *bank = arg;
    uint32_t index = cellar_lab_index(client);
    while (index == 1 && !bank->over && !(bank->meets && bank->reads))
        (void)!cellar_lab_exec(client, bank->waits, bank, NULL, NULL);
    if (index < 2) bank->codes[index] = cellar_lab_exec(client, bank->procs[index], bank, NULL, NULL);
    if (index == 0) bank->over = true;
    return 0;
}

static void a_procedure_has_its_own_handle(void **state)
{
    (void)state;
    for (int meets = 0; meets < 2; meets++) {
        struct bank bank;
        assert_true(bank_open(&bank, CELLAR_LAB_CC_CELL, 0, true));
        bank.meets = meets;
        bank.waits = registered(&bank, "waits", waits);
        bank.procs[0] = registered(&bank, "keeps", keeps);
        bank.procs[1] = registered(&bank, "uses", uses_kept);
        ok(cellar_lab_run(bank.db, in_turn, &bank));
        assert_int_equal(bank.met, meets);
        assert_int_equal(bank.codes[0], 0);
        assert_int_equal(bank.codes[1], CELLAR_INVALID);
        face_close(bank.db);
    }
}

static void what_does_not_belong_is_refused(void **state)
{
    struct bank bank;
    struct cellar_result result;
    struct cellar_error error;
    (void)state;
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELLAR, 0, false));
    assert_int_equal(cellar_proc_run(bank.db, registered(&bank, "misuse", misuse), &bank, NULL, NULL), TOO_POOR);
    for (int i = 0; i < 6; i++) assert_int_equal(bank.codes[i], CELLAR_INVALID);
    /* Its attempt has ended. */
    assert_int_equal(cellar_get(bank.kept, bank.accounts, CELLAR_ALL, 0, &(struct account){.id = FIRST}),
                     CELLAR_INVALID);
    /* A call that has failed ends it, whatever the procedure makes of it. */
    assert_int_equal(cellar_proc_run(bank.db, registered(&bank, "nine", nine_rows), &bank, NULL, &result),
                     CELLAR_TOO_LARGE);
    cellar_proc_error(&result, &error);
    assert_non_null(strstr(error.text, "table accounts, id 8"));
    assert_int_equal(bank.codes[6], CELLAR_TOO_LARGE);
    assert_int_equal(bank.codes[7], CELLAR_TOO_LARGE);
    /* What was put without a look is looked at by the end. */
    assert_int_equal(cellar_proc_run(bank.db, registered(&bank, "absent", absent), &bank, NULL, &result),
                     CELLAR_NOT_FOUND);
    cellar_proc_error(&result, &error);
    assert_non_null(strstr(error.text, "table accounts, id 77"));
    assert_int_equal(cellar_proc_run(bank.db, registered(&bank, "present", present), &bank, NULL, &result),
                     CELLAR_EXISTS);
    assert_int_equal(cents_of(&bank, FIRST), OPENING);
    face_close(bank.db);
}

/* ---- a lock on what is not there ---- */

static int locked_or_made(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    struct account account = {.id = 77};
    int rc = bank->reads ? cellar_get(txn, bank->accounts, CELLAR_ALL, 0, &account) : 0;
    if (rc == 0 || rc == CELLAR_NOT_FOUND) rc = cellar_get(txn, bank->accounts, CELLAR_ALL, CELLAR_ALL, &account);
    bank->codes[0] = rc;
    if (rc == CELLAR_NOT_FOUND) return cellar_insert(txn, bank->accounts, &(struct account){77, OPENING});
    account.cents++;
    return rc ? rc : cellar_put(txn, bank->accounts, CELLAR_COL(CENTS), &account);
}

/* Alone, nothing but a lock that is to become stronger makes a procedure try again, and that once. */
static void what_is_not_there_is_locked(void **state)
{
    static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL,
                                     CELLAR_LAB_CC_CREST,  CELLAR_LAB_CC_FORD,   CELLAR_LAB_CC_MOTOR,
                                     CELLAR_LAB_CC_TWOPL};
    const struct cellar_call_options few = {.attempts_max = 3};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof modes / sizeof *modes; i++) {
        struct bank bank;
        if (!bank_open_empty(&bank, modes[i / 2], 0, false)) continue;
        bank.reads = i % 2;
        const struct cellar_proc *proc = registered(&bank, "locked_or_made", locked_or_made);
        ok(cellar_proc_run(bank.db, proc, &bank, &few, NULL));
        assert_int_equal(bank.codes[0], CELLAR_NOT_FOUND);
        ok(cellar_proc_run(bank.db, proc, &bank, &few, NULL));
        assert_int_equal(bank.codes[0], 0);
        face_close(bank.db);
    }
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    struct bank bank;
    (void)state;
    assert_true(plant_choose("delete_late_unchecked"));
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELL, 0, false));
    assert_int_equal(merged(&bank), 1);
    assert_int_equal(cents_of(&bank, SECOND), 2 * OPENING); /* the deposit is lost */
    face_close(bank.db);
    assert_true(plant_choose("procedure_changes_dropped"));
    assert_true(bank_open(&bank, CELLAR_LAB_CC_CELLAR, 0, false));
    bank.cents = 10;
    ok(cellar_proc_run(bank.db, registered(&bank, "transfer", transfer), &bank, NULL, NULL));
    assert_int_equal(cents_of(&bank, FIRST), OPENING);
    face_close(bank.db);
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_function_runs_three_ways),
        cmocka_unit_test(a_block_reads_and_locks),
        cmocka_unit_test(a_cursor_locks_what_it_shows),
        cmocka_unit_test(a_row_that_was_shown_exists),
        cmocka_unit_test(a_change_before_the_delete_is_not_lost),
        cmocka_unit_test(a_procedure_has_its_own_handle),
        cmocka_unit_test(what_does_not_belong_is_refused),
        cmocka_unit_test(what_is_not_there_is_locked),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
