/*
 * tpcc_procs_payment.c - Payment (clause 2.5), and the choice of a customer by last name.
 *
 * W_YTD and D_YTD are the hottest cells there are, so nothing that can be read before comes in their block: a
 * customer chosen by name is looked up first. Only a customer with bad credit has C_DATA read and written, in a block
 * of its own.
 */
#include "tpcc_procs.h"
#include "numbered.h"
#include "tpcc_text.h"

#include <string.h>

/* The middle one, in the order of first names, of the entries of that name. */
static int choose_by_index(struct cellar_txn *txn, const struct tpcc_tables *t, struct tpcc_customer_choice *choice)
{
    struct tpcc_customer of = {.c_w_id = choice->w_id, .c_d_id = choice->d_id};
    tpcc_text_last_name(choice->name, of.c_last);
    const struct cellar_bound name = {.row = &of, .columns = 3};
    const struct cellar_range range = {.low = name, .high = name};
    uint64_t keys[TPCC_NAME_IDS * TPCC_NAME_PARTS];
    uint32_t count = 0;
    int cursor, got;
    TRY(cursor = cellar_proc_cursor_open(txn, t->customers_by_name, &range, 0, 0, 0, TPCC_NAME_IDS * TPCC_NAME_PARTS));
    while ((got = cellar_proc_cursor_next(txn, cursor, &keys[count], NULL)) == 1) count++;
    TRY(got);
    TRY(cellar_proc_cursor_close(txn, cursor));
    if (count == 0) return ERR_GIVEN_UP;
    struct tpcc_key middle;
    tpcc_schema_unpack_customer(keys[tpcc_procs_middle(count)], &middle);
    choice->c_id = (uint16_t)middle.c_id;
    return 0;
}

static int read_names(struct cellar_txn *txn, const struct tpcc_tables *t, const struct tpcc_customer_choice *choice,
                      uint32_t part, struct tpcc_customer_by_name *names)
{
    uint64_t key = tpcc_schema_name_key(choice->w_id, choice->d_id, choice->name, part);
    int ref;
    TRY(ref = cellar_proc_access(txn, t->table[TPCC_CUSTOMER_BY_NAME], key, CELLAR_ALL_CELLS, 0, 0));
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_get_row(txn, ref, names);
}

int tpcc_procs_choose(struct cellar_txn *txn, const struct tpcc_tables *tables, struct tpcc_customer_choice *choice)
{
    if (!choice->by_name) return 0;
    if (tables->customers_by_name) return choose_by_index(txn, tables, choice);
    struct tpcc_customer_by_name names;
    TRY(read_names(txn, tables, choice, 0, &names));
    if (names.count == 0 || names.count > TPCC_NAME_IDS * TPCC_NAME_PARTS) return ERR_GIVEN_UP;
    uint32_t middle = tpcc_procs_middle(names.count);
    if (middle >= TPCC_NAME_IDS) TRY(read_names(txn, tables, choice, middle / TPCC_NAME_IDS, &names));
    choice->c_id = names.ids[middle % TPCC_NAME_IDS];
    return 0;
}

struct refs {
    int warehouse, district, customer, history;
    uint64_t customer_key;
};

static int declare(struct cellar_txn *txn, const struct tpcc_payment *pay, struct refs *refs)
{
    const struct tpcc_tables *t = pay->tables;
    const struct tpcc_history history = {.h_date = pay->date,
                                         .h_amount = pay->amount,
                                         .h_c_id = pay->choice.c_id,
                                         .h_c_w_id = pay->choice.w_id,
                                         .h_w_id = pay->w_id,
                                         .h_c_d_id = pay->choice.d_id,
                                         .h_d_id = pay->d_id};
    refs->customer_key = tpcc_schema_customer_key(pay->choice.w_id, pay->choice.d_id, pay->choice.c_id);
    TRY(refs->warehouse = cellar_proc_access(txn, t->table[TPCC_WAREHOUSE], tpcc_schema_warehouse_key(pay->w_id),
                                             t->warehouse_ytd | t->warehouse_address, t->warehouse_ytd, 0));
    TRY(refs->district =
            cellar_proc_access(txn, t->table[TPCC_DISTRICT], tpcc_schema_district_key(pay->w_id, pay->d_id),
                               t->district_ytd | t->district_address, t->district_ytd, 0));
    TRY(refs->customer = cellar_proc_access(txn, t->table[TPCC_CUSTOMER], refs->customer_key,
                                            t->customer_balance | t->customer_identity | t->customer_address,
                                            t->customer_balance, 0));
    return refs->history = cellar_proc_insert(txn, t->table[TPCC_HISTORY], pay->history_key, &history);
}

static int note_bad_credit(struct cellar_txn *txn, struct tpcc_payment *pay, uint64_t customer_key)
{
    const struct tpcc_tables *t = pay->tables;
    int ref;
    TRY(ref = cellar_proc_access(txn, t->table[TPCC_CUSTOMER], customer_key, t->customer_data, t->customer_data, 0));
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, t->c_data, pay->customer.c_data));
    const struct tpcc_note note = {.c_id = pay->choice.c_id,
                                   .c_d_id = pay->choice.d_id,
                                   .c_w_id = pay->choice.w_id,
                                   .d_id = pay->d_id,
                                   .w_id = pay->w_id,
                                   .h_amount = pay->amount};
    tpcc_text_prepend(&note, pay->customer.c_data, TPCC_C_DATA_BYTES);
    return cellar_proc_put(txn, ref, t->c_data, pay->customer.c_data);
}

int tpcc_procs_payment(struct cellar_txn *txn, void *args)
{
    struct tpcc_payment *pay = args;
    const struct tpcc_tables *t = pay->tables;
    struct refs refs;
    TRY(tpcc_procs_choose(txn, t, &pay->choice));
    TRY(declare(txn, pay, &refs));
    TRY(cellar_proc_fetch(txn));

    TRY(cellar_proc_get_row(txn, refs.warehouse, &pay->warehouse));
    TRY(cellar_proc_get_row(txn, refs.district, &pay->district));
    TRY(cellar_proc_get_row(txn, refs.customer, &pay->customer));
    pay->warehouse.w_ytd += pay->amount;
    pay->district.d_ytd += pay->amount;
    pay->customer.c_balance -= pay->amount;
    pay->customer.c_ytd_payment += pay->amount;
    pay->customer.c_payment_cnt++;
    char h_data[24];
    tpcc_text_history(pay->warehouse.w_name, pay->district.d_name, h_data);

    TRY(cellar_proc_put(txn, refs.warehouse, t->w_ytd, &pay->warehouse.w_ytd));
    TRY(cellar_proc_put(txn, refs.district, t->d_ytd, &pay->district.d_ytd));
    TRY(cellar_proc_put_row(txn, refs.customer, &pay->customer));
    TRY(cellar_proc_put(txn, refs.history, t->h_data, h_data));
    if (memcmp(pay->customer.c_credit, "BC", 2) == 0) TRY(note_bad_credit(txn, pay, refs.customer_key));
    return 0;
}
