/* test_tpcc_input.c - keys, record sizes, texts, random numbers and inputs of TPC-C: what needs no database. */
#include "schema.h"
#include "schemadef.h"
#include "tpcc_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tpcc_tables no_tables;

static struct tpcc_input input_of(uint32_t warehouses, bool small, uint64_t seed)
{
    struct tpcc_input input = {.tables = &no_tables, .scale = tpcc_schema_scale(warehouses, small, false)};
    tpcc_input_nurand_init(&input.nurand, &input.scale, seed);
    return input;
}

/* ---- keys and sizes ---- */

static void a_district_comes_back(uint32_t w_id, uint32_t d_id)
{
    struct tpcc_key key;
    tpcc_schema_unpack_district(tpcc_schema_district_key(w_id, d_id), &key);
    assert_true(key.w_id == w_id && key.d_id == d_id);
    tpcc_schema_unpack_customer(tpcc_schema_customer_key(w_id, d_id, 3000), &key);
    assert_true(key.w_id == w_id && key.d_id == d_id && key.c_id == 3000);
    tpcc_schema_unpack_name(tpcc_schema_name_key(w_id, d_id, 999, TPCC_NAME_PARTS - 1), &key);
    assert_true(key.w_id == w_id && key.d_id == d_id && key.name == 999 && key.part == TPCC_NAME_PARTS - 1);
    tpcc_schema_unpack_stock(tpcc_schema_stock_key(w_id, 100001), &key);
    assert_true(key.w_id == w_id && key.i_id == 100001);
    uint64_t order = tpcc_schema_order_key(w_id, d_id, UINT32_MAX);
    tpcc_schema_unpack_order(order, &key);
    assert_true(key.w_id == w_id && key.d_id == d_id && key.o_id == UINT32_MAX);
    tpcc_schema_unpack_line(tpcc_schema_line_key(order, TPCC_LINES_MAX), &key);
    assert_true(key.w_id == w_id && key.d_id == d_id && key.o_id == UINT32_MAX && key.ol_number == TPCC_LINES_MAX);
    assert_true(tpcc_schema_line_key(order, TPCC_LINES_MAX) >> 63 == 0);
}

static void keys_come_back_from_their_packing(void **state)
{
    (void)state;
    a_district_comes_back(1, 1);
    a_district_comes_back(TPCC_WAREHOUSES_MAX, TPCC_DISTRICTS);
}

static void keys_of_history_never_meet(void **state)
{
    (void)state;
    uint64_t loaded = tpcc_schema_history_load_key(tpcc_schema_customer_key(TPCC_WAREHOUSES_MAX, 10, 3000));
    assert_int_equal(loaded >> 63, 1);
    assert_int_equal(tpcc_schema_history_key(UINT32_MAX, UINT32_MAX, UINT32_MAX) >> 63, 0);
    assert_true(tpcc_schema_history_key(1, 0, 0) != tpcc_schema_history_key(0, 1, 0));
    assert_true(tpcc_schema_history_key(0, 1, 0) != tpcc_schema_history_key(0, 0, 1));
}

static void records_are_as_long_as_said(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * TPCC_TABLES; k++) {
        int i = k % TPCC_TABLES;
        struct cellar_schema from = tpcc_schema_of((enum tpcc_table)i, k >= TPCC_TABLES);
        struct schema *schema = calloc(1, sizeof(*schema));
        struct cellar_error error;
        from.records_max = 1;
        assert_non_null(schema);
        if (schema_build(&from, 31, schema, &error) < 0) fail_msg("%s: %s", from.name, error.text);
        assert_int_equal(schema->record_bytes, tpcc_schema_record_bytes((enum tpcc_table)i));
        assert_in_range(schema->cell_count, 1, 12);
        free(schema);
    }
}

/* ---- texts ---- */

static void last_names_are_three_syllables(void **state)
{
    (void)state;
    char name[16];
    tpcc_text_last_name(371, name);
    assert_string_equal(name, "PRICALLYOUGHT");
    tpcc_text_last_name(0, name);
    assert_string_equal(name, "BARBARBAR");
    tpcc_text_last_name(777, name); /* the longest */
    assert_string_equal(name, "CALLYCALLYCALLY");
    tpcc_text_last_name(40, name);
    assert_string_equal(name, "BARPRESBAR");
}

