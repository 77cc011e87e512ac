/*
 * test_history_random.c - small random histories, judged twice: by history_check, and by trying every serial order.
 *
 * A history is made from a serial run, then damaged a little or not at all: reads moved to other versions, writers
 * exchanged, times moved. It is in order if some set of its indeterminate transactions, and some serial order of
 * these and all others that keeps real time, gives each read what it read and each write what it overwrote. For
 * cycles also class and length must be those of the worst and shortest of all cycles, found by walking every one of
 * them.
 */
#include "history_check.h"
#include "history_sliced.h"
#include "layout.h"
#include "prng.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TXNS_MAX 5
#define OPS_MAX 3
#define ITEMS 4 /* 0 and 1: cells of one record; 2 and 3: records of one cell, which come and go */
#define VERSIONS_MAX 32
#define LOADED (-1)

enum change { UPDATE, INSERT, DELETE };

struct made_version {
    int writer; /* a transaction, or LOADED */
    int over;   /* the version that it replaces */
    enum change change;
    uint64_t word;
};

struct op {
    int item;
    bool write, absent;
    int version;        /* read: the one seen; write: the one made */
    uint64_t bucket_ts; /* absent: changes up to then were seen */
};

struct made_txn {
    struct op ops[OPS_MAX];
    int op_count;
    int64_t begin, end;
    uint64_t ts;
    enum history_outcome outcome;
};

struct made {
    struct made_txn txns[TXNS_MAX];
    int txn_count;
    struct made_version versions[ITEMS][VERSIONS_MAX];
    int version_counts[ITEMS];
    bool loaded[ITEMS]; /* version 0 is there; else it stands for "no record" */
    bool told;          /* the history says what was loaded, */
    int mistold;        /* but of this item something else; ITEMS: of none */
};

static bool gone(const struct made *made, int item, int version)
{
    if (version == 0) return !made->loaded[item];
    return made->versions[item][version].change == DELETE;
}

/* ---- making ---- */

static bool touches(const struct made_txn *txn, int item)
{
    for (int i = 0; i < txn->op_count; i++)
        if (txn->ops[i].item == item) return true;
    return false;
}

/* What was only meant has a timestamp of its own, below that of the next one. */
static uint64_t ts_make(struct prng *prng, int t, bool effective)
{
    return 200 + 100 * (uint64_t)t - (effective ? 0 : 1 + prng_below(prng, 40));
}

static void op_make(struct made *made, struct prng *prng, int t, int now[ITEMS], bool effective)
{
    struct made_txn *txn = &made->txns[t];
    struct op op = {.item = (int)prng_below(prng, ITEMS)};
    if (touches(txn, op.item)) return;
    int current = now[op.item];
    const struct made_version *below = &made->versions[op.item][current];

    op.write = txn->outcome != HISTORY_FAILED && prng_below(prng, 2);
    if (op.write && op.item < 2 && gone(made, op.item, current)) return;
    if (!op.write) {
        op.absent = gone(made, op.item, current);
        op.version = current;
        op.bucket_ts = layout_version_ts(below->word) + prng_below(prng, 5);
        txn->ops[txn->op_count++] = op;
        return;
    }
    op.version = made->version_counts[op.item]++;
    enum change change = gone(made, op.item, current)               ? INSERT
                         : op.item >= 2 && prng_below(prng, 3) == 0 ? DELETE
                                                                    : UPDATE;
    uint16_t en = change == INSERT ? 1 : (uint16_t)(layout_version_en(below->word) + 1);
    made->versions[op.item][op.version] =
        (struct made_version){.writer = t, .over = current, .change = change, .word = layout_version_of(en, txn->ts)};
    if (effective) now[op.item] = op.version;
    txn->ops[txn->op_count++] = op;
}

static void serial_make(struct made *made, struct prng *prng)
{
    int now[ITEMS] = {0};

    memset(made, 0, sizeof *made);
    made->txn_count = 2 + (int)prng_below(prng, TXNS_MAX - 1);
    made->told = prng_below(prng, 2);
    made->mistold = ITEMS;
    for (int item = 0; item < ITEMS; item++) {
        made->loaded[item] = item < 2 || prng_below(prng, 2);
        made->version_counts[item] = 1;
        made->versions[item][0] =
            (struct made_version){.writer = LOADED, .word = made->loaded[item] ? layout_version_of(3, 100) : 0};
    }
    for (int t = 0; t < made->txn_count; t++) {
        struct made_txn *txn = &made->txns[t];
        uint64_t luck = prng_below(prng, 12);
        txn->outcome = luck < 2 ? HISTORY_INDETERMINATE : luck == 2 ? HISTORY_FAILED : HISTORY_COMMITTED;
        bool effective = txn->outcome == HISTORY_COMMITTED || prng_below(prng, 2);
        txn->ts = ts_make(prng, t, effective);
        for (int i = 0; i < OPS_MAX; i++) op_make(made, prng, t, now, effective);
        txn->begin = 1000 + 100 * t - (int64_t)prng_below(prng, 300);
        txn->end = 1000 + 100 * t + (int64_t)prng_below(prng, 300);
    }
}

