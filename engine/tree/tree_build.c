/* tree_build.c - a tree from the records of a table: entries sorted, leaves filled in order, then what is above. */
#include "tree_build.h"

#include <stdlib.h>

struct build {
    const struct cellar_index *index;
    struct loader *loader;
    struct cellar_error *error;
    uint8_t *keys, *spare; /* entries of leaves: entry_bytes each */
    uint64_t count, room;
    uint64_t next;                /* number of the next node */
    struct treenode_entry *nodes; /* of the level that was made last: low fences and numbers */
    uint8_t row[LAYOUT_RECORD_BYTES_MAX];
};

static int key_add(void *arg, uint64_t key, const void *row)
{
    struct build *build = arg;
    uint32_t bytes = build->index->entry_bytes;
    if (build->count == build->room) {
        uint64_t room = build->room ? build->room * 2 : 1024;
        uint8_t *keys = realloc(build->keys, room * bytes);
        if (!keys) return CELLAR_NOMEM;
        build->keys = keys;
        build->room = room;
    }
    treenode_entry_of_row(build->index, row, key, build->keys + build->count++ * bytes);
    return 0;
}

/* Two sorted runs become one, in the other array. */
static void runs_merge(const struct build *build, uint64_t first, uint64_t middle, uint64_t end)
{
    uint32_t bytes = build->index->entry_bytes;
    const uint8_t *from = build->keys;
    for (uint64_t a = first, b = middle, at = first; at < end; at++) {
        bool left = b == end || (a < middle && memcmp(from + a * bytes, from + b * bytes, bytes) <= 0);
        memcpy(build->spare + at * bytes, from + (left ? a++ : b++) * bytes, bytes);
    }
}

static int keys_sort(struct build *build)
{
    uint64_t count = build->count;
    build->spare = malloc(count * build->index->entry_bytes + 1);
    if (!build->spare)
        return err_set(build->error, CELLAR_NOMEM, "no memory to sort %llu entries", (unsigned long long)count);
    for (uint64_t width = 1; width < count; width *= 2) {
        for (uint64_t first = 0; first < count; first += 2 * width) {
            uint64_t middle = first + width < count ? first + width : count;
            runs_merge(build, first, middle, middle + width < count ? middle + width : count);
        }
        uint8_t *sorted = build->spare;
        build->spare = build->keys;
        build->keys = sorted;
    }
    return 0;
}

static int keys_unique(const struct build *build)
{
    const struct cellar_index *index = build->index;
    for (uint64_t i = 1; i < build->count; i++) {
        const uint8_t *key = build->keys + i * index->entry_bytes, *before = key - index->entry_bytes;
        if (treenode_compare(index, before, key) == 0)
            return err_set(build->error, CELLAR_EXISTS, "index %s of table %s: records %llu and %llu are equal in it",
                           index->name, index->base->name, (unsigned long long)treenode_record_key(index, before),
                           (unsigned long long)treenode_record_key(index, key));
    }
    return 0;
}

/* ---- nodes ---- */

static int node_load(struct coro *co, struct build *build, uint64_t number)
{
    return loader_load(co, build->loader, build->index->nodes, number, build->row, build->error);
}

/* The entry i of the level below: of records, or of nodes. */
static struct treenode_entry entry_at(const struct build *build, uint32_t level, uint64_t i)
{
    struct treenode_entry entry = {.child = 0};
    if (level) return build->nodes[i];
    memcpy(entry.key, build->keys + i * build->index->entry_bytes, build->index->entry_bytes);
    return entry;
}

/* One level of `count` entries, as nodes that are filled for the most part; *made of them. */
static int level_make(struct coro *co, struct build *build, uint32_t level, uint64_t count, uint64_t *made)
{
    const struct cellar_index *index = build->index;
    uint32_t share = TREENODE_CELLS * treenode_capacity(index, level) * 5 / 6;
    uint64_t nodes = count > share ? (count + share - 1) / share : 1;
    struct treenode_entry entries[TREENODE_ENTRIES_MAX];
    int rc = 0;
    for (uint64_t i = 0; i < nodes && rc == 0; i++) {
        struct treenode_shape shape = {.level = level, .endless = i + 1 == nodes};
        uint64_t first = i * share, end = first + share < count ? first + share : count;
        uint64_t number = nodes == 1 ? TREENODE_ROOT : build->next++;
        for (uint64_t k = first; k < end; k++) entries[k - first] = entry_at(build, level, k);
        if (i) memcpy(shape.low, entries[0].key, index->key_bytes);
        if (level && !i) memset(entries[0].key, 0, index->key_bytes);
        if (!shape.endless) {
            struct treenode_entry next = entry_at(build, level, end);
            memcpy(shape.high, next.key, index->key_bytes);
            shape.right = number + 1;
        }
        treenode_row_make(index, &shape, entries, NULL, (uint32_t)(end - first), false, build->row);
        rc = node_load(co, build, number);
        memcpy(build->nodes[i].key, shape.low, index->key_bytes);
        build->nodes[i].child = number;
    }
    *made = nodes;
    return rc;
}

static int levels_make(struct coro *co, struct build *build)
{
    uint64_t count = build->count;
    build->next = TREENODE_ROOT + 1;
    build->nodes = malloc((count + 1) * sizeof *build->nodes);
    int rc = build->nodes ? 0 : err_set(build->error, CELLAR_NOMEM, "no memory for nodes");
    for (uint32_t level = 0; rc == 0; level++) {
        rc = level_make(co, build, level, count, &count);
        if (count == 1) break;
    }
    memset(build->row, 0, sizeof build->row);
    memcpy(build->row, &build->next, sizeof build->next);
    return rc ? rc : node_load(co, build, TREENODE_META);
}

int tree_build(struct coro *co, struct loader *loader, const struct cellar_index *index, struct cellar_error *error)
{
    struct build *build = calloc(1, sizeof *build);
    if (!build) return err_set(error, CELLAR_NOMEM, "no memory for index %s", index->name);
    build->index = index;
    build->loader = loader;
    build->error = error;
    int rc = loader_scan(co, loader, index->base, key_add, build, error);
    if (rc == CELLAR_NOMEM) err_set(error, CELLAR_NOMEM, "no memory for the entries of index %s", index->name);
    if (rc == 0) rc = keys_sort(build);
    if (rc == 0) rc = keys_unique(build);
    if (rc == 0) rc = levels_make(co, build);
    free(build->keys);
    free(build->spare);
    free(build->nodes);
    free(build);
    return rc;
}
