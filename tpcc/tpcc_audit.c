#include "tpcc_audit.h"

#include "err.h"
#include "tpcc_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define O_ID_MAX (1u << 28) /* a larger D_NEXT_O_ID is taken for damage, not for memory to allocate */

const enum tpcc_table tpcc_audit_steps[TPCC_TABLES] = {
    TPCC_ITEM,     TPCC_WAREHOUSE, TPCC_DISTRICT,  TPCC_NEW_ORDER_QUEUE, TPCC_CUSTOMER_BY_NAME,
    TPCC_CUSTOMER, TPCC_ORDER,     TPCC_NEW_ORDER, TPCC_ORDER_LINE,      TPCC_HISTORY,
    TPCC_STOCK,
};

/* X(check, name). The first twelve are those of clause 3.3.2, in its order. */
#define CHECK_MAP(X)                                                                                                   \
    X(W_YTD, "3.3.2.1 W_YTD = sum D_YTD")                                                                              \
    X(NEXT_O_ID, "3.3.2.2 D_NEXT_O_ID-1 = max O_ID, max NO_O_ID")                                                      \
    X(NEW_ORDER_RANGE, "3.3.2.3 max-min NO_O_ID + 1 = NEW-ORDER rows")                                                 \
    X(OL_CNT_SUM, "3.3.2.4 sum O_OL_CNT = ORDER-LINE rows")                                                            \
    X(CARRIER, "3.3.2.5 no O_CARRIER_ID = row in NEW-ORDER")                                                           \
    X(OL_CNT, "3.3.2.6 O_OL_CNT = its ORDER-LINE rows")                                                                \
    X(DELIVERY_D, "3.3.2.7 no OL_DELIVERY_D = no O_CARRIER_ID")                                                        \
    X(W_HISTORY, "3.3.2.8 W_YTD = sum H_AMOUNT")                                                                       \
    X(D_HISTORY, "3.3.2.9 D_YTD = sum H_AMOUNT")                                                                       \
    X(BALANCE, "3.3.2.10 C_BALANCE = delivered - sum H_AMOUNT")                                                        \
    X(DELIVERIES, "3.3.2.11 orders - NEW-ORDERs = deliveries")                                                         \
    X(YTD_PAYMENT, "3.3.2.12 C_BALANCE+C_YTD_PAYMENT = delivered")                                                     \
    X(ROWS, "rows: all that must be, none of unknown keys")                                                            \
    X(ORDER_NUMBERS, "orders of a district without gaps")                                                              \
    X(QUEUE, "oldest new order = min NO_O_ID")                                                                         \
    X(LAST_ORDER, "last order of a customer = max O_ID")                                                               \
    X(NAMES, "customers by name = C_LAST")                                                                             \
    X(CUSTOMER_COUNTS, "C_PAYMENT_CNT, C_DELIVERY_CNT = rows")                                                         \
    X(STOCK, "sums of S_YTD and S_xxx_CNT = order lines")                                                              \
    X(COUNTED_NEW_ORDERS, "committed NewOrders = orders inserted")                                                     \
    X(COUNTED_PAYMENTS, "committed Payments = HISTORY rows added")                                                     \
    X(COUNTED_DELIVERIES, "delivered orders = NEW-ORDER rows deleted")

enum check {
#define X(check, name) CHECK_##check,
    CHECK_MAP(X)
#undef X
        CHECKS
};

static const char *const check_names[CHECKS] = {
#define X(check, name) [CHECK_##check] = name,
    CHECK_MAP(X)
#undef X
};

struct warehouse_sums {
    int64_t ytd, district_ytd, history;
    uint64_t s_ytd, s_order_cnt, s_remote_cnt;       /* of its stock */
    uint64_t line_quantity, line_count, line_remote; /* of lines since the load that it supplied */
};

struct district_sums {
    int64_t ytd, history;
    uint64_t first_order; /* of its orders in audit->orders; o_id 1 */
    uint64_t order_count, carrier_count, ol_cnt_sum, line_count, new_order_count;
    uint32_t next_o_id, head, max_o_id, new_order_min, new_order_max;
    uint32_t order_slots;
};

