/*
 * fabric_shm_exec.c - the posting thread executes each operation at once. The hot path of the whole engine.
 *
 * Remote memory is touched by atomic accesses of at most 8 bytes only. On x86 these are plain moves; they make words
 * untorn, give readers the order that fabric.h promises, and tell ThreadSanitizer what is meant.
 * A READ must not overtake an earlier WRITE or atomic of its endpoint (rule 1), and what has completed is seen by all
 * (rule 4): the store buffer would break both, so a full fence stands between a WRITE and whatever needs it seen. On
 * x86 atomics bring their own.
 */
#include "fabric_shm_internal.h"
#include "fence.h"
#include "must.h"
#include "tsan.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LINE_BYTES 64
#define PREFETCH_LINES 8     /* of one operation; hardware prefetchers follow longer runs by themselves */
#define PREFETCH_BATCH_MIN 8 /* measured: out-of-order execution alone overlaps the misses of smaller batches */

/* ---- copies ---- */

static inline void load_word(const unsigned char *remote, unsigned char *local)
{
    uint64_t word = __atomic_load_n((const uint64_t *)(const void *)remote, __ATOMIC_ACQUIRE);
    memcpy(local, &word, sizeof word);
}

static inline void store_word(unsigned char *remote, const unsigned char *local)
{
    uint64_t word;
    memcpy(&word, local, sizeof word);
    __atomic_store_n((uint64_t *)(void *)remote, word, __ATOMIC_RELEASE);
}

/* The largest of 1, 2, 4 bytes that is aligned at `address` and not more than `left`. */
static inline uint32_t piece_bytes(uintptr_t address, uint32_t left)
{
    if ((address & 1) || left < 2) return 1;
    return (address & 2) || left < 4 ? 2 : 4;
}

static inline void load_piece(const unsigned char *remote, unsigned char *local, uint32_t piece)
{
    uint16_t two;
    uint32_t four;

    if (piece == 1) {
        *local = __atomic_load_n(remote, __ATOMIC_ACQUIRE);
    } else if (piece == 2) {
        two = __atomic_load_n((const uint16_t *)(const void *)remote, __ATOMIC_ACQUIRE);
        memcpy(local, &two, sizeof two);
    } else {
        four = __atomic_load_n((const uint32_t *)(const void *)remote, __ATOMIC_ACQUIRE);
        memcpy(local, &four, sizeof four);
    }
}

static inline void store_piece(unsigned char *remote, const unsigned char *local, uint32_t piece)
{
    uint16_t two;
    uint32_t four;

    if (piece == 1) {
        __atomic_store_n(remote, *local, __ATOMIC_RELEASE);
    } else if (piece == 2) {
        memcpy(&two, local, sizeof two);
        __atomic_store_n((uint16_t *)(void *)remote, two, __ATOMIC_RELEASE);
    } else {
        memcpy(&four, local, sizeof four);
        __atomic_store_n((uint32_t *)(void *)remote, four, __ATOMIC_RELEASE);
    }
}

/* Any alignment, any size: pieces up to the first aligned word, words, pieces. */
static __attribute__((noinline)) void load_unaligned(const unsigned char *remote, unsigned char *local, uint32_t size)
{
    uint32_t piece;

    for (; size > 0; remote += piece, local += piece, size -= piece) {
        piece = ((uintptr_t)remote & 7) || size < 8 ? piece_bytes((uintptr_t)remote, size) : 8;
        if (piece == 8)
            load_word(remote, local);
        else
            load_piece(remote, local, piece);
    }
}

static __attribute__((noinline)) void store_unaligned(unsigned char *remote, const unsigned char *local, uint32_t size)
{
    uint32_t piece;

    for (; size > 0; remote += piece, local += piece, size -= piece) {
        piece = ((uintptr_t)remote & 7) || size < 8 ? piece_bytes((uintptr_t)remote, size) : 8;
        if (piece == 8)
            store_word(remote, local);
        else
            store_piece(remote, local, piece);
    }
}

/*
 * Where the processor moves 16 aligned bytes without tearing either word, and in program order, two words go at once.
 * (Of all x86 makers, for processors with AVX, the manuals promise even more: all 16 bytes at once.) ThreadSanitizer
 * must see single words.
 */
