/* seal.c - one pass over all that is in use, in pieces of a chunk. */
#include "seal.h"

#include "batch.h"
#include "storage_plants.h"

#include <string.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SUMS_PER_PIECE (LAYOUT_CHUNK_BYTES / sizeof(uint64_t))
#define TEXT(number) ((unsigned long long)(number))

/* Fabric-registered. */
struct seal_memory {
    uint8_t piece[LAYOUT_CHUNK_BYTES] __attribute__((aligned(LAYOUT_LINE)));
    uint64_t sums[SUMS_PER_PIECE] __attribute__((aligned(LAYOUT_LINE))); /* of chunks, as computed */
    uint64_t stored[SUMS_PER_PIECE];                                     /* as they are there */
    struct seal_wire wire __attribute__((aligned(LAYOUT_LINE)));
    uint64_t word;
    uint32_t state;
};

struct seal {
    struct coro *co;
    struct fabric_ep *ep;
    const struct catalog *catalog;
    struct seal_memory *memory;
    struct cellar_error *error;
    uint32_t node, area; /* at work on */
    bool writes;         /* else it compares */
    uint32_t table_id;   /* of the run that the chunks at hand belong to; 0: none known */
    uint64_t run_end;    /* the number of the chunk behind it */
};

/* ---- reading ---- */

static struct fabric_addr at(const struct seal *seal, uint64_t offset)
{
    return fabric_addr_of(seal->node, seal->area * seal->catalog->area_bytes + offset);
}

static int damaged(const struct seal *seal, uint64_t offset, const char *what, const char *table)
{
    return err_set(seal->error, CELLAR_CORRUPT,
                   "INV-STORE-10: memory node %u, offset %#llx: %s%s: the pool was damaged since it was closed",
                   seal->node, TEXT(seal->area * seal->catalog->area_bytes + offset), what, table);
}

static int unread(const struct seal *seal, int rc)
{
    return err_set(seal->error, rc, "memory node %u: %s", seal->node, cellar_strerror(rc));
}

/* Adds a piece to a sum; its place counts, too. */
static uint64_t summed(uint64_t sum, uint64_t offset, const void *bytes, uint64_t size)
{
    return XXH3_64bits_withSeed(bytes, size, sum * 0x9e3779b97f4a7c15ull + offset);
}

static int piece_read(struct seal *seal, uint64_t offset, uint64_t size)
{
    int rc = batch_read(seal->co, seal->ep, at(seal, offset), seal->memory->piece, (uint32_t)size);
    return rc ? unread(seal, rc) : 0;
}

static int fixed_sum(struct seal *seal, uint64_t *sum)
{
    uint64_t end = PLANT(seal_covers_locks) ? seal->catalog->heap_offset : LAYOUT_LOCKS_OFFSET, size;
    int rc = 0;
    *sum = 0;
    for (uint64_t offset = LAYOUT_LINE; rc == 0 && offset < end; offset += size) {
        size = end - offset < LAYOUT_CHUNK_BYTES ? end - offset : LAYOUT_CHUNK_BYTES;
        rc = piece_read(seal, offset, size);
        *sum = summed(*sum, offset, seal->memory->piece, size);
    }
    return rc;
}

/* ---- chunks ---- */

/* The number of the i-th one that has a sum: those handed out, then the spares. */
static uint64_t chunk_number(const struct seal *seal, uint64_t i)
{
    uint64_t chunks = seal->memory->wire.chunks;
    return i < chunks ? i : seal->catalog->chunk_count + (i - chunks);
}

static uint64_t sums_count(const struct seal *seal) { return seal->memory->wire.chunks + seal->catalog->spare_count; }

static uint64_t sums_at(const struct seal *seal, uint64_t i)
{
    return seal->catalog->seal_offset + sizeof(struct seal_wire) + i * sizeof(uint64_t);
}

/* Whose records the chunk just read holds, as far as its run's header tells. */
static void run_follow(struct seal *seal, uint64_t chunk)
{
    const struct chunk_wire *run = (const struct chunk_wire *)(const void *)seal->memory->piece;
    if (chunk < seal->run_end) return;
    bool sane = catalog_run_sane(seal->catalog, run, chunk);
    bool idle = catalog_run_is_idle(run);
    seal->table_id = sane && !idle ? run->table_id : 0;
    seal->run_end = chunk + (sane && !idle ? run->chunk_count : 1);
}