/* Two writers of one item change places. */
static void writers_exchange(struct made *made, struct op *op, int version)
{
    struct made_version *mine = &made->versions[op->item][op->version], *other = &made->versions[op->item][version];
    int writer = mine->writer;

    for (int t = 0; t < made->txn_count; t++)
        for (int i = 0; i < made->txns[t].op_count; i++) {
            struct op *theirs = &made->txns[t].ops[i];
            if (!theirs->write || theirs->item != op->item || theirs->version != version || theirs == op) continue;
            theirs->version = op->version;
            op->version = version;
            mine->writer = t;
            other->writer = writer;
            return;
        }
}

/* Makes it, probably, wrong. */
static void damage(struct made *made, struct prng *prng)
{
    struct made_txn *txn = &made->txns[prng_below(prng, (uint64_t)made->txn_count)];
    if (!txn->op_count) return;
    struct op *op = &txn->ops[prng_below(prng, (uint64_t)txn->op_count)];
    int version = (int)prng_below(prng, (uint64_t)made->version_counts[op->item]);

    if (made->told && prng_below(prng, 8) == 0) {
        made->mistold = op->item;
    } else if (prng_below(prng, 3) == 0) {
        int64_t by = (int64_t)prng_below(prng, 600) - 300;
        txn->begin += by;
        txn->end += by;
    } else if (op->write) {
        writers_exchange(made, op, version);
    } else if (!op->absent && !gone(made, op->item, version)) {
        op->version = version;
    } else {
        op->bucket_ts = layout_version_ts(made->versions[op->item][version].word) + prng_below(prng, 5);
    }
}

/* ---- as a history ---- */

static uint64_t key_of(int item) { return item < 2 ? 1 : (uint64_t)item; }

static void access_add(struct history_access *accesses, uint32_t *count, const struct made *made, const struct op *op)
{
    const struct made_version *version = &made->versions[op->item][op->version];
    struct history_access access = {.kind = op->write ? HISTORY_WRITE : HISTORY_READ,
                                    .table_id = 1,
                                    .key = key_of(op->item),
                                    .cell = op->item == 1,
                                    .version = version->word};

    access.digest = op->write && version->change == DELETE ? 0 : version->word * 7 + 1;
    if (op->absent) {
        access = (struct history_access){.kind = HISTORY_ABSENT,
                                         .table_id = 1,
                                         .key = key_of(op->item),
                                         .cell = HISTORY_PRESENCE,
                                         .version = op->bucket_ts};
    } else if (op->write) {
        access.over = version->change == INSERT ? 0 : made->versions[op->item][version->over].word;
        if (version->change != UPDATE) {
            accesses[*count] = access;
            accesses[*count].kind = version->change == INSERT ? HISTORY_INSERT : HISTORY_DELETE;
            accesses[*count].cell = HISTORY_PRESENCE;
            accesses[(*count)++].version = layout_version_ts(version->word);
        }
    }
    accesses[(*count)++] = access;
}

static void loaded_make(const struct made *made, struct history *history)
{
    for (int item = 0; item < ITEMS; item++) {
        uint64_t word = made->versions[item][0].word;
        struct history_final loaded = {.table_id = 1,
                                       .key = key_of(item),
                                       .cell = item == 1,
                                       .version = item == made->mistold ? word - 1 : word,
                                       .digest = word * 7 + 1};
        if (!made->loaded[item]) continue;
        assert_int_equal(history_loaded_add(history, &loaded), 0);
    }
    history->has_loaded = made->told;
}

