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
 *                LOG (one coordinator's segment)
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
#define LAYOUT_VERSION 7
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

#define LAYOUT_AT(type, field, offset) _Static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define LAYOUT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)

/* ---- superblock: offset 0 of area 0 of each node ---- */

#define LAYOUT_MAGIC 0x52414c4c45430001ull /* "\1\0CELLAR" read as a little-endian word */

struct superblock_wire {
    uint64_t magic;         /*   0..7   written last when a node is formatted */
    uint64_t fingerprint;   /*   8..15  layouts and build constants */
    uint32_t checksum;      /*  16..19  xxh3, folded, of bytes 0..59, this field and the magic taken as zero */
    uint32_t node;          /*  20..23 */
    uint32_t mn_count;      /*  24..27 */
    uint32_t replicas;      /*  28..31 */
    uint64_t mn_bytes;      /*  32..39 */
    uint64_t area_bytes;    /*  40..47 */
    uint64_t heap_offset;   /*  48..55 */
    uint32_t cn_count;      /*  56..59  compute nodes that tags must be able to name */
    uint32_t state;         /*  60..63  enum layout_pool_state */
    uint64_t chunk_next;    /*  64..71  atomics only: next free chunk, counted from heap_offset */
    uint64_t incarnation;   /*  72..79  atomics only: FAA at each open of a CN; makes transaction ids unique */
    uint64_t catalog_lock;  /*  80..87  atomics only: index + 1 of the CN that creates a table */
    uint64_t epoch;         /*  88..95  atomics only: grows with each change of a member's state */
    uint64_t configuration; /*  96..103 atomics only: which memory node is away (configuration.h); on every node */
    uint64_t clock;     /* 104..111 atomics only: the last TS_commit drawn (mode `motor`), of node 0 and its replicas */
    uint8_t rest[3984]; /* 112..4095 zero */
};
LAYOUT_SIZE(superblock_wire, 4096);
LAYOUT_AT(superblock_wire, checksum, 16);
LAYOUT_AT(superblock_wire, state, 60);
LAYOUT_AT(superblock_wire, mn_bytes, 32);
LAYOUT_AT(superblock_wire, chunk_next, 64);
LAYOUT_AT(superblock_wire, epoch, 88);
LAYOUT_AT(superblock_wire, configuration, 96);
LAYOUT_AT(superblock_wire, clock, 104);

/* No flipped bit makes one of the other; node 0's says what the pool is. */
enum layout_pool_state {
    LAYOUT_POOL_OPEN = 0x4e45504f,  /* in use, or its last user did not close it: its seal says nothing */
    LAYOUT_POOL_CLOSED = 0x314c5353 /* at rest since a clean close: its seal holds */
};

/* Where the clock begins: above every TS that loading gives. After the loss of its node it goes on so much higher, too. */
#define LAYOUT_CLOCK_STEP (1ull << 32)

/* ---- members ---- */

/*
 * A compute node's state, in the order in which it passes through them. The word that holds it grows with each step, so that the newest
 * of several copies is the largest:
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

struct member_wire {
    uint64_t word;      /*  0..7   atomics only */
    uint64_t lease;     /*  8..15  atomics only: microseconds (24 bits) | signs of life (40); 0 us: it promises none */
    uint64_t takers[4]; /* 16..47  atomics only: a bit for each compute node that may be taking over tags of this one */
    uint64_t ack;    /* 48..55  atomics only: the configuration epoch in which it stands still << 1 | it has stopped */
    uint8_t rest[8]; /* 56..63  zero */
};
LAYOUT_SIZE(member_wire, LAYOUT_LINE);
LAYOUT_AT(member_wire, lease, 8);
LAYOUT_AT(member_wire, takers, 16);
LAYOUT_AT(member_wire, ack, 48);

#define LAYOUT_LEASE_US_MAX ((1u << 24) - 1)
#define LAYOUT_LEASE_SIGNS_BITS 40

/* ---- catalog ---- */

struct catalog_column_wire {
    char name[CELLAR_NAME_BYTES]; /*  0..31 */
    uint32_t row_offset;          /* 32..35 */
    uint32_t bytes;               /* 36..39 */
    int32_t cell;                 /* 40..43  as numbered by schema_build, never CELLAR_OWN_CELL */
    uint32_t pad;                 /* 44..47  zero */
};
LAYOUT_SIZE(catalog_column_wire, 48);

