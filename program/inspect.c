/*
 * inspect.c - `cellar inspect POOL|DIR`: what the bytes of a pool file say, as they are: nothing is recovered, and
 * nothing is written. For who looks into a pool that is damaged, or was not closed. Of a durable folder that is the
 * memory which an opening restores, before its recovery, and the log of the folder.
 */
#include "batch.h"
#include "db.h"
#include "db_config.h"
#include "fabric_shm.h"
#include "folder_look.h"
#include "heap.h"
#include "logseg.h"
#include "members.h"
#include "options.h"
#include "pool_file.h"
#include "program.h"
#include "record.h"
#include "style.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(number) ((unsigned long long)(number))
#define VALUE_BYTES_SHOWN 32

struct inspect {
    const char *path, *table;
    uint64_t key;
    uint32_t log_cn;
    bool key_given, log_given;
    struct durable *durable; /* of a folder, until the memory is restored */
    struct folder_look files;
    uint64_t entries; /* of a folder's log, shown */
    struct fabric *fabric;
    struct fabric_ep *ep;
    struct catalog *catalog;
    struct heap_memory *memory;
    struct cellar_error *error;
};

#define AT(field) offsetof(struct inspect, field)

static const struct option_def defs[] = {
    {.group = "What of it (without any of these: what it is, its compute nodes and tables)",
     .name = "table",
     .argument = "NAME",
     .help = "the columns and indexes of this table",
     .kind = OPTION_TEXT,
     .offset = AT(table)},
    {.name = "key",
     .argument = "N",
     .help = "with --table: the slots that hold this key: locks, versions, values",
     .kind = OPTION_NUMBER,
     .offset = AT(key)},
    {.name = "log",
     .argument = "CN",
     .help = "the redo-log entries of this compute node; a folder's: those in its log",
     .kind = OPTION_COUNT,
     .offset = AT(log_cn),
     .min = 0,
     .max = LAYOUT_MEMBERS_MAX - 1},
};
static const struct options options = {
    .program = "cellar inspect", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar inspect POOL|DIR [options]\n\n"
          "Prints what a pool file holds, as its bytes are: nothing is recovered first, and nothing is written. A pool "
          "that is in\nuse is refused. To judge one: cellar check POOL. Of a durable folder it prints the files, and "
          "what "
          "an opening\nwould restore from them, before its recovery.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar inspect bank.pool\n"
          "  cellar inspect bank.pool --table accounts --key 17\n"
          "  cellar inspect bank.pool --log 0\n"
          "  cellar inspect /var/lib/bank --log 0\n",
          stdout);
}

static int parse(int count, char *const *arguments, struct inspect *inspect)
{
    uint64_t given;
    bool named = count > 0 && arguments[0][0] != '-';
    int code = options_parse(&options, count - named, arguments + named, inspect, &given, inspect->error);
    if (code) return code;
    if (!named)
        return err_set(inspect->error, CELLAR_INVALID, "name a pool file or a durable folder: cellar inspect POOL");
    inspect->path = arguments[0];
    inspect->key_given = options_given(&options, given, "key");
    inspect->log_given = options_given(&options, given, "log");
    if (inspect->key_given && !inspect->table)
        return err_set(inspect->error, CELLAR_INVALID, "--key N is a record's of a table: name that, too");
    if (inspect->log_given && inspect->table)
        return err_set(inspect->error, CELLAR_INVALID, "--table and --log exclude each other");
    return 0;
}

/* ---- opening, as far as to read ---- */

/*
 * What lies before the heap, as the superblock has it: pools whose records have locks have more there. Its checks come
 * later.
 */
static int locks_bytes_read(struct inspect *inspect, uint64_t *bytes)
{
    const struct superblock_wire *block = (const struct superblock_wire *)(const void *)inspect->memory->slots;
    int code = batch_read(NULL, inspect->ep, fabric_addr_of(0, 0), inspect->memory->slots, sizeof *block);
    if (code) return err_set(inspect->error, code, "its superblock: %s", cellar_strerror(code));
    bool possible = block->heap_offset > LAYOUT_LOCKS_OFFSET && block->heap_offset < inspect->fabric->mn_bytes;
    *bytes = possible ? block->heap_offset - LAYOUT_LOCKS_OFFSET : 0;
    return 0;
}

