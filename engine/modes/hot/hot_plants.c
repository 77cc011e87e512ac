#include "hot_plants.h"

HOT_PLANTS(PLANT_DEFINE)
