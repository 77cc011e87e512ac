#include "ncosed_plants.h"

NCOSED_PLANTS(PLANT_DEFINE)