/* Of a folder the memory is restored first, and the log done again when its tables are known. */
static int catalog_read(struct inspect *inspect)
{
    bool restored;
    const struct folder *folder = inspect->durable ? &inspect->durable->nodes[0].folder : NULL;
    struct catalog_shape shape = {.mn_count = inspect->fabric->mn_count,
                                  .replicas = folder ? folder->replicas : 0,
                                  .cn_count = 1,
                                  .mn_bytes = inspect->fabric->mn_bytes,
                                  .known_versions = mode_versions(),
                                  .existing = true};
    int code = fabric_endpoint_open(inspect->fabric, 0, 0, &inspect->ep, inspect->error);
    if (code) return code;
    inspect->ep->bulk = true;
    inspect->memory = aligned_alloc(LAYOUT_LINE, sizeof *inspect->memory);
    if (!inspect->memory) return err_set(inspect->error, CELLAR_NOMEM, "no memory");
    code = fabric_register_local(inspect->fabric, inspect->memory, sizeof *inspect->memory);
    if (code) return err_set(inspect->error, code, "%s", cellar_strerror(code));
    if (inspect->durable) code = durable_restore(NULL, inspect->ep, inspect->durable, &restored, inspect->error);
    if (code == 0) code = locks_bytes_read(inspect, &shape.locks_bytes);
    if (code == 0) code = catalog_open(NULL, inspect->ep, &shape, false, false, &inspect->catalog, inspect->error);
    if (code == 0 && inspect->durable)
        code = durable_redo(NULL, inspect->ep, inspect->durable, inspect->catalog, inspect->error);
    return code;
}

static int folder_open(struct inspect *inspect)
{
    int code = folder_look_open(inspect->path, &inspect->durable, inspect->error);
    if (code == 0) code = folder_look_read(inspect->durable, &inspect->files, inspect->error);
    if (code) return code;
    const struct fabric_shm_config config = {.mn_count = inspect->durable->node_count,
                                             .cn_count = 1,
                                             .mn_bytes = inspect->durable->nodes[0].folder.memory_bytes,
                                             .seed = 1};
    code = fabric_shm_open(&config, &inspect->fabric, inspect->error);
    return code ? code : catalog_read(inspect);
}

static int pool_open(struct inspect *inspect)
{
    uint64_t bytes;
    if (disk_real_is_folder(inspect->path)) return folder_open(inspect);
    int code = pool_file_look("", inspect->path, &bytes, inspect->error);
    if (code) return code;
    uint32_t unused;
    code = db_pool_file_look(inspect->path, &unused, inspect->error);
    if (code) return err_about(inspect->error, code, inspect->path);
    if (bytes <= LAYOUT_HEAP_OFFSET)
        return err_set(inspect->error, CELLAR_CORRUPT, "%.160s has %llu bytes: a pool has at least %d", inspect->path,
                       TEXT(bytes), LAYOUT_HEAP_OFFSET + 1);
    const struct fabric_shm_config config = {
        .mn_count = 1, .cn_count = 1, .mn_bytes = bytes, .pool_path = inspect->path, .pool_private = true, .seed = 1};
    code = fabric_shm_open(&config, &inspect->fabric, inspect->error);
    return code ? code : catalog_read(inspect);
}

static void pool_close(struct inspect *inspect)
{
    catalog_free(inspect->catalog);
    if (inspect->ep) fabric_endpoint_close(inspect->ep);
    if (inspect->fabric) fabric_close(inspect->fabric);
    durable_free(inspect->durable);
    folder_look_free(&inspect->files);
    free(inspect->memory);
}

/* ---- the pool ---- */

static int members_print(const struct inspect *inspect)
{
    bool any = false;
    printf("compute nodes\n");
    for (uint32_t cn = 0; cn < inspect->catalog->cn_count; cn++) {
        struct members_state now;
        int code = members_look(NULL, inspect->ep, cn, &now);
        if (code) return err_set(inspect->error, code, "compute node %u's word: %s", cn, cellar_strerror(code));
        if (now.state == LAYOUT_MEMBER_NEVER) continue;
        any = true;
        printf("  %3u  %-9s incarnation %llu", cn, members_state_name(now.state), TEXT(now.incarnation));
        if (now.recoverer >= 0) printf(", recovered by compute node %d", (int)now.recoverer);
        putchar('\n');
    }
    if (!any) printf("  none was ever there\n");
    return 0;
}

