/*
 * tpcc_schema.c - columns, their cells, and the sizes of the tables.
 *
 * Columns share a cell when they are written together or never. What different transactions write stays apart: W_YTD
 * and D_YTD (Payment) from the taxes (read by NewOrder) and D_NEXT_O_ID; the balance (Payment, Delivery) from the
 * customer's name; the carrier and the delivery date (Delivery) from what NewOrder wrote once. Cells that are never
 * written are grouped to fill lines: S_DIST_04 to S_DIST_10 are the 168 bytes that three lines hold, S_DIST_02 and 03
 * take one, and S_DIST_01 what is left of the line of the counts. A record of stock is thus seven lines, against
 * eight with two S_DIST_xx in each of five cells.
 */
#include "tpcc_schema.h"

#include "numbered.h"
#include "err.h"

#include <inttypes.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_warehouse, field)
static const struct cellar_schema_column warehouse_columns[] = {
    IN(0, w_ytd),      IN(1, w_tax),  IN(2, w_name),  IN(2, w_street_1),
    IN(2, w_street_2), IN(2, w_city), IN(2, w_state), IN(2, w_zip),
};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_district, field)
static const struct cellar_schema_column district_columns[] = {
    IN(0, d_ytd),      IN(1, d_next_o_id), IN(2, d_tax),   IN(3, d_name), IN(3, d_street_1),
    IN(3, d_street_2), IN(3, d_city),      IN(3, d_state), IN(3, d_zip),
};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_customer, field)
#define CUSTOMER                                                                                                       \
    IN(0, c_balance), IN(0, c_ytd_payment), IN(0, c_payment_cnt), IN(0, c_delivery_cnt), IN(1, c_since),               \
        IN(1, c_credit_lim), IN(1, c_discount), IN(1, c_first), IN(1, c_middle), IN(1, c_last), IN(1, c_credit),       \
        IN(2, c_street_1), IN(2, c_street_2), IN(2, c_city), IN(2, c_state), IN(2, c_zip), IN(2, c_phone)
static const struct cellar_schema_column customer_columns[] = {CUSTOMER, IN(3, c_last_o_id), IN(4, c_data)};
static const struct cellar_schema_column customer_columns_indexed[] = {CUSTOMER, IN(2, c_w_id), IN(2, c_d_id),
                                                                       IN(3, c_data)};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_history, field)
static const struct cellar_schema_column history_columns[] = {
    IN(0, h_date), IN(0, h_amount), IN(0, h_c_id), IN(0, h_c_w_id),
    IN(0, h_w_id), IN(0, h_c_d_id), IN(0, h_d_id), IN(0, h_data),
};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_order, field)
#define ORDER IN(0, o_entry_d), IN(0, o_c_id), IN(0, o_ol_cnt), IN(0, o_all_local), IN(1, o_carrier_id)
static const struct cellar_schema_column order_columns[] = {ORDER};
static const struct cellar_schema_column order_columns_indexed[] = {ORDER, IN(0, o_w_id), IN(0, o_d_id)};
#undef IN

static const struct cellar_schema_column new_order_columns[] = {CELLAR_COLUMN(struct tpcc_new_order, no_o_id)};

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_order_line, field)
static const struct cellar_schema_column order_line_columns[] = {
    IN(0, ol_delivery_d),  IN(1, ol_amount),   IN(1, ol_i_id),
    IN(1, ol_supply_w_id), IN(1, ol_quantity), IN(1, ol_dist_info),
};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_item, field)
static const struct cellar_schema_column item_columns[] = {IN(0, i_price), IN(0, i_im_id), IN(0, i_name),
                                                           IN(0, i_data)};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_stock, field)
static const struct cellar_schema_column stock_columns[] = {
    IN(0, s_quantity), IN(0, s_ytd),     IN(0, s_order_cnt), IN(0, s_remote_cnt), IN(1, s_data),
    IN(2, s_dist_01),  IN(3, s_dist_02), IN(3, s_dist_03),   IN(4, s_dist_04),    IN(4, s_dist_05),
    IN(4, s_dist_06),  IN(4, s_dist_07), IN(4, s_dist_08),   IN(4, s_dist_09),    IN(4, s_dist_10),
};
#undef IN

