/*
 * tpcc.c - the workload's table: configuration, opening, loading, and the client that runs one transaction after the
 * other.
 */
#include "tpcc.h"

#include "digits.h"
#include "err.h"
#include "tpcc_audit.h"
#include "tpcc_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEXES 4                      /* with --access index */
#define INDEXED_LOG_BYTES (256u << 10) /* Delivery writes 190 records; each might change an index */
#define INDEX_BYTES 24                 /* the share of an index bucket that one record takes, spare room included */

struct workload_run {
    struct tpcc_tables tables;
    struct tpcc_input input;
    struct tpcc_load load;
    const struct cellar_proc *procs[TPCC_PROCS];
    struct cellar *db;
    uint64_t load_rows;
    uint64_t seed;
    bool mix_crest;
    bool loaded_here;    /* so that what clients count is all that happened since the load */
    uint32_t next_piece; /* taken by sessions that load */
};

/* What a client has done; inputs of committed (and rolled back) transactions only, each once. */
struct counts {
    uint64_t done[TPCC_TYPES], unknown[TPCC_PROCS];
    uint64_t lines, lines_remote;
    uint64_t payments_remote;
    uint64_t choices, choices_by_name;
    uint64_t districts_delivered, districts_skipped;
};

struct tpcc_client {
    struct workload_client base; /* its stream of random numbers is the client's own */
    struct tpcc_terminal terminal;
    struct tpcc_deck deck;
    uint32_t history_tag, history_count;
    uint8_t running; /* type + 1 of the transaction that next() has not come back from */
    struct counts counts;
    union {
        struct tpcc_order_entry new_order;
        struct tpcc_payment payment;
        struct tpcc_order_status order_status;
        struct tpcc_delivery delivery;
        struct tpcc_stock_level stock_level;
    } args;
};

static const char *const type_names[TPCC_TYPES] = {
    [TPCC_TYPE_NEW_ORDER] = "NewOrder",       [TPCC_TYPE_PAYMENT] = "Payment",
    [TPCC_TYPE_ORDER_STATUS] = "OrderStatus", [TPCC_TYPE_DELIVERY] = "Delivery",
    [TPCC_TYPE_STOCK_LEVEL] = "StockLevel",   [TPCC_TYPE_NEW_ORDER_ROLLBACK] = "NewOrderRollback",
};

static const char *const table_names[] = {"warehouse", "district",         "customer",        "history",
                                          "order",     "new_order",        "order_line",      "item",
                                          "stock",     "customer_by_name", "new_order_queue", NULL};

/* ---- configuration ---------------------------------------------------------------------------------- */

static const char *const mixes[] = {"standard", "crest", NULL};
static const char *const accesses[] = {"hash", "index", NULL};
static const char *const scales[] = {"full", "small", NULL};

#define AT(field) offsetof(struct tpcc_config, field)

static const struct option_def own_options[] = {
    {.name = "warehouses",
     .argument = "N",
     .help = "warehouses",
     .fallback = "40",
     .kind = OPTION_NUMBER,
     .offset = AT(warehouses)},
    {.name = "scale",
     .help = "small: a tenth of the customers and items",
     .fallback = "full",
     .kind = OPTION_CHOICE,
     .offset = AT(scale),
     .choices = scales},
    {.name = "mix",
     .help = "crest: 50/46/4/0/0, for comparison only",
     .fallback = "standard",
     .kind = OPTION_CHOICE,
     .offset = AT(mix),
     .choices = mixes},
    {.name = "access",
     .help = "index: ordered indexes instead of helper tables (docs/tpcc.md)",
     .fallback = "hash",
     .kind = OPTION_CHOICE,
     .offset = AT(access),
     .choices = accesses},
};

static bool is_small(const struct tpcc_config *config) { return !strcmp(config->scale, "small"); }
static bool is_crest(const struct tpcc_config *config) { return !strcmp(config->mix, "crest"); }
static bool by_index(const struct tpcc_config *config) { return !strcmp(config->access, "index"); }

static void defaults(struct workload_config *base)
{
    struct tpcc_config *config = (struct tpcc_config *)base;
    config->warehouses = 40;
    config->scale = scales[0];
    config->mix = mixes[0];
    config->access = accesses[0];
}

static struct tpcc_scale scale_of(const struct tpcc_config *config)
{
    return tpcc_schema_scale((uint32_t)config->warehouses, is_small(config), by_index(config));
}

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    if (config->warehouses < 1 || config->warehouses > TPCC_WAREHOUSES_MAX)
        return err_set(error, CELLAR_INVALID, "tpcc needs 1 to %d warehouses, not %" PRIu64, TPCC_WAREHOUSES_MAX,
                       config->warehouses);
    return 0;
}

