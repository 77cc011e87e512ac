/* peer_phase.h - what a run's clients are told, and their clock. */
#pragma once

#include <stdint.h>
#include <time.h>

enum peer_phase { PEER_WARM, PEER_MEASURE, PEER_STOP };

static inline uint64_t peer_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline uint64_t peer_now_ns(void) { return peer_clock_ns(CLOCK_MONOTONIC); }
/* Processor time of all threads. */
static inline uint64_t peer_cpu_ns(void) { return peer_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