static void original_is_found_wherever_it_stands(void **state)
{
    (void)state;
    for (uint32_t at = 0; at <= 42; at++) {
        char data[50];
        memset(data, 'O', sizeof(data));
        memcpy(data + at, "ORIGINAL", 8);
        assert_true(tpcc_text_is_original(data));
        for (uint32_t i = 0; i < 8; i++) {
            char broken[50];
            memcpy(broken, data, sizeof(broken));
            broken[at + i] = broken[at + i] == 'O' ? 'L' : 'O';
            assert_false(tpcc_text_is_original(broken));
        }
    }
    char cut[50] = {0};
    memcpy(cut + 43, "ORIGINA", 7);
    assert_false(tpcc_text_is_original(cut));
}

static void a_tenth_of_data_is_original(void **state)
{
    (void)state;
    struct tpcc_text text;
    struct prng prng;
    uint32_t originals = 0;
    tpcc_text_init(&text);
    prng_seed(&prng, 7);
    for (uint32_t i = 0; i < 20000; i++) {
        char data[50];
        tpcc_text_data(&text, &prng, data);
        assert_in_range(strnlen(data, sizeof(data)), 26, 50);
        originals += tpcc_text_is_original(data);
    }
    assert_in_range(originals, 1850, 2150);
}

static void random_texts_keep_to_their_length(void **state)
{
    (void)state;
    struct tpcc_text text;
    struct prng prng;
    tpcc_text_init(&text);
    prng_seed(&prng, 8);
    uint32_t seen[25] = {0};
    for (uint32_t i = 0; i < 5000; i++) {
        char field[26];
        memset(field, '#', sizeof(field));
        uint32_t length = tpcc_text_random(&text, &prng, field + 1, 14, 24);
        seen[length]++;
        for (uint32_t at = 1; at <= 24; at++)
            assert_true(at <= length ? strchr("#", field[at]) == NULL && field[at] != 0 : field[at] == 0);
        assert_true(field[0] == '#' && field[25] == '#');
    }
    for (uint32_t length = 14; length <= 24; length++) assert_true(seen[length] > 300);
}

static void a_note_goes_before_the_data(void **state)
{
    (void)state;
    char data[TPCC_C_DATA_BYTES], before[TPCC_C_DATA_BYTES];
    for (uint32_t i = 0; i < sizeof(data); i++) data[i] = before[i] = (char)('a' + i % 26);
    const struct tpcc_note note = {.c_id = 2999, .c_d_id = 3, .c_w_id = 41, .d_id = 10, .w_id = 7, .h_amount = 123405};
    static const char expected[] = "2999 3 41 10 7 1234.05 ";
    tpcc_text_prepend(&note, data, sizeof(data));
    assert_memory_equal(data, expected, sizeof(expected) - 1);
    assert_memory_equal(data + sizeof(expected) - 1, before, sizeof(data) - (sizeof(expected) - 1));
}

static void history_joins_both_names(void **state)
{
    (void)state;
    char data[24];
    tpcc_text_history("warehouse1", "district10", data);
    assert_memory_equal(data, "warehouse1    district10", 24);
    const char short_name[10] = "ware";
    tpcc_text_history(short_name, "district10", data);
    assert_memory_equal(data, "ware    district10\0\0\0\0\0\0", 24);
}

/* ---- random numbers ---- */

static void nurand_keeps_its_bounds_and_reaches_them(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 3);
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t value = tpcc_input_nurand(&prng, 1023, 777, 1, 3000);
        assert_in_range(value, 1, 3000);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    assert_int_equal(least, 1);
    assert_int_equal(most, 3000);
}

/* The or of two numbers has more bits set than either: with c = 0, multiples of 256 less one are drawn most. */
static void nurand_is_not_uniform(void **state)
{
    (void)state;
    struct prng prng;
    uint32_t hits = 0;
    prng_seed(&prng, 4);
    for (uint32_t i = 0; i < 100000; i++) hits += tpcc_input_nurand(&prng, 255, 0, 0, 999) % 256 == 255;
    assert_in_range(hits, 6500, 12000); /* 0.75^8 of all, where a uniform draw gives 0.3 % */
}

static void constants_of_load_and_run_differ_as_they_must(void **state)
{
    (void)state;
    uint32_t different = 0, before = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct tpcc_nurand nurand = input_of(1, false, seed).nurand;
        int delta = abs((int)nurand.c_last_run - (int)nurand.c_last_load);
        assert_true(delta >= 65 && delta <= 119 && delta != 96 && delta != 112);
        assert_true(nurand.c_last_run <= 255 && nurand.c_customer <= 1023 && nurand.c_item <= 8191);
        different += seed > 0 && nurand.c_last_run != before;
        before = nurand.c_last_run;
        struct tpcc_nurand small = input_of(1, true, seed).nurand;
        assert_true(small.c_last_run != small.c_last_load && small.c_last_run <= small.a_last && small.a_last == 31);
    }
    assert_true(different > 400);
}

