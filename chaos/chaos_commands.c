/* chaos_commands.c - `cellar cluster`: a cluster of processes that stays when the command has ended. */
#include "chaos.h"
#include "chaos_cluster.h"
#include "chaos_compute.h"
#include "chaos_options.h"
#include "mode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MINUTE_NS 60000000000ull

struct call {
    struct chaos_cluster cluster;
    uint32_t cn;
    char cc[16], folder[40]; /* the usual one */
};

#define AT(field) offsetof(struct call, field)
#define DIR_ROW                                                                                                        \
    {                                                                                                                  \
        CHAOS_OPTIONS_DIR(AT(cluster.folder), "the cluster's folder: sockets, logs, witnesses",                        \
                          "/tmp/cellar-cluster-UID")                                                                   \
    }

static const struct option_def up_defs[] = {DIR_ROW, CHAOS_OPTIONS_SHAPE(AT(cluster))};
static const struct option_def dir_defs[] = {DIR_ROW};
static const struct option_def compute_defs[] = {DIR_ROW,
                                                 {.name = "cn",
                                                  .argument = "I",
                                                  .help = "index of the compute node",
                                                  .kind = OPTION_COUNT,
                                                  .offset = AT(cn),
                                                  .max = CHAOS_CLUSTER_COMPUTE_MAX - 1}};

static void print_process(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                          const char *name)
{
    pid_t pid = chaos_cluster_alive(cluster, kind, index);
    printf("  %s %-2u  ", name, index);
    if (pid)
        printf("process %d\n", (int)pid);
    else
        puts("has ended");
}

/* All of them, each on a line; are all there? */
static bool print_all(const struct chaos_cluster *cluster)
{
    static const char *const names[] = {"memory node ", "compute node", "etcd server "};
    static const enum chaos_cluster_kind order[] = {CHAOS_CLUSTER_ETCD, CHAOS_CLUSTER_MEMNODE, CHAOS_CLUSTER_COMPUTE};
    const uint32_t counts[] = {cluster->memnodes, cluster->compute, cluster->etcd ? CHAOS_CLUSTER_ETCDS : 0};
    bool all = true;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (uint32_t i = 0; i < counts[order[k]]; i++) {
            print_process(cluster, order[k], i, names[order[k]]);
            all = all && chaos_cluster_alive(cluster, order[k], i);
        }
    return all;
}

static int up(struct call *call, struct watch *watch, struct cellar_error *error)
{
    struct chaos_cluster *cluster = &call->cluster;
    int code = chaos_cluster_check(cluster, error);
    if (code == 0) code = chaos_cluster_make(cluster, error);
    if (code != 0) return code;
    code = chaos_cluster_start_all(cluster, watch, error);
    if (code != 0) {
        chaos_cluster_stop_all(cluster, watch);
        return code;
    }
    printf("%u memory nodes and %u compute nodes run, %u backups%s; their folder is %s\n", cluster->memnodes,
           cluster->compute, cluster->replicas, cluster->etcd ? ", three etcd servers" : "", cluster->folder);
    (void)print_all(cluster);
    return 0;
}

/* Are all at work? A compute node is when it commits something now. */
static int status(struct call *call, struct watch *watch, struct cellar_error *error)
{
    const struct chaos_cluster *cluster = &call->cluster;
    bool all = print_all(cluster);
    for (uint32_t i = 0; i < cluster->compute; i++)
        if (chaos_cluster_works(cluster, i, watch, MINUTE_NS, error) != 0) all = false;
    puts(all ? "all run, and transactions commit on each compute node"
             : "not all of them run (their logs say why); transactions may go on without those");
    error->code = 0;
    return all ? 0 : COMMAND_CHECK_FAILED;
}

static int down(struct call *call, struct watch *watch, struct cellar_error *error)
{
    (void)error;
    chaos_cluster_stop_all(&call->cluster, watch);
    chaos_cluster_remove(&call->cluster);
    printf("the cluster of %s has ended\n", call->cluster.folder);
    return 0;
}

