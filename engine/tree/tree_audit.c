/* tree_audit.c - INV-TREE-8: a whole tree at rest, against the records that it orders. */
#include "tree_build.h"

#include <stdlib.h>

#define TEXT(number) ((unsigned long long)(number))

struct audit_node {
    uint64_t number;
    uint32_t reached; /* by an entry of a parent or a sibling */
    struct treenode_shape shape;
    uint32_t count;
    struct treenode_entry entries[];
};

struct audit {
    const struct cellar_index *index;
    struct cellar_error *error;
    struct audit_node **nodes; /* a hash by number, half empty */
    uint64_t slots, count;
    uint64_t next; /* of the meta record */
    const struct audit_node *leaf;
    uint64_t entries, rows;
};

static int violated(struct audit *audit, uint64_t node, const char *what)
{
    return err_set(audit->error, CELLAR_CORRUPT, "INV-TREE-8: index %s of table %s, node %llu: %s", audit->index->name,
                   audit->index->base->name, TEXT(node), what);
}

/* ---- reading them all ---- */

static struct audit_node **slot_of(const struct audit *audit, uint64_t number)
{
    uint64_t slot = number * 0x9e3779b97f4a7c15ull % audit->slots;
    while (audit->nodes[slot] && audit->nodes[slot]->number != number) slot = (slot + 1) % audit->slots;
    return &audit->nodes[slot];
}

static bool grow(struct audit *audit)
{
    struct audit old = *audit;
    audit->slots = old.slots ? old.slots * 2 : 256;
    audit->nodes = calloc(audit->slots, sizeof *audit->nodes);
    for (uint64_t i = 0; audit->nodes && i < old.slots; i++)
        if (old.nodes[i]) *slot_of(audit, old.nodes[i]->number) = old.nodes[i];
    if (!audit->nodes) {
        audit->nodes = old.nodes;
        audit->slots = old.slots;
        return false;
    }
    free(old.nodes);
    return true;
}

/* Are a node's entries where its separators say? */
static bool cells_sane(const struct audit *audit, const struct treenode_shape *shape, const uint8_t *row)
{
    const struct cellar_index *index = audit->index;
    struct treenode_entry entries[TREENODE_ENTRIES_MAX];
    const uint8_t *at = row + index->shape_bytes;
    for (uint32_t cell = 0; cell < TREENODE_CELLS; cell++, at += index->data_bytes) {
        uint32_t count = 0;
        if (!treenode_data_read(index, shape->level, at, entries, &count)) return false;
        if (cell >= shape->cell_count && count) return false;
        const uint8_t *low = treenode_cell_low(shape, cell);
        const uint8_t *high = cell + 1 < shape->cell_count ? shape->separators[cell] : shape->high;
        bool endless = cell + 1 >= shape->cell_count && shape->endless;
        if (cell < shape->cell_count && !endless && treenode_compare(index, low, high) >= 0) return false;
        for (uint32_t i = 0; i < count; i++) {
            if (treenode_compare(index, entries[i].key, low) < 0) return false;
            if (!endless && treenode_compare(index, entries[i].key, high) >= 0) return false;
        }
    }
    return true;
}

static int node_add(void *arg, uint64_t number, const void *row)
{
    struct audit *audit = arg;
    const struct cellar_index *index = audit->index;
    if (number == TREENODE_META) {
        memcpy(&audit->next, row, sizeof audit->next);
        return 0;
    }
    struct audit_node *node = malloc(sizeof *node + TREENODE_ENTRIES_MAX * sizeof *node->entries);
    if (!node || (2 * audit->count >= audit->slots && !grow(audit))) {
        free(node);
        return err_set(audit->error, CELLAR_NOMEM, "no memory for a node");
    }
    node->number = number;
    node->count = node->reached = 0;
    *slot_of(audit, number) = node;
    audit->count++;
    if (!treenode_shape_read(index, row, &node->shape)) return violated(audit, number, "its shape contradicts itself");
    if (!cells_sane(audit, &node->shape, row)) return violated(audit, number, "an entry is not in its data cell");
    const uint8_t *at = (const uint8_t *)row + index->shape_bytes;
    for (uint32_t cell = 0; cell < TREENODE_CELLS; cell++, at += index->data_bytes)
        (void)!treenode_data_read(index, node->shape.level, at, node->entries, &node->count);
    treenode_sort(index, node->entries, node->count);
    for (uint32_t i = 1; i < node->count; i++)
        if (treenode_compare(index, node->entries[i - 1].key, node->entries[i].key) == 0)
            return violated(audit, number, "two entries are equal");
    return 0;
}

/* ---- how they hang together ---- */

