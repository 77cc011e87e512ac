/*
 * catalog.h - a formatted pool: superblocks, shape, tables. One struct catalog per process and pool; read-only while
 * transactions run.
 *
 * Every call here works in the fabric's bulk mode, except catalog_replicate, catalog_run_take and catalog_chunks_used,
 * which leave that to their caller.
 *
 * Opening: the first CN to find fresh memory formats it; every other open compares magic, fingerprint and shape first
 * and refuses bytes it does not know (MISMATCH, CORRUPT).
 */
#pragma once

#include "extent.h"
#include "schemadef.h"
#include "index.h"
#include "rowkey.h"
#include "schema.h"

#include <stdatomic.h>

struct cellar_index; /* treenode.h */
struct vacant;       /* vacant.h */
struct stock_set;    /* stock.h */

/* What a catalog entry says of an index whose nodes the table has; `of` 0: none. */
struct catalog_index {
    uint32_t of; /* the table that it orders */
    uint32_t flags, column_count;
    uint32_t columns[LAYOUT_INDEX_COLUMNS_MAX];
};

/* What a program has of a table: a handle. All zero once its catalog was closed (handle.h). */
struct cellar_table {
    const struct catalog *catalog; /* whose it is: of no other database */
    const struct table *table;
    const struct rowview *view; /* how rows of a program show it (engine/db/rowview.h); NULL: they do not */
};

struct table {
    struct cellar_table handle; /* of itself */
    uint32_t id;                /* 1 .. LAYOUT_CATALOG_TABLES_MAX */
    atomic_bool dropped;        /* it is there no more; set while nothing else runs */
    bool emptying;              /* its records are gone, and their space is to be given back */
    atomic_bool unborn;         /* it is made in place of another one of its name, which lookups find until then */
    uint64_t checksum;          /* of its entry */
    struct table *buried;
    char name[CELLAR_NAME_BYTES];
    uint64_t records_max;
    struct schema schema;
    uint32_t key_bytes; /* 0: its keys are integers (bytekey.h) */
    struct rowkey key;  /* columns that are its records' numbers; none: it was not defined by typed columns */
    struct index_geometry index;
    struct catalog_index orders;
    /* Columns of variable length (extent.h): a bit each; the bytes its extents are sized for; their tables, by size. */
    uint64_t variable, long_bytes;
    const struct table *extents[EXTENT_SIZES];
    uint32_t extent_size; /* of a table of extents: its size's number, + 1; 0: it is none */
    uint32_t extents_of;  /* ... and the table that has them */
    /* Cells that procedures do not write: of keys, and values of variable length; 0: they write all. */
    uint32_t guarded_cells;
#define CATALOG_GUARD_NARROW (1u << 31) /* not each number is a key: procedures neither insert nor delete */
    /*
     * Ordered indexes of this table: set while no attempt runs, and read beside that only to be read again by one. One
     * that has gone stays a handle. And the cells that hold columns of one of them.
     */
    atomic_uint ordered_count;
    uint32_t ordered_cells;
    const struct cellar_index *_Atomic ordered[CELLAR_INDEXES_MAX];
};

struct catalog {
    uint32_t mn_count, replicas, cn_count;
    bool versions;                                /* tables made here keep old versions */
    const struct schema_versions *known_versions; /* of tables that keep some; NULL: such tables cannot be used */
    uint64_t mn_bytes, area_bytes, heap_offset;
    uint64_t chunk_count; /* that the heap of one area has */
    uint64_t spare_count; /* behind these, of one area (catalog_spare_take) */
    uint64_t seal_offset; /* behind those */
    bool closed;          /* it was when it was opened: its seal holds */
    uint64_t cluster;     /* its number in the register that decides; 0: it has none (decision.h) */
    /* the memory node that was lost when the pool was opened; -1: none (configuration.h tells which is now) */
    int32_t away;
    /*
     * By id - 1; NULL: there is no such table, or it is not to be used. `going`: a bit for each id (from bit 0) whose
     * table is building, gone, or being emptied: its runs are nobody's but reclaim.c's.
     */
    uint32_t table_count; /* the largest id that this process has known */
    struct table *tables[LAYOUT_CATALOG_TABLES_MAX];
    uint64_t going;
    struct table *buried; /* dropped ones: their handles stay */
    atomic_uint changes;  /* grows when an index comes, and when records go without a transaction: all of a table */
    struct vacant *vacant;
    struct stock_set *stocks; /* free slots that workers share */
};

