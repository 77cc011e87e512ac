/*
 * watch.h - what a subcommand needs of the process it runs in, handed to it by main: clocks, interrupts, and a
 * line of the terminal that is redrawn while a phase lasts. (program/main_watch.c)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_phase {
    bool interruptible; /* the first interrupt sets the stop word; else it ends the process */
    /*
     * So long after the first one another one does not end the process either: what the phase has to take away would
     * stay.
     */
    uint64_t grace_ns;
    /*
     * Writes the line (at most `bytes`, terminated) for a phase that has lasted so long; called from another thread.
     * NULL: no line
     */
    void (*draw)(void *arg, double elapsed_s, char *line, size_t bytes);
    void *arg;
};

struct watch {
    uint32_t stop; /* set to 1 by SIGINT or SIGTERM during an interruptible phase; atomically */
    uint64_t (*now_ns)(void);
    uint64_t (*cpu_ns)(void);   /* processor time of the whole process */
    void (*pause)(uint64_t ns); /* the calling thread sleeps for about so long */
    void (*begin)(struct watch *watch, const struct watch_phase *phase);
    /* Wipes the line. From its return on, `arg` of the phase is not used any more. */
    void (*end)(struct watch *watch);
};