static int pool_print(struct inspect *inspect)
{
    const struct catalog *catalog = inspect->catalog;
    char all[STYLE_BYTES], used[STYLE_BYTES];
    uint64_t chunks = 0, of_node;
    int code = 0;
    for (uint32_t i = 0; i < catalog->mn_count && code == 0; i++) {
        code = catalog_chunks_used(NULL, inspect->ep, catalog, i, &inspect->memory->word, &of_node);
        if (code == 0) chunks += of_node;
    }
    if (code) return err_set(inspect->error, code, "its heap: %s", cellar_strerror(code));
    printf("%s: %s, %s; %s of its heap handed out; for %u compute node%s%s\n", inspect->path,
           style_bytes(all, (double)catalog->mn_bytes * catalog->mn_count),
           inspect->durable  ? "as an opening restores it"
           : catalog->closed ? "closed"
                             : "not closed",
           style_bytes(used, (double)chunks * LAYOUT_CHUNK_BYTES), catalog->cn_count, catalog->cn_count == 1 ? "" : "s",
           catalog->versions ? "; its tables keep old versions" : "");
    if (inspect->files.count) printf("files\n");
    folder_look_print(&inspect->files, stdout);
    code = members_print(inspect);
    if (code) return code;
    printf("tables\n");
    catalog_each(catalog, table)
    {
        printf("  %3u  %-31s %u columns in %u cells, %u bytes a record", table->id, table->name,
               table->schema.column_count, table->schema.cell_count, table->schema.record_bytes);
        if (table->orders.of) printf("; nodes of an index of table %u", table->orders.of);
        if (table->extent_size) printf("; extents of long values of table %u", table->extents_of);
        putchar('\n');
    }
    if (!catalog_table_after(catalog, 0)) printf("  none\n");
    return 0;
}

/* ---- a table ---- */

static void table_print(const struct inspect *inspect, const struct table *table)
{
    static const char *const sorts[] = {"unsigned", "signed", "bytes"};
    const struct schema *schema = &table->schema;
    printf("table %s: %u bytes a record, room for about %llu records\n", table->name, schema->record_bytes,
           TEXT(table->records_max));
    for (uint32_t i = 0; i < table->key.count; i++)
        printf("  column %-31s %5u bytes  of the key\n", table->key.parts[i].name, table->key.parts[i].bytes);
    for (uint32_t i = 0; i < schema->column_count; i++)
        printf("  column %-31s %5u bytes  cell %u%s\n", schema->columns[i].name, schema->columns[i].bytes,
               schema->columns[i].cell, table->variable >> i & 1 ? "  of variable length" : "");
    catalog_each(inspect->catalog, nodes)
    {
        if (nodes->orders.of != table->id) continue;
        const char *name = strchr(nodes->name, '/');
        printf("  index %s%s:", name ? name + 1 : nodes->name, nodes->orders.flags & CELLAR_UNIQUE ? ", unique" : "");
        for (uint32_t k = 0; k < nodes->orders.column_count; k++) {
            uint32_t word = nodes->orders.columns[k], number = word & 0xffff, sort = word >> 16 & 0xff;
            printf(" %s (%s%s)", number < schema->column_count ? schema->columns[number].name : "?",
                   sort < 3 ? sorts[sort] : "?", word >> 24 & 1 ? ", descending" : "");
        }
        printf("%s\n", nodes->orders.column_count ? "" : " keys");
    }
}

static void value_print(const uint8_t *value, uint32_t bytes)
{
    uint64_t number = 0;
    bool text = bytes > 0;
    for (uint32_t i = 0; i < bytes && i < VALUE_BYTES_SHOWN; i++) printf("%02x", value[i]);
    if (bytes > VALUE_BYTES_SHOWN) printf("...");
    for (uint32_t i = 0; i < bytes; i++) text = text && (isprint(value[i]) || value[i] == 0);
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
        memcpy(&number, value, bytes); /* this host's order: little-endian */
        printf("  = %llu", TEXT(number));
    } else if (text && value[0]) {
        printf("  \"%.*s\"", (int)(bytes < VALUE_BYTES_SHOWN ? bytes : VALUE_BYTES_SHOWN), (const char *)value);
    }
    putchar('\n');
}

