#include "dslr_plants.h"

DSLR_PLANTS(PLANT_DEFINE)
