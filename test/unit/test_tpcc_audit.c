/*
 * test_tpcc_audit.c - the judge of a TPC-C database, against a small one in arrays: it finds nothing wrong with a
 * consistent one, and of each planted violation exactly what it breaks.
 */
#include "schemadef.h"
#include "tpcc_audit.h"
#include "tpcc_procs.h"
#include "tpcc_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    WAREHOUSES = 2,
    DISTRICTS = WAREHOUSES * TPCC_DISTRICTS,
    CUSTOMERS = 30,
    DELIVERED = 21,
    ITEMS = 20,
    NAMES = 10
};
enum { ORDERS_MAX = 40, LINES = 5, PAYMENTS_MAX = 10 };

static const struct tpcc_scale scale = {
    .warehouses = WAREHOUSES, .customers = CUSTOMERS, .delivered = DELIVERED, .items = ITEMS, .names = NAMES};

/* Arrays are indexed by identifiers less one; an order with o_c_id 0 and a line with ol_quantity 0 are absent. */
struct model {
    struct tpcc_warehouse warehouses[WAREHOUSES];
    struct tpcc_stock stocks[WAREHOUSES][ITEMS];
    struct district_model {
        struct tpcc_district row;
        struct tpcc_new_order_queue queue;
        struct tpcc_customer_by_name names[NAMES];
        struct tpcc_customer customers[CUSTOMERS];
        struct tpcc_order orders[ORDERS_MAX];
        struct tpcc_order_line lines[ORDERS_MAX][TPCC_LINES_MAX];
        bool waiting[ORDERS_MAX];
    } districts[DISTRICTS];
    struct tpcc_history history[DISTRICTS * CUSTOMERS + PAYMENTS_MAX];
    uint32_t history_count, items;
    struct tpcc_audit_counts counts;
};

static struct district_model *district_at(struct model *model, uint32_t w_id, uint32_t d_id)
{
    return &model->districts[(w_id - 1) * TPCC_DISTRICTS + d_id - 1];
}

/* ---- a consistent database ---- */

static void enter_order(struct model *model, uint32_t w_id, uint32_t d_id, uint32_t c_id, uint32_t supply_w_id)
{
    struct district_model *district = district_at(model, w_id, d_id);
    uint32_t o_id = district->row.d_next_o_id++;
    bool loaded = o_id <= CUSTOMERS;
    district->orders[o_id - 1] = (struct tpcc_order){.o_entry_d = 1, .o_c_id = (uint16_t)c_id, .o_ol_cnt = LINES};
    district->waiting[o_id - 1] = true;
    district->customers[c_id - 1].c_last_o_id = o_id;
    for (uint32_t i = 0; i < LINES; i++) {
        district->lines[o_id - 1][i] = (struct tpcc_order_line){
            .ol_amount = 100 + i, .ol_i_id = i + 1, .ol_supply_w_id = (uint16_t)supply_w_id, .ol_quantity = 5};
        if (!loaded) tpcc_procs_take(&model->stocks[supply_w_id - 1][i], 5, supply_w_id != w_id);
    }
    model->counts.new_orders += !loaded;
}

static void deliver_order(struct model *model, uint32_t w_id, uint32_t d_id)
{
    struct district_model *district = district_at(model, w_id, d_id);
    uint32_t o_id = district->queue.q_oldest_o_id++;
    bool loaded = o_id <= DELIVERED;
    struct tpcc_customer *customer = &district->customers[district->orders[o_id - 1].o_c_id - 1];
    district->waiting[o_id - 1] = false;
    district->orders[o_id - 1].o_carrier_id = 3;
    for (uint32_t i = 0; i < LINES; i++) {
        struct tpcc_order_line *line = &district->lines[o_id - 1][i];
        if (loaded) line->ol_amount = 0;
        line->ol_delivery_d = 1;
        customer->c_balance += line->ol_amount;
    }
    customer->c_delivery_cnt += !loaded;
    model->counts.delivered += !loaded;
}

