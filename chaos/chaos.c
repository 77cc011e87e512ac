/* chaos.c - `cellar chaos`: rounds of violence on a cluster of processes, and what the witnesses say of it. */
#include "chaos.h"

#include "chaos_judge.h"
#include "chaos_options.h"
#include "chaos_rounds.h"
#include "etcd.h"
#include "json_file.h"
#include "mode.h"
#include "progress.h"
#include "shared_options.h"
#include "style.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_USUAL 20

struct chaos {
    struct chaos_cluster cluster;
    const char *json_path;
    uint64_t rounds, seed;
    uint64_t done; /* rounds; read by the thread that draws the line */
    uint64_t events[CHAOS_ROUNDS_KINDS];
    struct chaos_judgement judgement;
    char temporary[32]; /* a folder of its own */
};

#define AT(field) offsetof(struct chaos, field)

static const struct option_def defs[] = {
    {CHAOS_OPTIONS_DIR(AT(cluster.folder), "sockets, logs and witnesses; it stays when a check fails",
                       "a temporary one")},
    CHAOS_OPTIONS_SHAPE(AT(cluster)),
    {.name = "rounds",
     .argument = "N",
     .help = "events, one after the other",
     .fallback = "20",
     .kind = OPTION_NUMBER,
     .offset = AT(rounds),
     .min = 1,
     .max = 1e6},
    {SHARED_OPTIONS_SEED(AT(seed))},
    {SHARED_OPTIONS_JSON(AT(json_path))},
};
static const struct options options = {
    .program = "cellar chaos", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar chaos [options]\n\n"
          "Starts a cluster of real processes on this host, kills and stops some of them, by a seed, while its compute "
          "nodes move\nmoney, and brings them back. In the end the pool is held against files outside of it, to which "
          "each compute node has\nwritten what it tried and what it was told.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar chaos --rounds 20\n"
          "  cellar chaos --memnodes 3 --compute 4 --replicas 1 --rounds 100 --seed 7 --dir /tmp/chaos\n"
          "\nExit status: 0 all holds, 1 something was lost, or work did not go on, 2 wrong usage or an error.\n",
          stdout);
}

static int parse(int count, char *const *arguments, struct chaos *chaos, struct cellar_error *error)
{
    uint64_t given;
    int code = options_parse(&options, count, arguments, chaos, &given, error);
    if (code == 0) code = json_file_check(chaos->json_path, error);
    if (code != 0) return code;
    if (!chaos->cluster.folder) {
        snprintf(chaos->temporary, sizeof(chaos->temporary), "/tmp/cellar-chaos-XXXXXX");
        chaos->cluster.folder = mkdtemp(chaos->temporary);
        if (!chaos->cluster.folder) return err_set(error, CELLAR_SYSTEM, "%s: %s", chaos->temporary, strerror(errno));
    }
    return chaos_cluster_check(&chaos->cluster, error);
}

static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct chaos *chaos = arg;
    char bar[PROGRESS_BAR_BYTES], left[STYLE_BYTES];
    uint64_t done = __atomic_load_n(&chaos->done, __ATOMIC_RELAXED);
    double fraction = (double)done / (double)chaos->rounds;
    progress_bar(bar, fraction);
    progress_left(left, fraction, elapsed_s);
    snprintf(line, bytes, "  %s round %" PRIu64 " of %" PRIu64 "  %s", bar, done, chaos->rounds, left);
}

static int violence(struct chaos *chaos, struct watch *watch, struct cellar_error *error)
{
    struct prng prng;
    int code = 0;
    prng_seed(&prng, chaos->seed);
    watch->begin(watch, &(struct watch_phase){.interruptible = true, .draw = draw, .arg = chaos});
    while (code == 0 && chaos->done < chaos->rounds && !__atomic_load_n(&watch->stop, __ATOMIC_RELAXED)) {
        struct chaos_rounds_round round = chaos_rounds_draw(&prng, &chaos->cluster);
        code = chaos_rounds_run(&round, &chaos->cluster, watch, error);
        chaos->events[round.event]++;
        if (code == 0) __atomic_fetch_add(&chaos->done, 1, __ATOMIC_RELAXED);
    }
    watch->end(watch);
    return code;
}

static int read_witnesses(const struct chaos_cluster *cluster, struct chaos_witness_line **lines, uint64_t *count,
                          struct cellar_error *error)
{
    char path[CHAOS_CLUSTER_PATH];
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < cluster->compute; i++) {
        uint64_t at = 0;
        chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, i, "witness", path);
        code = chaos_witness_read(path, &at, lines, count, error);
    }
    return code;
}

