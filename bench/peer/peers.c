/*
 * peers.c - cellar-peers: the same transactions on Cellar and on stores that people embed, one run after the other,
 * round by round, and the ratios of their rates.
 */
#include "json_file.h"
#include "options.h"
#include "peer_report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAWS (1u << 19) /* then again from the first */
#define TXNS_MAX (1u << 24)
#define RECORDS_MAX 100000000
#define ROUNDS_MAX 1000
#define CLIENTS_MAX 16384

struct settings {
    const char *peers, *base, *clients, *folder, *durable, *json;
    uint32_t rounds;
    double warmup, seconds;
    uint64_t txns, records, seed;
    bool list;
};

#define AT(field) offsetof(struct settings, field)
static const struct option_def defs[] = {
    {.group = "What",
     .name = "peers",
     .argument = "LIST",
     .help = "of the stores that --list names",
     .fallback = "all",
     .kind = OPTION_TEXT,
     .offset = AT(peers)},
    {.name = "base",
     .argument = "NAME",
     .help = "whose rate the others are divided by",
     .fallback = "lmdb",
     .kind = OPTION_TEXT,
     .offset = AT(base)},
    {.name = "clients",
     .argument = "LIST",
     .help = "how many at a time; the best is what counts",
     .fallback = "1,2; durable 1,16,100,4096",
     .kind = OPTION_TEXT,
     .offset = AT(clients)},
    {.name = "durable",
     .argument = "DIR",
     .help = "each transaction is on this folder's disk when it ends",
     .kind = OPTION_TEXT,
     .offset = AT(durable)},
    {.name = "records",
     .argument = "N",
     .help = "accounts, or records",
     .fallback = "100,000 or 1,000,000",
     .kind = OPTION_NUMBER,
     .offset = AT(records),
     .min = 100,
     .max = RECORDS_MAX},
    {.name = "seed",
     .argument = "N",
     .help = "of the draws, which are the same for all",
     .fallback = "1",
     .kind = OPTION_NUMBER,
     .offset = AT(seed),
     .min = 1},
    {.group = "How long",
     .name = "rounds",
     .argument = "N",
     .help = "in each, every store once",
     .fallback = "3",
     .kind = OPTION_COUNT,
     .offset = AT(rounds),
     .min = 1,
     .max = ROUNDS_MAX},
    {.name = "seconds",
     .argument = "S",
     .help = "measured in each run",
     .fallback = "1",
     .kind = OPTION_REAL,
     .offset = AT(seconds),
     .min = 0.01,
     .max = 1000},
    {.name = "warmup",
     .argument = "S",
     .help = "before that",
     .fallback = "0.25",
     .kind = OPTION_REAL,
     .offset = AT(warmup),
     .max = 1000},
    {.name = "txns",
     .argument = "N",
     .help = "so many transactions, instead",
     .kind = OPTION_NUMBER,
     .offset = AT(txns),
     .min = 1,
     .max = TXNS_MAX},
    {.group = "Where",
     .name = "dir",
     .argument = "DIR",
     .help = "where the files of stores in memory are",
     .fallback = "/dev/shm",
     .kind = OPTION_TEXT,
     .offset = AT(folder)},
    {.name = "json",
     .argument = "FILE",
     .help = "also write the report as one JSON object; - is stdout",
     .kind = OPTION_TEXT,
     .offset = AT(json)},
    {.name = "list",
     .help = "the stores, their versions, isolation and settings, and nothing else",
     .kind = OPTION_FLAG,
     .offset = AT(list)},
};
static const struct options options = {.program = "cellar-peers", .defs = defs, .count = sizeof defs / sizeof defs[0]};

static void print_help(void)
{
    fputs("Usage: cellar-peers [WORK...] [options]\n\n"
          "Runs the same transactions on Cellar and on stores that people embed, round by round, and prints medians "
          "of\nrates, and of each round's ratio to one of them, with the median deviation. Each run is a process of "
          "its own;\nwhat it leaves is checked: money is conserved, no update is lost.\n\n"
          "WORK, with -THETA behind it for another skew (ycsb-0.99); all of these by default:\n"
          "  smallbank    six short transactions on two balances of an account; uniform\n"
          "  ycsb         updates one of four values of 40 bytes in each of four records; theta 0.1, and ycsb-0.99\n"
          "  read         reads so many; theta 0.99\n\n",
          stdout);
    options_print(&options, stdout);
}

static int print_list(void)
{
    for (uint32_t i = 0; i < peer_count; i++) {
        const struct peer *peer = &peer_table[i];
        if (!peer->ops) {
            printf("%-10s not built: Debian's %s was missing\n", peer->name, peer->package);
            continue;
        }
        printf("%-10s %s %s\n", peer->name, peer->ops->title, peer->ops->version);
        printf("           isolation  %s\n", peer->ops->isolation);
        printf("           in memory  %s\n", peer->ops->memory);
        printf("           durable    %s\n", peer->ops->durable);
    }
    return 0;
}

