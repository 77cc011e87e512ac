/*
 * lines_model.h - a model of cache lines between threads, fed by the compiler: code built with -fsanitize=thread calls
 * a function for each access to memory and for each atomic, and those of lines_model.c stand in for the sanitizer's.
 *
 * Each thread has a cache without end. A read takes a line over when another thread has written it since this one had
 * it; a write takes it over when another thread has it. What is counted: lines taken over, and atomic instructions, by
 * the place in the code. Lines that no other thread touches cost nothing, however often they are written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts from here on, or no longer; all lines are in no cache then, and all counts 0. */
void lines_model_begin(void);
void lines_model_end(void);
/* The calling thread's number, from 1 on; 0: it is not counted, as if it did nothing. */
void lines_model_thread(uint32_t number);
/* Memory that is the pool's: what is shared there is data, or stands for what a network would carry. */
void lines_model_pool(const void *begin, uint64_t bytes);

struct lines_site {
    uintptr_t pc;
    bool pool;
    uint64_t taken_read, taken_write, atomics;
};
struct lines_total {
    uint64_t accesses, taken[2], atomics[2]; /* of the process's own memory, and of the pool */
};
void lines_model_total(struct lines_total *total);
/* The places that have any count, those with most first; returns how many, `max` at most. */
uint32_t lines_model_sites(struct lines_site *sites, uint32_t max);
