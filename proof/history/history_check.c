/*
 * history_check.c - the course of a check: arrange, decide who takes part, walk all records, look for a cycle, say
 * what was found. A history in slices is arranged and walked slice by slice, with one graph and one worst finding for
 * all: what was done to a record is in one of them.
 */
#include "history_check.h"

#include "history_graph.h"
#include "history_range.h"
#include "history_words.h"

#include <stdlib.h>
#include <string.h>

struct check {
    const struct history_check_options *options;
    struct cellar_error *error;
    const struct history *whole;
    struct history_slices *slices; /* NULL: the whole is in memory */
    uint32_t slice_count, current; /* current: the slice that `items` are of; slice_count: none is */
    struct history slice;
    uint8_t *parts; /* of items, as far as it is decided; NULL: as they are */
    struct history_items items;
    uint64_t item_count;
    struct history_graph graph;
    struct history_finding worst;
    uint32_t worst_slice;
    struct history_graph_cycle cycle;
    struct history_words_reason *reasons;
    uint64_t *begin_ns, *end_ns; /* rank -> */
};

/* ---- slices ---- */

/* Arranges that one, in place of another. */
static int slice_open(struct check *check, uint32_t number)
{
    int rc = 0;

    if (check->current == number) return 0;
    history_items_close(&check->items);
    check->items = (struct history_items){0};
    check->current = check->slice_count;
    if (check->slices) rc = history_slices_load(check->slices, number, check->whole, &check->slice, check->error);
    if (rc == 0)
        rc = history_items_open(&check->items, check->slices ? &check->slice : check->whole, check->options->settled);
    if (rc == 0 && check->parts) memcpy(check->items.parts, check->parts, check->items.txn_count);
    if (rc == 0) check->current = number;
    return rc;
}

static bool any_unknown(const struct history *history)
{
    bool any = false;
    for (uint64_t i = 0; i < history->txn_count && !any; i++) any = history->txns[i].outcome == HISTORY_INDETERMINATE;
    return any;
}

/* Until no slice counts another transaction in: one that was seen in one of them has written in others, too. */
static int decide(struct check *check)
{
    uint64_t bytes = check->whole->txn_count;
    bool changed = any_unknown(check->whole);
    int rc = 0;

    while (changed && rc == 0) {
        changed = false;
        for (uint32_t i = 0; i < check->slice_count && rc == 0; i++) {
            rc = slice_open(check, i);
            if (rc == 0) rc = history_scan_decide(&check->items);
            if (rc || check->slice_count == 1) continue;
            changed = changed || !check->parts || memcmp(check->parts, check->items.parts, bytes) != 0;
            if (!check->parts) check->parts = malloc(bytes);
            if (!check->parts) return CELLAR_NOMEM;
            memcpy(check->parts, check->items.parts, bytes);
        }
    }
    return rc;
}

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
    if (!worse(finding, &check->worst)) return;
    check->worst = *finding;
    check->worst_slice = check->current;
}

static int walk_slice(struct check *check)
{
    const struct history_sink sink = {.arg = check, .edge = take_edge, .finding = take_finding};
    uint64_t edges = check->graph.edge_count;
    int rc = check->current == 0 ? history_txns_turns(&check->items, &sink) : 0;

    history_txns_timestamps(&check->items, &sink);
    for (uint32_t record = 0; record < check->items.record_count && !rc; record++)
        rc = history_scan_record(&check->items, record, &sink);
    if (check->slice_count > 1) history_graph_tidy(&check->graph, edges);
    check->item_count += check->items.item_count;
    return rc;
}

static int walk_slices(struct check *check)
{
    int rc = 0;
    for (uint32_t i = 0; i < check->slice_count && !rc; i++) {
        rc = slice_open(check, i);
        if (!rc) rc = walk_slice(check);
    }
    return rc;
}

/* ---- real time ---- */

/* When an indeterminate transaction had its effect is unknown, but not before it began. */
static int times_make(struct check *check)
{
    uint32_t count = check->items.txn_count;

    check->begin_ns = malloc(((size_t)count + 1) * sizeof *check->begin_ns);
    check->end_ns = malloc(((size_t)count + 1) * sizeof *check->end_ns);
    if (!check->begin_ns || !check->end_ns) return CELLAR_NOMEM;
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
    const struct history_items *items;
    struct history_words_reason *reason;
};

static bool presence(const struct history_words_reason *reason) { return reason->place >> LAYOUT_TS_BITS == 0; }

