/*
 * test_api_tails.c - what follows the values of a record's cells in the pool is zero, whatever was in a coordinator's
 * memory before: cells are written whole, many of them unread.
 */
#include "api.h"

#include "numbered.h"
#include "record.h"
#include "txn.h"

enum { KEY = 5 };

/* Small and large cells, with values that fill them and that do not. */
struct odd {
    uint8_t five[5], wide[100], full[112], line[57], eight[8];
};
static const struct cellar_schema_column odd_columns[] = {
    CELLAR_COLUMN(struct odd, five), CELLAR_COLUMN(struct odd, wide),  CELLAR_COLUMN(struct odd, full),
    CELLAR_COLUMN(struct odd, line), CELLAR_COLUMN(struct odd, eight),
};
enum { FIVE, WIDE, FULL, LINE, EIGHT, ODD_COLUMNS };

/* One that leaves no zero where its image was. */
struct loud {
    uint8_t all[9 * LAYOUT_VALUE_PER_LINE];
};
static const struct cellar_schema_column loud_columns[] = {CELLAR_COLUMN(struct loud, all)};

struct odd_call {
    struct api_call call;
    const struct cellar_table *loud;
    uint8_t byte; /* which all values are made of */
};

static struct odd odd_of(uint8_t byte)
{
    struct odd odd;
    memset(&odd, byte, sizeof odd);
    return odd;
}

/* ---- transactions ---- */

static int insert(struct cellar_txn *txn, struct api_call *call)
{
    struct odd odd = odd_of(((struct odd_call *)call)->byte);
    TRY(cellar_proc_insert(txn, call->items, KEY, &odd));
    return cellar_proc_fetch(txn);
}

static int insert_loud(struct cellar_txn *txn, struct api_call *call)
{
    struct loud loud;
    memset(&loud, 0xff, sizeof loud);
    TRY(cellar_proc_insert(txn, ((struct odd_call *)call)->loud, KEY, &loud));
    return cellar_proc_fetch(txn);
}

static int read_loud(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, ((struct odd_call *)call)->loud, KEY, CELLAR_ALL_CELLS, 0, 0));
    return cellar_proc_fetch(txn);
}

/* All of it, and nothing is read. */
static int put_blindly(struct cellar_txn *txn, struct api_call *call)
{
    struct odd odd = odd_of(((struct odd_call *)call)->byte);
    int ref = cellar_proc_access(txn, call->items, KEY, 0, CELLAR_ALL_CELLS, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_put_row(txn, ref, &odd);
}

/* What an earlier block has declared to be read only. */
static int put_late(struct cellar_txn *txn, struct api_call *call)
{
    struct odd odd = odd_of(((struct odd_call *)call)->byte);
    int ref = cellar_proc_access(txn, call->items, KEY, 1u << FIVE, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_access(txn, call->items, KEY, 1u << LINE, 1u << WIDE | 1u << EIGHT, 0));
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_put(txn, ref, WIDE, odd.wide));
    return cellar_proc_put(txn, ref, EIGHT, odd.eight);
}

/* The same, as rows that a procedure puts are declared. */
static int put_wanted(struct cellar_txn *txn, struct api_call *call)
{
    struct odd odd = odd_of(((struct odd_call *)call)->byte);
    int ref = cellar_proc_access(txn, call->items, KEY, 1u << FIVE, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(txn_want_counted(&txn->txn, call->items->table, KEY, 0, 1u << WIDE));
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_put(txn, ref, WIDE, odd.wide);
}

/* What an earlier block has read. */
static int take_out_late(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, call->items, KEY, 1u << FIVE, 0, 0));
    TRY(cellar_proc_fetch(txn));
    TRY(txn_delete(&txn->txn, call->items->table, KEY));
    return cellar_proc_fetch(txn);
}

static int take_out(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, call->items, KEY, 0, 0, CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

/* ---- the record in the pool ---- */

static const struct cellar_table *table(struct api *api, const char *name, uint32_t row_bytes,
                                        const struct cellar_schema_column *columns, uint32_t count)
{
    const struct cellar_table *made;
    const struct cellar_schema schema = {
        .name = name, .row_bytes = row_bytes, .columns = columns, .column_count = count, .records_max = 100};
    MUST(&api->error, db_table_create(api->db, &schema, &made, &api->error));
    return made;
}

static void run(struct api *api, struct odd_call *args, api_body body, uint8_t byte)
{
    args->call.body = body;
    args->byte = byte;
    assert_code(cellar_proc_run(api->db, api->any, args, NULL, &api->result), 0);
}

static void assert_quiet(struct api *api, struct fabric_addr addr)
{
    const struct schema *schema = &api->items->table->schema;
    uint8_t image[1024], cleared[1024];
    api_peek(api, addr, image, schema->record_bytes);
    memcpy(cleared, image, schema->record_bytes);
    for (uint32_t tailed = schema->tailed_cells; tailed; tailed &= tailed - 1)
        record_tail_clear(schema, cleared, (uint32_t)__builtin_ctz(tailed));
    assert_memory_equal(image, cleared, schema->record_bytes);
}

static const struct {
    api_body body;
    uint8_t byte;
} steps[] = {{put_blindly, 1}, {put_late, 2}, {put_blindly, 3}, {put_wanted, 4},
             {take_out, 0},    {insert, 5},   {put_late, 6},    {take_out_late, 0}};

/* Before each step the coordinator's memory is filled with the other record. */
static void nothing_of_another_record_gets_into_one(void **state)
{
    struct api api;
    struct fabric_addr head;
    api_open_bare(&api, *state, (struct engine_config){.threads = 1, .coros = 1});
    api_procs(&api);
    api.items = table(&api, "odd", sizeof(struct odd), odd_columns, ODD_COLUMNS);
    struct odd_call args = {.call.items = api.items, .loud = table(&api, "loud", sizeof(struct loud), loud_columns, 1)};
    assert_int_equal(api.items->table->schema.tailed_cells, 1u << FIVE | 1u << WIDE | 1u << LINE);
    run(&api, &args, insert_loud, 0);
    run(&api, &args, insert, 9);
    struct fabric_addr addr = api_find(&api, KEY, &head);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        run(&api, &args, read_loud, 0);
        run(&api, &args, steps[i].body, steps[i].byte);
        assert_quiet(&api, addr);
    }
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(nothing_of_another_record_gets_into_one)};
    return api_main("api_tails", tests, sizeof tests / sizeof *tests, argc, argv);
}
