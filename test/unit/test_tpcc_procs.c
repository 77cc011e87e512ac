/*
 * test_tpcc_procs.c - each TPC-C procedure on a loaded database of the small scale, against what the tables say
 * afterwards; and the audit over all that, with what was done counted by hand. All of it by helper tables, and again by
 * ordered indexes.
 */
#include "bulk.h"
#include "numbered.h"
#include "cellar.h"
#include "db_open.h"
#include "db_schema.h"
#include "engine_config.h"
#include "tpcc_audit.h"
#include "tpcc_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The columns of a stock row, without the padding at its end. */
#define STOCK_BYTES (offsetof(struct tpcc_stock, s_data) + TPCC_DATA_BYTES)

enum { NAME_UNUSED = 999 }; /* a last name that the small scale does not have */

struct store {
    struct cellar *db;
    struct tpcc_tables tables;
    struct tpcc_scale scale;
    struct tpcc_load load;
    const struct cellar_proc *procs[TPCC_PROCS], *reader;
    uint64_t rows_loaded;
    uint32_t next_piece;
    struct tpcc_audit_counts counts;
    struct workload_report report;
};

static struct store store;

static int load_all(struct cellar_lab_client *client, void *arg)
{
    (void)arg;
    struct cellar_error error = {0};
    uint32_t pieces = tpcc_load_pieces(&store.scale), piece;
    while ((piece = __atomic_fetch_add(&store.next_piece, 1, __ATOMIC_RELAXED)) < pieces)
        TRY(tpcc_load_piece(&store.load, client, piece, &store.rows_loaded, &error));
    return 0;
}

/* ---- reading one row in a transaction of its own ---- */

struct reading {
    enum tpcc_table table;
    uint64_t key;
    void *row;
    bool found;
};

static int read_one(struct cellar_txn *txn, void *args)
{
    struct reading *reading = args;
    int ref;
    TRY(ref = cellar_proc_access(txn, store.tables.table[reading->table], reading->key, CELLAR_ALL_CELLS, 0,
                                 CELLAR_OPTIONAL));
    TRY(cellar_proc_fetch(txn));
    reading->found = cellar_proc_found(txn, ref);
    return reading->found ? cellar_proc_get_row(txn, ref, reading->row) : 0;
}

static bool find_row(enum tpcc_table table, uint64_t key, void *row)
{
    struct reading reading = {.table = table, .key = key, .row = row};
    struct cellar_result result;
    assert_int_equal(cellar_proc_run(store.db, store.reader, &reading, NULL, &result), 0);
    return reading.found;
}

static void read_row(enum tpcc_table table, uint64_t key, void *row) { assert_true(find_row(table, key, row)); }

static int run_proc(enum tpcc_type type, void *args)
{
    struct cellar_result result;
    return cellar_proc_run(store.db, store.procs[type], args, NULL, &result);
}

static int setup(bool by_index)
{
    const struct engine_config config = {.threads = 2, .coros = 2, .pool_bytes = 128 << 20, .log_bytes = 256 << 10};
    const struct cellar_proc_def reader = {.name = "read_one", .fn = read_one, .records_max = 1};
    struct tpcc_nurand nurand;
    struct cellar_error error = {0};
    store = (struct store){.scale = tpcc_schema_scale(2, true, by_index)};
    tpcc_input_nurand_init(&nurand, &store.scale, 1);
    if (db_open(&config, &store.db, &error) < 0) fail_msg("%s", error.text);
    if (tpcc_schema_open(store.db, &store.scale, false, 1000, &store.tables, &error) < 0) fail_msg("%s", error.text);
    for (int i = 0; i < TPCC_PROCS; i++)
        if (db_proc_register(store.db, &tpcc_procs[i], &store.procs[i], &error) < 0) fail_msg("%s", error.text);
    if (db_proc_register(store.db, &reader, &store.reader, &error) < 0) fail_msg("%s", error.text);
    tpcc_load_init(&store.load, &store.tables, &store.scale, &nurand, 1);
    if (cellar_lab_run(store.db, load_all, NULL) < 0) fail_msg("not loaded");
    return tpcc_schema_index(store.db, &store.scale, &store.tables, &error);
}

