/* console_stats.c - what commands cost: round trips, verbs, aborts; and what tables and the pool take. */
#include "console.h"
#include "style.h"

#include <inttypes.h>
#include <string.h>

static const char *const verbs[CELLAR_VERBS] = {"READ", "WRITE", "CAS", "masked CAS", "FAA", "SEND"};

/* ---- explain ---- */

static void order_explain(const struct console *console, const struct relation *relation)
{
    struct relation_order order;
    bool named;
    if (!console_order(console, relation, &order, &named))
        puts("index        none: all rows, in no order");
    else
        printf("index        ordered: %s\n", order.name);
}

static void indexes_print(const struct console *console)
{
    const char *command = console->words[0], *name = console->word_count > 1 ? console->words[1] : "";
    bool changes = !strcmp(command, "put") || !strcmp(command, "insert") || !strcmp(command, "delete");
    struct relation relation;
    struct cellar_error ignored;
    if (relation_open(console->db, name, NULL, &relation, &ignored)) return;
    if (!strcmp(command, "scan"))
        order_explain(console, &relation);
    else
        printf("index        hash index of %s\n", name);
    if (changes && relation.def.flags & CELLAR_ORDERED) puts("kept beside  " RELATION_BY_KEY);
    for (uint32_t i = 0; changes && i < relation.def.index_count; i++)
        printf("kept beside  %s\n", relation.def.indexes[i].name);
    relation_close(&relation);
}

static uint64_t verb_sum(const struct cellar_lab_stats *stats, uint32_t verb)
{
    uint64_t sum = 0;
    for (uint32_t phase = 0; phase < CELLAR_PHASES; phase++) sum += stats->ops[phase][verb];
    return sum;
}

static void costs_print(const struct cellar_lab_stats *before, const struct cellar_lab_stats *after)
{
    bool any = false;
    printf("round trips  %" PRIu64 "\n", after->round_trips - before->round_trips);
    printf("verbs        ");
    for (uint32_t i = 0; i < CELLAR_VERBS; i++) {
        uint64_t count = verb_sum(after, i) - verb_sum(before, i);
        if (count) printf("%s%" PRIu64 " %s", any ? ", " : "", count, verbs[i]);
        any = any || count;
    }
    puts(any ? "" : "none");
    if (after->aborted > before->aborted)
        printf("aborted      %" PRIu64 " attempts\n", after->aborted - before->aborted);
}

int console_explain(struct console *console)
{
    struct cellar_lab_stats before, after;
    console->word_count--;
    memmove(console->words, console->words + 1, console->word_count * sizeof *console->words);
    if (!strcmp(console->words[0], "explain"))
        return err_set(console->error, CELLAR_INVALID, "explain explains a command that is not explain");
    indexes_print(console);
    cellar_lab_stats_read(console->db, &before);
    int code = console_run(console);
    cellar_lab_stats_read(console->db, &after);
    if (code == 0) costs_print(&before, &after);
    return code;
}

/* ---- stats ---- */

/* `title`: NULL, or what stands above them. */
static void reasons_print(const char *title, const uint64_t counts[CELLAR_ABORT_REASONS])
{
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) {
        if (!counts[i]) continue;
        if (title) puts(title);
        title = NULL;
        printf("  %-16s %" PRIu64 "\n", cellar_lab_abort_name(i), counts[i]);
    }
}

struct space_read {
    struct console *console;
    const struct cellar_table *table;
    struct cellar_lab_space space;
};

static int space_client(struct cellar_lab_client *client, void *arg)
{
    struct space_read *read = arg;
    return err_last(read->console->error, cellar_lab_space_read(client, read->table, &read->space));
}

/* What this shell did there. */
static void tally_print(const struct console *console, const struct cellar_table *table)
{
    struct cellar_lab_table_tally tally;
    cellar_lab_table_read(console->db, table, &tally);
    printf("read         %" PRIu64 " records here, %" PRIu64 " written, %" PRIu64 " inserted, %" PRIu64 " deleted\n",
           tally.read, tally.written, tally.inserted, tally.deleted);
    reasons_print("conflicts", tally.conflicts);
}

static int table_stats(struct console *console)
{
    struct relation relation;
    char text[STYLE_BYTES];
    int code = relation_open(console->db, console->words[1], NULL, &relation, console->error);
    struct space_read read = {.console = console, .table = relation.table};
    relation_close(&relation);
    if (code == 0) code = console_at_rest(console, space_client, &read);
    if (code) return code;
    printf("records      %s\n", style_count(text, read.space.records));
    printf("payload      %s\n", style_bytes(text, (double)read.space.payload_bytes));
    printf("records take %s as laid out", style_bytes(text, (double)read.space.record_bytes));
    printf(", %s with free slots\n", style_bytes(text, (double)read.space.slot_bytes));
    printf("hash index   %s\n", style_bytes(text, (double)read.space.index_bytes));
    tally_print(console, read.table);
    return 0;
}

int console_stats(struct console *console)
{
    struct cellar_lab_stats stats;
    struct cellar_lab_pool_space space;
    char used[STYLE_BYTES], all[STYLE_BYTES];
    if (console->word_count == 2) return table_stats(console);
    cellar_lab_stats_read(console->db, &stats);
    cellar_lab_pool_space_read(console->db, &space);
    printf("committed    %" PRIu64 ", %" PRIu64 " attempts aborted\n", stats.committed, stats.aborted);
    reasons_print(NULL, stats.aborts);
    costs_print(&(struct cellar_lab_stats){0}, &stats);
    printf("memory       %s of %s in use\n", style_bytes(used, (double)space.used_bytes),
           style_bytes(all, (double)space.pool_bytes));
    return 0;
}