static int judge(struct chaos *chaos, struct cellar_error *error)
{
    char sockets[CHAOS_CLUSTER_SOCKETS], urls[CHAOS_CLUSTER_ETCD_URLS];
    const struct chaos_cluster *cluster = &chaos->cluster;
    struct etcd *etcd;
    struct engine_config config =
        chaos_cluster_config(cluster, cluster->compute + 1, chaos_cluster_sockets(cluster, sockets));
    struct chaos_bank bank = {0};
    struct chaos_witness_line *lines = NULL;
    uint64_t count = 0;
    int code = etcd_attach(chaos_cluster_etcd_urls(cluster, urls), NULL, &etcd, &config.decider, error);
    if (code == 0) code = chaos_bank_open(&bank, &config, cluster->bytes, error);
    if (code != 0) {
        etcd_close(etcd);
        return code;
    }
    code = read_witnesses(cluster, &lines, &count, error);
    if (code == 0) code = chaos_judge(&bank, lines, count, &chaos->judgement, error);
    free(lines);
    cellar_close(bank.db);
    etcd_close(etcd);
    return code;
}

static void report(const struct chaos *chaos)
{
    const struct chaos_judgement *found = &chaos->judgement;
    const struct style style = style_of(stdout);
    char text[STYLE_BYTES];
    printf("%" PRIu64 " rounds, seed %" PRIu64 ", %u memory nodes, %u compute nodes, %u backups, cc %s\n", chaos->done,
           chaos->seed, chaos->cluster.memnodes, chaos->cluster.compute, chaos->cluster.replicas, chaos->cluster.cc);
    for (uint32_t i = 0; i < CHAOS_ROUNDS_KINDS; i++)
        if (chaos->events[i])
            printf("  %6" PRIu64 "  %s\n", chaos->events[i], chaos_rounds_text((enum chaos_rounds_event)i));
    printf("  %s acknowledged", style_count(text, found->committed));
    printf(", %s refused", style_count(text, found->refused));
    printf(", %s not known to their process\n", style_count(text, found->unknown));
    printf("  %s%s%s   nothing acknowledged is lost, nothing refused is there, and no transfer is half there\n",
           style.good, style.yes, style.end);
}

static int report_json(const struct chaos *chaos, struct cellar_error *error)
{
    const struct chaos_judgement *found = &chaos->judgement;
    json_t *events = json_object();
    for (uint32_t i = 0; i < CHAOS_ROUNDS_KINDS; i++)
        json_object_set_new(events, chaos_rounds_text((enum chaos_rounds_event)i),
                            json_integer((json_int_t)chaos->events[i]));
    json_t *root = json_pack(
        "{s:I, s:I, s:i, s:i, s:i, s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:b}", "rounds", (json_int_t)chaos->done, "seed",
        (json_int_t)chaos->seed, "mns", (int)chaos->cluster.memnodes, "cns", (int)chaos->cluster.compute, "replicas",
        (int)chaos->cluster.replicas, "cc", chaos->cluster.cc, "etcd", chaos->cluster.etcd, "events", events,
        "acknowledged", (json_int_t)found->committed, "refused", (json_int_t)found->refused, "unknown",
        (json_int_t)found->unknown, "receipts", (json_int_t)found->receipts, "consistent", 1);
    if (!root) return err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
    int code = json_file_write(root, chaos->json_path, error);
    json_decref(root);
    return code;
}

/* The cluster runs until it is judged; whatever comes of it, its processes end. */
static int run(struct chaos *chaos, struct watch *watch, struct cellar_error *error)
{
    int code = chaos_cluster_make(&chaos->cluster, error);
    if (code != 0) return code;
    code = chaos_cluster_start_all(&chaos->cluster, watch, error);
    if (code == 0) code = violence(chaos, watch, error);
    chaos_cluster_stop_compute(&chaos->cluster, watch);
    if (code == 0) code = judge(chaos, error);
    chaos_cluster_stop_all(&chaos->cluster, watch);
    return code;
}

int chaos_main(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct chaos chaos = {.cluster = CHAOS_OPTIONS_USUAL, .rounds = ROUNDS_USUAL, .seed = 1};
    int code = parse(count, arguments, &chaos, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    bool ran = code == 0;
    if (ran) code = run(&chaos, watch, &error);
    if (code == 0 && (!chaos.json_path || strcmp(chaos.json_path, "-") != 0)) report(&chaos);
    if (code == 0 && chaos.json_path) code = report_json(&chaos, &error);
    if (code == 0) {
        chaos_cluster_remove(&chaos.cluster);
        return COMMAND_OK;
    }
    fprintf(stderr, "cellar chaos: %s\n", error.code ? error.text : cellar_strerror(code));
    bool judged = ran && (code == CELLAR_CORRUPT || code == CELLAR_UNREACHABLE);
    if (judged)
        fprintf(stderr, "round %" PRIu64 " of seed %" PRIu64 "; logs and witnesses are in %s\n", chaos.done + 1,
                chaos.seed, chaos.cluster.folder);
    return judged ? COMMAND_CHECK_FAILED : COMMAND_ERROR;
}
