/* history_sliced.h - a history judged slice by slice has the verdict that it has in memory. */
#pragma once

#include "history_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The same history in so many slices has the same verdict. Ranges do not go into slices. */
static inline void assert_sliced(const struct history *history, uint32_t count,
                                 const struct history_check_options *options, const struct history_verdict *verdict)
{
    struct history whole = *history;
    struct history_slices *slices;
    struct history_verdict again;
    struct cellar_error error = {0};

    for (uint64_t i = 0; i < history->access_count; i++)
        if (history->accesses[i].kind == HISTORY_RANGE) return;
    assert_int_equal(history_slices_open(count, &slices, &error), 0);
    for (uint64_t i = 0; i < history->txn_count; i++)
        assert_int_equal(
            history_slices_txn(slices, i, history->accesses + history->txns[i].first, history->txns[i].count), 0);
    for (uint64_t i = 0; i < history->final_count; i++)
        assert_int_equal(history_slices_state(slices, true, &history->finals[i]), 0);
    for (uint64_t i = 0; i < history->loaded_count; i++)
        assert_int_equal(history_slices_state(slices, false, &history->loaded[i]), 0);
    whole.accesses = NULL;
    whole.finals = whole.loaded = NULL;
    whole.access_count = whole.final_count = whole.loaded_count = 0;
    int rc = history_check_slices(&whole, slices, options, &again, &error);
    assert_int_equal(rc, strcmp(verdict->kind, "ok") ? CELLAR_CORRUPT : 0);
    assert_string_equal(again.kind, verdict->kind);
    assert_string_equal(again.text, verdict->text);
    assert_int_equal(again.items, verdict->items);
    assert_int_equal(again.edges, verdict->edges);
    assert_int_equal(again.cycle_count, verdict->cycle_count);
    assert_memory_equal(again.cycle, verdict->cycle, verdict->cycle_count * sizeof *verdict->cycle);
    history_slices_close(slices);
}
