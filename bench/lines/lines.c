/*
 * lines.c - cellar-lines: how many atomic instructions a transaction executes, and how many cache lines it takes over
 * from other threads, by the model (lines_model.h). Threads take turns, a transaction each: so each meets lines that
 * another one has had since, as on a machine with a core for each, and the counts are the same in every run.
 *
 * The engine is Cellar's own, compiled with the model's hooks; the transactions are those of cellar-peers.
 */
#include "lines_model.h"
#include "options.h"
#include "peer_cells.h"
#include "peer_run.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SITES_MAX 256
#define ALIGN_BYTES (4u << 20)
#define PLAIN "plain-ns=1000000000,shared-ns=1000000000" /* the model makes each wait a long one */
#define WARM 256 /* transactions of each thread before the count: its address cache, its log, its slots */

struct settings {
    const char *work, *way;
    uint32_t threads, txns, sites;
    uint64_t records;
};

/* ---- whose turn it is ---- */

static struct {
    const struct peer_ops *ops;
    uint32_t threads;
    uint64_t warm, count; /* turns of all */
    uint64_t turn, arrived;
} line_up;

static __thread uint64_t own_turn;
static __thread bool arrived;

static void turn_take(void)
{
    if (!arrived) own_turn = __atomic_fetch_add(&line_up.arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&line_up.turn, __ATOMIC_ACQUIRE) != own_turn) sched_yield();
    if (own_turn == line_up.warm) lines_model_begin();
    lines_model_thread((uint32_t)(own_turn % line_up.threads) + 1);
    arrived = true;
}

static void turn_pass(void)
{
    lines_model_thread(0);
    if (own_turn + 1 == line_up.warm + line_up.count) lines_model_end();
    own_turn += line_up.threads;
    __atomic_add_fetch(&line_up.turn, 1, __ATOMIC_RELEASE);
}

static int call(void *session, const struct peer_draw *draw, struct peer_outcome *outcome, uint64_t *retries)
{
    turn_take();
    int rc = line_up.ops->call(session, draw, outcome, retries);
    turn_pass();
    return rc;
}

static int begin(void *session, bool writes)
{
    turn_take();
    return line_up.ops->begin(session, writes);
}

static int end(void *session, enum peer_end how)
{
    int rc = line_up.ops->end(session, how);
    turn_pass();
    return rc;
}

/* The pool is the mapping that has its size, and what it takes to align it. */
static uint64_t pool_bytes;
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *at = __real_mmap(address, bytes, protection, flags, fd, offset);
    if (at != MAP_FAILED && bytes >= pool_bytes && bytes < pool_bytes + ALIGN_BYTES) lines_model_pool(at, bytes);
    return at;
}

/* ---- what it came to ---- */

/* "function file:line" of a place, by addr2line; empty without it. */
static void name_of(uintptr_t pc, char *text, size_t bytes)
{
    Dl_info info;
    char command[512], path[256], function[128] = "", where[256] = "";
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    *text = 0;
    if (length < 0 || !dladdr((void *)pc, &info)) return;
    path[length] = 0;
    snprintf(command, sizeof command, "addr2line -fse '%s' 0x%lx 2>/dev/null", path,
             (unsigned long)(pc - 1 - (uintptr_t)info.dli_fbase));
    FILE *pipe = popen(command, "r");
    if (!pipe) return;
    if (fscanf(pipe, "%127s %255s", function, where) == 2) snprintf(text, bytes, "%s %s", function, where);
    pclose(pipe);
}

static void print(const struct settings *settings, uint64_t ended)
{
    struct lines_total total;
    struct lines_site sites[SITES_MAX];
    double each = (double)line_up.count;
    uint32_t count = lines_model_sites(sites, settings->sites);
    lines_model_total(&total);
    printf("%s, %s, %u threads, %.0f of %llu transactions counted; of each:\n", settings->work, settings->way,
           settings->threads, each, (unsigned long long)ended);
    printf("  atomic instructions   %7.3f  in the process's memory  %7.3f  in the pool\n",
           (double)total.atomics[0] / each, (double)total.atomics[1] / each);
    printf("  lines taken over      %7.3f  in the process's memory  %7.3f  in the pool\n",
           (double)total.taken[0] / each, (double)total.taken[1] / each);
    if (count) printf("  %8s %8s %8s\n", "to read", "to write", "atomics");
    for (uint32_t i = 0; i < count; i++) {
        char name[400];
        name_of(sites[i].pc, name, sizeof name);
        printf("  %8.3f %8.3f %8.3f  %s  %s\n", (double)sites[i].taken_read / each, (double)sites[i].taken_write / each,
               (double)sites[i].atomics / each, sites[i].pool ? "pool   " : "process", name);
    }
}

