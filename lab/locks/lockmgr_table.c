/* lockmgr_table.c - the lock algorithms of the laboratory: the library's and all that they are measured against. */
#include "lockmgr_algorithm.h"

/* Every algorithm: X(name of its symbol). In the order in which `cellar list` shows them. */
#define ALGORITHMS(X)                                                                                                  \
    X(cas)                                                                                                             \
    X(cas_backoff)                                                                                                     \
    X(retry)                                                                                                           \
    X(drtm)                                                                                                            \
    X(dslr)                                                                                                            \
    X(dslr_plus)                                                                                                       \
    X(declock_flat)                                                                                                    \
    X(declock)                                                                                                         \
    X(mcs)                                                                                                             \
    X(ncosed)                                                                                                          \
    X(rmarw)                                                                                                           \
    X(rpc)                                                                                                             \
    X(netchain)                                                                                                        \
    X(shiftlock)                                                                                                       \
    X(netlock)                                                                                                         \
    X(lotus)

#define X(name) extern const struct lockmgr_algorithm lockmgr_algorithm_##name;
ALGORITHMS(X)
#undef X

#define X(name) &lockmgr_algorithm_##name,
const struct lockmgr_algorithm *const lockmgr_algorithms[] = {ALGORITHMS(X) NULL};
#undef X
