/*
 * tpcc_procs_new_order.c - NewOrder (clause 2.4): one block reads and locks all that is there, the next inserts the
 * order.
 *
 * Lines of one item and warehouse share one stock record, and lines of one item share the item: the lists in the
 * arguments hold each once. The unused item of a transaction that must roll back is found to be absent here, as
 * anything else would be.
 */
#include "tpcc_procs.h"
#include "numbered.h"
#include "tpcc_text.h"

#include <string.h>

_Static_assert(offsetof(struct tpcc_stock, s_dist_10) == offsetof(struct tpcc_stock, s_dist_01) + 9 * 24,
               "S_DIST_xx lie together");

struct refs {
    int warehouse, district, customer;
};

static int declare(struct cellar_txn *txn, struct tpcc_order_entry *entry, struct refs *refs)
{
    const struct tpcc_tables *t = entry->tables;
    TRY(refs->warehouse = cellar_proc_access(txn, t->table[TPCC_WAREHOUSE], tpcc_schema_warehouse_key(entry->w_id),
                                             t->warehouse_tax, 0, 0));
    TRY(refs->district =
            cellar_proc_access(txn, t->table[TPCC_DISTRICT], tpcc_schema_district_key(entry->w_id, entry->d_id),
                               t->district_tax | t->district_next, t->district_next, 0));
    TRY(refs->customer = cellar_proc_access(txn, t->table[TPCC_CUSTOMER],
                                            tpcc_schema_customer_key(entry->w_id, entry->d_id, entry->c_id),
                                            t->customer_identity, t->customer_last_o, 0));
    for (uint32_t i = 0; i < entry->item_count; i++)
        TRY(entry->items[i].ref = cellar_proc_access(txn, t->table[TPCC_ITEM], entry->items[i].i_id, CELLAR_ALL_CELLS,
                                                     0, CELLAR_OPTIONAL));
    cellar_cells read = t->stock_counts | t->stock_data | t->stock_dist[entry->d_id - 1];
    for (uint32_t i = 0; i < entry->stock_count; i++)
        TRY(entry->stocks[i].ref = cellar_proc_access(txn, t->table[TPCC_STOCK], entry->stocks[i].key, read,
                                                      t->stock_counts, CELLAR_OPTIONAL));
    return 0;
}

static int read_items(struct cellar_txn *txn, struct tpcc_order_entry *entry)
{
    for (uint32_t i = 0; i < entry->item_count; i++) {
        if (!cellar_proc_found(txn, entry->items[i].ref)) {
            entry->item_missing = true;
            return ERR_GIVEN_UP;
        }
        TRY(cellar_proc_get_row(txn, entry->items[i].ref, &entry->items[i].row));
    }
    return 0;
}

static int update_stocks(struct cellar_txn *txn, struct tpcc_order_entry *entry)
{
    for (uint32_t i = 0; i < entry->stock_count; i++) {
        if (!cellar_proc_found(txn, entry->stocks[i].ref)) return ERR_GIVEN_UP;
        TRY(cellar_proc_get_row(txn, entry->stocks[i].ref, &entry->stocks[i].row));
    }
    for (uint32_t i = 0; i < entry->ol_cnt; i++) {
        const struct tpcc_item *item = &entry->items[entry->lines[i].item].row;
        struct tpcc_stock *stock = &entry->stocks[entry->lines[i].stock].row;
        tpcc_procs_take(stock, entry->lines[i].quantity, entry->lines[i].supply_w_id != entry->w_id);
        entry->lines[i].s_quantity = stock->s_quantity;
        entry->lines[i].amount = entry->lines[i].quantity * item->i_price;
        entry->lines[i].brand = tpcc_text_is_original(item->i_data) && tpcc_text_is_original(stock->s_data);
    }
    for (uint32_t i = 0; i < entry->stock_count; i++)
        TRY(cellar_proc_put_row(txn, entry->stocks[i].ref, &entry->stocks[i].row));
    return 0;
}

static int insert_order(struct cellar_txn *txn, const struct tpcc_order_entry *entry)
{
    const struct tpcc_tables *t = entry->tables;
    uint64_t key = tpcc_schema_order_key(entry->w_id, entry->d_id, entry->o_id);
    const struct tpcc_order order = {.o_entry_d = entry->entry_d,
                                     .o_c_id = entry->c_id,
                                     .o_ol_cnt = entry->ol_cnt,
                                     .o_all_local = entry->all_local,
                                     .o_w_id = entry->w_id,
                                     .o_d_id = entry->d_id};
    const struct tpcc_new_order waiting = {.no_o_id = entry->o_id};
    TRY(cellar_proc_insert(txn, t->table[TPCC_ORDER], key, &order));
    TRY(cellar_proc_insert(txn, t->table[TPCC_NEW_ORDER], key, &waiting));
    for (uint32_t i = 0; i < entry->ol_cnt; i++) {
        struct tpcc_order_line line = {.ol_amount = entry->lines[i].amount,
                                       .ol_i_id = entry->lines[i].i_id,
                                       .ol_supply_w_id = entry->lines[i].supply_w_id,
                                       .ol_quantity = entry->lines[i].quantity};
        const char *stock = (const char *)&entry->stocks[entry->lines[i].stock].row;
        memcpy(line.ol_dist_info, stock + offsetof(struct tpcc_stock, s_dist_01) + 24 * (entry->d_id - 1u), 24);
        TRY(cellar_proc_insert(txn, t->table[TPCC_ORDER_LINE], tpcc_schema_line_key(key, i + 1), &line));
    }
    return 0;
}

/* Sum of the lines after the customer's discount and both taxes, in cents. */
static int64_t total_of(const struct tpcc_order_entry *entry)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < entry->ol_cnt; i++) sum += entry->lines[i].amount;
    return sum * (10000 - entry->customer.c_discount) * (10000 + entry->w_tax + entry->d_tax) / 100000000;
}

int tpcc_procs_new_order(struct cellar_txn *txn, void *args)
{
    struct tpcc_order_entry *entry = args;
    const struct tpcc_tables *t = entry->tables;
    struct refs refs;
    entry->item_missing = false;
    TRY(declare(txn, entry, &refs));
    TRY(cellar_proc_fetch(txn));
    TRY(read_items(txn, entry));
    TRY(cellar_proc_get(txn, refs.warehouse, t->w_tax, &entry->w_tax));
    TRY(cellar_proc_get(txn, refs.district, t->d_tax, &entry->d_tax));
    TRY(cellar_proc_get(txn, refs.district, t->d_next_o_id, &entry->o_id));
    TRY(cellar_proc_get_row(txn, refs.customer, &entry->customer));
    TRY(update_stocks(txn, entry));
    entry->total = total_of(entry);

    uint32_t next_o_id = entry->o_id + 1;
    TRY(cellar_proc_put(txn, refs.district, t->d_next_o_id, &next_o_id));
    if (t->customer_last_o) TRY(cellar_proc_put(txn, refs.customer, t->c_last_o_id, &entry->o_id));
    TRY(insert_order(txn, entry));
    return cellar_proc_fetch(txn);
}
