/* check.c - `cellar check`: judges what other runs have left. So far that is a history in a file. */
#include "bench.h"
#include "err.h"
#include "history_check.h"
#include "history_file.h"
#include "options.h"
#include "style.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct check {
    const char *history_path, *json;
    bool no_realtime;
    struct history history;
    struct history_check_options options;
    struct history_verdict verdict;
    uint64_t outcomes[3]; /* transactions by enum history_outcome */
    /* for the status line */
    uint64_t file_bytes, bytes_read;
};

#define AT(field) offsetof(struct check, field)

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "history",
     .argument = "FILE",
     .help = "judge this history, as --history of other commands records it",
     .kind = OPTION_TEXT,
     .offset = AT(history_path)},
    {.name = "no-realtime",
     .help = "serializability only: the order in time may differ",
     .kind = OPTION_FLAG,
     .offset = AT(no_realtime)},
    {.name = "json",
     .argument = "FILE",
     .help = "also write the verdict as JSON; - is standard output",
     .kind = OPTION_TEXT,
     .offset = AT(json)},
};
static const struct options options = {
    .program = "cellar check", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar check --history FILE [options]\n\n"
          "Judges the history of a run (docs/history.md): is it strictly serializable, and is the pool what its last\n"
          "versions say? A violation is told in words: who read and wrote which versions, and why that cannot be.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar check --history run.jsonl\n"
          "  cellar check --history run.jsonl --no-realtime --json verdict.json\n"
          "\nExit status: 0 all is in order, 1 a violation, 2 wrong usage or a file that is no history.\n",
          stdout);
}

static int parse(int count, char *const *arguments, struct check *check, struct cellar_error *error)
{
    uint64_t given;
    int code = options_parse(&options, count, arguments, check, &given, error);
    if (code == 0 && !check->history_path)
        return err_set(error, CELLAR_ERR_INVALID, "--history FILE is missing: it is all that can be checked so far");
    return code;
}

/* ---- reading and judging ---- */

static void draw_reading(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct check *check = arg;
    char done[STYLE_BYTES], all[STYLE_BYTES], eta[STYLE_BYTES] = "-";
    double now = (double)__atomic_load_n(&check->bytes_read, __ATOMIC_RELAXED), end = (double)check->file_bytes;

    if (now > 0 && end >= now) snprintf(eta, sizeof eta, "%.0f s", elapsed_s * (end - now) / now);
    snprintf(line, bytes, "  reading %.80s: %s of %s   ETA %s", check->history_path, style_bytes(done, now),
             style_bytes(all, end), eta);
}

static void draw_judging(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct check *check = arg;
    char txns[STYLE_BYTES], accesses[STYLE_BYTES];

    snprintf(line, bytes, "  judging %s transactions with %s accesses: %.0f s",
             style_count(txns, check->history.txn_count), style_count(accesses, check->history.access_count),
             elapsed_s);
}

/* 0, CORRUPT without a message: there is a verdict, or an error. */
static int run(struct check *check, struct watch *watch, struct cellar_error *error)
{
    struct stat status;

    if (stat(check->history_path, &status) == 0) check->file_bytes = (uint64_t)status.st_size;
    watch->begin(watch, &(struct watch_phase){.draw = draw_reading, .arg = check});
    int code = history_read_watched(&check->history, check->history_path, &check->bytes_read, error);
    watch->end(watch);
    if (code) return code;

    const struct history *history = &check->history;
    for (uint64_t i = 0; i < history->txn_count; i++) check->outcomes[history->txns[i].outcome]++;
    check->options = (struct history_check_options){
        .realtime = !check->no_realtime, .clock_error_ns = history->clock_error_ns, .settled = !history->nodes_lost};
    watch->begin(watch, &(struct watch_phase){.draw = draw_judging, .arg = check});
    code = history_check(history, &check->options, &check->verdict);
    watch->end(watch);
    return code;
}

/* ---- telling ---- */

