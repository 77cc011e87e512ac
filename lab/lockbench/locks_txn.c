/* locks_txn.c - the locks of transactions. */
#include "locks_txn.h"

#include <string.h>

static void add(struct locks_txn *txn, uint64_t lock, enum lockmgr_mode mode)
{
    uint32_t at = 0;
    while (at < txn->count && txn->locks[at].lock < lock) at++;
    if (at < txn->count && txn->locks[at].lock == lock) {
        if (mode == LOCKMGR_EXCLUSIVE) txn->locks[at].mode = mode;
        return;
    }
    if (txn->count == LOCKS_TXN_MAX) return;
    memmove(&txn->locks[at + 1], &txn->locks[at], (txn->count - at) * sizeof txn->locks[0]);
    txn->locks[at].lock = lock;
    txn->locks[at].mode = mode;
    txn->count++;
}

static uint64_t below(struct locks_client *client, uint64_t bound) { return prng_below(&client->prng, bound); }

static bool happens(struct locks_client *client, double chance)
{
    return chance > 0 && (double)below(client, 1u << 30) < chance * (1u << 30);
}

static uint64_t mix(uint64_t word)
{
    word *= 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 29) * 0xbf58476d1ce4e5b9ull;
    return word ^ word >> 32;
}

/* ---- TPC-C ---- */

enum { WAREHOUSE = 1, DISTRICT, CUSTOMER, STOCK, ORDERS, ORDER_LINES, NEW_ORDERS };
#define CUSTOMERS_LOCK 0 /* of the whole table: before all rows */
#define DISTRICTS 10
#define DISTRICT_CUSTOMERS 3000 /* each has an order, the newest of its own */
#define ITEMS 100000
#define CUSTOMERS_MASK 1023 /* of the non-uniform distribution of clause 2.1.6, */
#define ITEMS_MASK 8191     /* ... with constants 0 */
#define LINES_MIN 5
#define LINES_MAX 15

/* The lock of a row: tables share the space of locks, scattered. */
static void add_row(struct locks_client *client, struct locks_txn *txn, uint64_t table, uint64_t row,
                    enum lockmgr_mode mode)
{
    add(txn, mix(table << 56 | row) % client->worker->run->plan->locks, mode);
}

static uint64_t skewed(struct locks_client *client, uint64_t mask, uint64_t count)
{
    uint64_t low = below(client, mask + 1);
    return (low | below(client, count)) % count;
}

/* Any customer of the district; with scans, under the lock of the whole table, as there are no intention locks. */
static uint64_t add_customer(struct locks_client *client, struct locks_txn *txn, uint64_t district,
                             enum lockmgr_mode mode)
{
    uint64_t customer = district * DISTRICT_CUSTOMERS + skewed(client, CUSTOMERS_MASK, DISTRICT_CUSTOMERS);
    if (client->worker->run->plan->scans) add(txn, CUSTOMERS_LOCK, mode);
    add_row(client, txn, CUSTOMER, customer, mode);
    return customer;
}

static void add_order(struct locks_client *client, struct locks_txn *txn, uint64_t order, enum lockmgr_mode mode)
{
    uint64_t lines = LINES_MIN + mix(order) % (LINES_MAX - LINES_MIN + 1);
    add_row(client, txn, ORDERS, order, mode);
    for (uint64_t i = 0; i < lines; i++) add_row(client, txn, ORDER_LINES, order * LINES_MAX + i, mode);
}

static uint64_t other_warehouse(struct locks_client *client, uint64_t warehouse, double chance)
{
    uint64_t count = client->worker->run->plan->warehouses;
    if (count < 2 || !happens(client, chance)) return warehouse;
    return (warehouse + 1 + below(client, count - 1)) % count;
}

static void new_order(struct locks_client *client, struct locks_txn *txn, uint64_t warehouse)
{
    uint64_t district = warehouse * DISTRICTS + below(client, DISTRICTS);
    add_row(client, txn, WAREHOUSE, warehouse, LOCKMGR_SHARED);
    add_row(client, txn, DISTRICT, district, LOCKMGR_EXCLUSIVE);
    (void)add_customer(client, txn, district, LOCKMGR_SHARED);
    for (uint64_t lines = LINES_MIN + below(client, LINES_MAX - LINES_MIN + 1); lines > 0; lines--) {
        uint64_t from = other_warehouse(client, warehouse, 0.01);
        add_row(client, txn, STOCK, from * ITEMS + skewed(client, ITEMS_MASK, ITEMS), LOCKMGR_EXCLUSIVE);
    }
}

