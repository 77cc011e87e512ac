/* machine.h - the machine this runs on, for reports and for what fits into it. */
#pragma once

#include <stdint.h>

struct machine {
    uint32_t cores; /* that this process may use */
    uint64_t memory_bytes;
    char cpu[96]; /* model, or "unknown CPU" */
};

void machine_read(struct machine *machine);
