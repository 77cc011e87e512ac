/*
 * loader_extents.h - INV-VALUE-1 (extent.h) over a pool at rest: what rows tell of their long values, and the extents
 * that are met, by sums that have no order.
 */
#pragma once

#include "catalog.h"

struct loader_extents_tally {
    uint64_t told, met; /* extents */
    uint64_t told_numbers, met_numbers;
    uint32_t sum; /* of a table of extents: of their bytes; of one with values: what these say */
};

struct loader_extents {
    struct loader_extents_tally of[LAYOUT_CATALOG_TABLES_MAX]; /* by id - 1 */
};

/* A live record of a table with columns of variable length. False: a value contradicts itself. */
NODISCARD bool loader_extents_tell(struct loader_extents *extents, const struct table *table, const uint8_t *image);
/* A live extent. `row`: room for EXTENT_BYTES_MAX. */
void loader_extents_meet(struct loader_extents *extents, const struct table *table, uint64_t number,
                         const uint8_t *image, uint8_t *row);
/* Of a table with such columns: NULL, or what is wrong, in which of its tables, and two numbers that should be one. */
const char *loader_extents_judge(const struct loader_extents *extents, const struct table *table,
                                 const struct table **where, uint64_t *met, uint64_t *told);