static int setup_hash(void **state)
{
    (void)state;
    return setup(false);
}

static int setup_index(void **state)
{
    (void)state;
    return setup(true);
}

static int teardown(void **state)
{
    (void)state;
    cellar_close(store.db);
    return 0;
}

/* ---- the audit ---- */

static int feed(void *arg, uint64_t key, const void *row)
{
    tpcc_audit_row(arg, key, row);
    return 0;
}

static int audit_by_first(struct cellar_lab_client *client, void *arg)
{
    struct tpcc_audit *audit = arg;
    struct cellar_error error = {0};
    for (int i = 0; i < TPCC_TABLES && cellar_lab_index(client) == 0; i++) {
        if (!store.tables.table[tpcc_audit_steps[i]]) continue;
        TRY(tpcc_audit_begin(audit, tpcc_audit_steps[i], &error));
        TRY(db_scan(client, store.tables.table[tpcc_audit_steps[i]], feed, audit, &error));
    }
    return cellar_lab_index(client) == 0 ? db_audit(client, &error) : 0;
}

static void all_is_consistent(void)
{
    struct tpcc_audit *audit;
    struct cellar_error error = {0};
    memset(&store.report, 0, sizeof(store.report));
    assert_int_equal(tpcc_audit_new(&store.scale, &audit, &error), 0);
    assert_int_equal(cellar_lab_run(store.db, audit_by_first, audit), 0);
    tpcc_audit_report(audit, &store.counts, &store.report);
    tpcc_audit_free(audit);
    for (uint32_t i = 0; i < store.report.check_count; i++)
        if (!store.report.checks[i].ok) fail_msg("%s: %s", store.report.checks[i].name, store.report.checks[i].text);
}

static void the_load_is_whole_and_consistent(void **state)
{
    (void)state;
    struct cellar_error error = {0};
    uint64_t rows;
    assert_int_equal(tpcc_load_rows(&store.load, &rows, &error), 0);
    assert_int_equal(rows, store.rows_loaded);
    all_is_consistent();
}

/* ---- NewOrder ---- */

static uint32_t next_o_id(uint32_t w_id, uint32_t d_id)
{
    struct tpcc_district district;
    read_row(TPCC_DISTRICT, tpcc_schema_district_key(w_id, d_id), &district);
    return district.d_next_o_id;
}

/* Three lines of item 5, one of them supplied by the other warehouse, and two more. */
static void enter_duplicates(struct tpcc_order_entry *entry)
{
    static const struct {
        uint32_t i_id;
        uint16_t supply_w_id;
        uint8_t quantity;
    } lines[] = {{5, 1, 10}, {900, 1, 1}, {5, 1, 9}, {5, 2, 8}, {7, 1, 2}};
    *entry = (struct tpcc_order_entry){
        .tables = &store.tables, .w_id = 1, .d_id = 4, .c_id = 17, .ol_cnt = 5, .entry_d = 99};
    for (uint32_t i = 0; i < 5; i++) {
        entry->lines[i].i_id = lines[i].i_id;
        entry->lines[i].supply_w_id = lines[i].supply_w_id;
        entry->lines[i].quantity = lines[i].quantity;
    }
    tpcc_input_list_records(entry);
}

