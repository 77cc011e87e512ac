#include "shiftlock_plants.h"

SHIFTLOCK_PLANTS(PLANT_DEFINE)
