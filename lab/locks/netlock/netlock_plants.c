#include "netlock_plants.h"

NETLOCK_PLANTS(PLANT_DEFINE)
