#include "lockservice_plants.h"

LOCKSERVICE_PLANTS(PLANT_DEFINE)
