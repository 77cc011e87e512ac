#include "txn_plants.h"

TXN_PLANTS(PLANT_DEFINE)
