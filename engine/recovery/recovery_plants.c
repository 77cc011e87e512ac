#include "recovery_plants.h"

RECOVERY_PLANTS(PLANT_DEFINE)
