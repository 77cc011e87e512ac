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