static void lines_of_one_item_take_from_one_stock(void **state)
{
    (void)state;
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct tpcc_stock before, expected, after;
    struct tpcc_order order;
    struct tpcc_order_line line;
    struct tpcc_item item;
    assert_non_null(entry);
    enter_duplicates(entry);
    read_row(TPCC_STOCK, tpcc_schema_stock_key(1, 5), &before);
    uint32_t o_id = next_o_id(1, 4);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), 0);
    store.counts.new_orders++;
    assert_int_equal(entry->o_id, o_id);

    expected = before;
    tpcc_procs_take(&expected, 10, false);
    assert_int_equal(entry->lines[0].s_quantity, expected.s_quantity);
    tpcc_procs_take(&expected, 9, false);
    assert_int_equal(entry->lines[2].s_quantity, expected.s_quantity);
    read_row(TPCC_STOCK, tpcc_schema_stock_key(1, 5), &after);
    assert_memory_equal(&after, &expected, STOCK_BYTES);
    assert_int_equal(after.s_order_cnt, before.s_order_cnt + 2);
    read_row(TPCC_STOCK, tpcc_schema_stock_key(2, 5), &after);
    assert_true(after.s_remote_cnt == 1 && after.s_ytd == 8);

    uint64_t key = tpcc_schema_order_key(1, 4, o_id);
    read_row(TPCC_ORDER, key, &order);
    assert_true(order.o_c_id == 17 && order.o_ol_cnt == 5 && order.o_carrier_id == 0 && order.o_entry_d == 99);
    read_row(TPCC_ITEM, 5, &item);
    read_row(TPCC_ORDER_LINE, tpcc_schema_line_key(key, 3), &line);
    assert_true(line.ol_i_id == 5 && line.ol_quantity == 9 && line.ol_delivery_d == 0 &&
                line.ol_amount == 9 * item.i_price);
    assert_memory_equal(line.ol_dist_info, before.s_dist_04, 24);
    free(entry);
    all_is_consistent();
}

static void the_total_has_discount_and_taxes(void **state)
{
    (void)state;
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct tpcc_warehouse warehouse;
    struct tpcc_district district;
    struct tpcc_customer customer;
    assert_non_null(entry);
    enter_duplicates(entry);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), 0);
    store.counts.new_orders++;
    read_row(TPCC_WAREHOUSE, 1, &warehouse);
    read_row(TPCC_DISTRICT, tpcc_schema_district_key(1, 4), &district);
    read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(1, 4, 17), &customer);
    double sum = 0;
    for (uint32_t i = 0; i < 5; i++) sum += (double)entry->lines[i].amount;
    double total =
        sum * (1 - customer.c_discount / 10000.0) * (1 + warehouse.w_tax / 10000.0 + district.d_tax / 10000.0);
    assert_true((double)entry->total > total - 1.01 && (double)entry->total < total + 0.01);
    assert_memory_equal(entry->customer.c_last, customer.c_last, sizeof(customer.c_last));
    free(entry);
}

static void an_unused_item_rolls_the_order_back(void **state)
{
    (void)state;
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct tpcc_stock before, after;
    assert_non_null(entry);
    enter_duplicates(entry);
    entry->lines[4].i_id = store.scale.items + 1;
    tpcc_input_list_records(entry);
    uint32_t o_id = next_o_id(1, 4);
    read_row(TPCC_STOCK, tpcc_schema_stock_key(1, 900), &before);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), ERR_GIVEN_UP);
    assert_true(entry->item_missing);
    assert_int_equal(next_o_id(1, 4), o_id);
    read_row(TPCC_STOCK, tpcc_schema_stock_key(1, 900), &after);
    assert_memory_equal(&after, &before, STOCK_BYTES);

    enter_duplicates(entry);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), 0);
    store.counts.new_orders++;
    assert_false(entry->item_missing);
    assert_int_equal(entry->o_id, o_id);
    free(entry);
    all_is_consistent();
}

/* ---- Payment ---- */

static struct tpcc_payment payment_of(uint32_t c_id, uint32_t count)
{
    return (struct tpcc_payment){.tables = &store.tables,
                                 .w_id = 1,
                                 .d_id = 2,
                                 .choice = {.w_id = 2, .d_id = 3, .c_id = (uint16_t)c_id},
                                 .history_key = tpcc_schema_history_key(7, 7, count),
                                 .date = 55,
                                 .amount = 4321};
}

