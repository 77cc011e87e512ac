/*
 * layout.h - every byte that lives in a memory node, drawn, and asserted at compile time.
 *
 * A memory node's region of M bytes is cut into f + 1 areas of `area_bytes`. Area 0 holds the node's own (primary)
 * bytes, area i the i-th backup of node (n - i): the i-th replica of (node, offset) is
 * ((node + i) mod mns, offset + i * area_bytes).
 *
 *     area 0 of each node
 *     0          superblock (4 KiB)
 *     4 KiB      catalog: CATALOG_TABLES_MAX entries of 4 KiB (used on node 0 only)
 *     260 KiB    members: one line for each compute node; node 0's are the truth, nodes 1..f follow (members.h)
 *     locks      of hot records, or of all (locktable.h), up to the heap
 *     heap       runs of 64 KiB chunks, handed out by FAA on the superblock's chunk_next; each run starts with a
 *                chunk_wire
 *     spares     one chunk for each compute node's first log segment, should the heap be full
 *     seal       checksums of all of the above, written at a clean close and compared at the next open (seal.h)
 *
 *     run kinds: RECORDS (slots of one table) | BUCKETS (the index of one table) | OVERFLOW (further buckets) |
 *                LOG (one coordinator's segment) | VACANT (one chunk that was given back: zero behind its header) |
 *                TAKEN (one that was vacant, and is about to be of a run)
 *
 * A record slot is a 64-byte header line followed by cells; its size is a multiple of 64.
 *     header   0..7 lock word | 8..15 key | 16..19 table id | 20..23 flags | 24..63 EN array, 20 x 2 bytes
 *     cell     8-byte version = EN (16 bits, high) | TS (48 bits), then the value rounded up to 8 bytes; a small cell
 *              (at most 56 bytes of value) never crosses a line; a large one spans whole lines, each a version and
 *              56 bytes of value
 *
 * An index bucket is one line, and is locked, versioned, logged and validated as a record of one cell:
 *     bucket   0..7 lock word | 8..15 version (EN | TS) | 16..63 six entries
 *     entry    fingerprint (16 bits) | offset of a record on the same node (multiple of 64); bit 0: the offset is
 *              that of the next bucket of the chain (last entry only). 0: empty
 * The head bucket's lock and version cover its whole chain; those of overflow buckets stay zero.
 */
#pragma once

#include "cellar.h"
#include "plant.h"

#include <stddef.h>
#include <stdint.h>

#define LAYOUT_LINE 64
#define LAYOUT_VERSION 9
#define LAYOUT_CHUNK_BYTES 65536
#define LAYOUT_CATALOG_TABLES_MAX 64
#define LAYOUT_CATALOG_ENTRY_BYTES 4096
/* Where the catalog ends. */
#define LAYOUT_MEMBERS_OFFSET (4096 + LAYOUT_CATALOG_TABLES_MAX * LAYOUT_CATALOG_ENTRY_BYTES)
#define LAYOUT_MEMBERS_MAX 256
/* Where the members end; the heap starts at the next multiple of a chunk. */
#define LAYOUT_HEAP_OFFSET (LAYOUT_MEMBERS_OFFSET + LAYOUT_MEMBERS_MAX * LAYOUT_LINE)
/* Locks lie between the two. */
#define LAYOUT_LOCKS_OFFSET LAYOUT_HEAP_OFFSET
#define LAYOUT_LOCKS_BYTES (LAYOUT_CHUNK_BYTES - LAYOUT_HEAP_OFFSET % LAYOUT_CHUNK_BYTES)
_Static_assert(LAYOUT_LOCKS_BYTES >= 32768, "room for locks");
#define LAYOUT_RECORD_BYTES_MAX 16384
#define LAYOUT_NODES_MAX 64

/*
 * A struct of remote bytes is a table: a row for each field, of its offset, type, name and, of an array, length. Of
 * these tables the structs below, their checks and the fingerprint are made: a field, or a struct, that the fingerprint
 * does not know does not exist.
 */

/* ---- superblock: offset 0 of area 0 of each node ---- */

#define LAYOUT_MAGIC 0x52414c4c45430001ull /* "\1\0CELLAR" read as a little-endian word */

