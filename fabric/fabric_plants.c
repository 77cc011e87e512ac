#include "fabric_plants.h"

FABRIC_PLANTS(PLANT_DEFINE)
