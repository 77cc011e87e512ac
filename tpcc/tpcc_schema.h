/*
 * tpcc_schema.h - the tables of TPC-C (revision 5.11) as rows, columns, cells and keys, and the handles of an open
 * database.
 *
 * Nine tables of the specification, and what finds rows by other than their keys: ordered indexes of these tables
 * (`by_index`), or two tables that stand for them: customer_by_name (customers of one last name, sorted by first name;
 * never changed after the load) and new_order_queue (the oldest undelivered order of a district, moved on by Delivery).
 * A third such lookup is then a column of the customer (c_last_o_id: its last order).
 *
 * Columns of a primary key are stored in the record's key, which every record carries, and not again in a cell; history
 * has no primary key and stores all. Money is in cents, tax and discount in 1/10000; dates are nanoseconds of the
 * fabric's clock, moved so that 0 (a NULL date) and TPCC_LOAD_DATE come before all of them. Text shorter than its
 * column ends in zeros. Structs list 8-byte fields first so that the columns of a cell lie together, without padding,
 * in the row as in the record.
 */
#pragma once

#include "cellar.h"
#include "schemadef.h"

#define TPCC_WAREHOUSES_MAX 65535
#define TPCC_DISTRICTS 10 /* of a warehouse */
#define TPCC_LINES_MIN 5
#define TPCC_LINES_MAX 15
#define TPCC_NAME_IDS 27  /* customer ids of one customer_by_name row: what fills a cell of one line */
#define TPCC_NAME_PARTS 8 /* rows of one last name at most */
#define TPCC_LOAD_DATE 1
#define TPCC_FIRST_DATE 2
#define TPCC_DATA_BYTES 50
#define TPCC_C_DATA_BYTES 500

struct tpcc_warehouse {
    int64_t w_ytd;
    int32_t w_tax;
    char w_name[10], w_street_1[20], w_street_2[20], w_city[20], w_state[2], w_zip[9];
};

struct tpcc_district {
    int64_t d_ytd;
    uint32_t d_next_o_id;
    int32_t d_tax;
    char d_name[10], d_street_1[20], d_street_2[20], d_city[20], d_state[2], d_zip[9];
};

struct tpcc_customer {
    int64_t c_balance, c_ytd_payment;
    uint32_t c_payment_cnt, c_delivery_cnt;
    int64_t c_since, c_credit_lim;
    int32_t c_discount;
    char c_first[16], c_middle[2], c_last[16], c_credit[2];
    uint16_t c_w_id; /* by_index only: columns of an index */
    uint8_t c_d_id;
    char c_street_1[20], c_street_2[20], c_city[20], c_state[2], c_zip[9], c_phone[16];
    uint32_t c_last_o_id; /* not by_index, nor of the specification: O_ID of the customer's newest order */
    char c_data[TPCC_C_DATA_BYTES];
};

struct tpcc_history {
    int64_t h_date, h_amount;
    uint16_t h_c_id, h_c_w_id, h_w_id;
    uint8_t h_c_d_id, h_d_id;
    char h_data[24];
};

struct tpcc_order {
    int64_t o_entry_d;
    uint16_t o_c_id;
    uint8_t o_ol_cnt, o_all_local;
    uint16_t o_w_id; /* by_index only: columns of an index */
    uint8_t o_d_id;
    uint8_t o_carrier_id; /* 0: NULL */
};

/* A table needs a column, so the order number stands here too. */
struct tpcc_new_order {
    uint32_t no_o_id;
};

struct tpcc_order_line {
    int64_t ol_delivery_d; /* 0: NULL */
    int64_t ol_amount;
    uint32_t ol_i_id;
    uint16_t ol_supply_w_id;
    uint8_t ol_quantity;
    char ol_dist_info[24];
};

struct tpcc_item {
    int64_t i_price;
    uint32_t i_im_id;
    char i_name[24], i_data[TPCC_DATA_BYTES];
};

struct tpcc_stock {
    int32_t s_quantity;
    uint32_t s_ytd, s_order_cnt, s_remote_cnt;
    char s_dist_01[24], s_dist_02[24], s_dist_03[24], s_dist_04[24], s_dist_05[24];
    char s_dist_06[24], s_dist_07[24], s_dist_08[24], s_dist_09[24], s_dist_10[24];
    char s_data[TPCC_DATA_BYTES];
};

