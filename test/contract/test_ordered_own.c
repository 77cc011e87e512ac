/*
 * test_ordered_own.c - what a cursor sees of its own transaction (cellar.h): against an array that says what was there
 * when it was opened, while records before it and behind it are deleted, moved and inserted, seen by others or not yet.
 */
#include "ordered.h"
#include "numbered.h"
#include "plant.h"

#define KEYS 400
#define VALUES 700 /* of column a: some are equal */
#define TXNS 60
#define TOUCHED_MAX 100 /* records that one transaction changes */

struct own_model {
    bool there[KEYS];
    uint64_t a[KEYS];
};

struct own_txn {
    struct api_call call;
    const struct ordered *ordered;
    uint64_t seed;
    struct own_model model, after; /* before it; after its last attempt */
    bool touched[KEYS];
    uint32_t touched_count, batch;
    bool aborts, reads; /* cursors read records: from then on what they may have declared is not deleted */
    char wrong[120];
};

struct own_entry {
    uint64_t a, key;
};

static int compare(const void *a, const void *b)
{
    const struct own_entry *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* ---- changes ---- */

static int own_insert(struct cellar_txn *txn, struct own_txn *own, struct own_model *model, uint64_t key, uint64_t a)
{
    struct item item = ordered_item(key, a);
    TRY(cellar_proc_insert(txn, own->call.items, key, &item));
    TRY(cellar_proc_fetch(txn));
    model->there[key] = true;
    model->a[key] = a;
    return 0;
}

static int own_delete(struct cellar_txn *txn, struct own_txn *own, struct own_model *model, uint64_t key)
{
    TRY(cellar_proc_access(txn, own->call.items, key, 0, 0, CELLAR_DELETE));
    TRY(cellar_proc_fetch(txn));
    model->there[key] = false;
    return 0;
}

static int own_move(struct cellar_txn *txn, struct own_txn *own, struct own_model *model, uint64_t key, uint64_t a)
{
    int ref = cellar_proc_access(txn, own->call.items, key, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_put(txn, ref, ITEM_A, &a));
    model->a[key] = a;
    return 0;
}

/* Another one of a record that it has not changed yet; perhaps one that flushes what was changed. */
static int own_change(struct cellar_txn *txn, struct own_txn *own, struct prng *prng, struct own_model *model)
{
    uint64_t key = prng_below(prng, KEYS), a = prng_below(prng, VALUES);
    if (prng_below(prng, 4) == 0) {
        struct item row = {.a = a};
        int found = cellar_proc_lookup(txn, own->ordered->by_a, &row, &key);
        return found < 0 ? found : 0;
    }
    if (own->touched[key] || own->touched_count == TOUCHED_MAX) return 0;
    own->touched[key] = true;
    own->touched_count++;
    if (!model->there[key]) return own_insert(txn, own, model, key, a);
    bool moves = own->reads || prng_below(prng, 2);
    return moves ? own_move(txn, own, model, key, a) : own_delete(txn, own, model, key);
}

/* ---- a cursor ---- */

struct own_cursor {
    const struct cellar_index *index;
    struct own_entry then[KEYS]; /* in its order */
    uint32_t count, at, given;
    uint64_t limit;
    uint32_t flags;
    cellar_cells read;
    int number;
};

static int own_open(struct cellar_txn *txn, struct own_txn *own, struct prng *prng, const struct own_model *model,
                    struct own_cursor *cursor)
{
    uint64_t first = prng_below(prng, VALUES), last = prng_between(prng, first, VALUES);
    bool by_key = prng_below(prng, 3) == 0, whole = prng_below(prng, 2);
    *cursor = (struct own_cursor){.index = by_key ? own->ordered->by_key : own->ordered->by_a,
                                  .limit = prng_below(prng, 3) ? 0 : prng_between(prng, 1, 90),
                                  .flags = prng_below(prng, 2) ? CELLAR_BACKWARD : 0,
                                  .read = own->reads ? CELL_B : 0};
    struct item low = {.a = first}, high = {.a = last};
    struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, false}};
    if (by_key) range = (struct cellar_range){.low_key = first, .high_key = last};
    if (whole) range = (struct cellar_range){.low_key = 0, .high_key = UINT64_MAX};
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t place = by_key ? key : model->a[key];
        if (!model->there[key] || (!whole && (place < first || place > last))) continue;
        cursor->then[cursor->count++] = (struct own_entry){place, key};
    }
    qsort(cursor->then, cursor->count, sizeof *cursor->then, compare);
    cursor->number = cellar_proc_cursor_open(txn, cursor->index, &range, cursor->read, 0, cursor->flags, cursor->limit);
    return cursor->number < 0 ? cursor->number : 0;
}

