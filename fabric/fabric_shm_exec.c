/*
 * fabric_shm_exec.c - the posting thread executes each operation at once. The hot path of the whole engine.
 *
 * Remote memory is touched by atomic accesses of at most 8 bytes only. On x86 these are plain moves; they make words
 * untorn, give readers the order that fabric.h promises, and tell ThreadSanitizer what is meant.
 * A READ must not overtake an earlier WRITE of its endpoint (rule 1), and a completed WRITE is seen by all (rule 4): the
 * store buffer would break both, so a full fence stands between a WRITE and whatever needs it seen. Atomics bring their own.
 */
#include "fabric_shm_internal.h"
#include "must.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LINE_BYTES 64
#define PREFETCH_LINES 8     /* of one operation; hardware prefetchers follow longer runs by themselves */
#define PREFETCH_BATCH_MIN 2 /* a single operation has nothing to overlap with */

/* ---- copies ---- */

/* Pieces of 1, 2 and 4 bytes, up to `size` of them, until the remote address is 8-aligned or nothing is left. */
static uint32_t load_pieces(const unsigned char *remote, unsigned char *local, uint32_t size)
{
    uint32_t done = 0;

    while (done < size) {
        const unsigned char *from = remote + done;
        uint32_t left = size - done;
        if (((uintptr_t)from & 1) || left < 2) {
            local[done] = __atomic_load_n(from, __ATOMIC_ACQUIRE);
            done += 1;
        } else if (((uintptr_t)from & 2) || left < 4) {
            uint16_t piece = __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_ACQUIRE);
            memcpy(local + done, &piece, sizeof piece);
            done += 2;
        } else if (((uintptr_t)from & 4) || left < 8) {
            uint32_t piece = __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_ACQUIRE);
            memcpy(local + done, &piece, sizeof piece);
            done += 4;
        } else {
            break;
        }
    }
    return done;
}

static uint32_t store_pieces(unsigned char *remote, const unsigned char *local, uint32_t size)
{
    uint32_t done = 0;

    while (done < size) {
        unsigned char *to = remote + done;
        uint32_t left = size - done;
        if (((uintptr_t)to & 1) || left < 2) {
            __atomic_store_n(to, local[done], __ATOMIC_RELEASE);
            done += 1;
        } else if (((uintptr_t)to & 2) || left < 4) {
            uint16_t piece;
            memcpy(&piece, local + done, sizeof piece);
            __atomic_store_n((uint16_t *)(void *)to, piece, __ATOMIC_RELEASE);
            done += 2;
        } else if (((uintptr_t)to & 4) || left < 8) {
            uint32_t piece;
            memcpy(&piece, local + done, sizeof piece);
            __atomic_store_n((uint32_t *)(void *)to, piece, __ATOMIC_RELEASE);
            done += 4;
        } else {
            break;
        }
    }
    return done;
}

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

static inline void copy_from(const unsigned char *remote, unsigned char *local, uint32_t size)
{
    if (UNLIKELY((uintptr_t)remote & 7)) {
        uint32_t done = load_pieces(remote, local, size);
        remote += done, local += done, size -= done;
    }
    for (; size >= 32; remote += 32, local += 32, size -= 32) {
        load_word(remote, local);
        load_word(remote + 8, local + 8);
        load_word(remote + 16, local + 16);
        load_word(remote + 24, local + 24);
    }
    for (; size >= 8; remote += 8, local += 8, size -= 8) load_word(remote, local);
    if (UNLIKELY(size)) load_pieces(remote, local, size);
}

static inline void copy_to(unsigned char *remote, const unsigned char *local, uint32_t size)
{
    if (UNLIKELY((uintptr_t)remote & 7)) {
        uint32_t done = store_pieces(remote, local, size);
        remote += done, local += done, size -= done;
    }
    for (; size >= 32; remote += 32, local += 32, size -= 32) {
        store_word(remote, local);
        store_word(remote + 8, local + 8);
        store_word(remote + 16, local + 16);
        store_word(remote + 24, local + 24);
    }
    for (; size >= 8; remote += 8, local += 8, size -= 8) store_word(remote, local);
    if (UNLIKELY(size)) store_pieces(remote, local, size);
}

/* ---- atomics ---- */

/* Tries again while only bits outside compare_mask have changed; each such failure is another operation's success. */
static inline uint64_t masked_cas(uint64_t *word, const struct fabric_op *op)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    while (((old ^ op->compare) & op->compare_mask) == 0) {
        uint64_t new = (old & ~op->swap_mask) | (op->swap & op->swap_mask);
        if (__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) break;
    }
    return old;
}

