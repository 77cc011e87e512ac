#include "treenode.h"

#include "schemadef.h"

#define ENDLESS 0x80000000u

/* ---- geometry ---- */

static const struct schema_column *covered_column(const struct cellar_index *index, uint32_t i)
{
    return &index->base->schema.columns[index->columns[index->sortkey.column_count + i]];
}

static uint32_t cell_capacity(const struct cellar_index *index, uint32_t entry_bytes)
{
    uint32_t most = TREENODE_ENTRIES_MAX / TREENODE_CELLS, room = (index->data_bytes - 8) / entry_bytes;
    return room < most ? room : most;
}

int treenode_layout(struct cellar_index *index)
{
    index->sortkey.bytes = 0;
    if (index->sortkey.column_count && sortkey_check(&index->sortkey)) return CELLAR_INVALID;
    index->entry_bytes = index->key_bytes = index->sortkey.bytes + 8;
    for (uint32_t i = 0; i < index->covered_count; i++) {
        index->entry_bytes += covered_column(index, i)->bytes;
        if (index->entry_bytes > TREENODE_KEY_BYTES_MAX) return CELLAR_INVALID;
    }
    bool unique = (index->flags & CELLAR_UNIQUE) && index->sortkey.column_count;
    index->compared_bytes = unique ? index->sortkey.bytes : index->key_bytes;
    index->shape_bytes = 16 + (1 + TREENODE_CELLS) * index->key_bytes;
    uint32_t inner = index->key_bytes + 8, widest = index->entry_bytes > inner ? index->entry_bytes : inner;
    uint32_t bytes = 8 + TREENODE_CELL_ENTRIES_MIN * widest;
    index->data_bytes = (bytes + LAYOUT_VALUE_PER_LINE - 1) / LAYOUT_VALUE_PER_LINE * LAYOUT_VALUE_PER_LINE;
    index->capacity = cell_capacity(index, index->entry_bytes);
    index->inner_capacity = cell_capacity(index, inner);
    return 0;
}

uint32_t treenode_columns(const struct cellar_index *index, struct cellar_schema_column *columns)
{
    static const char *const names[1 + TREENODE_CELLS] = {"shape", "d0", "d1", "d2", "d3", "d4", "d5", "d6"};
    uint32_t offset = 0;
    for (uint32_t i = 0; i <= TREENODE_CELLS; i++) {
        uint32_t bytes = i ? index->data_bytes : index->shape_bytes;
        columns[i] = (struct cellar_schema_column){names[i], offset, bytes, CELLAR_OWN_CELL};
        offset += bytes;
    }
    return offset;
}

/* ---- keys ---- */

void treenode_number_put(uint8_t *at, uint64_t number)
{
    for (uint32_t i = 0; i < 8; i++) at[i] = (uint8_t)(number >> (56 - 8 * i));
}

void treenode_entry_of_row(const struct cellar_index *index, const void *row, uint64_t key, uint8_t *entry)
{
    uint32_t at = sortkey_encode(&index->sortkey, row, key, index->sortkey.column_count, entry);
    treenode_number_put(entry + at, key);
    entry += index->key_bytes;
    for (uint32_t i = 0; i < index->covered_count; i++) {
        const struct schema_column *column = covered_column(index, i);
        memcpy(entry, (const uint8_t *)row + column->row_offset, column->bytes);
        entry += column->bytes;
    }
}

void treenode_row_of_entry(const struct cellar_index *index, const uint8_t *entry, void *row)
{
    sortkey_decode(&index->sortkey, entry, row);
    entry += index->key_bytes;
    for (uint32_t i = 0; i < index->covered_count; i++) {
        const struct schema_column *column = covered_column(index, i);
        memcpy((uint8_t *)row + column->row_offset, entry, column->bytes);
        entry += column->bytes;
    }
}

void treenode_entry_of_image(const struct cellar_index *index, const uint8_t *image, uint64_t key, uint8_t *entry)
{
    uint8_t value[CELLAR_COLUMN_BYTES_MAX];
    for (uint32_t i = 0; i < index->sortkey.column_count; i++) {
        const struct sortkey_column *column = &index->sortkey.columns[i];
        if (!column->numbered) record_column_get(&index->base->schema, image, index->columns[i], value);
        sortkey_encode_column(column, value, key, entry);
        entry += column->bytes;
    }
    treenode_number_put(entry, key);
    entry += 8;
    for (uint32_t i = 0; i < index->covered_count; i++) {
        record_column_get(&index->base->schema, image, index->columns[index->sortkey.column_count + i], entry);
        entry += covered_column(index, i)->bytes;
    }
}

bool treenode_follows(const struct cellar_index *index, const uint8_t *a, const uint8_t *b)
{
    bool carry = true;
    for (uint32_t i = index->key_bytes; i-- > 0;) {
        if ((uint8_t)(a[i] + carry) != b[i]) return false;
        carry = carry && b[i] == 0;
    }
    return !carry;
}

uint64_t treenode_record_key(const struct cellar_index *index, const uint8_t *entry)
{
    uint64_t key = 0;
    for (uint32_t i = 0; i < 8; i++) key = key << 8 | entry[index->sortkey.bytes + i];
    return key;
}

