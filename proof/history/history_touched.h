/*
 * history_touched.h - the records that a history touched, and which cells of each: whose versions are looked up in
 * the pool.
 */
#pragma once

#include "history.h"

struct history_touched_record {
    uint64_t key;
    uint32_t table_id;
    uint32_t cells; /* read or written */
    bool presence;  /* so was its presence */
    bool found;     /* live in the pool: the walk of the pool notes it */
};

/* Where ranges of a table were read: from the lowest key to the highest. */
struct history_touched_span {
    uint32_t table_id;
    uint64_t first, last;
};

/* All zero is empty. */
struct history_touched {
    struct history_touched_record *records; /* in the order in which they were first touched */
    uint32_t count, capacity;
    uint32_t *slots; /* of the hash: index + 1; twice `capacity`, a power of two */
    struct history_touched_span *spans;
    uint32_t span_count;
};

/* Whatever the history's transactions read and wrote; not those that were aborted. NOMEM. */
NODISCARD int history_touched_collect(struct history_touched *touched, const struct history *history);
/* NULL: that one was not touched. */
struct history_touched_record *history_touched_find(const struct history_touched *touched, uint32_t table_id,
                                                    uint64_t key);
/* Within a span: whether that key was there may count, though no transaction names it. */
bool history_touched_spans(const struct history_touched *touched, uint32_t table_id, uint64_t key);
void history_touched_free(struct history_touched *touched);
