/* test_history_file.c - histories as files: there and back, too large, cut and flipped at every byte, scrambled. */
#include "history_file.h"
#include "layout.h"
#include "paper.h"
#include "prng.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a history with everything in it ---- */

static struct history_access access_of(enum history_kind kind, uint64_t key, uint16_t cell, uint64_t version)
{
    struct history_access access = {.kind = (uint8_t)kind, .table_id = 1, .key = key, .cell = cell, .version = version};
    if (kind == HISTORY_READ || kind == HISTORY_WRITE) access.digest = key * 0x123456789abcdefull + 1;
    if (kind == HISTORY_WRITE) access.over = version - 1;
    return access;
}

static void sample(struct history *history)
{
    const uint64_t ts = LAYOUT_TS_MAX, high = layout_version_of(65535, ts);
    const struct history_access first[] = {
        access_of(HISTORY_READ, UINT64_MAX, 0, layout_version_of(3, 7)),
        access_of(HISTORY_READ, 0, 19, high),
        access_of(HISTORY_READ, 9, HISTORY_PRESENCE, 12),
        access_of(HISTORY_ABSENT, 5, HISTORY_PRESENCE, 70),
        access_of(HISTORY_INSERT, 6, HISTORY_PRESENCE, ts),
        access_of(HISTORY_DELETE, 7, HISTORY_PRESENCE, ts),
        access_of(HISTORY_WRITE, 6, 0, layout_version_of(1, ts)),
        access_of(HISTORY_WRITE, 8, 1, high),
        {.kind = HISTORY_RANGE, .cell = HISTORY_PRESENCE, .table_id = 1, .key = 3, .over = UINT64_MAX, .version = ts}};
    const struct history_txn txns[] = {
        {.id = 7, .cn = 1, .coordinator = 2, .begin_ns = 10, .end_ns = INT64_MAX, .ts = ts, .count = 9},
        {.id = INT64_MAX, .cn = UINT32_MAX, .coordinator = UINT32_MAX, .outcome = HISTORY_FAILED, .count = 2},
        {.id = 0, .begin_ns = 5, .end_ns = 5, .ts = ts, .outcome = HISTORY_INDETERMINATE, .count = 0},
        {.id = 1, .begin_ns = 5, .end_ns = 6, .outcome = HISTORY_ABORTED, .count = 1}};
    const struct history_final finals[] = {{.table_id = 1, .key = 8, .cell = 1, .version = high, .digest = UINT64_MAX},
                                           {.table_id = UINT32_MAX, .key = 6, .cell = HISTORY_PRESENCE, .digest = 1}};

    for (uint32_t i = 0; i < 4; i++) assert_int_equal(history_txn_add(history, &txns[i], first), 0);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(history_final_add(history, &finals[i]), 0);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(history_loaded_add(history, &finals[i]), 0);
    assert_int_equal(history_table_add(history, 1, 20, "accounts"), 0);
    assert_int_equal(history_table_add(history, UINT32_MAX, 0, "\"odd\"\\\n\xc3\xa9"), 0);
    history->has_final = history->has_loaded = true;
    history->nodes_lost = true;
    history->clock_error_ns = 250;
    history->part = 1;
    history->parts = HISTORY_PARTS_MAX;
    history->run = UINT64_MAX;
}

static bool same_states(const struct history_final *a, const struct history_final *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (a[i].table_id != b[i].table_id || a[i].key != b[i].key || a[i].cell != b[i].cell ||
            a[i].version != b[i].version || a[i].digest != b[i].digest)
            return false;
    return true;
}

