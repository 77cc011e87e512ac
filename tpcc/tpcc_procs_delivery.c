/*
 * tpcc_procs_delivery.c - Delivery (clause 2.7), of all ten districts in one transaction.
 *
 * The oldest undelivered order of a district is the first of its NEW-ORDER rows in their index; or what new_order_queue
 * says: orders of a district have consecutive numbers (a NewOrder that rolls back takes none), and only Delivery
 * removes them, oldest first. That none waits shows in the absence of that NEW-ORDER row, so D_NEXT_O_ID, which each
 * NewOrder writes, is not read.
 */
#include "tpcc_procs.h"
#include "numbered.h"

#define AT_ONCE (TPCC_DISTRICTS / 2)
_Static_assert(AT_ONCE <= CELLAR_CURSORS_MAX && TPCC_DISTRICTS % AT_ONCE == 0, "all are read");

/* Of some districts, whose leaves are read together; 0: none waits. */
static int find_heads(struct cellar_txn *txn, struct tpcc_delivery *delivery, uint32_t first)
{
    int cursors[AT_ONCE];
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        uint32_t district = first + i + 1;
        const struct cellar_range range = {.low_key = tpcc_schema_order_key(delivery->w_id, district, 0),
                                           .high_key = tpcc_schema_order_key(delivery->w_id, district, UINT32_MAX)};
        TRY(cursors[i] = cellar_proc_cursor_open(txn, delivery->tables->new_orders_by_key, &range, 0, 0, 0, 1));
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        uint64_t key = 0;
        TRY(cellar_proc_cursor_next(txn, cursors[i], &key, NULL));
        delivery->districts[first + i].head = (uint32_t)key;
        TRY(cellar_proc_cursor_close(txn, cursors[i]));
    }
    return 0;
}

static int read_heads(struct cellar_txn *txn, struct tpcc_delivery *delivery)
{
    const struct tpcc_tables *t = delivery->tables;
    for (uint32_t i = 0; i < TPCC_DISTRICTS && t->new_orders_by_key; i += AT_ONCE) TRY(find_heads(txn, delivery, i));
    if (t->new_orders_by_key) return 0;
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++)
        TRY(delivery->districts[i].queue =
                cellar_proc_access(txn, t->table[TPCC_NEW_ORDER_QUEUE], tpcc_schema_district_key(delivery->w_id, i + 1),
                                   CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0));
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++)
        TRY(cellar_proc_get(txn, delivery->districts[i].queue, t->q_oldest_o_id, &delivery->districts[i].head));
    return 0;
}

static int declare_orders(struct cellar_txn *txn, struct tpcc_delivery *delivery)
{
    const struct tpcc_tables *t = delivery->tables;
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) {
        uint64_t key = tpcc_schema_order_key(delivery->w_id, i + 1, delivery->districts[i].head);
        if (delivery->districts[i].head == 0) continue;
        TRY(delivery->districts[i].new_order =
                cellar_proc_access(txn, t->table[TPCC_NEW_ORDER], key, 0, 0, CELLAR_OPTIONAL | CELLAR_DELETE));
        TRY(delivery->districts[i].order =
                cellar_proc_access(txn, t->table[TPCC_ORDER], key, t->order_body, t->order_carrier, CELLAR_OPTIONAL));
    }
    return 0;
}

/* Takes the order of one district and declares its lines and its customer; nothing when none waits. */
static int take_order(struct cellar_txn *txn, struct tpcc_delivery *delivery, uint32_t i)
{
    const struct tpcc_tables *t = delivery->tables;
    uint32_t head = delivery->districts[i].head;
    delivery->o_id[i] = 0;
    if (head == 0 || !cellar_proc_found(txn, delivery->districts[i].new_order)) return 0;
    if (!cellar_proc_found(txn, delivery->districts[i].order)) return ERR_GIVEN_UP;

    struct tpcc_order order;
    TRY(cellar_proc_get_row(txn, delivery->districts[i].order, &order));
    if (order.o_ol_cnt > TPCC_LINES_MAX) return ERR_GIVEN_UP;
    delivery->o_id[i] = head;
    delivery->districts[i].ol_cnt = order.o_ol_cnt;
    uint32_t next = head + 1;
    if (!t->new_orders_by_key) TRY(cellar_proc_put(txn, delivery->districts[i].queue, t->q_oldest_o_id, &next));
    TRY(cellar_proc_put(txn, delivery->districts[i].order, t->o_carrier_id, &delivery->carrier_id));

    uint64_t key = tpcc_schema_order_key(delivery->w_id, i + 1, head);
    for (uint32_t line = 0; line < order.o_ol_cnt; line++)
        TRY(delivery->districts[i].lines[line] =
                cellar_proc_access(txn, t->table[TPCC_ORDER_LINE], tpcc_schema_line_key(key, line + 1), t->line_body,
                                   t->line_delivery, 0));
    return delivery->districts[i].customer = cellar_proc_access(
               txn, t->table[TPCC_CUSTOMER], tpcc_schema_customer_key(delivery->w_id, i + 1, order.o_c_id),
               t->customer_balance, t->customer_balance, 0);
}

static int deliver(struct cellar_txn *txn, struct tpcc_delivery *delivery, uint32_t i)
{
    const struct tpcc_tables *t = delivery->tables;
    int64_t sum = 0;
    for (uint32_t line = 0; line < delivery->districts[i].ol_cnt; line++) {
        int ref = delivery->districts[i].lines[line];
        int64_t amount;
        TRY(cellar_proc_get(txn, ref, t->ol_amount, &amount));
        TRY(cellar_proc_put(txn, ref, t->ol_delivery_d, &delivery->date));
        sum += amount;
    }
    struct tpcc_customer customer;
    TRY(cellar_proc_get_row(txn, delivery->districts[i].customer, &customer));
    customer.c_balance += sum;
    customer.c_delivery_cnt++;
    return cellar_proc_put_row(txn, delivery->districts[i].customer, &customer);
}

int tpcc_procs_delivery(struct cellar_txn *txn, void *args)
{
    struct tpcc_delivery *delivery = args;
    TRY(read_heads(txn, delivery));
    TRY(declare_orders(txn, delivery));
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) TRY(take_order(txn, delivery, i));
    TRY(cellar_proc_fetch(txn));
    for (uint32_t i = 0; i < TPCC_DISTRICTS; i++)
        if (delivery->o_id[i]) TRY(deliver(txn, delivery, i));
    return 0;
}
