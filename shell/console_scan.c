/* console_scan.c - `scan`: a range of an ordered index, or some records of a table that has none. */
#include "console.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_USUAL 20

struct scan {
    struct console *console;
    struct relation relation, low, high; /* rows of their own */
    const struct cellar_index *index;    /* NULL: none */
    struct cellar_schema_index def;      /* its column_count: of those that it is sorted by */
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    struct cellar_range range;
    uint32_t flags;
    uint64_t limit;
    uint64_t *keys;
    uint8_t *rows;
    int64_t count;
};

static int scan_open(struct scan *scan)
{
    struct console *console = scan->console;
    const char *name = console->words[1];
    int code = relation_open(console->db, name, console->kinds, &scan->relation, console->error);
    if (code == 0) code = relation_open(console->db, name, console->kinds, &scan->low, console->error);
    if (code == 0) code = relation_open(console->db, name, console->kinds, &scan->high, console->error);
    return code;
}

/* `from` and `to`: as many words as are values, at most as many as the index has columns. */
static int bound_parse(struct scan *scan, struct relation *end, struct cellar_bound *bound, uint64_t *key, uint32_t *at)
{
    struct console *console = scan->console;
    if (!scan->index) return err_set(console->error, CELLAR_INVALID, "the table has no index: no order, no range");
    if (scan->def.column_count == 0) {
        if (end->keyed)
            return err_set(console->error, CELLAR_INVALID, "index %s has no order of byte strings", scan->def.name);
        int code = relation_field_parse(end, 0, console->words[(*at)++], console->error);
        *key = end->key;
        return code;
    }
    bound->row = end->row;
    for (; bound->columns < scan->def.column_count && *at < console->word_count; ++*at, bound->columns++) {
        const char *word = console->words[*at];
        if (!strcmp(word, "to") || !strcmp(word, "limit") || !strcmp(word, "backward")) break;
        int field = relation_field_find(end, scan->columns[bound->columns].column, console->error);
        int code = field < 0 ? field : relation_field_parse(end, (uint32_t)field, word, console->error);
        if (code) return code;
    }
    return 0;
}

static int scan_word(struct scan *scan, uint32_t *at)
{
    struct console *console = scan->console;
    const char *word = console->words[(*at)++];
    if (!strcmp(word, "backward")) {
        scan->flags = CELLAR_BACKWARD;
        return scan->index ? 0 : err_set(console->error, CELLAR_INVALID, "the table has no index: no order");
    }
    bool from = !strcmp(word, "from");
    if (!from && strcmp(word, "to") != 0 && strcmp(word, "limit") != 0)
        return err_set(console->error, CELLAR_INVALID,
                       "'%.40s' is no index of the table, nor from, to, limit, "
                       "backward",
                       word);
    if (*at == console->word_count)
        return err_set(console->error, CELLAR_INVALID, "a value is missing behind '%s'", word);
    if (!strcmp(word, "limit")) {
        int code = value_parse_number(console->words[(*at)++], &scan->limit, console->error);
        if (code == 0 && (scan->limit < 1 || scan->limit > CELLAR_TXN_RECORDS_MAX))
            code = err_set(console->error, CELLAR_INVALID, "limit: 1 to %d", CELLAR_TXN_RECORDS_MAX);
        return code;
    }
    return from ? bound_parse(scan, &scan->low, &scan->range.low, &scan->range.low_key, at)
                : bound_parse(scan, &scan->high, &scan->range.high, &scan->range.high_key, at);
}

static int scan_parse(struct scan *scan)
{
    struct console *console = scan->console;
    uint32_t at = 2;
    int code = 0;
    if (console->word_count > at) scan->index = cellar_index_find(scan->relation.table, console->words[at]);
    at += scan->index != NULL;
    if (!scan->index) scan->index = cellar_index_next(scan->relation.table, NULL);
    if (scan->index) cellar_index_describe(scan->index, &scan->def, scan->columns);
    if (scan->index) scan->def.column_count = relation_sorted(&scan->def);
    scan->range.high_key = UINT64_MAX;
    scan->limit = LIMIT_USUAL;
    while (at < console->word_count && code == 0) code = scan_word(scan, &at);
    return code;
}

static void row_keep(struct scan *scan, const void *row)
{
    size_t bytes = scan->relation.schema.row_bytes;
    memcpy(scan->rows + (size_t)scan->count * bytes, row, bytes);
    scan->keys[scan->count++] = scan->relation.key;
}

static int scan_fn(struct cellar_txn *txn, void *arg)
{
    struct scan *scan = arg;
    int found = cellar_txn_scan(txn, scan->index, &scan->range, CELLAR_ALL_CELLS, scan->flags, scan->keys, scan->limit);
    int code = found < 0 ? found : 0;
    for (scan->count = 0; scan->count < found && code == 0;) {
        scan->relation.key = scan->keys[scan->count];
        code = relation_read(&scan->relation, txn);
        if (code == 0) row_keep(scan, scan->relation.row);
    }
    return code;
}

#define ENOUGH (-1000) /* no code of the engine's */

static int walk_fn(void *arg, uint64_t key, const void *row)
{
    struct scan *scan = arg;
    if ((uint64_t)scan->count == scan->limit) return ENOUGH;
    scan->relation.key = key;
    row_keep(scan, row);
    return 0;
}

static int walk_client(struct cellar_lab_client *client, void *arg)
{
    struct scan *scan = arg;
    int code = err_last(scan->console->error, cellar_lab_scan(client, scan->relation.table, walk_fn, scan));
    return code == ENOUGH ? 0 : code;
}

static int scan_run(struct scan *scan)
{
    scan->keys = malloc(scan->limit * sizeof *scan->keys);
    scan->rows = malloc(scan->limit * scan->relation.schema.row_bytes);
    if (!scan->keys || !scan->rows) return err_set(scan->console->error, CELLAR_NOMEM, "no memory for the rows");
    return scan->index ? console_transact(scan->console, scan_fn, scan)
                       : console_at_rest(scan->console, walk_client, scan);
}

static void scan_print(struct scan *scan)
{
    size_t bytes = scan->relation.schema.row_bytes;
    for (int64_t i = 0; i < scan->count; i++) {
        memcpy(scan->relation.row, scan->rows + (size_t)i * bytes, bytes);
        scan->relation.key = scan->keys[i];
        console_row_print(&scan->relation);
    }
    printf("%lld records%s\n", (long long)scan->count,
           (uint64_t)scan->count == scan->limit ? "; there may be more: raise limit" : "");
}

int console_scan(struct console *console)
{
    struct scan scan = {.console = console};
    int code = scan_open(&scan);
    if (code == 0) code = scan_parse(&scan);
    if (code == 0) code = scan_run(&scan);
    if (code == 0) scan_print(&scan);
    free(scan.keys);
    free(scan.rows);
    relation_close(&scan.relation);
    relation_close(&scan.low);
    relation_close(&scan.high);
    return code;
}