struct customer_sums {
    int64_t balance, ytd_payment, history, delivered;
    uint32_t payment_cnt, delivery_cnt, last_o_id, history_count, delivered_orders, newest_o_id;
    uint16_t name_plus_1;
};

struct order_sums {
    uint16_t c_id; /* 0: no such row */
    uint8_t ol_cnt, line_count, delivered_lines;
    bool carrier, waiting;
};

struct tpcc_audit {
    struct tpcc_scale scale;
    enum tpcc_table table;
    struct warehouse_sums *warehouses;
    struct district_sums *districts;
    struct customer_sums *customers;
    struct order_sums *orders;
    uint64_t rows[TPCC_TABLES];
    char violations[CHECKS][160]; /* empty: none */
};

__attribute__((format(printf, 3, 4))) static void violate(struct tpcc_audit *audit, enum check check,
                                                          const char *format, ...)
{
    if (audit->violations[check][0]) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(audit->violations[check], sizeof(audit->violations[check]), format, arguments);
    va_end(arguments);
}

int tpcc_audit_new(const struct tpcc_scale *scale, struct tpcc_audit **out, struct cellar_error *error)
{
    struct tpcc_audit *audit = calloc(1, sizeof(*audit));
    *out = audit;
    if (!audit) return err_set(error, CELLAR_NOMEM, "no memory to check the database");
    size_t districts = (size_t)scale->warehouses * TPCC_DISTRICTS;
    audit->scale = *scale;
    audit->warehouses = calloc(scale->warehouses, sizeof(*audit->warehouses));
    audit->districts = calloc(districts, sizeof(*audit->districts));
    audit->customers = calloc(districts * scale->customers, sizeof(*audit->customers));
    if (audit->warehouses && audit->districts && audit->customers) return 0;
    tpcc_audit_free(audit);
    *out = NULL;
    return err_set(error, CELLAR_NOMEM, "no memory to check %zu customers", districts * scale->customers);
}

void tpcc_audit_free(struct tpcc_audit *audit)
{
    if (!audit) return;
    free(audit->warehouses);
    free(audit->districts);
    free(audit->customers);
    free(audit->orders);
    free(audit);
}

/* ---- the row that a key belongs to: NULL, and a violation, when there is none -------------------------- */

static struct warehouse_sums *warehouse_of(struct tpcc_audit *audit, uint32_t w_id)
{
    if (w_id >= 1 && w_id <= audit->scale.warehouses) return &audit->warehouses[w_id - 1];
    violate(audit, CHECK_ROWS, "a row of table %s is of warehouse %" PRIu32, tpcc_schema_of(audit->table, false).name,
            w_id);
    return NULL;
}

static struct district_sums *district_of(struct tpcc_audit *audit, const struct tpcc_key *key)
{
    if (!warehouse_of(audit, key->w_id)) return NULL;
    if (key->d_id >= 1 && key->d_id <= TPCC_DISTRICTS)
        return &audit->districts[(key->w_id - 1) * TPCC_DISTRICTS + key->d_id - 1];
    violate(audit, CHECK_ROWS, "a row of table %s is of district %" PRIu32, tpcc_schema_of(audit->table, false).name,
            key->d_id);
    return NULL;
}

static struct customer_sums *customer_of(struct tpcc_audit *audit, const struct tpcc_key *key, uint32_t c_id)
{
    const struct district_sums *district = district_of(audit, key);
    if (!district) return NULL;
    if (c_id >= 1 && c_id <= audit->scale.customers)
        return &audit->customers[(uint64_t)(district - audit->districts) * audit->scale.customers + c_id - 1];
    violate(audit, CHECK_ROWS, "a row of table %s names customer %" PRIu32, tpcc_schema_of(audit->table, false).name,
            c_id);
    return NULL;
}

/* Of an order below D_NEXT_O_ID; NULL without a violation for any other. */
static struct order_sums *order_of(struct tpcc_audit *audit, const struct district_sums *district, uint32_t o_id)
{
    return o_id >= 1 && o_id <= district->order_slots ? &audit->orders[district->first_order + o_id - 1] : NULL;
}

