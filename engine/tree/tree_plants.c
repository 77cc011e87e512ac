#include "tree_plants.h"

TREE_PLANTS(PLANT_DEFINE)
