/*
 * test_failover_fill.c - filling a fresh memory node, one schedule for each race that it is built around
 * (docs/failover.md): a filler that gives up lets another one; a WRITE that the copying overtakes; two that are
 * asked. One record is watched: X, whose memory node is lost and replaced.
 *
 *     fresh: X's place on the memory node that is filled
 *     primary: its backup on the next one, which has taken over
 */
#include "batch.h"
#include "numbered.h"
#include "bulk.h"
#include "coordinator.h"
#include "failover_steps.h"
#include "plant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KEY 7
#define RECORD_BYTES 128 /* a line of header, one of cells */
#define WRITER 0         /* compute nodes: the one that changes X, */
#define FILLER 1         /* the one that is asked first, */
#define SECOND 2         /* and then */
#define CHECK FAILOVER_STEPS_CHECK
#define DEAF_NS 50000000ull /* longer than an agent tries anything */

struct row {
    uint64_t value;
};

struct fill {
    struct failover_steps at; /* first */
    const struct cellar_table *table;
    const struct cellar_proc *add;
    struct fabric_addr fresh, primary;
    bool deaf;                 /* the filler's name stays in the word, as its moves of it do not get there */
    bool hold_write, hold_two; /* which schedule is made */
    uint32_t copied_epoch[FAILOVER_STEPS_CNS]; /* in which that compute node copied X; 0: not yet */
    bool written;                              /* X, at the fresh node, by a transaction */
    /* a transaction's change of X, or the comparer's look, waited for what the schedule wants */
    bool overtaken;
    bool copy_waits;  /* a filler has read X to copy it, and has yet to write it, */
    bool changed;     /* and X was changed since, */
    int32_t comparer; /* while this one compares; -1: none yet */
    bool compared;
};

static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, value)};
static const struct cellar_schema schema = {
    .name = "rows", .row_bytes = sizeof(struct row), .columns = columns, .column_count = 1, .records_max = 16};
static const struct engine_config shape = {.cc = CELLAR_LAB_CC_CELL, .pool_bytes = 4 << 20, .log_bytes = 64 << 10};

static int add(struct cellar_txn *txn, void *args)
{
    struct row row = {0};
    int access = cellar_proc_access(txn, args, KEY, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    int rc = access < 0 ? access : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, access, &row);
    row.value++;
    return rc ? rc : cellar_proc_put_row(txn, access, &row);
}

/* ---- what operations get there, and when ---- */

/* Is it about X, of which `addr` is a replica? */
static bool meets(const struct fabric_op *op, enum fabric_op_kind kind, struct fabric_addr addr)
{
    uint64_t from = fabric_addr_offset(op->addr), at = fabric_addr_offset(addr);
    return op->kind == kind && fabric_addr_node(op->addr) == fabric_addr_node(addr) && from < at + RECORD_BYTES &&
           at < from + op->size_bytes;
}

/* Is its own node called to stand still, or does it already? Then nothing of it may be held up any longer. */
static bool standing(const struct fill *fill, uint32_t cn)
{
    return fill->at.db->nodes[cn].halt.begun || atomic_load(&fill->at.db->nodes[cn].halt.called);
}

/* X is read at the primary. By the leader, when it has copied it in an earlier epoch: then it compares. */
static bool compares(const struct fill *fill, uint32_t cn)
{
    const struct configuration *now = &fill->at.db->nodes[cn].halt.now;
    return fill->copied_epoch[cn] && fill->copied_epoch[cn] < now->epoch && now->leader == (int32_t)cn;
}

/*
 * The WRITE of a transaction reaches the fresh node, then the copy of older bytes goes over it; its twin reaches the
 * primary only after the comparison, unless its compute node is asked to stand still before.
 */
static bool write_held(struct fill *fill, uint32_t cn, const struct fabric_op *op)
{
    bool writer = cn == WRITER, filler = cn == FILLER;
    if (filler && meets(op, FABRIC_READ, fill->primary)) return !fill->written;
    if (filler && meets(op, FABRIC_WRITE, fill->fresh)) fill->copied_epoch[cn] = 1;
    if (filler && meets(op, FABRIC_READ, fill->fresh)) fill->compared = true;
    if (writer && meets(op, FABRIC_WRITE, fill->fresh) &&
        fill->at.db->nodes[cn].halt.now.state == CONFIGURATION_JOINING)
        fill->written = true;
    bool twin = writer && fill->written && meets(op, FABRIC_WRITE, fill->primary);
    if (!twin || fill->compared || standing(fill, WRITER)) return false;
    fill->overtaken = true;
    return true;
}

/*
 * One compares X only when another one has read it to copy it, and it was changed since; and that copy is written
 * after the comparison.
 */
