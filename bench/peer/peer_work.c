/* peer_work.c - draws, plans and computations of the transactions, and the sums that they must leave. */
#include "peer_work.h"

#include "zipf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPOSIT_CENTS 10000
#define SPEND_CENTS 1000
#define PENALTY_CENTS 100

enum type { AMALGAMATE, BALANCE, DEPOSIT_CHECKING, SEND_PAYMENT, TRANSACT_SAVINGS, WRITE_CHECK };
enum balances { SAVINGS = 1, CHECKING = 2, BOTH = 3 };
/* In twentieths: 15/15/15/25/15/15 %. */
static const uint8_t mix[20] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5};
/* What each type reads and writes of its accounts; nothing: it has no second one. */
static const struct {
    uint8_t read[2], write[2];
} shapes[] = {
    [AMALGAMATE] = {{BOTH, CHECKING}, {BOTH, CHECKING}}, [BALANCE] = {{BOTH, 0}, {0, 0}},
    [DEPOSIT_CHECKING] = {{CHECKING, 0}, {CHECKING, 0}}, [SEND_PAYMENT] = {{CHECKING, CHECKING}, {CHECKING, CHECKING}},
    [TRANSACT_SAVINGS] = {{SAVINGS, 0}, {SAVINGS, 0}},   [WRITE_CHECK] = {{BOTH, 0}, {CHECKING, 0}},
};

/* ---- which work ---- */

bool peer_work_named(struct peer_work *work, const char *name)
{
    static const struct peer_work works[] = {
        {.kind = PEER_SMALLBANK, .columns = 2, .column_bytes = 8, .row_bytes = 16, .theta = 0, .name = "smallbank"},
        {.kind = PEER_YCSB, .columns = 4, .column_bytes = 40, .row_bytes = 160, .theta = 0.1, .name = "ycsb"},
        {.kind = PEER_READ, .columns = 4, .column_bytes = 40, .row_bytes = 160, .theta = 0.99, .name = "read"},
    };
    for (uint32_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        size_t length = strlen(works[i].name);
        if (strncmp(name, works[i].name, length) != 0 || (name[length] && name[length] != '-')) continue;
        *work = works[i];
        if (!name[length]) return true;
        char *rest;
        work->theta = strtod(name + length + 1, &rest);
        snprintf(work->name, sizeof work->name, "%s", name);
        return name[length + 1] >= '0' && name[length + 1] <= '9' && !*rest && work->theta < 2;
    }
    return false;
}

/* ---- draws ---- */

/* Distinct keys, ascending: then two transactions that lock record by record cannot wait for each other. */
static void keys_draw(const struct zipf *zipf, struct prng *prng, uint32_t *keys)
{
    for (uint32_t count = 0; count < PEER_PER_TXN;) {
        uint32_t key = (uint32_t)zipf_next(zipf, prng), at = count;
        while (at > 0 && keys[at - 1] > key) at--;
        if (at > 0 && keys[at - 1] == key) continue;
        memmove(&keys[at + 1], &keys[at], (count - at) * sizeof *keys);
        keys[at] = key;
        count++;
    }
}

static void bank_draw(const struct zipf *zipf, struct prng *prng, struct peer_draw *draw)
{
    draw->type = mix[prng_below(prng, sizeof mix)];
    draw->keys[0] = draw->keys[1] = (uint32_t)zipf_next(zipf, prng);
    while (shapes[draw->type].read[1] && draw->keys[1] == draw->keys[0])
        draw->keys[1] = (uint32_t)zipf_next(zipf, prng);
    if (draw->type == DEPOSIT_CHECKING) draw->cents = 1 + (int32_t)prng_below(prng, DEPOSIT_CENTS);
    if (draw->type == TRANSACT_SAVINGS) draw->cents = (int32_t)prng_below(prng, 2 * DEPOSIT_CENTS + 1) - DEPOSIT_CENTS;
    if (draw->type == SEND_PAYMENT || draw->type == WRITE_CHECK)
        draw->cents = 1 + (int32_t)prng_below(prng, SPEND_CENTS);
}

bool peer_work_draw(const struct peer_work *work, uint64_t records, uint64_t seed, struct peer_draw *draws,
                    uint64_t count)
{
    struct zipf zipf;
    struct prng prng;
    if (zipf_init(&zipf, records, work->theta)) return false;
    prng_seed(&prng, seed);
    for (uint64_t i = 0; i < count; i++) {
        struct peer_draw *draw = &draws[i];
        *draw = (struct peer_draw){0};
        if (work->kind == PEER_SMALLBANK) {
            bank_draw(&zipf, &prng, draw);
            continue;
        }
        keys_draw(&zipf, &prng, draw->keys);
        for (uint32_t j = 0; j < PEER_PER_TXN; j++) draw->cells[j] = (uint8_t)prng_below(&prng, 4);
    }
    return true;
}

