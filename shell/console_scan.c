/* console_scan.c - `scan`: a range in the order of the key or of an index, or some rows of a table without any. */
#include "console.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_USUAL 20
#define LIMIT_MAX 65536
#define BATCH_ROWS 64

struct scan {
    struct console *console;
    struct relation relation, low, high; /* rows of their own */
    bool in_order;
    struct relation_order order;
    struct cellar_scan range;
    uint64_t limit;
    void **rows; /* kept */
    uint64_t count;
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

/* `from` and `to`: as many words as are values, at most as many as the order has columns. */
static int bound_parse(struct scan *scan, struct relation *end, const void **row, uint32_t *columns, uint32_t *at)
{
    struct console *console = scan->console;
    if (!scan->in_order) return err_set(console->error, CELLAR_INVALID, "the table has no order: no range");
    *row = end->row;
    for (*columns = 0; *columns < scan->order.count && *at < console->word_count; ++*at, ++*columns) {
        const char *word = console->words[*at];
        if (!strcmp(word, "to") || !strcmp(word, "limit") || !strcmp(word, "backward")) break;
        int code = relation_parse(end, scan->order.columns[*columns], word, console->error);
        if (code) return code;
    }
    return 0;
}

static int limit_parse(struct scan *scan, const char *word)
{
    struct cellar_error *error = scan->console->error;
    int code = value_parse_number(word, &scan->limit, error);
    if (code == 0 && (scan->limit < 1 || scan->limit > LIMIT_MAX))
        code = err_set(error, CELLAR_INVALID, "limit: 1 to %d", LIMIT_MAX);
    return code;
}

static int scan_word(struct scan *scan, uint32_t *at)
{
    struct console *console = scan->console;
    const char *word = console->words[(*at)++];
    if (!strcmp(word, "backward")) {
        scan->range.flags = CELLAR_BACKWARD;
        return scan->in_order ? 0 : err_set(console->error, CELLAR_INVALID, "the table has no order");
    }
    bool from = !strcmp(word, "from");
    if (!from && strcmp(word, "to") != 0 && strcmp(word, "limit") != 0)
        return err_set(console->error, CELLAR_INVALID,
                       "'%.40s' is no index of the table, nor from, to, limit, backward", word);
    if (*at == console->word_count)
        return err_set(console->error, CELLAR_INVALID, "a value is missing behind '%s'", word);
    if (!strcmp(word, "limit")) return limit_parse(scan, console->words[(*at)++]);
    return from ? bound_parse(scan, &scan->low, &scan->range.from, &scan->range.from_columns, at)
                : bound_parse(scan, &scan->high, &scan->range.to, &scan->range.to_columns, at);
}

static int scan_parse(struct scan *scan)
{
    struct console *console = scan->console;
    bool named;
    uint32_t at = 2;
    int code = 0;
    scan->in_order = console_order(console, &scan->relation, &scan->order, &named);
    at += named;
    scan->range = relation_scan(&scan->relation, &scan->order);
    scan->limit = LIMIT_USUAL;
    while (at < console->word_count && code == 0) code = scan_word(scan, &at);
    return code;
}

bool console_order(const struct console *console, const struct relation *relation, struct relation_order *order,
                   bool *named)
{
    struct cellar_error ignored;
    const char *name = console->word_count > 2 ? console->words[2] : NULL;
    *named = name && relation_order_find(relation, name, order, &ignored) == 0;
    return *named || relation_order_find(relation, NULL, order, &ignored) == 0;
}

static void rows_drop(struct scan *scan)
{
    for (uint64_t i = 0; i < scan->count; i++) free(scan->rows[i]);
    scan->count = 0;
}

static int row_keep(struct scan *scan, const void *row)
{
    void *copy = relation_copy(&scan->relation, row);
    if (!copy) return CELLAR_NOMEM;
    scan->rows[scan->count++] = copy;
    return 0;
}

/* The next rows of the cursor, up to the limit: how many, or a code. */
static int batch_take(struct scan *scan, struct cellar_cursor *cursor, uint8_t *rows)
{
    uint64_t left = scan->limit - scan->count;
    uint32_t bytes = scan->relation.def.row_bytes, most = left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS;
    int found = (cellar_cursor_next)(cursor, most, rows, bytes);
    for (int i = 0; i < found; i++) {
        int code = row_keep(scan, rows + (size_t)i * bytes);
        if (code) return code;
    }
    return found < (int)most ? (found < 0 ? found : 0) : found;
}

static int scan_fn(struct cellar_txn *txn, void *arg)
{
    struct scan *scan = arg;
    struct cellar_cursor *cursor;
    rows_drop(scan);
    uint8_t *rows = malloc((size_t)BATCH_ROWS * scan->relation.def.row_bytes);
    int code = rows ? cellar_cursor_open(txn, &scan->range, &cursor) : CELLAR_NOMEM;
    if (code == 0) {
        while (scan->count < scan->limit && (code = batch_take(scan, cursor, rows)) > 0) continue;
        cellar_cursor_close(cursor);
    }
    free(rows);
    return code < 0 ? code : 0;
}

#define ENOUGH (-1000) /* no code of the engine's */

static int walk_fn(void *arg, uint64_t key, const void *row)
{
    struct scan *scan = arg;
    (void)key;
    return scan->count == scan->limit ? ENOUGH : row_keep(scan, row);
}

static int walk_client(struct cellar_lab_client *client, void *arg)
{
    struct scan *scan = arg;
    int code = cellar_lab_scan(client, scan->relation.table, walk_fn, scan);
    return code == ENOUGH ? 0 : err_last(scan->console->error, code);
}

static int scan_run(struct scan *scan)
{
    scan->rows = malloc(scan->limit * sizeof *scan->rows);
    if (!scan->rows) return err_set(scan->console->error, CELLAR_NOMEM, "no memory for the rows");
    return scan->in_order ? console_transact(scan->console, scan_fn, scan)
                          : console_at_rest(scan->console, walk_client, scan);
}

static void scan_print(struct scan *scan)
{
    for (uint64_t i = 0; i < scan->count; i++) {
        relation_use(&scan->relation, scan->rows[i]);
        console_row_print(&scan->relation);
    }
    printf("%llu rows%s\n", (unsigned long long)scan->count,
           scan->count == scan->limit ? "; there may be more: raise limit" : "");
}

int console_scan(struct console *console)
{
    struct scan scan = {.console = console};
    int code = scan_open(&scan);
    if (code == 0) code = scan_parse(&scan);
    if (code == 0) code = scan_run(&scan);
    if (code == 0) scan_print(&scan);
    rows_drop(&scan);
    free(scan.rows);
    relation_close(&scan.relation);
    relation_close(&scan.low);
    relation_close(&scan.high);
    return code;
}
