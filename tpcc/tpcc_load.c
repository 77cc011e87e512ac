#include "tpcc_load.h"

#include "err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of a warehouse: stocks in tenths, the customers of each district, the orders of each district in thirds. */
enum { ITEM_PARTS = 10, STOCK_PARTS = 10, ORDER_PARTS = 3 };
enum { WAREHOUSE_PIECES = STOCK_PARTS + TPCC_DISTRICTS * (1 + ORDER_PARTS) };

/* Streams: of a piece its number; of what pieces share, these and the district's key. */
enum { NAME_STREAM = 1, LINE_COUNT_STREAM, PERMUTATION_STREAM };
#define STREAM(kind, w_id, d_id) ((uint64_t)(kind) << 40 | tpcc_schema_district_key(w_id, d_id))

#define PROGRESS_ROWS 64 /* are counted at once */

/* One piece being loaded. */
struct piece {
    const struct tpcc_load *load;
    struct cellar_lab_client *client;
    struct cellar_error *error;
    struct prng prng;
    uint64_t *progress;
    uint32_t rows_uncounted;
};

static void count_rows(struct piece *piece)
{
    if (piece->progress) __atomic_fetch_add(piece->progress, piece->rows_uncounted, __ATOMIC_RELAXED);
    piece->rows_uncounted = 0;
}

static int add(struct piece *piece, enum tpcc_table table, uint64_t key, const void *row)
{
    if (!piece->load->tables->table[table]) return 0; /* ordered indexes do without */
    if (++piece->rows_uncounted == PROGRESS_ROWS) count_rows(piece);
    return err_last(piece->error, cellar_lab_load(piece->client, piece->load->tables->table[table], key, row));
}

/* ---- what pieces share ------------------------------------------------------------------------------ */

void tpcc_load_names(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint16_t *numbers)
{
    const struct tpcc_scale *scale = &load->scale;
    struct prng prng;
    prng_seed_stream(&prng, load->seed, STREAM(NAME_STREAM, w_id, d_id));
    for (uint32_t i = 0; i < scale->customers; i++)
        numbers[i] = (uint16_t)(i < scale->names ? i
                                                 : tpcc_input_nurand(&prng, load->nurand.a_last,
                                                                     load->nurand.c_last_load, 0, scale->names - 1));
}

void tpcc_load_line_counts(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint8_t *counts)
{
    struct prng prng;
    prng_seed_stream(&prng, load->seed, STREAM(LINE_COUNT_STREAM, w_id, d_id));
    for (uint32_t i = 0; i < load->scale.customers; i++)
        counts[i] = (uint8_t)prng_between(&prng, TPCC_LINES_MIN, TPCC_LINES_MAX);
}

void tpcc_load_permutation(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint16_t *c_ids)
{
    struct prng prng;
    prng_seed_stream(&prng, load->seed, STREAM(PERMUTATION_STREAM, w_id, d_id));
    for (uint32_t i = 0; i < load->scale.customers; i++) {
        uint32_t at = (uint32_t)prng_between(&prng, 0, i);
        c_ids[i] = (uint16_t)(i + 1);
        c_ids[i] = c_ids[at];
        c_ids[at] = (uint16_t)(i + 1);
    }
}

/* ---- items, warehouses, stocks ---------------------------------------------------------------------- */

static int load_items(struct piece *piece, uint32_t first, uint32_t end)
{
    const struct tpcc_text *text = &piece->load->text;
    for (uint32_t i_id = first; i_id < end; i_id++) {
        struct tpcc_item item = {.i_im_id = (uint32_t)prng_between(&piece->prng, 1, 10000)};
        item.i_price = (int64_t)prng_between(&piece->prng, 100, 10000); /* draws in one expression have no order */
        tpcc_text_random(text, &piece->prng, item.i_name, 14, sizeof(item.i_name));
        tpcc_text_data(text, &piece->prng, item.i_data);
        TRY(add(piece, TPCC_ITEM, i_id, &item));
    }
    return 0;
}

static int load_stocks(struct piece *piece, uint32_t w_id, uint32_t first, uint32_t end)
{
    const struct tpcc_text *text = &piece->load->text;
    for (uint32_t i_id = first; i_id < end; i_id++) {
        struct tpcc_stock stock;
        stock.s_quantity = (int32_t)prng_between(&piece->prng, 10, 100);
        stock.s_ytd = stock.s_order_cnt = stock.s_remote_cnt = 0;
        tpcc_text_fill(text, &piece->prng, (char *)&stock + offsetof(struct tpcc_stock, s_dist_01),
                       TPCC_DISTRICTS * sizeof(stock.s_dist_01));
        tpcc_text_data(text, &piece->prng, stock.s_data);
        TRY(add(piece, TPCC_STOCK, tpcc_schema_stock_key(w_id, i_id), &stock));
    }
    return 0;
}

