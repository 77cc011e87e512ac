/*
 * tpcc_procs.h - the five transactions as stored procedures. Each takes its struct as `args`: inputs are set once for a
 * transaction, outputs anew by each attempt, scratch is the procedure's. Blocks and their records: docs/tpcc.md.
 *
 * What an attempt reads may be inconsistent and is validated only afterwards. So counts and ids that were read are
 * held to their ranges before they are used; one out of range ends the attempt with GIVEN_UP, which the engine
 * retries unless the reads prove to be true. It then means a damaged database, but for NewOrder's unused item.
 */
#pragma once

#include "cellar_proc.h"
#include "tpcc_schema.h"

/* A code below zero, also of a call that returns a reference, ends the procedure. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_code = (call);                                                                                         \
        if (try_code < 0) return try_code;                                                                             \
    } while (0)

/* Who the customer of a Payment or an OrderStatus is: by number, or the middle one of a last name. */
struct tpcc_customer_choice {
    uint16_t w_id;
    uint8_t d_id;
    bool by_name;
    uint16_t name; /* if by_name */
    uint16_t c_id; /* else; set by the procedure if by_name */
};

/* One stock record of a NewOrder; several lines may take from it. Sorted by key. */
struct tpcc_stock_use {
    uint64_t key;
    int ref;
    struct tpcc_stock row;
};

/* One item record of a NewOrder, likewise. */
struct tpcc_item_use {
    uint32_t i_id;
    int ref;
    struct tpcc_item row;
};

struct tpcc_order_entry {
    const struct tpcc_tables *tables;
    /* input */
    uint16_t w_id, c_id;
    uint8_t d_id, ol_cnt, all_local;
    int64_t entry_d;
    struct {
        uint32_t i_id;
        uint16_t supply_w_id;
        uint8_t quantity;
        uint8_t stock, item; /* places in the lists below */
        /* output */
        bool brand; /* item and stock both "ORIGINAL" */
        int32_t s_quantity;
        int64_t amount;
    } lines[TPCC_LINES_MAX];
    uint32_t stock_count, item_count;
    /* output */
    bool item_missing;
    uint32_t o_id;
    int64_t total;
    struct tpcc_customer customer; /* c_last, c_credit, c_discount */
    int32_t w_tax, d_tax;
    /* scratch */
    struct tpcc_stock_use stocks[TPCC_LINES_MAX];
    struct tpcc_item_use items[TPCC_LINES_MAX];
};

struct tpcc_payment {
    const struct tpcc_tables *tables;
    /* input */
    uint16_t w_id;
    uint8_t d_id;
    struct tpcc_customer_choice choice;
    uint64_t history_key;
    int64_t date, amount;
    /* output */
    struct tpcc_warehouse warehouse;
    struct tpcc_district district;
    struct tpcc_customer customer;
};

struct tpcc_order_status {
    const struct tpcc_tables *tables;
    /* input */
    struct tpcc_customer_choice choice;
    /* output */
    uint32_t o_id;
    struct tpcc_customer customer;
    struct tpcc_order order;
    struct tpcc_order_line lines[TPCC_LINES_MAX];
};

struct tpcc_delivery {
    const struct tpcc_tables *tables;
    /* input */
    uint16_t w_id;
    uint8_t carrier_id;
    int64_t date;
    /* output: delivered order of each district, 0 where none waited */
    uint32_t o_id[TPCC_DISTRICTS];
    /* scratch */
    struct {
        uint32_t head;
        uint16_t c_id;
        uint8_t ol_cnt;
        int queue, new_order, order, customer;
        int lines[TPCC_LINES_MAX];
    } districts[TPCC_DISTRICTS];
};

#define TPCC_STOCK_LEVEL_ORDERS 20
#define TPCC_STOCK_LEVEL_LINES (TPCC_STOCK_LEVEL_ORDERS * TPCC_LINES_MAX)
#define TPCC_STOCK_LEVEL_SLOTS 1024 /* of the hash that finds distinct items; a power of two */

struct tpcc_stock_level {
    const struct tpcc_tables *tables;
    uint32_t items; /* that there are */
    /* input */
    uint16_t w_id;
    uint8_t d_id;
    int32_t threshold;
    /* output */
    uint32_t low_count;
    /* scratch */
    uint32_t ref_count;
    int refs[TPCC_STOCK_LEVEL_LINES];
    uint32_t item_slots[TPCC_STOCK_LEVEL_SLOTS];
};

/* The customer of a list of `count` with one last name, counted from 0: the one at n/2, rounded up. */
static inline uint32_t tpcc_procs_middle(uint32_t count) { return (count + 1) / 2 - 1; }

/* A line of a NewOrder takes `quantity` from a stock: clause 2.4.2.2. */
static inline void tpcc_procs_take(struct tpcc_stock *stock, int32_t quantity, bool remote)
{
    stock->s_quantity += stock->s_quantity >= quantity + 10 ? -quantity : 91 - quantity;
    stock->s_ytd += (uint32_t)quantity;
    stock->s_order_cnt++;
    stock->s_remote_cnt += remote;
}

/* Declares, in a block of its own if `choice` is by name, and finds who it is: 0, or a code to return. */
int tpcc_procs_choose(struct cellar_txn *txn, const struct tpcc_tables *tables, struct tpcc_customer_choice *choice);

int tpcc_procs_new_order(struct cellar_txn *txn, void *args);
int tpcc_procs_payment(struct cellar_txn *txn, void *args);
int tpcc_procs_order_status(struct cellar_txn *txn, void *args);
int tpcc_procs_delivery(struct cellar_txn *txn, void *args);
int tpcc_procs_stock_level(struct cellar_txn *txn, void *args);

/* What the engine must know of a procedure: its name and bounds. In the order of the transaction types. */
#define TPCC_PROCS 5
extern const struct cellar_proc_def tpcc_procs[TPCC_PROCS];
