#include "modes_plants.h"

MODES_PLANTS(PLANT_DEFINE)
