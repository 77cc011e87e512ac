/* history_cycle.c - is there a cycle, of which class, and where: Tarjan's components, then a search inside them. */
#include "history_cycle.h"

#include <stdlib.h>
#include <string.h>

/* ---- components ---- */

struct tarjan {
    const struct history_graph *graph;
    uint32_t kinds;
    uint32_t *number; /* node -> 1 + when it was met; 0: not yet */
    uint32_t *low;    /* node -> the lowest number it is known to reach */
    uint32_t *stack;  /* nodes not yet in a component */
    uint32_t *path;   /* from the root of the walk to the node looked at */
    uint64_t *next;   /* node -> its next edge */
    uint32_t stack_count, path_count, met;
    struct history_cycle_components *components;
};

static void meet(struct tarjan *tarjan, uint32_t node)
{
    tarjan->number[node] = tarjan->low[node] = ++tarjan->met;
    tarjan->next[node] = tarjan->graph->first[node];
    tarjan->stack[tarjan->stack_count++] = node;
    tarjan->path[tarjan->path_count++] = node;
}

/* Behind all its edges: a node that reaches nothing lower is a component, with what lies above it on the stack. */
static void leave(struct tarjan *tarjan, uint32_t node)
{
    struct history_cycle_components *components = tarjan->components;

    tarjan->path_count--;
    if (tarjan->path_count) {
        uint32_t *low = &tarjan->low[tarjan->path[tarjan->path_count - 1]];
        if (tarjan->low[node] < *low) *low = tarjan->low[node];
    }
    if (tarjan->low[node] != tarjan->number[node]) return;
    uint32_t member;
    components->size[components->count] = 0;
    do {
        member = tarjan->stack[--tarjan->stack_count];
        components->of[member] = components->count;
        components->size[components->count]++;
        tarjan->low[member] = UINT32_MAX; /* its component is complete */
    } while (member != node);
    components->count++;
}

static void walk(struct tarjan *tarjan, uint32_t root)
{
    const struct history_graph *graph = tarjan->graph;

    meet(tarjan, root);
    while (tarjan->path_count) {
        uint32_t node = tarjan->path[tarjan->path_count - 1];
        if (tarjan->next[node] == graph->first[node + 1]) {
            leave(tarjan, node);
            continue;
        }
        uint32_t edge = graph->targets[tarjan->next[node]++], target = edge >> 2;
        if (!(tarjan->kinds & HISTORY_CYCLE_KIND(edge & 3))) continue;
        if (!tarjan->number[target])
            meet(tarjan, target);
        else if (tarjan->low[target] != UINT32_MAX && tarjan->number[target] < tarjan->low[node])
            tarjan->low[node] = tarjan->number[target];
    }
}

int history_cycle_components_find(const struct history_graph *graph, uint32_t kinds,
                                  struct history_cycle_components *components)
{
    size_t nodes = (size_t)graph->node_count + 1;
    struct tarjan tarjan = {.graph = graph, .kinds = kinds, .components = components};

    components->count = 0;
    components->of = malloc(nodes * sizeof *components->of);
    components->size = malloc(nodes * sizeof *components->size);
    tarjan.number = calloc(nodes, sizeof *tarjan.number);
    tarjan.low = malloc(nodes * sizeof *tarjan.low);
    tarjan.stack = malloc(nodes * sizeof *tarjan.stack);
    tarjan.path = malloc(nodes * sizeof *tarjan.path);
    tarjan.next = malloc(nodes * sizeof *tarjan.next);
    bool memory =
        components->of && components->size && tarjan.number && tarjan.low && tarjan.stack && tarjan.path && tarjan.next;
    for (uint32_t node = 0; memory && node < graph->node_count; node++)
        if (!tarjan.number[node]) walk(&tarjan, node);
    free(tarjan.number);
    free(tarjan.low);
    free(tarjan.stack);
    free(tarjan.path);
    free(tarjan.next);
    return memory ? 0 : CELLAR_NOMEM;
}

void history_cycle_components_free(struct history_cycle_components *components)
{
    free(components->of);
    free(components->size);
    memset(components, 0, sizeof *components);
}

/* ---- cycles of items ---- */

/*
 * From every node of a component of several; `sure`: there is a cycle to find, so that the first search may take its
 * time.
 */
static int search_components(struct history_search *search, bool sure)
{
    const struct history_cycle_components *components = search->components;
    int rc = 0;

    for (uint32_t node = 0; node < search->graph->node_count && !rc; node++) {
        if (components->size[components->of[node]] == 1) continue;
        if (history_search_done(search) && (search->cycle->count || !sure)) break;
        rc = history_search_from(search, node);
    }
    return rc;
}

/*
 * `components`: of all edges, not all of one node. The worst class first: none but ww, then ww and wr, then one rw,
 * then any.
 */
static int cycle_of_items(struct history_search *search, const struct history_cycle_components *components)
{
    static const uint32_t worst[] = {HISTORY_CYCLE_KIND(HISTORY_WW),
                                     HISTORY_CYCLE_KIND(HISTORY_WW) | HISTORY_CYCLE_KIND(HISTORY_WR)};
    const struct history_graph *graph = search->graph;
    struct history_cycle_components narrow = {0};
    int rc = 0;

    for (uint32_t i = 0; i < 2 && !rc && !search->cycle->count; i++) {
        history_cycle_components_free(&narrow);
        rc = history_cycle_components_find(graph, worst[i], &narrow);
        search->components = &narrow;
        search->first_kinds = search->kinds = worst[i];
        if (!rc && narrow.count < graph->node_count) rc = search_components(search, true);
    }
    if (!rc && !search->cycle->count) {
        search->components = components;
        search->order = &narrow; /* ww and wr make no cycle, so they go down in it */
        search->first_kinds = HISTORY_CYCLE_KIND(HISTORY_RW);
        rc = search_components(search, false);
    }
    if (!rc && !search->cycle->count) {
        search->order = NULL;
        search->first_kinds = search->kinds = HISTORY_CYCLE_ANY;
        search->steps = 0;
        rc = search_components(search, true);
    }
    history_cycle_components_free(&narrow);
    return rc;
}

