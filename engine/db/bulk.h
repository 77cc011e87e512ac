/* bulk.h - whole-table work, with the compute nodes of this process to itself (bulk.c). */
#pragma once

#include "db.h"
#include "loader_sum.h"

struct bulk {
    struct coro *co;
    struct worker *worker;
    const struct cellar_table *table; /* of a walk; NULL: all of them */
    struct loader_sum before;
    unsigned kind; /* GATE_LOAD, GATE_WALK or GATE_ALONE */
};

/* BUSY when transactions are under way. Else bulk_end follows, with what came of the work. */
NODISCARD int bulk_begin(struct bulk *bulk, struct cellar_lab_client *client, struct cellar_error *error);
NODISCARD int bulk_end(struct bulk *bulk, int rc, struct cellar_error *error);
