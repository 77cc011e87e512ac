#include "cluster_plants.h"

CLUSTER_PLANTS(PLANT_DEFINE)
