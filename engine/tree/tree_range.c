/* tree_range.c - the ends of a range of an ordered index: of what callers say, points in its order. */
#include "tree.h"
#include "schemadef.h"

/* The bytes right above all keys that begin with these; false: there are none. */
static bool bytes_next(uint8_t *bytes, uint32_t count)
{
    while (count && ++bytes[count - 1] == 0) count--;
    return count > 0;
}

static struct tree_point point_of(const struct tree_end *end)
{
    struct tree_point point = {.before = false};
    memcpy(point.key, end->key, end->bytes);
    return point;
}

void tree_range_make(const struct tree_end *low, const struct tree_end *high, struct tree_range *range)
{
    range->low = point_of(low);
    range->high = point_of(high);
    range->low.endless = low->excluded && low->bytes && !bytes_next(range->low.key, low->bytes);
    range->high.endless = !high->bytes || (!high->excluded && !bytes_next(range->high.key, high->bytes));
}

bool tree_range_is_empty(const struct cellar_index *index, const struct tree_range *range)
{
    if (range->low.endless) return true;
    return !range->high.endless && treenode_compare(index, range->low.key, range->high.key) >= 0;
}

bool tree_ends_reversed(const struct tree_end *low, const struct tree_end *high)
{
    return memcmp(low->key, high->key, low->bytes < high->bytes ? low->bytes : high->bytes) > 0;
}

bool tree_range_has(const struct cellar_index *index, const struct tree_range *range, const uint8_t *entry)
{
    return !tree_range_is_empty(index, range) && treenode_compare(index, entry, range->low.key) >= 0 &&
           (range->high.endless || treenode_compare(index, entry, range->high.key) < 0);
}

/* The place of an entry, or the one right behind it. */
static struct tree_point entry_point(const struct cellar_index *index, const uint8_t *entry, bool behind)
{
    struct tree_point point = {.before = false};
    memcpy(point.key, entry, index->compared_bytes);
    point.endless = behind && !bytes_next(point.key, index->compared_bytes);
    return point;
}

void tree_range_pass(const struct cellar_index *index, const uint8_t *entry, bool backward, struct tree_range *range)
{
    *(backward ? &range->high : &range->low) = entry_point(index, entry, !backward);
}

void tree_range_cut(const struct cellar_index *index, const uint8_t *entry, bool backward, struct tree_range *range)
{
    *(backward ? &range->low : &range->high) = entry_point(index, entry, !backward);
}

/* ---- of a cellar_range ---- */

static bool bound_sane(const struct cellar_index *index, const struct cellar_bound *bound)
{
    return bound->columns <= index->sortkey.column_count && (bound->row || !bound->columns);
}

static void end_of_bound(const struct cellar_index *index, const struct cellar_bound *bound, struct tree_end *end)
{
    *end = (struct tree_end){.excluded = bound->excluded};
    end->bytes = sortkey_encode(&index->sortkey, bound->row, 0, bound->columns, end->key);
}

static void end_of_number(uint64_t number, struct tree_end *end)
{
    *end = (struct tree_end){.bytes = 8};
    treenode_number_put(end->key, number);
}

/* CELLAR_AFTER: the entry of these columns and that key. In a unique index there is one of these columns alone. */
static bool end_pass(const struct cellar_index *index, const struct cellar_bound *bound, uint64_t key,
                     struct tree_end *end)
{
    if (!bound->columns || bound->columns != index->sortkey.column_count) return false;
    end->excluded = true;
    if (index->flags & CELLAR_UNIQUE) return true;
    treenode_number_put(end->key + end->bytes, key);
    end->bytes += 8;
    return true;
}

bool tree_range_of(const struct cellar_index *index, const struct cellar_range *from, uint32_t flags,
                   struct tree_range *range)
{
    struct tree_end low, high;
    const bool backward = flags & CELLAR_BACKWARD;
    if (!from || !bound_sane(index, &from->low) || !bound_sane(index, &from->high)) return false;
    if (index->sortkey.column_count) {
        end_of_bound(index, &from->low, &low);
        end_of_bound(index, &from->high, &high);
    } else {
        end_of_number(from->low_key, &low);
        end_of_number(from->high_key, &high);
    }
    if (tree_ends_reversed(&low, &high)) return false;
    if (flags & CELLAR_AFTER) {
        bool passed = backward ? end_pass(index, &from->high, from->high_key, &high)
                               : end_pass(index, &from->low, from->low_key, &low);
        if (!passed) return false;
    }
    tree_range_make(&low, &high, range);
    return true;
}
