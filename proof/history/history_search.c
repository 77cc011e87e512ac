/*
 * history_search.c - a short way round: breadth first, from one node at a time, never longer than the best way so
 * far.
 */
#include "history_cycle.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX (1ull << 27) /* a second or two */

int history_search_open(struct history_search *search, const struct history_graph *graph,
                        struct history_graph_cycle *cycle)
{
    size_t states = 2 * (size_t)graph->node_count + 1;
    *search = (struct history_search){.graph = graph, .cycle = cycle, .steps_max = STEPS_MAX};
    search->seen = calloc(states, sizeof *search->seen);
    search->queue = malloc(states * sizeof *search->queue);
    search->parent = malloc(states * sizeof *search->parent);
    search->via = malloc(states);
    return search->seen && search->queue && search->parent && search->via ? 0 : CELLAR_NOMEM;
}

void history_search_close(struct history_search *search)
{
    free(search->seen);
    free(search->queue);
    free(search->parent);
    free(search->via);
}

bool history_search_done(const struct history_search *search)
{
    return search->cycle->count == 2 || search->steps >= search->steps_max;
}

/* A state is a node, and whether an rw led to it. */
static uint32_t state_node(uint32_t state) { return state >> 1; }

static bool is_target(const struct history_search *search, uint32_t start, uint32_t node)
{
    if (search->times) return search->times->end_ns[node] < search->times->begin_ns[start];
    return node == start;
}

/* Can a way from here still lead to a target? */
static bool leads_there(const struct history_search *search, uint32_t start, uint32_t state)
{
    uint32_t node = state_node(state);

    if (search->times) return search->reach[state & 1][node] < search->times->begin_ns[start];
    return search->components->of[node] == search->components->of[start] &&
           (!search->order || search->order->of[node] >= search->order->of[start]);
}

/* The way to queue[at], and from there over one more edge, becomes the cycle. */
static int cycle_keep(struct history_search *search, uint32_t at, enum history_edge last, uint32_t target,
                      uint32_t edges)
{
    struct history_graph_cycle *cycle = search->cycle;
    uint32_t count = edges + (search->times != NULL); /* real time leads back from a further node */
    uint32_t *nodes = realloc(cycle->nodes, (size_t)count * sizeof *nodes);
    if (!nodes) return CELLAR_NOMEM;
    cycle->nodes = nodes;
    uint8_t *kinds = realloc(cycle->kinds, count);
    if (!kinds) return CELLAR_NOMEM;
    cycle->kinds = kinds;

    cycle->count = count;
    if (search->times) {
        nodes[edges] = target;
        kinds[edges] = HISTORY_REALTIME;
    }
    kinds[edges - 1] = (uint8_t)last;
    for (uint32_t i = edges; i-- > 0; at = search->parent[at]) {
        nodes[i] = state_node(search->queue[at]);
        if (i) kinds[i - 1] = search->via[at];
    }
    return 0;
}

struct frontier {
    uint32_t start, head, tail;
    uint32_t edges; /* from the start to what is looked at now */
};

/* Looks at the edges of queue[head]: 1 when one of them closes a cycle. */
static int expand(struct history_search *search, struct frontier *frontier)
{
    const struct history_graph *graph = search->graph;
    uint32_t state = search->queue[frontier->head], node = state_node(state);
    uint32_t kinds = frontier->edges == 1 ? search->first_kinds : search->kinds;

    for (uint64_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        uint32_t target = graph->targets[i] >> 2;
        enum history_edge kind = (enum history_edge)(graph->targets[i] & 3);
        if (!(kinds & HISTORY_CYCLE_KIND(kind))) continue;
        bool rw = search->one_rw && kind == HISTORY_RW;
        if (rw && (state & 1)) continue;
        uint32_t next = target << 1 | (state & 1) | rw;
        search->steps++;
        if (is_target(search, frontier->start, target)) {
            int rc = cycle_keep(search, frontier->head, kind, target, frontier->edges);
            return rc ? rc : 1;
        }
        if (search->seen[next] == search->stamp || !leads_there(search, frontier->start, next)) continue;
        search->seen[next] = search->stamp;
        search->queue[frontier->tail] = next;
        search->parent[frontier->tail] = frontier->head;
        search->via[frontier->tail++] = (uint8_t)kind;
    }
    return 0;
}

int history_search_from(struct history_search *search, uint32_t start)
{
    struct frontier frontier = {.start = start, .tail = 1, .edges = 1};
    uint32_t level_end = 1;

    search->stamp++;
    search->queue[0] = start << 1;
    search->seen[start << 1] = search->stamp;
    while (frontier.head < frontier.tail) {
        if (search->cycle->count && frontier.edges + (search->times != NULL) >= search->cycle->count) return 0;
        int rc = expand(search, &frontier);
        if (rc) return rc < 0 ? rc : 0;
        if (++frontier.head == level_end) {
            level_end = frontier.tail;
            frontier.edges++;
        }
    }
    return 0;
}
