/* history_check.c - the course of a check: arrange, decide who takes part, walk all records, look for a cycle, say what was found. */
#include "history_check.h"

#include "history_graph.h"
#include "history_range.h"
#include "history_words.h"

#include <stdlib.h>
#include <string.h>

struct check {
    const struct history_check_options *options;
    struct history_items items;
    struct history_graph graph;
    struct history_finding worst;
    struct history_graph_cycle cycle;
    struct history_words_reason *reasons;
    uint64_t *begin_ns, *end_ns; /* rank -> */
};

/* ---- what records say ---- */

static void take_edge(void *arg, enum history_edge kind, const struct history_visit *from,
                      const struct history_visit *to)
{
    struct check *check = arg;
    history_graph_add(&check->graph, kind, history_visit_rank(from), history_visit_rank(to));
}

static bool worse(const struct history_finding *a, const struct history_finding *b)
{
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->table_id != b->table_id) return a->table_id < b->table_id;
    if (a->key != b->key) return a->key < b->key;
    return a->place < b->place;
}

static void take_finding(void *arg, const struct history_finding *finding)
{
    struct check *check = arg;
    if (worse(finding, &check->worst)) check->worst = *finding;
}

static int walk_records(struct check *check)
{
    const struct history_sink sink = {.arg = check, .edge = take_edge, .finding = take_finding};
    int rc = history_txns_scan(&check->items, &sink);

    for (uint32_t record = 0; record < check->items.record_count && !rc; record++)
        rc = history_scan_record(&check->items, record, &sink);
    return rc;
}

/* ---- real time ---- */

/* Nobody knows when an indeterminate transaction had its effect, but that it was not before it began. */
static int times_make(struct check *check)
{
    uint32_t count = check->items.txn_count;

    check->begin_ns = malloc(((size_t)count + 1) * sizeof *check->begin_ns);
    check->end_ns = malloc(((size_t)count + 1) * sizeof *check->end_ns);
    if (!check->begin_ns || !check->end_ns) return -CELLAR_ERR_NOMEM;
    for (uint32_t rank = 0; rank < count; rank++) {
        const struct history_txn *txn = history_items_txn(&check->items, rank);
        uint64_t end_ns = txn->end_ns > txn->begin_ns ? txn->end_ns : txn->begin_ns;
        check->begin_ns[rank] = txn->begin_ns;
        if (__builtin_add_overflow(end_ns, check->options->clock_error_ns, &check->end_ns[rank]) ||
            txn->outcome == HISTORY_INDETERMINATE)
            check->end_ns[rank] = UINT64_MAX;
    }
    return 0;
}

/* ---- why one transaction of the cycle comes before the next ---- */

struct reason_search {
    uint32_t from, to;
    enum history_edge kind;
    bool any;
    const struct history_items *items;
    struct history_words_reason *reason;
};

static bool reason_before(const struct history_words_reason *a, const struct history_words_reason *b)
{
    if (a->table_id != b->table_id) return a->table_id < b->table_id;
    if (a->key != b->key) return a->key < b->key;
    /* Cells tell more than the presence, which their versions follow. */
    bool a_presence = history_visit_is_presence(&a->from), b_presence = history_visit_is_presence(&b->from);
    if (a_presence != b_presence) return b_presence;
    return a->from.place < b->from.place;
}

static void reason_edge(void *arg, enum history_edge kind, const struct history_visit *from,
                        const struct history_visit *to)
{
    struct reason_search *search = arg;

    if (kind != search->kind || history_visit_rank(from) != search->from || history_visit_rank(to) != search->to)
        return;
    const struct history_access *access = history_items_access(search->items, from->entry);
    const struct history_words_reason reason = {access->table_id, access->key, *from, *to};
    if (search->any && !reason_before(&reason, search->reason)) return;
    *search->reason = reason;
    search->any = true;
}

static void reason_finding(void *arg, const struct history_finding *finding) {}

/* Walks again all records that the first of the two transactions touched. */
static int reason_find(struct check *check, uint32_t edge)
{
    const struct history_graph_cycle *cycle = &check->cycle;
    struct reason_search search = {.from = cycle->nodes[edge],
                                   .to = cycle->nodes[(edge + 1) % cycle->count],
                                   .kind = (enum history_edge)cycle->kinds[edge],
                                   .items = &check->items,
                                   .reason = &check->reasons[edge]};
    const struct history_sink sink = {.arg = &search, .edge = reason_edge, .finding = reason_finding};
    const struct history_txn *txn = history_items_txn(&check->items, search.from);
    int rc = 0;

    for (uint64_t i = txn->first; i < txn->first + txn->count && !rc; i++)
        rc = history_scan_record(&check->items, check->items.record_of[i], &sink);
    return rc;
}

