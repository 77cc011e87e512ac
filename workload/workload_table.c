/*
 * workload_table.c - which workloads there are, in the order in which they are listed: a program that links this object
 * links all of them. A test may have a table of its own.
 */
#include "workload.h"

#define WORKLOADS(X) X(tpcc) X(smallbank) X(ycsb) X(indexload)

#define DECLARED(name) extern const struct workload name##_workload;
#define LISTED(name) &name##_workload,
WORKLOADS(DECLARED)

const struct workload *const workload_table[] = {WORKLOADS(LISTED) NULL};
