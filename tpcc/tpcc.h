/* tpcc.h - TPC-C as a workload of the program and the simulator. */
#pragma once

#include "workload.h"

extern const struct workload tpcc_workload;