/* clang-format off */
#define LAYOUT_SUPERBLOCK(F, of)                                                                                       \
    F(of, 0, uint64_t, magic, )          /* written last when a node is formatted */                                   \
    F(of, 8, uint64_t, fingerprint, )    /* layouts and build constants */                                             \
    F(of, 16, uint32_t, checksum, )      /* xxh3, folded, of bytes 0..59, this field and the magic taken as zero */    \
    F(of, 20, uint32_t, node, )                                                                                        \
    F(of, 24, uint32_t, mn_count, )                                                                                    \
    F(of, 28, uint32_t, replicas, )                                                                                    \
    F(of, 32, uint64_t, mn_bytes, )                                                                                    \
    F(of, 40, uint64_t, area_bytes, )                                                                                  \
    F(of, 48, uint64_t, heap_offset, )                                                                                 \
    F(of, 56, uint32_t, cn_count, )      /* compute nodes that tags must be able to name */                            \
    F(of, 60, uint32_t, state, )         /* enum layout_pool_state */                                                  \
    F(of, 64, uint64_t, chunk_next, )    /* atomics only: next free chunk, counted from heap_offset */                 \
    F(of, 72, uint64_t, incarnation, )   /* atomics only: FAA at each open of a CN; makes transaction ids unique */    \
    F(of, 80, uint64_t, catalog_lock, )  /* atomics only: index + 1 of the CN that creates a table */                  \
    F(of, 88, uint64_t, epoch, )         /* atomics only: grows with each change of a member's state */                \
    /* atomics only: which memory node is away (configuration.h); on every node */                                     \
    F(of, 96, uint64_t, configuration, )                                                                               \
    /* atomics only: the last TS_commit drawn (by some modes), of node 0 and its replicas */                           \
    F(of, 104, uint64_t, clock, )                                                                                      \
    /* atomics only: its number in the register that decides (docs/membership.md), on every node; 0: it has none */    \
    F(of, 112, uint64_t, cluster, )                                                                                    \
    F(of, 120, uint8_t, rest, [3976])    /* zero */
/* clang-format on */

/* No flipped bit makes one of the other; node 0's says what the pool is. */
enum layout_pool_state {
    LAYOUT_POOL_OPEN = 0x4e45504f,  /* in use, or its last user did not close it: its seal says nothing */
    LAYOUT_POOL_CLOSED = 0x314c5353 /* at rest since a clean close: its seal holds */
};

/*
 * Where the clock begins: above every TS that loading gives. After the loss of its node it goes on so much higher,
 * too.
 */
#define LAYOUT_CLOCK_STEP (1ull << 32)

/* ---- members ---- */

/*
 * A compute node's state, in the order in which it passes through them. The word that holds it grows with each step,
 * so that the newest of several copies is the largest:
 *     word   incarnation (28 bits) | state (4) | claim epoch (24) | recoverer's CN index + 1, or 0 (8)
 */
enum layout_member_state {
    LAYOUT_MEMBER_NEVER,    /* the index was never used */
    LAYOUT_MEMBER_LIVE,     /* joined */
    LAYOUT_MEMBER_FENCED,   /* declared dead and claimed by a recoverer: none of its operations may count any more */
    LAYOUT_MEMBER_REDONE,   /* its log has had its effect: its tags may go */
    LAYOUT_MEMBER_SCRUBBED, /* it owns no tag any more */
    LAYOUT_MEMBER_FREE,     /* the index may be used again, by a larger incarnation */
    LAYOUT_MEMBER_STATES
};

#define LAYOUT_MEMBER_INCARNATION_MAX ((1ull << 28) - 1)
#define LAYOUT_MEMBER_EPOCH_MAX ((1u << 24) - 1)

/* clang-format off */
#define LAYOUT_MEMBER(F, of)                                                                                           \
    F(of, 0, uint64_t, word, )       /* atomics only */                                                                \
    /* atomics only: microseconds (24 bits) | signs of life (40); 0 us: it promises none */                            \
    F(of, 8, uint64_t, lease, )                                                                                        \
    /* atomics only: a bit for each compute node that may be taking over tags of this one */                           \
    F(of, 16, uint64_t, takers, [4])                                                                                   \
    /* atomics only: the configuration epoch in which it stands still << 1 | it has stopped */                         \
    F(of, 48, uint64_t, ack, )                                                                                         \
    F(of, 56, uint8_t, rest, [8])    /* zero */
