#include "plant.h"

#ifdef CELLAR_PLANTS
#include <stddef.h>
#include <string.h>

#define EN_BITS 16
#define EN_BITS_SMALL 4

struct plant_choice plant_choice = {NULL, EN_BITS, 0, 0};

/* The linker's, of all that PLANT_DEFINE has put there; weak: a program may have none. */
extern const struct plant __start_cellar_plants[] __attribute__((weak));
extern const struct plant __stop_cellar_plants[] __attribute__((weak));

bool plant_choose(const char *name)
{
    plant_choice.plant = NULL;
    if (!name) return true;
    for (const struct plant *plant = __start_cellar_plants; plant != __stop_cellar_plants; plant++)
        if (strcmp(plant->name, name) == 0) plant_choice.plant = plant;
    return plant_choice.plant != NULL;
}

void plant_choose_en_small(bool small) { plant_choice.en_bits = small ? EN_BITS_SMALL : EN_BITS; }
#else
/* ISO C forbids an empty translation unit. */
typedef int plant_absent;
#endif
