/*
 * test_api_stack.c - procedures on a stack of the size that they ask for, over fetches and attempts; and what jumps
 * within them.
 */
#include "api.h"
#include "numbered.h"

#include <alloca.h>
#include <pthread.h>

#define DEEP_BYTES (4u << 20)
#define CALLS 200

struct deep {
    struct api *api;
    uint64_t bytes; /* of stack that it uses */
    uint64_t key;
    bool jumps;
};

/* All of it is written before the fetch, and must be there after it: other coordinators run between. */
static int deep_fn(struct cellar_txn *txn, void *arg)
{
    const struct deep *deep = arg;
    volatile uint8_t *bytes = alloca(deep->bytes);
    jmp_buf here;
    uint64_t a;
    for (uint64_t i = 0; i < deep->bytes; i += 512) bytes[i] = (uint8_t)(i / 512 + deep->key);
    int ref = cellar_proc_access(txn, deep->api->items, deep->key, 0, CELL_A, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, ITEM_A, &a);
    if (rc) return rc;
    for (uint64_t i = 0; i < deep->bytes; i += 512)
        if (bytes[i] != (uint8_t)(i / 512 + deep->key)) return ERR_GIVEN_UP;
    if (deep->jumps && setjmp(here) == 0) longjmp(here, 1); /* within its own frame it may */
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static const struct cellar_proc *registered(struct api *api, const char *name, uint64_t stack_bytes)
{
    const struct cellar_proc_def def = {
        .name = name, .fn = deep_fn, .records_max = 1, .writes_max = 1, .stack_bytes = stack_bytes};
    const struct cellar_proc *proc;
    if (db_proc_register(api->db, &def, &proc, &api->error)) fail_msg("%s", api->error.text);
    return proc;
}

struct caller {
    struct deep deep;
    const struct cellar_proc *proc;
    int code;
};

static void *call(void *arg)
{
    struct caller *caller = arg;
    for (uint32_t i = 0; i < CALLS && caller->code == 0; i++)
        caller->code = cellar_proc_run(caller->deep.api->db, caller->proc, &caller->deep, NULL, NULL);
    return NULL;
}

static void a_procedure_has_the_stack_it_asks_for(void **state)
{
    struct api api;
    struct caller callers[4];
    pthread_t threads[4];
    const struct api_variant *variant = *state;
    api_open_with(&api, variant, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    const struct cellar_proc *large = registered(&api, "large", DEEP_BYTES + 65536);
    const struct cellar_proc *small = registered(&api, "small", 0);
    for (uint32_t i = 0; i < 4; i++) { /* two on each record, so that attempts are made again */
        callers[i] =
            (struct caller){.deep = {&api, i % 2 ? 100000 : DEEP_BYTES, i / 2, i == 3}, .proc = i % 2 ? small : large};
        if (variant->threads)
            assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
        else
            call(&callers[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (variant->threads) pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].code, 0);
    }
    api_audit_clean(&api);
    api_close(&api);
}

static void stacks_out_of_range_are_refused(void **state)
{
    struct api api;
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {
        .name = "huge", .fn = deep_fn, .records_max = 1, .writes_max = 1, .stack_bytes = CELLAR_STACK_BYTES_MAX + 1};
    api_open_with(&api, *state, (struct engine_config){.threads = 1});
    FAILS(&api.error, db_proc_register(api.db, &def, &proc, &api.error), CELLAR_TOO_LARGE, "a stack of");
    assert_null(proc);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_procedure_has_the_stack_it_asks_for),
        API_TEST(stacks_out_of_range_are_refused),
    };
    return api_main("api_stack", tests, sizeof tests / sizeof *tests, argc, argv);
}