static void pay(struct model *model, uint32_t w_id, uint32_t d_id, uint32_t c_w_id, uint32_t c_d_id, uint32_t c_id,
                int64_t amount)
{
    struct tpcc_customer *customer = &district_at(model, c_w_id, c_d_id)->customers[c_id - 1];
    model->warehouses[w_id - 1].w_ytd += amount;
    district_at(model, w_id, d_id)->row.d_ytd += amount;
    customer->c_balance -= amount;
    customer->c_ytd_payment += amount;
    customer->c_payment_cnt++;
    model->history[model->history_count++] = (struct tpcc_history){.h_amount = amount,
                                                                   .h_c_id = (uint16_t)c_id,
                                                                   .h_c_w_id = (uint16_t)c_w_id,
                                                                   .h_w_id = (uint16_t)w_id,
                                                                   .h_c_d_id = (uint8_t)c_d_id,
                                                                   .h_d_id = (uint8_t)d_id};
    model->counts.payments += model->history_count > DISTRICTS * CUSTOMERS;
}

static void load_district(struct model *model, uint32_t w_id, uint32_t d_id)
{
    struct district_model *district = district_at(model, w_id, d_id);
    district->row.d_next_o_id = 1;
    district->queue.q_oldest_o_id = 1;
    for (uint32_t c_id = 1; c_id <= CUSTOMERS; c_id++) {
        struct tpcc_customer_by_name *names = &district->names[c_id % NAMES];
        names->ids[names->count++] = (uint16_t)c_id;
        tpcc_text_last_name(c_id % NAMES, district->customers[c_id - 1].c_last);
        pay(model, w_id, d_id, w_id, d_id, c_id, 1000);
        enter_order(model, w_id, d_id, CUSTOMERS + 1 - c_id, w_id);
        if (c_id <= DELIVERED) deliver_order(model, w_id, d_id);
    }
}

/*
 * After the load: two orders, one supplied from elsewhere; an old order delivered; two payments, one of elsewhere's
 * customer.
 */
static struct model *model_new(void)
{
    struct model *model = calloc(1, sizeof(*model));
    assert_non_null(model);
    model->items = ITEMS;
    for (uint32_t w_id = 1; w_id <= WAREHOUSES; w_id++)
        for (uint32_t d_id = 1; d_id <= TPCC_DISTRICTS; d_id++) load_district(model, w_id, d_id);
    enter_order(model, 1, 1, 5, 2);
    enter_order(model, 1, 1, 6, 1);
    deliver_order(model, 1, 1);
    pay(model, 1, 1, 1, 1, 5, 12345);
    pay(model, 2, 3, 1, 1, 6, 777);
    return model;
}

/* ---- feeding it ---- */

static void feed_district(struct tpcc_audit *audit, enum tpcc_table table, struct model *model, uint32_t w_id,
                          uint32_t d_id)
{
    struct district_model *d = district_at(model, w_id, d_id);
    if (table == TPCC_DISTRICT) tpcc_audit_row(audit, tpcc_schema_district_key(w_id, d_id), &d->row);
    if (table == TPCC_NEW_ORDER_QUEUE) tpcc_audit_row(audit, tpcc_schema_district_key(w_id, d_id), &d->queue);
    for (uint32_t i = 0; i < NAMES && table == TPCC_CUSTOMER_BY_NAME; i++)
        if (d->names[i].count) tpcc_audit_row(audit, tpcc_schema_name_key(w_id, d_id, i, 0), &d->names[i]);
    for (uint32_t i = 0; i < CUSTOMERS && table == TPCC_CUSTOMER; i++)
        tpcc_audit_row(audit, tpcc_schema_customer_key(w_id, d_id, i + 1), &d->customers[i]);
    for (uint32_t i = 0; i < ORDERS_MAX; i++) {
        uint64_t key = tpcc_schema_order_key(w_id, d_id, i + 1);
        const struct tpcc_new_order waiting = {.no_o_id = i + 1};
        if (table == TPCC_ORDER && d->orders[i].o_c_id) tpcc_audit_row(audit, key, &d->orders[i]);
        if (table == TPCC_NEW_ORDER && d->waiting[i]) tpcc_audit_row(audit, key, &waiting);
        for (uint32_t line = 0; line < TPCC_LINES_MAX && table == TPCC_ORDER_LINE; line++)
            if (d->lines[i][line].ol_quantity)
                tpcc_audit_row(audit, tpcc_schema_line_key(key, line + 1), &d->lines[i][line]);
    }
}

