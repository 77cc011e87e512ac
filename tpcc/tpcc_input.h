/*
 * tpcc_input.h - what terminals would type: the mix, the non-uniform random numbers and the inputs of each transaction
 * (clauses 2.1.6, 2.4.1 to 2.8.1, 5.2.4). Pure: the same client state gives the same inputs.
 */
#pragma once

#include "tpcc_procs.h"
#include "tpcc_text.h"
#include "workload.h"

enum tpcc_type {
    TPCC_TYPE_NEW_ORDER,
    TPCC_TYPE_PAYMENT,
    TPCC_TYPE_ORDER_STATUS,
    TPCC_TYPE_DELIVERY,
    TPCC_TYPE_STOCK_LEVEL,
    TPCC_TYPE_NEW_ORDER_ROLLBACK, /* never drawn: what a NewOrder turns out to be */
    TPCC_TYPES
};

/* The constants A and C of NURand(A, x, y) for each of its three uses. */
struct tpcc_nurand {
    uint32_t a_last, a_customer, a_item;
    uint32_t c_last_load, c_last_run, c_customer, c_item;
};

/*
 * A fits the ranges of the scale. C_LAST of the load is fixed, so that any run on a loaded pool knows it; that of the
 * run is drawn so that both differ as clause 2.1.6.1 demands.
 */
void tpcc_input_nurand_init(struct tpcc_nurand *nurand, const struct tpcc_scale *scale, uint64_t seed);
/* (((random(0..a) | random(low..high)) + c) mod (high - low + 1)) + low */
uint32_t tpcc_input_nurand(struct prng *prng, uint32_t a, uint32_t c, uint32_t low, uint32_t high);

/* A shuffled deck of 100 cards, dealt to the end and shuffled again: each hundred transactions have the exact mix. */
#define TPCC_DECK_CARDS 100
struct tpcc_deck {
    uint8_t cards[TPCC_DECK_CARDS]; /* enum tpcc_type */
    uint32_t next;
};
void tpcc_input_deck_init(struct tpcc_deck *deck, bool mix_crest);
enum tpcc_type tpcc_input_deal(struct tpcc_deck *deck, struct prng *prng);

/* What inputs are drawn for. */
struct tpcc_input {
    const struct tpcc_tables *tables;
    struct tpcc_scale scale;
    struct tpcc_nurand nurand;
};

/* The terminal of a client: its warehouse, and the district of its StockLevels. */
struct tpcc_terminal {
    uint16_t w_id;
    uint8_t d_id;
};
struct tpcc_terminal tpcc_input_terminal(const struct tpcc_scale *scale, uint32_t client_index);

/* Each fills the inputs of its struct; outputs and scratch are left as they are. history_key is the caller's. */
void tpcc_input_new_order(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                          struct tpcc_order_entry *entry);
void tpcc_input_payment(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                        struct tpcc_payment *pay);
void tpcc_input_order_status(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng,
                             struct tpcc_order_status *status);
void tpcc_input_delivery(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                         struct tpcc_delivery *delivery);
void tpcc_input_stock_level(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng,
                            struct tpcc_stock_level *level);

/*
 * Lists each stock record and each item of the lines once, in the order of their keys, and tells each line its
 * places.
 */
void tpcc_input_list_records(struct tpcc_order_entry *entry);