/* ---- rows, table by table --------------------------------------------------------------------------- */

static void audit_warehouse(struct tpcc_audit *audit, uint64_t key, const void *row)
{
    struct warehouse_sums *warehouse = warehouse_of(audit, (uint32_t)key);
    if (warehouse) warehouse->ytd = ((const struct tpcc_warehouse *)row)->w_ytd;
}

static void audit_district(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_district *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_district(packed, &key);
    struct district_sums *district = district_of(audit, &key);
    if (!district) return;
    district->ytd = from->d_ytd;
    district->next_o_id = from->d_next_o_id;
    audit->warehouses[key.w_id - 1].district_ytd += from->d_ytd;
    if (from->d_next_o_id > 0 && from->d_next_o_id <= O_ID_MAX)
        district->order_slots = from->d_next_o_id - 1;
    else
        violate(audit, CHECK_NEXT_O_ID, "warehouse %" PRIu32 " district %" PRIu32 ": D_NEXT_O_ID %" PRIu32, key.w_id,
                key.d_id, from->d_next_o_id);
}

static void audit_queue(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    struct tpcc_key key;
    tpcc_schema_unpack_district(packed, &key);
    struct district_sums *district = district_of(audit, &key);
    if (district) district->head = ((const struct tpcc_new_order_queue *)row)->q_oldest_o_id;
}

static void audit_names(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_customer_by_name *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_name(packed, &key);
    uint32_t first = key.part * TPCC_NAME_IDS;
    if (from->count <= first || from->count > TPCC_NAME_IDS * TPCC_NAME_PARTS) {
        violate(audit, CHECK_NAMES, "last name %" PRIu32 " part %" PRIu32 ": count %u", key.name, key.part,
                from->count);
        return;
    }
    for (uint32_t i = 0; i < TPCC_NAME_IDS && first + i < from->count; i++) {
        struct customer_sums *customer = customer_of(audit, &key, from->ids[i]);
        if (customer && customer->name_plus_1)
            violate(audit, CHECK_NAMES, "warehouse %" PRIu32 " district %" PRIu32 ": customer %u is listed twice",
                    key.w_id, key.d_id, from->ids[i]);
        if (customer) customer->name_plus_1 = (uint16_t)(key.name + 1);
    }
}

static void audit_customer(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_customer *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_customer(packed, &key);
    struct customer_sums *customer = customer_of(audit, &key, key.c_id);
    if (!customer) return;
    customer->balance = from->c_balance;
    customer->ytd_payment = from->c_ytd_payment;
    customer->payment_cnt = from->c_payment_cnt;
    customer->delivery_cnt = from->c_delivery_cnt;
    customer->last_o_id = from->c_last_o_id;
    if (audit->scale.by_index) {
        if (from->c_w_id != key.w_id || from->c_d_id != key.d_id)
            violate(audit, CHECK_ROWS, "a row of table customer has another warehouse or district than its key");
        return;
    }
    char last[16] = {0};
    if (customer->name_plus_1) tpcc_text_last_name(customer->name_plus_1 - 1u, last);
    if (memcmp(last, from->c_last, sizeof(last)) != 0)
        violate(audit, CHECK_NAMES,
                "warehouse %" PRIu32 " district %" PRIu32 " customer %" PRIu32 ": C_LAST is %.16s, listed as %.16s",
                key.w_id, key.d_id, key.c_id, from->c_last, last);
}

