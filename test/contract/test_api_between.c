/*
 * test_api_between.c - an entry that another transaction commits into a data cell that a scan has found empty is not
 * missed, neither where the scan's transaction only validates that cell nor where it locks it. By rule, not by chance:
 * the first transaction waits, within its attempt, until the second one has committed.
 */
#include "ordered.h"
#include "numbered.h"

#include <unistd.h>

#define LAST 300

struct between {
    struct api *api;
    const struct cellar_table *few; /* with an index whose leaf has one data cell in use, which is empty */
    const struct cellar_index *by_a;
    const struct cellar_proc *proc;
    struct step {
        struct api_call call;
        struct between *between;
    } first, second;
    uint32_t has_read, changed; /* atomically */
    uint32_t seen;              /* by the attempt that committed, */
    bool behind;                /* ... which went on after the other one had committed */
    struct cellar_result result;
};

static struct between *between_of(const struct api_call *call) { return ((const struct step *)call)->between; }

/* Reads other records until the other one has committed; not for ever: locks may keep that one waiting. */
static int wait(struct cellar_txn *txn, struct api_call *call)
{
    struct between *between = between_of(call);
    __atomic_store_n(&between->has_read, 1, __ATOMIC_SEQ_CST);
    for (uint64_t key = 100; key < LAST && !__atomic_load_n(&between->changed, __ATOMIC_SEQ_CST); key++) {
        TRY(cellar_proc_access(txn, call->items, key, CELL_A, 0, 0));
        TRY(cellar_proc_fetch(txn));
        if (between->api->variant->threads) usleep(1000);
    }
    between->behind = __atomic_load_n(&between->changed, __ATOMIC_SEQ_CST);
    return 0;
}

static int client(struct cellar_lab_client *client, void *arg)
{
    struct between *between = arg;
    struct cellar_result result;
    struct look look_args = {.call = {.body = look, .items = between->api->items}, .key = 9};
    if (cellar_lab_index(client) == 0)
        return cellar_lab_exec(client, between->proc, &between->first, NULL, &between->result);
    while (!__atomic_load_n(&between->has_read, __ATOMIC_SEQ_CST))
        TRY(cellar_lab_exec(client, between->api->any, &look_args, NULL, &result));
    TRY(cellar_lab_exec(client, between->api->any, &between->second, NULL, &result));
    __atomic_store_n(&between->changed, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static void run(struct between *between, api_body first, api_body second)
{
    between->first = (struct step){{.body = first, .items = between->api->items}, between};
    between->second = (struct step){{.body = second, .items = between->api->items}, between};
    between->has_read = between->changed = between->seen = 0;
    assert_code(cellar_lab_run(between->api->db, client, between), 0);
}

static int count(struct cellar_txn *txn, struct between *between)
{
    const struct cellar_range all = {0};
    uint64_t key;
    int cursor = cellar_proc_cursor_open(txn, between->by_a, &all, 0, 0, 0, 0), got;
    TRY(cursor);
    for (between->seen = 0; (got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1;) between->seen++;
    return got;
}

/* Its number goes into another record: a reader alone may be serialized before the other one. */
static int count_and_say(struct cellar_txn *txn, struct api_call *call)
{
    struct between *between = between_of(call);
    TRY(count(txn, between));
    TRY(wait(txn, call));
    int ref = cellar_proc_access(txn, call->items, 7, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    const uint64_t seen = between->seen;
    return cellar_proc_put(txn, ref, ITEM_A, &seen);
}

/* A count that finds no row inserts one: into the data cell that it has read. */
static int count_and_come(struct cellar_txn *txn, struct api_call *call)
{
    struct between *between = between_of(call);
    struct item item = item_of(2);
    TRY(count(txn, between));
    TRY(wait(txn, call));
    if (between->seen) return 0;
    TRY(cellar_proc_insert(txn, between->few, 2, &item));
    return cellar_proc_fetch(txn);
}

static int come(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(1);
    TRY(cellar_proc_insert(txn, between_of(call)->few, 1, &item));
    return cellar_proc_fetch(txn);
}

static int go(struct cellar_txn *txn, struct api_call *call)
{
    for (uint64_t key = 1; key <= 2; key++)
        TRY(cellar_proc_access(txn, between_of(call)->few, key, 0, 0, CELLAR_DELETE | CELLAR_OPTIONAL));
    return cellar_proc_fetch(txn);
}

/* ---- two transactions ---- */

static void call_alone(struct between *between, api_body body)
{
    struct step step = {{.body = body, .items = between->api->items}, between};
    assert_code(cellar_proc_run(between->api->db, between->api->any, &step, NULL, &between->api->result), 0);
}

static void open_between(struct between *between, struct api *api, const struct api_variant *variant)
{
    static const struct cellar_schema_index_column a[] = {{"a", CELLAR_SORT_UNSIGNED, false}};
    const struct cellar_schema_index index = {"by_a", a, 1, 0};
    const struct cellar_proc_def def = {.name = "first", .fn = api_any, .records_max = 1000, .writes_max = 64};
    *between = (struct between){.api = api};
    api_open_with(api, variant, (struct engine_config){.threads = 2, .coros = 1, .log_bytes = ORDERED_LOG_BYTES});
    api_load(api, 0, LAST);
    between->few = api_table(api, "few", 100);
    MUST(&api->error, db_index_create(api->db, between->few, &index, &between->by_a, &api->error));
    MUST(&api->error, db_proc_register(api->db, &def, &between->proc, &api->error));
    call_alone(between, come);
}

/* Returns whether the one that counted committed behind the one that came, and did not count it. */
static bool is_missed(struct between *between, api_body first)
{
    call_alone(between, go);
    run(between, first, come);
    return between->behind && between->seen == 0;
}

static void nothing_is_missed(void **state)
{
    struct api api;
    struct between between;
    if (!ordered_supported(*state)) skip();
    open_between(&between, &api, *state);
    assert_false(is_missed(&between, count_and_say));
    assert_false(is_missed(&between, count_and_come));
    api_audit_clean(&api);
    api_close(&api);
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    struct api api;
    struct between between;
    const struct api_variant *variant = *state;
    if (strcmp(variant->name, "sim_cell") != 0) skip();
    open_between(&between, &api, variant);
    assert_true(plant_choose("tree_cell_unread"));
    bool unread = is_missed(&between, count_and_say);
    assert_true(plant_choose("upgrade_unchecked"));
    bool unchecked = is_missed(&between, count_and_come);
    assert_true(plant_choose(NULL));
    assert_true(unread && unchecked);
    api_close(&api);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(nothing_is_missed),
#ifdef CELLAR_PLANTS
        API_TEST(plants_are_met),
#endif
    };
    return api_main("api_between", tests, sizeof tests / sizeof *tests, argc, argv);
}
