#include "chain_plants.h"

CHAIN_PLANTS(PLANT_DEFINE)
