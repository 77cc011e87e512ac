/* layout.c - the number that tells two builds with different remote bytes apart. */
#include "layout.h"

/* One round of a multiply-xorshift hash: any changed, added or moved number changes the sum. */
static uint64_t mixed(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 29;
}

#define SIZE(type) sizeof(struct type)
#define AT(type, field) offsetof(struct type, field)

uint64_t layout_fingerprint(void)
{
    /* clang-format off: a table, not a column */
    static const uint64_t numbers[] = {LAYOUT_VERSION,
                                       LAYOUT_LINE,
                                       LAYOUT_CHUNK_BYTES,
                                       LAYOUT_CATALOG_TABLES_MAX,
                                       LAYOUT_CATALOG_ENTRY_BYTES,
                                       LAYOUT_HEAP_OFFSET,
                                       LAYOUT_RECORD_BYTES_MAX,
                                       LAYOUT_NODES_MAX,
                                       LAYOUT_TS_BITS,
                                       LAYOUT_VALUE_PER_LINE,
                                       LAYOUT_BUCKET_ENTRIES,
                                       LAYOUT_BUCKET_CELL_BYTES,
                                       LAYOUT_CHUNK_MAGIC,
                                       LAYOUT_LOG_MAGIC,
                                       LAYOUT_RECORD_DELETED,
                                       LAYOUT_RUN_RECORDS,
                                       LAYOUT_RUN_BUCKETS,
                                       LAYOUT_RUN_OVERFLOW,
                                       LAYOUT_RUN_LOG,
                                       LAYOUT_LOG_CELL,
                                       LAYOUT_LOG_INSERT,
                                       LAYOUT_LOG_DELETE,
                                       LAYOUT_LOG_BUCKET,
                                       CELLAR_CELLS_MAX,
                                       CELLAR_COLUMNS_MAX,
                                       CELLAR_NAME_BYTES,
                                       SIZE(superblock_wire),
                                       AT(superblock_wire, fingerprint),
                                       AT(superblock_wire, node),
                                       AT(superblock_wire, mn_count),
                                       AT(superblock_wire, replicas),
                                       AT(superblock_wire, mn_bytes),
                                       AT(superblock_wire, area_bytes),
                                       AT(superblock_wire, heap_offset),
                                       AT(superblock_wire, cn_count),
                                       AT(superblock_wire, chunk_next),
                                       AT(superblock_wire, incarnation),
                                       AT(superblock_wire, catalog_lock),
                                       AT(superblock_wire, open_count),
                                       SIZE(catalog_column_wire),
                                       AT(catalog_column_wire, row_offset),
                                       AT(catalog_column_wire, bytes),
                                       AT(catalog_column_wire, cell),
                                       SIZE(catalog_entry_wire),
                                       AT(catalog_entry_wire, checksum),
                                       AT(catalog_entry_wire, name),
                                       AT(catalog_entry_wire, row_bytes),
                                       AT(catalog_entry_wire, column_count),
                                       AT(catalog_entry_wire, records_max),
                                       AT(catalog_entry_wire, buckets_per_node),
                                       AT(catalog_entry_wire, cluster_bits),
                                       AT(catalog_entry_wire, bucket_base),
                                       AT(catalog_entry_wire, columns),
                                       SIZE(chunk_wire),
                                       AT(chunk_wire, kind),
                                       AT(chunk_wire, table_id),
                                       AT(chunk_wire, chunk_count),
                                       AT(chunk_wire, owner_cn),
                                       AT(chunk_wire, owner_coordinator),
                                       AT(chunk_wire, slot_bytes),
                                       SIZE(record_wire),
                                       AT(record_wire, key),
                                       AT(record_wire, table_id),
                                       AT(record_wire, flags),
                                       AT(record_wire, en),
                                       SIZE(bucket_wire),
                                       AT(bucket_wire, version),
                                       AT(bucket_wire, entries),
                                       SIZE(log_entry_wire),
                                       AT(log_entry_wire, bytes),
                                       AT(log_entry_wire, checksum),
                                       AT(log_entry_wire, cn),
                                       AT(log_entry_wire, coordinator),
                                       AT(log_entry_wire, incarnation),
                                       AT(log_entry_wire, sequence),
                                       AT(log_entry_wire, ts),
                                       AT(log_entry_wire, watermark),
                                       AT(log_entry_wire, dep_count),
                                       AT(log_entry_wire, write_count),
                                       SIZE(log_dep_wire),
                                       AT(log_dep_wire, incarnation),
                                       AT(log_dep_wire, sequence),
                                       SIZE(log_write_wire),
                                       AT(log_write_wire, key),
                                       AT(log_write_wire, table_id),
                                       AT(log_write_wire, kind),
                                       AT(log_write_wire, cell),
                                       AT(log_write_wire, value_bytes)};
    /* clang-format on */
    uint64_t sum = LAYOUT_MAGIC;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) sum = mixed(sum, numbers[i]);
    return sum;
}
