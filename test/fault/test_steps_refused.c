/*
 * test_steps_refused.c - each word and each piece of memory that a recovery or the filling of a fresh memory node
 * touches is refused for so long that the step which wants it must give up. Then it says so: the recovery fails, the
 * change is led again. A step that goes on all the same is found here, though the next one may hide what it has
 * missed.
 */
#include "bulk.h"
#include "numbered.h"
#include "coordinator.h"
#include "db_failover.h"
#include "failover_steps.h"
#include "recover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define REFUSALS                                                                                                       \
    128 /* of one operation, more than any step takes: 16 in a row (recover_steps.c), each tried 8 times (members.c) */
#define STEP_REFUSALS 16
#define TRIED_MAX 4096
#define CRASHES 24 /* operations of a transaction, after each of which its compute node dies */
#define CHECK FAILOVER_STEPS_CHECK

struct account {
    uint64_t cents, moves;
};

struct target {
    uint64_t addr;
    uint8_t kind;
};

struct refused {
    struct failover_steps at; /* first */
    const struct cellar_table *accounts;
    const struct cellar_proc *move;
    uint64_t crash_at, victim_ops; /* of compute node 1's transaction; UINT64_MAX: it lives */
    bool moving, leading;
    struct target *tried, target; /* what was refused in earlier runs; in this one */
    uint32_t tried_count, refusals;
    bool chosen;
    uint32_t copied;
    int ended;      /* what the recovery, or the filling, ended with */
    uint32_t epoch; /* of the configuration, after it */
};

/* ---- what is refused ---- */

static bool is_tried(const struct refused *run, const struct fabric_op *op)
{
    bool any = false;
    for (uint32_t i = 0; i < run->tried_count; i++)
        any = any || (run->tried[i].addr == op->addr.bits && run->tried[i].kind == op->kind);
    return any;
}

/* Copies of words that only raise, hints, acknowledgements and calls are made again by others, or not missed. */
static bool is_needed(const struct fabric_op *op)
{
    uint64_t offset = fabric_addr_offset(op->addr), member = offset - LAYOUT_MEMBERS_OFFSET;
    bool of_member = offset >= LAYOUT_MEMBERS_OFFSET &&
                     offset < LAYOUT_MEMBERS_OFFSET + LAYOUT_MEMBERS_MAX * sizeof(struct member_wire);
    if (op->kind == FABRIC_SEND || offset == offsetof(struct superblock_wire, configuration) ||
        offset == offsetof(struct superblock_wire, epoch))
        return false;
    if (!of_member) return true;
    return fabric_addr_node(op->addr) == 0 && member % sizeof(struct member_wire) == offsetof(struct member_wire, word);
}

/* Did a step that wanted it have to give up? */
static bool is_refused(const struct refused *run)
{
    struct fabric_addr addr = {run->target.addr};
    bool of_member = fabric_addr_offset(addr) >= LAYOUT_MEMBERS_OFFSET &&
                     fabric_addr_offset(addr) < LAYOUT_MEMBERS_OFFSET + LAYOUT_MEMBERS_MAX * sizeof(struct member_wire);
    return run->refusals >= (of_member ? REFUSALS : STEP_REFUSALS);
}

static enum fabric_sim_fault refuse(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct refused *run = arg;
    (void)index;
    if (run->moving && ep->cn == 1 && run->victim_ops++ == run->crash_at) return FABRIC_SIM_CRASH_AFTER;
    if (!run->leading || ep->cn != 0 || run->refusals == REFUSALS) return FABRIC_SIM_NONE;
    if (!run->chosen && is_needed(op) && run->tried && !is_tried(run, op)) {
        run->chosen = true;
        run->target = (struct target){op->addr.bits, op->kind};
    }
    if (!run->chosen || run->target.addr != op->addr.bits || run->target.kind != op->kind) return FABRIC_SIM_NONE;
    run->refusals++;
    return FABRIC_SIM_NOT_RUN;
}

/* ---- the parts ---- */

