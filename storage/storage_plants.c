#include "storage_plants.h"

STORAGE_PLANTS(PLANT_DEFINE)
