#include "lockmgr_plants.h"

LOCKMGR_PLANTS(PLANT_DEFINE)
