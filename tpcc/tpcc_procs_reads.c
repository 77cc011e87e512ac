/*
 * tpcc_procs_reads.c - the read-only transactions, OrderStatus (clause 2.6) and StockLevel (clause 2.8), and the
 * table of all five. StockLevel is as serializable as any other here; the specification would let it read committed.
 */
#include "tpcc_procs.h"
#include "numbered.h"

#include <string.h>

/* The customer's last order: its row and its key. */
static int find_last_order(struct cellar_txn *txn, struct tpcc_order_status *status, uint64_t *key)
{
    const struct tpcc_customer_choice *choice = &status->choice;
    const struct tpcc_order of = {.o_w_id = choice->w_id, .o_d_id = choice->d_id, .o_c_id = choice->c_id};
    const struct cellar_bound customer = {.row = &of, .columns = 3};
    const struct cellar_range range = {.low = customer, .high = customer};
    int cursor, order, got;
    TRY(cursor = cellar_proc_cursor_open(txn, status->tables->orders_by_customer, &range, CELLAR_ALL_CELLS, 0,
                                         CELLAR_BACKWARD, 1));
    TRY(got = cellar_proc_cursor_next(txn, cursor, key, &order));
    if (got == 0) return ERR_GIVEN_UP;
    status->o_id = (uint32_t)*key;
    return cellar_proc_get_row(txn, order, &status->order);
}

/* The same, by the customer's column, which has been read. */
static int read_last_order(struct cellar_txn *txn, struct tpcc_order_status *status, uint64_t *key)
{
    int order;
    status->o_id = status->customer.c_last_o_id;
    if (status->o_id == 0) return ERR_GIVEN_UP;
    *key = tpcc_schema_order_key(status->choice.w_id, status->choice.d_id, status->o_id);
    TRY(order = cellar_proc_access(txn, status->tables->table[TPCC_ORDER], *key, CELLAR_ALL_CELLS, 0, 0));
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_get_row(txn, order, &status->order);
}

int tpcc_procs_order_status(struct cellar_txn *txn, void *args)
{
    struct tpcc_order_status *status = args;
    const struct tpcc_tables *t = status->tables;
    const struct tpcc_customer_choice *choice = &status->choice;
    int customer, lines[TPCC_LINES_MAX];
    uint64_t key;
    TRY(tpcc_procs_choose(txn, t, &status->choice));
    TRY(customer = cellar_proc_access(txn, t->table[TPCC_CUSTOMER],
                                      tpcc_schema_customer_key(choice->w_id, choice->d_id, choice->c_id),
                                      t->customer_balance | t->customer_identity | t->customer_last_o, 0, 0));
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get_row(txn, customer, &status->customer));
    TRY(t->orders_by_customer ? find_last_order(txn, status, &key) : read_last_order(txn, status, &key));
    if (status->order.o_ol_cnt > TPCC_LINES_MAX) return ERR_GIVEN_UP;

    for (uint32_t i = 0; i < status->order.o_ol_cnt; i++)
        TRY(lines[i] = cellar_proc_access(txn, t->table[TPCC_ORDER_LINE], tpcc_schema_line_key(key, i + 1),
                                          CELLAR_ALL_CELLS, 0, 0));
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < status->order.o_ol_cnt; i++) TRY(cellar_proc_get_row(txn, lines[i], &status->lines[i]));
    return 0;
}

/* The same by the index of lines: they are read at once. */
static int find_lines(struct cellar_txn *txn, struct tpcc_stock_level *level, uint32_t next_o_id)
{
    const struct tpcc_tables *t = level->tables;
    uint64_t first = tpcc_schema_order_key(level->w_id, level->d_id, next_o_id - TPCC_STOCK_LEVEL_ORDERS), key;
    const struct cellar_range range = {.low_key = tpcc_schema_line_key(first, 0),
                                       .high_key = tpcc_schema_line_key(first + TPCC_STOCK_LEVEL_ORDERS, 0) - 1};
    int cursor, got;
    TRY(cursor = cellar_proc_cursor_open(txn, t->lines_by_key, &range, t->line_body, 0, 0, TPCC_STOCK_LEVEL_LINES));
    level->ref_count = 0;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, &level->refs[level->ref_count])) == 1) level->ref_count++;
    return got < 0 ? got : cellar_proc_cursor_close(txn, cursor);
}