static void decks_have_the_exact_mix(void **state)
{
    (void)state;
    static const uint32_t shares[2][TPCC_PROCS] = {{45, 43, 4, 4, 4}, {50, 46, 4, 0, 0}};
    struct prng prng;
    prng_seed(&prng, 5);
    for (int crest = 0; crest < 2; crest++) {
        struct tpcc_deck deck;
        uint8_t first[TPCC_DECK_CARDS];
        bool shuffled = false;
        tpcc_input_deck_init(&deck, crest);
        for (uint32_t hundred = 0; hundred < 20; hundred++) {
            uint32_t dealt[TPCC_TYPES] = {0};
            for (uint32_t i = 0; i < TPCC_DECK_CARDS; i++) {
                uint8_t card = (uint8_t)tpcc_input_deal(&deck, &prng);
                dealt[card]++;
                if (hundred == 0) first[i] = card;
                shuffled |= card != first[i];
            }
            for (uint32_t type = 0; type < TPCC_PROCS; type++) assert_int_equal(dealt[type], shares[crest][type]);
        }
        assert_true(shuffled);
    }
}

/* ---- inputs ---- */

static void the_middle_customer_is_at_half_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(tpcc_procs_middle(1), 0);
    assert_int_equal(tpcc_procs_middle(2), 0);
    assert_int_equal(tpcc_procs_middle(3), 1);
    assert_int_equal(tpcc_procs_middle(4), 1);
    assert_int_equal(tpcc_procs_middle(5), 2);
}

static void stock_is_refilled_below_ten(void **state)
{
    (void)state;
    struct tpcc_stock stock = {.s_quantity = 15};
    tpcc_procs_take(&stock, 5, false);
    assert_int_equal(stock.s_quantity, 10);
    tpcc_procs_take(&stock, 1, true);
    assert_int_equal(stock.s_quantity, 100);
    assert_true(stock.s_ytd == 6 && stock.s_order_cnt == 2 && stock.s_remote_cnt == 1);
}

static void terminals_cover_warehouses_then_districts(void **state)
{
    (void)state;
    struct tpcc_scale scale = tpcc_schema_scale(3, false, false);
    for (uint32_t i = 0; i < 60; i++) {
        struct tpcc_terminal at = tpcc_input_terminal(&scale, i);
        assert_int_equal(at.w_id, 1 + i % 3);
        assert_int_equal(at.d_id, 1 + i / 3 % 10);
    }
}

static void the_lists_name_each_record_once(void **state)
{
    (void)state;
    static const struct {
        uint32_t i_id;
        uint16_t supply_w_id;
    } lines[] = {{50, 2}, {7, 2}, {50, 2}, {50, 1}, {9, 2}, {7, 2}, {3, 3}};
    struct tpcc_order_entry entry = {.w_id = 2, .ol_cnt = 7};
    for (uint32_t i = 0; i < 7; i++) {
        entry.lines[i].i_id = lines[i].i_id;
        entry.lines[i].supply_w_id = lines[i].supply_w_id;
    }
    tpcc_input_list_records(&entry);
    assert_int_equal(entry.stock_count, 5);
    assert_int_equal(entry.item_count, 4);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(entry.stocks[entry.lines[i].stock].key,
                         tpcc_schema_stock_key(lines[i].supply_w_id, lines[i].i_id));
        assert_int_equal(entry.items[entry.lines[i].item].i_id, lines[i].i_id);
    }
    for (uint32_t i = 1; i < 5; i++) assert_true(entry.stocks[i - 1].key < entry.stocks[i].key);
    for (uint32_t i = 1; i < 4; i++) assert_true(entry.items[i - 1].i_id < entry.items[i].i_id);
}

struct seen {
    uint64_t orders, rollbacks, lines, remote_lines, lines_of_order[TPCC_LINES_MAX + 1];
};

static void see_order(struct seen *seen, const struct tpcc_input *input, const struct tpcc_order_entry *entry)
{
    bool all_local = true;
    seen->orders++;
    seen->lines_of_order[entry->ol_cnt]++;
    assert_in_range(entry->d_id, 1, TPCC_DISTRICTS);
    assert_in_range(entry->c_id, 1, input->scale.customers);
    for (uint32_t i = 0; i < entry->ol_cnt; i++) {
        bool unused = entry->lines[i].i_id == input->scale.items + 1;
        assert_true(!unused || i == entry->ol_cnt - 1u);
        if (!unused) assert_in_range(entry->lines[i].i_id, 1, input->scale.items);
        assert_in_range(entry->lines[i].quantity, 1, 10);
        assert_in_range(entry->lines[i].supply_w_id, 1, input->scale.warehouses);
        seen->rollbacks += unused;
        seen->lines++;
        seen->remote_lines += entry->lines[i].supply_w_id != entry->w_id;
        all_local &= entry->lines[i].supply_w_id == entry->w_id;
    }
    assert_int_equal(entry->all_local, all_local);
}