static int siblings_check(struct audit *audit, const struct audit_node *node)
{
    if (node->shape.endless) return 0;
    struct audit_node *right = *slot_of(audit, node->shape.right);
    if (!right || right->shape.level != node->shape.level)
        return violated(audit, node->number, "its right sibling is not there, or of another level");
    if (treenode_compare(audit->index, right->shape.low, node->shape.high) != 0)
        return violated(audit, node->number, "its high fence is not its right sibling's low fence");
    right->reached |= 1;
    return 0;
}

static int children_check(struct audit *audit, const struct audit_node *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        struct audit_node *child = *slot_of(audit, node->entries[i].child);
        if (!child || child->shape.level + 1 != node->shape.level)
            return violated(audit, node->number, "an entry leads to no node of the level below");
        if (treenode_compare(audit->index, child->shape.low, node->entries[i].key) != 0)
            return violated(audit, node->number, "an entry is not the low fence of the node that it leads to");
        if (child->reached & 2) return violated(audit, child->number, "two entries lead to it");
        child->reached |= 2;
    }
    if (!node->count || treenode_compare(audit->index, node->entries[0].key, node->shape.low) != 0)
        return violated(audit, node->number, "no entry leads to its low fence");
    return 0;
}

static int nodes_check(struct audit *audit)
{
    int rc = 0;
    for (uint64_t i = 0; i < audit->slots && rc == 0; i++) {
        const struct audit_node *node = audit->nodes[i];
        if (!node) continue;
        if (node->number >= audit->next) rc = violated(audit, node->number, "its number was never drawn");
        if (rc == 0) rc = siblings_check(audit, node);
        if (rc == 0 && node->shape.level) rc = children_check(audit, node);
    }
    for (uint64_t i = 0; i < audit->slots && rc == 0; i++) {
        const struct audit_node *node = audit->nodes[i];
        if (node && !node->reached && node->number != TREENODE_ROOT)
            rc = violated(audit, node->number, "nothing leads to it");
    }
    return rc;
}

/* ---- entries and records ---- */

static const struct audit_node *leaf_of(struct audit *audit, const uint8_t *key)
{
    const struct audit_node *node = *slot_of(audit, TREENODE_ROOT);
    while (node && (node->shape.level ||
                    (!node->shape.endless && treenode_compare(audit->index, key, node->shape.high) >= 0))) {
        bool right = !node->shape.endless && treenode_compare(audit->index, key, node->shape.high) >= 0;
        uint32_t at = 0;
        while (at + 1 < node->count && treenode_compare(audit->index, node->entries[at + 1].key, key) <= 0) at++;
        node = *slot_of(audit, right ? node->shape.right : node->entries[at].child);
    }
    return node;
}

static int row_check(void *arg, uint64_t key, const void *row)
{
    struct audit *audit = arg;
    uint8_t entry[TREENODE_KEY_BYTES_MAX];
    treenode_entry_of_row(audit->index, row, key, entry);
    const struct audit_node *leaf = leaf_of(audit, entry);
    audit->rows++;
    for (uint32_t i = 0; leaf && i < leaf->count; i++) {
        if (memcmp(leaf->entries[i].key, entry, audit->index->key_bytes) != 0) continue;
        if (memcmp(leaf->entries[i].key, entry, audit->index->entry_bytes) == 0) return 0;
        return err_set(audit->error, CELLAR_CORRUPT,
                       "INV-TREE-10: index %s of table %s covers other values than record %llu has", audit->index->name,
                       audit->index->base->name, TEXT(key));
    }
    return err_set(audit->error, CELLAR_CORRUPT, "INV-TREE-8: index %s of table %s has no entry for record %llu",
                   audit->index->name, audit->index->base->name, TEXT(key));
}

int tree_audit(struct coro *co, struct loader *loader, const struct cellar_index *index, struct cellar_error *error)
{
    struct audit audit = {.index = index, .error = error};
    int rc = grow(&audit) ? loader_scan(co, loader, index->nodes, node_add, &audit, error)
                          : err_set(error, CELLAR_NOMEM, "no memory for the nodes of index %s", index->name);
    if (rc == 0 && !*slot_of(&audit, TREENODE_ROOT)) rc = violated(&audit, TREENODE_ROOT, "it is not there");
    if (rc == 0) rc = nodes_check(&audit);
    if (rc == 0) rc = loader_scan(co, loader, index->base, row_check, &audit, error);
    for (uint64_t i = 0; i < audit.slots; i++)
        if (audit.nodes[i] && audit.nodes[i]->shape.level == 0) audit.entries += audit.nodes[i]->count;
    if (rc == 0 && audit.entries != audit.rows)
        rc = err_set(error, CELLAR_CORRUPT, "INV-TREE-8: index %s of table %s has %llu entries for %llu records",
                     index->name, index->base->name, TEXT(audit.entries), TEXT(audit.rows));
    for (uint64_t i = 0; i < audit.slots; i++) free(audit.nodes[i]);
    free(audit.nodes);
    return rc;
}
