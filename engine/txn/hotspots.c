#include "hotspots.h"

/*
 * A reader that sees one of a place's new values sees its odd turn as well, by the release of the one and the acquire
 * of the other: it finds another turn than before, and drops what it read.
 */
static void store(uint64_t *to, uint64_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
static uint64_t load(const uint64_t *from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }

void hotspots_count(struct hotspots *hotspots, const struct table *table, uint64_t key)
{
    struct hotspot *least = &hotspots->places[0];
    for (uint32_t i = 0; i < HOTSPOTS; i++) {
        struct hotspot *place = &hotspots->places[i];
        if (place->table == (uint64_t)(uintptr_t)table && place->key == key) {
            store(&place->conflicts, place->conflicts + 1);
            return;
        }
        if (place->conflicts < least->conflicts) least = place;
    }
    store(&least->turn, least->turn + 1);
    store(&least->table, (uint64_t)(uintptr_t)table);
    store(&least->key, key);
    store(&least->conflicts, least->conflicts + 1);
    store(&least->turn, least->turn + 1);
}

struct hotspot hotspots_look(const struct hotspots *hotspots, uint32_t place)
{
    const struct hotspot *from = &hotspots->places[place];
    struct hotspot seen = {.turn = load(&from->turn)};
    seen.table = load(&from->table);
    seen.key = load(&from->key);
    seen.conflicts = load(&from->conflicts);
    if (seen.turn % 2 || load(&from->turn) != seen.turn) seen.conflicts = 0;
    return seen;
}
