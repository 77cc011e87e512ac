#include "tabletally.h"

#include "lazy.h"

#include <stddef.h>

#define TALLIES_BYTES ((LAYOUT_CATALOG_TABLES_MAX + 1) * sizeof(struct tabletally))
#define AT(member) (offsetof(struct cellar_lab_table_tally, member) / sizeof(uint64_t))

_Static_assert(AT(read) == TABLETALLY_READ && AT(written) == TABLETALLY_WRITE, "in this order");
_Static_assert(AT(inserted) == TABLETALLY_INSERT && AT(deleted) == TABLETALLY_DELETE, "in this order");
_Static_assert(AT(conflicts) == TABLETALLY_DIDS, "in this order");
_Static_assert(TABLETALLY_WRITE + CACHE_INSERT == TABLETALLY_INSERT, "a change's count follows from its kind");
_Static_assert(TABLETALLY_WRITE + CACHE_DELETE == TABLETALLY_DELETE, "a change's count follows from its kind");

struct tabletally *tabletally_make(void) { return lazy_map(TALLIES_BYTES); }
void tabletally_free(struct tabletally *tallies) { lazy_unmap(tallies, TALLIES_BYTES); }

void tabletally_clear(struct tabletally *tallies, uint32_t id)
{
    uint64_t *counts = (uint64_t *)&tallies[id].counts;
    for (uint64_t i = 0; i < sizeof tallies->counts / sizeof *counts; i++)
        __atomic_store_n(&counts[i], 0, __ATOMIC_RELAXED);
}

void tabletally_add(const struct tabletally *tallies, uint32_t id, uint32_t first, struct cellar_lab_table_tally *sum)
{
    const uint64_t *counts = (const uint64_t *)&tallies[id].counts;
    for (uint64_t i = first; i < sizeof *sum / sizeof *counts; i++) ((uint64_t *)sum)[i] += counter_read(&counts[i]);
}