/* The first customer of warehouse 2, district 3, with this credit. */
static uint32_t customer_of_credit(const char *credit, struct tpcc_customer *customer)
{
    for (uint32_t c_id = 1; c_id <= store.scale.customers; c_id++) {
        read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(2, 3, c_id), customer);
        if (memcmp(customer->c_credit, credit, 2) == 0) return c_id;
    }
    fail();
    return 0;
}

static void a_customer_pays(const char *credit, uint32_t count)
{
    struct tpcc_customer before, after;
    struct tpcc_history history;
    struct tpcc_warehouse warehouse;
    char expected[TPCC_C_DATA_BYTES];
    uint32_t c_id = customer_of_credit(credit, &before);
    struct tpcc_payment pay = payment_of(c_id, count);
    read_row(TPCC_WAREHOUSE, 1, &warehouse);
    assert_int_equal(run_proc(TPCC_TYPE_PAYMENT, &pay), 0);
    store.counts.payments++;

    read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(2, 3, c_id), &after);
    assert_int_equal(after.c_balance, before.c_balance - 4321);
    assert_int_equal(after.c_ytd_payment, before.c_ytd_payment + 4321);
    assert_int_equal(after.c_payment_cnt, before.c_payment_cnt + 1);
    memcpy(expected, before.c_data, sizeof(expected));
    const struct tpcc_note note = {.c_id = c_id, .c_d_id = 3, .c_w_id = 2, .d_id = 2, .w_id = 1, .h_amount = 4321};
    if (credit[0] == 'B') tpcc_text_prepend(&note, expected, sizeof(expected));
    assert_memory_equal(after.c_data, expected, sizeof(expected));
    assert_int_equal(pay.warehouse.w_ytd, warehouse.w_ytd + 4321);

    read_row(TPCC_HISTORY, pay.history_key, &history);
    assert_true(history.h_amount == 4321 && history.h_date == 55 && history.h_c_id == c_id && history.h_c_d_id == 3);
    assert_true(history.h_c_w_id == 2 && history.h_d_id == 2 && history.h_w_id == 1);
    assert_memory_equal(history.h_data, warehouse.w_name, strnlen(warehouse.w_name, 10));
    assert_non_null(memmem(history.h_data, 24, "    ", 4));
}

static void payments_of_good_and_bad_customers(void **state)
{
    (void)state;
    a_customer_pays("GC", 1);
    a_customer_pays("BC", 2);
    a_customer_pays("BC", 3);
    all_is_consistent();
}

static void a_key_of_history_serves_once(void **state)
{
    (void)state;
    struct tpcc_payment pay = payment_of(9, 10);
    assert_int_equal(run_proc(TPCC_TYPE_PAYMENT, &pay), 0);
    store.counts.payments++;
    assert_int_equal(run_proc(TPCC_TYPE_PAYMENT, &pay), CELLAR_EXISTS);
    all_is_consistent();
}

struct named {
    uint32_t c_id;
    char first[16];
};

static int compare_first(const void *a, const void *b)
{
    return memcmp(((const struct named *)a)->first, ((const struct named *)b)->first, 16);
}

/* The customer that clause 2.5.2.2 chooses, by reading all of the district. */
static uint32_t middle_of_name(uint32_t number, uint32_t *count)
{
    struct named *named = calloc(store.scale.customers, sizeof(*named));
    struct tpcc_customer customer;
    char last[16];
    assert_non_null(named);
    *count = 0;
    tpcc_text_last_name(number, last);
    for (uint32_t c_id = 1; c_id <= store.scale.customers; c_id++) {
        read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(2, 3, c_id), &customer);
        if (memcmp(customer.c_last, last, 16) != 0) continue;
        named[*count].c_id = c_id;
        memcpy(named[(*count)++].first, customer.c_first, 16);
    }
    qsort(named, *count, sizeof(*named), compare_first);
    uint32_t c_id = named[(*count + 1) / 2 - 1].c_id;
    free(named);
    return c_id;
}