/* count: customers of this name in all parts (the same in each part); ids: this part's, sorted by C_FIRST. */
struct tpcc_customer_by_name {
    uint16_t count;
    uint16_t ids[TPCC_NAME_IDS];
};

struct tpcc_new_order_queue {
    uint32_t q_oldest_o_id; /* the next order of the district to deliver; d_next_o_id when there is none */
};

/* ---- keys ------------------------------------------------------------------------------------------- */

enum { TPCC_DISTRICT_BITS = 4, TPCC_CUSTOMER_BITS = 12, TPCC_ITEM_BITS = 17, TPCC_ORDER_BITS = 32, TPCC_LINE_BITS = 4 };
enum { TPCC_NAME_BITS = 10, TPCC_PART_BITS = 3 };

static inline uint64_t tpcc_schema_warehouse_key(uint32_t w_id) { return w_id; }

/* Also the key of new_order_queue. */
static inline uint64_t tpcc_schema_district_key(uint32_t w_id, uint32_t d_id)
{
    return (uint64_t)w_id << TPCC_DISTRICT_BITS | d_id;
}

static inline uint64_t tpcc_schema_customer_key(uint32_t w_id, uint32_t d_id, uint32_t c_id)
{
    return tpcc_schema_district_key(w_id, d_id) << TPCC_CUSTOMER_BITS | c_id;
}

/* `number`: of the last name, 0..999; part 0 is the first row of the name's list. */
static inline uint64_t tpcc_schema_name_key(uint32_t w_id, uint32_t d_id, uint32_t number, uint32_t part)
{
    return (tpcc_schema_district_key(w_id, d_id) << TPCC_NAME_BITS | number) << TPCC_PART_BITS | part;
}

static inline uint64_t tpcc_schema_stock_key(uint32_t w_id, uint32_t i_id)
{
    return (uint64_t)w_id << TPCC_ITEM_BITS | i_id;
}

/* Of order and new_order. */
static inline uint64_t tpcc_schema_order_key(uint32_t w_id, uint32_t d_id, uint32_t o_id)
{
    return tpcc_schema_district_key(w_id, d_id) << TPCC_ORDER_BITS | o_id;
}

static inline uint64_t tpcc_schema_line_key(uint64_t order_key, uint32_t ol_number)
{
    return order_key << TPCC_LINE_BITS | ol_number;
}

/* The initial payment of each customer. */
static inline uint64_t tpcc_schema_history_load_key(uint64_t customer_key) { return 1ull << 63 | customer_key; }

/* History has no primary key: a session names its rows by its number (16 bits), a tag it has drawn (16) and a count. */
static inline uint64_t tpcc_schema_history_key(uint32_t session, uint32_t tag, uint32_t count)
{
    return (uint64_t)(session & 0x7fff) << 48 | (uint64_t)(tag & 0xffff) << 32 | count;
}

/* What a packed key was made of. Fields that the table's key lacks are left as they are. */
struct tpcc_key {
    uint32_t w_id, d_id, c_id, o_id, ol_number, i_id, name, part;
};

static inline void tpcc_schema_unpack_district(uint64_t key, struct tpcc_key *of)
{
    of->d_id = (uint32_t)(key & ((1u << TPCC_DISTRICT_BITS) - 1));
    of->w_id = (uint32_t)(key >> TPCC_DISTRICT_BITS);
}

static inline void tpcc_schema_unpack_customer(uint64_t key, struct tpcc_key *of)
{
    of->c_id = (uint32_t)(key & ((1u << TPCC_CUSTOMER_BITS) - 1));
    tpcc_schema_unpack_district(key >> TPCC_CUSTOMER_BITS, of);
}

static inline void tpcc_schema_unpack_name(uint64_t key, struct tpcc_key *of)
{
    of->part = (uint32_t)(key & ((1u << TPCC_PART_BITS) - 1));
    of->name = (uint32_t)(key >> TPCC_PART_BITS & ((1u << TPCC_NAME_BITS) - 1));
    tpcc_schema_unpack_district(key >> (TPCC_NAME_BITS + TPCC_PART_BITS), of);
}

static inline void tpcc_schema_unpack_stock(uint64_t key, struct tpcc_key *of)
{
    of->i_id = (uint32_t)(key & ((1u << TPCC_ITEM_BITS) - 1));
    of->w_id = (uint32_t)(key >> TPCC_ITEM_BITS);
}

