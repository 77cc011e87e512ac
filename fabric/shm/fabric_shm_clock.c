/*
 * fabric_shm_clock.c - nanoseconds of CLOCK_MONOTONIC, read from the time-stamp counter where the kernel itself
 * trusts it.
 *
 * The rate is measured once per open, against the clock itself: a reading then costs one rdtsc and one multiplication.
 */
#include "fabric_shm_internal.h"
#include "descriptor.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALIBRATION_NS 4000000

uint64_t fabric_shm_clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t fabric_shm_machine_ns(const struct fabric_ep *ep)
{
    (void)ep;
    return fabric_shm_clock_monotonic_ns();
}

#if defined(__x86_64__)
/* The kernel uses the counter as its own clock only where it is invariant and equal on all processors. */
static bool kernel_trusts_tsc(void)
{
    char name[8] = {0};
    int fd =
        descriptor_high(open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));

    if (fd < 0) return false;
    ssize_t got = read(fd, name, sizeof name - 1);
    close(fd);
    return got >= 4 && memcmp(name, "tsc\n", 4) == 0;
}

/* Both clocks at one instant: of a few tries, the one that was disturbed least. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        uint64_t now = fabric_shm_clock_monotonic_ns();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now;
        }
    }
}

void fabric_shm_clock_open(struct fabric_shm_clock *clock)
{
    memset(clock, 0, sizeof *clock);
    if (!kernel_trusts_tsc()) return;

    uint64_t ticks = 0, ns = 0;
    read_both(&clock->base_ticks, &clock->base_ns);
    do read_both(&ticks, &ns);
    while (ns - clock->base_ns < CALIBRATION_NS);
    if (ticks <= clock->base_ticks) return;
    clock->ns_per_tick = (uint64_t)(((fabric_shm_wide)(ns - clock->base_ns) << 32) / (ticks - clock->base_ticks));
    clock->tsc = clock->ns_per_tick != 0;
}
#else
void fabric_shm_clock_open(struct fabric_shm_clock *clock) { memset(clock, 0, sizeof *clock); }
#endif