static void feed_table(struct tpcc_audit *audit, enum tpcc_table table, struct model *model)
{
    const struct tpcc_item item = {.i_price = 1};
    for (uint32_t i = 0; i < model->items && table == TPCC_ITEM; i++) tpcc_audit_row(audit, i + 1, &item);
    for (uint32_t i = 0; i < model->history_count && table == TPCC_HISTORY; i++)
        tpcc_audit_row(audit, i, &model->history[i]);
    for (uint32_t w_id = 1; w_id <= WAREHOUSES; w_id++) {
        if (table == TPCC_WAREHOUSE) tpcc_audit_row(audit, w_id, &model->warehouses[w_id - 1]);
        for (uint32_t i = 0; i < ITEMS && table == TPCC_STOCK; i++)
            tpcc_audit_row(audit, tpcc_schema_stock_key(w_id, i + 1), &model->stocks[w_id - 1][i]);
        for (uint32_t d_id = 1; d_id <= TPCC_DISTRICTS; d_id++) feed_district(audit, table, model, w_id, d_id);
    }
}

static void judge(struct model *model, const struct tpcc_audit_counts *counts, struct workload_report *report)
{
    struct tpcc_audit *audit;
    struct cellar_error error;
    memset(report, 0, sizeof(*report));
    assert_int_equal(tpcc_audit_new(&scale, &audit, &error), 0);
    for (int i = 0; i < TPCC_TABLES; i++) {
        assert_int_equal(tpcc_audit_begin(audit, tpcc_audit_steps[i], &error), 0);
        feed_table(audit, tpcc_audit_steps[i], model);
    }
    tpcc_audit_report(audit, counts, report);
    tpcc_audit_free(audit);
}

/* ---- planted violations ---- */

static void w_ytd(struct model *m) { m->warehouses[1].w_ytd++; }
static void d_ytd(struct model *m) { district_at(m, 2, 4)->row.d_ytd--; }
static void next_o_id_ahead(struct model *m) { district_at(m, 1, 2)->row.d_next_o_id++; }
static void next_o_id_lost(struct model *m) { district_at(m, 1, 1)->row.d_next_o_id--; }
static void next_o_id_absurd(struct model *m) { district_at(m, 1, 1)->row.d_next_o_id = 0; }
static void middle_new_order_lost(struct model *m) { district_at(m, 1, 1)->waiting[25] = false; }
static void oldest_new_order_lost(struct model *m) { district_at(m, 1, 1)->waiting[22] = false; }
static void new_order_kept(struct model *m) { district_at(m, 1, 1)->waiting[21] = true; }
static void new_order_of_no_order(struct model *m) { district_at(m, 1, 2)->waiting[30] = true; }
static void line_lost(struct model *m) { district_at(m, 1, 1)->lines[3][4].ol_quantity = 0; }
static void line_added(struct model *m) { district_at(m, 1, 1)->lines[3][5] = district_at(m, 1, 1)->lines[3][4]; }
static void line_of_no_order(struct model *m)
{
    district_at(m, 1, 2)->lines[35][0] = district_at(m, 1, 2)->lines[3][4];
}
static void line_not_delivered(struct model *m) { district_at(m, 1, 1)->lines[2][0].ol_delivery_d = 0; }
static void line_delivered_early(struct model *m) { district_at(m, 1, 1)->lines[25][0].ol_delivery_d = 7; }
static void carrier_lost(struct model *m) { district_at(m, 1, 1)->orders[2].o_carrier_id = 0; }
static void order_lost(struct model *m) { district_at(m, 1, 2)->orders[4].o_c_id = 0; }
static void order_of_no_customer(struct model *m) { district_at(m, 1, 2)->orders[4].o_c_id = CUSTOMERS + 1; }
static void balance(struct model *m) { district_at(m, 2, 1)->customers[9].c_balance += 5; }
static void ytd_payment(struct model *m) { district_at(m, 2, 1)->customers[9].c_ytd_payment -= 5; }
static void payment_cnt(struct model *m) { district_at(m, 2, 1)->customers[9].c_payment_cnt++; }
static void delivery_cnt(struct model *m) { district_at(m, 2, 1)->customers[9].c_delivery_cnt++; }
static void last_order(struct model *m) { district_at(m, 2, 1)->customers[9].c_last_o_id--; }
static void last_name(struct model *m) { district_at(m, 2, 1)->customers[9].c_last[0] = 'X'; }
static void not_listed(struct model *m) { district_at(m, 2, 1)->names[0].count = 2; }
static void listed_twice(struct model *m)
{
    district_at(m, 2, 1)->names[0].ids[0] = district_at(m, 2, 1)->names[0].ids[1];
}
static void queue_ahead(struct model *m) { district_at(m, 2, 1)->queue.q_oldest_o_id++; }
static void stock_quantity(struct model *m) { m->stocks[1][2].s_ytd++; }
static void stock_count(struct model *m) { m->stocks[0][2].s_order_cnt--; }
static void stock_remote(struct model *m) { m->stocks[1][2].s_remote_cnt--; }
static void item_lost(struct model *m) { m->items--; }
static void history_lost(struct model *m) { m->history_count--; }
static void history_of_nowhere(struct model *m) { m->history[600].h_w_id = 3; }
static void order_uncounted(struct model *m) { m->counts.new_orders--; }
static void order_unfound(struct model *m) { m->counts.new_orders++; }
static void payment_unfound(struct model *m) { m->counts.payments++; }
static void delivery_uncounted(struct model *m) { m->counts.delivered--; }