static inline void tpcc_schema_unpack_order(uint64_t key, struct tpcc_key *of)
{
    of->o_id = (uint32_t)key;
    tpcc_schema_unpack_district(key >> TPCC_ORDER_BITS, of);
}

static inline void tpcc_schema_unpack_line(uint64_t key, struct tpcc_key *of)
{
    of->ol_number = (uint32_t)(key & ((1u << TPCC_LINE_BITS) - 1));
    tpcc_schema_unpack_order(key >> TPCC_LINE_BITS, of);
}

/* ---- scale ------------------------------------------------------------------------------------------ */

/*
 * How much of everything there is, and what leads to it. Only warehouses are free; the small scale divides the others
 * by ten.
 */
struct tpcc_scale {
    bool by_index; /* ordered indexes; else the two tables and the column that stand for them */
    uint32_t warehouses;
    uint32_t customers; /* of a district, and orders of a district at the load: 3000 */
    uint32_t delivered; /* of these orders: 2100 */
    uint32_t items;     /* 100000 */
    uint32_t names;     /* last names in use: 1000 */
};

struct tpcc_scale tpcc_schema_scale(uint32_t warehouses, bool small, bool by_index);

/* ---- an open database ------------------------------------------------------------------------------- */

enum tpcc_table {
    TPCC_WAREHOUSE,
    TPCC_DISTRICT,
    TPCC_CUSTOMER,
    TPCC_HISTORY,
    TPCC_ORDER,
    TPCC_NEW_ORDER,
    TPCC_ORDER_LINE,
    TPCC_ITEM,
    TPCC_STOCK,
    TPCC_CUSTOMER_BY_NAME,
    TPCC_NEW_ORDER_QUEUE,
    TPCC_TABLES
};

/* Tables (NULL: there is none), and the cells and columns the procedures name, looked up once. */
struct tpcc_tables {
    const struct cellar_table *table[TPCC_TABLES];
    /* by_index: C_W_ID, C_D_ID, C_LAST, C_FIRST; O_W_ID, O_D_ID, O_C_ID; the keys themselves. Else all NULL */
    const struct cellar_index *customers_by_name, *orders_by_customer, *new_orders_by_key, *lines_by_key;
    cellar_cells warehouse_ytd, warehouse_tax, warehouse_address;
    cellar_cells district_ytd, district_next, district_tax, district_address;
    cellar_cells customer_balance, customer_identity, customer_address, customer_last_o, customer_data;
    cellar_cells order_body, order_carrier, line_body, line_delivery;
    cellar_cells stock_counts, stock_data, stock_dist[TPCC_DISTRICTS];
    int w_ytd, w_tax, d_ytd, d_tax, d_next_o_id, c_last_o_id, c_data;
    int o_carrier_id, ol_i_id, ol_amount, ol_delivery_d, s_quantity, s_data, s_dist[TPCC_DISTRICTS], q_oldest_o_id;
    int h_data;
};

/* Records of a table after the load and `txns` committed transactions of the chosen mix, generously. */
uint64_t tpcc_schema_records_max(const struct tpcc_scale *scale, bool mix_crest, uint64_t txns, enum tpcc_table table);
/* Bytes of one record as laid out: header, cells, padding. A unit test compares them with the engine's own layout. */
uint32_t tpcc_schema_record_bytes(enum tpcc_table table);
/* Bytes of an ordered index for one record of the table, nodes being as full as they usually are. */
uint32_t tpcc_schema_entry_bytes(const struct tpcc_scale *scale, enum tpcc_table table);
/* The public schema of a table; valid for ever. records_max is left 0. */
struct cellar_schema tpcc_schema_of(enum tpcc_table table, bool by_index);
/* Creates, or finds, all tables; finds the indexes of a pool that has been loaded. */
CELLAR_NODISCARD int tpcc_schema_open(struct cellar *db, const struct tpcc_scale *scale, bool mix_crest,
                                      uint64_t expected_txns, struct tpcc_tables *tables, struct cellar_error *error);
/* Creates, or finds, the indexes of loaded tables; none unless by_index. */
CELLAR_NODISCARD int tpcc_schema_index(struct cellar *db, const struct tpcc_scale *scale, struct tpcc_tables *tables,
                                       struct cellar_error *error);