/* All that one row takes. */
static uint32_t row_bytes(const struct tpcc_scale *scale, enum tpcc_table table)
{
    return tpcc_schema_record_bytes(table) + INDEX_BYTES + tpcc_schema_entry_bytes(scale, table);
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    struct tpcc_scale scale = scale_of(config);
    uint64_t bytes = 0;
    for (int i = 0; i < TPCC_TABLES; i++)
        bytes += tpcc_schema_records_max(&scale, is_crest(config), 0, (enum tpcc_table)i) *
                 row_bytes(&scale, (enum tpcc_table)i);
    return bytes;
}

/* Of NEW-ORDER rows, those count that no Delivery removes. */
static double growth_bytes(const struct workload_config *base)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    double new_orders = is_crest(config) ? 0.50 : 0.45, payments = is_crest(config) ? 0.46 : 0.43;
    double waiting = is_crest(config) ? 0.50 : 0.10;
    struct tpcc_scale scale = scale_of(config);
    double order = row_bytes(&scale, TPCC_ORDER) + 10.0 * row_bytes(&scale, TPCC_ORDER_LINE);
    return new_orders * order + payments * row_bytes(&scale, TPCC_HISTORY) +
           waiting * row_bytes(&scale, TPCC_NEW_ORDER);
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    char count[DIGITS_BYTES];
    snprintf(line, bytes, "%s warehouse%s%s, %s mix, access %s", digits_grouped(count, config->warehouses),
             config->warehouses == 1 ? "" : "s", is_small(config) ? " at SMALL SCALE (a tenth of it)" : "",
             is_crest(config) ? "50/46/4/0/0 (comparison only)" : "45/43/4/4/4", config->access);
}

static uint32_t details(const struct workload_config *base, struct workload_detail *details)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    details[0] = (struct workload_detail){"access", config->access};
    return 1;
}

static uint64_t accesses_max(const struct workload_config *base)
{
    (void)base;
    return 100;
}

static uint32_t indexes(const struct workload_config *base, const char **option)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    *option = "--access index";
    return by_index(config) ? INDEXES : 0;
}

static uint64_t log_bytes(const struct workload_config *base)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    return by_index(config) ? INDEXED_LOG_BYTES : 0;
}

/* ---- opening and loading ---------------------------------------------------------------------------- */

static int open_run(struct workload_run *run, struct cellar *db, const struct workload_config *base,
                    uint64_t expected_txns, struct cellar_error *error)
{
    const struct tpcc_config *config = (const struct tpcc_config *)base;
    run->db = db;
    run->seed = base->seed;
    run->mix_crest = is_crest(config);
    run->input.tables = &run->tables;
    run->input.scale = scale_of(config);
    tpcc_input_nurand_init(&run->input.nurand, &run->input.scale, base->seed);
    TRY(tpcc_schema_open(db, &run->input.scale, is_crest(config), expected_txns, &run->tables, error));
    for (int i = 0; i < TPCC_PROCS; i++) TRY(err_last(error, cellar_proc_register(db, &tpcc_procs[i], &run->procs[i])));
    tpcc_load_init(&run->load, &run->tables, &run->input.scale, &run->input.nurand, base->seed);
    return tpcc_load_rows(&run->load, &run->load_rows, error);
}

static int open_tpcc(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                     struct workload_run **out, struct cellar_error *error)
{
    *out = NULL;
    TRY(validate(base, error));
    struct workload_run *run = calloc(1, sizeof(*run));
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory to open tpcc");
    int code = open_run(run, db, base, expected_txns, error);
    if (code < 0)
        free(run);
    else
        *out = run;
    return code;
}

static void close_tpcc(struct workload_run *run) { free(run); }

static int load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                struct cellar_error *error)
{
    uint32_t pieces = tpcc_load_pieces(&run->input.scale), piece;
    __atomic_store_n(&run->loaded_here, true, __ATOMIC_RELAXED);
    while ((piece = __atomic_fetch_add(&run->next_piece, 1, __ATOMIC_RELAXED)) < pieces)
        TRY(tpcc_load_piece(&run->load, self, piece, progress, error));
    return 0;
}

static uint64_t load_rows(const struct workload_run *run) { return run->load_rows; }

static int loaded(struct workload_run *run, struct cellar_error *error)
{
    return tpcc_schema_index(run->db, &run->input.scale, &run->tables, error);
}

/* ---- clients ---------------------------------------------------------------------------------------- */

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base)
{
    struct tpcc_client *client = (struct tpcc_client *)base;
    (void)self;
    client->terminal = tpcc_input_terminal(&run->input.scale, base->index);
    client->history_tag = (uint32_t)prng_next(&base->prng);
    tpcc_input_deck_init(&client->deck, run->mix_crest);
    return 0;
}

static uint64_t next_history_key(struct tpcc_client *client)
{
    return tpcc_schema_history_key(client->base.index, client->history_tag, client->history_count++);
}