static int compute(struct call *call, struct watch *watch, struct cellar_error *error)
{
    if (call->cn >= call->cluster.compute)
        return err_set(error, CELLAR_INVALID, "--cn %u: this cluster has compute nodes 0 to %u", call->cn,
                       call->cluster.compute - 1);
    watch->begin(watch, &(struct watch_phase){.interruptible = true});
    int code = chaos_compute_run(&call->cluster, call->cn, watch, error);
    watch->end(watch);
    return code;
}

static const struct action {
    const char *name;
    struct options options;
    int (*run)(struct call *call, struct watch *watch, struct cellar_error *error);
    const char *about;
} actions[] = {
    {"up",
     {.program = "cellar cluster up", .defs = up_defs, .count = sizeof(up_defs) / sizeof(up_defs[0])},
     up,
     "Usage: cellar cluster up [--dir DIR] [options]\n\n"
     "Starts memory nodes and compute nodes as processes of their own, which stay when this command has ended. The\n"
     "compute nodes move money between accounts; `cellar cluster down` ends them all.\n"},
    {"status",
     {.program = "cellar cluster status", .defs = dir_defs, .count = 1},
     status,
     "Usage: cellar cluster status [--dir DIR]\n\nShows the processes, and whether each compute node commits. Exit "
     "status 1: not all of them run.\n"},
    {"down",
     {.program = "cellar cluster down", .defs = dir_defs, .count = 1},
     down,
     "Usage: cellar cluster down [--dir DIR]\n\nEnds the processes that `cellar cluster up`, or an interrupted `cellar "
     "chaos`, has left, and removes their folder.\n"},
    {"compute",
     {.program = "cellar cluster compute",
      .defs = compute_defs,
      .count = sizeof(compute_defs) / sizeof(compute_defs[0])},
     compute,
     "Usage: cellar cluster compute [--dir DIR] --cn I\n\nOne compute node, in this process, until SIGTERM: what "
     "`cellar "
     "cluster up` starts, and what brings back one that was killed.\n"},
};
#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static void print_help(void)
{
    fputs("Usage: cellar cluster up|status|down|compute [--dir DIR] [options]\n\n"
          "A cluster of real processes on this host, over shared memory.\n\n"
          "  up        start memory nodes and compute nodes\n"
          "  status    show them\n"
          "  down      end them\n"
          "  compute   one compute node, in this process\n"
          "\nExamples\n"
          "  cellar cluster up --memnodes 3 --compute 4 --replicas 1 --etcd\n"
          "  cellar cluster up --dir /tmp/c1 --memnodes 3 --compute 4 --replicas 1\n"
          "  cellar cluster status --dir /tmp/c1\n"
          "  cellar cluster down --dir /tmp/c1\n"
          "\ncellar cluster up --help lists the options.\n",
          stdout);
}

static int run(const struct action *action, int count, char *const *arguments, struct watch *watch)
{
    struct call call = {.cluster = CHAOS_OPTIONS_USUAL};
    struct cellar_error error = {0};
    uint64_t given;
    int code = options_parse(&action->options, count, arguments, &call, &given, &error);
    if (code == OPTIONS_HELP) {
        fputs(action->about, stdout);
        options_print(&action->options, stdout);
        return COMMAND_OK;
    }
    snprintf(call.folder, sizeof(call.folder), "/tmp/cellar-cluster-%u", (unsigned)getuid());
    if (!call.cluster.folder) call.cluster.folder = call.folder;
    if (code == 0 && action->options.defs != up_defs) code = chaos_cluster_load(&call.cluster, call.cc, &error);
    if (code == 0) code = action->run(&call, watch, &error);
    if (code >= 0) return code;
    fprintf(stderr, "%s: %s\n", action->options.program, error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}

int chaos_cluster_main(int count, char *const *arguments, struct watch *watch)
{
    if (count > 0 && (!strcmp(arguments[0], "--help") || !strcmp(arguments[0], "-h"))) {
        print_help();
        return COMMAND_OK;
    }
    for (size_t i = 0; count > 0 && i < ACTIONS; i++)
        if (!strcmp(arguments[0], actions[i].name)) return run(&actions[i], count - 1, arguments + 1, watch);
    fprintf(stderr, "cellar cluster: say what: up, status, down or compute (see cellar cluster --help)\n");
    return COMMAND_ERROR;
}