/* clang-format on */

#define LAYOUT_LEASE_US_MAX ((1u << 24) - 1)
#define LAYOUT_LEASE_SIGNS_BITS 40

/* ---- catalog ---- */

/* clang-format off */
#define LAYOUT_CATALOG_COLUMN(F, of)                                                                                   \
    F(of, 0, char, name, [CELLAR_NAME_BYTES])                                                                          \
    F(of, 32, uint32_t, row_offset, )                                                                                  \
    F(of, 36, uint32_t, bytes, )                                                                                       \
    F(of, 40, int32_t, cell, )                /* as numbered by schema_build, never CELLAR_OWN_CELL */                 \
    F(of, 44, uint16_t, type, )               /* enum cellar_type; 0: none was said */                                 \
    F(of, 46, uint16_t, key, )                /* 1: a part of the record's number (rowkey.h), in no cell; else 0 */
/* clang-format on */

#define LAYOUT_INDEX_COLUMNS_MAX 8
#define LAYOUT_EXTENT_SIZES 6

/*
 * What becomes of a table, in its entry's last word: written when all else of the entry is there, and by atomics while
 * the table comes or goes (reclaim.h).
 */
enum layout_table_state {
    LAYOUT_TABLE_WHOLE,                 /* it is there; a table of an index's nodes: they are whole */
    LAYOUT_TABLE_MAKING = 0x494b414d,   /* no table yet: its entry comes first, then its runs */
    LAYOUT_TABLE_BUILDING = 0x444c4942, /* nodes of an index, or a table in another's place, that is being made */
    LAYOUT_TABLE_ASKED = 0x204b5341,    /* it is there; whether it is to go, or to be emptied, is about to be decided */
    LAYOUT_TABLE_GONE = 0x454e4f47,     /* it is not: its space is to be given back, and then its entry */
    LAYOUT_TABLE_EMPTYING = 0x59545045, /* it has no record any more, and is there when their space was given back */
    LAYOUT_TABLE_REPLACED = 0x4c504552  /* it is not; the table whose number is in the upper half is there instead */
};
/* The number of the table that is there instead of one in that state; 0: it is in another state. */
static inline uint32_t layout_table_replacement(uint64_t state)
{
    return (uint32_t)state == LAYOUT_TABLE_REPLACED ? (uint32_t)(state >> 32) : 0;
}

/* clang-format off */
#define LAYOUT_CATALOG_ENTRY(F, of)                                                                                    \
    /* 0: unused entry; written last; the entry's index + 1 */                                                         \
    F(of, 0, uint64_t, table_id, )                                                                                     \
    F(of, 8, uint64_t, checksum, )                                        /* xxh3 of bytes 16..4087 */                 \
    F(of, 16, char, name, [CELLAR_NAME_BYTES])                                                                         \
    F(of, 48, uint32_t, row_bytes, )                                                                                   \
    F(of, 52, uint32_t, column_count, )                                                                                \
    F(of, 56, uint64_t, records_max, )                                                                                 \
    F(of, 64, uint64_t, buckets_per_node, )                                                                            \
    F(of, 72, uint32_t, cluster_bits, )                                                                                \
    /* 1: its records keep old versions (schema.h); else 0 */                                                          \
    F(of, 76, uint32_t, versions, )                                                                                    \
    F(of, 80, uint64_t, bucket_base, [LAYOUT_NODES_MAX])                  /* offset of bucket 0 on each node */        \
    F(of, 592, struct catalog_column_wire, columns, [CELLAR_COLUMNS_MAX])                                              \
    /* of the nodes of an ordered index (treenode.h): the table that it orders; 0: of no index */                      \
    F(of, 3664, uint32_t, index_of, )                                                                                  \
    F(of, 3668, uint32_t, index_flags, )                                  /* enum cellar_index_flags */                \
    F(of, 3672, uint32_t, index_column_count, )                                                                        \
    F(of, 3676, uint32_t, index_pad, )                                    /* zero */                                   \
    /* column's number (16 bits) | enum cellar_sort << 16 | descending << 24 */                                        \
    F(of, 3680, uint32_t, index_columns, [LAYOUT_INDEX_COLUMNS_MAX])                                                   \
    /* of keys that are byte strings, at most (bytekey.h); 0: they are integers */                                     \
    F(of, 3712, uint32_t, key_bytes, )                                                                                 \
    F(of, 3716, uint32_t, extent_size, )                                  /* a companion's, + 1; 0: it is none */      \
    /* columns of variable length (extent.h): a bit each; their companions' ids and sizes */                           \
    F(of, 3720, uint64_t, variable, )                                                                                  \
    F(of, 3728, uint64_t, long_bytes, )                                                                                \
    F(of, 3736, uint32_t, extents, [LAYOUT_EXTENT_SIZES])                                                              \
    F(of, 3760, uint32_t, extents_of, )                                   /* a companion's: the table that has it */   \
    F(of, 3764, uint8_t, rest, [324])                                     /* zero */                                   \
    /* enum layout_table_state; not in the checksum, as it changes */                                                  \
    F(of, 4088, uint64_t, state, )