static inline uint64_t plain_cas(uint64_t *word, const struct fabric_op *op)
{
    uint64_t old = op->compare;
    __atomic_compare_exchange_n(word, &old, op->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    return old;
}

/* ---- one operation ---- */

/* WRITEs before it are seen by all before anything after it is read. */
static inline void order_writes(struct fabric_shm_ep *sep)
{
#if defined(WITH_TSAN)
    __atomic_fetch_add(&sep->order_word, 1, __ATOMIC_SEQ_CST);
#else
    (void)sep;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The cold half of the bounds check: is the operation wrong, or the node dead? */
static __attribute__((noinline, cold)) int refuse(const struct fabric_shm *shm, const struct fabric_op *op)
{
    uint64_t offset = fabric_addr_offset(op->addr), bytes = shm->fabric.mn_bytes;

    if (fabric_addr_node(op->addr) >= shm->fabric.mn_count) return -CELLAR_ERR_INVALID;
    if (op->size_bytes == 0 || op->size_bytes > bytes || offset > bytes - op->size_bytes) return -CELLAR_ERR_INVALID;
    return -CELLAR_ERR_UNREACHABLE;
}

static inline int execute_atomic(struct fabric_op *op, unsigned char *remote)
{
    uint64_t *word = (uint64_t *)(void *)remote, old;

    if (UNLIKELY(((uintptr_t)remote & 7) || op->size_bytes != sizeof *word)) return -CELLAR_ERR_INVALID;
    if (op->kind == FABRIC_MASKED_CAS)
        old = masked_cas(word, op);
    else if (op->kind == FABRIC_FAA)
        old = __atomic_fetch_add(word, op->swap, __ATOMIC_SEQ_CST);
    else
        old = plain_cas(word, op);
    memcpy(op->local, &old, sizeof old);
    return 0;
}

/* *unseen: a WRITE of this batch may still be in the store buffer. */
static inline int execute(struct fabric_shm *shm, struct fabric_shm_ep *sep, struct fabric_op *op, bool *unseen)
{
    if (UNLIKELY(op->kind >= FABRIC_SEND))
        return op->kind == FABRIC_SEND ? fabric_shm_send(sep, op) : -CELLAR_ERR_INVALID;

    uint32_t node = fabric_addr_node(op->addr);
    uint64_t offset = fabric_addr_offset(op->addr);
    if (UNLIKELY(node >= FABRIC_NODES_MAX)) return -CELLAR_ERR_INVALID;
    uint64_t limit = __atomic_load_n(&shm->nodes[node].limit, __ATOMIC_RELAXED);
    if (UNLIKELY((uint64_t)op->size_bytes - 1 >= limit || offset > limit - op->size_bytes)) return refuse(shm, op);
    unsigned char *remote = shm->nodes[node].base + offset;

    if (op->kind == FABRIC_READ) {
        if (*unseen) order_writes(sep), *unseen = false;
        copy_from(remote, op->local, op->size_bytes);
    } else if (op->kind == FABRIC_WRITE) {
        copy_to(remote, op->local, op->size_bytes);
        *unseen = true;
    } else {
        int code = execute_atomic(op, remote);
        if (LIKELY(code == 0)) *unseen = false;
        return code;
    }
    return 0;
}

/* ---- batches ---- */

/* Prefetching needs no bounds check: it never faults. */
static inline void prefetch(const struct fabric_shm *shm, const struct fabric_op *op)
{
    uintptr_t line =
        (uintptr_t)shm->nodes[fabric_addr_node(op->addr) % FABRIC_NODES_MAX].base + fabric_addr_offset(op->addr);
    uintptr_t end =
        line + (op->size_bytes < PREFETCH_LINES * LINE_BYTES ? op->size_bytes : PREFETCH_LINES * LINE_BYTES);

    for (line &= ~(uintptr_t)(LINE_BYTES - 1); line < end; line += LINE_BYTES)
        __builtin_prefetch((const void *)line, 1);
}

static inline uint32_t execute_batch(struct fabric_shm *shm, struct fabric_shm_ep *sep, struct fabric_op *ops,
                                     uint32_t count)
{
    uint32_t failed = 0;
    bool unseen = false;

    /* Before any region is looked at: see fabric_shm_node_stop. */
    __atomic_store_n(&sep->post_sequence, sep->post_sequence + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (count >= PREFETCH_BATCH_MIN)
        for (uint32_t i = 0; i < count; i++) prefetch(shm, &ops[i]);
    for (uint32_t i = 0; i < count; i++) {
        ops[i].status = execute(shm, sep, &ops[i], &unseen);
        failed += ops[i].status != 0;
    }
    if (unseen) order_writes(sep);
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

/* Executed now, completed later: poll delivers it. With too many batches in flight the post itself takes the delay. */
static __attribute__((noinline)) void post_delayed(struct fabric_shm *shm, struct fabric_shm_ep *sep,
                                                   struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    uint32_t failed = execute_batch(shm, sep, ops, count);
    uint64_t due_ns = fabric_shm_clock_ns(&shm->clock) + shm->rtt_ns;

    if (sep->delayed_tail - sep->delayed_head == FABRIC_SHM_DELAYED_BATCHES) {
        while (fabric_shm_clock_ns(&shm->clock) < due_ns) continue;
        wait->failed += failed;
        return;
    }
    wait->pending += count;
    sep->delayed[sep->delayed_tail++ % FABRIC_SHM_DELAYED_BATCHES] =
        (struct fabric_shm_delayed){.due_ns = due_ns, .wait = wait, .ops = ops, .count = count, .failed = failed};
}

void fabric_shm_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct fabric_shm *shm = (struct fabric_shm *)ep->fabric;
    struct fabric_shm_ep *sep = (struct fabric_shm_ep *)ep;

    if (UNLIKELY(sep->delayed && !ep->bulk)) {
        post_delayed(shm, sep, ops, count, wait);
        return;
    }
    wait->failed += execute_batch(shm, sep, ops, count);
}