#if defined(__SSE2__) && !defined(WITH_TSAN)
#define PAIR_BYTES 16
/* This processor keeps loads among loads, and stores among stores, in program order: the compiler must, too. */
static inline void ordered(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
typedef long long pair __attribute__((vector_size(16), may_alias));
typedef long long loose_pair __attribute__((vector_size(16), may_alias, aligned(1)));
static inline void load_pair(const unsigned char *remote, unsigned char *local)
{
    *(loose_pair *)(void *)local = *(const volatile pair *)(const volatile void *)remote;
}
static inline void store_pair(unsigned char *remote, const unsigned char *local)
{
    *(volatile pair *)(volatile void *)remote = *(const loose_pair *)(const void *)local;
}
#else
#define PAIR_BYTES 8
static inline void ordered(void) {} /* each word is an acquire or a release by itself */
static inline void load_pair(const unsigned char *remote, unsigned char *local)
{
    load_word(remote, local);
    load_word(remote + 8, local + 8);
}
static inline void store_pair(unsigned char *remote, const unsigned char *local)
{
    store_word(remote, local);
    store_word(remote + 8, local + 8);
}
#endif

/* Aligned words in ascending order, as everything here; most are whole lines. */
static inline void copy_from(const unsigned char *remote, unsigned char *local, uint32_t size)
{
    if (UNLIKELY(((uintptr_t)remote | size) & 7)) {
        load_unaligned(remote, local, size);
        return;
    }
    ordered();
    if ((uintptr_t)remote & (PAIR_BYTES - 1)) {
        load_word(remote, local);
        remote += 8, local += 8, size -= 8;
    }
    for (; size >= LINE_BYTES; remote += LINE_BYTES, local += LINE_BYTES, size -= LINE_BYTES)
        for (uint32_t i = 0; i < LINE_BYTES; i += 16) load_pair(remote + i, local + i);
    for (; size >= 16; remote += 16, local += 16, size -= 16) load_pair(remote, local);
    if (size) load_word(remote, local);
    ordered();
}

static inline void copy_to(unsigned char *remote, const unsigned char *local, uint32_t size)
{
    if (((uintptr_t)remote | size) & 7) {
        if (size == 2 && !((uintptr_t)remote & 1))
            store_piece(remote, local, 2); /* an epoch number: one in each apply */
        else
            store_unaligned(remote, local, size);
        return;
    }
    ordered();
    if ((uintptr_t)remote & (PAIR_BYTES - 1)) {
        store_word(remote, local);
        remote += 8, local += 8, size -= 8;
    }
    for (; size >= LINE_BYTES; remote += LINE_BYTES, local += LINE_BYTES, size -= LINE_BYTES)
        for (uint32_t i = 0; i < LINE_BYTES; i += 16) store_pair(remote + i, local + i);
    for (; size >= 16; remote += 16, local += 16, size -= 16) store_pair(remote, local);
    if (size) store_word(remote, local);
    ordered();
}

/* ---- order ---- */

/*
 * INV-FABRIC-2. *unseen: a WRITE of this batch, or what an atomic of it has written, may still be in the store
 * buffer. An atomic of x86 is a full fence; elsewhere it is ordered among the other operations of this thread, but
 * not ahead of whatever this thread reads without them.
 */
#if defined(__x86_64__)
#define ATOMICS_ARE_FENCES true
#else
#define ATOMICS_ARE_FENCES false
#endif

static inline void order_writes(struct fabric_shm_ep *sep, bool *unseen)
{
    fence_full(&sep->order_word);
    *unseen = false;
}

static inline void atomic_done(bool *unseen, int code) { *unseen = !ATOMICS_ARE_FENCES || (*unseen && code != 0); }

/* ---- atomics ---- */

/*
 * INV-FABRIC-3. Tries again while only bits outside compare_mask have changed; each such failure is another
 * operation's success. INV-FABRIC-2. A refusal is no atomic but a load, and holds only if no WRITE before it was
 * unseen.
 */
static inline uint64_t masked_cas(struct fabric_shm_ep *sep, uint64_t *word, const struct fabric_op *op, bool *unseen)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    for (;;) {
        while (((old ^ op->compare) & op->compare_mask) == 0) {
            uint64_t new = (old & ~op->swap_mask) | (op->swap & op->swap_mask);
            if (__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) return old;
        }
        if (LIKELY(!*unseen)) return old;
        order_writes(sep, unseen);
        old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
}

static inline uint64_t plain_cas(uint64_t *word, const struct fabric_op *op)
{
    uint64_t old = op->compare;
    __atomic_compare_exchange_n(word, &old, op->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    return old;
}

/* ---- one operation ---- */

/* The cold half of the bounds check: is the operation wrong, or the node dead? */
static __attribute__((noinline, cold)) int refuse(const struct fabric_shm *shm, const struct fabric_op *op)
{
    uint64_t offset = fabric_addr_offset(op->addr), bytes = shm->fabric.mn_bytes;

    if (fabric_addr_node(op->addr) >= shm->fabric.mn_count) return CELLAR_INVALID;
    if (op->size_bytes == 0 || op->size_bytes > bytes || offset > bytes - op->size_bytes) return CELLAR_INVALID;
    return CELLAR_UNREACHABLE;
}

static inline int execute_atomic(struct fabric_shm_ep *sep, struct fabric_op *op, unsigned char *remote, bool *unseen)
{
    uint64_t *word = (uint64_t *)(void *)remote, old;

    if (UNLIKELY(((uintptr_t)remote & 7) || op->size_bytes != sizeof *word)) return CELLAR_INVALID;
    if (op->kind == FABRIC_MASKED_CAS)
        old = masked_cas(sep, word, op, unseen);
    else if (op->kind == FABRIC_FAA)
        old = __atomic_fetch_add(word, op->swap, __ATOMIC_SEQ_CST);
    else
        old = plain_cas(word, op);
    memcpy(op->local, &old, sizeof old);
    return 0;
}

/* What names no memory node, or no counter: a SEND, or a mistake. And the atomics that the engine has no use for. */
static __attribute__((noinline)) int execute_other(const struct fabric_shm *shm, struct fabric_shm_ep *sep,
                                                   struct fabric_op *op, bool *unseen)
{
    uint32_t node = fabric_addr_node(op->addr);
    uint64_t offset = fabric_addr_offset(op->addr);

    fabric_count(&sep->ep, op);
    if (op->kind == FABRIC_SEND) return fabric_shm_send(sep, op);
    if (op->kind >= FABRIC_KINDS || op->kind < FABRIC_SEND || node >= FABRIC_NODES_MAX || op->phase >= CELLAR_PHASES)
        return CELLAR_INVALID;
    if (offset + op->size_bytes > __atomic_load_n(&shm->nodes[node].limit, __ATOMIC_ACQUIRE)) return refuse(shm, op);
    int code = fabric_shm_execute_wide(op, shm->nodes[node].base + offset);
    atomic_done(unseen, code);
    return code;
}

/* The node that an operation goes to. Most operations of a batch go to that of the one before. */
struct target {
    uint64_t origin; /* its address 0 */
    unsigned char *base;
    uint64_t limit;
    uint64_t (*counts)[FABRIC_KINDS]; /* of each phase */
};

/* `node` is in range. Acquire, as the base of a node that was replaced is another one. */
static inline void aim(struct target *target, const struct fabric_shm *shm, struct fabric_shm_ep *sep, uint32_t node)
{
    target->origin = fabric_addr_of(node, 0).bits;
    target->limit = __atomic_load_n(&shm->nodes[node].limit, __ATOMIC_ACQUIRE);
    target->base = shm->nodes[node].base;
    target->counts = sep->ep.counters.ops[node];
}

/* Are these bytes there, and some? What is of another node is not. */
static inline bool is_within(const struct target *target, uint64_t offset, uint64_t size)
{
    return offset < target->limit && size - 1 < target->limit - offset;
}

/* Its order is kept in a copy, so that the loop over a batch has its own in a register. */
static inline int execute_apart(const struct fabric_shm *shm, struct fabric_shm_ep *sep, struct fabric_op *op,
                                bool *unseen)
{
    bool now = *unseen;
    int code = execute_other(shm, sep, op, &now);
    *unseen = now;
    return code;
}

static inline int execute(struct fabric_shm *shm, struct fabric_shm_ep *sep, struct fabric_op *op,
                          struct target *target, bool *unseen)
{
    uint32_t kind = op->kind, size = op->size_bytes;
    if (UNLIKELY(kind >= FABRIC_SEND || op->phase >= CELLAR_PHASES)) return execute_apart(shm, sep, op, unseen);
    uint64_t offset = op->addr.bits - target->origin;
    if (UNLIKELY(!is_within(target, offset, size))) {
        uint32_t node = fabric_addr_node(op->addr);
        if (node >= FABRIC_NODES_MAX) return execute_apart(shm, sep, op, unseen);
        aim(target, shm, sep, node);
        offset = fabric_addr_offset(op->addr);
        if (!is_within(target, offset, size)) {
            fabric_count(&sep->ep, op);
            return refuse(shm, op);
        }
    }
    counter_add(&target->counts[op->phase][kind], 1);
    unsigned char *remote = target->base + offset;

    if (kind == FABRIC_READ) {
        if (*unseen) order_writes(sep, unseen);
        copy_from(remote, op->local, size);
        return 0;
    }
    if (kind == FABRIC_WRITE) {
        copy_to(remote, op->local, size);
        *unseen = true;
        return 0;
    }
    int code = execute_atomic(sep, op, remote, unseen);
    atomic_done(unseen, code);
    return code;
}

/* ---- batches ---- */

/*
 * An atomic drains the pipeline, so that without this the misses of a batch would come one after the other.
 * Prefetching needs no bounds check: it never faults. Inlined by force: a compiler that takes this for a function
 * without effects drops the call.
 */
static inline __attribute__((always_inline)) void prefetch(const struct fabric_shm *shm, const struct fabric_op *op)
{
    if (op->kind != FABRIC_READ) return; /* a READ of the same line follows an atomic */
    /* A number, not a pointer: nonsense must not be undefined before it is refused. */
    uintptr_t first = (uintptr_t)shm->nodes[fabric_addr_node(op->addr) % FABRIC_NODES_MAX].base;
    first += fabric_addr_offset(op->addr);
    for (uint32_t at = 0; at < op->size_bytes && at < PREFETCH_LINES * LINE_BYTES; at += LINE_BYTES)
        __builtin_prefetch((const void *)(first + at));
}

static inline uint32_t execute_batch(struct fabric_shm *shm, struct fabric_shm_ep *sep, struct fabric_op *ops,
                                     uint32_t count)
{
    struct target target;
    uint32_t failed = 0;
    bool unseen = false;

    /* Before any region is looked at: see fabric_shm_node_stop. */
    __atomic_store_n(&sep->post_sequence, sep->post_sequence + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    aim(&target, shm, sep, 0);
    if (count >= PREFETCH_BATCH_MIN && ops[0].phase == CELLAR_PHASE_EXECUTE) /* later phases meet what this one met */
        for (uint32_t i = 0; i < count; i++) prefetch(shm, &ops[i]);
    for (struct fabric_op *op = ops, *end = ops + count; op < end; op++) {
        op->status = execute(shm, sep, op, &target, &unseen);
        if (UNLIKELY(op->status)) failed++;
    }
    if (unseen) order_writes(sep, &unseen);
    __atomic_store_n(&sep->post_sequence, sep->post_sequence + 1, __ATOMIC_RELEASE);
    return failed;
}

void fabric_shm_check_local(const struct fabric_op *ops, uint32_t count)
{
#if defined(WITH_ASAN)
    must(!__asan_region_is_poisoned((void *)ops, count * sizeof *ops));
    for (uint32_t i = 0; i < count; i++)
        must(ops[i].status != 0 || !__asan_region_is_poisoned(ops[i].local, ops[i].size_bytes));
#else
    (void)ops, (void)count;
#endif
}

/*
 * Executed already, completed later: poll delivers it. With too many batches in flight the post itself takes the
 * delay.
 */
static __attribute__((noinline)) void complete_later(struct fabric_shm_ep *sep, const struct fabric_op *ops,
                                                     uint32_t count, uint32_t failed, struct fabric_wait *wait)
{
    const struct fabric_shm *shm = (const struct fabric_shm *)sep->ep.fabric;
    uint64_t due_ns = fabric_shm_clock_ns(&shm->clock) + shm->rtt_ns;

    if (sep->delayed_tail - sep->delayed_head == FABRIC_SHM_DELAYED_BATCHES) {
        while (fabric_shm_clock_ns(&shm->clock) < due_ns) continue;
        wait->failed += failed;
        return;
    }
    wait->pending += count;
    sep->delayed[sep->delayed_tail++ % FABRIC_SHM_DELAYED_BATCHES] =
        (struct fabric_shm_delayed){.due_ns = due_ns, .wait = wait, .ops = ops, .count = count, .failed = failed};
    sep->ep.in_flight = sep->delayed_tail - sep->delayed_head;
}

void fabric_shm_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct fabric_shm_ep *sep = (struct fabric_shm_ep *)ep;
    uint32_t failed = execute_batch((struct fabric_shm *)ep->fabric, sep, ops, count);

    if (UNLIKELY(sep->delayed && !ep->bulk))
        complete_later(sep, ops, count, failed, wait);
    else
        wait->failed += failed;
}