static int move(struct cellar_txn *txn, void *args)
{
    const struct refused *run = args;
    struct account from, to;
    int a = cellar_proc_access(txn, run->accounts, 0, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (a < 0) return a;
    int b = cellar_proc_access(txn, run->accounts, 1, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (b < 0) return b;
    int rc = cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, a, &from);
    if (rc == 0) rc = cellar_proc_get_row(txn, b, &to);
    if (rc) return rc;
    from.cents--, from.moves++, to.cents++;
    rc = cellar_proc_put_row(txn, a, &from);
    return rc ? rc : cellar_proc_put_row(txn, b, &to);
}

static int load(struct cellar_lab_client *client, void *arg)
{
    struct refused *run = arg;
    const struct account account = {.cents = 100};
    int rc = 0;
    for (uint64_t key = 0; key < 2 && rc == 0 && cellar_lab_index(client) == 0; key++)
        rc = db_load(client, run->accounts, key, &account, &run->at.error);
    return rc;
}

static int moves(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct refused *run = arg;
    struct cellar_result result;
    (void)co;
    if (coordinator->worker->cn != 1) return 0;
    run->moving = true;
    (void)!cellar_lab_exec(coordinator->client, run->move, run, NULL, &result);
    run->moving = false;
    return 0;
}

static int recovers(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct refused *run = arg;
    struct recover_report report = {0};
    struct cellar_error error = {0};
    if (coordinator->worker->cn != 0) return 0;
    run->leading = true;
    run->ended =
        node_recover(co, &coordinator->worker->by, &coordinator->task, 1, 0, RECOVER_SUSPECTED, &report, &error);
    run->leading = false;
    run->copied += (uint32_t)report.copied;
    if (run->ended == 0) return 0;
    int again =
        node_recover(co, &coordinator->worker->by, &coordinator->task, 1, 0, RECOVER_SUSPECTED, &report, &error);
    CHECK(&run->at, again == 0);
    return 0;
}

static int fills(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct refused *run = arg;
    struct cellar_error error = {0};
    if (coordinator->worker->cn != 0) return 0;
    halt_suspect(&run->at.db->nodes[0].halt, 0);
    CHECK(&run->at, failover_steps_await_state(co, coordinator, 0, CONFIGURATION_LOST));
    fabric_sim_mn_replace(run->at.fabric, 0);
    run->leading = true;
    run->ended = db_replace(co, coordinator, 0, &error);
    run->leading = false;
    run->epoch = run->at.db->nodes[0].halt.now.epoch;
    if (run->ended) CHECK(&run->at, db_replace(co, coordinator, 0, &error) == 0);
    CHECK(&run->at, run->at.db->nodes[0].halt.now.state == CONFIGURATION_STEADY);
    return 0;
}

/* ---- one run ---- */

static void begin(struct refused *run)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents),
                                                          CELLAR_COLUMN(struct account, moves)};
    static const struct cellar_schema schema = {.name = "accounts",
                                                .row_bytes = sizeof(struct account),
                                                .columns = columns,
                                                .column_count = 2,
                                                .records_max = 2};
    const struct engine_config shape = {.cc = CELLAR_LAB_CC_CELL, .pool_bytes = 2 << 20, .log_bytes = 64 << 10};
    const struct cellar_proc_def def = {.name = "move", .fn = move, .records_max = 2, .writes_max = 2};
    failover_steps_begin(&run->at, &shape, refuse);
    assert_int_equal(db_table_create(run->at.db, &schema, &run->accounts, &run->at.error), 0);
    assert_int_equal(db_proc_register(run->at.db, &def, &run->move, &run->at.error), 0);
    assert_int_equal(cellar_lab_run(run->at.db, load, run), 0);
}

static void note(struct refused *run)
{
    assert_true(run->tried_count < TRIED_MAX);
    if (run->chosen) run->tried[run->tried_count++] = run->target;
}

/* Each target once; returns how many there were. */
static uint32_t recover_sweep(uint64_t crash_at, struct target *tried, uint32_t tried_count, uint32_t *copied)
{
    uint32_t before = tried_count;
    for (bool more = true; more;) {
        struct refused run = {.crash_at = crash_at, .tried = tried, .tried_count = tried_count};
        begin(&run);
        failover_steps_run(&run.at, moves);
        struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 1};
        assert_int_equal(run.at.fabric->ops->control(run.at.fabric, &fence, NULL), 0);
        failover_steps_run(&run.at, recovers);
        *copied += run.copied;
        if (is_refused(&run) && run.ended == 0)
            fail_msg("death at operation %llu: 0x%llx, kind %d: refused, and nothing was said",
                     (unsigned long long)crash_at, (unsigned long long)run.target.addr, run.target.kind);
        more = run.chosen;
        note(&run);
        tried_count = run.tried_count;
        failover_steps_end(&run.at);
    }
    return tried_count - before;
}

static void a_recovery_says_what_it_could_not_do(void **state)
{
    uint32_t copied = 0, targets = 0;
    (void)state;
    for (uint64_t crash_at = 0; crash_at < CRASHES; crash_at += 2) {
        struct target *tried = calloc(TRIED_MAX, sizeof *tried);
        assert_non_null(tried);
        targets += recover_sweep(crash_at, tried, 0, &copied);
        free(tried);
    }
    print_message("%u targets, %u copied\n", targets, copied);
    assert_true(targets > 100);
    assert_true(copied > 0); /* INV-RECOVER-3: entries that some replica lacked were among it */
}

static void a_filling_says_what_it_could_not_do(void **state)
{
    struct target *tried = calloc(TRIED_MAX, sizeof *tried);
    uint32_t count = 0, epoch = 0;
    (void)state;
    assert_non_null(tried);
    for (bool more = true, first = true; more; first = false) {
        struct refused run = {.crash_at = UINT64_MAX, .tried = first ? NULL : tried, .tried_count = count};
        begin(&run);
        failover_steps_kill(&run.at, 0);
        failover_steps_run(&run.at, fills);
        if (first) epoch = run.epoch;
        if (is_refused(&run) && run.ended == 0 && run.epoch == epoch)
            fail_msg("0x%llx, kind %d: refused, and nothing was said", (unsigned long long)run.target.addr,
                     run.target.kind);
        more = first || run.chosen;
        if (!first) note(&run);
        count = run.tried_count;
        failover_steps_end(&run.at);
    }
    print_message("%u targets\n", count);
    assert_true(count > 30);
    free(tried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_recovery_says_what_it_could_not_do),
                                       cmocka_unit_test(a_filling_says_what_it_could_not_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
