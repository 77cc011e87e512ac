/* catalog_entry.c - what a catalog entry says of a table: read out of untrusted bytes, and written. */
#include "bytekey.h"
#include "schemadef.h"
#include "catalog_internal.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TEXT(number) ((unsigned long long)(number))

static uint64_t entry_checksum(const struct catalog_entry_wire *entry)
{
    return XXH3_64bits(entry->name,
                       offsetof(struct catalog_entry_wire, state) - offsetof(struct catalog_entry_wire, name));
}

/* ---- entry to table ---- */

static bool terminated(const char name[CELLAR_NAME_BYTES]) { return memchr(name, 0, CELLAR_NAME_BYTES) != NULL; }

/* What an entry says of a table's columns: those that are stored, and those of its key. */
struct entry_columns {
    struct cellar_schema_column stored[CELLAR_COLUMNS_MAX];
    uint8_t types[CELLAR_COLUMNS_MAX], places[CELLAR_COLUMNS_MAX];
    uint32_t count;
    struct rowkey key;
};

/* Of a table of typed columns: does a wide key have its column, and BYTES what they need? */
static bool typed_sane(const struct catalog_entry_wire *entry, const struct entry_columns *columns)
{
    const uint32_t text_bytes_max = SCHEMA_LENGTH_BYTES + CELLAR_SHORT_BYTES;
    bool wide = columns->key.wide;
    if (entry->key_bytes != (wide ? columns->key.bytes : 0) || (wide && columns->types[0] != CELLAR_NO_TYPE))
        return false;
    for (uint32_t i = 0; i < columns->count; i++) {
        bool variable = entry->variable >> i & 1, text = columns->types[i] == CELLAR_BYTES;
        uint32_t bytes = columns->stored[i].bytes;
        if (variable && !text) return false;
        if (text && !variable && (bytes <= SCHEMA_LENGTH_BYTES || bytes > text_bytes_max)) return false;
    }
    return true;
}

/* False: they contradict each other. */
static bool entry_columns_read(const struct catalog_entry_wire *entry, struct entry_columns *columns)
{
    *columns = (struct entry_columns){0};
    for (uint32_t i = 0; i < entry->column_count; i++) {
        const struct catalog_column_wire *column = &entry->columns[i];
        bool none = column->type == CELLAR_NO_TYPE && !column->key;
        if (!terminated(column->name) || column->cell < 0 || column->key > 1) return false;
        if (!none && !schema_type_sane(column->type, column->bytes)) return false;
        if (column->key) {
            if (columns->key.count == ROWKEY_PARTS_MAX || column->bytes > CELLAR_KEY_BYTES_MAX) return false;
            struct rowkey_part *part = &columns->key.parts[columns->key.count++];
            *part = (struct rowkey_part){
                .type = (uint8_t)column->type, .bytes = (uint16_t)column->bytes, .place = (uint8_t)i};
            memcpy(part->name, column->name, sizeof(part->name));
            continue;
        }
        columns->types[columns->count] = (uint8_t)column->type;
        columns->places[columns->count] = (uint8_t)i;
        columns->stored[columns->count++] =
            (struct cellar_schema_column){column->name, column->row_offset, column->bytes, column->cell};
    }
    if (!rowkey_lay_out(&columns->key)) return false;
    return !columns->key.count || typed_sane(entry, columns);
}

void catalog_typing_apply(const uint8_t *types, const uint8_t *places, struct schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        schema->columns[i].type = types[i];
        schema->columns[i].place = places[i];
    }
}

/* Rebuilds the schema through the same door as a caller's; 0 only if it comes out with the same cells. */
static int entry_schema(const struct catalog *catalog, const struct catalog_entry_wire *entry, struct table *table,
                        struct cellar_error *error)
{
    const struct schema_versions *versions = catalog->known_versions;
    struct schema *schema = &table->schema;
    struct entry_columns columns;
    if (!terminated(entry->name) || entry->column_count > CELLAR_COLUMNS_MAX) return CELLAR_CORRUPT;
    if (!entry_columns_read(entry, &columns)) return CELLAR_CORRUPT;
    struct cellar_schema from = {
        .name = entry->name, .row_bytes = entry->row_bytes, .columns = columns.stored, .column_count = columns.count};
    int rc = schema_build(&from, 1, schema, error);
    if (rc == 0 && entry->versions == 1 && !versions)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table %s keeps old versions of its records, which no mode of this build does", entry->name);
    if (rc == 0 && (entry->versions > 1 || (entry->versions && !versions->lay_out(schema)))) rc = CELLAR_CORRUPT;
    for (uint32_t i = 0; rc == 0 && i < columns.count; i++)
        if (schema->columns[i].cell != columns.stored[i].cell) rc = CELLAR_CORRUPT;
    table->key = columns.key;
    catalog_typing_apply(columns.types, columns.places, schema);
    return rc;
}

bool catalog_key_sane(const struct schema *schema, uint32_t key_bytes)
{
    uint32_t bytes = schema->columns[0].bytes;
    bool alone =
        key_bytes <= CELLAR_KEY_BYTES_MAX && bytes >= BYTEKEY_HEAD_BYTES + key_bytes && bytes <= sizeof(struct bytekey);
    for (uint32_t i = 1; i < schema->column_count; i++) alone = alone && schema->columns[i].cell;
    return alone || !key_bytes;
}