static bool reason_before(const struct history_words_reason *a, const struct history_words_reason *b)
{
    if (a->from.table_id != b->from.table_id) return a->from.table_id < b->from.table_id;
    if (a->from.key != b->from.key) return a->from.key < b->from.key;
    /* Cells tell more than the presence, which their versions follow. */
    if (presence(a) != presence(b)) return presence(b);
    return a->place < b->place;
}

/* Was this cell written in deleting its record? */
static bool is_deletion(const struct history_items *items, const struct history_access *access, uint32_t rank)
{
    const struct history_txn *txn = history_items_txn(items, rank);

    for (uint64_t i = txn->first; i < txn->first + txn->count; i++) {
        const struct history_access *other = &items->history->accesses[i];
        if (other->kind == HISTORY_DELETE && other->key == access->key && other->table_id == access->table_id)
            return true;
    }
    return false;
}

static void reason_edge(void *arg, enum history_edge kind, const struct history_visit *from,
                        const struct history_visit *to)
{
    struct reason_search *search = arg;

    if (kind != search->kind || history_visit_rank(from) != search->from || history_visit_rank(to) != search->to)
        return;
    struct history_words_reason reason = {.known = true,
                                          .place = from->place,
                                          .from = *history_items_access(search->items, from->entry),
                                          .to = *history_items_access(search->items, to->entry)};
    if (search->reason->known && !reason_before(&reason, search->reason)) return;
    reason.deletes = is_deletion(search->items, &reason.to, search->to);
    *search->reason = reason;
}

static void reason_finding(void *arg, const struct history_finding *finding) {}

/* Walks again all records of the slice that the first of the two transactions touched. */
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
    if (!check->reasons) return CELLAR_NOMEM;
    /* The text holds no more of them than the verdict has room for ids. */
    for (uint32_t slice = 0; slice < check->slice_count && !rc; slice++) {
        rc = slice_open(check, slice);
        for (uint32_t i = 0; i < cycle->count && i < HISTORY_CYCLE_MAX && !rc; i++)
            if (cycle->kinds[i] != HISTORY_REALTIME) rc = reason_find(check, i);
    }
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

static int judge(struct check *check, struct history_verdict *verdict)
{
    const struct history_words words = {
        .items = &check->items, .verdict = verdict, .clock_error_ns = check->options->clock_error_ns};

    int rc = decide(check);
    if (!rc) rc = walk_slices(check);
    check->graph.node_count = check->items.txn_count;
    if (!rc && check->worst.kind > HISTORY_FOUND_NO_CYCLE) rc = cycle_look_for(check);
    if (!rc && check->worst.kind < HISTORY_FOUND_NO_CYCLE) history_graph_tidy(&check->graph, 0); /* to be counted */
    if (!rc && !check->cycle.count && check->worst.kind != HISTORY_FOUND_NOTHING)
        rc = slice_open(check, check->worst_slice);
    if (rc) return rc;
    verdict->txns = check->whole->txn_count;
    verdict->items = check->item_count;
    verdict->edges = check->graph.edge_count;
    if (check->cycle.count) {
        history_words_cycle(&words, &check->cycle, check->reasons);
    } else if (check->worst.kind != HISTORY_FOUND_NOTHING) {
        history_words_finding(&words, &check->worst);
    } else {
        history_words_ok(&words, check->options->realtime);
        return 0;
    }
    return CELLAR_CORRUPT;
}

static int check_single(struct check *check, struct history_verdict *verdict)
{
    *verdict = (struct history_verdict){.kind = "ok"};
    check->worst.kind = HISTORY_FOUND_NOTHING;
    check->current = check->slice_count;
    int rc = judge(check, verdict);
    history_items_close(&check->items);
    history_free(&check->slice);
    history_graph_free(&check->graph);
    history_graph_cycle_free(&check->cycle);
    free(check->parts);
    free(check->reasons);
    free(check->begin_ns);
    free(check->end_ns);
    return rc;
}

int history_check(const struct history *history, const struct history_check_options *options,
                  struct history_verdict *verdict)
{
    struct check check = {.options = options, .whole = history, .slice_count = 1};
    struct history single;

    if (!history_range_any(history)) return check_single(&check, verdict);
    *verdict = (struct history_verdict){.kind = "ok"};
    int rc = history_range_resolve(history, &single);
    if (rc) return rc;
    check.whole = &single;
    rc = check_single(&check, verdict);
    history_free(&single);
    return rc;
}

int history_check_slices(const struct history *history, struct history_slices *slices,
                         const struct history_check_options *options, struct history_verdict *verdict,
                         struct cellar_error *error)
{
    struct check check = {.options = options,
                          .error = error,
                          .whole = history,
                          .slices = slices,
                          .slice_count = history_slices_count(slices)};
    return check_single(&check, verdict);
}