static void audit_order(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_order *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_order(packed, &key);
    struct customer_sums *customer = customer_of(audit, &key, from->o_c_id);
    struct district_sums *district = district_of(audit, &key);
    if (!district) return;
    if (audit->scale.by_index && (from->o_w_id != key.w_id || from->o_d_id != key.d_id))
        violate(audit, CHECK_ROWS, "a row of table order has another warehouse or district than its key");
    district->order_count++;
    district->carrier_count += from->o_carrier_id != 0;
    district->ol_cnt_sum += from->o_ol_cnt;
    if (key.o_id > district->max_o_id) district->max_o_id = key.o_id;
    if (customer && key.o_id > customer->newest_o_id) customer->newest_o_id = key.o_id;
    if (customer && from->o_carrier_id && key.o_id > audit->scale.delivered) customer->delivered_orders++;
    struct order_sums *order = order_of(audit, district, key.o_id);
    if (!order) return;
    order->c_id = from->o_c_id;
    order->ol_cnt = from->o_ol_cnt;
    order->carrier = from->o_carrier_id != 0;
}

static void audit_new_order(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    struct tpcc_key key;
    tpcc_schema_unpack_order(packed, &key);
    struct district_sums *district = district_of(audit, &key);
    if (!district) return;
    if (((const struct tpcc_new_order *)row)->no_o_id != key.o_id)
        violate(audit, CHECK_ROWS, "a row of table new_order has NO_O_ID %" PRIu32 " and key %" PRIu32,
                ((const struct tpcc_new_order *)row)->no_o_id, key.o_id);
    if (district->new_order_count++ == 0) district->new_order_min = key.o_id;
    if (key.o_id < district->new_order_min) district->new_order_min = key.o_id;
    if (key.o_id > district->new_order_max) district->new_order_max = key.o_id;
    struct order_sums *order = order_of(audit, district, key.o_id);
    if (order && order->c_id)
        order->waiting = true;
    else
        violate(audit, CHECK_CARRIER,
                "warehouse %" PRIu32 " district %" PRIu32 ": NEW-ORDER %" PRIu32 " has no row in ORDER", key.w_id,
                key.d_id, key.o_id);
}

static void audit_line(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_order_line *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_line(packed, &key);
    struct district_sums *district = district_of(audit, &key);
    struct warehouse_sums *supplier = warehouse_of(audit, from->ol_supply_w_id);
    if (!district) return;
    district->line_count++;
    if (supplier && key.o_id > audit->scale.customers) {
        supplier->line_quantity += from->ol_quantity;
        supplier->line_count++;
        supplier->line_remote += from->ol_supply_w_id != key.w_id;
    }
    struct order_sums *order = order_of(audit, district, key.o_id);
    if (!order || !order->c_id) {
        violate(audit, CHECK_OL_CNT,
                "warehouse %" PRIu32 " district %" PRIu32 ": a line of order %" PRIu32 ", which has no row in ORDER",
                key.w_id, key.d_id, key.o_id);
        return;
    }
    order->line_count++;
    order->delivered_lines += from->ol_delivery_d != 0;
    struct customer_sums *customer = customer_of(audit, &key, order->c_id);
    if (customer && from->ol_delivery_d) customer->delivered += from->ol_amount;
}

static void audit_history(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_history *from = row;
    struct tpcc_key paid_at = {.w_id = from->h_w_id, .d_id = from->h_d_id},
                    of = {.w_id = from->h_c_w_id, .d_id = from->h_c_d_id};
    struct district_sums *district = district_of(audit, &paid_at);
    struct customer_sums *customer = customer_of(audit, &of, from->h_c_id);
    if (district) {
        district->history += from->h_amount;
        audit->warehouses[paid_at.w_id - 1].history += from->h_amount;
    }
    if (customer) {
        customer->history += from->h_amount;
        customer->history_count++;
    }
}

static void audit_stock(struct tpcc_audit *audit, uint64_t packed, const void *row)
{
    const struct tpcc_stock *from = row;
    struct tpcc_key key;
    tpcc_schema_unpack_stock(packed, &key);
    struct warehouse_sums *warehouse = warehouse_of(audit, key.w_id);
    if (!warehouse) return;
    warehouse->s_ytd += from->s_ytd;
    warehouse->s_order_cnt += from->s_order_cnt;
    warehouse->s_remote_cnt += from->s_remote_cnt;
}

