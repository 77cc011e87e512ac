/* ycsb_tables.h - the two workloads that are `cellar bench ycsb`: YCSB-T, and with --core YCSB's core workloads. */
#pragma once

#include "workload.h"

extern const struct workload ycsb_workload, ycsb_core_workload;