#define IN(cell, field) CELLAR_COLUMN_IN(cell, struct tpcc_customer_by_name, field)
static const struct cellar_schema_column customer_by_name_columns[] = {IN(0, count), IN(0, ids)};
#undef IN

static const struct cellar_schema_column new_order_queue_columns[] = {
    CELLAR_COLUMN(struct tpcc_new_order_queue, q_oldest_o_id)};

/* The lines of one order share neighbouring index buckets. */
#define LAYOUT(table, name_text, row, clustered, laid_out)                                                             \
    [table] = {.name = name_text,                                                                                      \
               .columns = row##_columns,                                                                               \
               .column_count = COUNT(row##_columns),                                                                   \
               .row_bytes = sizeof(struct tpcc_##row),                                                                 \
               .cluster_bits = clustered,                                                                              \
               .record_bytes = laid_out}

static const struct {
    const char *name;
    const struct cellar_schema_column *columns;
    uint32_t column_count, row_bytes, cluster_bits, record_bytes;
} layouts[TPCC_TABLES] = {
    LAYOUT(TPCC_WAREHOUSE, "warehouse", warehouse, 0, 256),
    LAYOUT(TPCC_DISTRICT, "district", district, 0, 256),
    LAYOUT(TPCC_CUSTOMER, "customer", customer, 0, 896),
    LAYOUT(TPCC_HISTORY, "history", history, 0, 128),
    LAYOUT(TPCC_ORDER, "order", order, 0, 128),
    LAYOUT(TPCC_NEW_ORDER, "new_order", new_order, 0, 128),
    LAYOUT(TPCC_ORDER_LINE, "order_line", order_line, TPCC_LINE_BITS, 128),
    LAYOUT(TPCC_ITEM, "item", item, 0, 192),
    LAYOUT(TPCC_STOCK, "stock", stock, 0, 448),
    LAYOUT(TPCC_CUSTOMER_BY_NAME, "customer_by_name", customer_by_name, 0, 128),
    LAYOUT(TPCC_NEW_ORDER_QUEUE, "new_order_queue", new_order_queue, 0, 128),
};

uint32_t tpcc_schema_record_bytes(enum tpcc_table table) { return layouts[table].record_bytes; }

uint32_t tpcc_schema_entry_bytes(const struct tpcc_scale *scale, enum tpcc_table table)
{
    static const uint32_t bytes[TPCC_TABLES] = {
        [TPCC_CUSTOMER] = 80, [TPCC_ORDER] = 36, [TPCC_NEW_ORDER] = 24, [TPCC_ORDER_LINE] = 24};
    return scale->by_index ? bytes[table] : 0;
}

struct cellar_schema tpcc_schema_of(enum tpcc_table table, bool by_index)
{
    struct cellar_schema schema = {
        .name = layouts[table].name,
        .row_bytes = layouts[table].row_bytes,
        .columns = layouts[table].columns,
        .column_count = layouts[table].column_count,
        .cluster_bits = layouts[table].cluster_bits,
    };
    if (by_index && table == TPCC_CUSTOMER) {
        schema.columns = customer_columns_indexed;
        schema.column_count = COUNT(customer_columns_indexed);
    }
    if (by_index && table == TPCC_ORDER) {
        schema.columns = order_columns_indexed;
        schema.column_count = COUNT(order_columns_indexed);
    }
    return schema;
}

struct tpcc_scale tpcc_schema_scale(uint32_t warehouses, bool small, bool by_index)
{
    uint32_t divisor = small ? 10 : 1;
    return (struct tpcc_scale){
        .by_index = by_index,
        .warehouses = warehouses,
        .customers = 3000 / divisor,
        .delivered = 2100 / divisor,
        .items = 100000 / divisor,
        .names = 1000 / divisor,
    };
}

uint64_t tpcc_schema_records_max(const struct tpcc_scale *scale, bool mix_crest, uint64_t txns, enum tpcc_table table)
{
    uint64_t districts = (uint64_t)scale->warehouses * TPCC_DISTRICTS, customers = districts * scale->customers;
    uint64_t new_orders = txns * (mix_crest ? 51 : 46) / 100, payments = txns * (mix_crest ? 47 : 44) / 100;
    switch (table) {
    case TPCC_WAREHOUSE:
        return scale->warehouses;
    case TPCC_DISTRICT:
        return districts;
    case TPCC_NEW_ORDER_QUEUE:
        return scale->by_index ? 0 : districts;
    case TPCC_CUSTOMER:
        return customers;
    case TPCC_HISTORY:
        return customers + payments;
    case TPCC_ORDER:
        return customers + new_orders;
    /* With deliveries, 10 leave for each 11.25 that come; those that conflict and retry may lag behind. */
    case TPCC_NEW_ORDER:
        return districts * (scale->customers - scale->delivered) + (mix_crest ? new_orders : new_orders / 4);
    case TPCC_ORDER_LINE:
        return (customers + new_orders) * 101 / 10;
    case TPCC_ITEM:
        return scale->items;
    case TPCC_STOCK:
        return (uint64_t)scale->warehouses * scale->items;
    case TPCC_CUSTOMER_BY_NAME:
        return scale->by_index ? 0 : districts * scale->names * 101 / 100;
    case TPCC_TABLES:
        break;
    }
    return 0;
}

/* Looks up what the procedures name; every name below is one of ours, so a miss would be a fault of this file. */
static void find_cells(struct tpcc_tables *t, bool by_index)
{
    const struct cellar_table *const *table = t->table;
    static const char *const dist_names[TPCC_DISTRICTS] = {"s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04",
                                                           "s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08",
                                                           "s_dist_09", "s_dist_10"};
    t->warehouse_ytd = cellar_cells_of(table[TPCC_WAREHOUSE], "w_ytd");
    t->warehouse_tax = cellar_cells_of(table[TPCC_WAREHOUSE], "w_tax");
    t->warehouse_address = cellar_cells_of(table[TPCC_WAREHOUSE], "w_name");
    t->district_ytd = cellar_cells_of(table[TPCC_DISTRICT], "d_ytd");
    t->district_next = cellar_cells_of(table[TPCC_DISTRICT], "d_next_o_id");
    t->district_tax = cellar_cells_of(table[TPCC_DISTRICT], "d_tax");
    t->district_address = cellar_cells_of(table[TPCC_DISTRICT], "d_name");
    t->customer_balance = cellar_cells_of(table[TPCC_CUSTOMER], "c_balance");
    t->customer_identity = cellar_cells_of(table[TPCC_CUSTOMER], "c_last");
    t->customer_address = cellar_cells_of(table[TPCC_CUSTOMER], "c_phone");
    t->customer_last_o = by_index ? 0 : cellar_cells_of(table[TPCC_CUSTOMER], "c_last_o_id");
    t->customer_data = cellar_cells_of(table[TPCC_CUSTOMER], "c_data");
    t->order_body = cellar_cells_of(table[TPCC_ORDER], "o_ol_cnt");
    t->order_carrier = cellar_cells_of(table[TPCC_ORDER], "o_carrier_id");
    t->line_body = cellar_cells_of(table[TPCC_ORDER_LINE], "ol_amount");
    t->line_delivery = cellar_cells_of(table[TPCC_ORDER_LINE], "ol_delivery_d");
    t->stock_counts = cellar_cells_of(table[TPCC_STOCK], "s_quantity");
    t->stock_data = cellar_cells_of(table[TPCC_STOCK], "s_data");
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) {
        t->stock_dist[i] = cellar_cells_of(table[TPCC_STOCK], dist_names[i]);
        t->s_dist[i] = cellar_column_of(table[TPCC_STOCK], dist_names[i]);
    }
}

static void find_columns(struct tpcc_tables *t, bool by_index)
{
    const struct cellar_table *const *table = t->table;
    t->w_ytd = cellar_column_of(table[TPCC_WAREHOUSE], "w_ytd");
    t->w_tax = cellar_column_of(table[TPCC_WAREHOUSE], "w_tax");
    t->d_ytd = cellar_column_of(table[TPCC_DISTRICT], "d_ytd");
    t->d_tax = cellar_column_of(table[TPCC_DISTRICT], "d_tax");
    t->d_next_o_id = cellar_column_of(table[TPCC_DISTRICT], "d_next_o_id");
    t->c_last_o_id = by_index ? -1 : cellar_column_of(table[TPCC_CUSTOMER], "c_last_o_id");
    t->c_data = cellar_column_of(table[TPCC_CUSTOMER], "c_data");
    t->o_carrier_id = cellar_column_of(table[TPCC_ORDER], "o_carrier_id");
    t->ol_i_id = cellar_column_of(table[TPCC_ORDER_LINE], "ol_i_id");
    t->ol_amount = cellar_column_of(table[TPCC_ORDER_LINE], "ol_amount");
    t->ol_delivery_d = cellar_column_of(table[TPCC_ORDER_LINE], "ol_delivery_d");
    t->s_quantity = cellar_column_of(table[TPCC_STOCK], "s_quantity");
    t->s_data = cellar_column_of(table[TPCC_STOCK], "s_data");
    t->q_oldest_o_id = by_index ? -1 : cellar_column_of(table[TPCC_NEW_ORDER_QUEUE], "q_oldest_o_id");
    t->h_data = cellar_column_of(table[TPCC_HISTORY], "h_data");
}

/* ---- ordered indexes ---- */

static const struct cellar_schema_index_column by_name[] = {{"c_w_id", CELLAR_SORT_UNSIGNED, false},
                                                            {"c_d_id", CELLAR_SORT_UNSIGNED, false},
                                                            {"c_last", CELLAR_SORT_BYTES, false},
                                                            {"c_first", CELLAR_SORT_BYTES, false}};
static const struct cellar_schema_index_column by_customer[] = {{"o_w_id", CELLAR_SORT_UNSIGNED, false},
                                                                {"o_d_id", CELLAR_SORT_UNSIGNED, false},
                                                                {"o_c_id", CELLAR_SORT_UNSIGNED, false}};
static const struct {
    enum tpcc_table table;
    struct cellar_schema_index def;
    size_t handle; /* in struct tpcc_tables */
} paths[] = {
    {TPCC_CUSTOMER, {"by_name", by_name, COUNT(by_name), 0}, offsetof(struct tpcc_tables, customers_by_name)},
    {TPCC_ORDER, {"by_cust", by_customer, COUNT(by_customer), 0}, offsetof(struct tpcc_tables, orders_by_customer)},
    {TPCC_NEW_ORDER, {"by_key", NULL, 0, 0}, offsetof(struct tpcc_tables, new_orders_by_key)},
    {TPCC_ORDER_LINE, {"by_key", NULL, 0, 0}, offsetof(struct tpcc_tables, lines_by_key)},
};
#define INDEXES COUNT(paths)

static const struct cellar_index **handle_of(struct tpcc_tables *tables, uint32_t i)
{
    return (const struct cellar_index **)(void *)((char *)tables + paths[i].handle);
}

int tpcc_schema_open(struct cellar *db, const struct tpcc_scale *scale, bool mix_crest, uint64_t expected_txns,
                     struct tpcc_tables *tables, struct cellar_error *error)
{
    for (int i = 0; i < TPCC_TABLES; i++) {
        struct cellar_schema schema = tpcc_schema_of((enum tpcc_table)i, scale->by_index);
        schema.records_max = tpcc_schema_records_max(scale, mix_crest, expected_txns, (enum tpcc_table)i);
        tables->table[i] = NULL;
        int code = schema.records_max ? err_last(error, cellar_table_create(db, &schema, &tables->table[i])) : 0;
        if (code < 0) return code;
    }
    find_cells(tables, scale->by_index);
    find_columns(tables, scale->by_index);
    for (uint32_t i = 0; i < INDEXES; i++)
        *handle_of(tables, i) =
            scale->by_index ? cellar_index_find(tables->table[paths[i].table], paths[i].def.name) : NULL;
    return 0;
}

int tpcc_schema_index(struct cellar *db, const struct tpcc_scale *scale, struct tpcc_tables *tables,
                      struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; i < INDEXES && scale->by_index && code == 0; i++)
        code = err_last(error,
                        cellar_index_create(db, tables->table[paths[i].table], &paths[i].def, handle_of(tables, i)));
    return code;
}