/* clang-format on */

/* ---- heap ---- */

#define LAYOUT_CHUNK_MAGIC 0x4b4e5543u
enum layout_run_kind {
    LAYOUT_RUN_RECORDS = 1,
    LAYOUT_RUN_BUCKETS,
    LAYOUT_RUN_OVERFLOW,
    LAYOUT_RUN_LOG,
    LAYOUT_RUN_VACANT,
    LAYOUT_RUN_TAKEN
};

/* clang-format off */
#define LAYOUT_CHUNK(F, of)                                                                                            \
    F(of, 0, uint32_t, magic, )              /* zero: never claimed (its run is then one chunk) */                     \
    F(of, 4, uint32_t, kind, )               /* enum layout_run_kind */                                                \
    F(of, 8, uint32_t, table_id, )           /* 0 for LOG */                                                           \
    F(of, 12, uint32_t, chunk_count, )       /* of the run */                                                          \
    F(of, 16, uint32_t, owner_cn, )                                                                                    \
    F(of, 20, uint32_t, owner_coordinator, ) /* LOG: whose segment, counted over the CN's coordinators */              \
    F(of, 24, uint32_t, slot_bytes, )        /* RECORDS: record size; BUCKETS, OVERFLOW: 64; LOG: 0 */                 \
    F(of, 28, uint32_t, pad, )               /* zero */                                                                \
    /* LOG: layout_watermark_of; 0: none. It and those in entries: the largest holds */                                \
    F(of, 32, uint64_t, log_watermark, )                                                                               \
    F(of, 40, uint8_t, rest, [24])           /* zero */
/* clang-format on */

/*
 * What replacing and recovering need of a full pool: a chunk for each compute node on the memory node of its first
 * log, of at most this part of all.
 */
#define LAYOUT_SPARES_PART 16

/* ---- seal: the last chunks of each area ---- */

#define LAYOUT_SEAL_MAGIC 0x4c41455352414c43ull

/* clang-format off */
#define LAYOUT_SEAL(F, of)                                                                                             \
    F(of, 0, uint64_t, magic, )                                                                                        \
    F(of, 8, uint64_t, checksum, ) /* xxh3 of bytes 16..63 */                                                          \
    /* handed out of the heap when the pool was closed: so many sums follow, and one for each spare */                 \
    F(of, 16, uint64_t, chunks, )                                                                                      \
    /* sum of what lies before the locks, but for the superblock's first line, which has its own */                    \
    F(of, 24, uint64_t, fixed, )                                                                                       \
    /* sum of the sums, which follow this line: 8 bytes each, in the order of the chunks */                            \
    F(of, 32, uint64_t, sums, )                                                                                        \
    F(of, 40, uint8_t, rest, [24]) /* zero */
/* clang-format on */

/* One word, so that no part of it can be of another incarnation: incarnation (28 bits) | sequence (36 bits). */
static inline uint64_t layout_watermark_of(uint64_t incarnation, uint64_t sequence)
{
    return incarnation << 36 | sequence;
}
static inline uint64_t layout_watermark_incarnation(uint64_t word) { return word >> 36; }
static inline uint64_t layout_watermark_sequence(uint64_t word) { return word & ((1ull << 36) - 1); }

/* ---- records ---- */

enum layout_record_flags { LAYOUT_RECORD_DELETED = 1 };

