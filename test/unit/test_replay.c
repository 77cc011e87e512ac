/* test_replay.c - what an opening keeps of the logs of memory nodes: of an entry that several have logged one copy. */
#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ENTRIES = 10000, RING_BYTES = 64 << 10, ENTRY_BYTES = 256 }; /* so many that places are made anew */

/* All entries of a coordinator, as that memory node's log shows them, with a page in between. */
static void logged(struct replay *replay, uint32_t node)
{
    static uint8_t bytes[ENTRY_BYTES] __attribute__((aligned(8)));
    static uint64_t page[5] __attribute__((aligned(8)));
    struct replay_page *head = (struct replay_page *)(void *)page;
    struct logseg seg;
    logseg_init(&seg, fabric_addr_of(1, 1 << 20), RING_BYTES, 3, 4, 77);
    *head = (struct replay_page){.magic = REPLAY_PAGE_MAGIC, .bytes = sizeof page - sizeof *head, .offset = 64};
    for (uint32_t i = 0; i < ENTRIES; i++) {
        struct logseg_entry entry;
        struct fabric_addr at;
        seg.epoch = 1 + i / 100;
        logseg_entry_begin(&entry, bytes, sizeof bytes);
        assert_non_null(logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, 64), 7, 1, 0, 8));
        assert_int_equal(logseg_entry_finish(&seg, &entry, 1 + i, 0, &at), 0);
        assert_int_equal(replay_add(replay, node, seg.epoch, bytes, entry.bytes), 0);
        if (i % 1000 == 0) assert_int_equal(replay_add(replay, node, seg.epoch, (uint8_t *)page, sizeof page), 0);
    }
}

/* A page is of one memory node; an entry is the same on all. */
static void of_copies_one_is_kept(void **state)
{
    (void)state;
    for (uint32_t copies = 0; copies < 2; copies++) {
        struct replay replay = {.copies = copies};
        uint64_t pages = 0;
        for (uint32_t node = 0; node < 3; node++) logged(&replay, node);
        for (uint64_t i = 0; i < replay.count; i++) pages += replay.items[i].page;
        assert_int_equal(pages, 3 * ENTRIES / 1000);
        assert_int_equal(replay.count - pages, copies ? ENTRIES : 3 * ENTRIES);
        assert_int_equal(replay.ts_last, ENTRIES);
        assert_int_equal(replay.incarnation_last, 77);
        for (uint64_t i = 0, ts = 0; i < replay.count && copies; i++)
            if (!replay.items[i].page) assert_int_equal(replay.items[i].ts, ++ts);
        replay_free(&replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_copies_one_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
