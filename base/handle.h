/*
 * handle.h - memory for what callers hold pointers to. What was given back reads as zero from then on, and is no
 * other's; so does all of it in a child of fork. So a call by a pointer that is out of date is refused, and touches
 * nothing. It costs address space.
 */
#pragma once

#include <stddef.h>

/* All zero, aligned to cache lines. NULL: there is no more address space. */
void *handle_new(size_t bytes);
/* `bytes` as they were asked for. NULL is allowed. */
void handle_drop(void *handle, size_t bytes);
