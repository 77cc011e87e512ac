/* tree_build.h - whole trees at rest, by the loader: built from the records of a table, and audited against them. */
#pragma once

#include "loader.h"
#include "treenode.h"

/* All nodes of an index whose node table is empty. EXISTS: it is unique, and two records are not. FULL, NOMEM. */
NODISCARD int tree_build(struct coro *co, struct loader *loader, const struct cellar_index *index,
                         struct cellar_error *error);
/*
 * INV-TREE-8: at rest the leaves, from the first to the last sibling, cover all keys without gap or overlap; each
 * entry is in the data cell it belongs to; inner entries lead to nodes whose low fence they are; no node is reached
 * by nothing; entries and records are one to one. CORRUPT with the first violation.
 */
NODISCARD int tree_audit(struct coro *co, struct loader *loader, const struct cellar_index *index,
                         struct cellar_error *error);