void tpcc_audit_row(struct tpcc_audit *audit, uint64_t key, const void *row)
{
    static void (*const by_table[TPCC_TABLES])(struct tpcc_audit *, uint64_t, const void *) = {
        [TPCC_WAREHOUSE] = audit_warehouse,   [TPCC_DISTRICT] = audit_district, [TPCC_CUSTOMER] = audit_customer,
        [TPCC_HISTORY] = audit_history,       [TPCC_ORDER] = audit_order,       [TPCC_NEW_ORDER] = audit_new_order,
        [TPCC_ORDER_LINE] = audit_line,       [TPCC_STOCK] = audit_stock,       [TPCC_CUSTOMER_BY_NAME] = audit_names,
        [TPCC_NEW_ORDER_QUEUE] = audit_queue,
    };
    audit->rows[audit->table]++;
    if (by_table[audit->table]) by_table[audit->table](audit, key, row);
}

/* Room for the orders that the districts say there are. */
static int make_orders(struct tpcc_audit *audit, struct cellar_error *error)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < audit->scale.warehouses * TPCC_DISTRICTS; i++) {
        audit->districts[i].first_order = count;
        count += audit->districts[i].order_slots;
    }
    audit->orders = calloc(count + 1, sizeof(*audit->orders));
    return audit->orders ? 0 : err_set(error, CELLAR_NOMEM, "no memory to check %" PRIu64 " orders", count);
}

int tpcc_audit_begin(struct tpcc_audit *audit, enum tpcc_table table, struct cellar_error *error)
{
    audit->table = table;
    return table == TPCC_ORDER && !audit->orders ? make_orders(audit, error) : 0;
}

/* ---- verdicts --------------------------------------------------------------------------------------- */

static void judge_rows(struct tpcc_audit *audit)
{
    static const enum tpcc_table fixed[] = {TPCC_WAREHOUSE, TPCC_DISTRICT, TPCC_NEW_ORDER_QUEUE,
                                            TPCC_CUSTOMER,  TPCC_ITEM,     TPCC_STOCK};
    for (uint32_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        uint64_t expected = tpcc_schema_records_max(&audit->scale, false, 0, fixed[i]);
        if (audit->rows[fixed[i]] != expected)
            violate(audit, CHECK_ROWS, "table %s has %" PRIu64 " rows, not %" PRIu64,
                    tpcc_schema_of(fixed[i], false).name, audit->rows[fixed[i]], expected);
    }
}

