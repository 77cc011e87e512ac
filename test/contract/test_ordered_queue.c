/*
 * test_ordered_queue.c [INSERTS] - a queue in a table with an ordered index: inserts at the end, deletes at the front.
 * However many have passed through it, its first key is found in two leaves at most, and nodes take no more room than
 * twice what the live entries need. 20,000 inserts in each mode; nightly a million.
 */
#include "bulk.h"
#include "numbered.h"
#include "ordered.h"
#include "tree.h"

#define LIVE 1000
#define EACH 8 /* inserts, and deletes, of a transaction */
#define SAMPLES 20

static uint64_t inserts = 20000;

struct queue {
    struct api_call call;
    const struct cellar_index *by_key;
    uint64_t next; /* key of the next insert */
    uint64_t first;
    uint32_t leaves; /* that the first key was looked for in */
};

static uint32_t leaves_read(struct txn *txn, const struct cellar_index *index)
{
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        leaves += object->table == index->nodes && (object->fetched_cells & TREENODE_SHAPE);
    }
    return leaves;
}

static int first_key(struct cellar_txn *txn, struct api_call *call)
{
    const struct cellar_range all = {.high_key = UINT64_MAX};
    struct queue *queue = (struct queue *)call;
    int cursor = cellar_proc_cursor_open(txn, queue->by_key, &all, 0, 0, 0, 1);
    TRY(cursor);
    int got = cellar_proc_cursor_next(txn, cursor, &queue->first, NULL);
    queue->leaves = leaves_read(&txn->txn, queue->by_key);
    return got == 1 ? 0 : got ? got : CELLAR_NOT_FOUND;
}

/* Some at the end; and as many from the front, once the queue is as long as it is to be. */
static int pass(struct cellar_txn *txn, struct api_call *call)
{
    const struct cellar_range all = {.high_key = UINT64_MAX};
    const struct queue *queue = (const struct queue *)call;
    uint64_t keys[EACH];
    int got = 1;
    for (uint64_t i = 0; i < EACH; i++) {
        struct item item = item_of(queue->next + i);
        TRY(cellar_proc_insert(txn, call->items, queue->next + i, &item));
    }
    TRY(cellar_proc_fetch(txn));
    if (queue->next < LIVE) return 0;
    int cursor = cellar_proc_cursor_open(txn, queue->by_key, &all, 0, 0, 0, EACH);
    TRY(cursor);
    for (uint32_t i = 0; i < EACH; i++) TRY(got = cellar_proc_cursor_next(txn, cursor, &keys[i], NULL));
    for (uint32_t i = 0; i < EACH; i++) TRY(cellar_proc_access(txn, call->items, keys[i], 0, 0, CELLAR_DELETE));
    return got == 1 ? cellar_proc_fetch(txn) : CELLAR_NOT_FOUND;
}

static int space_of(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    const struct cellar_index *const index = *(const struct cellar_index **)arg;
    return db_space_read(client, catalog_handle(index->nodes), (struct cellar_lab_space *)((void **)arg)[1], error);
}

static struct cellar_lab_space space(struct api *api, const struct cellar_index *index)
{
    struct cellar_lab_space read;
    const void *args[] = {index, &read};
    MUST(&api->error, api_alone(api, space_of, args));
    return read;
}

static void a_queue_stays_small(void **state)
{
    static struct ordered ordered;
    static struct queue queue;
    const struct api_variant *variant = *state;
    if (!ordered_supported(variant) || !variant->threads) return;
    memset(&ordered, 0, sizeof ordered);
    api_open_with(&ordered.api, variant, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
    ordered.by_key = ordered_index(&ordered.api, "by_key", NULL, 0, 0);
    queue = (struct queue){.by_key = ordered.by_key};
    const uint64_t step = inserts / SAMPLES / EACH * EACH, leaf = TREENODE_CELLS * (uint64_t)ordered.by_key->capacity;
    uint64_t slots = 0;
    for (; queue.next < inserts; queue.next += EACH) {
        assert_code(api_run(&ordered.api, pass, &queue), 0);
        if (queue.next % step || queue.next < 2 * LIVE) continue;
        assert_code(api_run(&ordered.api, first_key, &queue), 0);
        assert_int_equal(queue.first, queue.next + EACH - LIVE - (LIVE % EACH ? EACH - LIVE % EACH : 0));
        assert_in_range(queue.leaves, 1, 2);
        const struct cellar_lab_space now = space(&ordered.api, ordered.by_key);
        uint64_t live = queue.next + EACH - queue.first;
        if (now.records * leaf >
            2 * live + 4 * leaf) /* the root, the number of the next node, the first and the last leaf */
            fail_msg("%llu nodes for %llu entries", (unsigned long long)now.records, (unsigned long long)live);
        if (slots && now.slot_bytes > slots)
            fail_msg("nodes that went are not used again: %llu bytes, not %llu", (unsigned long long)now.slot_bytes,
                     (unsigned long long)slots);
        slots = now.slot_bytes;
    }
    api_audit_clean(&ordered.api);
    api_close(&ordered.api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(a_queue_stays_small)};
    if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9') {
        inserts = strtoull(argv[1], NULL, 10);
        argc = 1;
    }
    return api_main("ordered_queue", tests, sizeof tests / sizeof *tests, argc, argv);
}