/* ---- command line ---- */

#define AT(field) offsetof(struct settings, field)
static const char *const ways[] = {"cellar", "session", NULL};
static const struct option_def defs[] = {
    {.group = "What",
     .name = "work",
     .argument = "NAME",
     .help = "as of cellar-peers: smallbank, ycsb, read, with -THETA",
     .fallback = "smallbank",
     .kind = OPTION_TEXT,
     .offset = AT(work)},
    {.name = "by",
     .help = "by procedures, or by interactive transactions",
     .fallback = "cellar",
     .kind = OPTION_CHOICE,
     .offset = AT(way),
     .choices = ways},
    {.name = "threads",
     .argument = "N",
     .help = "that take turns",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(threads),
     .min = 1,
     .max = 64},
    {.name = "txns",
     .argument = "N",
     .help = "counted, of each thread",
     .fallback = "1000",
     .kind = OPTION_COUNT,
     .offset = AT(txns),
     .min = 1,
     .max = 100000},
    {.name = "records",
     .argument = "N",
     .help = "accounts, or records",
     .fallback = "100,000",
     .kind = OPTION_NUMBER,
     .offset = AT(records),
     .min = 100,
     .max = 10000000},
    {.name = "sites",
     .argument = "N",
     .help = "show so many places in the code, those with most lines first",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(sites),
     .max = SITES_MAX},
};
static const struct options options = {.program = "cellar-lines", .defs = defs, .count = sizeof defs / sizeof defs[0]};

static int run(const struct settings *settings, const struct peer_work *work, const struct peer *peer)
{
    uint64_t draw_count = (uint64_t)settings->threads * (WARM + settings->txns);
    struct peer_draw *draws = malloc(draw_count * sizeof *draws);
    struct peer_ops ops = *peer->ops;
    const struct peer turned = {peer->name, peer->package, &ops};
    const struct peer_order order = {.peer = &turned,
                                     .setup = {.work = work,
                                               .records = settings->records,
                                               .clients = settings->threads,
                                               .folder = "/tmp",
                                               .way = PLAIN},
                                     .draws = draws,
                                     .draw_count = draw_count,
                                     .once = true};
    struct peer_result result;

    if (ops.call) ops.call = call;
    if (ops.begin) ops.begin = begin;
    if (ops.end) ops.end = end;
    pool_bytes = cells_pool_bytes(&order.setup);
    line_up.ops = peer->ops;
    line_up.threads = settings->threads;
    line_up.warm = (uint64_t)settings->threads * WARM;
    line_up.count = (uint64_t)settings->threads * settings->txns;
    int rc = draws && peer_work_draw(work, settings->records, 1, draws, draw_count) ? 0 : peer_fail("no draws");
    if (rc == 0) rc = peer_run(&order, false, &result);
    free(draws);
    if (rc) return 2;
    print(settings, result.ended);
    if (!result.holds) printf("  %s\n", result.wrong);
    return !result.holds;
}

int main(int count, char **arguments)
{
    struct settings settings = {.work = "smallbank", .way = "cellar", .threads = 1, .txns = 1000, .records = 100000};
    struct cellar_error error = {0};
    struct peer_work work;
    uint64_t given;
    int rc = options_parse(&options, count - 1, arguments + 1, &settings, &given, &error);
    if (rc == OPTIONS_HELP) {
        puts("Usage: cellar-lines [options]\n\n"
             "Counts atomic instructions of a transaction, and cache lines that it takes over from other threads, by a "
             "model.\n");
        options_print(&options, stdout);
        return 0;
    }
    if (rc == 0 && !peer_work_named(&work, settings.work))
        rc = err_set(&error, CELLAR_INVALID, "no work is called \"%s\"", settings.work);
    for (uint32_t i = 0; rc == 0 && i < peer_count; i++)
        if (!strcmp(peer_table[i].name, settings.way)) return run(&settings, &work, &peer_table[i]);
    fprintf(stderr, "cellar-lines: %s\n", error.text);
    return 2;
}