static int chunk_damaged(const struct seal *seal, uint64_t offset)
{
    const struct table *table = seal->table_id ? seal->catalog->tables[seal->table_id - 1] : NULL;
    return damaged(seal, offset, table ? "checksum of 64 KiB of table " : "checksum of 64 KiB",
                   table ? table->name : "");
}

/* Sums of the chunks [first, first + count) into memory->sums; compared with those that are there. */
static int chunks_sum(struct seal *seal, uint64_t first, uint64_t count)
{
    struct seal_memory *memory = seal->memory;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t chunk = chunk_number(seal, first + i);
        uint64_t offset = seal->catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES;
        int rc = piece_read(seal, offset, LAYOUT_CHUNK_BYTES);
        if (rc) return rc;
        memory->sums[i] = summed(0, offset, memory->piece, LAYOUT_CHUNK_BYTES);
        run_follow(seal, chunk);
        if (!seal->writes && memory->sums[i] != memory->stored[i] && !PLANT(seal_unchecked))
            return chunk_damaged(seal, offset);
    }
    return 0;
}

/* All of them, in pieces; *sum: of the sums. Those that are there count only once that was right (sums_compare). */
static int chunks_pass(struct seal *seal, uint64_t *sum)
{
    struct seal_memory *memory = seal->memory;
    uint64_t count;
    int rc = 0;
    seal->run_end = 0;
    *sum = 0;
    for (uint64_t first = 0; rc == 0 && first < sums_count(seal); first += count) {
        uint64_t left = sums_count(seal) - first;
        count = left < SUMS_PER_PIECE ? left : SUMS_PER_PIECE;
        uint32_t bytes = (uint32_t)(count * sizeof(uint64_t));
        struct fabric_addr place = at(seal, sums_at(seal, first));
        if (!seal->writes) rc = batch_read(seal->co, seal->ep, place, memory->stored, bytes);
        if (rc) return unread(seal, rc);
        rc = chunks_sum(seal, first, count);
        if (rc) return rc;
        *sum = summed(*sum, first, memory->sums, bytes);
        struct fabric_op op = fabric_op_write(place, memory->sums, bytes);
        if (seal->writes) rc = batch_run(seal->co, seal->ep, &op, 1);
    }
    return rc;
}

/* A damaged sum must not pass for a damaged chunk. */
static int sums_compare(struct seal *seal)
{
    struct seal_memory *memory = seal->memory;
    uint64_t sum = 0, count;
    for (uint64_t first = 0; first < sums_count(seal); first += count) {
        uint64_t left = sums_count(seal) - first;
        count = left < SUMS_PER_PIECE ? left : SUMS_PER_PIECE;
        uint32_t bytes = (uint32_t)(count * sizeof(uint64_t));
        int rc = batch_read(seal->co, seal->ep, at(seal, sums_at(seal, first)), memory->stored, bytes);
        if (rc) return unread(seal, rc);
        sum = summed(sum, first, memory->stored, bytes);
    }
    return sum == memory->wire.sums ? 0 : damaged(seal, sums_at(seal, 0), "checksum of the checksums", "");
}

/* ---- one area ---- */

/* How many chunks of the area's primary were handed out. */
static int chunks_count(struct seal *seal, uint64_t *count)
{
    const struct catalog *catalog = seal->catalog;
    uint32_t primary = (seal->node + catalog->mn_count - seal->area) % catalog->mn_count;
    int rc = catalog_chunks_used(seal->co, seal->ep, catalog, primary, &seal->memory->word, count);
    return rc ? unread(seal, rc) : 0;
}

static uint64_t wire_sum(const struct seal_wire *wire)
{
    return XXH3_64bits(&wire->chunks, sizeof *wire - offsetof(struct seal_wire, chunks));
}

