/*
 * history_words.h - a verdict in words: who read and wrote which version of what, and why that cannot be. Lines that
 * do not fit are left out whole.
 */
#pragma once

#include "history_graph.h"

struct history_words {
    const struct history_items *items;
    struct history_verdict *verdict;
    uint64_t clock_error_ns;
};

/* Why one transaction of a cycle comes before the next: what each did to one item. */
struct history_words_reason {
    bool known;
    uint64_t place; /* of the first one's visit */
    struct history_access from, to;
    bool deletes; /* `to`: a cell that was written in deleting its record */
};

/* Fills in kind, text and cycle. `reasons`: one for each edge of the cycle; unused where it is real time. */
void history_words_cycle(const struct history_words *words, const struct history_graph_cycle *cycle,
                         const struct history_words_reason *reasons);
void history_words_finding(const struct history_words *words, const struct history_finding *finding);
void history_words_ok(const struct history_words *words, bool realtime);