/* One step of it: 1, or 0 at its end; a code. What it should have given is said by `then`, and what is gone. */
static int own_step(struct cellar_txn *txn, struct own_txn *own, const struct own_model *model,
                    struct own_cursor *cursor)
{
    uint64_t key = UINT64_MAX;
    int ref, got = cellar_proc_cursor_next(txn, cursor->number, &key, &ref);
    const struct own_entry *wanted = NULL;
    TRY(got);
    while (cursor->at < cursor->count && !wanted) {
        uint32_t at = cursor->flags & CELLAR_BACKWARD ? cursor->count - 1 - cursor->at : cursor->at;
        cursor->at++;
        if (model->there[cursor->then[at].key]) wanted = &cursor->then[at];
    }
    if (cursor->limit && cursor->given == cursor->limit) wanted = NULL;
    cursor->given++;
    struct item row = {.a = UINT64_MAX};
    if (got && cursor->index == own->ordered->by_a) TRY(cellar_proc_cursor_row(txn, cursor->number, &row));
    bool columns = !got || cursor->index != own->ordered->by_a || !wanted || row.a == wanted->a;
    bool right = wanted ? got == 1 && key == wanted->key && columns : got == 0;
    if (!right && !own->wrong[0])
        snprintf(own->wrong, sizeof own->wrong, "step %u: %d, key %lld, not %lld%s", cursor->given, got, (long long)key,
                 wanted ? (long long)wanted->key : -1, columns ? "" : "; its columns");
    return got;
}

static int own_body(struct cellar_txn *txn, struct api_call *call)
{
    struct own_txn *own = (struct own_txn *)call;
    struct own_model model = own->model;
    struct own_cursor cursors[2];
    struct prng prng;
    prng_seed(&prng, own->seed);
    memset(own->touched, 0, sizeof own->touched);
    own->touched_count = 0;
    own->wrong[0] = 0;
    own->reads = false;
    for (uint64_t i = prng_below(&prng, 10); i > 0; i--) TRY(own_change(txn, own, &prng, &model));
    own->reads = prng_below(&prng, 2);
    TRY(own_open(txn, own, &prng, &model, &cursors[0]));
    for (uint64_t i = prng_below(&prng, 10); i > 0; i--) TRY(own_change(txn, own, &prng, &model));
    TRY(own_open(txn, own, &prng, &model, &cursors[1]));
    for (bool more[2] = {true, true}; more[0] || more[1];) {
        uint64_t which = prng_below(&prng, 4) == 0;
        if (!more[which]) which = !which;
        int got = own_step(txn, own, &model, &cursors[which]);
        TRY(got);
        more[which] = got == 1;
        if (prng_below(&prng, 3) == 0) TRY(own_change(txn, own, &prng, &model));
    }
    own->aborts = prng_below(&prng, 4) == 0;
    if (own->aborts) return ERR_GIVEN_UP;
    own->after = model;
    return 0;
}

/* ---- transactions ---- */

struct own_run {
    struct ordered ordered;
    struct own_txn txn;
    const struct cellar_proc *proc;
};

static void own_run_open(struct own_run *run, const struct api_variant *variant)
{
    const struct cellar_proc_def def = {
        .name = "own", .fn = api_any, .records_max = KEYS + 1500, .writes_max = TOUCHED_MAX, .log_bytes_max = 40 << 10};
    struct ordered_change change = {.count = 0};
    ordered_open(&run->ordered, variant);
    struct api *api = &run->ordered.api;
    MUST(&api->error, db_proc_register(api->db, &def, &run->proc, &api->error));
    run->txn = (struct own_txn){.ordered = &run->ordered};
    for (uint64_t key = 0; key < KEYS; key += 2) {
        run->txn.model.there[key] = true;
        run->txn.model.a[key] = key * 7 % VALUES;
        change.steps[0].key = key;
        change.steps[0].a = key * 7 % VALUES;
        change.steps[0].kind = ORDERED_PUT;
        change.count = 1;
        ordered_call(&run->ordered, &change);
    }
}

/* False: a cursor gave what it should not; own->wrong says what. */
static bool own_run_txn(struct own_run *run, uint64_t seed)
{
    struct own_txn *own = &run->txn;
    own->seed = seed;
    own->call = (struct api_call){.body = own_body, .items = run->ordered.api.items};
    int rc = cellar_proc_run(run->ordered.api.db, run->proc, own, NULL, &run->ordered.api.result);
    if (own->wrong[0]) return false;
    struct cellar_error error;
    cellar_proc_error(&run->ordered.api.result, &error);
    if (rc != (own->aborts ? ERR_GIVEN_UP : 0)) fail_msg("seed %d: %s", (int)seed, error.text);
    if (rc == 0) own->model = own->after;
    return true;
}

static void own_run_close(struct own_run *run)
{
    for (uint64_t key = 0; key < KEYS; key++) {
        run->ordered.there[key] = run->txn.model.there[key];
        run->ordered.a[key] = run->txn.model.a[key];
    }
    ordered_close(&run->ordered);
}

static void a_cursor_shows_what_was_there_when_it_was_opened(void **state)
{
    static struct own_run run;
    if (!ordered_supported(*state)) skip();
    own_run_open(&run, *state);
    for (uint64_t seed = 1; seed <= TXNS; seed++)
        if (!own_run_txn(&run, seed)) fail_msg("seed %d: %s", (int)seed, run.txn.wrong);
    own_run_close(&run);
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    static struct own_run run;
    const struct api_variant *variant = *state;
    if (variant->cc != CELLAR_LAB_CC_CELL) skip();
    own_run_open(&run, variant);
    assert_true(plant_choose("tree_since_unasked"));
    bool right = true;
    for (uint64_t seed = 1; seed <= TXNS && right; seed++) right = own_run_txn(&run, seed);
    assert_true(plant_choose(NULL));
    assert_false(right);
    own_run_close(&run);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_cursor_shows_what_was_there_when_it_was_opened),
#ifdef CELLAR_PLANTS
        API_TEST(its_plant_is_met),
#endif
    };
    return api_main("ordered_own", tests, sizeof tests / sizeof *tests, argc, argv);
}
