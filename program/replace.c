/*
 * replace.c - `cellar replace`: has a fresh memory node filled in the place of one that was lost, or the empty folder
 * of one whose disk was.
 */
#include "cellar_lab.h"
#include "db_failover.h"
#include "db_open.h"
#include "engine_config.h"
#include "err.h"
#include "etcd.h"
#include "options.h"
#include "pool_file.h"
#include "program.h"
#include "shared_options.h"

#include <stdio.h>
#include <string.h>

struct replace {
    const char *memnodes, *durable, *etcd, *etcd_prefix;
    uint32_t mn, cn, replicas;
};

#define AT(field) offsetof(struct replace, field)

static const struct option_def defs[] = {
    {.group = "Which pool",
     .name = "memnodes",
     .argument = "PATHS",
     .help = "sockets of all its `cellar memnode` processes, comma separated, the fresh one's among them",
     .kind = OPTION_TEXT,
     .offset = AT(memnodes)},
    {.name = "durable",
     .argument = "DIR",
     .help = "or the folder of several memory nodes that no process has open; node-I in it, of the lost one, is empty",
     .kind = OPTION_TEXT,
     .offset = AT(durable)},
    {.name = "replicas",
     .argument = "F",
     .help = "backups of each record and log, as when it was made",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(replicas),
     .min = 1,
     .max = 63},
    {SHARED_OPTIONS_ETCD(AT(etcd))},
    {SHARED_OPTIONS_ETCD_PREFIX(AT(etcd_prefix))},
    {.group = "Which memory node",
     .name = "mn",
     .argument = "I",
     .help = "the one that was lost",
     .kind = OPTION_COUNT,
     .offset = AT(mn),
     .min = 0,
     .max = 63},
    {.group = "By whom",
     .name = "cn",
     .argument = "I",
     .help = "a compute node's index that is not in use: this command attaches as that one",
     .kind = OPTION_COUNT,
     .offset = AT(cn),
     .min = 0,
     .max = 254},
};
static const struct options options = {
    .program = "cellar replace", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs(
        "Usage: cellar replace --memnodes PATHS --mn I --cn I [--replicas F]\n"
        "       cellar replace --durable DIR --mn I\n\n"
        "A memory node was lost (its process has ended), and `cellar memnode` was started anew at the same socket with "
        "the same\n--node, --mns, --cns, --bytes and --seed: fills it with all that the lost one had, while compute "
        "nodes work, and returns when the\npool has all its backups again.\n\n"
        "Or the disk of DIR/node-I was lost, and an empty one is there: fills it from the others, which must have "
        "backups.\n",
        stdout);
    options_print(&options, stdout);
    fputs("\nExample\n"
          "  cellar memnode --socket /tmp/mn1 --bytes 2G --node 1 --mns 2 --cns 4 &\n"
          "  cellar replace --memnodes /tmp/mn0,/tmp/mn1 --mn 1 --cn 3\n"
          "  cellar replace --durable /var/lib/pool --mn 1\n",
          stdout);
}

/* The folder says how many backups it has, and no other process is there. */
static int folder_only(uint64_t given, struct cellar_error *error)
{
    static const char *const others[] = {"cn", "replicas", "etcd", "etcd-prefix"};
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        if (options_given(&options, given, others[i]))
            return err_set(error, CELLAR_INVALID, "--%s is for --memnodes: a folder is opened by one process",
                           others[i]);
    return 0;
}

static int parse(int count, char *const *arguments, struct replace *replace, struct cellar_error *error)
{
    uint64_t given;
    uint32_t paths = 1;
    int code = options_parse(&options, count, arguments, replace, &given, error);
    if (code != 0) return code;
    if (!replace->memnodes == !replace->durable)
        return err_set(error, CELLAR_INVALID, "name the pool: --memnodes PATHS, or --durable DIR");
    if (!options_given(&options, given, "mn"))
        return err_set(error, CELLAR_INVALID, "name the memory node that was lost: --mn I");
    if (replace->durable) return folder_only(given, error);
    if (!options_given(&options, given, "cn"))
        return err_set(error, CELLAR_INVALID, "name a compute node's index that is not in use: --cn I");
    for (const char *p = replace->memnodes; *p; p++) paths += *p == ',';
    if (replace->mn >= paths)
        return err_set(error, CELLAR_INVALID, "memory node %u is unknown: --memnodes names %u, numbered from 0",
                       replace->mn, paths);
    if (replace->replicas >= paths)
        return err_set(error, CELLAR_INVALID, "--replicas %u needs at least %u memory nodes; --memnodes names %u",
                       replace->replicas, replace->replicas + 1, paths);
    return 0;
}

static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    (void)arg;
    if (level >= CELLAR_LOG_WARNING) puts(text);
}

static int folder_fill(const struct replace *replace, struct cellar_error *error)
{
    struct cellar *db;
    const struct engine_config config = {.cc = CELLAR_LAB_CC_RECORD,
                                         .durable = replace->durable,
                                         .lost = replace->mn + 1,
                                         .coros = 1,
                                         .log_bytes = 64 << 10,
                                         .existing = true,
                                         .log = log_line};
    int code = pool_file_open(&config, &db, error);
    return code ? code : cellar_close(db);
}

static int pool_fill(const struct replace *replace, struct cellar_error *error)
{
    struct cellar *db;
    struct etcd *etcd;
    struct engine_config config = {.cc = CELLAR_LAB_CC_RECORD, /* runs no transaction: the one with the least set-up */
                                   .memnodes = replace->memnodes,
                                   .cn_index = replace->cn,
                                   .replicas = replace->replicas,
                                   .coros = 1,
                                   .log_bytes = 64 << 10, /* a full pool has room for that */
                                   .existing = true,
                                   .log = log_line};
    int code = etcd_attach(replace->etcd, replace->etcd_prefix, &etcd, &config.decider, error);
    if (code == 0) code = db_open(&config, &db, error);
    if (code == 0) {
        code = db_node_replace(db, replace->mn, error);
        cellar_close(db);
    }
    etcd_close(etcd);
    return code;
}

int program_replace(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct replace replace = {.replicas = 1};
    (void)watch;
    int code = parse(count, arguments, &replace, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    if (code == 0) code = replace.durable ? folder_fill(&replace, &error) : pool_fill(&replace, &error);
    if (code == 0) printf("memory node %u has all that the lost one had\n", replace.mn);
    if (code == 0) return COMMAND_OK;
    fprintf(stderr, "cellar replace: %s\n", error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}
