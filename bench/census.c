#include "census.h"

#include "catalog.h"
#include "err.h"

#include <stdlib.h>
#include <string.h>

const char *const census_texts[CENSUS_PURPOSE_COUNT] = {
#define X(name, text) [CENSUS_##name] = text,
    CENSUS_PURPOSES(X)
#undef X
};

struct census_run {
    uint8_t kind; /* enum layout_run_kind; 0: not known yet */
    uint32_t slot_bytes;
    uint64_t begin; /* the offset of its chunk_wire */
};

int census_open(struct census *census, const struct fabric *fabric, const struct catalog *catalog,
                const uint32_t *begun, struct cellar_error *error)
{
    *census = (struct census){.begun = begun, .fabric = fabric, .catalog = catalog};
    census->runs = calloc(catalog->mn_count * (catalog->area_bytes / LAYOUT_CHUNK_BYTES + 1), sizeof *census->runs);
    return census->runs ? 0 : err_set(error, CELLAR_NOMEM, "no memory to count what operations are for");
}

void census_close(struct census *census)
{
    free(census->runs);
    *census = (struct census){0};
}

/* Runs follow one another from the heap's begin; one that is handed out while we look is a chunk without a header. */
static void look_up(const struct census *census, struct census_run *runs, uint32_t node)
{
    const struct catalog *catalog = census->catalog;
    const uint8_t *bytes = fabric_sim_bytes(census->fabric, node);
    uint64_t first = catalog->heap_offset / LAYOUT_CHUNK_BYTES, end = first + catalog->chunk_count;
    for (uint64_t chunk = first, count; chunk < end; chunk += count) {
        struct chunk_wire run;
        memcpy(&run, bytes + chunk * LAYOUT_CHUNK_BYTES, sizeof run);
        count = run.magic == LAYOUT_CHUNK_MAGIC && run.chunk_count ? run.chunk_count : 1;
        if (run.magic != LAYOUT_CHUNK_MAGIC) continue;
        for (uint64_t i = 0; i < count && chunk + i < end; i++)
            runs[chunk + i] = (struct census_run){(uint8_t)run.kind, run.slot_bytes, chunk * LAYOUT_CHUNK_BYTES};
    }
}

/* Of an offset in area 0. Spares behind the heap are log segments. */
static struct census_run run_at(const struct census *census, uint32_t node, uint64_t offset)
{
    const struct catalog *catalog = census->catalog;
    uint64_t chunk = offset / LAYOUT_CHUNK_BYTES;
    struct census_run *runs = &census->runs[node * (catalog->area_bytes / LAYOUT_CHUNK_BYTES + 1)];
    if (chunk >= catalog->heap_offset / LAYOUT_CHUNK_BYTES + catalog->chunk_count)
        return (struct census_run){.kind = LAYOUT_RUN_LOG};
    if (!runs[chunk].kind) look_up(census, runs, node);
    return runs[chunk];
}

static enum census_purpose of_atomic(const struct fabric_op *op, const struct census_run *run)
{
    if (run->kind == LAYOUT_RUN_LOG) return CENSUS_REST;
    uint64_t mask = op->kind == FABRIC_MASKED_CAS ? op->swap_mask : UINT64_MAX;
    return op->swap & mask ? CENSUS_LOCK : CENSUS_UNLOCK;
}

static enum census_purpose of_read(const struct fabric_op *op, const struct census_run *run)
{
    if (run->kind == LAYOUT_RUN_LOG) return CENSUS_REST;
    if (op->phase != CELLAR_PHASE_EXECUTE) return CENSUS_VALIDATE;
    return run->kind == LAYOUT_RUN_RECORDS ? CENSUS_FETCH : CENSUS_FIND;
}

static enum census_purpose of_write(const struct census_run *run, uint64_t offset, bool backup)
{
    if (run->kind == LAYOUT_RUN_LOG) return backup ? CENSUS_LOG_BACKUP : CENSUS_LOG;
    if (backup) return CENSUS_BACKUP;
    if (run->kind != LAYOUT_RUN_RECORDS || !run->slot_bytes) return CENSUS_INDEX;
    bool header = (offset - run->begin - sizeof(struct chunk_wire)) % run->slot_bytes < LAYOUT_LINE;
    return header ? CENSUS_HEADER : CENSUS_CELLS;
}

static enum census_purpose purpose_of(const struct census *census, const struct fabric_op *op)
{
    const struct catalog *catalog = census->catalog;
    if (op->kind == FABRIC_SEND) return CENSUS_MESSAGE;
    uint64_t offset = fabric_addr_offset(op->addr), area = offset / catalog->area_bytes;
    uint32_t node = (fabric_addr_node(op->addr) + catalog->mn_count - (uint32_t)area) % catalog->mn_count;
    offset %= catalog->area_bytes;
    if (area > catalog->replicas) return CENSUS_REST;
    if (offset < catalog->heap_offset) return CENSUS_QUEUE;
    struct census_run run = run_at(census, node, offset);
    if (!run.kind) return CENSUS_REST;
    if (fabric_is_atomic(op)) return of_atomic(op, &run);
    return op->kind == FABRIC_READ ? of_read(op, &run) : of_write(&run, offset, area > 0);
}

enum fabric_sim_fault census_take(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct census *census = arg;
    if (census->runs && *census->begun) census->counts[purpose_of(census, op)]++;
    return FABRIC_SIM_NONE;
}
