/* smallbank.c - the workload's table: configuration, opening, and the client that draws transactions. */
#include "smallbank.h"

#include "numbered.h"
#include "digits.h"
#include "err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS_MAX (1ull << 32)

/* For the estimate of the pool: a header line and the line of its cells, and the share of an index bucket. */
#define RECORD_BYTES 128
#define INDEX_BYTES 24

static const char *const type_names[SMALLBANK_TYPES] = {
    [SMALLBANK_AMALGAMATE] = "Amalgamate",
    [SMALLBANK_BALANCE] = "Balance",
    [SMALLBANK_DEPOSIT_CHECKING] = "DepositChecking",
    [SMALLBANK_SEND_PAYMENT] = "SendPayment",
    [SMALLBANK_TRANSACT_SAVINGS] = "TransactSavings",
    [SMALLBANK_WRITE_CHECK] = "WriteCheck",
    [SMALLBANK_SEND_PAYMENT_REFUSED] = "SendPaymentRefused",
    [SMALLBANK_TRANSACT_SAVINGS_REFUSED] = "TransactSavingsRefused",
};

static const char *const table_names[] = {"account", "savings", "checking", NULL};

#define AT(field) offsetof(struct smallbank_config, field)

static const struct option_def own_options[] = {
    {.name = "accounts",
     .argument = "N",
     .help = "bank accounts",
     .fallback = "100000",
     .kind = OPTION_NUMBER,
     .offset = AT(accounts)},
    {.name = "two-tables",
     .help = "savings and checking in two tables, not in one record",
     .kind = OPTION_FLAG,
     .offset = AT(two_tables)},
    {.name = "theta",
     .argument = "T",
     .help = "skew of the Zipf distribution, 0 (uniform) to below 2",
     .fallback = "0",
     .kind = OPTION_REAL,
     .offset = AT(theta),
     .max = 1.999999},
};

static void defaults(struct workload_config *base)
{
    struct smallbank_config *config = (struct smallbank_config *)base;
    config->accounts = 100000;
    config->two_tables = false;
    config->theta = 0;
}

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct smallbank_config *config = (const struct smallbank_config *)base;
    if (config->accounts < 2 || config->accounts > ACCOUNTS_MAX)
        return err_set(error, CELLAR_INVALID, "smallbank needs 2 to %llu accounts, not %" PRIu64, ACCOUNTS_MAX,
                       config->accounts);
    if (!(config->theta >= 0 && config->theta < 2))
        return err_set(error, CELLAR_INVALID, "smallbank needs a theta of at least 0 and below 2, not %g",
                       config->theta);
    return 0;
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    const struct smallbank_config *config = (const struct smallbank_config *)base;
    return config->accounts * (config->two_tables ? 2 : 1) * (RECORD_BYTES + INDEX_BYTES);
}

static double growth_bytes(const struct workload_config *base)
{
    (void)base;
    return 0;
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct smallbank_config *config = (const struct smallbank_config *)base;
    char count[DIGITS_BYTES];
    snprintf(line, bytes, "%s accounts, theta %g, savings and checking in %s", digits_grouped(count, config->accounts),
             config->theta, config->two_tables ? "two tables" : "one record");
}

/* Of two customers, both balances, read and written. */
static uint64_t accesses_max(const struct workload_config *base)
{
    (void)base;
    return 8;
}

static int create_one(struct workload_run *run, struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct smallbank_row, savings),
                                                          CELLAR_COLUMN(struct smallbank_row, checking)};
    const struct cellar_schema schema = {.name = "account",
                                         .row_bytes = sizeof(struct smallbank_row),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = run->accounts};
    int code = err_last(error, cellar_table_create(run->db, &schema, &run->savings));
    if (code < 0) return code;
    run->checking = run->savings;
    run->savings_column = cellar_column_of(run->savings, "savings");
    run->checking_column = cellar_column_of(run->savings, "checking");
    run->cells[SMALLBANK_SAVINGS] = cellar_cells_of(run->savings, "savings");
    run->cells[SMALLBANK_CHECKING] = cellar_cells_of(run->savings, "checking");
    run->cells[SMALLBANK_BOTH] = run->cells[SMALLBANK_SAVINGS] | run->cells[SMALLBANK_CHECKING];
    return 0;
}

static int create_half(struct workload_run *run, const char *name, const struct cellar_table **table,
                       struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct smallbank_half_row, cents)};
    const struct cellar_schema schema = {.name = name,
                                         .row_bytes = sizeof(struct smallbank_half_row),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = run->accounts};
    return err_last(error, cellar_table_create(run->db, &schema, table));
}

static int create_two(struct workload_run *run, struct cellar_error *error)
{
    int code = create_half(run, "savings", &run->savings, error);
    if (code < 0) return code;
    code = create_half(run, "checking", &run->checking, error);
    if (code < 0) return code;
    run->savings_column = cellar_column_of(run->savings, "cents");
    run->checking_column = cellar_column_of(run->checking, "cents");
    run->cells[SMALLBANK_SAVINGS] = cellar_cells_of(run->savings, "cents");
    run->cells[SMALLBANK_CHECKING] = cellar_cells_of(run->checking, "cents");
    return 0;
}

static void close_run(struct workload_run *run) { free(run); }

