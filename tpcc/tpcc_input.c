#include "tpcc_input.h"

#include <string.h>

/* A stream of its own for what is drawn once for all clients. */
#define NURAND_STREAM 0x4e5552414e44ull

/* C_LAST of the load, and by how much that of a run may differ (clause 2.1.6.1), at full scale. */
enum { C_LAST_LOAD = 157, C_DELTA_LOW = 65, C_DELTA_HIGH = 119, C_DELTA_NOT_1 = 96, C_DELTA_NOT_2 = 112 };
enum { SMALL_DIVISOR = 8 }; /* of A and of these at a tenth of the scale: keeps A of the form 2^n - 1 */

void tpcc_input_nurand_init(struct tpcc_nurand *nurand, const struct tpcc_scale *scale, uint64_t seed)
{
    uint32_t divisor = scale->names < 1000 ? SMALL_DIVISOR : 1;
    struct prng prng;
    prng_seed_stream(&prng, seed, NURAND_STREAM);
    nurand->a_last = 256 / divisor - 1;
    nurand->a_customer = 1024 / divisor - 1;
    nurand->a_item = 8192 / divisor - 1;
    nurand->c_customer = (uint32_t)prng_between(&prng, 0, nurand->a_customer);
    nurand->c_item = (uint32_t)prng_between(&prng, 0, nurand->a_item);
    nurand->c_last_load = C_LAST_LOAD / divisor;
    uint32_t delta;
    do {
        nurand->c_last_run = (uint32_t)prng_between(&prng, 0, nurand->a_last);
        delta = nurand->c_last_run > nurand->c_last_load ? nurand->c_last_run - nurand->c_last_load
                                                         : nurand->c_last_load - nurand->c_last_run;
    } while (delta * divisor < C_DELTA_LOW || delta * divisor > C_DELTA_HIGH || delta == C_DELTA_NOT_1 / divisor ||
             delta == C_DELTA_NOT_2 / divisor);
}

uint32_t tpcc_input_nurand(struct prng *prng, uint32_t a, uint32_t c, uint32_t low, uint32_t high)
{
    uint32_t wide = (uint32_t)prng_between(prng, 0, a); /* draws in one expression have no order */
    uint32_t both = wide | (uint32_t)prng_between(prng, low, high);
    return (both + c) % (high - low + 1) + low;
}

void tpcc_input_deck_init(struct tpcc_deck *deck, bool mix_crest)
{
    static const uint8_t shares[2][TPCC_PROCS] = {{45, 43, 4, 4, 4}, {50, 46, 4, 0, 0}};
    uint32_t count = 0;
    for (uint8_t type = 0; type < TPCC_PROCS; type++)
        for (uint32_t i = 0; i < shares[mix_crest][type]; i++) deck->cards[count++] = type;
    deck->next = TPCC_DECK_CARDS;
}

enum tpcc_type tpcc_input_deal(struct tpcc_deck *deck, struct prng *prng)
{
    if (deck->next == TPCC_DECK_CARDS) deck->next = 0;
    /* The shuffle of Fisher and Yates, one step for each card dealt. */
    uint32_t chosen = (uint32_t)prng_between(prng, deck->next, TPCC_DECK_CARDS - 1);
    uint8_t card = deck->cards[chosen];
    deck->cards[chosen] = deck->cards[deck->next];
    deck->cards[deck->next++] = card;
    return (enum tpcc_type)card;
}

struct tpcc_terminal tpcc_input_terminal(const struct tpcc_scale *scale, uint32_t client_index)
{
    return (struct tpcc_terminal){
        .w_id = (uint16_t)(1 + client_index % scale->warehouses),
        .d_id = (uint8_t)(1 + client_index / scale->warehouses % TPCC_DISTRICTS),
    };
}

static bool percent(struct prng *prng, uint32_t percentage) { return prng_below(prng, 100) < percentage; }

static uint16_t other_warehouse(const struct tpcc_input *input, uint16_t w_id, struct prng *prng)
{
    if (input->scale.warehouses == 1) return w_id;
    uint16_t other = (uint16_t)prng_between(prng, 1, input->scale.warehouses - 1);
    return other < w_id ? other : (uint16_t)(other + 1);
}

static uint8_t random_district(struct prng *prng) { return (uint8_t)prng_between(prng, 1, TPCC_DISTRICTS); }

static uint16_t random_customer(const struct tpcc_input *input, struct prng *prng)
{
    return (uint16_t)tpcc_input_nurand(prng, input->nurand.a_customer, input->nurand.c_customer, 1,
                                       input->scale.customers);
}

