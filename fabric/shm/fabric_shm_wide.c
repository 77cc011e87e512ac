/*
 * fabric_shm_wide.c - atomics by fields, and those on 16 bytes. Off the engine's path: execute() calls these out of
 * line.
 *
 * The processor swaps an aligned pair of words, by CMPXCHG16B or by LDAXP and STLXP, and that is atomic against its
 * atomics on either of them: so wide atomics exclude those on 8 bytes without a lock, in any process. Compilers reach
 * it through a library whose locks would not, hence the assembly; ThreadSanitizer does not see into that, and is
 * told.
 */
#include "fabric_shm_internal.h"
#include "tsan.h"

#include <string.h>

/*
 * A thread that sees the pair's new value sees all that was done before it was written: the processor keeps this, the
 * checker must know.
 */
static inline void synchronize(uint64_t *pair)
{
#if defined(WITH_TSAN)
    __atomic_fetch_add(pair, 0, __ATOMIC_ACQ_REL);
#else
    (void)pair;
#endif
}

#if defined(__x86_64__)
/* False: *expected is what was there instead. */
static inline bool swap_pair(uint64_t *pair, uint64_t expected[2], const uint64_t desired[2])
{
    bool done;
    __asm__ __volatile__("lock cmpxchg16b %1"
                         : "=@ccz"(done), "+m"(*(uint64_t(*)[2])(void *)pair), "+a"(expected[0]), "+d"(expected[1])
                         : "b"(desired[0]), "c"(desired[1])
                         : "memory");
    return done;
}
#elif defined(__aarch64__)
/* The same. What was loaded is of one time only if it is also stored: where it does not match, as it is. */
static inline bool swap_pair(uint64_t *pair, uint64_t expected[2], const uint64_t desired[2])
{
    uint64_t old[2], new[2];
    uint32_t failed;
    __asm__ __volatile__("1: ldaxp %[old0], %[old1], %[pair]\n"
                         "   cmp %[old0], %[expected0]\n"
                         "   ccmp %[old1], %[expected1], #0, eq\n"
                         "   csel %[new0], %[desired0], %[old0], eq\n"
                         "   csel %[new1], %[desired1], %[old1], eq\n"
                         "   stlxp %w[failed], %[new0], %[new1], %[pair]\n"
                         "   cbnz %w[failed], 1b\n"
                         : [old0] "=&r"(old[0]), [old1] "=&r"(old[1]), [new0] "=&r"(new[0]), [new1] "=&r"(new[1]),
                           [failed] "=&r"(failed), [pair] "+Q"(*(uint64_t(*)[2])(void *)pair)
                         : [expected0] "r"(expected[0]), [expected1] "r"(expected[1]), [desired0] "r"(desired[0]),
                           [desired1] "r"(desired[1])
                         : "cc", "memory");
    bool done = old[0] == expected[0] && old[1] == expected[1];
    memcpy(expected, old, sizeof old);
    return done;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
/*
 * The two words may come from different times when they are loaded; what the swap finds is of one time. So even a CAS
 * that does not match ends with a swap, of the pair for itself.
 */
static int execute_pair(const struct fabric_op *op, uint64_t *pair)
{
    struct fabric_wide *wide = op->local;
    uint64_t old[2] = {__atomic_load_n(&pair[0], __ATOMIC_RELAXED), __atomic_load_n(&pair[1], __ATOMIC_RELAXED)};
    uint64_t new[2];
    synchronize(pair);
    do fabric_wide_apply(op, old, new);
    while (!swap_pair(pair, old, new));
    synchronize(pair);
    memcpy(wide->old, old, sizeof old);
    return 0;
}
#else
static int execute_pair(const struct fabric_op *op, uint64_t *pair)
{
    (void)op, (void)pair, (void)synchronize;
    return CELLAR_UNSUPPORTED;
}
#endif

static int execute_fields(const struct fabric_op *op, uint64_t *word)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;
    do new = fabric_field_add(old, op->swap, op->swap_mask);
    while (!__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    memcpy(op->local, &old, sizeof old);
    return 0;
}

int fabric_shm_execute_wide(const struct fabric_op *op, void *remote)
{
    uint32_t bytes = fabric_is_wide(op) ? sizeof(uint64_t[2]) : sizeof(uint64_t);
    if ((uintptr_t)remote % bytes || op->size_bytes != bytes) return CELLAR_INVALID;
    return fabric_is_wide(op) ? execute_pair(op, remote) : execute_fields(op, remote);
}