static bool same(const struct history *a, const struct history *b)
{
    if (a->loaded_count != b->loaded_count || a->has_loaded != b->has_loaded) return false;
    if (a->txn_count != b->txn_count || a->access_count != b->access_count || a->final_count != b->final_count ||
        a->table_count != b->table_count || a->has_final != b->has_final || a->nodes_lost != b->nodes_lost ||
        a->clock_error_ns != b->clock_error_ns || a->part != b->part || a->parts != b->parts || a->run != b->run)
        return false;
    for (uint32_t i = 0; i < a->table_count; i++)
        if (a->tables[i].table_id != b->tables[i].table_id || a->tables[i].cells != b->tables[i].cells ||
            strcmp(a->tables[i].name, b->tables[i].name) != 0)
            return false;
    for (uint64_t i = 0; i < a->txn_count; i++) {
        const struct history_txn *x = &a->txns[i], *y = &b->txns[i];
        if (x->id != y->id || x->cn != y->cn || x->coordinator != y->coordinator || x->begin_ns != y->begin_ns ||
            x->end_ns != y->end_ns || x->ts != y->ts || x->outcome != y->outcome || x->first != y->first ||
            x->count != y->count)
            return false;
    }
    for (uint64_t i = 0; i < a->access_count; i++) {
        const struct history_access *x = &a->accesses[i], *y = &b->accesses[i];
        if (x->kind != y->kind || x->cell != y->cell || x->table_id != y->table_id || x->key != y->key ||
            x->version != y->version || x->over != y->over || x->digest != y->digest)
            return false;
    }
    return same_states(a->finals, b->finals, a->final_count) && same_states(a->loaded, b->loaded, a->loaded_count);
}

/* What is left of a file that broke off: what it began with. */
static bool begins_so(const struct history *whole, const struct history *torn)
{
    struct history begin = *whole;

    if (torn->txn_count > whole->txn_count || torn->loaded_count > whole->loaded_count || torn->has_final) return false;
    begin.txn_count = torn->txn_count;
    begin.access_count = torn->access_count;
    begin.loaded_count = torn->loaded_count;
    begin.has_loaded = torn->has_loaded;
    begin.final_count = torn->final_count;
    begin.has_final = false;
    return same(&begin, torn);
}

/* Written into a folder of its own, which is gone again; returns the text. */
static char *written(const struct history *history, size_t *bytes)
{
    char folder[] = "/tmp/test_history_XXXXXX", path[64], partial[80];
    struct cellar_error error = {0};
    struct stat status;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/h", folder);
    if (history_write(history, path, &error)) fail_msg("%s", error.text);
    snprintf(partial, sizeof partial, "%s.partial", path);
    assert_int_not_equal(access(partial, F_OK), 0);
    assert_int_equal(stat(path, &status), 0);
    *bytes = (size_t)status.st_size;
    char *text = calloc(1, *bytes + 1);
    assert_non_null(text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, *bytes, file), *bytes);
    fclose(file);
    unlink(path);
    rmdir(folder);
    return text;
}

/* ---- there and back ---- */

static void what_is_written_is_read(void **state)
{
    struct history history = {0}, back = {0};
    struct paper paper = paper_new();
    struct cellar_error error = {0};
    size_t bytes;
    (void)state;
    sample(&history);
    char *text = written(&history, &bytes);
    paper_put(&paper, text, bytes);
    if (history_read(&back, paper.path, &error)) fail_msg("%s", error.text);
    assert_true(same(&history, &back));
    history_free(&back);
    uint64_t seen = 0;
    assert_int_equal(history_read_watched(&back, paper.path, &seen, NULL), 0);
    assert_int_equal(seen, bytes);
    close(paper.file);
    history_free(&history);
    history_free(&back);
    free(text);
}

static void an_empty_history_too(void **state)
{
    struct history history = {0}, back = {0};
    struct paper paper = paper_new();
    size_t bytes;
    (void)state;
    for (int final = 0; final < 2; final++) {
        history.has_final = final;
        char *text = written(&history, &bytes);
        paper_put(&paper, text, bytes);
        assert_int_equal(history_read(&back, paper.path, NULL), 0);
        assert_true(same(&history, &back));
        history_free(&back);
        free(text);
    }
    close(paper.file);
}

