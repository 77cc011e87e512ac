/* memnode.c - `cellar memnode`: owns the memory of one memory node and hands it to compute nodes of other processes. */
#include "program.h"
#include "err.h"
#include "fabric_shm.h"
#include "fabric_verbs.h"
#include "layout.h"
#include "machine.h"
#include "memnode_metrics.h"
#include "metrics.h"
#include "options.h"
#include "style.h"

#include <string.h>

struct memnode {
    const char *fabric, *socket_path, *address, *secret_path, *masked;
    uint64_t bytes, seed;
    uint32_t node, mns, cns, metrics_port;
    struct watch *watch;
    struct memnode_metrics values;
    struct metrics *metrics;
    uint64_t start_ns;
    volatile int stop;
    /* for the status line */
    uint32_t attached;
};

#define LEAVE_NS 5000000000ull /* for taking the socket away, and more */
#define AT(field) offsetof(struct memnode, field)

static const char *const fabrics[] = {"shm", "verbs", NULL};
static const char *const masked_kinds[] = {"auto", "loop", NULL};

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "fabric",
     .help = "how compute nodes reach it",
     .fallback = "shm",
     .kind = OPTION_CHOICE,
     .offset = AT(fabric),
     .choices = fabrics},
    {.name = "socket",
     .argument = "PATH",
     .help = "shm: where compute nodes attach; created, and removed at the end",
     .kind = OPTION_TEXT,
     .offset = AT(socket_path)},
    {.name = "address",
     .argument = "ADDRESS[:PORT]",
     .help = "verbs: where it listens, on the RDMA device's interface; port 7471",
     .kind = OPTION_TEXT,
     .offset = AT(address)},
    {.name = "secret",
     .argument = "FILE",
     .help = "verbs: what compute nodes must prove to know",
     .kind = OPTION_TEXT,
     .offset = AT(secret_path)},
    {.name = "masked-cas",
     .help = "verbs: by the device where it can, or always by plain CAS",
     .fallback = "auto",
     .kind = OPTION_CHOICE,
     .offset = AT(masked),
     .choices = masked_kinds},
    {.name = "metrics",
     .argument = "PORT",
     .help = "verbs: serve http://127.0.0.1:PORT/metrics",
     .kind = OPTION_COUNT,
     .offset = AT(metrics_port),
     .min = 1,
     .max = 65535},
    {.name = "bytes",
     .argument = "SIZE",
     .help = "memory (suffixes K, M, G)",
     .kind = OPTION_SIZE,
     .offset = AT(bytes),
     .min = 1 << 20,
     .max = 1ull << 47},
    {.name = "node",
     .argument = "I",
     .help = "index of this memory node",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(node),
     .min = 0,
     .max = FABRIC_NODES_MAX - 1},
    {.name = "mns",
     .argument = "N",
     .help = "memory nodes in all",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(mns),
     .min = 1,
     .max = FABRIC_NODES_MAX},
    {.name = "cns",
     .argument = "N",
     .help = "compute nodes that may attach",
     .fallback = "7",
     .kind = OPTION_COUNT,
     .offset = AT(cns),
     .min = 1,
     .max = FABRIC_CNS_MAX},
    {.name = "seed",
     .argument = "N",
     .help = "everything random follows from it",
     .fallback = "1",
     .kind = OPTION_NUMBER,
     .offset = AT(seed),
     .min = 1},
};
static const struct options options = {
    .program = "cellar memnode", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar memnode --socket PATH --bytes SIZE [options]\n"
          "       cellar memnode --fabric verbs --address ADDRESS --bytes SIZE [options]\n\n"
          "Runs one memory node: it owns the memory, and runs no transaction code. Stop it with Ctrl-C or SIGTERM; its "
          "memory is\n"
          "gone then.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar memnode --socket /tmp/mn0 --bytes 2G\n"
          "  cellar memnode --socket /tmp/mn0 --bytes 1G --node 0 --mns 2 &\n"
          "  cellar memnode --socket /tmp/mn1 --bytes 1G --node 1 --mns 2 &\n"
          "  cellar bench smallbank --memnodes /tmp/mn0,/tmp/mn1 --replicas 1\n"
          "  cellar memnode --fabric verbs --address 10.0.0.1 --secret pool.key --bytes 64G\n",
          stdout);
}

static int parse(int count, char *const *arguments, struct memnode *memnode, struct cellar_error *error)
{
    uint64_t given;
    struct machine machine;
    int code = options_parse(&options, count, arguments, memnode, &given, error);
    if (code != 0) return code;
    bool verbs = !strcmp(memnode->fabric, "verbs");
    if (verbs && memnode->socket_path)
        return err_set(error, CELLAR_INVALID, "--socket is for --fabric shm; verbs listens at --address ADDRESS");
    if (verbs && !memnode->address) return err_set(error, CELLAR_INVALID, "--address ADDRESS is missing");
    if (!verbs && (memnode->address || memnode->secret_path || memnode->metrics_port ||
                   options_given(&options, given, "masked-cas")))
        return err_set(error, CELLAR_INVALID,
                       "--address, --secret, --masked-cas and --metrics are for --fabric verbs, not shm");
    if (!verbs && !memnode->socket_path) return err_set(error, CELLAR_INVALID, "--socket PATH is missing");
    if (!verbs && strchr(memnode->socket_path, ','))
        return err_set(error, CELLAR_INVALID, "--socket PATH must not contain a comma");
    if (!memnode->bytes) return err_set(error, CELLAR_INVALID, "--bytes SIZE is missing");
    if (memnode->node >= memnode->mns)
        return err_set(error, CELLAR_INVALID, "--node %u needs --mns %u or more", memnode->node, memnode->node + 1);
    machine_read(&machine);
    char need[STYLE_BYTES], have[STYLE_BYTES];
    if (machine.memory_bytes && memnode->bytes > machine.memory_bytes)
        return err_set(error, CELLAR_TOO_LARGE, "--bytes %s exceeds the machine's %s",
                       style_bytes(need, (double)memnode->bytes), style_bytes(have, (double)machine.memory_bytes));
    return 0;
}