static void draw(const struct workload_run *run, struct tpcc_client *client, enum tpcc_type type, int64_t now)
{
    const struct tpcc_input *input = &run->input;
    struct prng *prng = &client->base.prng;
    switch (type) {
    case TPCC_TYPE_NEW_ORDER:
        tpcc_input_new_order(input, client->terminal, prng, now, &client->args.new_order);
        break;
    case TPCC_TYPE_PAYMENT:
        tpcc_input_payment(input, client->terminal, prng, now, &client->args.payment);
        client->args.payment.history_key = next_history_key(client);
        break;
    case TPCC_TYPE_ORDER_STATUS:
        tpcc_input_order_status(input, client->terminal, prng, &client->args.order_status);
        break;
    case TPCC_TYPE_DELIVERY:
        tpcc_input_delivery(input, client->terminal, prng, now, &client->args.delivery);
        break;
    case TPCC_TYPE_STOCK_LEVEL:
        tpcc_input_stock_level(input, client->terminal, prng, &client->args.stock_level);
        break;
    case TPCC_TYPE_NEW_ORDER_ROLLBACK:
    case TPCC_TYPES:
        break;
    }
}

static void count_lines(struct counts *counts, const struct tpcc_order_entry *entry)
{
    counts->lines += entry->ol_cnt;
    for (uint32_t i = 0; i < entry->ol_cnt; i++) counts->lines_remote += entry->lines[i].supply_w_id != entry->w_id;
}

static void count_choice(struct counts *counts, const struct tpcc_customer_choice *choice)
{
    counts->choices++;
    counts->choices_by_name += choice->by_name;
}

static void count_done(struct tpcc_client *client, enum tpcc_type type)
{
    struct counts *counts = &client->counts;
    counts->done[type]++;
    switch (type) {
    case TPCC_TYPE_NEW_ORDER:
    case TPCC_TYPE_NEW_ORDER_ROLLBACK:
        count_lines(counts, &client->args.new_order);
        break;
    case TPCC_TYPE_PAYMENT:
        count_choice(counts, &client->args.payment.choice);
        counts->payments_remote += client->args.payment.choice.w_id != client->args.payment.w_id;
        break;
    case TPCC_TYPE_ORDER_STATUS:
        count_choice(counts, &client->args.order_status.choice);
        break;
    case TPCC_TYPE_DELIVERY:
        for (uint32_t i = 0; i < TPCC_DISTRICTS; i++) {
            counts->districts_delivered += client->args.delivery.o_id[i] != 0;
            counts->districts_skipped += client->args.delivery.o_id[i] == 0;
        }
        break;
    case TPCC_TYPE_STOCK_LEVEL:
    case TPCC_TYPES:
        break;
    }
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct tpcc_client *client = (struct tpcc_client *)base;
    enum tpcc_type chosen = tpcc_input_deal(&client->deck, &base->prng);
    draw(run, client, chosen, TPCC_FIRST_DATE + (int64_t)cellar_lab_now_ns(self));
    *type = chosen;
    client->running = (uint8_t)(chosen + 1);
    int code = cellar_lab_exec(self, run->procs[chosen], &client->args, options, result);
    /* An earlier run on this pool has used the key: the rows of this one get another tag. */
    while (code == CELLAR_EXISTS && chosen == TPCC_TYPE_PAYMENT) {
        client->history_tag = (uint32_t)prng_next(&base->prng);
        client->args.payment.history_key = next_history_key(client);
        code = cellar_lab_exec(self, run->procs[chosen], &client->args, options, result);
    }
    client->running = 0;
    if (code == ERR_GIVEN_UP && chosen == TPCC_TYPE_NEW_ORDER && client->args.new_order.item_missing) {
        *type = TPCC_TYPE_NEW_ORDER_ROLLBACK;
        code = result->code = 0;
    } else if (code == ERR_GIVEN_UP) {
        code = result->code = CELLAR_CORRUPT; /* a value out of its range, or a row that must be there */
    }
    if (code == 0) count_done(client, (enum tpcc_type) * type);
    if (code == CELLAR_INDETERMINATE) client->counts.unknown[chosen]++;
    return code;
}

/* ---- checking --------------------------------------------------------------------------------------- */

static int feed(void *arg, uint64_t key, const void *row)
{
    tpcc_audit_row(arg, key, row);
    return 0;
}

static int scan_all(const struct workload_run *run, struct cellar_lab_client *self, struct tpcc_audit *audit,
                    struct cellar_error *error)
{
    for (int i = 0; i < TPCC_TABLES; i++) {
        if (!run->tables.table[tpcc_audit_steps[i]]) continue;
        TRY(tpcc_audit_begin(audit, tpcc_audit_steps[i], error));
        TRY(err_last(error, cellar_lab_scan(self, run->tables.table[tpcc_audit_steps[i]], feed, audit)));
    }
    return 0;
}