static int open_run(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                    struct workload_run **out, struct cellar_error *error)
{
    const struct smallbank_config *config = (const struct smallbank_config *)base;
    (void)expected_txns; /* the tables do not grow */
    *out = NULL;
    int code = validate(base, error);
    if (code < 0) return code;
    struct workload_run *run = calloc(1, sizeof(*run));
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory for the smallbank workload");
    run->db = db;
    run->two_tables = config->two_tables;
    run->accounts = config->accounts;
    code = zipf_init(&run->zipf, run->accounts, config->theta);
    if (code == 0) code = run->two_tables ? create_two(run, error) : create_one(run, error);
    if (code == 0) code = smallbank_procs_register(run, error);
    if (code < 0) {
        close_run(run);
        return code;
    }
    *out = run;
    return 0;
}

static uint64_t load_rows(const struct workload_run *run) { return run->accounts; }

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *client)
{
    (void)run;
    (void)self;
    (void)client;
    return 0;
}

/* The mix in twentieths: 15/15/15/25/15/15 %. */
static const uint8_t mix[20] = {
    SMALLBANK_AMALGAMATE,       SMALLBANK_AMALGAMATE,   SMALLBANK_AMALGAMATE,       SMALLBANK_BALANCE,
    SMALLBANK_BALANCE,          SMALLBANK_BALANCE,      SMALLBANK_DEPOSIT_CHECKING, SMALLBANK_DEPOSIT_CHECKING,
    SMALLBANK_DEPOSIT_CHECKING, SMALLBANK_SEND_PAYMENT, SMALLBANK_SEND_PAYMENT,     SMALLBANK_SEND_PAYMENT,
    SMALLBANK_SEND_PAYMENT,     SMALLBANK_SEND_PAYMENT, SMALLBANK_TRANSACT_SAVINGS, SMALLBANK_TRANSACT_SAVINGS,
    SMALLBANK_TRANSACT_SAVINGS, SMALLBANK_WRITE_CHECK,  SMALLBANK_WRITE_CHECK,      SMALLBANK_WRITE_CHECK,
};

/* Draws what a transaction of that type works on. */
static void draw(struct workload_run *run, struct prng *prng, uint32_t type, struct smallbank_args *args)
{
    args->from = zipf_next(&run->zipf, prng);
    switch (type) {
    case SMALLBANK_SEND_PAYMENT:
        args->cents = 1 + (int64_t)prng_below(prng, SMALLBANK_SPEND_CENTS);
        __attribute__((fallthrough));
    case SMALLBANK_AMALGAMATE:
        do args->to = zipf_next(&run->zipf, prng);
        while (args->to == args->from);
        break;
    case SMALLBANK_TRANSACT_SAVINGS:
        args->cents = (int64_t)prng_below(prng, 2 * SMALLBANK_DEPOSIT_CENTS + 1) - SMALLBANK_DEPOSIT_CENTS;
        break;
    case SMALLBANK_DEPOSIT_CHECKING:
        args->cents = 1 + (int64_t)prng_below(prng, SMALLBANK_DEPOSIT_CENTS);
        break;
    case SMALLBANK_WRITE_CHECK:
        args->cents = 1 + (int64_t)prng_below(prng, SMALLBANK_SPEND_CENTS);
        break;
    default:
        break;
    }
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct smallbank_client *client = (struct smallbank_client *)base;
    struct smallbank_args args = {.run = run};
    uint32_t drawn = mix[prng_below(&base->prng, sizeof(mix))];
    draw(run, &base->prng, drawn, &args);
    *type = drawn;
    int code = cellar_lab_exec(self, run->procs[drawn], &args, options, result);
    if (code == ERR_GIVEN_UP) {
        drawn = drawn == SMALLBANK_SEND_PAYMENT ? SMALLBANK_SEND_PAYMENT_REFUSED : SMALLBANK_TRANSACT_SAVINGS_REFUSED;
        args.delta = 0;
        result->code = 0;
    } else if (code < 0) {
        return code;
    }
    client->delta += args.delta;
    client->committed[drawn]++;
    *type = drawn;
    return 0;
}

static void sim_configure(struct workload_config *base, const struct workload_sim_load *load)
{
    struct smallbank_config *config = (struct smallbank_config *)base;
    config->accounts = load->size;
    config->two_tables = load->tables > 1;
    config->theta = load->theta;
}

static const uint32_t sim_sizes[] = {2, 4, 10, 50, 300};
static const struct workload_sim sim = {.place = 1,
                                        .weight = 4,
                                        .sizes = sim_sizes,
                                        .size_count = sizeof sim_sizes / sizeof *sim_sizes,
                                        .configure = sim_configure};

const struct workload smallbank_workload = {
    .name = "smallbank",
    .summary = "SmallBank: six short transactions on the balances of bank customers",
    .type_count = SMALLBANK_TYPES,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct smallbank_client),
    .config_bytes = sizeof(struct smallbank_config),
    .options = own_options,
    .option_count = sizeof own_options / sizeof *own_options,
    .published = {.padded = 1.0, .metadata = 0.4219}, /* CREST, Table 1 */
    .sim = &sim,
    .defaults = defaults,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .describe = describe,
    .accesses_max = accesses_max,
    .open = open_run,
    .load = smallbank_load,
    .load_rows = load_rows,
    .client_init = client_init,
    .next = next,
    .check = smallbank_check,
    .close = close_run,
};
