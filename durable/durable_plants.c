#include "durable_plants.h"

DURABLE_PLANTS(PLANT_DEFINE)
