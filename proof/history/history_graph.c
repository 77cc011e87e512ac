/* history_graph.c - the edges of items, sorted by the node they leave. */
#include "history_graph.h"

#include <stdlib.h>
#include <string.h>

void history_graph_add(struct history_graph *graph, enum history_edge kind, uint32_t from, uint32_t to)
{
    if (graph->edge_count == graph->edge_capacity) {
        uint64_t room = graph->edge_capacity + graph->edge_capacity / 2 + 1024;
        void *larger = realloc(graph->edges, room * sizeof *graph->edges);
        if (!larger) {
            graph->failed = true;
            return;
        }
        graph->edges = larger;
        graph->edge_capacity = room;
    }
    graph->edges[graph->edge_count++] = (struct history_graph_edge){from, to << 2 | (uint32_t)kind};
}

static int edge_compare(const void *left, const void *right)
{
    const struct history_graph_edge *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->to_kind > b->to_kind) - (a->to_kind < b->to_kind);
}

void history_graph_tidy(struct history_graph *graph, uint64_t first)
{
    struct history_graph_edge *edges = graph->edges;
    uint64_t kept = first;

    if (graph->edge_count > first) qsort(edges + first, graph->edge_count - first, sizeof *edges, edge_compare);
    for (uint64_t i = first; i < graph->edge_count; i++)
        if (kept == first || edge_compare(&edges[kept - 1], &edges[i])) edges[kept++] = edges[i];
    graph->edge_count = kept;
}

static int target_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Nearly all nodes have few edges. */
static void targets_sort(uint32_t *targets, uint64_t count)
{
    if (count > 32) {
        qsort(targets, count, sizeof *targets, target_compare);
        return;
    }
    for (uint64_t i = 1; i < count; i++) {
        uint32_t target = targets[i];
        uint64_t at = i;
        for (; at > 0 && targets[at - 1] > target; at--) targets[at] = targets[at - 1];
        targets[at] = target;
    }
}

/* Sorts each node's edges and closes the gaps that doubles leave. */
static void targets_tidy(struct history_graph *graph)
{
    uint64_t kept = 0, start = 0;

    for (uint32_t node = 0; node < graph->node_count; node++) {
        uint64_t end = graph->first[node + 1];
        targets_sort(graph->targets + start, end - start);
        graph->first[node] = kept;
        for (uint64_t i = start; i < end; i++)
            if (kept == graph->first[node] || graph->targets[kept - 1] != graph->targets[i])
                graph->targets[kept++] = graph->targets[i];
        start = end;
    }
    graph->first[graph->node_count] = graph->edge_count = kept;
}

int history_graph_finish(struct history_graph *graph)
{
    graph->first = calloc((size_t)graph->node_count + 2, sizeof *graph->first);
    graph->targets = malloc((graph->edge_count + 1) * sizeof *graph->targets);
    if (graph->failed || !graph->first || !graph->targets) return CELLAR_NOMEM;

    for (uint64_t i = 0; i < graph->edge_count; i++) graph->first[graph->edges[i].from + 2]++;
    for (uint32_t node = 0; node < graph->node_count; node++) graph->first[node + 2] += graph->first[node + 1];
    for (uint64_t i = 0; i < graph->edge_count; i++)
        graph->targets[graph->first[graph->edges[i].from + 1]++] = graph->edges[i].to_kind;
    free(graph->edges);
    graph->edges = NULL;
    graph->edge_capacity = 0;
    targets_tidy(graph);
    return 0;
}

void history_graph_free(struct history_graph *graph)
{
    free(graph->edges);
    free(graph->first);
    free(graph->targets);
    memset(graph, 0, sizeof *graph);
}