/* ---- what is to be compared ---- */

/* The next part of a comma-separated list, copied; NULL at the end. */
static const char *next_part(const char **list, char *part, size_t bytes)
{
    if (!**list) return NULL;
    size_t length = strcspn(*list, ",");
    snprintf(part, bytes, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return part;
}

static int peer_add(struct peer_comparison *all, const char *name, struct cellar_error *error)
{
    for (uint32_t i = 0; i < peer_count; i++) {
        const struct peer *peer = &peer_table[i];
        if (strcmp(peer->name, name) != 0) continue;
        if (!peer->ops)
            return err_set(error, CELLAR_UNSUPPORTED, "%s is not built: Debian's %s was missing", name, peer->package);
        for (uint32_t j = 0; j < all->peer_count; j++)
            if (all->peers[j] == peer) return err_set(error, CELLAR_INVALID, "--peers: %s twice", name);
        all->peers[all->peer_count++] = peer;
        return 0;
    }
    return err_set(error, CELLAR_INVALID, "--peers: there is no \"%s\": see --list", name);
}

static int peers_set(struct peer_comparison *all, const char *list, const char *base, struct cellar_error *error)
{
    char part[64];
    int rc = 0;
    if (!list) {
        for (uint32_t i = 0; i < peer_count; i++) {
            if (peer_table[i].ops)
                all->peers[all->peer_count++] = &peer_table[i];
            else
                fprintf(stderr, "cellar-peers: without %s: Debian's %s was missing\n", peer_table[i].name,
                        peer_table[i].package);
        }
    } else {
        while (rc == 0 && next_part(&list, part, sizeof part)) rc = peer_add(all, part, error);
    }
    if (rc == 0 && !all->peer_count) rc = err_set(error, CELLAR_INVALID, "--peers names none");
    if (rc) return rc;
    for (all->base = 0; all->base < all->peer_count; all->base++)
        if (!strcmp(all->peers[all->base]->name, base ? base : "lmdb")) return 0;
    if (base) return err_set(error, CELLAR_INVALID, "--base: %s is not among the stores that are run", base);
    all->base = 0;
    return 0;
}

static uint32_t clients_most(const struct peer_comparison *all, uint32_t peer)
{
    const struct peer_ops *ops = all->peers[peer]->ops;
    return all->durable && ops->in_flight_max ? ops->in_flight_max : ops->clients_max;
}

static int counts_set(struct peer_comparison *all, const char *list, struct cellar_error *error)
{
    const char *part;
    char text[64];
    if (!list) list = all->durable ? "1,16,100,4096" : "1,2";
    for (all->count_count = 0; (part = next_part(&list, text, sizeof text)); all->count_count++) {
        char *rest;
        unsigned long value = strtoul(part, &rest, 10);
        if (*part < '0' || *part > '9' || *rest || value < 1 || value > CLIENTS_MAX ||
            all->count_count == PEER_COUNTS_MAX)
            return err_set(error, CELLAR_INVALID, "--clients: up to %d numbers of 1 to %d, not \"%s\"", PEER_COUNTS_MAX,
                           CLIENTS_MAX, part);
        all->counts[all->count_count] = (uint32_t)value;
    }
    if (!all->count_count) return err_set(error, CELLAR_INVALID, "--clients: no number");
    for (uint32_t i = 0; i < all->peer_count; i++) {
        uint32_t fits = 0;
        for (uint32_t j = 0; j < all->count_count; j++) fits += all->counts[j] <= clients_most(all, i);
        if (!fits)
            return err_set(error, CELLAR_INVALID, "--clients: %s takes at most %u", all->peers[i]->name,
                           clients_most(all, i));
    }
    return 0;
}

static int works_set(struct peer_comparison *all, int count, char *const *names, uint64_t records,
                     struct cellar_error *error)
{
    static char *const usual[] = {"smallbank", "ycsb", "ycsb-0.99", "read"};
    if (!count) count = sizeof usual / sizeof usual[0], names = usual;
    if (count > PEER_WORKS_MAX) return err_set(error, CELLAR_INVALID, "at most %d works", PEER_WORKS_MAX);
    for (int i = 0; i < count; i++) {
        if (!peer_work_named(&all->works[i], names[i]))
            return err_set(error, CELLAR_INVALID, "no work is called \"%s\": see --help", names[i]);
        all->records[i] = records ? records : all->works[i].kind == PEER_SMALLBANK ? 100000 : 1000000;
    }
    all->work_count = (uint32_t)count;
    return 0;
}

static int folder_check(const char *folder, struct cellar_error *error)
{
    if (access(folder, W_OK | X_OK) == 0) return 0;
    return err_set(error, CELLAR_INVALID, "%s is no folder to write in", folder);
}

static int parse(int count, char *const *arguments, struct settings *settings, struct peer_comparison *all,
                 struct cellar_error *error)
{
    int works = 0;
    uint64_t given;
    while (works < count && strncmp(arguments[works], "--", 2) != 0) works++;
    int rc = options_parse(&options, count - works, arguments + works, settings, &given, error);
    if (rc || settings->list) return rc;
    all->durable = settings->durable;
    all->rounds = settings->rounds;
    all->txns = settings->txns;
    all->seconds = settings->seconds;
    all->folder = settings->durable ? settings->durable : settings->folder;
    if (settings->txns && (options_given(&options, given, "seconds") || options_given(&options, given, "warmup")))
        return err_set(error, CELLAR_INVALID, "--txns goes without --seconds and --warmup");
    if ((rc = peers_set(all, settings->peers, settings->base, error))) return rc;
    if ((rc = counts_set(all, settings->clients, error))) return rc;
    if ((rc = works_set(all, works, arguments, settings->records, error))) return rc;
    if ((rc = folder_check(all->folder, error))) return rc;
    return json_file_check(settings->json, error);
}

/* ---- the rounds ---- */

static volatile sig_atomic_t interrupted;
static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* One work of one round: each store in turn, the first one another in each round. */
static int round_run(struct peer_comparison *all, const struct settings *settings, uint32_t work, uint32_t round,
                     struct peer_draw *draws, uint64_t draw_count)
{
    bool alone = all->work_count * all->peer_count * all->count_count * all->rounds == 1;
    for (uint32_t i = 0; i < all->peer_count; i++) {
        uint32_t peer = (i + round) % all->peer_count;
        for (uint32_t count = 0; count < all->count_count; count++) {
            if (all->counts[count] > clients_most(all, peer)) continue;
            const struct peer_order order = {.peer = all->peers[peer],
                                             .setup = {.work = &all->works[work],
                                                       .records = all->records[work],
                                                       .clients = all->counts[count],
                                                       .durable = all->durable,
                                                       .folder = all->folder},
                                             .draws = draws,
                                             .draw_count = draw_count,
                                             .once = all->txns != 0,
                                             .warmup_s = settings->warmup,
                                             .seconds = settings->seconds};
            struct peer_result *result = peer_report_at(all, work, peer, count, round);
            int rc = peer_run(&order, !alone, result);
            if (rc || interrupted) return -1;
            fprintf(stderr, "cellar-peers: round %u of %u, %s, %s, %u clients: %.0f txn/s%s%s\n", round + 1,
                    all->rounds, all->works[work].name, all->peers[peer]->name, all->counts[count], result->tps,
                    result->holds ? "" : "; ", result->wrong);
        }
    }
    return 0;
}

static int rounds_run(struct peer_comparison *all, const struct settings *settings, struct cellar_error *error)
{
    uint64_t draw_count = all->txns ? all->txns : DRAWS;
    size_t results = (size_t)all->work_count * all->peer_count * all->count_count * all->rounds;
    struct peer_draw *draws = malloc(draw_count * sizeof *draws);
    all->results = calloc(results, sizeof *all->results);
    int rc = draws && all->results ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the draws");
    for (uint32_t round = 0; rc == 0 && round < all->rounds; round++)
        for (uint32_t work = 0; rc == 0 && work < all->work_count; work++) {
            if (!peer_work_draw(&all->works[work], all->records[work], settings->seed + round, draws, draw_count))
                rc = err_set(error, CELLAR_INVALID, "%s cannot be drawn", all->works[work].name);
            if (rc == 0 && round_run(all, settings, work, round, draws, draw_count))
                rc = err_set(error, CELLAR_SYSTEM, interrupted ? "interrupted" : "a run has failed");
        }
    free(draws);
    return rc;
}

int main(int count, char **arguments)
{
    struct settings settings = {
        .rounds = 3, .warmup = 0.25, .seconds = 1, .seed = 1, .folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm"};
    struct peer_comparison all = {0};
    struct cellar_error error = {0};
    int rc = parse(count - 1, arguments + 1, &settings, &all, &error);
    if (rc == OPTIONS_HELP) return print_help(), 0;
    if (rc == 0 && settings.list) return print_list();
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (rc == 0) rc = rounds_run(&all, &settings, &error);
    if (rc == 0 && !(settings.json && !strcmp(settings.json, "-"))) peer_report_print(&all);
    if (rc == 0 && settings.json) rc = peer_report_json(&all, settings.json, &error);
    if (rc) fprintf(stderr, "cellar-peers: %s\n", error.text);
    bool holds = rc == 0 && peer_report_holds(&all);
    free(all.results);
    return rc ? 2 : !holds;
}