static bool two_held(struct fill *fill, uint32_t cn, const struct fabric_op *op)
{
    int32_t own = (int32_t)cn;
    if (cn == WRITER) return false;
    if (fill->comparer < 0 && compares(fill, cn) && meets(op, FABRIC_READ, fill->primary)) fill->comparer = own;
    if (fill->comparer == own) {
        fill->compared = fill->compared || meets(op, FABRIC_READ, fill->fresh);
        return meets(op, FABRIC_READ, fill->primary) && !fill->changed && fill->overtaken;
    }
    if (!meets(op, FABRIC_WRITE, fill->fresh)) return false;
    fill->copied_epoch[cn] = fill->at.db->nodes[cn].halt.now.epoch;
    fill->copy_waits = fill->comparer >= 0;
    return fill->copy_waits && !(fill->compared && fill->at.db->nodes[fill->comparer].halt.begun);
}

static bool deaf(const struct fill *fill, uint32_t cn, const struct fabric_op *op)
{
    return fill->deaf && cn == FILLER && op->kind == FABRIC_CAS &&
           fabric_addr_offset(op->addr) == offsetof(struct superblock_wire, configuration) &&
           fill->at.db->nodes[cn].halt.now.state == CONFIGURATION_JOINING;
}

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct fill *fill = arg;
    (void)index;
    bool held = fill->at.armed && (deaf(fill, ep->cn, op) || (fill->hold_write && write_held(fill, ep->cn, op)) ||
                                   (fill->hold_two && two_held(fill, ep->cn, op)));
    return held ? FABRIC_SIM_NOT_RUN : FABRIC_SIM_NONE;
}

/* ---- the cluster ---- */

static int load(struct cellar_lab_client *client, void *arg)
{
    struct fill *fill = arg;
    const struct row row = {0};
    if (cellar_lab_index(client) != 0) return 0;
    return db_load(client, fill->table, KEY, &row, &fill->at.error);
}

static int audit(struct cellar_lab_client *client, void *arg)
{
    struct fill *fill = arg;
    return cellar_lab_index(client) ? 0 : db_audit(client, &fill->at.error);
}

static void begin(struct fill *fill)
{
    struct cellar_result result;
    *fill = (struct fill){.comparer = -1};
    failover_steps_begin(&fill->at, &shape, watch);
    assert_int_equal(db_table_create(fill->at.db, &schema, &fill->table, &fill->at.error), 0);
    assert_int_equal(cellar_lab_run(fill->at.db, load, fill), 0);
    const struct cellar_proc_def def = {.name = "add", .fn = add, .records_max = 1, .writes_max = 1};
    assert_int_equal(db_proc_register(fill->at.db, &def, &fill->add, &fill->at.error), 0);
    assert_int_equal(cellar_proc_run(fill->at.db, fill->add, (void *)fill->table, NULL, &result), 0);
    const struct catalog *catalog = fill->at.db->catalog;
    struct fabric_addr addr = addrcache_get(fill->at.db->workers[WRITER].home.addrs, fill->table->table->id, KEY);
    assert_true(addr.bits != 0);
    fill->fresh = addr;
    fill->primary = catalog_replica(catalog, addr, 1);
}

/* X's memory node is lost, and a fresh one is in its place. By compute node WRITER. */
static void replace(struct coro *co, struct coordinator *coordinator, struct fill *fill)
{
    uint32_t node = fabric_addr_node(fill->fresh);
    failover_steps_kill(&fill->at, node);
    halt_suspect(&fill->at.db->nodes[WRITER].halt, node);
    for (uint32_t cn = 0; cn < FAILOVER_STEPS_CNS; cn++)
        CHECK(&fill->at, failover_steps_await_state(co, coordinator, cn, CONFIGURATION_LOST));
    fabric_sim_mn_replace(fill->at.fabric, node);
}

/* As db_replace does it, but it can be taken back. */
static void ask(struct fill *fill, uint32_t cn)
{
    struct halt *halt = &fill->at.db->nodes[cn].halt;
    atomic_store(&halt->rejoin, (int)fabric_addr_node(fill->fresh) + 1);
    fabric_wake(fill->at.fabric, halt->agent_ep);
}

/* What became of it; UNDECIDED: nothing, for so long that nothing will. */
#define UNDECIDED 1

static int answer(struct coro *co, struct coordinator *coordinator, struct fill *fill, uint32_t cn)
{
    struct halt *halt = &fill->at.db->nodes[cn].halt;
    uint64_t begin_ns = fabric_now_ns(coordinator->worker->ep);
    while (atomic_load(&halt->rejoin) && fabric_now_ns(coordinator->worker->ep) - begin_ns < FAILOVER_STEPS_WAIT_MAX_NS)
        failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    return atomic_exchange(&halt->rejoin, 0) ? UNDECIDED : atomic_load(&halt->rejoined);
}

static void change(struct coordinator *coordinator, struct fill *fill)
{
    struct cellar_result result;
    CHECK(&fill->at, cellar_lab_exec(coordinator->client, fill->add, (void *)fill->table, NULL, &result) == 0);
}

/* ---- a filler gives up ---- */

