/* test_versions_audit.c - damage of old versions is found by the audit, and named (INV-STORE-9). */
#include "contract_damage.h"
#include "versions.h"

/*
 * A record whose cells 0 and 1 a transaction has written since it was loaded, in a pool that keeps old versions; on
 * all replicas.
 */
static struct fabric_addr written_record(struct pool *pool, const struct table *table, uint8_t *image)
{
    const struct schema *schema = &table->schema;
    struct fabric_addr addr, at;
    struct bucket_wire bucket;
    find_record(pool, table, 10, &addr, &bucket, &at);
    peek(pool, addr, image, schema->record_bytes);
    uint64_t ts = layout_version_ts(record_version(schema, image, 0)) + 5;
    versions_pack(schema, image, 3, image + versions_push(schema, versions_of(image), ts, 3));
    for (uint32_t cell = 0; cell < 2; cell++) record_version_set(schema, image, cell, layout_version_of(9, ts));
    for (uint32_t i = 0; i <= 1; i++) {
        struct fabric_addr to = fabric_addr_plus(catalog_replica(pool->catalog, addr, i), 8);
        poke(pool, to, image + 8, schema->record_bytes - 8);
    }
    audit_clean(pool);
    return addr;
}

#define TUPLE(field) (uint32_t)(LAYOUT_LINE + offsetof(struct tuple_wire, field))

static void damaged_tuples_are_found(void **state)
{
    struct pool pool;
    uint8_t image[4096] __attribute__((aligned(8)));
    pool_fabric(&pool, *state, 2, 1);
    pool.shape.versions = true;
    pool.shape.known_versions = &versions_rules;
    MUST(&pool, open_as(&pool, pool.shape, true, false));
    pool_workers_open(&pool, true);
    const struct table *table = table_make(&pool, "t", 60, 0);
    load_range(&pool, table, 0, 60);
    audit_clean(&pool);
    struct fabric_addr addr = written_record(&pool, table, image);
    const struct schema *schema = &table->schema;
    const struct tuple_wire tuple = versions_of(image)->tuples[0];
    uint64_t ts = layout_version_ts(tuple.writer);
    uint32_t other = (uint32_t)sizeof tuple, in_bar = schema->cells_end;
    DAMAGED(&pool, addr, TUPLE(writer), uint64_t, 0, "INV-STORE-9");                /* unused, yet not empty */
    DAMAGED(&pool, addr, TUPLE(writer), uint64_t, tuple.writer + 1, "INV-STORE-9"); /* younger than its cells */
    DAMAGED(&pool, addr, TUPLE(writer), uint64_t, layout_version_of(UINT16_MAX, ts),
            "INV-STORE-9"); /* behind the bar */
    DAMAGED(&pool, addr, TUPLE(cells), uint32_t, 1u << schema->cell_count, "INV-STORE-9");
    DAMAGED(&pool, addr, TUPLE(words), uint16_t, (uint16_t)(tuple.words + 1), "INV-STORE-9");
    DAMAGED(&pool, addr, TUPLE(pad), uint16_t, 1, "INV-STORE-9");
    DAMAGED(&pool, addr, LAYOUT_LINE + other, struct tuple_wire, tuple, "INV-STORE-9"); /* twice */
    DAMAGED(&pool, addr, in_bar, uint64_t, layout_version_of(8, ts), "INV-STORE-9");    /* displaced itself */
    pool_close(&pool);
}

/* What a build without such a mode is told of that pool, and that it changes nothing. */
static void tables_that_keep_them_are_refused_where_none_is_known(void **state)
{
    struct pool pool;
    pool_fabric(&pool, *state, 2, 1);
    pool.shape.versions = true;
    pool.shape.known_versions = &versions_rules;
    MUST(&pool, open_as(&pool, pool.shape, true, false));
    pool_workers_open(&pool, true);
    (void)table_make(&pool, "t", 60, 0);
    pool_leave(&pool);
    struct catalog_shape without = pool.shape;
    without.versions = false;
    without.known_versions = NULL;
    FAILS(&pool, open_as(&pool, without, false, false), CELLAR_UNSUPPORTED, "table t keeps old versions");
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_workers_open(&pool, false);
    audit_clean(&pool);
    pool_close(&pool);
}

int main(int argc, char **argv)
{
    const struct contract_entry tests[] = {
        ENTRY(damaged_tuples_are_found),
        ENTRY(tables_that_keep_them_are_refused_where_none_is_known),
    };
    return contract_main("versions_audit", tests, sizeof tests / sizeof *tests, argc, argv);
}
