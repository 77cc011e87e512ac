/*
 * history_cycle.h - what history_cycle.c and history_search.c share: components of the graph, and a bounded search
 * for a short way round.
 */
#pragma once

#include "history_graph.h"

#define HISTORY_CYCLE_KIND(kind) (1u << (kind))
#define HISTORY_CYCLE_ANY 7u

/*
 * Strongly connected components over the edges of some kinds; numbered against the order of edges: an edge never
 * leads to a higher one.
 */
struct history_cycle_components {
    uint32_t *of;   /* node -> component */
    uint32_t *size; /* component -> nodes */
    uint32_t count;
};

NODISCARD int history_cycle_components_find(const struct history_graph *graph, uint32_t kinds,
                                            struct history_cycle_components *components);
void history_cycle_components_free(struct history_cycle_components *components);

/* Breadth first from one node after the other, for the shortest way to a target. */
struct history_search {
    const struct history_graph *graph;
    uint32_t first_kinds, kinds; /* of the first edge, and of the others */
    bool one_rw;                 /* at most one of them rw: nodes then have two states, before and after it */
    /* Either: back to the start, inside its component, going down in `order` (or NULL) */
    const struct history_cycle_components *components, *order;
    /* or: to a transaction that ended before the start began. reach[state]: the earliest end that can be reached */
    const struct history_graph_times *times;
    const uint64_t *reach[2];
    /* working memory */
    uint32_t *seen, *queue, *parent;
    uint8_t *via;
    uint32_t stamp;
    uint64_t steps, steps_max;
    struct history_graph_cycle *cycle; /* the shortest so far */
};

NODISCARD int history_search_open(struct history_search *search, const struct history_graph *graph,
                                  struct history_graph_cycle *cycle);
void history_search_close(struct history_search *search);
/* Searches from one node for a way that is shorter than the one there is; puts it into search->cycle. NOMEM. */
NODISCARD int history_search_from(struct history_search *search, uint32_t start);
/* There is nothing shorter to find, or the steps are used up. */
bool history_search_done(const struct history_search *search);