static void judge_warehouse(struct tpcc_audit *audit, uint32_t w_id)
{
    const struct warehouse_sums *w = &audit->warehouses[w_id - 1];
    if (w->ytd != w->district_ytd)
        violate(audit, CHECK_W_YTD, "warehouse %" PRIu32 ": W_YTD %" PRId64 ", sum of D_YTD %" PRId64, w_id, w->ytd,
                w->district_ytd);
    if (w->ytd != w->history)
        violate(audit, CHECK_W_HISTORY, "warehouse %" PRIu32 ": W_YTD %" PRId64 ", sum of H_AMOUNT %" PRId64, w_id,
                w->ytd, w->history);
    if (w->s_ytd != w->line_quantity || w->s_order_cnt != w->line_count || w->s_remote_cnt != w->line_remote)
        violate(audit, CHECK_STOCK,
                "warehouse %" PRIu32 ": S_YTD, S_ORDER_CNT, S_REMOTE_CNT sum to %" PRIu64 ", %" PRIu64 ", %" PRIu64
                "; its lines to %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                w_id, w->s_ytd, w->s_order_cnt, w->s_remote_cnt, w->line_quantity, w->line_count, w->line_remote);
}

static void judge_district(struct tpcc_audit *audit, uint32_t w_id, uint32_t d_id)
{
    struct district_sums *d = &audit->districts[(w_id - 1) * TPCC_DISTRICTS + d_id - 1];
    if (audit->scale.by_index) d->head = (uint32_t)d->carrier_count + 1; /* no row says it; orders leave in turn */
    char at[48];
    snprintf(at, sizeof(at), "warehouse %" PRIu32 " district %" PRIu32, w_id, d_id);
    if (d->next_o_id != d->max_o_id + 1 || (d->new_order_count && d->new_order_max != d->max_o_id))
        violate(audit, CHECK_NEXT_O_ID, "%s: D_NEXT_O_ID %" PRIu32 ", max O_ID %" PRIu32 ", max NO_O_ID %" PRIu32, at,
                d->next_o_id, d->max_o_id, d->new_order_max);
    if (d->new_order_count && d->new_order_max - d->new_order_min + 1 != d->new_order_count)
        violate(audit, CHECK_NEW_ORDER_RANGE, "%s: NO_O_ID from %" PRIu32 " to %" PRIu32 ", but %" PRIu64 " rows", at,
                d->new_order_min, d->new_order_max, d->new_order_count);
    if (d->ol_cnt_sum != d->line_count)
        violate(audit, CHECK_OL_CNT_SUM, "%s: sum of O_OL_CNT %" PRIu64 ", ORDER-LINE rows %" PRIu64, at, d->ol_cnt_sum,
                d->line_count);
    if (d->ytd != d->history)
        violate(audit, CHECK_D_HISTORY, "%s: D_YTD %" PRId64 ", sum of H_AMOUNT %" PRId64, at, d->ytd, d->history);
    if (d->order_count != d->max_o_id)
        violate(audit, CHECK_ORDER_NUMBERS, "%s: %" PRIu64 " orders, max O_ID %" PRIu32, at, d->order_count,
                d->max_o_id);
    if (d->head != (d->new_order_count ? d->new_order_min : d->next_o_id))
        violate(audit, CHECK_QUEUE, "%s: oldest %" PRIu32 ", %" PRIu64 " rows in NEW-ORDER from %" PRIu32, at, d->head,
                d->new_order_count, d->new_order_min);
    if (d->order_count + 1 != d->head + d->new_order_count)
        violate(audit, CHECK_DELIVERIES,
                "%s: %" PRIu64 " orders, %" PRIu64 " in NEW-ORDER, %" PRId64 " delivered since the load", at,
                d->order_count, d->new_order_count, (int64_t)d->head - 1 - audit->scale.delivered);
}

static void judge_orders(struct tpcc_audit *audit, uint32_t w_id, uint32_t d_id)
{
    const struct district_sums *d = &audit->districts[(w_id - 1) * TPCC_DISTRICTS + d_id - 1];
    for (uint32_t o_id = 1; o_id <= d->order_slots; o_id++) {
        const struct order_sums *order = order_of(audit, d, o_id);
        if (!order->c_id) continue;
        if (order->carrier == order->waiting)
            violate(audit, CHECK_CARRIER, "warehouse %" PRIu32 " district %" PRIu32 " order %" PRIu32 ": %s", w_id,
                    d_id, o_id,
                    order->carrier ? "has a carrier and is in NEW-ORDER" : "has no carrier and is not in NEW-ORDER");
        if (order->ol_cnt != order->line_count)
            violate(audit, CHECK_OL_CNT,
                    "warehouse %" PRIu32 " district %" PRIu32 " order %" PRIu32 ": O_OL_CNT %u, rows %u", w_id, d_id,
                    o_id, order->ol_cnt, order->line_count);
        if (order->delivered_lines != (order->carrier ? order->line_count : 0))
            violate(audit, CHECK_DELIVERY_D,
                    "warehouse %" PRIu32 " district %" PRIu32 " order %" PRIu32
                    ": %s carrier, %u of %u lines delivered",
                    w_id, d_id, o_id, order->carrier ? "a" : "no", order->delivered_lines, order->line_count);
    }
}

static void judge_customers(struct tpcc_audit *audit, uint32_t w_id, uint32_t d_id)
{
    bool by_index = audit->scale.by_index; /* then the pool's audit has compared entries with rows */
    const struct customer_sums *c =
        &audit->customers[(uint64_t)((w_id - 1) * TPCC_DISTRICTS + d_id - 1) * audit->scale.customers];
    for (uint32_t c_id = 1; c_id <= audit->scale.customers; c_id++, c++) {
        char at[64];
        bool money = c->balance == c->delivered - c->history && c->balance + c->ytd_payment == c->delivered;
        bool counts = c->payment_cnt == c->history_count && c->delivery_cnt == c->delivered_orders;
        bool found = by_index || (c->last_o_id == c->newest_o_id && c->name_plus_1);
        if (money && counts && found) continue;
        snprintf(at, sizeof(at), "warehouse %" PRIu32 " district %" PRIu32 " customer %" PRIu32, w_id, d_id, c_id);
        if (c->balance != c->delivered - c->history)
            violate(audit, CHECK_BALANCE, "%s: C_BALANCE %" PRId64 ", delivered %" PRId64 ", paid %" PRId64, at,
                    c->balance, c->delivered, c->history);
        if (c->balance + c->ytd_payment != c->delivered)
            violate(audit, CHECK_YTD_PAYMENT,
                    "%s: C_BALANCE %" PRId64 ", C_YTD_PAYMENT %" PRId64 ", delivered %" PRId64, at, c->balance,
                    c->ytd_payment, c->delivered);
        if (!counts)
            violate(audit, CHECK_CUSTOMER_COUNTS,
                    "%s: %" PRIu32 " payments and %" PRIu32 " deliveries counted, %" PRIu32 " and %" PRIu32 " found",
                    at, c->payment_cnt, c->delivery_cnt, c->history_count, c->delivered_orders);
        if (!by_index && c->last_o_id != c->newest_o_id)
            violate(audit, CHECK_LAST_ORDER, "%s: C_LAST_O_ID %" PRIu32 ", max O_ID %" PRIu32, at, c->last_o_id,
                    c->newest_o_id);
        if (!by_index && !c->name_plus_1) violate(audit, CHECK_NAMES, "%s: not listed by name", at);
    }
}

static void judge_count(struct tpcc_audit *audit, enum check check, uint64_t found, uint64_t counted, uint64_t unknown)
{
    if (found < counted || found > counted + unknown)
        violate(audit, check, "found %" PRId64 ", clients counted %" PRIu64 " and %" PRIu64 " of unknown outcome",
                (int64_t)found, counted, unknown);
}

static void judge_counts(struct tpcc_audit *audit, const struct tpcc_audit_counts *counts)
{
    uint64_t districts = (uint64_t)audit->scale.warehouses * TPCC_DISTRICTS, orders = 0, delivered = 0;
    for (uint64_t i = 0; i < districts; i++) {
        orders += audit->districts[i].next_o_id - 1ull - audit->scale.customers;
        delivered += audit->districts[i].head - 1ull - audit->scale.delivered;
    }
    uint64_t payments = audit->rows[TPCC_HISTORY] - districts * audit->scale.customers;
    judge_count(audit, CHECK_COUNTED_NEW_ORDERS, orders, counts->new_orders, counts->new_orders_unknown);
    judge_count(audit, CHECK_COUNTED_PAYMENTS, payments, counts->payments, counts->payments_unknown);
    judge_count(audit, CHECK_COUNTED_DELIVERIES, delivered, counts->delivered,
                counts->deliveries_unknown * TPCC_DISTRICTS);
}

void tpcc_audit_report(struct tpcc_audit *audit, const struct tpcc_audit_counts *counts, struct workload_report *report)
{
    judge_rows(audit);
    for (uint32_t w_id = 1; w_id <= audit->scale.warehouses; w_id++) {
        judge_warehouse(audit, w_id);
        for (uint32_t d_id = 1; d_id <= TPCC_DISTRICTS; d_id++) {
            judge_district(audit, w_id, d_id);
            judge_orders(audit, w_id, d_id);
            judge_customers(audit, w_id, d_id);
        }
    }
    if (counts) judge_counts(audit, counts);
    for (int check = 0; check < (counts ? CHECKS : CHECK_COUNTED_NEW_ORDERS); check++) {
        const char *text = audit->violations[check];
        if (audit->scale.by_index && (check == CHECK_LAST_ORDER || check == CHECK_NAMES)) continue;
        workload_report_check(report, check_names[check], text[0] ? "%s" : NULL, text);
    }
}
