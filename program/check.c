/* check.c - `cellar check --history`: judges the histories that other runs have left. */
#include "program.h"
#include "err.h"
#include "history_check.h"
#include "history_file.h"
#include "history_merge.h"
#include "options.h"
#include "json_file.h"
#include "style.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct check {
    const char *history_path, *json; /* of several parts: with commas between */
    bool no_realtime;
    char *paths; /* the same, cut */
    uint32_t path_count;
    struct history *parts; /* one of each path */
    const char *reading;   /* for the status line */
    struct history history;
    struct history_slices *slices; /* of a file that is too large: what the transactions of the history did */
    uint64_t memory_bytes, accesses;
    struct history_check_options options;
    struct history_verdict verdict;
    uint64_t outcomes[HISTORY_OUTCOMES]; /* transactions by enum history_outcome */
    /* for the status line */
    uint64_t file_bytes, bytes_read;
};

#define AT(field) offsetof(struct check, field)

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "history",
     .argument = "FILE[,FILE...]",
     .help = "judge this history, or these parts of one",
     .kind = OPTION_TEXT,
     .offset = AT(history_path)},
    {.name = "no-realtime",
     .help = "serializability only: the order in time may differ",
     .kind = OPTION_FLAG,
     .offset = AT(no_realtime)},
    {.name = "memory",
     .argument = "SIZE",
     .help = "judge a file that would need more in slices, on disk",
     .fallback = "1G",
     .kind = OPTION_SIZE,
     .offset = AT(memory_bytes),
     .min = 1 << 16},
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
    fputs(
        "Usage: cellar check POOL|DIR [--json FILE]\n"
        "       cellar check --history FILE[,FILE...] [options]\n\n"
        "Judges a pool file at rest: its checksums, records, indexes and their agreement. It is read, never written; "
        "one "
        "that\n"
        "was not closed is recovered in memory first. Or a durable folder (docs/durability.md): all its files, and "
        "then "
        "the\n"
        "pool as an opening restores it. A torn tail is what a crash leaves, and no violation.\n\n"
        "Or judges the history of a run (docs/history.md), as cellar bench --history records it: is it strictly "
        "serializable,\n"
        "and is the pool what its last versions say? A violation is told in words: who read and wrote which versions,\n"
        "and why that cannot be. A run of several processes has left one file of each: give all of them. A run that "
        "died\n"
        "has left FILE.recording in place of FILE.\n",
        stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar check bank.pool\n"
          "  cellar check /var/lib/bank\n"
          "  cellar check --history run.jsonl\n"
          "  cellar check --history run.jsonl --no-realtime --json verdict.json\n"
          "  cellar check --history part0.jsonl,part1.jsonl\n"
          "  cellar check --history part0.jsonl,part1.jsonl.recording\n"
          "\nExit status: 0 all is in order, 1 a violation, 2 wrong usage or a file that is no pool or history, or is "
          "in use.\n",
          stdout);
}

static bool name_missing(const char *list)
{
    size_t bytes = strlen(list);
    return list[0] == ',' || list[bytes - 1] == ',' || strstr(list, ",,") != NULL;
}

static int parse(int count, char *const *arguments, struct check *check, struct cellar_error *error)
{
    uint64_t given;
    check->memory_bytes = 1ull << 30;
    int code = options_parse(&options, count, arguments, check, &given, error);
    if (code == 0 && !check->history_path)
        return err_set(error, CELLAR_INVALID,
                       "name what is to be checked: a pool file, a durable folder, or --history FILE");
    if (code == 0 && name_missing(check->history_path))
        return err_set(error, CELLAR_INVALID, "--history '%.160s': a file's name is missing before or after a comma",
                       check->history_path);
    return code;
}

/* ---- reading and judging ---- */

static void draw_reading(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct check *check = arg;
    char done[STYLE_BYTES], all[STYLE_BYTES], eta[STYLE_BYTES] = "-";
    double now = (double)__atomic_load_n(&check->bytes_read, __ATOMIC_RELAXED), end = (double)check->file_bytes;

    if (now > 0 && end >= now) snprintf(eta, sizeof eta, "%.0f s", elapsed_s * (end - now) / now);
    snprintf(line, bytes, "  reading %.80s: %s of %s   ETA %s", __atomic_load_n(&check->reading, __ATOMIC_RELAXED),
             style_bytes(done, now), style_bytes(all, end), eta);
}