static int area_check(struct seal *seal)
{
    struct seal_wire *wire = &seal->memory->wire;
    uint64_t offset = seal->catalog->seal_offset, sum, count = 0;
    int rc = batch_read(seal->co, seal->ep, at(seal, offset), wire, sizeof *wire);
    if (rc) return unread(seal, rc);
    if (wire->magic != LAYOUT_SEAL_MAGIC || wire->checksum != wire_sum(wire) ||
        wire->chunks > seal->catalog->chunk_count)
        return damaged(seal, offset, "the seal", "");
    rc = fixed_sum(seal, &sum);
    if (rc == 0 && sum != wire->fixed && !PLANT(seal_unchecked))
        rc = damaged(seal, 0, "checksum of superblock, catalog and members", "");
    if (rc == 0) rc = chunks_count(seal, &count);
    if (rc == 0 && count != wire->chunks) rc = damaged(seal, offset, "the seal is of another number of chunks", "");
    if (rc == 0) rc = sums_compare(seal);
    return rc ? rc : chunks_pass(seal, &sum);
}

static int area_set(struct seal *seal)
{
    struct seal_wire *wire = &seal->memory->wire;
    *wire = (struct seal_wire){.magic = LAYOUT_SEAL_MAGIC};
    int rc = chunks_count(seal, &wire->chunks);
    if (rc == 0) rc = fixed_sum(seal, &wire->fixed);
    if (rc == 0) rc = chunks_pass(seal, &wire->sums);
    if (rc) return rc;
    wire->checksum = wire_sum(wire);
    struct fabric_op op = fabric_op_write(at(seal, seal->catalog->seal_offset), wire, sizeof *wire);
    return batch_run(seal->co, seal->ep, &op, 1);
}

/* ---- all ---- */

static int begin(struct seal *seal)
{
    void *memory = mmap(NULL, sizeof *seal->memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CELLAR_NOMEM;
    seal->memory = memory;
    return fabric_register_local(seal->ep->fabric, memory, sizeof *seal->memory);
}

static void end(struct seal *seal)
{
    if (!seal->memory) return;
    fabric_forget_local(seal->ep->fabric, seal->memory, sizeof *seal->memory);
    munmap(seal->memory, sizeof *seal->memory);
}

static int each_area(struct seal *seal, int (*fn)(struct seal *seal))
{
    int rc = 0;
    for (seal->node = 0; rc == 0 && seal->node < seal->catalog->mn_count; seal->node++)
        for (seal->area = 0; rc == 0 && seal->area <= seal->catalog->replicas; seal->area++) rc = fn(seal);
    return rc;
}

/* Node 0's last when it closes, so that the others are closed once it is; and first when it opens. */
static int state_set(struct seal *seal, uint32_t state)
{
    const struct catalog *catalog = seal->catalog;
    int rc = 0;
    seal->memory->state = state;
    for (uint32_t i = 0; rc == 0 && i < catalog->mn_count; i++) {
        uint32_t node = state == LAYOUT_POOL_CLOSED ? catalog->mn_count - 1 - i : i;
        rc = catalog_replicate(seal->co, seal->ep, catalog,
                               fabric_addr_of(node, offsetof(struct superblock_wire, state)), &seal->memory->state,
                               sizeof seal->memory->state);
    }
    return rc;
}

int seal_check(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct cellar_error *error)
{
    struct seal seal = {.co = co, .ep = ep, .catalog = catalog, .error = error};
    int rc = begin(&seal);
    rc = rc ? err_set(error, rc, "no memory to check the pool") : each_area(&seal, area_check);
    end(&seal);
    return rc;
}

int seal_set(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog)
{
    struct cellar_error error;
    struct seal seal = {.co = co, .ep = ep, .catalog = catalog, .error = &error, .writes = true};
    int rc = begin(&seal);
    if (rc == 0) rc = each_area(&seal, area_set);
    if (rc == 0) rc = state_set(&seal, LAYOUT_POOL_CLOSED);
    end(&seal);
    return rc;
}

int seal_break(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog)
{
    struct seal seal = {.co = co, .ep = ep, .catalog = catalog};
    int rc = begin(&seal);
    if (rc == 0) rc = state_set(&seal, LAYOUT_POOL_OPEN);
    end(&seal);
    return rc;
}