static void add_counts(struct counts *sum, const struct tpcc_client *client)
{
    const struct counts *from = &client->counts;
    for (int i = 0; i < TPCC_TYPES; i++) sum->done[i] += from->done[i];
    for (int i = 0; i < TPCC_PROCS; i++) sum->unknown[i] += from->unknown[i];
    if (client->running) sum->unknown[client->running - 1]++; /* its compute node died */
    sum->lines += from->lines;
    sum->lines_remote += from->lines_remote;
    sum->payments_remote += from->payments_remote;
    sum->choices += from->choices;
    sum->choices_by_name += from->choices_by_name;
    sum->districts_delivered += from->districts_delivered;
    sum->districts_skipped += from->districts_skipped;
}

static void report_rate(struct workload_report *report, const char *name, uint64_t part, uint64_t whole, double low,
                        double high)
{
    if (whole > 0) workload_report_rate(report, name, (double)part / (double)whole, low, high);
}

static void report_rates(const struct workload_run *run, const struct counts *sum, struct workload_report *report)
{
    uint64_t entered = sum->done[TPCC_TYPE_NEW_ORDER] + sum->done[TPCC_TYPE_NEW_ORDER_ROLLBACK];
    report_rate(report, "NewOrder rolled back", sum->done[TPCC_TYPE_NEW_ORDER_ROLLBACK], entered, 0.009, 0.011);
    if (run->input.scale.warehouses > 1) {
        report_rate(report, "remote order line", sum->lines_remote, sum->lines, 0.0095, 0.0105);
        report_rate(report, "remote Payment", sum->payments_remote, sum->done[TPCC_TYPE_PAYMENT], 0.14, 0.16);
    }
    report_rate(report, "customer by last name", sum->choices_by_name, sum->choices, 0.57, 0.63);
    report_rate(report, "Delivery skipped a district", sum->districts_skipped,
                sum->districts_skipped + sum->districts_delivered, 0, 0.01);
}

#define UNCOUNTED_MAX (1ull << 40)

static int check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                 uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    struct counts sum = {0};
    uint64_t lost = 0; /* clients that died: what else they did was not counted */
    for (uint32_t i = 0; i < client_count; i++) {
        add_counts(&sum, (const struct tpcc_client *)clients[i]);
        if (clients[i]->lost) lost = UNCOUNTED_MAX;
    }
    const struct tpcc_audit_counts counted = {.new_orders = sum.done[TPCC_TYPE_NEW_ORDER],
                                              .payments = sum.done[TPCC_TYPE_PAYMENT],
                                              .delivered = sum.districts_delivered,
                                              .new_orders_unknown = sum.unknown[TPCC_TYPE_NEW_ORDER] + lost,
                                              .payments_unknown = sum.unknown[TPCC_TYPE_PAYMENT] + lost,
                                              .deliveries_unknown = sum.unknown[TPCC_TYPE_DELIVERY] + lost};
    struct tpcc_audit *audit;
    TRY(tpcc_audit_new(&run->input.scale, &audit, error));
    int code = scan_all(run, self, audit, error);
    if (code >= 0) {
        tpcc_audit_report(audit, run->loaded_here && client_count > 0 ? &counted : NULL, report);
        report_rates(run, &sum, report);
    }
    tpcc_audit_free(audit);
    return code < 0 ? code : 0;
}

static void sim_configure(struct workload_config *base, const struct workload_sim_load *load)
{
    struct tpcc_config *config = (struct tpcc_config *)base;
    config->warehouses = load->size;
    config->scale = "small";
}

static const uint32_t sim_sizes[] = {1, 2};
static const struct workload_sim sim = {.place = 3,
                                        .weight = 1,
                                        .sizes = sim_sizes,
                                        .size_count = sizeof sim_sizes / sizeof *sim_sizes,
                                        .txns_max = 250,
                                        .configure = sim_configure};

const struct workload tpcc_workload = {
    .name = "tpcc",
    .summary = "TPC-C 5.11: nine tables, five transactions, all twelve consistency conditions checked",
    .type_count = TPCC_TYPES,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct tpcc_client),
    .config_bytes = sizeof(struct tpcc_config),
    .options = own_options,
    .option_count = sizeof own_options / sizeof *own_options,
    .published = {.padded = 0.4130, .metadata = 0.2065}, /* CREST, Table 1 */
    .sim = &sim,
    .defaults = defaults,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .describe = describe,
    .details = details,
    .accesses_max = accesses_max,
    .indexes = indexes,
    .log_bytes = log_bytes,
    .open = open_tpcc,
    .load = load,
    .load_rows = load_rows,
    .loaded = loaded,
    .client_init = client_init,
    .next = next,
    .check = check,
    .close = close_tpcc,
};