static void a_name_means_its_middle_customer(void **state)
{
    (void)state;
    uint32_t most = 0;
    for (uint32_t number = 0; number < store.scale.names; number += 3) {
        uint32_t count, expected = middle_of_name(number, &count);
        struct tpcc_order_status status = {.tables = &store.tables,
                                           .choice = {.w_id = 2, .d_id = 3, .by_name = true, .name = (uint16_t)number}};
        assert_int_equal(run_proc(TPCC_TYPE_ORDER_STATUS, &status), 0);
        assert_int_equal(status.choice.c_id, expected);
        most = count > most ? count : most;
    }
    assert_true(most >= 4);
}

/* Lists longer than a row go on in further parts; `arg` is the count. */
static int load_long_name(struct cellar_lab_client *client, void *arg)
{
    const uint32_t count = *(const uint32_t *)arg;
    struct cellar_error error = {0};
    for (uint32_t part = 0; part * TPCC_NAME_IDS < count && cellar_lab_index(client) == 0; part++) {
        struct tpcc_customer_by_name names = {.count = (uint16_t)count};
        for (uint32_t i = 0; i < TPCC_NAME_IDS; i++) names.ids[i] = (uint16_t)(1 + part * TPCC_NAME_IDS + i);
        TRY(db_load(client, store.tables.table[TPCC_CUSTOMER_BY_NAME],
                    tpcc_schema_name_key(1, count % 10 + 1, NAME_UNUSED, part), &names, &error));
    }
    return 0;
}

static void long_lists_have_their_middle_in_a_further_part(void **state)
{
    (void)state;
    for (uint32_t count = 53; count <= 56; count++) {
        struct tpcc_order_status status = {
            .tables = &store.tables,
            .choice = {.w_id = 1, .d_id = (uint8_t)(count % 10 + 1), .by_name = true, .name = NAME_UNUSED}};
        assert_int_equal(cellar_lab_run(store.db, load_long_name, &count), 0);
        assert_int_equal(run_proc(TPCC_TYPE_ORDER_STATUS, &status), 0);
        assert_int_equal(status.choice.c_id, (count + 1) / 2);
    }
}

/* ---- OrderStatus, Delivery, StockLevel ---- */

static void the_last_order_is_the_last_one_entered(void **state)
{
    (void)state;
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct tpcc_order_status status = {.tables = &store.tables, .choice = {.w_id = 1, .d_id = 4, .c_id = 17}};
    assert_non_null(entry);
    enter_duplicates(entry);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), 0);
    store.counts.new_orders++;
    assert_int_equal(run_proc(TPCC_TYPE_ORDER_STATUS, &status), 0);
    assert_true(status.o_id == entry->o_id && status.order.o_ol_cnt == 5 && status.order.o_carrier_id == 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(status.lines[i].ol_i_id, entry->lines[i].i_id);
        assert_int_equal(status.lines[i].ol_amount, entry->lines[i].amount);
    }
    free(entry);
}

static void stock_level_counts_distinct_items(void **state)
{
    (void)state;
    struct tpcc_stock_level *level = calloc(1, sizeof(*level));
    bool *seen = calloc(store.scale.items + 1, sizeof(*seen));
    uint32_t low = 0, next = next_o_id(1, 4);
    assert_true(level && seen);
    *level = (struct tpcc_stock_level){
        .tables = &store.tables, .items = store.scale.items, .w_id = 1, .d_id = 4, .threshold = 40};
    for (uint32_t o_id = next - 20; o_id < next; o_id++) {
        struct tpcc_order_line line;
        struct tpcc_stock stock;
        for (uint32_t i = 1;
             find_row(TPCC_ORDER_LINE, tpcc_schema_line_key(tpcc_schema_order_key(1, 4, o_id), i), &line); i++) {
            read_row(TPCC_STOCK, tpcc_schema_stock_key(1, line.ol_i_id), &stock);
            low += !seen[line.ol_i_id] && stock.s_quantity < 40;
            seen[line.ol_i_id] = true;
        }
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(run_proc(TPCC_TYPE_STOCK_LEVEL, level), 0);
        assert_int_equal(level->low_count, low);
    }
    assert_true(low > 0);
    free(level);
    free(seen);
}