/* Who holds a cell, which version it has, and whether its lines and the header agree. */
static void cell_print(const struct schema *schema, const uint8_t *image, uint32_t cell)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    uint64_t version = record_version(schema, image, cell);
    int owner = lockword_owner(header->lock, schema->tag_bits, cell);
    printf("  cell %2u  EN %u  TS %llu", cell, layout_version_en(version), TEXT(layout_version_ts(version)));
    if (header->en[cell] != layout_version_en(version)) printf("  EN in the header: %u", header->en[cell]);
    if (!record_whole(schema, image, 1u << cell)) printf("  its lines are of different versions");
    if (owner >= 0) printf("  locked by compute node %d", owner);
    putchar('\n');
    for (uint32_t i = 0; i < schema->column_count; i++) {
        uint8_t value[CELLAR_COLUMN_BYTES_MAX];
        if (schema->columns[i].cell != cell) continue;
        record_column_get(schema, image, i, value);
        printf("      %-31s ", schema->columns[i].name);
        value_print(value, schema->columns[i].bytes);
    }
}

static void record_print(const struct table *table, uint64_t offset, const uint8_t *image)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    printf("record %llu of table %s at %#llx: %s%s, lock word %#llx\n", TEXT(header->key), table->name, TEXT(offset),
           header->flags & LAYOUT_RECORD_DELETED ? "deleted" : "live", header->lock & LOCKWORD_HOT ? ", hot" : "",
           TEXT(header->lock));
    for (uint32_t cell = 0; cell < table->schema.cell_count; cell++) cell_print(&table->schema, image, cell);
}

/* Those of one memory node. */
static int slots_find(struct inspect *inspect, const struct table *table, uint32_t node, uint64_t *found)
{
    struct heap_walk walk;
    uint8_t *slot;
    uint64_t offset;
    int code = heap_walk_begin(NULL, &walk, inspect->ep, inspect->catalog, node, inspect->memory);
    if (code) return err_set(inspect->error, code, "its heap: %s", cellar_strerror(code));
    while ((code = heap_walk_next(NULL, &walk, inspect->error)) == 1) {
        if (inspect->memory->run.kind != LAYOUT_RUN_RECORDS || inspect->memory->run.table_id != table->id ||
            inspect->memory->run.slot_bytes != table->schema.record_bytes)
            continue;
        while ((code = heap_slot_next(NULL, &walk, &slot, &offset, inspect->error)) == 1) {
            const struct record_wire *header = (const struct record_wire *)(const void *)slot;
            if (header->table_id != table->id || header->key != inspect->key) continue;
            if (inspect->catalog->mn_count > 1) printf("memory node %u: ", node);
            record_print(table, offset, slot);
            ++*found;
        }
        if (code < 0) return code;
    }
    return code;
}

/* All slots with that key: a deleted one and a live one may be there. */
static int record_find(struct inspect *inspect, const struct table *table)
{
    uint64_t found = 0;
    int code = 0;
    for (uint32_t node = 0; node < inspect->catalog->mn_count && code == 0; node++)
        code = slots_find(inspect, table, node, &found);
    if (code == 0 && !found)
        return err_set(inspect->error, CELLAR_NOT_FOUND, "table %s: no slot holds key %llu", table->name,
                       TEXT(inspect->key));
    return code;
}

static int table_inspect(struct inspect *inspect)
{
    const struct table *table = catalog_table_find(inspect->catalog, inspect->table);
    if (!table)
        return err_set(inspect->error, CELLAR_NOT_FOUND, "no table %.40s is in %.160s", inspect->table, inspect->path);
    if (inspect->key_given) return record_find(inspect, table);
    table_print(inspect, table);
    return 0;
}

/* ---- the log ---- */

static void write_print(const struct inspect *inspect, const struct log_write_wire *write)
{
    static const char *const kinds[] = {"?",         "cell",        "insert",      "delete",     "bucket",
                                        "was: cell", "was: insert", "was: delete", "was: bucket"};
    uint32_t id = write->table_id;
    const struct table *table =
        id >= 1 && id <= inspect->catalog->table_count ? inspect->catalog->tables[id - 1] : NULL;
    struct fabric_addr addr = {write->addr};
    printf("    %-11s %s key %llu cell %u, %u bytes, at %#llx\n",
           kinds[write->kind < sizeof kinds / sizeof *kinds ? write->kind : 0], table ? table->name : "?",
           TEXT(write->key), write->cell, write->value_bytes, TEXT(fabric_addr_offset(addr)));
}

static void entry_print(const struct inspect *inspect, const struct log_entry_wire *entry)
{
    printf("  coordinator %u  incarnation %llu  sequence %llu  TS %llu  %u changes, %u log-deps, %u bytes\n",
           entry->coordinator, TEXT(entry->incarnation), TEXT(entry->sequence), TEXT(entry->ts), entry->write_count,
           entry->dep_count, entry->bytes);
    const struct log_write_wire *write = NULL;
    while ((write = logseg_next_write(entry, write))) write_print(inspect, write);
}