static void choose_customer(const struct tpcc_input *input, struct prng *prng, struct tpcc_customer_choice *choice)
{
    choice->by_name = percent(prng, 60);
    if (choice->by_name)
        choice->name = (uint16_t)tpcc_input_nurand(prng, input->nurand.a_last, input->nurand.c_last_run, 0,
                                                   input->scale.names - 1);
    else
        choice->c_id = random_customer(input, prng);
}

/* Finds or makes the place of a stock in the sorted list; lines that point behind it move with their entries. */
static uint32_t stock_place(struct tpcc_order_entry *entry, uint64_t key, uint32_t lines_done)
{
    uint32_t at = entry->stock_count;
    while (at > 0 && entry->stocks[at - 1].key >= key) at--;
    if (at < entry->stock_count && entry->stocks[at].key == key) return at;
    for (uint32_t i = entry->stock_count++; i > at; i--) entry->stocks[i].key = entry->stocks[i - 1].key;
    entry->stocks[at].key = key;
    for (uint32_t i = 0; i < lines_done; i++) entry->lines[i].stock += entry->lines[i].stock >= at;
    return at;
}

static uint32_t item_place(struct tpcc_order_entry *entry, uint32_t i_id, uint32_t lines_done)
{
    uint32_t at = entry->item_count;
    while (at > 0 && entry->items[at - 1].i_id >= i_id) at--;
    if (at < entry->item_count && entry->items[at].i_id == i_id) return at;
    for (uint32_t i = entry->item_count++; i > at; i--) entry->items[i].i_id = entry->items[i - 1].i_id;
    entry->items[at].i_id = i_id;
    for (uint32_t i = 0; i < lines_done; i++) entry->lines[i].item += entry->lines[i].item >= at;
    return at;
}

void tpcc_input_list_records(struct tpcc_order_entry *entry)
{
    entry->stock_count = entry->item_count = 0;
    for (uint32_t i = 0; i < entry->ol_cnt; i++) {
        uint32_t i_id = entry->lines[i].i_id;
        entry->lines[i].stock =
            (uint8_t)stock_place(entry, tpcc_schema_stock_key(entry->lines[i].supply_w_id, i_id), i);
        entry->lines[i].item = (uint8_t)item_place(entry, i_id, i);
    }
}

void tpcc_input_new_order(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                          struct tpcc_order_entry *entry)
{
    entry->tables = input->tables;
    entry->w_id = at.w_id;
    entry->d_id = random_district(prng);
    entry->c_id = random_customer(input, prng);
    entry->ol_cnt = (uint8_t)prng_between(prng, TPCC_LINES_MIN, TPCC_LINES_MAX);
    entry->entry_d = now;
    entry->all_local = 1;
    for (uint32_t i = 0; i < entry->ol_cnt; i++) {
        entry->lines[i].i_id =
            tpcc_input_nurand(prng, input->nurand.a_item, input->nurand.c_item, 1, input->scale.items);
        entry->lines[i].quantity = (uint8_t)prng_between(prng, 1, 10);
        entry->lines[i].supply_w_id = percent(prng, 1) ? other_warehouse(input, at.w_id, prng) : at.w_id;
        if (entry->lines[i].supply_w_id != at.w_id) entry->all_local = 0;
    }
    bool rollback = percent(prng, 1);
    if (rollback) entry->lines[entry->ol_cnt - 1].i_id = input->scale.items + 1;
    tpcc_input_list_records(entry);
}

void tpcc_input_payment(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                        struct tpcc_payment *pay)
{
    pay->tables = input->tables;
    pay->w_id = at.w_id;
    pay->d_id = random_district(prng);
    pay->choice.w_id = at.w_id;
    pay->choice.d_id = pay->d_id;
    if (percent(prng, 15)) {
        pay->choice.w_id = other_warehouse(input, at.w_id, prng);
        pay->choice.d_id = random_district(prng);
    }
    choose_customer(input, prng, &pay->choice);
    pay->amount = (int64_t)prng_between(prng, 100, 500000);
    pay->date = now;
}

void tpcc_input_order_status(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng,
                             struct tpcc_order_status *status)
{
    status->tables = input->tables;
    status->choice.w_id = at.w_id;
    status->choice.d_id = random_district(prng);
    choose_customer(input, prng, &status->choice);
}

void tpcc_input_delivery(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng, int64_t now,
                         struct tpcc_delivery *delivery)
{
    delivery->tables = input->tables;
    delivery->w_id = at.w_id;
    delivery->carrier_id = (uint8_t)prng_between(prng, 1, 10);
    delivery->date = now;
}

void tpcc_input_stock_level(const struct tpcc_input *input, struct tpcc_terminal at, struct prng *prng,
                            struct tpcc_stock_level *level)
{
    level->tables = input->tables;
    level->items = input->scale.items;
    level->w_id = at.w_id;
    level->d_id = at.d_id;
    level->threshold = (int32_t)prng_between(prng, 10, 20);
}