/* clang-format off */
#define LAYOUT_RECORD(F, of)                                                                                           \
    F(of, 0, uint64_t, lock, )                  /* atomics only; see lockword.h */                                     \
    F(of, 8, uint64_t, key, )                                                                                          \
    F(of, 16, uint32_t, table_id, )             /* 0: a slot never used */                                             \
    F(of, 20, uint32_t, flags, )                /* enum layout_record_flags */                                         \
    F(of, 24, uint16_t, en, [CELLAR_CELLS_MAX])
/* clang-format on */

/* A version word. */
#define LAYOUT_TS_BITS 48
#define LAYOUT_TS_MAX ((1ull << LAYOUT_TS_BITS) - 1)
static inline uint64_t layout_version_of(uint16_t en, uint64_t ts) { return (uint64_t)en << LAYOUT_TS_BITS | ts; }
static inline uint16_t layout_version_en(uint64_t version) { return (uint16_t)(version >> LAYOUT_TS_BITS); }
/*
 * Epoch numbers count modulo 2^LAYOUT_EN_BITS: all 16 bits of their field, but for tests that want to see them come
 * full circle.
 */
#define LAYOUT_EN_BITS PLANT_EN_BITS
static inline uint16_t layout_en_next(uint16_t en) { return (uint16_t)((en + 1u) & ((1u << LAYOUT_EN_BITS) - 1)); }
static inline uint64_t layout_version_ts(uint64_t version) { return version & LAYOUT_TS_MAX; }

#define LAYOUT_VALUE_PER_LINE (LAYOUT_LINE - 8)

/* Where a table keeps old versions (schema.h): a line behind the header. */
#define LAYOUT_TUPLES 4

/* clang-format off */
#define LAYOUT_TUPLE(F, of)                                                                                            \
    /* place in the bar, in words (16 bits) | TS of the writer that displaced these versions (48); 0: unused */        \
    F(of, 0, uint64_t, writer, )                                                                                       \
    F(of, 8, uint32_t, cells, )  /* that it wrote, a bit each */                                                       \
    F(of, 12, uint16_t, words, ) /* of what it displaced */                                                            \
    F(of, 14, uint16_t, pad, )   /* zero */
/* clang-format on */

/* clang-format off */
#define LAYOUT_VERSIONS(F, of)                                                                                         \
    F(of, 0, struct tuple_wire, tuples, [LAYOUT_TUPLES]) /* in no order */
/* clang-format on */

/* ---- index buckets ---- */

#define LAYOUT_BUCKET_ENTRIES 6
#define LAYOUT_BUCKET_CELL_BYTES 48 /* what an insert or delete logs: the six entries */

/* clang-format off */
#define LAYOUT_BUCKET(F, of)                                                                                           \
    F(of, 0, uint64_t, lock, )                            /* atomics only; one cell of 8 tag bits */                   \
    F(of, 8, uint64_t, version, )                         /* EN | TS */                                                \
    F(of, 16, uint64_t, entries, [LAYOUT_BUCKET_ENTRIES])
/* clang-format on */

/* ---- redo log ---- */

/*
 * A coordinator's segment is a ring; an entry never wraps (the tail of the ring is skipped when it would). An entry
 * counts only if its checksum over all its bytes (this field taken as zero) holds.
 */
#define LAYOUT_LOG_MAGIC 0x474f4c43u

/* clang-format off */
#define LAYOUT_LOG_ENTRY(F, of)                                                                                        \
    F(of, 0, uint32_t, magic, )                                                                                        \
    F(of, 4, uint32_t, bytes, )        /* of the whole entry, a multiple of 8 */                                       \
    F(of, 8, uint64_t, checksum, )                                                                                     \
    F(of, 16, uint16_t, cn, )                                                                                          \
    F(of, 18, uint16_t, coordinator, )                                                                                 \
    F(of, 20, uint32_t, incarnation, )                                                                                 \
    F(of, 24, uint64_t, epoch, )       /* durable (docs/durability.md); 0: none */                                     \
    F(of, 32, uint64_t, sequence, )    /* 1, 2, ... of this coordinator and incarnation */                             \
    F(of, 40, uint64_t, ts, )          /* TS_commit */                                                                 \
    F(of, 48, uint64_t, watermark, )   /* all entries up to this sequence are applied everywhere, or never will be */  \
    F(of, 56, uint32_t, dep_count, )   /* log-deps that follow the header (0 in modes record and cell) */              \
    F(of, 60, uint32_t, write_count, ) /* log_write_wire items after them */