struct catalog_entry_wire {
    uint64_t table_id;                      /*   0..7    0: unused entry; written last; the entry's index + 1 */
    uint64_t checksum;                      /*   8..15   xxh3 of bytes 16..4095 */
    char name[CELLAR_NAME_BYTES];           /*  16..47 */
    uint32_t row_bytes;                     /*  48..51 */
    uint32_t column_count;                  /*  52..55 */
    uint64_t records_max;                   /*  56..63 */
    uint64_t buckets_per_node;              /*  64..71 */
    uint32_t cluster_bits;                  /*  72..75 */
    uint32_t versions;                      /*  76..79   1: its records keep old versions (versions.h); else 0 */
    uint64_t bucket_base[LAYOUT_NODES_MAX]; /*   80..591  offset of bucket 0 on each node */
    struct catalog_column_wire columns[CELLAR_COLUMNS_MAX]; /*  592..3663 */
    uint8_t rest[432];                                      /* 3664..4095 zero */
};
LAYOUT_SIZE(catalog_entry_wire, LAYOUT_CATALOG_ENTRY_BYTES);
LAYOUT_AT(catalog_entry_wire, bucket_base, 80);
LAYOUT_AT(catalog_entry_wire, columns, 592);

/* ---- heap ---- */

#define LAYOUT_CHUNK_MAGIC 0x4b4e5543u
enum layout_run_kind { LAYOUT_RUN_RECORDS = 1, LAYOUT_RUN_BUCKETS, LAYOUT_RUN_OVERFLOW, LAYOUT_RUN_LOG };

struct chunk_wire {
    uint32_t magic;             /*  0..3   zero: never claimed (its run is then one chunk) */
    uint32_t kind;              /*  4..7   enum layout_run_kind */
    uint32_t table_id;          /*  8..11  0 for LOG */
    uint32_t chunk_count;       /* 12..15  of the run */
    uint32_t owner_cn;          /* 16..19 */
    uint32_t owner_coordinator; /* 20..23  LOG: whose segment, counted over the CN's coordinators */
    uint32_t slot_bytes;        /* 24..27  RECORDS: record size; BUCKETS, OVERFLOW: 64; LOG: 0 */
    uint32_t pad;               /* 28..31  zero */
    uint64_t log_watermark; /* 32..39  LOG: layout_watermark_of; 0: none. It and those in entries: the largest holds */
    uint8_t rest[24];       /* 40..63  zero */
};
LAYOUT_SIZE(chunk_wire, LAYOUT_LINE);
LAYOUT_AT(chunk_wire, log_watermark, 32);

/* What replacing and recovering need of a full pool: a chunk for each compute node on the memory node of its first log, of at most this part of all. */
#define LAYOUT_SPARES_PART 16

/* ---- seal: the last chunks of each area ---- */

#define LAYOUT_SEAL_MAGIC 0x4c41455352414c43ull

struct seal_wire {
    uint64_t magic;    /*  0..7 */
    uint64_t checksum; /*  8..15  xxh3 of bytes 16..63 */
    /* 16..23  handed out of the heap when the pool was closed: so many sums follow, and one for each spare */
    uint64_t chunks;
    /* 24..31  sum of what lies before the locks, but for the superblock's first line, which has its own */
    uint64_t fixed;
    uint64_t sums;    /* 32..39  sum of the sums, which follow this line: 8 bytes each, in the order of the chunks */
    uint8_t rest[24]; /* 40..63  zero */
};
LAYOUT_SIZE(seal_wire, LAYOUT_LINE);
LAYOUT_AT(seal_wire, fixed, 24);

/* One word, so that no part of it can be of another incarnation: incarnation (28 bits) | sequence (36 bits). */
static inline uint64_t layout_watermark_of(uint64_t incarnation, uint64_t sequence)
{
    return incarnation << 36 | sequence;
}
static inline uint64_t layout_watermark_incarnation(uint64_t word) { return word >> 36; }
static inline uint64_t layout_watermark_sequence(uint64_t word) { return word & ((1ull << 36) - 1); }

/* ---- records ---- */

enum layout_record_flags { LAYOUT_RECORD_DELETED = 1 };

struct record_wire {
    uint64_t lock;                 /*  0..7   atomics only; see lockword.h */
    uint64_t key;                  /*  8..15 */
    uint32_t table_id;             /* 16..19  0: a slot never used */
    uint32_t flags;                /* 20..23  enum layout_record_flags */
    uint16_t en[CELLAR_CELLS_MAX]; /* 24..63 */
};
LAYOUT_SIZE(record_wire, LAYOUT_LINE);
LAYOUT_AT(record_wire, key, 8);
LAYOUT_AT(record_wire, table_id, 16);
LAYOUT_AT(record_wire, flags, 20);
LAYOUT_AT(record_wire, en, 24);