/* Declares the lines of the district's last orders: refs[0 .. ref_count). */
static int declare_lines(struct cellar_txn *txn, struct tpcc_stock_level *level)
{
    const struct tpcc_tables *t = level->tables;
    int district, orders[TPCC_STOCK_LEVEL_ORDERS];
    uint32_t next_o_id;
    TRY(district = cellar_proc_access(txn, t->table[TPCC_DISTRICT], tpcc_schema_district_key(level->w_id, level->d_id),
                                      t->district_next, 0, 0));
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, district, t->d_next_o_id, &next_o_id));
    if (next_o_id <= TPCC_STOCK_LEVEL_ORDERS) return ERR_GIVEN_UP;
    if (t->lines_by_key) return find_lines(txn, level, next_o_id);

    uint64_t key = tpcc_schema_order_key(level->w_id, level->d_id, next_o_id - TPCC_STOCK_LEVEL_ORDERS);
    for (uint32_t i = 0; i < TPCC_STOCK_LEVEL_ORDERS; i++)
        TRY(orders[i] = cellar_proc_access(txn, t->table[TPCC_ORDER], key + i, t->order_body, 0, 0));
    TRY(cellar_proc_fetch(txn));
    level->ref_count = 0;
    for (uint32_t i = 0; i < TPCC_STOCK_LEVEL_ORDERS; i++) {
        struct tpcc_order order;
        TRY(cellar_proc_get_row(txn, orders[i], &order));
        if (order.o_ol_cnt > TPCC_LINES_MAX) return ERR_GIVEN_UP;
        for (uint32_t line = 1; line <= order.o_ol_cnt; line++)
            TRY(level->refs[level->ref_count++] = cellar_proc_access(
                    txn, t->table[TPCC_ORDER_LINE], tpcc_schema_line_key(key + i, line), t->line_body, 0, 0));
    }
    return 0;
}

/* Was the item not in the set? It is then. The set has more slots than items ever come. */
static bool add_item(uint32_t *slots, uint32_t i_id)
{
    uint32_t slot = i_id * 2654435769u >> 16 & (TPCC_STOCK_LEVEL_SLOTS - 1);
    while (slots[slot] != 0 && slots[slot] != i_id) slot = (slot + 1) & (TPCC_STOCK_LEVEL_SLOTS - 1);
    if (slots[slot] == i_id) return false;
    slots[slot] = i_id;
    return true;
}

/*
 * Declares the stock of each distinct item of the lines. Its references take the places of the lines' that were read.
 */
static int declare_stocks(struct cellar_txn *txn, struct tpcc_stock_level *level)
{
    const struct tpcc_tables *t = level->tables;
    uint32_t stock_count = 0;
    memset(level->item_slots, 0, sizeof(level->item_slots));
    for (uint32_t i = 0; i < level->ref_count; i++) {
        uint32_t i_id;
        TRY(cellar_proc_get(txn, level->refs[i], t->ol_i_id, &i_id));
        if (i_id == 0 || i_id > level->items) return ERR_GIVEN_UP;
        if (!add_item(level->item_slots, i_id)) continue;
        TRY(level->refs[stock_count++] = cellar_proc_access(
                txn, t->table[TPCC_STOCK], tpcc_schema_stock_key(level->w_id, i_id), t->stock_counts, 0, 0));
    }
    level->ref_count = stock_count;
    return 0;
}

int tpcc_procs_stock_level(struct cellar_txn *txn, void *args)
{
    struct tpcc_stock_level *level = args;
    TRY(declare_lines(txn, level));
    TRY(cellar_proc_fetch(txn));
    TRY(declare_stocks(txn, level));
    TRY(cellar_proc_fetch(txn));
    level->low_count = 0;
    for (uint32_t i = 0; i < level->ref_count; i++) {
        int32_t quantity;
        TRY(cellar_proc_get(txn, level->refs[i], level->tables->s_quantity, &quantity));
        level->low_count += quantity < level->threshold;
    }
    return 0;
}

/*
 * records_max and writes_max count 15 lines in each order. log_bytes_max: an entry's header, 32 bytes and the value
 * for each cell written or row inserted, up to 160 for the index of an insert or delete, and 24 for each cell read
 * (the log-deps).
 */
const struct cellar_proc_def tpcc_procs[TPCC_PROCS] = {
    {.name = "NewOrder", .fn = tpcc_procs_new_order, .records_max = 50, .writes_max = 34, .log_bytes_max = 8192},
    {.name = "Payment", .fn = tpcc_procs_payment, .records_max = 7, .writes_max = 5, .log_bytes_max = 2048},
    {.name = "OrderStatus", .fn = tpcc_procs_order_status, .records_max = 19},
    {.name = "Delivery", .fn = tpcc_procs_delivery, .records_max = 190, .writes_max = 190, .log_bytes_max = 16384},
    {.name = "StockLevel", .fn = tpcc_procs_stock_level, .records_max = 621},
};
