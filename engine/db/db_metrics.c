/*
 * db_metrics.c - what goes on in this process, for people who watch it: hot records, and all counts as Prometheus text.
 */
#include "db.h"
#include "numbered.h"
#include "db_stats.h"
#include "hotspots.h"
#include "session.h"
#include "vacant.h"
#include "worker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- hot records ---- */

struct hottest {
    struct cellar_lab_hot_record *records;
    uint32_t count, max;
};

/* Most conflicts first; of one record those of all workers together. */
static void hottest_add(struct hottest *hottest, const struct hotspot *spot)
{
    const struct cellar_table *table = catalog_handle((const struct table *)(uintptr_t)spot->table);
    struct cellar_lab_hot_record *records = hottest->records, here = {table, spot->key, spot->conflicts};
    uint32_t at = 0;
    while (at < hottest->count && (records[at].table != table || records[at].key != spot->key)) at++;
    if (at < hottest->count)
        here.conflicts += records[at].conflicts;
    else if (hottest->count < hottest->max)
        hottest->count++;
    else if (at == 0 || records[--at].conflicts >= here.conflicts)
        return;
    for (; at > 0 && records[at - 1].conflicts < here.conflicts; at--) records[at] = records[at - 1];
    records[at] = here;
}

static void worker_add(struct hottest *hottest, const struct worker *worker)
{
    for (uint32_t i = 0; i < HOTSPOTS; i++) {
        struct hotspot spot = hotspots_look(&worker->home.hotspots, i);
        if (spot.conflicts) hottest_add(hottest, &spot);
    }
}

uint32_t cellar_lab_hot_read(struct cellar *db, struct cellar_lab_hot_record *records, uint32_t max)
{
    uint32_t *counted;
    struct hottest hottest = {records, 0, max};
    if (db_look_begin(db, &counted, NULL)) return 0;
    for (uint32_t i = 0; i < db->worker_count; i++) worker_add(&hottest, &db->workers[i]);
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->ready) worker_add(&hottest, db->sessions[i]->worker);
    fabric_unlock(db->fabric, &db->sessions_lock);
    db_call_end(db, counted);
    return hottest.count;
}

/* ---- Prometheus' text ---- */

#define HOT_RECORDS_TOLD 10

struct page {
    char *text;
    size_t capacity, bytes; /* bytes: of all of it, whether there is room or not */
};

static void say(struct page *page, const char *format, ...) CELLAR_PRINTF(2, 3);
static void say(struct page *page, const char *format, ...)
{
    va_list arguments;
    bool room = page->bytes < page->capacity;
    va_start(arguments, format);
    int length =
        vsnprintf(room ? page->text + page->bytes : NULL, room ? page->capacity - page->bytes : 0, format, arguments);
    va_end(arguments);
    if (length > 0) page->bytes += (size_t)length;
}

static void family(struct page *page, const char *name, const char *type, const char *help)
{
    say(page, "# HELP cellar_%s %s\n# TYPE cellar_%s %s\n", name, help, name, type);
}

/* A table's name may have any bytes. */
static void label_say(struct page *page, const char *label)
{
    for (; *label; label++) {
        if (*label == '"' || *label == '\\') say(page, "\\");
        say(page, *label == '\n' ? "\\n" : "%c", *label);
    }
}

static void one(struct page *page, const char *name, const char *type, const char *help, uint64_t value)
{
    family(page, name, type, help);
    say(page, "cellar_%s %" PRIu64 "\n", name, value);
}

static void seconds(struct page *page, const char *name, const char *type, const char *help, uint64_t ns)
{
    family(page, name, type, help);
    /* no floating-point format: a locale may give it a decimal comma */
    say(page, "cellar_%s %" PRIu64 ".%09" PRIu64 "\n", name, ns / 1000000000, ns % 1000000000);
}

static void verbs_say(struct page *page, const struct cellar_lab_stats *stats)
{
    static const char *const phases[CELLAR_PHASES] = {"execute", "validate", "log", "apply"};
    static const char *const verbs[CELLAR_VERBS] = {"read", "write", "cas", "masked_cas", "faa", "send"};
    family(page, "verbs_total", "counter", "One-sided operations that were posted");
    for (int phase = 0; phase < CELLAR_PHASES; phase++)
        for (int verb = 0; verb < CELLAR_VERBS; verb++)
            say(page, "cellar_verbs_total{phase=\"%s\",verb=\"%s\"} %" PRIu64 "\n", phases[phase], verbs[verb],
                stats->ops[phase][verb]);
}