/* Street 1, street 2, city, state and zip code, as warehouses, districts and customers have them. */
static void fill_address(struct piece *piece, char street_1[20], char street_2[20], char city[20], char state[2],
                         char zip[9])
{
    const struct tpcc_text *text = &piece->load->text;
    tpcc_text_random(text, &piece->prng, street_1, 10, 20);
    tpcc_text_random(text, &piece->prng, street_2, 10, 20);
    tpcc_text_random(text, &piece->prng, city, 10, 20);
    tpcc_text_fill(text, &piece->prng, state, 2);
    tpcc_text_digits(&piece->prng, zip, 4);
    memcpy(zip + 4, "11111", 5);
}

static int load_warehouse(struct piece *piece, uint32_t w_id)
{
    struct tpcc_warehouse row = {.w_ytd = (int64_t)TPCC_DISTRICTS * piece->load->scale.customers * 1000,
                                 .w_tax = (int32_t)prng_between(&piece->prng, 0, 2000)};
    tpcc_text_random(&piece->load->text, &piece->prng, row.w_name, 6, sizeof(row.w_name));
    fill_address(piece, row.w_street_1, row.w_street_2, row.w_city, row.w_state, row.w_zip);
    return add(piece, TPCC_WAREHOUSE, tpcc_schema_warehouse_key(w_id), &row);
}

static int load_district(struct piece *piece, uint32_t w_id, uint32_t d_id)
{
    const struct tpcc_scale *scale = &piece->load->scale;
    uint64_t key = tpcc_schema_district_key(w_id, d_id);
    const struct tpcc_new_order_queue queue = {.q_oldest_o_id = scale->delivered + 1};
    struct tpcc_district row = {.d_ytd = (int64_t)scale->customers * 1000,
                                .d_next_o_id = scale->customers + 1,
                                .d_tax = (int32_t)prng_between(&piece->prng, 0, 2000)};
    tpcc_text_random(&piece->load->text, &piece->prng, row.d_name, 6, sizeof(row.d_name));
    fill_address(piece, row.d_street_1, row.d_street_2, row.d_city, row.d_state, row.d_zip);
    TRY(add(piece, TPCC_NEW_ORDER_QUEUE, key, &queue));
    return add(piece, TPCC_DISTRICT, key, &row);
}

/* ---- customers -------------------------------------------------------------------------------------- */

/* A customer among those of its district, for the index by name. */
struct named {
    uint16_t number, c_id;
    char first[16];
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    int order = memcmp(x->first, y->first, sizeof(x->first));
    return order ? order : (x->c_id > y->c_id) - (x->c_id < y->c_id);
}

/* The rows of one last name: `count` customers from named[0] on. */
static int load_name(struct piece *piece, uint32_t w_id, uint32_t d_id, const struct named *named, uint32_t count)
{
    if (count > TPCC_NAME_IDS * TPCC_NAME_PARTS)
        return err_set(piece->error, CELLAR_TOO_LARGE,
                       "last name %u of district %u of warehouse %u has %" PRIu32 " customers, at most %d fit",
                       named->number, d_id, w_id, count, TPCC_NAME_IDS * TPCC_NAME_PARTS);
    for (uint32_t part = 0; part * TPCC_NAME_IDS < count; part++) {
        struct tpcc_customer_by_name row = {.count = (uint16_t)count};
        for (uint32_t i = 0; i < TPCC_NAME_IDS && part * TPCC_NAME_IDS + i < count; i++)
            row.ids[i] = named[part * TPCC_NAME_IDS + i].c_id;
        TRY(add(piece, TPCC_CUSTOMER_BY_NAME, tpcc_schema_name_key(w_id, d_id, named->number, part), &row));
    }
    return 0;
}

static int load_names(struct piece *piece, uint32_t w_id, uint32_t d_id, struct named *named)
{
    uint32_t customers = piece->load->scale.customers;
    qsort(named, customers, sizeof(named[0]), compare_named);
    for (uint32_t first = 0, end; first < customers; first = end) {
        for (end = first; end < customers && named[end].number == named[first].number;) end++;
        TRY(load_name(piece, w_id, d_id, named + first, end - first));
    }
    return 0;
}