static void history_make(const struct made *made, struct history *history)
{
    loaded_make(made, history);
    for (int t = 0; t < made->txn_count; t++) {
        const struct made_txn *txn = &made->txns[t];
        struct history_access accesses[2 * OPS_MAX];
        uint32_t count = 0;
        for (int i = 0; i < txn->op_count; i++) access_add(accesses, &count, made, &txn->ops[i]);
        const struct history_txn made_txn = {.id = (uint64_t)t,
                                             .coordinator = (uint32_t)t,
                                             .ts = txn->ts,
                                             .begin_ns = (uint64_t)txn->begin,
                                             .end_ns = (uint64_t)txn->end,
                                             .outcome = (uint8_t)txn->outcome,
                                             .count = count};
        assert_int_equal(history_txn_add(history, &made_txn, accesses), 0);
    }
}

/* ---- rules for single transactions ---- */

static bool own_timestamps(const struct made *made)
{
    for (int t = 0; t < made->txn_count; t++)
        for (int i = 0; i < made->txns[t].op_count; i++) {
            const struct op *op = &made->txns[t].ops[i];
            if (op->write && layout_version_ts(made->versions[op->item][op->version].word) != made->txns[t].ts)
                return false;
        }
    return true;
}

/*
 * Did a transaction that takes part for certain (or, `perhaps`, one that may) see another version loaded than the
 * history says was?
 */
static bool contradicted(const struct made *made, bool perhaps)
{
    for (int t = 0; t < made->txn_count && made->mistold < ITEMS && made->loaded[made->mistold]; t++)
        for (int i = 0; i < made->txns[t].op_count; i++) {
            const struct op *op = &made->txns[t].ops[i];
            const struct made_version *version = &made->versions[op->item][op->version];
            bool first = op->write ? version->change != INSERT && version->over == 0 : op->version == 0;
            if (op->item != made->mistold || op->absent || !first) continue;
            if (perhaps || made->txns[t].outcome != HISTORY_INDETERMINATE) return true;
        }
    return false;
}

/* ---- every serial order ---- */

/* Takes the transaction's turn; false if it would have seen other things than it did. */
static bool turn(const struct made *made, int t, int now[ITEMS])
{
    const struct made_txn *txn = &made->txns[t];

    for (int i = 0; i < txn->op_count; i++) {
        const struct op *op = &txn->ops[i];
        const struct made_version *current = &made->versions[op->item][now[op->item]];
        if (op->absent) {
            if (!gone(made, op->item, now[op->item])) return false;
            if (now[op->item] && layout_version_ts(current->word) > op->bucket_ts) return false;
        } else if (op->write) {
            const struct made_version *version = &made->versions[op->item][op->version];
            if (version->change == INSERT && !gone(made, op->item, now[op->item])) return false;
            if (version->change != INSERT && now[op->item] != version->over) return false;
            if (version->change != INSERT && gone(made, op->item, now[op->item])) return false;
            if (now[op->item] && layout_version_ts(current->word) >= layout_version_ts(version->word)) return false;
        } else if (now[op->item] != op->version) {
            return false;
        }
    }
    for (int i = 0; i < txn->op_count; i++)
        if (txn->ops[i].write) now[txn->ops[i].item] = txn->ops[i].version;
    return true;
}

/* An absent read has seen all changes up to its bucket's version: no later turn may make one of these. */
static bool absences_hold(const struct made *made, int t, unsigned done)
{
    for (int other = 0; other < made->txn_count; other++) {
        if (!(done & 1u << other) || other == t) continue;
        for (int i = 0; i < made->txns[other].op_count; i++) {
            const struct op *op = &made->txns[other].ops[i];
            for (int j = 0; op->absent && j < made->txns[t].op_count; j++) {
                const struct op *mine = &made->txns[t].ops[j];
                if (!mine->write || mine->item != op->item) continue;
                const struct made_version *version = &made->versions[mine->item][mine->version];
                if (version->change != UPDATE && layout_version_ts(version->word) <= op->bucket_ts) return false;
            }
        }
    }
    return true;
}

static bool in_time(const struct made *made, int t, unsigned todo)
{
    for (int other = 0; other < made->txn_count; other++)
        if ((todo & 1u << other) && made->txns[other].outcome != HISTORY_INDETERMINATE &&
            made->txns[other].end < made->txns[t].begin)
            return false;
    return true;
}

static bool order_exists(const struct made *made, unsigned todo, unsigned done, const int now[ITEMS], bool realtime)
{
    if (!todo) return true;
    for (int t = 0; t < made->txn_count; t++) {
        int then[ITEMS];
        if (!(todo & 1u << t)) continue;
        memcpy(then, now, sizeof then);
        if ((!realtime || in_time(made, t, todo & ~(1u << t))) && absences_hold(made, t, done) && turn(made, t, then) &&
            order_exists(made, todo & ~(1u << t), done | 1u << t, then, realtime))
            return true;
    }
    return false;
}

