#include "fabric_shm_plants.h"

FABRIC_SHM_PLANTS(PLANT_DEFINE)
