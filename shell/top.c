/*
 * top.c - `cellar top`: what running processes do, live, from the metrics that they give (cellar_metrics by an HTTP
 * server of theirs, `cellar bench --metrics`, `cellar memnode --metrics`).
 */
#include "shell.h"
#include "options.h"
#include "scrape.h"
#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX 16
#define LIST_MAX 10

struct place {
    const char *where;
    struct scrape now, before;
};

struct top {
    double every_s;
    uint64_t count;
    struct place places[PLACES_MAX];
    uint32_t place_count;
    struct watch *watch;
    uint64_t now_ns, before_ns;
    struct cellar_error *error;
};

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "every",
     .argument = "S",
     .help = "seconds between two looks",
     .fallback = "1",
     .kind = OPTION_REAL,
     .offset = offsetof(struct top, every_s),
     .min = 0.05,
     .max = 3600},
    {.name = "count",
     .argument = "N",
     .help = "end after so many",
     .fallback = "goes on until an interrupt",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct top, count),
     .min = 1},
};
static const struct options options = {.program = "cellar top", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar top PORT|HOST:PORT ... [options]\n\n"
          "Shows what running processes do, from the metrics they give at http://HOST:PORT/metrics: throughput, aborts "
          "by reason,\nrecords with most conflicts, verbs, memory, logs, compute nodes. A program gives them by "
          "cellar_metrics "
          "and its own\nHTTP server, `cellar bench` and `cellar memnode` by --metrics PORT.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar bench smallbank --theta 0.99 --seconds 60 --metrics 9471 &\n"
          "  cellar top 9471\n"
          "  cellar top db1:9471 mn1:9471 --every 5 --count 12\n",
          stdout);
}

/* ---- what has happened between two looks ---- */

static double rate(const struct top *top, const struct place *place, const char *name)
{
    double seconds = (double)(top->now_ns - top->before_ns) * 1e-9;
    double difference = scrape_value(&place->now, name) - scrape_value(&place->before, name);
    return seconds > 0 && difference > 0 ? difference / seconds : 0;
}

struct ranked {
    const struct scrape_sample *sample;
    double rate;
};

static int by_rate(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    return left->rate < right->rate ? 1 : left->rate > right->rate ? -1 : 0;
}

/* Those of a family that have happened, most often first. Returns all together. */
static double rank(const struct top *top, const struct place *place, const char *family, struct ranked *ranked,
                   uint32_t *count)
{
    size_t length = strlen(family);
    double sum = 0;
    *count = 0;
    for (uint32_t i = 0; i < place->now.count; i++) {
        const struct scrape_sample *sample = &place->now.samples[i];
        if (strncmp(sample->name, family, length) != 0 || sample->name[length] != '{') continue;
        double happened = rate(top, place, sample->name);
        sum += happened;
        if (happened > 0) ranked[(*count)++] = (struct ranked){sample, happened};
    }
    qsort(ranked, *count, sizeof *ranked, by_rate);
    return sum;
}

static void list_print(const struct ranked *ranked, uint32_t count, const char *title, const char *label,
                       const char *second)
{
    char name[80], more[80], text[STYLE_BYTES];
    if (count) printf("  %s\n", title);
    for (uint32_t i = 0; i < count && i < LIST_MAX; i++)
        printf("    %-28s %-20s %9s /s\n", scrape_label(ranked[i].sample, label, name, sizeof name),
               second ? scrape_label(ranked[i].sample, second, more, sizeof more) : "",
               style_rate(text, ranked[i].rate));
}

static double sum(const struct scrape *scrape, const char *family)
{
    double all = 0;
    size_t length = strlen(family);
    for (uint32_t i = 0; i < scrape->count; i++)
        if (strncmp(scrape->samples[i].name, family, length) == 0 && scrape->samples[i].name[length] == '{')
            all += scrape->samples[i].value;
    return all;
}

static void space_print(const struct place *place)
{
    const struct scrape *now = &place->now;
    char text[STYLE_BYTES], more[STYLE_BYTES];
    double nodes = scrape_value(now, "cellar_memory_nodes"), bytes = scrape_value(now, "cellar_memory_node_bytes");
    double used = sum(now, "cellar_memory_used_bytes"), lost = sum(now, "cellar_memory_node_lost");
    printf("  memory        %.0f nodes of %s, %s in use", nodes, style_bytes(text, bytes), style_bytes(more, used));
    printf(" (%s)", style_percent(text, nodes * bytes > 0 ? used / (nodes * bytes) : 0));
    if (lost > 0) printf(", %.0f nodes lost", lost);
    printf(", record caches %s\n", style_bytes(text, scrape_value(now, "cellar_cache_bytes")));
    double coordinators = scrape_value(now, "cellar_coordinators"), log = scrape_value(now, "cellar_log_segment_bytes");
    printf("  logs          %s, %s for each of %.0f coordinators\n", style_bytes(text, coordinators * log),
           style_bytes(more, log), coordinators);
}