/* Lists of finals are cut; lines are longer than buffers. */
static void a_large_history_too(void **state)
{
    struct history history = {0}, back = {0};
    struct paper paper = paper_new();
    static struct history_access accesses[20000];
    size_t bytes;
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) accesses[i] = access_of(HISTORY_READ, i, 0, i);
    for (uint32_t i = 0; i < 5; i++) {
        const struct history_txn txn = {.id = i, .count = i % 2 ? 20000 : 3};
        assert_int_equal(history_txn_add(&history, &txn, accesses), 0);
    }
    for (uint32_t i = 0; i < 2500; i++) {
        const struct history_final final = {.table_id = 1, .key = i};
        assert_int_equal(history_final_add(&history, &final), 0);
    }
    history.has_final = true;
    char *text = written(&history, &bytes);
    paper_put(&paper, text, bytes);
    assert_int_equal(history_read(&back, paper.path, NULL), 0);
    assert_true(same(&history, &back));
    close(paper.file);
    history_free(&history);
    history_free(&back);
    free(text);
}

/* ---- damage ---- */

/* Refused in one line that names file and place, or the same history, or what it began with and known as that. */
static void read_or_refused(const struct paper *paper, const struct history *history, const char *what, size_t at)
{
    struct history back = {0};
    struct cellar_error error = {0};

    int rc = history_read(&back, paper->path, &error);
    if (rc == 0 && !(back.torn ? begins_so(history, &back) : same(history, &back)))
        fail_msg("%s at byte %zu: another history is read", what, at);
    if (rc) {
        assert_int_equal(back.txn_count, 0);
        assert_null(back.accesses);
        if (strncmp(error.text, paper->path, strlen(paper->path)) != 0 || strchr(error.text, '\n'))
            fail_msg("%s at byte %zu: %s", what, at, error.text);
    }
    history_free(&back);
}

static void cut_anywhere(void **state)
{
    struct history history = {0};
    struct paper paper = paper_new();
    size_t bytes;
    (void)state;
    sample(&history);
    char *text = written(&history, &bytes);
    for (size_t at = 0; at < bytes; at++) {
        struct history back = {0};
        paper_put(&paper, text, at);
        read_or_refused(&paper, &history, "cut", at);
        /* A header is needed, and only the last newline can be spared. */
        int rc = history_read(&back, paper.path, NULL);
        assert_int_equal(rc == 0, at >= (size_t)(strchr(text, '\n') - text));
        if (rc == 0) assert_int_equal(back.torn, at < bytes - 1);
        history_free(&back);
    }
    close(paper.file);
    history_free(&history);
    free(text);
}

static void flipped_anywhere(void **state)
{
    struct history history = {0};
    struct paper paper = paper_new();
    size_t bytes;
    (void)state;
    sample(&history);
    char *text = written(&history, &bytes);
    for (size_t at = 0; at < bytes; at++) {
        char kept = text[at];
        for (int bit = 0; bit < 8; bit++) {
            text[at] = (char)(kept ^ 1 << bit);
            paper_put(&paper, text, bytes);
            read_or_refused(&paper, &history, "flipped", at);
        }
        text[at] = kept;
    }
    close(paper.file);
    history_free(&history);
    free(text);
}

/*
 * What is read of a text is the same with a blank before each line, which is not how lines are written
 * (history_line.h).
 */
static bool read_both_ways(const struct paper *paper, const char *text, size_t bytes)
{
    struct history quick = {0}, slow = {0};
    char *spaced = malloc(bytes * 2 + 1), *to = spaced;
    assert_non_null(spaced);
    *to++ = ' ';
    for (size_t i = 0; i < bytes; i++) {
        *to++ = text[i];
        if (text[i] == '\n' && i + 1 < bytes) *to++ = ' ';
    }
    paper_put(paper, text, bytes);
    int rc = history_read(&quick, paper->path, NULL);
    paper_put(paper, spaced, (size_t)(to - spaced));
    assert_int_equal(history_read(&slow, paper->path, NULL), rc);
    assert_true(same(&quick, &slow));
    history_free(&quick);
    history_free(&slow);
    free(spaced);
    return rc == 0;
}