/* ---- a transaction ---- */

void peer_work_plan(const struct peer_work *work, const struct peer_draw *draw, struct peer_plan *plan)
{
    if (work->kind == PEER_SMALLBANK) {
        const uint8_t *read = shapes[draw->type].read, *write = shapes[draw->type].write;
        plan->count = read[1] ? 2 : 1;
        plan->writes = write[0];
        for (uint32_t i = 0; i < plan->count; i++)
            plan->parts[i] = (struct peer_part){draw->keys[i], read[i], write[i]};
        return;
    }
    plan->count = PEER_PER_TXN;
    plan->writes = work->kind == PEER_YCSB;
    for (uint32_t i = 0; i < PEER_PER_TXN; i++) {
        uint8_t cell = (uint8_t)(1u << draw->cells[i]);
        plan->parts[i] = (struct peer_part){draw->keys[i], cell, plan->writes ? cell : 0};
    }
}

static bool bank_compute(const struct peer_draw *draw, int64_t *from, int64_t *to, struct peer_outcome *outcome)
{
    int64_t delta = draw->cents;
    enum { savings, checking };

    switch (draw->type) {
    case AMALGAMATE:
        to[checking] += from[savings] + from[checking];
        from[savings] = from[checking] = 0;
        return true;
    case BALANCE:
        return true;
    case SEND_PAYMENT:
        if (from[checking] < draw->cents) return false;
        from[checking] -= draw->cents;
        to[checking] += draw->cents;
        return true;
    case TRANSACT_SAVINGS:
        if (from[savings] + draw->cents < 0) return false;
        from[savings] += draw->cents;
        break;
    case WRITE_CHECK:
        delta = -delta - (from[savings] + from[checking] < draw->cents ? PENALTY_CENTS : 0);
        __attribute__((fallthrough));
    default:
        from[checking] += delta;
    }
    outcome->cents = delta;
    return true;
}

static uint64_t checksum_of(const struct peer_value *value)
{
    const uint64_t words[] = {value->key, value->cell | (uint64_t)value->writer << 32, value->at, value->writes};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 32;
    }
    return sum;
}

bool peer_work_compute(const struct peer_work *work, const struct peer_draw *draw, uint32_t writer, uint64_t at,
                       union peer_row *rows, struct peer_outcome *outcome)
{
    *outcome = (struct peer_outcome){0};
    if (work->kind == PEER_SMALLBANK) return bank_compute(draw, rows[0].balances, rows[1].balances, outcome);
    for (uint32_t i = 0; i < PEER_PER_TXN; i++) {
        struct peer_value *value = &rows[i].values[draw->cells[i]];
        outcome->foreign += value->key != draw->keys[i] || value->cell != draw->cells[i];
        if (work->kind == PEER_READ) continue;
        value->writer = writer;
        value->at = at;
        value->writes++;
        value->checksum = checksum_of(value);
        outcome->writes++;
    }
    return true;
}

void peer_work_copy(const struct peer_work *work, uint8_t cells, union peer_row *to, const void *from)
{
    if (cells == (1u << work->columns) - 1) {
        memcpy(to, from, work->row_bytes);
        return;
    }
    for (uint32_t i = 0; i < work->columns; i++)
        if (cells >> i & 1)
            memcpy(to->bytes + i * work->column_bytes, (const uint8_t *)from + i * work->column_bytes,
                   work->column_bytes);
}

/* ---- load and check ---- */

void peer_work_load(const struct peer_work *work, uint64_t key, union peer_row *row)
{
    memset(row, 0, sizeof *row);
    if (work->kind == PEER_SMALLBANK) {
        row->balances[0] = row->balances[1] = PEER_INITIAL_CENTS;
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        row->values[i] = (struct peer_value){.key = key, .cell = i, .writer = PEER_LOADER};
        row->values[i].checksum = checksum_of(&row->values[i]);
    }
}

void peer_work_add(void *arg, uint64_t key, const union peer_row *row)
{
    struct peer_sum *sum = arg;
    sum->records++;
    if (sum->work->kind == PEER_SMALLBANK) {
        sum->cents += row->balances[0] + row->balances[1];
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct peer_value *value = &row->values[i];
        sum->writes += value->writes;
        sum->broken += value->key != key || value->cell != i || value->checksum != checksum_of(value);
    }
}

const char *peer_work_judge(const struct peer_sum *sum, uint64_t records, const struct peer_outcome *outcome)
{
    if (sum->records != records) return "records are missing, or too many";
    if (sum->broken) return "values are broken";
    if (outcome->foreign) return "values were read that belong to another record";
    if (sum->work->kind != PEER_SMALLBANK) return sum->writes == outcome->writes ? NULL : "updates were lost";
    int64_t loaded = (int64_t)records * 2 * PEER_INITIAL_CENTS;
    return sum->cents == loaded + outcome->cents ? NULL : "the total balance is wrong";
}