static void engine_print(const struct top *top, const struct place *place)
{
    struct ranked ranked[SCRAPE_SAMPLES_MAX];
    char text[STYLE_BYTES], more[STYLE_BYTES];
    uint32_t count;
    double committed = rate(top, place, "cellar_transactions_total");
    double aborted = rank(top, place, "cellar_aborts_total", ranked, &count);
    double trips = rate(top, place, "cellar_round_trips_total");
    printf("  transactions  %9s /s   aborted %s", style_rate(text, committed),
           style_percent(more, committed + aborted > 0 ? aborted / (committed + aborted) : 0));
    printf("   round trips %.2f a transaction\n", committed > 0 ? trips / committed : 0);
    list_print(ranked, count, "aborts", "reason", NULL);
    (void)rank(top, place, "cellar_record_conflicts", ranked, &count);
    list_print(ranked, count, "records with most conflicts", "table", "key");
    (void)rank(top, place, "cellar_verbs_total", ranked, &count);
    list_print(ranked, count, "verbs", "verb", "phase");
    space_print(place);
    printf("  members       %.0f compute nodes here, of %.0f that the pool may have; %.0f go the plain way\n",
           scrape_value(&place->now, "cellar_compute_nodes"), scrape_value(&place->now, "cellar_members"),
           scrape_value(&place->now, "cellar_plain_nodes"));
}

static void memnode_print(const struct place *place)
{
    char name[80], text[STYLE_BYTES];
    for (uint32_t i = 0; i < place->now.count; i++) {
        const struct scrape_sample *sample = &place->now.samples[i];
        if (strncmp(sample->name, "cellar_memnode_", 15) != 0) continue;
        printf("  memory node %s  %-32.*s %s\n", scrape_label(sample, "node", name, sizeof name),
               (int)strcspn(sample->name, "{") - 15, sample->name + 15, style_count(text, (uint64_t)sample->value));
    }
}

static void place_print(const struct top *top, const struct place *place)
{
    struct style style = style_of(stdout);
    bool engine = false, memnode = false;
    for (uint32_t i = 0; i < place->now.count; i++) {
        engine = engine || strcmp(place->now.samples[i].name, "cellar_transactions_total") == 0;
        memnode = memnode || strncmp(place->now.samples[i].name, "cellar_memnode_", 15) == 0;
    }
    printf("%s%s%s\n", style.bold, place->where, style.end);
    if (engine) engine_print(top, place);
    if (memnode) memnode_print(place);
    if (!engine && !memnode) printf("  no metrics of Cellar are there\n");
}

/* ---- looks ---- */

static int look(struct top *top)
{
    top->before_ns = top->now_ns;
    for (uint32_t i = 0; i < top->place_count; i++) {
        struct place *place = &top->places[i];
        scrape_free(&place->before);
        place->before = place->now;
        place->now = (struct scrape){0};
        int code = scrape_fetch(place->where, &place->now, top->error);
        if (code) return code;
    }
    top->now_ns = top->watch->now_ns();
    return 0;
}

static int run(struct top *top)
{
    bool fancy = isatty(STDOUT_FILENO);
    int code = look(top);
    for (uint64_t i = 0; code == 0 && (!top->count || i < top->count); i++) {
        top->watch->pause((uint64_t)(top->every_s * 1e9));
        if (__atomic_load_n(&top->watch->stop, __ATOMIC_RELAXED)) break;
        code = look(top);
        if (code) break;
        if (fancy) fputs("\033[H\033[2J", stdout);
        for (uint32_t k = 0; k < top->place_count; k++) place_print(top, &top->places[k]);
        fflush(stdout);
    }
    return code;
}

static int parse(int count, char *const *arguments, struct top *top)
{
    uint64_t given;
    int names = 0;
    while (names < count && arguments[names][0] != '-') names++;
    int code = options_parse(&options, count - names, arguments + names, top, &given, top->error);
    if (code) return code;
    if (names == 0) return err_set(top->error, CELLAR_INVALID, "name a PORT or HOST:PORT that gives metrics");
    if (names > PLACES_MAX) return err_set(top->error, CELLAR_INVALID, "more than %d places", PLACES_MAX);
    for (int i = 0; i < names; i++) top->places[i].where = arguments[i];
    top->place_count = (uint32_t)names;
    return 0;
}

int shell_top(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct top *top = calloc(1, sizeof *top);
    if (!top) return COMMAND_ERROR;
    *top = (struct top){.every_s = 1, .watch = watch, .error = &error};
    int code = parse(count, arguments, top);
    if (code == OPTIONS_HELP) {
        print_help();
        free(top);
        return COMMAND_OK;
    }
    watch->begin(watch, &(struct watch_phase){.interruptible = true});
    if (code == 0) code = run(top);
    watch->end(watch);
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        scrape_free(&top->places[i].now);
        scrape_free(&top->places[i].before);
    }
    free(top);
    if (code == 0) return COMMAND_OK;
    fprintf(stderr, "cellar top: %s\n", error.text);
    return COMMAND_ERROR;
}