/* The bytes of a slot, as the header of X's run says at the primary: one more is impossible. */
static void header_damage(struct coro *co, struct coordinator *coordinator, struct fill *fill, uint64_t addend)
{
    const struct catalog *catalog = fill->at.db->catalog;
    uint64_t in_heap = fabric_addr_offset(fill->primary) - catalog->area_bytes - catalog->heap_offset, word = 0;
    uint64_t at = fabric_addr_offset(fill->primary) - in_heap % LAYOUT_CHUNK_BYTES;
    struct fabric_addr addr =
        fabric_addr_of(fabric_addr_node(fill->primary), at + offsetof(struct chunk_wire, slot_bytes));
    CHECK(&fill->at, batch_faa(co, coordinator->worker->ep, addr, addend, &word) == 0);
    CHECK(&fill->at, (uint32_t)(word + addend) == RECORD_BYTES + (addend == 1));
}

static int gives_up(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct fill *fill = arg;
    if (coordinator->worker->cn != WRITER) return 0;
    replace(co, coordinator, fill);
    header_damage(co, coordinator, fill, 1);
    ask(fill, FILLER);
    CHECK(&fill->at, answer(co, coordinator, fill, FILLER) == CELLAR_CORRUPT);
    header_damage(co, coordinator, fill, UINT64_MAX);
    if (fill->deaf) failover_steps_sleep(co, coordinator, DEAF_NS);
    fill->deaf = false;
    ask(fill, SECOND);
    fill->compared = answer(co, coordinator, fill, SECOND) == 0;
    return 0;
}

/* Did the second one fill it? */
static bool another_fills(bool filler_deaf)
{
    struct fill fill;
    begin(&fill);
    fill.deaf = filler_deaf;
    failover_steps_run(&fill.at, gives_up);
    if (fill.compared) assert_int_equal(cellar_lab_run(fill.at.db, audit, &fill), 0);
    failover_steps_end(&fill.at);
    return fill.compared;
}

static void who_gives_up_lets_another_one_fill_it(void **state)
{
    (void)state;
    assert_true(another_fills(false));
    assert_true(another_fills(true)); /* its name stays for a while: as of an earlier life */
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("failover_filler_named"));
    assert_false(another_fills(false));
    assert_true(plant_choose(NULL));
#endif
}

/* ---- a WRITE that is overtaken ---- */

static int overtaken(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct fill *fill = arg;
    uint32_t cn = coordinator->worker->cn;
    if (cn == FILLER) CHECK(&fill->at, failover_steps_await_state(co, coordinator, cn, CONFIGURATION_JOINING));
    if (cn == FILLER) CHECK(&fill->at, answer(co, coordinator, fill, FILLER) == 0);
    if (cn != WRITER) return 0;
    replace(co, coordinator, fill);
    fill->hold_write = true;
    ask(fill, FILLER);
    CHECK(&fill->at, failover_steps_await_state(co, coordinator, WRITER, CONFIGURATION_JOINING));
    change(coordinator, fill);
    return 0;
}

/* Are replicas equal in the end? */
static bool equal_behind(struct fill *fill, db_fn fn)
{
    begin(fill);
    failover_steps_run(&fill->at, fn);
    int rc = cellar_lab_run(fill->at.db, audit, fill);
    assert_true(rc == 0 || rc == CELLAR_CORRUPT);
    failover_steps_end(&fill->at);
    return rc == 0;
}

static void a_write_overtaken_by_the_copying_is_compared(void **state)
{
    struct fill fill;
    (void)state;
    assert_true(equal_behind(&fill, overtaken));
    assert_true(fill.written && fill.overtaken && fill.compared);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("failover_copy_undrained"));
    assert_false(equal_behind(&fill, overtaken));
    assert_true(plant_choose(NULL));
#endif
}

/* ---- two are asked ---- */

static int both_asked(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct fill *fill = arg;
    uint32_t cn = coordinator->worker->cn;
    if (cn != WRITER) CHECK(&fill->at, failover_steps_await_state(co, coordinator, cn, CONFIGURATION_JOINING));
    if (cn != WRITER) CHECK(&fill->at, answer(co, coordinator, fill, cn) == 0);
    if (cn != WRITER) return 0;
    replace(co, coordinator, fill);
    fill->hold_two = true;
    ask(fill, FILLER);
    ask(fill, SECOND);
    while (!fill->copy_waits && (atomic_load(&fill->at.db->nodes[FILLER].halt.rejoin) ||
                                 atomic_load(&fill->at.db->nodes[SECOND].halt.rejoin)))
        failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    change(coordinator, fill);
    fill->changed = true;
    return 0;
}

static void of_two_that_are_asked_one_fills_it(void **state)
{
    struct fill fill;
    (void)state;
    assert_true(equal_behind(&fill, both_asked));
    assert_false(fill.copy_waits); /* no node copies while another one compares */
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("failover_fillers_two"));
    assert_false(equal_behind(&fill, both_asked));
    assert_true(fill.copy_waits);
    assert_true(plant_choose(NULL));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_gives_up_lets_another_one_fill_it),
                                       cmocka_unit_test(a_write_overtaken_by_the_copying_is_compared),
                                       cmocka_unit_test(of_two_that_are_asked_one_fills_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
