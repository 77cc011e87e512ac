/* random_schema.h - schemas that a careless embedder might write: any column sizes, gaps in the row, shared cells. */
#pragma once

#include "prng.h"
#include "schemadef.h"
#include "schema.h"

#include <stdio.h>

struct random_schema {
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    char names[CELLAR_COLUMNS_MAX][CELLAR_NAME_BYTES];
};

/* Valid but for, perhaps, a record too large. Columns lie in the row in random order. */
static inline void random_schema_make(struct random_schema *random, struct prng *prng)
{
    uint32_t cells = (uint32_t)prng_between(prng, 1, CELLAR_CELLS_MAX);
    uint32_t count = (uint32_t)prng_between(prng, cells, prng_below(prng, 2) ? cells : CELLAR_COLUMNS_MAX);
    uint32_t bytes_max = prng_below(prng, 4) ? 60 : 700, row_bytes = 0, order[CELLAR_COLUMNS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = (uint32_t)prng_below(prng, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct cellar_schema_column *column = &random->columns[order[i]];
        snprintf(random->names[order[i]], CELLAR_NAME_BYTES, "column_%u", order[i]);
        column->name = random->names[order[i]];
        column->bytes = (uint32_t)(prng_below(prng, 2) ? 8 : prng_between(prng, 1, bytes_max));
        row_bytes += (uint32_t)(prng_below(prng, 3) ? 0 : prng_below(prng, 9));
        column->offset = row_bytes;
        row_bytes += column->bytes;
        /* Each cell gets a column; further columns may share any. */
        column->cell = order[i] < cells ? (int32_t)(order[i] * 7) : (int32_t)(prng_below(prng, cells) * 7);
    }
    random->schema = (struct cellar_schema){.name = "random",
                                            .row_bytes = row_bytes,
                                            .columns = random->columns,
                                            .column_count = count,
                                            .records_max = 1000};
}