static void print_text(const struct check *check, FILE *out)
{
    const struct history_verdict *verdict = &check->verdict;
    struct style style = style_of(out);
    char numbers[7][STYLE_BYTES];
    bool ok = !strcmp(verdict->kind, "ok");

    fprintf(out, "%s%s%s\n", style.bold, check->history_path, style.end);
    fprintf(out, "  %s transactions: %s committed, %s failed, %s indeterminate\n",
            style_count(numbers[0], verdict->txns), style_count(numbers[1], check->outcomes[HISTORY_COMMITTED]),
            style_count(numbers[2], check->outcomes[HISTORY_FAILED]),
            style_count(numbers[3], check->outcomes[HISTORY_INDETERMINATE]));
    fprintf(out, "  %s accesses to %s items, %s dependencies\n", style_count(numbers[4], check->history.access_count),
            style_count(numbers[5], verdict->items), style_count(numbers[6], verdict->edges));
    fprintf(out, "%s%s%s %s", ok ? style.good : style.bad, ok ? style.yes : style.no, style.end, verdict->text);
}

static json_t *verdict_json(const struct check *check)
{
    const struct history_verdict *verdict = &check->verdict;
    json_t *cycle = json_array();
    for (uint32_t i = 0; i < verdict->cycle_count; i++)
        json_array_append_new(cycle, json_integer((json_int_t)verdict->cycle[i]));
    return json_pack(
        "{s:s, s:b, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I}", "history", check->history_path,
        "ok", !strcmp(verdict->kind, "ok"), "kind", verdict->kind, "text", verdict->text, "concerned", cycle, "txns",
        (json_int_t)verdict->txns, "committed", (json_int_t)check->outcomes[HISTORY_COMMITTED], "failed",
        (json_int_t)check->outcomes[HISTORY_FAILED], "indeterminate",
        (json_int_t)check->outcomes[HISTORY_INDETERMINATE], "accesses", (json_int_t)check->history.access_count,
        "items", (json_int_t)verdict->items, "edges", (json_int_t)verdict->edges, "realtime", check->options.realtime,
        "final", check->history.has_final, "clock_error_ns", (json_int_t)check->options.clock_error_ns);
}

static int write_json(const struct check *check, struct cellar_error *error)
{
    bool standard = !strcmp(check->json, "-");
    json_t *root = verdict_json(check);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) return err_set(error, CELLAR_ERR_SYSTEM, "--json %.80s: a name or text is no UTF-8", check->json);
    errno = 0;
    FILE *out = standard ? stdout : fopen(check->json, "w");
    bool failed = !out || fprintf(out, "%s\n", text) < 0 || fflush(out);
    if (out && !standard && fclose(out)) failed = true;
    free(text);
    return failed ? err_set(error, CELLAR_ERR_SYSTEM, "--json %.80s: %s", check->json, strerror(errno)) : 0;
}

static int tell(const struct check *check, struct cellar_error *error)
{
    print_text(check, check->json && !strcmp(check->json, "-") ? stderr : stdout);
    return check->json ? write_json(check, error) : 0;
}

int bench_check_main(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct check *check = calloc(1, sizeof *check);
    int code = check ? parse(count, arguments, check, &error) : -CELLAR_ERR_NOMEM;
    int status = BENCH_EXIT_ERROR;

    if (code == OPTIONS_HELP) {
        print_help();
        status = BENCH_EXIT_OK;
    } else if (code == 0) {
        code = run(check, watch, &error);
        if (code == 0 || (code == -CELLAR_ERR_CORRUPT && !error.code)) {
            status = code ? BENCH_EXIT_CHECK_FAILED : BENCH_EXIT_OK;
            if (tell(check, &error)) status = BENCH_EXIT_ERROR;
        }
    }
    if (status == BENCH_EXIT_ERROR)
        fprintf(stderr, "cellar check: %s\n", error.code ? error.text : cellar_error_text(code));
    if (check) history_free(&check->history);
    free(check);
    return status;
}
