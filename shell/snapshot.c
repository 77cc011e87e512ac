/*
 * snapshot.c - `cellar snapshot POOL --out FILE`: a copy of a pool that nobody uses now, recovered if its last process
 * was killed, and checked as it is opened. Beside transactions it is a call of the process that runs them
 * (cellar_snapshot).
 */
#include "shell.h"
#include "source.h"

#include <stdio.h>

struct snapshot {
    struct source source;
    const char *file;
};

#define AT(field) offsetof(struct snapshot, field)

static const struct option_def defs[] = {
    {.group = "What",
     .name = "out",
     .argument = "FILE",
     .help = "the copy, whole or not at all; there is no such file yet",
     .kind = OPTION_TEXT,
     .offset = AT(file)},
    SOURCE_OPTIONS(AT(source)),
};
static const struct options options = {
    .program = "cellar snapshot", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs(
        "Usage: cellar snapshot POOL --out FILE [options]\n\n"
        "Copies a pool that no other process uses: what is in use of it, in a file that opens like any pool. The pool "
        "file is\nnot changed; if its last process was killed, the copy is what it has acknowledged.\n",
        stdout);
    options_print(&options, stdout);
}

static int run(struct snapshot *snapshot, struct cellar **db, struct cellar_error *error)
{
    if (!snapshot->file) return err_set(error, CELLAR_INVALID, "--out FILE is missing");
    int code = source_open(&snapshot->source, SOURCE_LOOK, db, error);
    return code ? code : err_last(error, cellar_backup(*db, snapshot->file));
}

int shell_snapshot(int count, char *const *arguments, struct watch *watch)
{
    static const char *const names[] = {NULL};
    struct cellar_error error = {0};
    struct snapshot snapshot = {0};
    struct cellar *db = NULL;
    int code = source_parse(&options, count, arguments, names, NULL, &snapshot, &snapshot.source, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    (void)watch;
    if (code == 0) code = run(&snapshot, &db, &error);
    return source_end(&snapshot.source, db, code, &error);
}
