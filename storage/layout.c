/* layout.c - the number that tells two builds with different remote bytes apart. */
#include "layout.h"

/* One round of a multiply-xorshift hash: any changed, added or moved number changes the sum. */
static uint64_t mixed(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 29;
}

/* Every constant of layout.h (test/lint/test_names.sh looks), and what they rest on. Fields come from its tables. */
static const uint64_t numbers[] = {
    LAYOUT_LINE,
    LAYOUT_VERSION,
    LAYOUT_CHUNK_BYTES,
    LAYOUT_CATALOG_TABLES_MAX,
    LAYOUT_CATALOG_ENTRY_BYTES,
    LAYOUT_INDEX_COLUMNS_MAX,
    LAYOUT_TABLE_WHOLE,
    LAYOUT_TABLE_MAKING,
    LAYOUT_TABLE_BUILDING,
    LAYOUT_TABLE_ASKED,
    LAYOUT_TABLE_GONE,
    LAYOUT_TABLE_EMPTYING,
    LAYOUT_TABLE_REPLACED,
    LAYOUT_EXTENT_SIZES,
    LAYOUT_MEMBERS_OFFSET,
    LAYOUT_MEMBERS_MAX,
    LAYOUT_HEAP_OFFSET,
    LAYOUT_LOCKS_OFFSET,
    LAYOUT_LOCKS_BYTES,
    LAYOUT_RECORD_BYTES_MAX,
    LAYOUT_NODES_MAX,
    LAYOUT_MAGIC,
    LAYOUT_CLOCK_STEP,
    LAYOUT_MEMBER_INCARNATION_MAX,
    LAYOUT_MEMBER_EPOCH_MAX,
    LAYOUT_LEASE_US_MAX,
    LAYOUT_LEASE_SIGNS_BITS,
    LAYOUT_CHUNK_MAGIC,
    LAYOUT_SPARES_PART,
    LAYOUT_SEAL_MAGIC,
    LAYOUT_TS_BITS,
    LAYOUT_TS_MAX,
    LAYOUT_VALUE_PER_LINE,
    LAYOUT_TUPLES,
    LAYOUT_BUCKET_ENTRIES,
    LAYOUT_BUCKET_CELL_BYTES,
    LAYOUT_LOG_MAGIC,
    LAYOUT_POOL_OPEN,
    LAYOUT_POOL_CLOSED,
    LAYOUT_MEMBER_NEVER,
    LAYOUT_MEMBER_LIVE,
    LAYOUT_MEMBER_FENCED,
    LAYOUT_MEMBER_REDONE,
    LAYOUT_MEMBER_SCRUBBED,
    LAYOUT_MEMBER_FREE,
    LAYOUT_MEMBER_STATES,
    LAYOUT_RUN_RECORDS,
    LAYOUT_RUN_BUCKETS,
    LAYOUT_RUN_OVERFLOW,
    LAYOUT_RUN_LOG,
    LAYOUT_RUN_VACANT,
    LAYOUT_RUN_TAKEN,
    LAYOUT_RECORD_DELETED,
    LAYOUT_LOG_CELL,
    LAYOUT_LOG_INSERT,
    LAYOUT_LOG_DELETE,
    LAYOUT_LOG_BUCKET,
    LAYOUT_LOG_UNDO_CELL,
    LAYOUT_LOG_UNDO_INSERT,
    LAYOUT_LOG_UNDO_DELETE,
    LAYOUT_LOG_UNDO_BUCKET,
    CELLAR_CELLS_MAX,
    CELLAR_COLUMNS_MAX,
    CELLAR_NAME_BYTES,
};

#define FIELD(of, at, type, field, length) at, sizeof(((struct of *)NULL)->field),
#define STRUCT(name, FIELDS, bytes) bytes, FIELDS(FIELD, name)
static const uint64_t fields[] = {LAYOUT_STRUCTS(STRUCT)};

uint64_t layout_fingerprint(void)
{
    uint64_t sum = LAYOUT_MAGIC;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) sum = mixed(sum, numbers[i]);
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) sum = mixed(sum, fields[i]);
    return sum;
}
