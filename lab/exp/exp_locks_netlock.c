/*
 * exp_locks_netlock.c - NetLock's figures. Its testbed: a Tofino switch, 12 servers of 8 cores with 40 Gb/s cards and
 * DPDK; DSLR and DrTM ran on another one, with ConnectX-3 (section 6.1). So do they here, and once more on NetLock's
 * simulated nodes. Nothing is READ or WRITTEN under the locks.
 */
#include "exp_locks.h"

#include <stddef.h>

#define FULL "--warmup 0.05 --seconds 0.01" /* locks move to the switch within tens of milliseconds */
#define QUICK "--warmup 0.0005 --seconds 0.001"
#define QUICK_MOVED "--warmup 0.05 --seconds 0.002"
/*
 * Their clients' software takes most of the 7.1 us of an uncontended lock; here a message takes 5.7 us longer, half
 * of that on each side of the switch, which gives that, and all else follows.
 */
#define DPDK " --peer-ns 5700"
#define MICRO "--nic cx5" DPDK " --cs-ops 0 --theta 0 --server-threads 8"
#define TPCC "--mix tpcc --think-ns 0 --cs-ops 0"
#define NODES "--nic cx5" DPDK

static const struct exp_sweep_series netlock[] = {{"NetLock", "--lock netlock", NULL}, {NULL, NULL, NULL}};

/* Fig. 8: x is the number of clients of 12 servers, or of locks. */
#define CLIENTS                                                                                                        \
    {                                                                                                                  \
        {12, "--cns 12 --threads 1 --clients 12", true}, {96, "--cns 12 --threads 8 --clients 96", true},              \
        {                                                                                                              \
            384, "--cns 12 --threads 8 --clients 384", false                                                           \
        }                                                                                                              \
    }
static const struct exp_sweep shared = {.name = "netlock-8a",
                                        .arguments = MICRO " --locks 1000 --read-ratio 1",
                                        .length = FULL,
                                        .quick_length = QUICK_MOVED,
                                        .series = netlock,
                                        .steps = CLIENTS};
static const struct exp_sweep contention = {.name = "netlock-8c",
                                            .arguments = MICRO " --read-ratio 0 --cns 12 --threads 8 --clients 96",
                                            .length = FULL,
                                            .quick_length = QUICK,
                                            .series = netlock,
                                            .steps = {{1, "--locks 1", true},
                                                      {10, "--locks 10", false},
                                                      {100, "--locks 100", true},
                                                      {5000, "--locks 5000", true}},
                                            .full_only = true};

