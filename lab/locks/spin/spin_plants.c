#include "spin_plants.h"

SPIN_PLANTS(PLANT_DEFINE)
