/*
 * history_graph.h - which transaction comes before which, and the shortest way in which that goes round in a circle.
 *
 * Nodes are ranks. Edges of items are collected one by one; real time needs none. It orders transactions as
 * intervals, so of a cycle with two edges of real time, A before B and C before D, one part is a cycle with one: if A
 * did not end before D began, then C did before B. Hence a violation of real time is a path of item edges from a
 * transaction to one that had ended before it began, and the earliest end that can be reached from each node tells,
 * in one pass against the order of the edges.
 */
#pragma once

#include "history_items.h"

struct history_graph_edge {
    uint32_t from;
    uint32_t to_kind; /* to << 2 | enum history_edge */
};

struct history_graph {
    uint32_t node_count;
    bool failed;                      /* an edge was lost: no memory */
    struct history_graph_edge *edges; /* collected; none after history_graph_finish */
    uint64_t edge_count, edge_capacity;
    uint64_t *first;   /* node_count + 1 */
    uint32_t *targets; /* of node i: targets[first[i] .. first[i + 1]), sorted: to << 2 | enum history_edge */
};

struct history_graph_cycle {
    uint32_t *nodes;
    uint8_t *kinds; /* enum history_edge, from nodes[i] to nodes[i + 1], or to nodes[0] */
    uint32_t count; /* 0: there is no cycle */
};

/* When each node's transaction began and ended. */
struct history_graph_times {
    const uint64_t *begin_ns;
    const uint64_t *end_ns; /* plus the error of clocks; UINT64_MAX: unknown */
};

void history_graph_add(struct history_graph *graph, enum history_edge kind, uint32_t from, uint32_t to);
/*
 * Drops doubles among the edges that were added after the first so many: those of one slice are often of the same two
 * transactions.
 */
void history_graph_tidy(struct history_graph *graph, uint64_t first);
/* Sorts the edges by node and drops doubles. NOMEM. */
NODISCARD int history_graph_finish(struct history_graph *graph);
void history_graph_free(struct history_graph *graph);
/*
 * The worst cycle, as short as a bounded search finds it; with `times` also those of real time, whose edge comes
 * last. NOMEM. The caller frees it with history_graph_cycle_free.
 */
NODISCARD int history_graph_cycle_find(const struct history_graph *graph, const struct history_graph_times *times,
                                       struct history_graph_cycle *cycle);
void history_graph_cycle_free(struct history_graph_cycle *cycle);