struct catalog_shape {
    uint32_t mn_count, replicas, cn_count;
    uint64_t mn_bytes;
    bool versions;                                /* for tables that are made */
    const struct schema_versions *known_versions; /* of tables that keep some; NULL: such tables are refused */
    uint64_t locks_bytes;                         /* of each area, for locks at least (locktable.h) */
    bool existing;                                /* blank memory is refused: none is formatted */
};

/*
 * Formats the pool if it is fresh, else checks it; then reads all tables. `shared`: other processes may do the same
 * now. No thread may use it before it has joined (members.h).
 */
NODISCARD int catalog_open(struct coro *co, struct fabric_ep *ep, const struct catalog_shape *shape, bool fresh,
                           bool shared, struct catalog **out, struct cellar_error *error);
void catalog_free(struct catalog *catalog);
/* As cellar_table_create. Calls on one catalog must not overlap; other processes may create tables at the same time. */
NODISCARD int catalog_table_create(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                   const struct cellar_schema *schema, const struct table **out,
                                   struct cellar_error *error);
/*
 * What a table of typed columns has besides its schema. Stored columns without a type are the engine's own. Places
 * count both kinds, those of the key included.
 */
struct catalog_typing {
    struct rowkey key; /* laid out */
    uint8_t types[CELLAR_COLUMNS_MAX], places[CELLAR_COLUMNS_MAX];
    bool existing; /* NOT_FOUND where there is none */
    bool building; /* where one is made, its entry says BUILDING (reclaim.h) */
    bool twin;     /* likewise, and it is made whether or not there is one: to take that one's place */
    bool made;     /* set: one was made */
};
/* Finds the table of that name, whatever its columns are, or makes it. `existing`: of the schema the name is enough. */
NODISCARD int catalog_typed_open(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                 const struct cellar_schema *schema, struct catalog_typing *typing,
                                 const struct table **out, struct cellar_error *error);
/* The same for a table of an index's nodes: `orders` goes into its entry, which says BUILDING (reclaim.h). */
NODISCARD int catalog_nodes_create(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                   const struct cellar_schema *schema, const struct catalog_index *orders,
                                   const struct table **out, struct cellar_error *error);
/* Not one that is to take another's place, as long as it is `unborn`, nor its parts. */
const struct table *catalog_table_find(const struct catalog *catalog, const char *name);
/* It is no table any more, for this process; handles stay, and say so. While nothing else runs. */
void catalog_bury(struct catalog *catalog, struct table *table);
/* The table after that one, by id (0: the first); NULL: there are no more. */
static inline struct table *catalog_table_after(const struct catalog *catalog, uint32_t id)
{
    uint32_t count = __atomic_load_n(&catalog->table_count, __ATOMIC_ACQUIRE);
    struct table *table = NULL;
    while (!table && id < count) table = __atomic_load_n(&catalog->tables[id++], __ATOMIC_ACQUIRE);
    return table;
}
#define catalog_each(catalog, each)                                                                                    \
    for (struct table *each = catalog_table_after(catalog, 0); each; each = catalog_table_after(catalog, each->id))
/* Is that table, which a run's header names and which is not known here, one that comes or goes? */
static inline bool catalog_is_going(const struct catalog *catalog, uint32_t id)
{
    return catalog->going >> (id - 1) & 1;
}
/* The table that its entry says it is a part of: nodes of an index, or extents; 0: of none. For untrusted entries. */
static inline uint32_t catalog_part_of(const struct table *table)
{
    return table->orders.of ? table->orders.of : table->extents_of;
}
/* Returns whether it is of a table of that catalog. It may be any handle: another database's, a closed one's. */
static inline bool catalog_owns(const struct catalog *catalog, const struct cellar_table *handle)
{
    return handle && handle->catalog == catalog;
}
/* What attempts compare, inside the gate, with what they were told before it. */
static inline uint32_t catalog_changes(const struct catalog *catalog)
{
    return atomic_load_explicit(&catalog->changes, memory_order_relaxed);
}
/* The table of a handle; NULL: it is not of that catalog, or the table was dropped. */
static inline const struct table *catalog_table_of(const struct catalog *catalog, const struct cellar_table *handle)
{
    return catalog_owns(catalog, handle) && !handle->table->dropped ? handle->table : NULL;
}
/* 0; INVALID: it is of none of its tables; DROPPED. */
NODISCARD int catalog_table_check(const struct catalog *catalog, const struct cellar_table *handle,
                                  struct cellar_error *error);