/* What each breaks: the numbers of clause 3.3.2, or the first words of a further check. */
static const struct {
    const char *name;
    void (*plant)(struct model *model);
    const char *breaks[8];
} plants[] = {
    {"w_ytd", w_ytd, {"3.3.2.1 ", "3.3.2.8 "}},
    {"d_ytd", d_ytd, {"3.3.2.1 ", "3.3.2.9 "}},
    {"next_o_id_ahead", next_o_id_ahead, {"3.3.2.2 ", "committed NewOrders"}},
    {"next_o_id_lost", next_o_id_lost, {"3.3.2.2 ", "3.3.2.5 ", "3.3.2.6 ", "committed NewOrders"}},
    {"next_o_id_absurd",
     next_o_id_absurd,
     {"3.3.2.2 ", "3.3.2.5 ", "3.3.2.6 ", "3.3.2.10 ", "3.3.2.12 ", "committed NewOrders"}},
    {"middle_new_order_lost", middle_new_order_lost, {"3.3.2.3 ", "3.3.2.5 ", "3.3.2.11 "}},
    {"oldest_new_order_lost", oldest_new_order_lost, {"3.3.2.5 ", "3.3.2.11 ", "oldest"}},
    {"new_order_kept", new_order_kept, {"3.3.2.5 ", "3.3.2.11 ", "oldest"}},
    {"new_order_of_no_order", new_order_of_no_order, {"3.3.2.2 ", "3.3.2.5 ", "3.3.2.11 "}},
    {"line_lost", line_lost, {"3.3.2.4 ", "3.3.2.6 "}},
    {"line_added", line_added, {"3.3.2.4 ", "3.3.2.6 "}},
    {"line_of_no_order", line_of_no_order, {"3.3.2.4 ", "3.3.2.6 ", "sums of"}},
    {"line_not_delivered", line_not_delivered, {"3.3.2.7 "}},
    {"line_delivered_early", line_delivered_early, {"3.3.2.7 ", "3.3.2.10 ", "3.3.2.12 "}},
    {"carrier_lost", carrier_lost, {"3.3.2.5 ", "3.3.2.7 "}},
    {"order_lost", order_lost, {"3.3.2.4 ", "3.3.2.6 ", "3.3.2.11 ", "orders of", "last order"}},
    {"order_of_no_customer", order_of_no_customer, {"rows", "last order"}},
    {"balance", balance, {"3.3.2.10 ", "3.3.2.12 "}},
    {"ytd_payment", ytd_payment, {"3.3.2.12 "}},
    {"payment_cnt", payment_cnt, {"C_PAYMENT_CNT"}},
    {"delivery_cnt", delivery_cnt, {"C_PAYMENT_CNT"}},
    {"last_order", last_order, {"last order"}},
    {"last_name", last_name, {"customers by name"}},
    {"not_listed", not_listed, {"customers by name"}},
    {"listed_twice", listed_twice, {"customers by name"}},
    {"queue_ahead", queue_ahead, {"3.3.2.11 ", "oldest", "delivered orders"}},
    {"stock_quantity", stock_quantity, {"sums of"}},
    {"stock_count", stock_count, {"sums of"}},
    {"stock_remote", stock_remote, {"sums of"}},
    {"item_lost", item_lost, {"rows"}},
    {"history_lost", history_lost, {"3.3.2.8 ", "3.3.2.9 ", "3.3.2.10 ", "C_PAYMENT_CNT", "committed Payments"}},
    {"history_of_nowhere", history_of_nowhere, {"3.3.2.8 ", "3.3.2.9 ", "rows"}},
    {"order_uncounted", order_uncounted, {"committed NewOrders"}},
    {"order_unfound", order_unfound, {"committed NewOrders"}},
    {"payment_unfound", payment_unfound, {"committed Payments"}},
    {"delivery_uncounted", delivery_uncounted, {"delivered orders"}},
};