static void deliver(struct tpcc_delivery *delivery, uint32_t w_id)
{
    *delivery = (struct tpcc_delivery){.tables = &store.tables, .w_id = (uint16_t)w_id, .carrier_id = 9, .date = 77};
    assert_int_equal(run_proc(TPCC_TYPE_DELIVERY, delivery), 0);
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) store.counts.delivered += delivery->o_id[i] != 0;
}

static void delivery_takes_the_oldest_order_of_each_district(void **state)
{
    (void)state;
    struct tpcc_delivery delivery;
    struct tpcc_order order;
    struct tpcc_new_order waiting;
    struct tpcc_order_line line;
    struct tpcc_customer before, after;
    int64_t sum = 0;
    uint64_t key = tpcc_schema_order_key(2, 6, store.scale.delivered + 1);
    read_row(TPCC_ORDER, key, &order);
    read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(2, 6, order.o_c_id), &before);
    read_row(TPCC_NEW_ORDER, key, &waiting);
    deliver(&delivery, 2);
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) assert_int_equal(delivery.o_id[i], store.scale.delivered + 1);
    assert_false(find_row(TPCC_NEW_ORDER, key, &waiting));
    read_row(TPCC_ORDER, key, &order);
    assert_int_equal(order.o_carrier_id, 9);
    for (uint32_t i = 1; i <= order.o_ol_cnt; i++) {
        read_row(TPCC_ORDER_LINE, tpcc_schema_line_key(key, i), &line);
        assert_int_equal(line.ol_delivery_d, 77);
        sum += line.ol_amount;
    }
    read_row(TPCC_CUSTOMER, tpcc_schema_customer_key(2, 6, order.o_c_id), &after);
    assert_int_equal(after.c_balance, before.c_balance + sum);
    assert_int_equal(after.c_delivery_cnt, before.c_delivery_cnt + 1);
    deliver(&delivery, 2);
    assert_int_equal(delivery.o_id[0], store.scale.delivered + 2);
    all_is_consistent();
}

static void empty_districts_are_skipped_until_an_order_comes(void **state)
{
    (void)state;
    struct tpcc_delivery delivery;
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    assert_non_null(entry);
    uint32_t rounds = 0, next = next_o_id(1, 4);
    do {
        deliver(&delivery, 1);
        assert_true(++rounds < 500);
    } while (delivery.o_id[3]);
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) assert_int_equal(delivery.o_id[i], 0);
    all_is_consistent();

    enter_duplicates(entry);
    assert_int_equal(run_proc(TPCC_TYPE_NEW_ORDER, entry), 0);
    store.counts.new_orders++;
    deliver(&delivery, 1);
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) assert_int_equal(delivery.o_id[i], i == 3 ? next : 0);
    free(entry);
    all_is_consistent();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_load_is_whole_and_consistent),
        cmocka_unit_test(lines_of_one_item_take_from_one_stock),
        cmocka_unit_test(the_total_has_discount_and_taxes),
        cmocka_unit_test(an_unused_item_rolls_the_order_back),
        cmocka_unit_test(payments_of_good_and_bad_customers),
        cmocka_unit_test(a_key_of_history_serves_once),
        cmocka_unit_test(a_name_means_its_middle_customer),
        cmocka_unit_test(the_last_order_is_the_last_one_entered),
        cmocka_unit_test(stock_level_counts_distinct_items),
        cmocka_unit_test(delivery_takes_the_oldest_order_of_each_district),
        cmocka_unit_test(empty_districts_are_skipped_until_an_order_comes),
        cmocka_unit_test(long_lists_have_their_middle_in_a_further_part), /* last: its lists are of no customers */
    };
    struct CMUnitTest by_index[sizeof(tests) / sizeof(tests[0]) - 1]; /* which has no lists */
    memcpy(by_index, tests, sizeof(by_index));
    int failed = cmocka_run_group_tests(tests, setup_hash, teardown);
    return failed + cmocka_run_group_tests(by_index, setup_index, teardown);
}