/* The cycle begins with the first of its transactions, but with the path when it is one of real time. */
static void cycle_turn(struct history_graph_cycle *cycle)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < cycle->count; i++)
        if (cycle->nodes[i] < cycle->nodes[first]) first = i;
    for (; first > 0; first--) {
        uint32_t node = cycle->nodes[0];
        uint8_t kind = cycle->kinds[0];
        memmove(cycle->nodes, cycle->nodes + 1, (cycle->count - 1) * sizeof *cycle->nodes);
        memmove(cycle->kinds, cycle->kinds + 1, cycle->count - 1);
        cycle->nodes[cycle->count - 1] = node;
        cycle->kinds[cycle->count - 1] = kind;
    }
}

static int cycle_explain(struct check *check)
{
    struct history_graph_cycle *cycle = &check->cycle;
    int rc = 0;

    if (!cycle->count) return 0;
    if (cycle->kinds[cycle->count - 1] != HISTORY_REALTIME) cycle_turn(cycle);
    check->reasons = calloc(cycle->count, sizeof *check->reasons);
    if (!check->reasons) return -CELLAR_ERR_NOMEM;
    uint64_t items = check->items.item_count;
    /* The text holds no more of them than the verdict has room for ids. */
    for (uint32_t i = 0; i < cycle->count && i < HISTORY_CYCLE_MAX && !rc; i++)
        if (cycle->kinds[i] != HISTORY_REALTIME) rc = reason_find(check, i);
    check->items.item_count = items;
    return rc;
}

/* ---- all together ---- */

static int cycle_look_for(struct check *check)
{
    int rc = history_graph_finish(&check->graph);

    if (!rc && check->options->realtime) rc = times_make(check);
    const struct history_graph_times times = {check->begin_ns, check->end_ns};
    if (!rc) rc = history_graph_cycle_find(&check->graph, check->options->realtime ? &times : NULL, &check->cycle);
    return rc ? rc : cycle_explain(check);
}

static int judge(struct check *check, const struct history *history, struct history_verdict *verdict)
{
    const struct history_words words = {
        .items = &check->items, .verdict = verdict, .clock_error_ns = check->options->clock_error_ns};

    int rc = history_items_open(&check->items, history, check->options->settled);
    if (!rc) rc = history_scan_decide(&check->items);
    if (!rc) rc = walk_records(check);
    check->graph.node_count = check->items.txn_count;
    if (!rc && check->worst.kind > HISTORY_FOUND_NO_CYCLE) rc = cycle_look_for(check);
    if (rc) return rc;
    verdict->txns = history->txn_count;
    verdict->items = check->items.item_count;
    verdict->edges = check->graph.edge_count;
    if (check->cycle.count) {
        history_words_cycle(&words, &check->cycle, check->reasons);
    } else if (check->worst.kind != HISTORY_FOUND_NOTHING) {
        history_words_finding(&words, &check->worst);
    } else {
        history_words_ok(&words, check->options->realtime);
        return 0;
    }
    return -CELLAR_ERR_CORRUPT;
}

static int check_single(const struct history *history, const struct history_check_options *options,
                        struct history_verdict *verdict)
{
    struct check check = {.options = options, .worst = {.kind = HISTORY_FOUND_NOTHING}};

    *verdict = (struct history_verdict){.kind = "ok"};
    int rc = judge(&check, history, verdict);
    history_items_close(&check.items);
    history_graph_free(&check.graph);
    history_graph_cycle_free(&check.cycle);
    free(check.reasons);
    free(check.begin_ns);
    free(check.end_ns);
    return rc;
}

int history_check(const struct history *history, const struct history_check_options *options,
                  struct history_verdict *verdict)
{
    struct history single;

    if (!history_range_any(history)) return check_single(history, options, verdict);
    *verdict = (struct history_verdict){.kind = "ok"};
    int rc = history_range_resolve(history, &single);
    if (rc) return rc;
    rc = check_single(&single, options, verdict);
    history_free(&single);
    return rc;
}