/* Fig. 9: x is the number of the server's cores. */
static const struct exp_sweep_series switch_or_server[] = {
    {"switch", "--lock netlock", NULL}, {"server", "--lock rpc", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep cores = {.name = "netlock-9",
                                       .arguments =
                                           "--nic cx5" DPDK " --cs-ops 0 --theta 0 --locks 5000 --read-ratio 1 "
                                           "--cns 10 --threads 8 --clients 320",
                                       .length = FULL,
                                       .quick_length = QUICK,
                                       .series = switch_or_server,
                                       .steps = {{1, "--server-threads 1", true},
                                                 {2, "--server-threads 2", false},
                                                 {4, "--server-threads 4", false},
                                                 {8, "--server-threads 8", true}},
                                       .full_only = true};

/* Figs. 10 and 11: x is the number of warehouses of each node. */
static const struct exp_sweep_series systems[] = {{"NetLock", "--lock netlock " NODES, NULL},
                                                  {"DSLR", "--lock dslr --nic cx3", NULL},
                                                  {"DrTM", "--lock drtm --nic cx3", NULL},
                                                  {"NetChain", "--lock netchain " NODES, NULL},
                                                  {"DSLR, NetLock's nodes", "--lock dslr " NODES, NULL},
                                                  {"DrTM, NetLock's nodes", "--lock drtm " NODES, NULL},
                                                  {NULL, NULL, NULL}};
static const struct exp_sweep ten = {.name = "netlock-10",
                                     .arguments = TPCC " --cns 10 --threads 8 --clients 80 --server-threads 16",
                                     .length = FULL,
                                     .quick_length = QUICK,
                                     .series = systems,
                                     .steps = {{1, "--warehouses 10", true}, {10, "--warehouses 100", true}},
                                     .full_only = true};
static const struct exp_sweep six = {.name = "netlock-11",
                                     .arguments = TPCC " --cns 6 --threads 8 --clients 48 --server-threads 48",
                                     .length = FULL,
                                     .quick_length = QUICK,
                                     .series = systems,
                                     .steps = {{1, "--warehouses 6", true}, {10, "--warehouses 60", true}},
                                     .full_only = true};

/* Fig. 12: the first tenant's share, without and with the policy. */
static const struct exp_sweep priorities = {
    .name = "netlock-12a",
    .arguments = MICRO " --lock netlock --locks 8 --read-ratio 0 --cns 10 --threads 8 --clients 80 --tenants 2",
    .length = FULL,
    .quick_length = QUICK,
    .series = (const struct exp_sweep_series[]){{"first tenant", "", NULL}, {NULL, NULL, NULL}},
    .steps = {{1, "--policy fcfs", true}, {2, "--policy priority", true}},
    .names = {"without", "with"}};
static const struct exp_sweep quotas = {
    .name = "netlock-12b",
    .arguments = MICRO " --lock netlock --locks 1000 --read-ratio 0 --cns 10 --threads 8 --clients 80 --tenants 2 "
                       "--tenant-cns 7",
    .length = FULL,
    .quick_length = QUICK_MOVED,
    .series = (const struct exp_sweep_series[]){{"first tenant", "", NULL}, {NULL, NULL, NULL}},
    .steps = {{1, "--policy fcfs", true}, {2, "--policy quota --tenant-rate 3000000", true}},
    .names = {"without", "with"}};

/* Fig. 14: x is the number of slots in the switch. */
static const struct exp_sweep_series thinks[] = {
    {"think 0", "--lock netlock --think-ns 0", NULL},
    {"think 10 us", "--lock netlock --think-ns 10000", NULL},
    {"think 100 us", "--lock netlock --think-ns 100000", NULL},
    {"random, think 0", "--lock netlock --policy random --think-ns 0", NULL},
    {NULL, NULL, NULL}};
static const struct exp_sweep memory = {
    .name = "netlock-14",
    .arguments = "--nic cx5" DPDK " --mix tpcc --cs-ops 0 --warehouses 100 --cns 10 --threads 8 --clients 80 "
                 "--server-threads 16",
    .length = FULL,
    .quick_length = QUICK,
    .series = thinks,
    .steps = {{500, "--switch-slots 500", true},
              {1000, "--switch-slots 1000", false},
              {3000, "--switch-slots 3000", false},
              {10000, "--switch-slots 10000", true}},
    .full_only = true};

/* Fig. 15: the switch loses its registers and is away; theirs ran for 20 s. The line is over time. */
static const struct exp_sweep_series lone[] = {{"NetLock", "--lock netlock " NODES, NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep failure = {
    .name = "netlock-15",
    .arguments = TPCC " --cns 10 --threads 8 --clients 80 --server-threads 16 --warehouses 100",
    .length = "--warmup 0.1 --seconds 0.2 --fail-switch 0.05 --switch-down 0.03",
    .quick_length = "--warmup 0.02 --seconds 0.16 --fail-switch 0.04 --switch-down 0.01",
    .series = lone,
    .steps = {{1, "", true}}};

static const struct exp_sweep *const sweeps[] = {&shared,     &contention, &cores,  &ten,     &six,
                                                 &priorities, &quotas,     &memory, &failure, NULL};

static const struct exp_sweep_chart charts[] = {
    CHART(shared, ACQUIRE_US, "Fig. 8a: shared locks", "clients", "us", .log_x = true),
    CHART(contention, GOODPUT, "Fig. 8c: contention", "locks", "M locks/s", .log_x = true, .log_y = true),
    CHART(contention, ACQUIRE_US, "Fig. 8d: contention", "locks", "us", .log_x = true, .log_y = true),
    CHART(cores, GOODPUT, "Fig. 9: a switch, a server", "cores of the server", "M locks/s"),
    CHART(ten, GOODPUT, "Fig. 10: ten clients", "warehouses a node", "M txn/s", .log_x = true, .log_y = true),
    CHART(ten, ROUND_P99_US, "Fig. 10: p99", "warehouses a node", "us", .log_x = true, .log_y = true),
    CHART(six, GOODPUT, "Fig. 11: six clients", "warehouses a node", "M txn/s", .log_x = true, .log_y = true),
    CHART(priorities, FIRST_TENANT, "Fig. 12a: priorities", NULL, "% of grants, the first tenant",
          .look = EXP_SWEEP_BARS),
    CHART(quotas, FIRST_TENANT, "Fig. 12b: quotas", NULL, "% of grants, the first tenant", .look = EXP_SWEEP_BARS),
    CHART(memory, GRANTS, "Figs. 13 and 14: slots in the switch", "slots", "M locks/s", .log_x = true),
    CHART(failure, GOODPUT, "Fig. 15: the switch fails", "ms", "M txn/s", .look = EXP_SWEEP_TIMED),
    {.title = NULL}};

const struct exp_sweep_study exp_locks_netlock = {
    .name = "netlock", .title = "NetLock's figures", .sweeps = sweeps, .charts = charts};