/* ---- cycles with real time ---- */

struct realtime {
    const struct history_graph *graph;
    const struct history_graph_times *times;
    uint32_t *sorted; /* nodes, each after all that its edges lead to */
    uint64_t *reach[2];
};

/*
 * The earliest end that can be reached over edges of these kinds; and, if `behind_rw`, over one rw, from where on
 * that holds.
 */
static void reach_find(const struct realtime *realtime, uint32_t kinds, const uint64_t *behind_rw, uint64_t *reach)
{
    const struct history_graph *graph = realtime->graph;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t node = realtime->sorted[i];
        uint64_t earliest = realtime->times->end_ns[node];
        for (uint64_t at = graph->first[node]; at < graph->first[node + 1]; at++) {
            uint32_t target = graph->targets[at] >> 2, kind = graph->targets[at] & 3;
            uint64_t end = kinds & HISTORY_CYCLE_KIND(kind)  ? reach[target]
                           : behind_rw && kind == HISTORY_RW ? behind_rw[target]
                                                             : UINT64_MAX;
            if (end < earliest) earliest = end;
        }
        reach[node] = earliest;
    }
}

static bool violates(const struct realtime *realtime, const uint64_t *reach, uint32_t node)
{
    return reach[node] < realtime->times->begin_ns[node];
}

static int search_realtime(struct history_search *search, const struct realtime *realtime, const uint64_t *reach)
{
    int rc = 0;

    for (uint32_t node = 0; node < search->graph->node_count && !rc; node++) {
        if (!violates(realtime, reach, node)) continue;
        if (history_search_done(search) && search->cycle->count) break;
        rc = history_search_from(search, node);
    }
    return rc;
}

/* Worst class first, as with cycles of items. */
static int realtime_search(struct history_search *search, struct realtime *realtime)
{
    const uint32_t w = HISTORY_CYCLE_KIND(HISTORY_WW), wr = w | HISTORY_CYCLE_KIND(HISTORY_WR);
    uint64_t *reach = realtime->reach[0], *narrow = realtime->reach[1];
    int rc;

    reach_find(realtime, HISTORY_CYCLE_ANY, NULL, reach);
    bool any = false;
    for (uint32_t node = 0; node < search->graph->node_count && !any; node++) any = violates(realtime, reach, node);
    if (!any) return 0;

    search->times = realtime->times;
    search->reach[0] = search->reach[1] = narrow;
    search->first_kinds = search->kinds = w;
    reach_find(realtime, w, NULL, narrow);
    rc = search_realtime(search, realtime, narrow);
    if (rc || search->cycle->count) return rc;

    search->first_kinds = search->kinds = wr;
    reach_find(realtime, wr, NULL, narrow);
    rc = search_realtime(search, realtime, narrow);
    if (rc || search->cycle->count) return rc;

    search->first_kinds = search->kinds = HISTORY_CYCLE_ANY;
    search->one_rw = true;
    search->reach[0] = reach;
    reach_find(realtime, wr, narrow, reach);
    rc = search_realtime(search, realtime, reach);
    if (rc || search->cycle->count) return rc;

    search->one_rw = false;
    search->reach[0] = search->reach[1] = reach;
    reach_find(realtime, HISTORY_CYCLE_ANY, NULL, reach);
    return search_realtime(search, realtime, reach);
}

/* `components`: of all edges, each of one node, and so an order of the nodes. */
static int cycle_of_realtime(struct history_search *search, const struct history_cycle_components *components,
                             const struct history_graph_times *times)
{
    size_t nodes = (size_t)search->graph->node_count + 1;
    struct realtime realtime = {.graph = search->graph, .times = times};
    int rc = CELLAR_NOMEM;

    realtime.sorted = malloc(nodes * sizeof *realtime.sorted);
    for (int i = 0; i < 2; i++) realtime.reach[i] = malloc(nodes * sizeof *realtime.reach[i]);
    if (realtime.sorted && realtime.reach[0] && realtime.reach[1]) {
        for (uint32_t node = 0; node < search->graph->node_count; node++) realtime.sorted[components->of[node]] = node;
        rc = realtime_search(search, &realtime);
    }
    free(realtime.sorted);
    for (int i = 0; i < 2; i++) free(realtime.reach[i]);
    return rc;
}

int history_graph_cycle_find(const struct history_graph *graph, const struct history_graph_times *times,
                             struct history_graph_cycle *cycle)
{
    struct history_cycle_components components = {0};
    struct history_search search;

    int rc = history_search_open(&search, graph, cycle);
    if (!rc) rc = history_cycle_components_find(graph, HISTORY_CYCLE_ANY, &components);
    if (!rc && components.count < graph->node_count)
        rc = cycle_of_items(&search, &components);
    else if (!rc && times)
        rc = cycle_of_realtime(&search, &components, times);
    history_cycle_components_free(&components);
    history_search_close(&search);
    return rc;
}

void history_graph_cycle_free(struct history_graph_cycle *cycle)
{
    free(cycle->nodes);
    free(cycle->kinds);
    memset(cycle, 0, sizeof *cycle);
}
