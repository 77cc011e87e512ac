/* hash_bits.h - short hashes, so that tests meet what nearly never happens. */
#pragma once

#include "plant.h"

/* In builds with planted bugs hashes of keys, and places of long values, have so many bits; 0: all. */
static inline void hash_bits(uint32_t bits)
{
#ifdef CELLAR_PLANTS
    plant_choice.key_bits = bits;
#else
    (void)bits;
#endif
}