/* The line of a terminal; the rest of a status is constant. */
static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct memnode *memnode = arg;
    char size[STYLE_BYTES];
    snprintf(line, bytes, "  memory node %u of %u at %.80s: %s, %u compute nodes attached, up %.0f s", memnode->node,
             memnode->mns, memnode->socket_path ? memnode->socket_path : memnode->address,
             style_bytes(size, (double)memnode->bytes), __atomic_load_n(&memnode->attached, __ATOMIC_RELAXED),
             elapsed_s);
}

/* About once a second; also passes an interrupt on. */
static void on_status(void *arg, const struct fabric_shm_memnode_status *status)
{
    struct memnode *memnode = arg;
    __atomic_store_n(&memnode->attached, status->cns_attached, __ATOMIC_RELAXED);
    if (__atomic_load_n(&memnode->watch->stop, __ATOMIC_RELAXED)) memnode->stop = 1;
}

static void on_verbs_status(void *arg, const struct fabric_verbs_memnode_status *status)
{
    struct memnode *memnode = arg;
    __atomic_store_n(&memnode->attached, status->cns_attached, __ATOMIC_RELAXED);
    if (__atomic_load_n(&memnode->watch->stop, __ATOMIC_RELAXED)) memnode->stop = 1;
    memnode_metrics_set(&memnode->values, MEMNODE_BYTES, status->bytes);
    memnode_metrics_set(&memnode->values, MEMNODE_CNS, status->cns_attached);
    memnode_metrics_set(&memnode->values, MEMNODE_QUEUE_PAIRS, status->queue_pairs);
    memnode_metrics_set(&memnode->values, MEMNODE_ADMITTED, status->admitted);
    memnode_metrics_set(&memnode->values, MEMNODE_REFUSED, status->refused);
    memnode_metrics_set(&memnode->values, MEMNODE_FENCED, status->fenced);
    memnode_metrics_set(&memnode->values, MEMNODE_NATIVE, status->native_masked);
    memnode_metrics_set(&memnode->values, MEMNODE_WIDE, status->wide_atomics);
    memnode_metrics_set(&memnode->values, MEMNODE_HUGE_PAGES, status->huge_pages);
    memnode_metrics_set(&memnode->values, MEMNODE_UPTIME_S,
                        (memnode->watch->now_ns() - memnode->start_ns) / 1000000000);
}

/* A daemon's journal shows which compute nodes came and went, too. */
static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    const struct memnode *memnode = arg;
    if (level >= CELLAR_LOG_WARNING || !strcmp(memnode->fabric, "verbs")) fprintf(stderr, "cellar memnode: %s\n", text);
}

static int run_shm(struct memnode *memnode, struct cellar_error *error)
{
    const struct fabric_shm_memnode_config config = {.socket_path = memnode->socket_path,
                                                     .node = memnode->node,
                                                     .mn_count = memnode->mns,
                                                     .cn_count = memnode->cns,
                                                     .bytes = memnode->bytes,
                                                     .seed = memnode->seed,
                                                     .log = log_line,
                                                     .log_arg = memnode};
    return fabric_shm_memnode_run(&config, &memnode->stop, on_status, memnode, error);
}

static int run_verbs(struct memnode *memnode, struct cellar_error *error)
{
    const struct fabric_verbs_memnode_config config = {
        .address = memnode->address,
        .secret_path = memnode->secret_path,
        .node = memnode->node,
        .mn_count = memnode->mns,
        .cn_count = memnode->cns,
        .bytes = memnode->bytes,
        .seed = memnode->seed,
        .fingerprint = layout_fingerprint(),
        .masked = strcmp(memnode->masked, "loop") ? FABRIC_VERBS_MASKED_AUTO : FABRIC_VERBS_MASKED_LOOP,
        .log = log_line,
        .log_arg = memnode};
    int code = 0;
    memnode->start_ns = memnode->watch->now_ns();
    memnode->values.node = memnode->node;
    if (memnode->metrics_port)
        code = metrics_open((uint16_t)memnode->metrics_port, memnode_metrics_page, &memnode->values, &memnode->metrics,
                            error);
    if (code == 0) code = fabric_verbs_memnode_run(&config, &memnode->stop, on_verbs_status, memnode, error);
    metrics_close(memnode->metrics);
    return code;
}

int program_memnode(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct memnode memnode = {.fabric = "shm", .masked = "auto", .mns = 1, .cns = 7, .seed = 1, .watch = watch};
    int code = parse(count, arguments, &memnode, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    if (code == 0) {
        watch->begin(watch,
                     &(struct watch_phase){.interruptible = true, .grace_ns = LEAVE_NS, .draw = draw, .arg = &memnode});
        code = strcmp(memnode.fabric, "verbs") ? run_shm(&memnode, &error) : run_verbs(&memnode, &error);
        watch->end(watch);
    }
    if (code == 0) return COMMAND_OK;
    fprintf(stderr, "cellar memnode: %s\n", error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}