/* The handle of a table; NULL of none. */
static inline const struct cellar_table *catalog_handle(const struct table *table)
{
    return table ? &table->handle : NULL;
}
static inline bool catalog_is_part(const struct table *table) { return catalog_part_of(table) != 0; }
/*
 * The table whose part it is, or itself. NULL: that is not there; of extents it may be that the process that made them
 * has died before it made the table.
 */
static inline const struct table *catalog_base(const struct catalog *catalog, const struct table *table)
{
    uint32_t of = catalog_part_of(table);
    const struct table *base = of ? NULL : table;
    if (of && of <= LAYOUT_CATALOG_TABLES_MAX) base = catalog->tables[of - 1];
    bool has = base && (!table->extent_size || base->extents[table->extent_size - 1] == table);
    return has ? base : NULL;
}

/* WRITEs bytes to all replicas of a primary address. */
NODISCARD int catalog_replicate(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                                struct fabric_addr addr, const void *local, uint32_t size_bytes);
/*
 * Takes a run of run->chunk_count chunks of a node, writes its header (*run, in registered memory; its magic is set
 * here) to all replicas, and gives the run's offset. FULL when the node has not as many left.
 */
NODISCARD int catalog_run_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                               struct chunk_wire *run, uint64_t *offset);
/*
 * As catalog_run_take for a run of one chunk, from what was set aside when the pool was made: the first log segment
 * of that compute node, whose memory node is *node*. FULL: it has none. It is the same chunk each time.
 */
NODISCARD int catalog_spare_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                                 uint32_t node, struct chunk_wire *run, uint64_t *offset);
/* Chunks of a node that have been handed out, never more than chunk_count. `word`: registered memory of 8 bytes. */
NODISCARD int catalog_chunks_used(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                                  uint64_t *word, uint64_t *count);
/* Is it a single chunk that no run has (vacant.h)? Then nothing else of its header counts. */
static inline bool catalog_run_is_idle(const struct chunk_wire *run)
{
    return run->kind == LAYOUT_RUN_VACANT || run->kind == LAYOUT_RUN_TAKEN;
}
/* Of what is written once, when a node is formatted. */
uint32_t catalog_superblock_checksum(const struct superblock_wire *block);
/*
 * Is this, read at chunk number `chunk`, the header of a run of this pool? For untrusted bytes; tables made by others
 * are unknown.
 */
bool catalog_run_sane(const struct catalog *catalog, const struct chunk_wire *run, uint64_t chunk);

/* The memory node of a compute node's first log segment. */
static inline uint32_t catalog_log_node(const struct catalog *catalog, uint32_t cn) { return cn % catalog->mn_count; }

/* Of each of a memory node's areas. */
static inline uint64_t catalog_area_bytes(uint64_t mn_bytes, uint32_t replicas)
{
    return mn_bytes / (replicas + 1) / LAYOUT_CHUNK_BYTES * LAYOUT_CHUNK_BYTES;
}
/* The i-th replica of a primary address, i in [0, replicas]; 0 is the address itself. */
static inline struct fabric_addr catalog_replica(const struct catalog *catalog, struct fabric_addr addr, uint32_t i)
{
    uint32_t node = fabric_addr_node(addr) + i;
    return fabric_addr_of(node >= catalog->mn_count ? node - catalog->mn_count : node,
                          fabric_addr_offset(addr) + i * catalog->area_bytes);
}
/* Does [addr, addr + bytes) lie in the heap of area 0? For addresses read from remote memory. */
static inline bool catalog_in_heap(const struct catalog *catalog, struct fabric_addr addr, uint64_t bytes)
{
    uint64_t offset = fabric_addr_offset(addr);
    return fabric_addr_node(addr) < catalog->mn_count && offset >= catalog->heap_offset &&
           bytes <= catalog->area_bytes && offset <= catalog->area_bytes - bytes;
}
