#include "lotus_plants.h"

LOTUS_PLANTS(PLANT_DEFINE)
