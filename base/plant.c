#include "plant.h"

#ifdef CELLAR_PLANTS
#include <stddef.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) #name,
    PLANT_MAP(X)
#undef X
};

/* The one global of the tree: chosen once, before anything runs, in builds that are never shipped. */
static const char *chosen;

bool plant_choose(const char *name)
{
    chosen = NULL;
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) chosen = names[i];
    return !name || chosen;
}

bool plant_active(const char *name) { return chosen && strcmp(chosen, name) == 0; }
#else
/* ISO C forbids an empty translation unit. */
typedef int plant_absent;
#endif