static int load_customer(struct piece *piece, uint32_t w_id, uint32_t d_id, uint32_t last_o_id, struct named *named)
{
    const struct tpcc_text *text = &piece->load->text;
    struct prng *prng = &piece->prng;
    uint64_t key = tpcc_schema_customer_key(w_id, d_id, named->c_id);
    bool bad_credit = prng_below(prng, 10) == 0;
    struct tpcc_customer row;
    row.c_balance = -1000;
    row.c_ytd_payment = 1000;
    row.c_payment_cnt = 1;
    row.c_delivery_cnt = 0;
    row.c_since = TPCC_LOAD_DATE;
    row.c_credit_lim = 5000000;
    row.c_discount = (int32_t)prng_between(prng, 0, 5000);
    row.c_last_o_id = last_o_id;
    row.c_w_id = (uint16_t)w_id;
    row.c_d_id = (uint8_t)d_id;
    memcpy(row.c_middle, "OE", 2);
    memcpy(row.c_credit, bad_credit ? "BC" : "GC", 2);
    tpcc_text_random(text, prng, row.c_first, 8, sizeof(row.c_first));
    tpcc_text_last_name(named->number, row.c_last);
    fill_address(piece, row.c_street_1, row.c_street_2, row.c_city, row.c_state, row.c_zip);
    tpcc_text_digits(prng, row.c_phone, sizeof(row.c_phone));
    tpcc_text_random(text, prng, row.c_data, 300, sizeof(row.c_data));
    memcpy(named->first, row.c_first, sizeof(named->first));
    TRY(add(piece, TPCC_CUSTOMER, key, &row));

    struct tpcc_history history = {.h_date = TPCC_LOAD_DATE,
                                   .h_amount = 1000,
                                   .h_c_id = named->c_id,
                                   .h_c_w_id = (uint16_t)w_id,
                                   .h_w_id = (uint16_t)w_id,
                                   .h_c_d_id = (uint8_t)d_id,
                                   .h_d_id = (uint8_t)d_id};
    tpcc_text_random(text, prng, history.h_data, 12, sizeof(history.h_data));
    return add(piece, TPCC_HISTORY, tpcc_schema_history_load_key(key), &history);
}

/* Arrays for one district; too large for a coordinator's stack. */
struct district_plan {
    uint16_t numbers[3000], c_ids[3000], last_o_ids[3000];
    uint8_t line_counts[3000];
    struct named named[3000];
};

static int load_customers(struct piece *piece, uint32_t w_id, uint32_t d_id, struct district_plan *plan)
{
    uint32_t customers = piece->load->scale.customers;
    tpcc_load_names(piece->load, w_id, d_id, plan->numbers);
    tpcc_load_permutation(piece->load, w_id, d_id, plan->c_ids);
    for (uint32_t i = 0; i < customers; i++) plan->last_o_ids[plan->c_ids[i] - 1] = (uint16_t)(i + 1);
    TRY(load_district(piece, w_id, d_id));
    for (uint32_t i = 0; i < customers; i++) {
        plan->named[i].number = plan->numbers[i];
        plan->named[i].c_id = (uint16_t)(i + 1);
        TRY(load_customer(piece, w_id, d_id, plan->last_o_ids[i], &plan->named[i]));
    }
    return load_names(piece, w_id, d_id, plan->named);
}

/* ---- orders ----------------------------------------------------------------------------------------- */

static int load_lines(struct piece *piece, uint32_t w_id, uint64_t order_key, uint32_t count, bool delivered)
{
    const struct tpcc_load *load = piece->load;
    for (uint32_t number = 1; number <= count; number++) {
        struct tpcc_order_line line = {.ol_i_id = (uint32_t)prng_between(&piece->prng, 1, load->scale.items),
                                       .ol_supply_w_id = (uint16_t)w_id,
                                       .ol_quantity = 5};
        line.ol_delivery_d = delivered ? TPCC_LOAD_DATE : 0;
        line.ol_amount = delivered ? 0 : (int64_t)prng_between(&piece->prng, 1, 999999);
        tpcc_text_fill(&load->text, &piece->prng, line.ol_dist_info, sizeof(line.ol_dist_info));
        TRY(add(piece, TPCC_ORDER_LINE, tpcc_schema_line_key(order_key, number), &line));
    }
    return 0;
}

static int load_orders(struct piece *piece, uint32_t w_id, uint32_t d_id, struct district_plan *plan, uint32_t first,
                       uint32_t end)
{
    uint32_t delivered_end = piece->load->scale.delivered;
    tpcc_load_permutation(piece->load, w_id, d_id, plan->c_ids);
    tpcc_load_line_counts(piece->load, w_id, d_id, plan->line_counts);
    for (uint32_t o_id = first; o_id < end; o_id++) {
        uint64_t key = tpcc_schema_order_key(w_id, d_id, o_id);
        bool delivered = o_id <= delivered_end;
        struct tpcc_order order = {.o_entry_d = TPCC_LOAD_DATE,
                                   .o_c_id = plan->c_ids[o_id - 1],
                                   .o_ol_cnt = plan->line_counts[o_id - 1],
                                   .o_all_local = 1,
                                   .o_w_id = (uint16_t)w_id,
                                   .o_d_id = (uint8_t)d_id};
        order.o_carrier_id = delivered ? (uint8_t)prng_between(&piece->prng, 1, 10) : 0;
        TRY(add(piece, TPCC_ORDER, key, &order));
        if (!delivered) TRY(add(piece, TPCC_NEW_ORDER, key, &(struct tpcc_new_order){.no_o_id = o_id}));
        TRY(load_lines(piece, w_id, key, order.o_ol_cnt, delivered));
    }
    return 0;
}