static void draw_judging(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct check *check = arg;
    char txns[STYLE_BYTES], accesses[STYLE_BYTES];

    snprintf(line, bytes, "  judging %s transactions with %s accesses: %.0f s",
             style_count(txns, check->history.txn_count), style_count(accesses, check->accesses), elapsed_s);
}

/* Cuts the list of files at its commas. */
static int cut_paths(struct check *check, struct cellar_error *error)
{
    check->paths = strdup(check->history_path);
    check->path_count = 1;
    if (!check->paths) return err_set(error, CELLAR_NOMEM, "no memory");
    for (char *p = check->paths; *p; p++) {
        if (*p != ',') continue;
        *p = 0;
        check->path_count++;
    }
    check->parts = calloc(check->path_count, sizeof *check->parts);
    return check->parts ? 0 : err_set(error, CELLAR_NOMEM, "no memory");
}

static int read_parts(struct check *check, struct cellar_error *error)
{
    const char *path = check->paths;
    int code = 0;

    for (uint32_t i = 0; i < check->path_count && code == 0; i++, path += strlen(path) + 1) {
        __atomic_store_n(&check->reading, path, __ATOMIC_RELAXED);
        code = check->path_count == 1 ? history_read_slices(&check->parts[i], path, check->memory_bytes, &check->slices,
                                                            &check->bytes_read, error)
                                      : history_read_watched(&check->parts[i], path, &check->bytes_read, error);
        const struct history *part = &check->parts[i];
        if (code == 0 && check->path_count == 1 && part->parts > 1)
            code = err_set(error, CELLAR_INVALID,
                           "%.100s is part %u of %u of a run: all of them are needed, with commas between", path,
                           part->part, part->parts);
    }
    return code;
}

static int join_parts(struct check *check, struct cellar_error *error)
{
    if (check->path_count == 1) {
        check->history = check->parts[0];
        check->parts[0] = (struct history){0};
        return 0;
    }
    return history_merge(check->parts, check->path_count, &check->history, error);
}

static int read_all(struct check *check, struct watch *watch, struct cellar_error *error)
{
    struct stat status;
    int code = cut_paths(check, error);
    if (code) return code;
    const char *path = check->paths;
    for (uint32_t i = 0; i < check->path_count; i++, path += strlen(path) + 1)
        if (stat(path, &status) == 0) check->file_bytes += (uint64_t)status.st_size;
    check->reading = check->paths;
    watch->begin(watch, &(struct watch_phase){.draw = draw_reading, .arg = check});
    code = read_parts(check, error);
    if (code == 0) code = join_parts(check, error);
    watch->end(watch);
    return code;
}

/* 0, CORRUPT without a message: there is a verdict, or an error. */
static int run(struct check *check, struct watch *watch, struct cellar_error *error)
{
    int code = read_all(check, watch, error);
    if (code) return code;

    const struct history *history = &check->history;
    for (uint64_t i = 0; i < history->txn_count; i++) check->outcomes[history->txns[i].outcome]++;
    check->accesses = check->slices ? history_slices_accesses(check->slices) : history->access_count;
    check->options = (struct history_check_options){
        .realtime = !check->no_realtime, .clock_error_ns = history->clock_error_ns, .settled = !history->nodes_lost};
    watch->begin(watch, &(struct watch_phase){.draw = draw_judging, .arg = check});
    code = check->slices ? history_check_slices(history, check->slices, &check->options, &check->verdict, error)
                         : history_check(history, &check->options, &check->verdict);
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
    fprintf(out, "  %s accesses to %s items, %s dependencies\n", style_count(numbers[4], check->accesses),
            style_count(numbers[5], verdict->items), style_count(numbers[6], verdict->edges));
    if (check->outcomes[HISTORY_ABORTED])
        fprintf(out, "  and %s attempts that were aborted, which are not judged\n",
                style_count(numbers[0], check->outcomes[HISTORY_ABORTED]));
    if (check->history.died)
        fprintf(out, "  of %u process%s that died: what was recorded until then; what had not ended is indeterminate\n",
                check->history.died, check->history.died == 1 ? "" : "es");
    if (check->history.torn)
        fprintf(out, "  the file breaks off at line %llu: what follows is missing, and is not judged\n",
                (unsigned long long)check->history.torn_line);
    fprintf(out, "%s%s%s %s", ok ? style.good : style.bad, ok ? style.yes : style.no, style.end, verdict->text);
}