/* Do the buckets lie in a run of the heap, and suffice for the arithmetic of index_bucket_addr? */
static bool geometry_sane(const struct catalog *catalog, const struct index_geometry *geometry)
{
    if (geometry->cluster_bits > CATALOG_CLUSTER_BITS_MAX) return false;
    if (geometry->buckets_per_node <= ((1ull << geometry->cluster_bits) - 1) / LAYOUT_BUCKET_ENTRIES) return false;
    if (geometry->buckets_per_node > catalog->area_bytes / LAYOUT_LINE) return false;
    for (uint32_t node = 0; node < geometry->mn_count; node++) {
        uint64_t base = geometry->base[node];
        if (base >> 48 || base < sizeof(struct chunk_wire) || (base - sizeof(struct chunk_wire)) % LAYOUT_CHUNK_BYTES)
            return false;
        if (!catalog_in_heap(catalog, fabric_addr_of(node, base), geometry->buckets_per_node * LAYOUT_LINE))
            return false;
    }
    return true;
}

int catalog_entry_decode(const struct catalog *catalog, const struct catalog_entry_wire *entry, uint32_t index,
                         struct table *table, struct cellar_error *error)
{
    struct cellar_error why = {0, "its bytes contradict each other"};
    if (entry->table_id != index + 1 || entry->checksum != entry_checksum(entry))
        return err_set(error, CELLAR_CORRUPT, "catalog entry %u (id %llu): its checksum or number is wrong", index,
                       TEXT(entry->table_id));
    table->handle = (struct cellar_table){.catalog = catalog, .table = table};
    table->id = index + 1;
    table->checksum = entry->checksum;
    memcpy(table->name, entry->name, sizeof(table->name));
    table->records_max = entry->records_max;
    table->key_bytes = entry->key_bytes;
    table->index = (struct index_geometry){.buckets_per_node = entry->buckets_per_node,
                                           .mn_count = catalog->mn_count,
                                           .cluster_bits = entry->cluster_bits};
    memcpy(table->index.base, entry->bucket_base, sizeof(table->index.base));
    table->orders = (struct catalog_index){
        .of = entry->index_of, .flags = entry->index_flags, .column_count = entry->index_column_count};
    memcpy(table->orders.columns, entry->index_columns, sizeof(table->orders.columns));
    table->variable = entry->variable;
    table->long_bytes = entry->long_bytes;
    table->extent_size = entry->extent_size;
    table->extents_of = entry->extents_of;
    int rc = entry_schema(catalog, entry, table, &why);
    if (rc == CELLAR_UNSUPPORTED) return err_set(error, CELLAR_UNSUPPORTED, "%s", why.text);
    if (rc || !geometry_sane(catalog, &table->index) || !catalog_key_sane(&table->schema, entry->key_bytes) ||
        !catalog_extents_find(catalog, entry->extents, table))
        return err_set(error, CELLAR_CORRUPT, "catalog entry %u: %.180s", index, why.text);
    return 0;
}

/* ---- table to entry ---- */

void catalog_entry_encode(const struct table *table, struct catalog_entry_wire *entry)
{
    *entry = (struct catalog_entry_wire){.row_bytes = table->schema.row_bytes,
                                         .column_count = table->schema.column_count + table->key.count,
                                         .records_max = table->records_max,
                                         .buckets_per_node = table->index.buckets_per_node,
                                         .cluster_bits = table->index.cluster_bits,
                                         .versions = schema_keeps_versions(&table->schema),
                                         .key_bytes = table->key_bytes,
                                         .extent_size = table->extent_size,
                                         .extents_of = table->extents_of,
                                         .variable = table->variable,
                                         .long_bytes = table->long_bytes,
                                         .index_of = table->orders.of,
                                         .index_flags = table->orders.flags,
                                         .index_column_count = table->orders.column_count};
    memcpy(entry->index_columns, table->orders.columns, sizeof(entry->index_columns));
    memcpy(entry->name, table->name, sizeof(entry->name));
    memcpy(entry->bucket_base, table->index.base, sizeof(entry->bucket_base));
    for (uint32_t i = 0; i < table->schema.column_count; i++) {
        const struct schema_column *column = &table->schema.columns[i];
        struct catalog_column_wire *to = &entry->columns[column->place];
        *to = (struct catalog_column_wire){
            .row_offset = column->row_offset, .bytes = column->bytes, .cell = column->cell, .type = column->type};
        memcpy(to->name, column->name, sizeof(column->name));
    }
    for (uint32_t i = 0; i < table->key.count; i++) {
        const struct rowkey_part *part = &table->key.parts[i];
        struct catalog_column_wire *to = &entry->columns[part->place];
        *to = (struct catalog_column_wire){.bytes = part->bytes, .type = part->type, .key = 1};
        memcpy(to->name, part->name, sizeof(part->name));
    }
    for (uint32_t size = 0; size < EXTENT_SIZES && table->variable; size++)
        entry->extents[size] = table->extents[size]->id;
    entry->state = table->orders.of || table->unborn ? LAYOUT_TABLE_BUILDING : LAYOUT_TABLE_WHOLE;
    entry->checksum = entry_checksum(entry);
    entry->table_id = table->id;
}
