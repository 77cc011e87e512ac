/*
 * test_outcome.c - what db_outcome_ask says of a transaction before its compute node is recovered and after:
 * that it committed, that it did not, that it cannot be told any more; and of names that never were.
 */
#include "api.h"
#include "numbered.h"
#include "db_recover.h"

#define CALLS 64 /* entries that a log of LOG_BYTES does not hold */
#define LOG_BYTES 65536

struct lab {
    struct api api;
    uint64_t ids[CALLS][2]; /* of compute node 1, in order */
    uint32_t count;
};

static int write_one(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a = call->runs;
    int ref = cellar_proc_access(txn, call->items, 1, 0, CELL_A, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    return rc ? rc : cellar_proc_put(txn, ref, ITEM_A, &a);
}

static int load_one(struct cellar_lab_client *client, void *arg)
{
    struct api *api = arg;
    const struct item row = {.a = 1};
    return cellar_lab_index(client) == 0 ? db_load(client, api->items, 1, &row, &api->error) : 0;
}

static uint32_t cn_of(const uint64_t id[2]) { return (uint32_t)(id[0] >> 48); }

static void lab_open(struct lab *lab, enum cellar_lab_cc cc)
{
    const struct api_variant variant = {"outcome", "sim", cc, false};
    const struct engine_config config = {.cns = 2, .coros = 1, .log_bytes = LOG_BYTES};
    const struct cellar_proc_def any = {.name = "any", .fn = api_any, .records_max = 1, .writes_max = 1};
    struct api *api = &lab->api;
    lab->count = 0;
    api_open_bare(api, &variant, config);
    api->items = api_table(api, "items", 16);
    MUST(&api->error, db_proc_register(api->db, &any, &api->any, &api->error));
    MUST(&api->error, cellar_lab_run(api->db, load_one, api));
}

/* Calls until node 1 has made so many. */
static void lab_call(struct lab *lab, uint32_t count)
{
    while (lab->count < count) {
        struct api_call call;
        assert_code(api_run(&lab->api, write_one, &call), 0);
        if (cn_of(lab->api.result.txn_id) == 1)
            memcpy(lab->ids[lab->count++], lab->api.result.txn_id, sizeof lab->api.result.txn_id);
    }
}

static void lab_kill(struct lab *lab)
{
    struct fabric *fabric = db_fabric(lab->api.db);
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = 1};
    MUST(&lab->api.error, fabric->ops->control(fabric, &control, &lab->api.error));
}

static enum cellar_fate fate_of(struct lab *lab, uint64_t name, uint64_t sequence)
{
    const uint64_t id[2] = {name, sequence};
    enum cellar_fate fate = (enum cellar_fate)77;
    MUST(&lab->api.error, db_outcome_ask(lab->api.db, id, &fate, &lab->api.error));
    return fate;
}

static void before_and_after_recovery(enum cellar_lab_cc cc)
{
    struct lab lab;
    lab_open(&lab, cc);
    lab_call(&lab, 2);
    uint64_t name = lab.ids[1][0], last = lab.ids[1][1];
    assert_int_equal(fate_of(&lab, name, last), CELLAR_FATE_UNKNOWN); /* it is alive */
    lab_kill(&lab);
    assert_int_equal(fate_of(&lab, name, last), CELLAR_FATE_UNKNOWN);
    MUST(&lab.api.error, db_recover(lab.api.db, 1, &lab.api.error));
    assert_int_equal(fate_of(&lab, name, last), CELLAR_FATE_COMMITTED);
    assert_int_equal(fate_of(&lab, name, lab.ids[0][1]), CELLAR_FATE_COMMITTED);
    assert_int_equal(fate_of(&lab, name, last + 1), CELLAR_FATE_ABORTED);
    cellar_close(lab.api.db);
}

static void in_mode_cell(void **state)
{
    (void)state;
    before_and_after_recovery(CELLAR_LAB_CC_CELL);
}

static void in_mode_crest(void **state)
{
    (void)state;
    before_and_after_recovery(CELLAR_LAB_CC_CREST);
}

static void overwritten_is_unknown(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELL);
    lab_call(&lab, CALLS);
    while (lab.api.result.txn_id[1] < LOG_BYTES / 64) { /* an entry takes a line at least */
        lab.count = CALLS - 1;
        lab_call(&lab, CALLS);
    }
    lab_kill(&lab);
    MUST(&lab.api.error, db_recover(lab.api.db, 1, &lab.api.error));
    assert_int_equal(fate_of(&lab, lab.ids[0][0], lab.ids[0][1]), CELLAR_FATE_UNKNOWN);
    assert_int_equal(fate_of(&lab, lab.ids[CALLS - 1][0], lab.ids[CALLS - 1][1]), CELLAR_FATE_COMMITTED);
    cellar_close(lab.api.db);
}

static void alien_names_are_refused(void **state)
{
    struct lab lab;
    enum cellar_fate fate;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELL);
    lab_call(&lab, 1);
    const uint64_t no_cn[2] = {200ull << 48, 1}, later[2] = {lab.ids[0][0] + 1, 1};
    FAILS(&lab.api.error, db_outcome_ask(lab.api.db, no_cn, &fate, &lab.api.error), CELLAR_INVALID, "200");
    FAILS(&lab.api.error, db_outcome_ask(lab.api.db, later, &fate, &lab.api.error), CELLAR_INVALID, "never");
    assert_int_equal(fate, CELLAR_FATE_UNKNOWN);
    cellar_close(lab.api.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_mode_cell),
        cmocka_unit_test(in_mode_crest),
        cmocka_unit_test(overwritten_is_unknown),
        cmocka_unit_test(alien_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
