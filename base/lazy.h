/*
 * lazy.h - memory by whole pages that is zero, and taken from the machine only where it is touched: for arrays made
 * for the largest case.
 */
#pragma once

#include <stdint.h>

/* NULL: there is no more address space. */
void *lazy_map(uint64_t bytes);
/* NULL is allowed. */
void lazy_unmap(void *memory, uint64_t bytes);
/* More of it, perhaps elsewhere; NULL, and it is as it was: there is no more address space. */
void *lazy_grow(void *memory, uint64_t bytes, uint64_t more_bytes);
/* It is zero again, and takes nothing from the machine. Of whole pages. */
void lazy_drop(void *memory, uint64_t bytes);