/* ---- pieces ----------------------------------------------------------------------------------------- */

uint32_t tpcc_load_pieces(const struct tpcc_scale *scale) { return ITEM_PARTS + scale->warehouses * WAREHOUSE_PIECES; }

static int load_of_warehouse(struct piece *piece, uint32_t w_id, uint32_t part, struct district_plan *plan)
{
    const struct tpcc_scale *scale = &piece->load->scale;
    if (part < STOCK_PARTS) {
        if (part == 0) TRY(load_warehouse(piece, w_id));
        uint32_t each = scale->items / STOCK_PARTS;
        return load_stocks(piece, w_id, 1 + part * each, 1 + (part + 1) * each);
    }
    part -= STOCK_PARTS;
    if (part < TPCC_DISTRICTS) return load_customers(piece, w_id, 1 + part, plan);
    part -= TPCC_DISTRICTS;
    uint32_t each = scale->customers / ORDER_PARTS, third = part % ORDER_PARTS;
    return load_orders(piece, w_id, 1 + part / ORDER_PARTS, plan, 1 + third * each, 1 + (third + 1) * each);
}

int tpcc_load_piece(const struct tpcc_load *load, struct cellar_lab_client *client, uint32_t number, uint64_t *progress,
                    struct cellar_error *error)
{
    struct piece piece = {.load = load, .client = client, .error = error, .progress = progress};
    prng_seed_stream(&piece.prng, load->seed, number);
    int code;
    if (number < ITEM_PARTS) {
        uint32_t each = load->scale.items / ITEM_PARTS;
        code = load_items(&piece, 1 + number * each, 1 + (number + 1) * each);
    } else {
        struct district_plan *plan = malloc(sizeof(*plan));
        if (!plan) return err_set(error, CELLAR_NOMEM, "no memory for the plan of a district");
        number -= ITEM_PARTS;
        code = load_of_warehouse(&piece, 1 + number / WAREHOUSE_PIECES, number % WAREHOUSE_PIECES, plan);
        free(plan);
    }
    count_rows(&piece);
    return code;
}

void tpcc_load_init(struct tpcc_load *load, const struct tpcc_tables *tables, const struct tpcc_scale *scale,
                    const struct tpcc_nurand *nurand, uint64_t seed)
{
    load->tables = tables;
    load->scale = *scale;
    load->nurand = *nurand;
    load->seed = seed;
    tpcc_text_init(&load->text);
}

/* Rows of a district that depend on what is drawn: order lines, and rows of the index by name. */
static uint64_t drawn_rows(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, struct district_plan *plan)
{
    uint32_t counts[1000] = {0};
    uint64_t rows = 0;
    tpcc_load_names(load, w_id, d_id, plan->numbers);
    tpcc_load_line_counts(load, w_id, d_id, plan->line_counts);
    for (uint32_t i = 0; i < load->scale.customers; i++) {
        rows += plan->line_counts[i];
        rows += !load->scale.by_index && counts[plan->numbers[i]]++ % TPCC_NAME_IDS == 0;
    }
    return rows;
}

int tpcc_load_rows(const struct tpcc_load *load, uint64_t *rows, struct cellar_error *error)
{
    const struct tpcc_scale *scale = &load->scale;
    struct district_plan *plan = malloc(sizeof(*plan));
    if (!plan) return err_set(error, CELLAR_NOMEM, "no memory for the plan of a district");
    /* A district: itself, its queue, customers with a payment and an order each, new orders. */
    uint64_t district = 2 - scale->by_index + 3 * (uint64_t)scale->customers + (scale->customers - scale->delivered);
    *rows = scale->items + scale->warehouses * (1 + scale->items + TPCC_DISTRICTS * district);
    for (uint32_t w_id = 1; w_id <= scale->warehouses; w_id++)
        for (uint32_t d_id = 1; d_id <= TPCC_DISTRICTS; d_id++) *rows += drawn_rows(load, w_id, d_id, plan);
    free(plan);
    return 0;
}
