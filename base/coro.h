/*
 * coro.h - stackful coroutines: the switch only; who runs when is the scheduler's affair (engine/sched.h).
 *
 * A coroutine runs between a resume and its next yield, always on the thread that resumes it. Resumes nest: a
 * simulated worker is a coroutine that resumes coordinators. A first parameter `struct coro *` means "may suspend".
 * ASan and TSan are told of each switch. Stacks are mapped with a guard page below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct coro;
typedef void (*coro_fn)(struct coro *co, void *arg);

/* A suspended coroutine that will run fn(co, arg) on its first resume; NULL without memory. stack_bytes >= 16 KiB. */
struct coro *coro_new(size_t stack_bytes, coro_fn fn, void *arg);
/* Runs co until it yields or ends. co must be neither running nor done. */
void coro_resume(struct coro *co);
/* Returns to whoever resumed co; only from within co. */
void coro_yield(struct coro *co);
/* fn has returned. */
bool coro_done(const struct coro *co);
/* Frees a coroutine that is not running (done, or suspended: its stack is dropped as it is). NULL is allowed. */
void coro_free(struct coro *co);
