/*
 * handle.h - memory for what callers hold pointers to. What was given back reads as zero, and is no other's before
 * 200 MiB of handles were asked for since; so does all of it in a child of fork. So a call by a pointer that is out of
 * date is refused, and touches nothing. Memory of this kind, 256 MiB of addresses, is the process's, not a database's:
 * who calls with such a pointer has no database any more.
 */
#pragma once

#include <stddef.h>

/* All zero, aligned to cache lines. NULL: there is no more of it. */
void *handle_new(size_t bytes);
/* `bytes` as they were asked for. NULL is allowed. */
void handle_drop(void *handle, size_t bytes);