static bool serializable(const struct made *made, bool realtime)
{
    unsigned all = (1u << made->txn_count) - 1, perhaps = 0;
    const int now[ITEMS] = {0};

    for (int t = 0; t < made->txn_count; t++)
        if (made->txns[t].outcome == HISTORY_INDETERMINATE) perhaps |= 1u << t;
    for (unsigned left_out = perhaps;; left_out = (left_out - 1) & perhaps) {
        if (order_exists(made, all & ~left_out, 0, now, realtime)) return true;
        if (!left_out) return false;
    }
}

/* ---- every cycle ---- */

enum { WW = 1, WR = 2, RW = 4, RT = 8 };

struct cycles {
    int count;
    unsigned edges[TXNS_MAX][TXNS_MAX]; /* a set of the kinds above */
    int worst, shortest;                /* class (4 more with real time), and transactions */
};

static bool takes_part(const struct made *made, unsigned in, int t)
{
    return t != LOADED && (in & 1u << t) && t < made->txn_count;
}

/* Inserts or deletes of one record that indeterminate transactions meant: how many at most. */
static int presence_in_doubt(const struct made *made)
{
    int counts[ITEMS] = {0}, most = 0;

    for (int t = 0; t < made->txn_count; t++)
        for (int i = 0; made->txns[t].outcome == HISTORY_INDETERMINATE && i < made->txns[t].op_count; i++) {
            const struct op *op = &made->txns[t].ops[i];
            if (!op->write || made->versions[op->item][op->version].change == UPDATE) continue;
            if (++counts[op->item] > most) most = counts[op->item];
        }
    return most;
}

/* Indeterminate transactions of which one that takes part saw a version. */
static unsigned who_takes_part(const struct made *made)
{
    unsigned in = 0, before;

    for (int t = 0; t < made->txn_count; t++)
        if (made->txns[t].outcome != HISTORY_INDETERMINATE) in |= 1u << t;
    do {
        before = in;
        for (int t = 0; t < made->txn_count; t++)
            for (int i = 0; (in & 1u << t) && i < made->txns[t].op_count; i++) {
                const struct op *op = &made->txns[t].ops[i];
                const struct made_version *version = &made->versions[op->item][op->version];
                int seen = op->absent                  ? LOADED
                           : !op->write                ? version->writer
                           : version->change == INSERT ? LOADED
                                                       : made->versions[op->item][version->over].writer;
                if (seen != LOADED) in |= 1u << seen;
            }
    } while (in != before);
    return in;
}

/* The next version of an item, in the order of timestamps, of those whose writers take part; 0: none. */
static int version_next(const struct made *made, unsigned in, int item, uint64_t ts, bool changes_only)
{
    int next = 0;

    for (int v = 1; v < made->version_counts[item]; v++) {
        const struct made_version *version = &made->versions[item][v];
        if (!takes_part(made, in, version->writer) || layout_version_ts(version->word) <= ts) continue;
        if (changes_only && version->change == UPDATE) continue;
        if (!next || version->word << 16 < made->versions[item][next].word << 16) next = v;
    }
    return next;
}

static void edge_put(struct cycles *cycles, int from, int to, unsigned kind)
{
    if (from != to) cycles->edges[from][to] |= kind;
}

static void edges_of_op(struct cycles *cycles, const struct made *made, unsigned in, int t, const struct op *op)
{
    const struct made_version *versions = made->versions[op->item];
    uint64_t ts = op->absent ? op->bucket_ts : layout_version_ts(versions[op->version].word);
    int next = version_next(made, in, op->item, ts, op->absent);

    if (next) edge_put(cycles, t, versions[next].writer, op->write ? WW : RW);
    if (!op->write && !op->absent && versions[op->version].writer != LOADED)
        edge_put(cycles, versions[op->version].writer, t, WR);
    if (op->write && versions[op->version].change != UPDATE) { /* the presence has versions of its own */
        next = version_next(made, in, op->item, ts, true);
        if (next) edge_put(cycles, t, versions[next].writer, WW);
    }
    if (op->absent) { /* after the last change that it saw */
        int last = 0;
        for (int v = 1; v < made->version_counts[op->item]; v++)
            if (takes_part(made, in, versions[v].writer) && versions[v].change != UPDATE &&
                layout_version_ts(versions[v].word) <= ts &&
                (!last || layout_version_ts(versions[v].word) > layout_version_ts(versions[last].word)))
                last = v;
        if (last) edge_put(cycles, versions[last].writer, t, WR);
    }
}