static void queues_say(struct page *page, struct cellar *db, const struct cellar_lab_stats *stats)
{
    static const char *const names[CELLAR_HOT_COUNTERS] = {
#define X(name, text) #name,
        CELLAR_HOT_MAP(X)
#undef X
    };
    struct cellar_lab_hot_record records[HOT_RECORDS_TOLD];
    uint32_t count = cellar_lab_hot_read(db, records, HOT_RECORDS_TOLD);
    family(page, "hot_total", "counter", "Queues of hot records, in the mode that has them");
    for (int i = 0; i < CELLAR_HOT_COUNTERS; i++)
        say(page, "cellar_hot_total{what=\"%s\"} %" PRIu64 "\n", names[i], stats->hot[i]);
    family(page, "record_conflicts", "gauge", "Conflicts of the records that have most");
    for (uint32_t i = 0; i < count; i++) {
        struct cellar_schema schema;
        struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
        cellar_schema_describe(records[i].table, &schema, columns);
        say(page, "cellar_record_conflicts{table=\"");
        label_say(page, schema.name);
        say(page, "\",key=\"%" PRIu64 "\"} %" PRIu64 "\n", records[i].key, records[i].conflicts);
    }
}

/* Of each table that is not a part of another one. */
static void table_say(struct page *page, const struct cellar_table *table, const struct cellar_lab_table_tally *tally)
{
    const struct {
        const char *did;
        uint64_t count;
    } counts[] = {
        {"read", tally->read}, {"written", tally->written}, {"inserted", tally->inserted}, {"deleted", tally->deleted}};
    for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        say(page, "cellar_table_records_total{table=\"");
        label_say(page, table->table->name);
        say(page, "\",did=\"%s\"} %" PRIu64 "\n", counts[i].did, counts[i].count);
    }
}

static void tables_say(struct page *page, struct cellar *db)
{
    struct cellar_lab_table_tally tally;
    family(page, "table_records_total", "counter", "Records of a table, by what committed transactions did with them");
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(db, table));) {
        cellar_lab_table_read(db, table, &tally);
        table_say(page, table, &tally);
    }
    family(page, "table_conflicts_total", "counter", "Attempts that were aborted over a record of a table");
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(db, table));) {
        uint64_t conflicts = 0;
        cellar_lab_table_read(db, table, &tally);
        for (int i = 0; i < CELLAR_ABORT_REASONS; i++) conflicts += tally.conflicts[i];
        say(page, "cellar_table_conflicts_total{table=\"");
        label_say(page, table->table->name);
        say(page, "\"} %" PRIu64 "\n", conflicts);
    }
}

/* As cellar_lab_pool_space_read counts, but without asking a memory node. */
static void memory_say(struct page *page, const struct cellar *db)
{
    const struct catalog *catalog = db->catalog;
    one(page, "memory_nodes", "gauge", "Memory nodes", db->fabric->mn_count);
    one(page, "memory_node_bytes", "gauge", "Memory of each memory node", catalog->mn_bytes);
    family(page, "memory_used_bytes", "gauge",
           "In use of what a memory node hands out, and its backups, as last heard");
    for (uint32_t node = 0; node < catalog->mn_count; node++) {
        uint64_t bytes = catalog->heap_offset + vacant_in_use(catalog, node) * LAYOUT_CHUNK_BYTES;
        say(page, "cellar_memory_used_bytes{node=\"%" PRIu32 "\"} %" PRIu64 "\n", node,
            bytes * (catalog->replicas + 1));
    }
    family(page, "memory_node_lost", "gauge", "1: this process goes around that memory node");
    for (uint32_t node = 0; node < catalog->mn_count; node++)
        say(page, "cellar_memory_node_lost{node=\"%" PRIu32 "\"} %d\n", node, halt_is_lost(&db->nodes[0].halt, node));
}

size_t cellar_metrics(struct cellar *db, char *text, size_t capacity)
{
    struct page page = {text, capacity, 0};
    struct cellar_lab_stats stats;
    struct cellar_lab_way way;
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return 0;
    db_stats(db, &stats);
    cellar_lab_way_read(db, &way);
    one(&page, "transactions_total", "counter", "Transactions that committed", stats.committed);
    family(&page, "aborts_total", "counter", "Attempts that were aborted, and why");
    for (int i = 0; i < CELLAR_ABORT_REASONS; i++)
        say(&page, "cellar_aborts_total{reason=\"%s\"} %" PRIu64 "\n", cellar_lab_abort_name(i), stats.aborts[i]);
    one(&page, "round_trips_total", "counter", "Batches of operations that were waited for", stats.round_trips);
    verbs_say(&page, &stats);
    queues_say(&page, db, &stats);
    tables_say(&page, db);
    seconds(&page, "tag_wait_seconds", "gauge", "The longest that a call kept meeting one node's locks",
            stats.tag_wait_ns);
    one(&page, "cache_bytes", "gauge", "Record caches, as far as they were ever in use", cellar_lab_cache_bytes(db));
    one(&page, "compute_nodes", "gauge", "Compute nodes of this process", db->config.cns);
    one(&page, "members", "gauge", "Compute nodes that the pool may have", db->catalog->cn_count);
    memory_say(&page, db);
    one(&page, "log_segment_bytes", "gauge", "Redo log of each coordinator", db->config.log_bytes);
    one(&page, "coordinators", "gauge", "Coordinators of this process", db->coordinator_count);
    one(&page, "plain_nodes", "gauge", "Compute nodes whose transactions go the plain way", way.plain);
    db_call_end(db, counted);
    return page.bytes;
}
