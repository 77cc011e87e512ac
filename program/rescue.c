/* rescue.c - `cellar recover`: recovers compute nodes that ended without closing their pool. */
#include "cellar.h"
#include "err.h"
#include "etcd.h"
#include "options.h"
#include "pool_file.h"
#include "program.h"
#include "shared_options.h"

#include <string.h>

struct rescue {
    const char *fabric, *memnodes, *secret_path, *pool_path, *etcd, *etcd_prefix;
    uint32_t cn, replicas;
    uint64_t recovered;
};

#define AT(field) offsetof(struct rescue, field)

static const char *const fabrics[] = {"shm", "verbs", NULL};

static const struct option_def defs[] = {
    {.group = "Which pool",
     .name = "fabric",
     .help = "how its memory nodes are reached",
     .fallback = "shm",
     .kind = OPTION_CHOICE,
     .offset = AT(fabric),
     .choices = fabrics},
    {.name = "memnodes",
     .argument = "A,B",
     .help = "sockets of `cellar memnode` processes; verbs: ADDRESS[:PORT]",
     .kind = OPTION_TEXT,
     .offset = AT(memnodes)},
    {.name = "secret",
     .argument = "FILE",
     .help = "verbs: what all processes of the pool prove to know",
     .kind = OPTION_TEXT,
     .offset = AT(secret_path)},
    {.name = "replicas",
     .argument = "F",
     .help = "backups of each record and log, as when it was made",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(replicas),
     .min = 0,
     .max = 63},
    {SHARED_OPTIONS_ETCD(AT(etcd))},
    {SHARED_OPTIONS_ETCD_PREFIX(AT(etcd_prefix))},
    {.name = "pool",
     .argument = "FILE",
     .help = "a pool file: all that had it open are recovered",
     .kind = OPTION_TEXT,
     .offset = AT(pool_path)},
    {.group = "Which one",
     .name = "cn",
     .argument = "I",
     .help = "the compute node that is dead",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(cn),
     .min = 0,
     .max = 254},
};
static const struct options options = {
    .program = "cellar recover", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar recover --memnodes A,B --cn I [options]\n"
          "       cellar recover --pool FILE\n\n"
          "Recovers a compute node whose process ended without closing the pool: what it acknowledged takes effect, "
          "its locks go. "
          "A node\nthat is alive is refused. Others may go on working meanwhile. Opening a pool does the same for the "
          "compute nodes that one opens it as.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar recover --memnodes /tmp/mn0,/tmp/mn1 --replicas 1 --cn 2\n"
          "  cellar recover --pool data.cellar\n",
          stdout);
}

static int parse(int count, char *const *arguments, struct rescue *rescue, struct cellar_error *error)
{
    uint64_t given;
    int code = options_parse(&options, count, arguments, rescue, &given, error);
    if (code != 0) return code;
    if (!rescue->memnodes == !rescue->pool_path)
        return err_set(error, CELLAR_INVALID, "name the pool: either --memnodes A,B or --pool FILE");
    static const char *const of_memnodes[] = {"fabric", "replicas", "cn", "etcd", "etcd-prefix"};
    for (uint32_t i = 0; rescue->pool_path && i < sizeof of_memnodes / sizeof *of_memnodes; i++)
        if (options_given(&options, given, of_memnodes[i]))
            return err_set(error, CELLAR_INVALID, "--%s is for --memnodes: --pool FILE tells it", of_memnodes[i]);
    if (rescue->secret_path && strcmp(rescue->fabric, "verbs") != 0)
        return err_set(error, CELLAR_INVALID, "--secret is for --fabric verbs, not %s", rescue->fabric);
    return 0;
}

/* Tells of recoveries; the engine warns of nothing else when it opens. */
static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    struct rescue *rescue = arg;
    if (level < CELLAR_LOG_WARNING) return;
    rescue->recovered++;
    puts(text);
}

/* To open the pool as the dead node is to recover it first; one that is alive is in the way. */
static int run(struct rescue *rescue, struct cellar_error *error)
{
    struct cellar *db;
    uint64_t bytes = 0;
    int code = rescue->pool_path ? pool_file_look("--pool ", rescue->pool_path, &bytes, error) : 0;
    if (code != 0) return code;
    struct etcd *etcd;
    struct engine_config config = {.fabric = rescue->fabric,
                                   .cc = CELLAR_LAB_CC_RECORD, /* runs no transaction: the one with the least set-up */
                                   .memnodes = rescue->memnodes,
                                   .secret_path = rescue->secret_path,
                                   .pool_path = rescue->pool_path,
                                   .pool_bytes = bytes,
                                   .cn_index = rescue->memnodes ? rescue->cn : 0,
                                   .replicas = rescue->replicas,
                                   .coros = 1,
                                   .log_bytes = 64 << 10, /* a full pool has room for that */
                                   .existing = true,
                                   .log = log_line,
                                   .log_arg = rescue};
    code = etcd_attach(rescue->etcd, rescue->etcd_prefix, &etcd, &config.decider, error);
    if (code == 0) code = pool_file_open(&config, &db, error);
    if (code == 0) cellar_close(db);
    etcd_close(etcd);
    if (code != 0) return code;
    if (rescue->recovered == 0) puts("nothing was left to be recovered");
    return 0;
}

int program_recover(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct rescue rescue = {.fabric = "shm"};
    (void)watch;
    int code = parse(count, arguments, &rescue, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    if (code == 0) code = run(&rescue, &error);
    if (code == 0) return COMMAND_OK;
    fprintf(stderr, "cellar recover: %s\n", error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}
