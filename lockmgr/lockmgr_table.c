/*
 * lockmgr_table.c - the lock algorithms of the library: DecLock, for hot records, and the same without its hierarchy.
 * Another table may be linked in its place.
 */
#include "lockmgr_algorithm.h"

extern const struct lockmgr_algorithm lockmgr_algorithm_declock, lockmgr_algorithm_declock_flat;

const struct lockmgr_algorithm *const lockmgr_algorithms[] = {&lockmgr_algorithm_declock,
                                                              &lockmgr_algorithm_declock_flat, NULL};