/* clang-format on */

/* clang-format off */
#define LAYOUT_LOG_DEP(F, of)                                                                                          \
    F(of, 0, uint32_t, cn, )                                                                                           \
    F(of, 4, uint32_t, coordinator, )                                                                                  \
    F(of, 8, uint64_t, incarnation, )                                                                                  \
    F(of, 16, uint64_t, sequence, )
/* clang-format on */

enum layout_log_kind {
    LAYOUT_LOG_CELL = 1,
    LAYOUT_LOG_INSERT,
    LAYOUT_LOG_DELETE,
    LAYOUT_LOG_BUCKET,
    LAYOUT_LOG_UNDO_CELL,
    LAYOUT_LOG_UNDO_INSERT,
    LAYOUT_LOG_UNDO_DELETE,
    LAYOUT_LOG_UNDO_BUCKET
};

/*
 * One change, followed by value_bytes of value rounded up to 8. CELL: the new value of one cell. INSERT: the values of
 * all cells in order, each rounded up to 8. DELETE: no value. BUCKET: the 48 bytes of entries of one bucket; `cell` is
 * 1 when it is the head of its chain (it carries the version), 0 when it is an overflow bucket; key is the head's
 * address bits in both cases.
 *
 * UNDO_...: what was there before (some modes); all changes of an entry are of these kinds, or none. The value
 * begins with the 8-byte versions that were there: of the cell (then its value), of all cells of the record inserted
 * or deleted, of the chain's head (then the entries).
 */
/* clang-format off */
#define LAYOUT_LOG_WRITE(F, of)                                                                                        \
    F(of, 0, uint64_t, addr, )         /* primary address bits of the record or bucket */                              \
    F(of, 8, uint64_t, key, )                                                                                          \
    F(of, 16, uint32_t, table_id, )                                                                                    \
    F(of, 20, uint16_t, kind, )        /* enum layout_log_kind */                                                      \
    F(of, 22, uint16_t, cell, )                                                                                        \
    F(of, 24, uint32_t, value_bytes, )                                                                                 \
    F(of, 28, uint32_t, pad, )         /* zero */
/* clang-format on */

/* ---- the structs ---- */

/* clang-format off */
#define LAYOUT_STRUCTS(X) \
    X(superblock_wire, LAYOUT_SUPERBLOCK, 4096) \
    X(member_wire, LAYOUT_MEMBER, LAYOUT_LINE) \
    X(catalog_column_wire, LAYOUT_CATALOG_COLUMN, 48) \
    X(catalog_entry_wire, LAYOUT_CATALOG_ENTRY, LAYOUT_CATALOG_ENTRY_BYTES) \
    X(chunk_wire, LAYOUT_CHUNK, LAYOUT_LINE) \
    X(seal_wire, LAYOUT_SEAL, LAYOUT_LINE) \
    X(record_wire, LAYOUT_RECORD, LAYOUT_LINE) \
    X(tuple_wire, LAYOUT_TUPLE, 16) \
    X(versions_wire, LAYOUT_VERSIONS, LAYOUT_LINE) \
    X(bucket_wire, LAYOUT_BUCKET, LAYOUT_LINE) \
    X(log_entry_wire, LAYOUT_LOG_ENTRY, 64) \
    X(log_dep_wire, LAYOUT_LOG_DEP, 24) \
    X(log_write_wire, LAYOUT_LOG_WRITE, 32)
/* clang-format on */

#define LAYOUT_FIELD(of, at, type, field, length) type field length;
#define LAYOUT_AT(of, at, type, field, length) _Static_assert(offsetof(struct of, field) == (at), #of "." #field);
#define LAYOUT_STRUCT(name, FIELDS, bytes)                                                                             \
    struct name {                                                                                                      \
        FIELDS(LAYOUT_FIELD, name)                                                                                     \
    };                                                                                                                 \
    FIELDS(LAYOUT_AT, name)                                                                                            \
    _Static_assert(sizeof(struct name) == (bytes), #name);
LAYOUT_STRUCTS(LAYOUT_STRUCT)

/* A number that differs whenever one of the layouts above, or a constant they rest on, does. */
uint64_t layout_fingerprint(void);
