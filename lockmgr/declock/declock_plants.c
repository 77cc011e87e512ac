#include "declock_plants.h"

DECLOCK_PLANTS(PLANT_DEFINE)