/* A version word. */
#define LAYOUT_TS_BITS 48
#define LAYOUT_TS_MAX ((1ull << LAYOUT_TS_BITS) - 1)
static inline uint64_t layout_version_of(uint16_t en, uint64_t ts) { return (uint64_t)en << LAYOUT_TS_BITS | ts; }
static inline uint16_t layout_version_en(uint64_t version) { return (uint16_t)(version >> LAYOUT_TS_BITS); }
/* Epoch numbers count modulo 2^LAYOUT_EN_BITS: all 16 bits of their field, but for tests that want to see them come full circle. */
#define LAYOUT_EN_BITS PLANT_EN_BITS
static inline uint16_t layout_en_next(uint16_t en) { return (uint16_t)((en + 1u) & ((1u << LAYOUT_EN_BITS) - 1)); }
static inline uint64_t layout_version_ts(uint64_t version) { return version & LAYOUT_TS_MAX; }

#define LAYOUT_VALUE_PER_LINE (LAYOUT_LINE - 8)

/* Where a table keeps old versions (versions.h): a line behind the header. */
#define LAYOUT_TUPLES 4

struct tuple_wire {
    /* 0..7   place in the bar, in words (16 bits) | TS of the writer that displaced these versions (48); 0: unused */
    uint64_t writer;
    uint32_t cells; /*  8..11  that it wrote, a bit each */
    uint16_t words; /* 12..13  of what it displaced */
    uint16_t pad;   /* 14..15  zero */
};
LAYOUT_SIZE(tuple_wire, 16);
LAYOUT_AT(tuple_wire, cells, 8);
LAYOUT_AT(tuple_wire, words, 12);

struct versions_wire {
    struct tuple_wire tuples[LAYOUT_TUPLES]; /* in no order */
};
LAYOUT_SIZE(versions_wire, LAYOUT_LINE);

/* ---- index buckets ---- */

#define LAYOUT_BUCKET_ENTRIES 6
#define LAYOUT_BUCKET_CELL_BYTES 48 /* what an insert or delete logs: the six entries */

struct bucket_wire {
    uint64_t lock;                           /*  0..7   atomics only; one cell of 8 tag bits */
    uint64_t version;                        /*  8..15  EN | TS */
    uint64_t entries[LAYOUT_BUCKET_ENTRIES]; /* 16..63 */
};
LAYOUT_SIZE(bucket_wire, LAYOUT_LINE);
LAYOUT_AT(bucket_wire, version, 8);
LAYOUT_AT(bucket_wire, entries, 16);

/* ---- redo log ---- */

/*
 * A coordinator's segment is a ring; an entry never wraps (the tail of the ring is skipped when it would). An entry
 * counts only if its checksum over all its bytes (this field taken as zero) holds.
 */
#define LAYOUT_LOG_MAGIC 0x474f4c43u

struct log_entry_wire {
    uint32_t magic;       /*  0..3 */
    uint32_t bytes;       /*  4..7   of the whole entry, a multiple of 8 */
    uint64_t checksum;    /*  8..15 */
    uint32_t cn;          /* 16..19 */
    uint32_t coordinator; /* 20..23 */
    uint64_t incarnation; /* 24..31 */
    uint64_t sequence;    /* 32..39  1, 2, ... of this coordinator and incarnation */
    uint64_t ts;          /* 40..47  TS_commit */
    uint64_t watermark;   /* 48..55  all entries up to this sequence are applied everywhere, or never will be */
    uint32_t dep_count;   /* 56..59  log-deps that follow the header (0 in modes record and cell) */
    uint32_t write_count; /* 60..63  log_write_wire items after them */
};
LAYOUT_SIZE(log_entry_wire, 64);
LAYOUT_AT(log_entry_wire, sequence, 32);

struct log_dep_wire {
    uint32_t cn, coordinator; /*  0..7 */
    uint64_t incarnation;     /*  8..15 */
    uint64_t sequence;        /* 16..23 */
};
LAYOUT_SIZE(log_dep_wire, 24);

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
 * UNDO_...: what was there before (mode `ford`); all changes of an entry are of these kinds, or none. The value begins with the 8-byte versions that
 * were there: of the cell (then its value), of all cells of the record inserted or deleted, of the chain's head (then the entries).
 */
struct log_write_wire {
    uint64_t addr;        /*  0..7   primary address bits of the record or bucket */
    uint64_t key;         /*  8..15 */
    uint32_t table_id;    /* 16..19 */
    uint16_t kind;        /* 20..21  enum layout_log_kind */
    uint16_t cell;        /* 22..23 */
    uint32_t value_bytes; /* 24..27 */
    uint32_t pad;         /* 28..31  zero */
};
LAYOUT_SIZE(log_write_wire, 32);

/* A number that differs whenever one of the layouts above, or a constant they rest on, does. */
uint64_t layout_fingerprint(void);