static void cycle_walk(struct cycles *cycles, int start, int at, unsigned visited, int length, const int counts[3])
{
    for (int to = start; to < cycles->count; to++) {
        for (unsigned kind = WW; kind <= RT; kind <<= 1) {
            if (!(cycles->edges[at][to] & kind) || (to != start && (visited & 1u << to))) continue;
            int now[3] = {counts[0] + (kind == WR), counts[1] + (kind == RW), counts[2] + (kind == RT)};
            if (to != start) {
                cycle_walk(cycles, start, to, visited | 1u << to, length + 1, now);
                continue;
            }
            int worst = (now[1] > 1 ? 3 : now[1] ? 2 : now[0] ? 1 : 0) + (now[2] ? 4 : 0);
            if (worst < cycles->worst || (worst == cycles->worst && length < cycles->shortest)) {
                cycles->worst = worst;
                cycles->shortest = length;
            }
        }
    }
}

static void cycles_find(const struct made *made, bool realtime, struct cycles *cycles)
{
    unsigned in = who_takes_part(made);
    const int none[3] = {0};

    *cycles = (struct cycles){.count = made->txn_count, .worst = 8};
    for (int t = 0; t < made->txn_count; t++) {
        if (!(in & 1u << t)) continue;
        for (int i = 0; i < made->txns[t].op_count; i++) edges_of_op(cycles, made, in, t, &made->txns[t].ops[i]);
        for (int other = 0; realtime && other < made->txn_count; other++)
            if ((in & 1u << other) && made->txns[t].outcome != HISTORY_INDETERMINATE &&
                made->txns[t].end < made->txns[other].begin)
                cycles->edges[t][other] |= RT;
    }
    for (int start = 0; start < made->txn_count; start++) cycle_walk(cycles, start, start, 1u << start, 1, none);
}

/* ---- the comparison ---- */

static const char *const classes[] = {"G0",          "G1c",          "G-single",          "G2-item",
                                      "G0-realtime", "G1c-realtime", "G-single-realtime", "G2-item-realtime"};

struct tally {
    int ok, local, classes[8];
};

static void compare(const struct made *made, bool realtime, uint64_t seed, struct tally *tally)
{
    const struct history_check_options options = {.realtime = realtime, .settled = true};
    struct history history = {0};
    struct history_verdict verdict;
    struct cycles cycles;

    if (contradicted(made, true) != contradicted(made, false)) return;
    history_make(made, &history);
    int rc = history_check(&history, &options, &verdict);
    bool expected = serializable(made, realtime) && own_timestamps(made) && !contradicted(made, false);
    /* Where one of several must have changed a record's presence, the checker does not guess which. */
    if (rc == 0 ? !expected && presence_in_doubt(made) < 2 : expected)
        fail_msg("seed %llu: %s is in order, but: %s", (unsigned long long)seed, expected ? "it" : "nothing",
                 verdict.text);
    cycles_find(made, realtime, &cycles);
    int kind = 0;
    while (kind < 8 && strcmp(verdict.kind, classes[kind]) != 0) kind++;
    /* Whether an insert or delete took place follows in more ways than who_takes_part knows. */
    if (kind < 8 && !presence_in_doubt(made) && (kind != cycles.worst || (int)verdict.cycle_count != cycles.shortest))
        fail_msg("seed %llu: class %s of %d transactions, but: %s", (unsigned long long)seed,
                 cycles.worst < 8 ? classes[cycles.worst] : "none", cycles.shortest, verdict.text);
    if (rc == 0)
        tally->ok++;
    else if (kind < 8)
        tally->classes[kind]++;
    else
        tally->local++;
    if (seed % 16 == 0) assert_sliced(&history, 2 + (uint32_t)(seed / 16 % 3), &options, &verdict);
    history_free(&history);
}

static void judged_as_by_every_order(void **state)
{
    const int seeds = share_least() ? 40000 : 200000;
    struct tally tally = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
        struct prng prng;
        struct made made;
        prng_seed(&prng, seed);
        serial_make(&made, &prng);
        compare(&made, true, seed, &tally);
        for (uint64_t i = prng_below(&prng, 4); i > 0; i--) damage(&made, &prng);
        compare(&made, seed % 2, seed, &tally);
    }
    assert_true(tally.ok > seeds);
    assert_true(tally.local > seeds / 70);
    for (int kind = 0; kind < 8; kind++)
        if (!share_least() && tally.classes[kind] < 3) fail_msg("only %d of %s", tally.classes[kind], classes[kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(judged_as_by_every_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
