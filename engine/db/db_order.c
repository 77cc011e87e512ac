#include "db_order.h"

#include "schemadef.h"
#include "bytekey.h"

#include <stdio.h>
#include <string.h>

#define REFUSED(format, ...)                                                                                           \
    err_set(error, CELLAR_INVALID, "index %s of table %s: " format, def->name, table->name, __VA_ARGS__)

static uint32_t number_of(uint32_t word) { return word & 0xffff; }
static uint32_t sort_of(uint32_t word) { return word >> 16 & 0xff; }
static bool is_covered(uint32_t word) { return sort_of(word) == CELLAR_COVERED; }
static bool descends(uint32_t word) { return word >> 24 & 1; }
static uint32_t word_of(uint32_t number, uint32_t sort, bool descending)
{
    return number | sort << 16 | (uint32_t)descending << 24;
}

/* Is it among the words so far? */
static bool has(const struct catalog_index *orders, uint32_t number)
{
    for (uint32_t i = 0; i < orders->column_count; i++)
        if (number_of(orders->columns[i]) == number) return true;
    return false;
}

/* ---- of a table whose columns have no types ---- */

/* One column, into the catalog's words. */
static int column_encode(const struct table *table, const struct cellar_schema_index *def, struct catalog_index *orders,
                         struct cellar_error *error)
{
    uint32_t i = orders->column_count;
    const struct cellar_schema_index_column *column = &def->columns[i];
    const struct schema *schema = &table->schema;
    const char *name = column->column ? column->column : "(none)";
    int number = column->column ? schema_column_find(schema, name, (uint32_t)strlen(name)) : -1;
    if (number < 0) return REFUSED("the table has no column %s", name);
    uint32_t bytes = schema->columns[number].bytes;
    if ((uint32_t)column->sort > CELLAR_COVERED) return REFUSED("column %s: no such sort: %d", name, (int)column->sort);
    if (table->variable >> number & 1) return REFUSED("column %s: an index has no values of variable length", name);
    bool is_number = column->sort == CELLAR_SORT_UNSIGNED || column->sort == CELLAR_SORT_SIGNED;
    bool covered = column->sort == CELLAR_COVERED;
    if (i && !covered && is_covered(orders->columns[i - 1]))
        return REFUSED("column %s: covered columns stand behind all others", name);
    if (covered && column->descending) return REFUSED("column %s: a covered column has no order", name);
    if (is_number && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return REFUSED("column %s: a number has 1, 2, 4 or 8 bytes, not %u", name, bytes);
    if (is_number && table->key_bytes && number == 0) return REFUSED("column %s: a key is sorted as bytes", name);
    if (has(orders, (uint32_t)number)) return REFUSED("column %s twice", name);
    orders->columns[orders->column_count++] = word_of((uint32_t)number, (uint32_t)column->sort, column->descending);
    return 0;
}

int db_order_of_schema(const struct table *table, const struct cellar_schema_index *def, struct catalog_index *orders,
                       struct cellar_error *error)
{
    *orders = (struct catalog_index){.of = table->id, .flags = def->flags};
    if (table->key.count) return REFUSED("%s", "its columns have types: cellar_table_open makes its indexes");
    if (def->flags & ~(uint32_t)CELLAR_UNIQUE) return REFUSED("unknown flags: %#x", def->flags);
    if (def->column_count > CELLAR_INDEX_COLUMNS_MAX || (def->column_count && !def->columns))
        return REFUSED("%u columns; 0 to %d are possible", def->column_count, CELLAR_INDEX_COLUMNS_MAX);
    int rc = 0;
    for (uint32_t i = 0; i < def->column_count && rc == 0; i++) rc = column_encode(table, def, orders, error);
    return rc;
}

/* ---- of a table of typed columns ---- */

/* The place of the column of that name, or -1. */
static int place_find(const struct table *table, const char *name, uint32_t bytes)
{
    for (uint32_t i = 0; i < table->key.count; i++)
        if (strlen(table->key.parts[i].name) == bytes && memcmp(table->key.parts[i].name, name, bytes) == 0)
            return table->key.parts[i].place;
    int stored = schema_column_find(&table->schema, name, bytes);
    bool own = stored >= 0 && table->schema.columns[stored].type == CELLAR_NO_TYPE;
    return stored < 0 || own ? -1 : table->schema.columns[stored].place;
}

/* The stored column of that place, or -1: it is of the key. */
static int stored_at(const struct table *table, uint32_t place)
{
    for (uint32_t i = 0; i < table->schema.column_count; i++)
        if (table->schema.columns[i].place == place && table->schema.columns[i].type != CELLAR_NO_TYPE) return (int)i;
    return -1;
}

static const struct rowkey_part *part_at(const struct table *table, uint32_t place)
{
    for (uint32_t i = 0; i < table->key.count; i++)
        if (table->key.parts[i].place == place) return &table->key.parts[i];
    return NULL;
}

static int name_encode(const struct table *table, const struct cellar_index_def *def, const char *name, uint32_t bytes,
                       bool covered, struct catalog_index *orders, struct cellar_error *error)
{
    bool descending = bytes && *name == '-' && !covered;
    if (descending) {
        name++;
        bytes--;
    }
    if (bytes == 0) return REFUSED("\"%.80s\": a column's name is missing", covered ? def->covers : def->columns);
    int place = place_find(table, name, bytes);
    if (place < 0) return REFUSED("the table has no column %.*s", bytes < 32 ? (int)bytes : 32, name);
    if (has(orders, (uint32_t)place)) return REFUSED("column %.*s twice", (int)bytes, name);
    int stored = stored_at(table, (uint32_t)place);
    if (stored >= 0 && table->variable >> stored & 1)
        return REFUSED("column %.*s: no index has BYTES that lie beside the row", (int)bytes, name);
    if (covered && stored < 0) return REFUSED("column %.*s: an index has the key without a word", (int)bytes, name);
    if (orders->column_count == CELLAR_INDEX_COLUMNS_MAX)
        return REFUSED("more than %d columns", CELLAR_INDEX_COLUMNS_MAX);
    orders->columns[orders->column_count++] = word_of((uint32_t)place, covered ? CELLAR_COVERED : 0, descending);
    return 0;
}

/* Names with commas between them. */
static int names_encode(const struct table *table, const struct cellar_index_def *def, const char *names, bool covered,
                        struct catalog_index *orders, struct cellar_error *error)
{
    for (const char *at = names;; at++) {
        at += strspn(at, " ");
        uint32_t whole = (uint32_t)strcspn(at, ","), bytes = whole;
        while (bytes && at[bytes - 1] == ' ') bytes--;
        int rc = name_encode(table, def, at, bytes, covered, orders, error);
        at += whole;
        if (rc || !*at) return rc;
    }
}

int db_order_of_columns(const struct table *table, const struct cellar_index_def *def, struct catalog_index *orders,
                        struct cellar_error *error)
{
    *orders = (struct catalog_index){.of = table->id, .flags = def->flags};
    if (def->flags & ~(uint32_t)CELLAR_UNIQUE) return REFUSED("flags %#x: UNIQUE is what there is", def->flags);
    if (def->reserved) return REFUSED("reserved is %u: it is 0", def->reserved);
    int rc = def->columns ? names_encode(table, def, def->columns, false, orders, error) : 0;
    return rc || !def->covers ? rc : names_encode(table, def, def->covers, true, orders, error);
}

/* ---- the index of such words ---- */

/* How a column of the key is compared: out of the number, or out of the packed key that the record has. */
static struct sortkey_column key_column(const struct table *base, const struct rowkey_part *part)
{
    struct sortkey_column column = {.type = SORTKEY_BYTES, .bytes = part->bytes};
    if (!base->key.wide) {
        column.numbered = true;
        column.shift = part->shift;
        return column;
    }
    column.offset = base->schema.columns[0].row_offset;
    column.head = (uint16_t)(BYTEKEY_HEAD_BYTES + part->at);
    if (part->type != CELLAR_BYTES) return column;
    column.bytes = (uint16_t)(part->bytes + ROWKEY_LENGTH_BYTES);
    if (rowkey_is_open(&base->key, part)) column.type = SORTKEY_OPEN;
    return column;
}

static struct sortkey_column stored_column(const struct schema_column *column)
{
    static const uint8_t types[] = {[CELLAR_UINT] = SORTKEY_UNSIGNED,
                                    [CELLAR_INT] = SORTKEY_SIGNED,
                                    [CELLAR_FLOAT] = SORTKEY_FLOAT,
                                    [CELLAR_FIXED] = SORTKEY_BYTES,
                                    [CELLAR_BYTES] = SORTKEY_TEXT};
    return (struct sortkey_column){
        .offset = column->row_offset, .bytes = (uint16_t)column->bytes, .type = types[column->type]};
}

/* One that entries are compared by, behind those before it; `stored` -1: it lies in no row. */
static bool sorted_add(struct cellar_index *index, struct sortkey_column column, int stored, uint32_t place,
                       bool descending)
{
    uint32_t i = index->sortkey.column_count;
    if (i == SORTKEY_COLUMNS_MAX || index->covered_count) return false;
    column.descending = descending;
    index->sortkey.columns[i] = column;
    index->sortkey.column_count++;
    index->places[i] = (uint16_t)place;
    index->columns[i] = stored < 0 ? 0 : (uint16_t)stored;
    if (stored >= 0) index->cells |= 1u << index->base->schema.columns[stored].cell;
    return true;
}

static bool covered_add(struct cellar_index *index, uint32_t stored, uint32_t place)
{
    uint32_t i = index->sortkey.column_count + index->covered_count;
    if (i >= TREENODE_COLUMNS_MAX || index->base->variable >> stored & 1) return false;
    index->columns[i] = (uint16_t)stored;
    index->places[i] = (uint16_t)place;
    index->cells |= 1u << index->base->schema.columns[stored].cell;
    index->covered_count++;
    return true;
}

static bool key_add(struct cellar_index *index, const struct rowkey_part *part, bool descending)
{
    int stored = index->base->key.wide ? 0 : -1; /* the packed key is the first column */
    return sorted_add(index, key_column(index->base, part), stored, part->place, descending);
}

static bool has_place(const struct cellar_index *index, uint32_t place)
{
    for (uint32_t i = 0; i < index->sortkey.column_count; i++)
        if (index->places[i] == place) return true;
    return false;
}

/* INV-ROW-3. */
static bool key_follow(struct cellar_index *index)
{
    const struct rowkey *key = &index->base->key;
    bool all = true;
    index->own_count = index->sortkey.column_count;
    if (!key->wide || (index->own_count && index->flags & CELLAR_UNIQUE)) return true;
    for (uint32_t i = 0; i < key->count && all; i++)
        if (!has_place(index, key->parts[i].place)) all = key_add(index, &key->parts[i], false);
    return all;
}

static bool typed_decode(const struct catalog_index *orders, struct cellar_index *index)
{
    const struct table *base = index->base;
    bool sane = true;
    uint32_t i = 0;
    for (; i < orders->column_count && sane && !is_covered(orders->columns[i]); i++) {
        uint32_t word = orders->columns[i], place = number_of(word);
        const struct rowkey_part *part = part_at(base, place);
        int stored = part ? -1 : stored_at(base, place);
        sane = !sort_of(word) && (part || stored >= 0) && !has_place(index, place);
        if (sane && part) sane = key_add(index, part, descends(word));
        if (!sane || part) continue;
        sane = !(base->variable >> stored & 1) &&
               sorted_add(index, stored_column(&base->schema.columns[stored]), stored, place, descends(word));
    }
    sane = sane && key_follow(index);
    for (; i < orders->column_count && sane; i++) {
        int stored = stored_at(base, number_of(orders->columns[i]));
        sane = is_covered(orders->columns[i]) && stored >= 0 &&
               covered_add(index, (uint32_t)stored, number_of(orders->columns[i]));
    }
    return sane;
}

static bool schema_decode(const struct catalog_index *orders, struct cellar_index *index)
{
    const struct table *base = index->base;
    for (uint32_t i = 0; i < orders->column_count; i++) {
        uint32_t word = orders->columns[i], number = number_of(word);
        if (number >= base->schema.column_count) return false;
        if (is_covered(word)) {
            if (!covered_add(index, number, number)) return false;
            continue;
        }
        bool key = base->key_bytes && number == 0; /* keys are compared by their bytes */
        const struct schema_column *column = &base->schema.columns[number];
        struct sortkey_column sorted = {.offset = column->row_offset,
                                        .head = key ? BYTEKEY_HEAD_BYTES : 0,
                                        .bytes = (uint16_t)(key ? base->key_bytes : column->bytes),
                                        .type = (uint8_t)sort_of(word)};
        if (sort_of(word) > CELLAR_COVERED || !sorted_add(index, sorted, (int)number, number, descends(word)))
            return false;
    }
    index->own_count = index->sortkey.column_count;
    return true;
}

/* Of columns that are sane, all that entries have but the number. */
static uint32_t bytes_of(const struct cellar_index *index)
{
    uint32_t bytes = 0, sorted = index->sortkey.column_count;
    for (uint32_t i = 0; i < sorted; i++) bytes += index->sortkey.columns[i].bytes;
    for (uint32_t i = 0; i < index->covered_count; i++)
        bytes += index->base->schema.columns[index->columns[sorted + i]].bytes;
    return bytes;
}

bool db_order_decode(const struct table *base, const struct catalog_index *orders, struct cellar_index *index,
                     uint32_t *bytes)
{
    *index = (struct cellar_index){.base = base, .flags = orders->flags};
    if (bytes) *bytes = 0;
    if (orders->column_count > LAYOUT_INDEX_COLUMNS_MAX) return false;
    if (!(base->key.count ? typed_decode(orders, index) : schema_decode(orders, index))) return false;
    if (bytes && bytes_of(index) > SORTKEY_BYTES_MAX) *bytes = bytes_of(index);
    return treenode_layout(index) == 0;
}

/* ---- to be told ---- */

static const char *name_of(const struct cellar_index *index, uint32_t i)
{
    const struct rowkey_part *part = index->base->key.count ? part_at(index->base, index->places[i]) : NULL;
    return part ? part->name : index->base->schema.columns[index->columns[i]].name;
}

void db_order_print(const struct cellar_index *index, char *columns, char *covers)
{
    *columns = *covers = 0;
    for (uint32_t i = 0; i < index->own_count; i++)
        columns += sprintf(columns, "%s%s%s", i ? ", " : "", index->sortkey.columns[i].descending ? "-" : "",
                           name_of(index, i));
    for (uint32_t i = 0; i < index->covered_count; i++)
        covers += sprintf(covers, "%s%s", i ? ", " : "", name_of(index, index->sortkey.column_count + i));
}

void db_order_describe(const struct cellar_index *index, struct cellar_schema_index *def,
                       struct cellar_schema_index_column *columns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->own_count; i++) {
        const struct sortkey_column *column = &index->sortkey.columns[i];
        bool plain = column->type < CELLAR_COVERED; /* what typed columns have besides has no name there */
        columns[count++] =
            (struct cellar_schema_index_column){.column = name_of(index, i),
                                                .sort = plain ? (enum cellar_sort)column->type : CELLAR_SORT_BYTES,
                                                .descending = column->descending};
    }
    for (uint32_t i = 0; i < index->covered_count; i++)
        columns[count++] = (struct cellar_schema_index_column){
            .column = name_of(index, index->sortkey.column_count + i), .sort = CELLAR_COVERED};
    *def = (struct cellar_schema_index){
        .name = index->name, .columns = columns, .column_count = count, .flags = index->flags};
}