static bool is_broken_by(const char *const *breaks, const char *check)
{
    for (; *breaks; breaks++)
        if (strncmp(check, *breaks, strlen(*breaks)) == 0) return true;
    return false;
}

static void each_violation_is_found_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
        struct model *model = model_new();
        struct workload_report report;
        plants[i].plant(model);
        judge(model, &model->counts, &report);
        for (uint32_t check = 0; check < report.check_count; check++)
            if (report.checks[check].ok == is_broken_by(plants[i].breaks, report.checks[check].name))
                fail_msg("plant %s: %s: %s", plants[i].name, report.checks[check].name, report.checks[check].text);
        free(model);
    }
}

static void a_consistent_database_passes(void **state)
{
    (void)state;
    struct model *model = model_new();
    struct workload_report report;
    assert_true(model->counts.new_orders == 2 && model->counts.payments == 2 && model->counts.delivered == 1);
    judge(model, &model->counts, &report);
    assert_int_equal(report.check_count, 22);
    for (uint32_t i = 0; i < report.check_count; i++)
        if (!report.checks[i].ok) fail_msg("%s: %s", report.checks[i].name, report.checks[i].text);
    free(model);
}

static void every_check_is_broken_by_some_plant(void **state)
{
    (void)state;
    struct model *model = model_new();
    struct workload_report report;
    judge(model, &model->counts, &report);
    for (uint32_t check = 0; check < report.check_count; check++) {
        bool broken = false;
        for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++)
            broken |= is_broken_by(plants[i].breaks, report.checks[check].name);
        if (!broken) fail_msg("nothing breaks %s", report.checks[check].name);
        assert_true(strlen(report.checks[check].name) < sizeof(report.checks[check].name) - 1);
    }
    free(model);
}

static void without_counts_none_are_judged(void **state)
{
    (void)state;
    struct model *model = model_new();
    struct workload_report report;
    judge(model, NULL, &report);
    assert_int_equal(report.check_count, 19);
    free(model);
}

static void unknown_outcomes_may_or_may_not_show(void **state)
{
    (void)state;
    struct model *model = model_new();
    struct workload_report report;
    struct tpcc_audit_counts counts = model->counts;
    counts.new_orders--;
    counts.new_orders_unknown = 2;
    counts.payments_unknown = 1;
    counts.delivered = 0;
    counts.deliveries_unknown = 1;
    judge(model, &counts, &report);
    for (uint32_t i = 0; i < report.check_count; i++) assert_true(report.checks[i].ok);
    counts.new_orders--;
    counts.new_orders_unknown = 1;
    judge(model, &counts, &report);
    assert_false(report.checks[19].ok);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_consistent_database_passes),
        cmocka_unit_test(each_violation_is_found_and_nothing_else),
        cmocka_unit_test(every_check_is_broken_by_some_plant),
        cmocka_unit_test(without_counts_none_are_judged),
        cmocka_unit_test(unknown_outcomes_may_or_may_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