static void payment(struct locks_client *client, struct locks_txn *txn, uint64_t warehouse)
{
    add_row(client, txn, WAREHOUSE, warehouse, LOCKMGR_EXCLUSIVE);
    add_row(client, txn, DISTRICT, warehouse * DISTRICTS + below(client, DISTRICTS), LOCKMGR_EXCLUSIVE);
    uint64_t home = other_warehouse(client, warehouse, 0.15);
    (void)add_customer(client, txn, home * DISTRICTS + below(client, DISTRICTS), LOCKMGR_EXCLUSIVE);
}

/* The oldest new order of each district: that of any of its customers. */
static void delivery(struct locks_client *client, struct locks_txn *txn, uint64_t warehouse)
{
    for (uint64_t i = 0; i < DISTRICTS; i++) {
        uint64_t district = warehouse * DISTRICTS + i;
        add_row(client, txn, NEW_ORDERS, district, LOCKMGR_EXCLUSIVE);
        add_order(client, txn, add_customer(client, txn, district, LOCKMGR_EXCLUSIVE), LOCKMGR_EXCLUSIVE);
    }
}

static void draw_tpcc(struct locks_client *client, struct locks_txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    uint64_t kind = below(client, 100), warehouse = below(client, plan->warehouses);
    uint64_t district = warehouse * DISTRICTS + below(client, DISTRICTS);
    txn->scan = happens(client, plan->scan_ratio);
    if (txn->scan)
        add(txn, CUSTOMERS_LOCK, LOCKMGR_SHARED);
    else if (kind < 45)
        new_order(client, txn, warehouse);
    else if (kind < 88)
        payment(client, txn, warehouse);
    else if (kind < 92) /* OrderStatus */
        add_order(client, txn, add_customer(client, txn, district, LOCKMGR_SHARED), LOCKMGR_SHARED);
    else if (kind < 96)
        delivery(client, txn, warehouse);
    else /* StockLevel */
        add_row(client, txn, DISTRICT, district, LOCKMGR_SHARED);
}

/* ---- TATP ---- */

#define FACILITIES 4
#define STARTS 3 /* of a call forwarding: 0, 8 and 16 o'clock */

/*
 * The specification's skew: the bitwise or of two numbers, of which one is below a power of two that goes with the
 * population.
 */
static uint64_t draw_subscriber(struct locks_client *client)
{
    const struct locks_plan *plan = client->worker->run->plan;
    uint64_t count = plan->subscribers, mask = count <= 1000000 ? 65535 : count <= 10000000 ? 1048575 : 2097151;
    return plan->nurand ? skewed(client, mask, count) : below(client, count);
}

/* Which of `count` rows a subscriber has: a set of `least` or more, every size as likely as the others. */
static uint32_t population(uint64_t key, uint32_t least, uint32_t count)
{
    uint64_t dice = mix(key);
    uint32_t wanted = least + (uint32_t)(dice % (count - least + 1)), set = 0;
    for (uint32_t i = 0, left = wanted; i < count; i++) {
        dice = mix(dice + i);
        if (dice % (count - i) >= left) continue;
        set |= 1u << i;
        left--;
    }
    return set;
}

/*
 * Rows by number: subscribers, access_info, special_facility, call_forwarding. Fewer locks than rows: some fall
 * together.
 */
static void add_tatp(struct locks_client *client, struct locks_txn *txn, uint64_t first, uint64_t row,
                     enum lockmgr_mode mode)
{
    const struct locks_plan *plan = client->worker->run->plan;
    add(txn, (first * plan->subscribers + row) % plan->locks, mode);
}

#define SUBSCRIBERS_FIRST 0
#define ACCESS_FIRST 1
#define FACILITIES_FIRST 5
#define FORWARDING_FIRST 9

static void get_new_destination(struct locks_client *client, struct locks_txn *txn, uint64_t facility)
{
    uint64_t subscriber = facility / FACILITIES, kind = facility % FACILITIES, asked = below(client, STARTS);
    add_tatp(client, txn, FACILITIES_FIRST, facility, LOCKMGR_SHARED);
    bool there = population(subscriber * 2 + 1, 1, FACILITIES) >> kind & 1, active = mix(facility) % 100 < 85;
    uint32_t starts = population(facility + (1ull << 48), 0, STARTS);
    for (uint64_t i = 0; there && active && i <= asked; i++)
        if (starts >> i & 1) add_tatp(client, txn, FORWARDING_FIRST, facility * STARTS + i, LOCKMGR_SHARED);
}