static json_t *verdict_json(const struct check *check)
{
    const struct history_verdict *verdict = &check->verdict;
    json_t *cycle = json_array();
    for (uint32_t i = 0; i < verdict->cycle_count; i++)
        json_array_append_new(cycle, json_integer((json_int_t)verdict->cycle[i]));
    return json_pack(
        "{s:s, s:b, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:I, s:I}", "history",
        check->history_path, "ok", !strcmp(verdict->kind, "ok"), "kind", verdict->kind, "text", verdict->text,
        "concerned", cycle, "txns", (json_int_t)verdict->txns, "committed",
        (json_int_t)check->outcomes[HISTORY_COMMITTED], "failed", (json_int_t)check->outcomes[HISTORY_FAILED],
        "indeterminate", (json_int_t)check->outcomes[HISTORY_INDETERMINATE], "aborted",
        (json_int_t)check->outcomes[HISTORY_ABORTED], "accesses", (json_int_t)check->accesses, "items",
        (json_int_t)verdict->items, "edges", (json_int_t)verdict->edges, "realtime", check->options.realtime, "loaded",
        check->history.has_loaded, "final", check->history.has_final, "torn", check->history.torn, "died",
        (json_int_t)check->history.died, "clock_error_ns", (json_int_t)check->options.clock_error_ns);
}

static int write_json(const struct check *check, struct cellar_error *error)
{
    bool standard = !strcmp(check->json, "-");
    json_t *root = verdict_json(check);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) return err_set(error, CELLAR_SYSTEM, "--json %.80s: a name or text is no UTF-8", check->json);
    errno = 0;
    FILE *out = standard ? stdout : fopen(check->json, "w");
    bool failed = !out || fprintf(out, "%s\n", text) < 0 || fflush(out);
    if (out && !standard && fclose(out)) failed = true;
    free(text);
    return failed ? err_set(error, CELLAR_SYSTEM, "--json %.80s: %s", check->json, strerror(errno)) : 0;
}

static int tell(const struct check *check, struct cellar_error *error)
{
    print_text(check, check->json && !strcmp(check->json, "-") ? stderr : stdout);
    return check->json ? write_json(check, error) : 0;
}

static void finish(struct check *check)
{
    if (!check) return;
    for (uint32_t i = 0; check->parts && i < check->path_count; i++) history_free(&check->parts[i]);
    history_free(&check->history);
    history_slices_close(check->slices);
    free(check->parts);
    free(check->paths);
    free(check);
}

int program_check(int count, char *const *arguments, struct watch *watch)
{
    if (count > 0 && arguments[0][0] != '-') return program_check_pool(count, arguments, watch);
    struct cellar_error error = {0};
    struct check *check = calloc(1, sizeof *check);
    int code = check ? parse(count, arguments, check, &error) : CELLAR_NOMEM;
    int status = COMMAND_ERROR;

    if (code == OPTIONS_HELP) {
        print_help();
        status = COMMAND_OK;
    } else if (code == 0 && (code = json_file_check(check->json, &error)) == 0) {
        code = run(check, watch, &error);
        if (code == 0 || (code == CELLAR_CORRUPT && !error.code)) {
            status = code ? COMMAND_CHECK_FAILED : COMMAND_OK;
            if (tell(check, &error)) status = COMMAND_ERROR;
        }
    }
    if (status == COMMAND_ERROR) fprintf(stderr, "cellar check: %s\n", error.code ? error.text : cellar_strerror(code));
    finish(check);
    return status;
}
