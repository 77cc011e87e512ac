/* fabric_sim_memory.c - bounds checks and the effect of operations. */
#include "fabric_sim_memory.h"

#include "must.h"

#include <string.h>

#define LINE_BYTES 64
#define WORD_BYTES 8

static bool local_registered(const struct fabric_sim *sim, const void *local, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)local;
    uint32_t low = 0, high = sim->local_count;
    while (low < high) { /* the first range that ends after `from` */
        uint32_t middle = (low + high) / 2;
        if (sim->locals[middle].end > from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < sim->local_count && from >= sim->locals[low].base && bytes <= sim->locals[low].end - from;
}

int fabric_sim_memory_check(const struct fabric_sim *sim, const struct fabric_op *op)
{
    if (op->kind == FABRIC_SEND) {
        return op->size_bytes <= FABRIC_MESSAGE_BYTES && (op->local || op->size_bytes == 0) ? 0 : CELLAR_INVALID;
    }
    uint64_t offset = fabric_addr_offset(op->addr);
    if (op->kind >= FABRIC_KINDS || !op->local || fabric_addr_node(op->addr) >= sim->fabric.mn_count)
        return CELLAR_INVALID;
    if (op->size_bytes == 0 || offset > sim->fabric.mn_bytes || op->size_bytes > sim->fabric.mn_bytes - offset) {
        return CELLAR_INVALID;
    }
    if (op->kind == FABRIC_READ || op->kind == FABRIC_WRITE) {
        return local_registered(sim, op->local, op->size_bytes) ? 0 : CELLAR_INVALID;
    }
    uint32_t bytes = fabric_sim_memory_words(op) * WORD_BYTES;
    return op->size_bytes == bytes && offset % bytes == 0 ? 0 : CELLAR_INVALID;
}

static uint32_t piece_bytes(const struct fabric_sim *sim) { return sim->config.line_atomic ? LINE_BYTES : WORD_BYTES; }

uint32_t fabric_sim_memory_pieces(const struct fabric_sim *sim, const struct fabric_op *op)
{
    if (!sim->config.torn || (op->kind != FABRIC_READ && op->kind != FABRIC_WRITE)) return 1;
    uint64_t unit = piece_bytes(sim), first = fabric_addr_offset(op->addr);
    return (uint32_t)((first + op->size_bytes - 1) / unit - first / unit + 1);
}

/* The bytes [*from, *to) of the operation that are its piece-th aligned line or word. */
static void piece_range(const struct fabric_sim *sim, const struct fabric_op *op, uint32_t piece, uint64_t *from,
                        uint64_t *to)
{
    *from = 0;
    *to = op->size_bytes;
    if (!sim->config.torn) return;
    uint64_t unit = piece_bytes(sim), start = fabric_addr_offset(op->addr);
    uint64_t low = (start / unit + piece) * unit, high = low + unit;
    if (low > start) *from = low - start;
    if (high - start < *to) *to = high - start;
}

/* Some of the bytes, for the trace: the first and the last word. */
static uint64_t sample(const uint8_t *bytes, uint64_t count)
{
    uint64_t first = 0, last = 0, take = count < WORD_BYTES ? count : WORD_BYTES;
    memcpy(&first, bytes, take);
    memcpy(&last, bytes + count - take, take);
    return first ^ (last << 1 | last >> 63);
}

bool fabric_sim_memory_matches(const struct fabric_op *op, const uint64_t old[2])
{
    if (op->kind == FABRIC_CAS) return old[0] == op->compare;
    if (op->kind == FABRIC_MASKED_CAS) return ((old[0] ^ op->compare) & op->compare_mask) == 0;
    return op->kind != FABRIC_WIDE_CAS || fabric_wide_matches(op, old);
}

void fabric_sim_memory_atomic(const struct fabric_op *op, const uint64_t old[2], uint64_t new[2])
{
    uint64_t word = old[0];
    if (fabric_is_wide(op)) {
        fabric_wide_apply(op, old, new);
        return;
    }
    if (op->kind == FABRIC_FAA) {
        word += op->swap;
    } else if (op->kind == FABRIC_FIELD_FAA) {
        word = fabric_field_add(word, op->swap, op->swap_mask);
    } else if (fabric_sim_memory_matches(op, old)) {
        word = op->kind == FABRIC_CAS ? op->swap : (word & ~op->swap_mask) | (op->swap & op->swap_mask);
    }
    new[0] = word;
    new[1] = 0;
}

static uint8_t *remote_of(const struct fabric_sim *sim, const struct fabric_op *op)
{
    return sim->nodes[fabric_addr_node(op->addr)].memory + fabric_addr_offset(op->addr);
}

void fabric_sim_memory_fetch(const struct fabric_sim *sim, const struct fabric_op *op, uint64_t old[2])
{
    old[1] = 0;
    memcpy(old, remote_of(sim, op), fabric_sim_memory_words(op) * WORD_BYTES);
}

void fabric_sim_memory_swap(struct fabric_sim *sim, const struct fabric_op *op, const uint64_t old[2], bool answer)
{
    uint64_t new[2];
    size_t bytes = fabric_sim_memory_words(op) * WORD_BYTES;
    fabric_sim_memory_atomic(op, old, new);
    memcpy(remote_of(sim, op), new, bytes);
    if (answer) memcpy(op->local, old, bytes);
}

uint64_t fabric_sim_memory_execute(struct fabric_sim *sim, const struct fabric_op *op, uint32_t piece, bool answer)
{
    uint8_t *remote = remote_of(sim, op), *local = op->local;
    uint64_t from, to;
    if (op->kind != FABRIC_READ && op->kind != FABRIC_WRITE) {
        uint64_t old[2];
        fabric_sim_memory_fetch(sim, op, old);
        fabric_sim_memory_swap(sim, op, old, answer);
        return fabric_sim_memory_digest(old);
    }
    piece_range(sim, op, piece, &from, &to);
    if (op->kind == FABRIC_WRITE) {
        memcpy(remote + from, local + from, to - from);
    } else if (answer) {
        memcpy(local + from, remote + from, to - from);
    }
    return sample(remote + from, to - from);
}
