#include "pending.h"

#include <stdlib.h>
#include <string.h>

struct pending *pending_make(uint32_t lists, uint32_t capacity)
{
    struct pending *pending = aligned_alloc(64, lists * sizeof *pending);
    if (!pending) return NULL;
    memset(pending, 0, lists * sizeof *pending);
    for (uint32_t i = 0; i < lists; i++) {
        pending[i].capacity = capacity;
        pending[i].calls = calloc(capacity, sizeof *pending[i].calls);
        if (pending[i].calls) continue;
        pending_free(pending, lists);
        return NULL;
    }
    return pending;
}

void pending_free(struct pending *pending, uint32_t lists)
{
    for (uint32_t i = 0; pending && i < lists; i++) free(pending[i].calls);
    free(pending);
}
