/*
 * failover_copy.c - a fresh node gets all bytes of the lost one while the others run.
 *
 * From the epoch on in which this begins each WRITE of the workload reaches the fresh node, too. A copy is a READ at
 * the primary and then a WRITE, and what the workload wrote in between is overwritten by what was before it: so all
 * is copied once, and then compared. In between all stand still for a moment: else a WRITE that came before the copy
 * at the fresh node, and comes after the comparison at the primary, would make no difference that is seen. What is
 * equal then stays equal, as all WRITEs go to both. What differs (overtaken by a copy, or just being written) is
 * copied again while all stand still once more.
 */
#include "cluster_plants.h"
#include "failover_internal.h"

#include <stdlib.h>
#include <string.h>

#define UNIT_BYTES 4096 /* of runs without slots: what is compared as one */

static uint32_t primary_of(const struct failover *failover, uint32_t area)
{
    uint32_t count = failover->run.catalog->mn_count;
    return ((uint32_t)failover->now.away + count - area) % count;
}

/* The lock words of slots are no part of what is copied. */
static void locks_zero(uint8_t *bytes, const struct failover_piece *piece)
{
    for (uint64_t at = 0; piece->slot_bytes && at < piece->bytes; at += piece->slot_bytes) memset(bytes + at, 0, 8);
}

static int piece_read(struct failover *failover, const struct failover_piece *piece, bool fresh, uint8_t *local)
{
    uint64_t shift = fresh ? piece->area * failover->run.catalog->area_bytes : 0;
    uint32_t node = fresh ? (uint32_t)failover->now.away : primary_of(failover, piece->area);
    struct fabric_op op = fabric_op_read(fabric_addr_of(node, piece->at + shift), local, (uint32_t)piece->bytes);
    op.flags = fresh ? FABRIC_DIRECT : 0;
    int rc = recover_batch(&failover->run, &op, 1);
    if (rc == 0) locks_zero(local, piece);
    return rc;
}

static int piece_copy(struct failover *failover, const struct failover_piece *piece)
{
    struct recover_memory *memory = failover->run.memory;
    uint64_t shift = piece->area * failover->run.catalog->area_bytes;
    int rc = piece_read(failover, piece, false, memory->piece);
    if (rc) return rc;
    struct fabric_op op = fabric_op_write(fabric_addr_of((uint32_t)failover->now.away, piece->at + shift),
                                          memory->piece, (uint32_t)piece->bytes);
    op.flags = FABRIC_DIRECT;
    failover->report->copied_bytes += piece->bytes;
    return recover_batch(&failover->run, &op, 1);
}

static int piece_remember(struct failover *failover, const struct failover_piece *piece, uint64_t at, uint64_t bytes)
{
    if (failover->piece_count == failover->piece_capacity) {
        uint32_t capacity = failover->piece_capacity ? 2 * failover->piece_capacity : 64;
        struct failover_piece *pieces = realloc(failover->pieces, capacity * sizeof *pieces);
        if (!pieces) return err_set(failover->run.error, CELLAR_NOMEM, "no memory for %u pieces", capacity);
        failover->pieces = pieces;
        failover->piece_capacity = capacity;
    }
    failover->pieces[failover->piece_count++] =
        (struct failover_piece){piece->area, piece->slot_bytes, piece->at + at, bytes};
    failover->report->pieces_differed++;
    return 0;
}

static int piece_compare(struct failover *failover, const struct failover_piece *piece)
{
    struct recover_memory *memory = failover->run.memory;
    const uint64_t unit = piece->slot_bytes ? piece->slot_bytes : UNIT_BYTES;
    int rc = piece_read(failover, piece, false, memory->piece);
    if (rc == 0) rc = piece_read(failover, piece, true, memory->other);
    for (uint64_t at = 0; at < piece->bytes && rc == 0; at += unit) {
        uint64_t bytes = piece->bytes - at < unit ? piece->bytes - at : unit;
        if (memcmp(memory->piece + at, memory->other + at, bytes) != 0) rc = piece_remember(failover, piece, at, bytes);
    }
    return rc;
}

/*
 * Others may want the configuration changed: the fresh node may be lost, too. A compute node that waits for this one
 * to fill it calls, too: that alone is no reason to begin anew.
 */
static bool interrupted(struct failover *failover)
{
    atomic_bool *called = &failover->home->halt->called;
    const struct recover *run = &failover->run;
    struct configuration now;
    if (!atomic_exchange(called, false)) return false;
    int rc = configuration_look(run->co, run->ep, run->catalog, -1, &now);
    if (rc == 0 && now.epoch == failover->now.epoch) return false;
    atomic_store(called, true);
    return true;
}

static int pieces_of(struct failover *failover, struct failover_piece piece, uint64_t end)
{
    uint64_t most = LAYOUT_CHUNK_BYTES;
    if (piece.slot_bytes) most -= most % piece.slot_bytes;
    for (; piece.at < end; piece.at += piece.bytes) {
        piece.bytes = end - piece.at < most ? end - piece.at : most;
        if (interrupted(failover)) return CELLAR_CLOSED;
        int rc = failover->piece_fn(failover, &piece);
        if (rc) return rc;
    }
    return 0;
}

/* Header and slots; what is left after the last slot is never used. */
static int run_pass(struct recover *run, struct heap_walk *walk)
{
    struct failover *failover = failover_of(run);
    const struct chunk_wire header = walk->memory->run;
    uint64_t first = walk->offset + sizeof header, bytes = heap_run_bytes(&header) - sizeof header;
    struct failover_piece head = {.area = failover->area, .at = walk->offset, .bytes = sizeof header};
    struct failover_piece rest = {.area = failover->area, .slot_bytes = header.slot_bytes, .at = first};
    int rc = pieces_of(failover, head, first);
    if (header.slot_bytes) bytes -= bytes % header.slot_bytes;
    return rc ? rc : pieces_of(failover, rest, first + bytes);
}

static int area_pass(struct failover *failover)
{
    uint32_t node = primary_of(failover, failover->area);
    struct failover_piece superblock = {.area = failover->area, .at = 0};
    struct failover_piece catalog = {.area = failover->area, .at = sizeof(struct superblock_wire)};
    int rc = pieces_of(failover, superblock, LAYOUT_LINE);
    if (rc == 0 && node == 0) rc = pieces_of(failover, catalog, LAYOUT_MEMBERS_OFFSET);
    return rc ? rc : recover_walk(&failover->run, node, run_pass);
}

static int pass_over(struct failover *failover, int (*fn)(struct failover *, const struct failover_piece *))
{
    int rc = 0;
    failover->piece_fn = fn;
    for (failover->area = 0; failover->area <= failover->run.catalog->replicas && rc == 0; failover->area++)
        rc = area_pass(failover);
    return rc;
}

int failover_copy(struct failover *failover)
{
    failover->piece_count = 0;
    return pass_over(failover, piece_copy);
}

int failover_compare(struct failover *failover)
{
    return PLANT(failover_copy_once) ? 0 : pass_over(failover, piece_compare);
}

int failover_pieces_copy(struct failover *failover)
{
    int rc = 0;
    for (uint32_t i = 0; i < failover->piece_count && rc == 0 && !PLANT(failover_back_unwritten); i++)
        rc = piece_copy(failover, &failover->pieces[i]);
    return rc;
}
