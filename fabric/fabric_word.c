/*
 * fabric_word.c - a futex for each word that is waited for: the thread that counts it down wakes those that sleep
 * on it, and no others. A word that no thread sleeps on costs no call of the kernel.
 */
#include "fabric_word.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Until woken, or *word != seen, or the time is over, or for no reason: the caller looks again. */
static void sleep_on(uint32_t *word, uint32_t seen, uint64_t left_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, left_ns == UINT64_MAX ? NULL : &timeout, NULL, 0);
}

/*
 * INV-FABRIC-6. FABRIC_WAITED is set in the count that is slept on, so a thread that brings that down either finds
 * it, or the kernel finds another count. No spinning: the thread that it waits for may need this very processor.
 */
int fabric_word_wait(uint32_t *word, uint64_t timeout_ns)
{
    bool timed = timeout_ns != UINT64_MAX;
    uint64_t begin_ns = timed ? monotonic_ns() : 0;

    for (;;) {
        uint32_t now = __atomic_load_n(word, __ATOMIC_SEQ_CST);
        if ((now & ~FABRIC_WAITED) == 0) return 0;
        uint64_t gone_ns = timed ? monotonic_ns() - begin_ns : 0;
        if (timed && gone_ns >= timeout_ns) return CELLAR_DEADLINE;
        if (!(now & FABRIC_WAITED) &&
            !__atomic_compare_exchange_n(word, &now, now | FABRIC_WAITED, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        sleep_on(word, now | FABRIC_WAITED, timed ? timeout_ns - gone_ns : UINT64_MAX);
    }
}

void fabric_word_wake(uint32_t *word)
{
    /* The word is of this process alone, and perhaps unmapped by now: then no sleeper is found. */
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
