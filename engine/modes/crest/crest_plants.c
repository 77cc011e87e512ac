#include "crest_plants.h"

CREST_PLANTS(PLANT_DEFINE)
