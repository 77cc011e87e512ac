#include "netchain_plants.h"

NETCHAIN_PLANTS(PLANT_DEFINE)
