/*
 * coro.h - stackful coroutines: the switch only; who runs when is the scheduler's affair (fabric/sched.h).
 *
 * A coroutine runs between a resume and its next yield, always on the thread that resumes it. Resumes nest: a
 * simulated worker is a coroutine that resumes coordinators. A first parameter `struct coro *` means "may suspend".
 * ASan and TSan are told of each switch. Stacks are mapped with a guard page below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct coro;
struct coro_annex;
typedef void (*coro_fn)(struct coro *co, void *arg);

/* A suspended coroutine that will run fn(co, arg) on its first resume; NULL without memory. stack_bytes >= 16 KiB. */
struct coro *coro_new(size_t stack_bytes, coro_fn fn, void *arg);
/* Runs co until it yields or ends. co must be neither running nor done. */
void coro_resume(struct coro *co);
/* Returns to the caller of coro_resume(co); only from within co. */
void coro_yield(struct coro *co);
/*
 * Returns to the caller of coro_resume(co), from within co or any coroutine that runs inside it: one that co has
 * resumed, or that such a one has. All of them stand still until co is resumed again, which goes on here. Those
 * inside count as running meanwhile: only co may be resumed, and none of them freed.
 */
void coro_yield_nested(struct coro *co);
/* A larger stack for functions that a coroutine calls. NULL without memory. stack_bytes as of coro_new. */
struct coro_annex *coro_annex_new(size_t stack_bytes);
/* No call on it may be under way. NULL is allowed. */
void coro_annex_free(struct coro_annex *annex);
/* From within co: fn(arg) on that stack, from which co may be yielded as from its own. One call at a time. */
void coro_annex_call(struct coro *co, struct coro_annex *annex, void (*fn)(void *arg), void *arg);
/* Returns whether the calling thread runs a coroutine. */
bool coro_is_inside(void);
/* Returns whether the calling thread runs that one, perhaps on an annex, and none inside it. */
bool coro_is_here(const struct coro *co);
/* fn has returned. */
bool coro_done(const struct coro *co);
/* Frees a coroutine that is not running (done, or suspended: its stack is dropped as it is). NULL is allowed. */
void coro_free(struct coro *co);
