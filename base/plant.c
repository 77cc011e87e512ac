#include "plant.h"

#ifdef CELLAR_PLANTS
#include <stddef.h>
#include <string.h>

#define EN_BITS 16
#define EN_BITS_SMALL 4

struct plant_choice plant_choice = {PLANT_none, EN_BITS, 0, 0};

bool plant_choose(const char *name)
{
    static const char *const names[] = {"none",
#define X(name, text) #name,
                                        PLANT_MAP(X)
#undef X
    };
    plant_choice.plant = PLANT_none;
    for (size_t i = 1; name && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) plant_choice.plant = (enum plant)i;
    return !name || plant_choice.plant != PLANT_none;
}

void plant_choose_en_small(bool small) { plant_choice.en_bits = small ? EN_BITS_SMALL : EN_BITS; }
#else
/* ISO C forbids an empty translation unit. */
typedef int plant_absent;
#endif