/* Its first query reads all of the subscriber's facilities, so that the one it inserts for is there. */
static void insert_call_forwarding(struct locks_client *client, struct locks_txn *txn, uint64_t subscriber,
                                   uint64_t forwarding)
{
    uint32_t facilities = population(subscriber * 2 + 1, 1, FACILITIES);
    add_tatp(client, txn, SUBSCRIBERS_FIRST, subscriber, LOCKMGR_SHARED);
    for (uint64_t i = 0; i < FACILITIES; i++)
        if (facilities >> i & 1) add_tatp(client, txn, FACILITIES_FIRST, subscriber * FACILITIES + i, LOCKMGR_SHARED);
    add_tatp(client, txn, FORWARDING_FIRST, forwarding, LOCKMGR_EXCLUSIVE);
}

static void draw_tatp(struct locks_client *client, struct locks_txn *txn)
{
    uint64_t kind = below(client, 100), subscriber = draw_subscriber(client);
    uint64_t facility = subscriber * FACILITIES + below(client, FACILITIES);
    uint64_t forwarding = facility * STARTS + below(client, STARTS);
    if (kind < 35) { /* GetSubscriberData */
        add_tatp(client, txn, SUBSCRIBERS_FIRST, subscriber, LOCKMGR_SHARED);
    } else if (kind < 45) {
        get_new_destination(client, txn, facility);
    } else if (kind < 80) { /* GetAccessData: as many kinds of access as of facilities */
        add_tatp(client, txn, ACCESS_FIRST, facility, LOCKMGR_SHARED);
    } else if (kind < 82) { /* UpdateSubscriberData */
        add_tatp(client, txn, SUBSCRIBERS_FIRST, subscriber, LOCKMGR_EXCLUSIVE);
        add_tatp(client, txn, FACILITIES_FIRST, facility, LOCKMGR_EXCLUSIVE);
    } else if (kind < 96) { /* UpdateLocation */
        add_tatp(client, txn, SUBSCRIBERS_FIRST, subscriber, LOCKMGR_EXCLUSIVE);
    } else if (kind < 98) {
        insert_call_forwarding(client, txn, subscriber, forwarding);
    } else { /* DeleteCallForwarding */
        add_tatp(client, txn, SUBSCRIBERS_FIRST, subscriber, LOCKMGR_SHARED);
        add_tatp(client, txn, FORWARDING_FIRST, forwarding, LOCKMGR_EXCLUSIVE);
    }
}

/* ---- all ---- */

/* The next one of the trace. Fewer locks than records: some fall together. */
static void draw_traced(struct locks_client *client, struct locks_txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    const struct locks_trace *trace = plan->trace;
    uint64_t i = client->next_txn % trace->txns, clients = plan->lock.cn_count * plan->lock.workers_per_cn;
    for (uint64_t j = trace->first[i]; j < trace->first[i + 1]; j++)
        add(txn, trace->accesses[j].lock % plan->locks, (enum lockmgr_mode)trace->accesses[j].mode);
    client->next_txn += clients * plan->lock.clients_per_worker;
}

static void draw_one(struct locks_client *client, struct locks_txn *txn)
{
    const struct locks_run *run = client->worker->run;
    uint64_t lock = zipf_next(&run->zipf, &client->prng);
    bool read = (double)below(client, 1000000) < run->plan->read_ratio * 1e6;
    bool update =
        !read && run->plan->update_ratio > 0 && (double)below(client, 1000000) < run->plan->update_ratio * 1e6;
    add(txn, lock, read ? LOCKMGR_SHARED : update ? LOCKMGR_UPDATE : LOCKMGR_EXCLUSIVE);
}

void locks_txn_draw(struct locks_client *client, struct locks_txn *txn)
{
    static void (*const draw[])(struct locks_client *, struct locks_txn *) = {
        [LOCKS_MICRO] = draw_one, [LOCKS_TATP] = draw_tatp, [LOCKS_TPCC] = draw_tpcc, [LOCKS_TRACE] = draw_traced};
    txn->count = 0;
    txn->scan = false;
    draw[client->worker->run->plan->mix](client, txn);
}