/* Without the checksum anything may be read, but nothing may break. */
static void scrambled(void **state)
{
    struct history history = {0};
    struct paper paper = paper_new();
    struct prng prng;
    size_t bytes;
    (void)state;
    sample(&history);
    char *text = written(&history, &bytes);
    char *checksum = strstr(text, ",\"checksum\"");
    assert_non_null(checksum);
    strcpy(checksum, "}\n");
    bytes = strlen(text);
    char *copy = malloc(bytes);
    assert_non_null(copy);
    prng_seed(&prng, 1);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, text, bytes);
        for (uint64_t n = 1 + prng_below(&prng, 3); n > 0; n--) {
            static const char pieces[] = "0123456789\"[]{},:-.e\n\\\0truen";
            size_t to = prng_below(&prng, bytes), from = prng_below(&prng, bytes), count = prng_below(&prng, 12);
            if (prng_below(&prng, 2))
                copy[to] = pieces[prng_below(&prng, sizeof pieces - 1)];
            else if (to + count <= bytes && from + count <= bytes)
                memcpy(copy + to, text + from, count);
        }
        refused += !read_both_ways(&paper, copy, bytes);
    }
    assert_true(refused > 10000 && refused < 20000);
    close(paper.file);
    history_free(&history);
    free(text);
    free(copy);
}

/* What is too large goes into slices; but not what has ranges. */
static void a_file_too_large(void **state)
{
    struct history history = {0}, whole = {0}, read = {0}, slice = {0};
    struct paper paper = paper_new();
    struct history_slices *slices;
    struct cellar_error error = {0};
    uint64_t bytes_read = 0, accesses = 0, finals = 0, loaded = 0;
    size_t bytes;
    (void)state;
    sample(&history);
    for (int ranges = 1; ranges >= 0; ranges--) {
        for (uint64_t i = 0; !ranges && i < history.access_count; i++)
            if (history.accesses[i].kind == HISTORY_RANGE) history.accesses[i] = history.accesses[0];
        char *text = written(&history, &bytes);
        paper_put(&paper, text, bytes);
        free(text);
        assert_int_equal(history_read(&whole, paper.path, &error), 0);
        assert_int_equal(history_read_slices(&read, paper.path, 1 << 20, &slices, &bytes_read, &error), 0);
        assert_null(slices);
        assert_true(same(&whole, &read));
        history_free(&read);
        bytes_read = 0;
        assert_int_equal(history_read_slices(&read, paper.path, 1000, &slices, &bytes_read, &error), 0);
        assert_int_equal(bytes_read, bytes);
        if (ranges) {
            assert_null(slices);
            assert_true(same(&whole, &read));
        } else {
            assert_true(history_slices_count(slices) > 4);
            assert_int_equal(history_slices_accesses(slices), whole.access_count);
            assert_int_equal(read.access_count + read.final_count + read.loaded_count, 0);
            assert_true(read.has_final && read.has_loaded && read.nodes_lost);
            assert_int_equal(read.txn_count, whole.txn_count);
        }
        for (uint32_t i = 0; slices && i < history_slices_count(slices); i++) {
            assert_int_equal(history_slices_load(slices, i, &read, &slice, &error), 0);
            assert_int_equal(slice.txn_count, whole.txn_count);
            accesses += slice.access_count;
            finals += slice.final_count;
            loaded += slice.loaded_count;
        }
        history_free(&read);
        if (ranges) history_free(&whole);
        if (!ranges) history_slices_close(slices);
    }
    assert_int_equal(accesses, whole.access_count);
    assert_int_equal(finals, whole.final_count);
    assert_int_equal(loaded, whole.loaded_count);
    /* Without a place to put them. */
    setenv("TMPDIR", "/no/such/folder", 1);
    assert_int_equal(history_read_slices(&read, paper.path, 1000, &slices, &bytes_read, &error), CELLAR_SYSTEM);
    assert_non_null(strstr(error.text, "TMPDIR"));
    unsetenv("TMPDIR");
    history_free(&slice);
    history_free(&whole);
    history_free(&history);
    close(paper.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(an_empty_history_too),
        cmocka_unit_test(a_large_history_too),
        cmocka_unit_test(a_file_too_large),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(flipped_anywhere),
        cmocka_unit_test(scrambled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
