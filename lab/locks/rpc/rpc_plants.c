#include "rpc_plants.h"

RPC_PLANTS(PLANT_DEFINE)