static void orders_have_the_rates_of_the_specification(void **state)
{
    (void)state;
    struct tpcc_input input = input_of(4, false, 1);
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct seen seen = {0};
    struct prng prng;
    assert_non_null(entry);
    prng_seed(&prng, 6);
    for (uint32_t i = 0; i < 100000; i++) {
        tpcc_input_new_order(&input, (struct tpcc_terminal){.w_id = 3, .d_id = 1}, &prng, 5, entry);
        see_order(&seen, &input, entry);
    }
    free(entry);
    assert_in_range(seen.rollbacks, 900, 1100);
    assert_in_range(seen.remote_lines * 10000, seen.lines * 95, seen.lines * 105);
    for (uint32_t count = TPCC_LINES_MIN; count <= TPCC_LINES_MAX; count++)
        assert_in_range(seen.lines_of_order[count], 8700, 9500);
}

static void payments_have_the_rates_of_the_specification(void **state)
{
    (void)state;
    struct tpcc_input input = input_of(4, false, 1);
    struct tpcc_payment *pay = calloc(1, sizeof(*pay));
    struct prng prng;
    uint32_t remote = 0, by_name = 0, warehouses[5] = {0};
    assert_non_null(pay);
    prng_seed(&prng, 9);
    for (uint32_t i = 0; i < 100000; i++) {
        tpcc_input_payment(&input, (struct tpcc_terminal){.w_id = 3, .d_id = 1}, &prng, 5, pay);
        assert_in_range(pay->amount, 100, 500000);
        assert_true(pay->choice.w_id != 3 || pay->choice.d_id == pay->d_id);
        warehouses[pay->choice.w_id]++;
        remote += pay->choice.w_id != 3;
        by_name += pay->choice.by_name;
    }
    free(pay);
    assert_in_range(remote, 14500, 15500);
    assert_in_range(by_name, 59300, 60700);
    assert_true(warehouses[1] > 4700 && warehouses[2] > 4700 && warehouses[4] > 4700);
}

static void one_warehouse_has_nothing_remote(void **state)
{
    (void)state;
    struct tpcc_input input = input_of(1, true, 1);
    struct tpcc_order_entry *entry = calloc(1, sizeof(*entry));
    struct tpcc_payment *pay = calloc(1, sizeof(*pay));
    struct prng prng;
    struct seen seen = {0};
    assert_true(entry && pay);
    prng_seed(&prng, 10);
    for (uint32_t i = 0; i < 20000; i++) {
        tpcc_input_new_order(&input, (struct tpcc_terminal){.w_id = 1, .d_id = 1}, &prng, 5, entry);
        tpcc_input_payment(&input, (struct tpcc_terminal){.w_id = 1, .d_id = 1}, &prng, 5, pay);
        see_order(&seen, &input, entry);
        assert_int_equal(pay->choice.w_id, 1);
        assert_true(!pay->choice.by_name || pay->choice.name < 100);
    }
    assert_int_equal(seen.remote_lines, 0);
    free(entry);
    free(pay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_back_from_their_packing),
        cmocka_unit_test(keys_of_history_never_meet),
        cmocka_unit_test(records_are_as_long_as_said),
        cmocka_unit_test(last_names_are_three_syllables),
        cmocka_unit_test(original_is_found_wherever_it_stands),
        cmocka_unit_test(a_tenth_of_data_is_original),
        cmocka_unit_test(random_texts_keep_to_their_length),
        cmocka_unit_test(a_note_goes_before_the_data),
        cmocka_unit_test(history_joins_both_names),
        cmocka_unit_test(nurand_keeps_its_bounds_and_reaches_them),
        cmocka_unit_test(nurand_is_not_uniform),
        cmocka_unit_test(constants_of_load_and_run_differ_as_they_must),
        cmocka_unit_test(decks_have_the_exact_mix),
        cmocka_unit_test(the_middle_customer_is_at_half_rounded_up),
        cmocka_unit_test(stock_is_refilled_below_ten),
        cmocka_unit_test(terminals_cover_warehouses_then_districts),
        cmocka_unit_test(the_lists_name_each_record_once),
        cmocka_unit_test(orders_have_the_rates_of_the_specification),
        cmocka_unit_test(payments_have_the_rates_of_the_specification),
        cmocka_unit_test(one_warehouse_has_nothing_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