/* Whole entries of one ring; entries begin on lines. Their number, or a code. */
static int64_t ring_print(struct inspect *inspect, const struct heap_walk *walk)
{
    uint64_t bytes = heap_run_bytes(&inspect->memory->run) - sizeof inspect->memory->run;
    uint8_t *ring = aligned_alloc(LAYOUT_LINE, (bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE);
    int64_t found = 0;
    if (!ring) return err_set(inspect->error, CELLAR_NOMEM, "no memory for a log of %llu bytes", TEXT(bytes));
    int code = fabric_register_local(inspect->fabric, ring, bytes);
    for (uint64_t at = 0; at < bytes && code == 0; at += HEAP_BUFFER_BYTES) {
        uint64_t piece = bytes - at < HEAP_BUFFER_BYTES ? bytes - at : HEAP_BUFFER_BYTES;
        struct fabric_addr from = fabric_addr_of(0, walk->offset + sizeof(struct chunk_wire) + at);
        code = batch_read(NULL, inspect->ep, from, ring + at, (uint32_t)piece);
    }
    for (uint64_t at = 0; at < bytes && code == 0;) {
        const struct log_entry_wire *entry = logseg_parse(ring + at, bytes - at);
        if (entry) entry_print(inspect, entry);
        found += entry != NULL;
        at += entry ? ((uint64_t)entry->bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE : LAYOUT_LINE;
    }
    fabric_forget_local(inspect->fabric, ring, bytes);
    free(ring);
    return code ? err_set(inspect->error, code, "its log at %#llx: %s", TEXT(walk->offset), cellar_strerror(code))
                : found;
}

/* Of a folder: what its log has of that compute node, group by group, with what does not count. */
static int item_print(void *arg, const struct journal_item *item)
{
    struct inspect *inspect = arg;
    const struct log_entry_wire *entry =
        item->kind == JOURNAL_ENTRY ? logseg_parse((uint8_t *)(uintptr_t)item->bytes, item->count) : NULL;
    if (!entry || entry->cn != inspect->log_cn) return 0;
    printf("  group %llu  life %llu  epoch %llu%s\n", TEXT(item->group), TEXT(item->life), TEXT(item->epoch),
           item->counts ? "" : "  beyond the cut: does not count");
    entry_print(inspect, entry);
    inspect->entries++;
    return 0;
}

static int folder_log_inspect(struct inspect *inspect)
{
    struct durable *durable = inspect->durable;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        if (durable->node_count > 1) printf("memory node %u\n", i);
        int code = journal_items(&durable->nodes[i].wal, &durable->cut, item_print, inspect, inspect->error);
        if (code) return code;
    }
    printf("%llu entries of compute node %u in the log of the folder\n", TEXT(inspect->entries), inspect->log_cn);
    return 0;
}

static int log_inspect(struct inspect *inspect)
{
    struct heap_walk walk;
    uint64_t segments = 0, entries = 0;
    int code = heap_walk_begin(NULL, &walk, inspect->ep, inspect->catalog, 0, inspect->memory);
    if (code) return err_set(inspect->error, code, "its heap: %s", cellar_strerror(code));
    while ((code = heap_walk_next(NULL, &walk, inspect->error)) == 1) {
        const struct chunk_wire *run = &inspect->memory->run;
        if (run->kind != LAYOUT_RUN_LOG || run->owner_cn != inspect->log_cn) continue;
        int64_t found = ring_print(inspect, &walk);
        if (found < 0) return (int)found;
        segments++;
        entries += (uint64_t)found;
    }
    if (code) return code;
    printf("%llu whole entries in %llu segments of compute node %u\n", TEXT(entries), TEXT(segments), inspect->log_cn);
    return 0;
}

int program_inspect(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct inspect inspect = {.error = &error};
    (void)watch;
    int code = parse(count, arguments, &inspect);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    if (code == 0) code = pool_open(&inspect);
    if (code == 0)
        code = inspect.log_given && inspect.durable ? folder_log_inspect(&inspect)
               : inspect.log_given                  ? log_inspect(&inspect)
               : inspect.table                      ? table_inspect(&inspect)
                                                    : pool_print(&inspect);
    pool_close(&inspect);
    if (code == 0) return COMMAND_OK;
    fprintf(stderr, "cellar inspect: %s\n", error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}
