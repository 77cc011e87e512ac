#include "db_plants.h"

DB_PLANTS(PLANT_DEFINE)