/* ---- columns ---- */

static uint32_t word_get(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

bool treenode_shape_read(const struct cellar_index *index, const void *column, struct treenode_shape *shape)
{
    const uint8_t *at = column;
    uint32_t bytes = index->key_bytes;

    shape->level = word_get(at);
    shape->cell_count = word_get(at + 4) & ~ENDLESS;
    shape->endless = word_get(at + 4) & ENDLESS;
    memcpy(&shape->right, at + 8, sizeof shape->right);
    if (shape->cell_count == 0 || shape->cell_count > TREENODE_CELLS || shape->level > 63) return false;
    at += 16;
    memcpy(shape->low, at, bytes);
    memcpy(shape->high, at += bytes, bytes);
    for (uint32_t i = 0; i + 1 < shape->cell_count; i++) memcpy(shape->separators[i], at += bytes, bytes);
    return shape->endless ? shape->right == 0 : shape->right && treenode_compare(index, shape->low, shape->high) < 0;
}

void treenode_shape_write(const struct cellar_index *index, const struct treenode_shape *shape, void *column)
{
    uint8_t *at = column;
    uint32_t bytes = index->key_bytes, cells = shape->cell_count | (shape->endless ? ENDLESS : 0);

    memset(column, 0, index->shape_bytes);
    memcpy(at, &shape->level, 4);
    memcpy(at + 4, &cells, 4);
    memcpy(at + 8, &shape->right, sizeof shape->right);
    at += 16;
    memcpy(at, shape->low, bytes);
    at += bytes;
    if (!shape->endless) memcpy(at, shape->high, bytes);
    for (uint32_t i = 0; i + 1 < shape->cell_count; i++) memcpy(at += bytes, shape->separators[i], bytes);
}

bool treenode_data_read(const struct cellar_index *index, uint32_t level, const void *column,
                        struct treenode_entry *entries, uint32_t *count)
{
    const uint8_t *at = column;
    uint32_t added = word_get(at), bytes = level ? index->key_bytes : index->entry_bytes;
    if (added > treenode_capacity(index, level) || *count + added > TREENODE_ENTRIES_MAX) return false;
    at += 8;
    for (uint32_t i = 0; i < added; i++) {
        struct treenode_entry *entry = &entries[(*count)++];
        memcpy(entry->key, at, bytes);
        at += bytes;
        entry->child = 0;
        if (!level) continue;
        memcpy(&entry->child, at, sizeof entry->child);
        at += sizeof entry->child;
    }
    return true;
}

void treenode_data_write(const struct cellar_index *index, uint32_t level, const struct treenode_entry *entries,
                         uint32_t count, void *column)
{
    uint8_t *at = column;
    uint32_t bytes = level ? index->key_bytes : index->entry_bytes;
    memset(column, 0, index->data_bytes);
    memcpy(at, &count, sizeof count);
    at += 8;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, entries[i].key, bytes);
        at += bytes;
        if (!level) continue;
        memcpy(at, &entries[i].child, sizeof entries[i].child);
        at += sizeof entries[i].child;
    }
}

/* ---- which cell ---- */

const uint8_t *treenode_cell_low(const struct treenode_shape *shape, uint32_t cell)
{
    return cell ? shape->separators[cell - 1] : shape->low;
}

uint32_t treenode_cell_of(const struct cellar_index *index, const struct treenode_shape *shape, const uint8_t *key,
                          bool before)
{
    uint32_t cell = 0;
    while (cell + 1 < shape->cell_count) {
        int order = treenode_compare(index, shape->separators[cell], key);
        if (before ? order >= 0 : order > 0) break;
        cell++;
    }
    return cell;
}

/* ---- whole nodes ---- */

void treenode_sort(const struct cellar_index *index, struct treenode_entry *entries, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (treenode_compare(index, entries[i - 1].key, entries[i].key) <= 0) continue;
        struct treenode_entry entry = entries[i];
        uint32_t at = i;
        for (; at && treenode_compare(index, entries[at - 1].key, entry.key) > 0; at--) entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

void treenode_row_make(const struct cellar_index *index, struct treenode_shape *shape,
                       const struct treenode_entry *entries, const bool *real, uint32_t count, bool packed, void *row)
{
    uint32_t capacity = treenode_capacity(index, shape->level), spread = (count + TREENODE_CELLS - 1) / TREENODE_CELLS;
    uint32_t share = packed ? capacity : spread ? spread : 1;
    uint8_t *at = (uint8_t *)row + index->shape_bytes;
    struct treenode_entry kept[TREENODE_ENTRIES_MAX];

    shape->cell_count = count ? (count + share - 1) / share : 1;
    for (uint32_t cell = 0; cell < TREENODE_CELLS; cell++, at += index->data_bytes) {
        uint32_t first = cell * share, kept_count = 0;
        if (cell && first < count) memcpy(shape->separators[cell - 1], entries[first].key, index->key_bytes);
        for (uint32_t i = first; i < first + share && i < count; i++)
            if (!real || real[i]) kept[kept_count++] = entries[i];
        treenode_data_write(index, shape->level, kept, kept_count, at);
    }
    treenode_shape_write(index, shape, row);
}
