/* shell.c - `cellar shell`: commands from a terminal, a pipe or an option, one after the other. */
#include "shell.h"
#include "console.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct console, field)

static const struct option_def defs[] = {
    {.group = "What",
     .name = "command",
     .argument = "TEXT",
     .help = "run this, in place of standard input; several are separated by newlines",
     .kind = OPTION_TEXT,
     .offset = AT(command_text)},
    {.name = "keep-going",
     .help = "go on after a command that failed, as on a terminal",
     .kind = OPTION_FLAG,
     .offset = AT(keep_going)},
    {SOURCE_KINDS(AT(kinds))},
    {.name = "create",
     .argument = "SIZE",
     .help = "make the pool file: there is none yet",
     .kind = OPTION_SIZE,
     .offset = AT(source.create_bytes),
     .min = 1 << 20,
     .max = 1e15},
    SOURCE_OPTIONS(AT(source)),
};
static const struct options options = {
    .program = "cellar shell", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar shell POOL [options]\n\n"
          "Opens a pool file, or a durable folder, and runs commands. Keys and values are texts: numbers, or UTF-8 "
          "with other\nbytes as \\x1b; in quotes where they have spaces, and \"\" within for a quote.\n\nCommands\n",
          stdout);
    console_help(stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar shell bank.pool\n"
          "  cellar shell bank.pool --command \"get accounts 17\"\n"
          "  printf 'begin\\nput accounts 17 cents=5\\ncommit\\n' | cellar shell accounts.pool\n"
          "\nExit status: 0 all commands succeeded, 2 one failed; a transaction that was not committed is undone.\n",
          stdout);
}

static int failed(const struct console *console, bool terminal, uint64_t number, int code)
{
    const char *text = console->error->code ? console->error->text : cellar_strerror(code);
    fflush(stdout);
    if (terminal)
        fprintf(stderr, "%s\n", text);
    else
        fprintf(stderr, "cellar shell: line %llu: %s\n", (unsigned long long)number, text);
    return COMMAND_ERROR;
}

/* Returns the exit status: on a terminal the last command's failure is no failure of the shell. */
static int commands_run(struct console *console, struct line *line, bool terminal)
{
    int status = COMMAND_OK;
    const char *text;
    uint64_t number = 0;
    while (!console->quit && (text = line_read(line, console->txn ? "cellar*> " : "cellar> "))) {
        char *copy = strdup(text);
        number++;
        *console->error = (struct cellar_error){0};
        int code = copy ? console_split(console, copy) : CELLAR_NOMEM;
        if (code == 0) code = console_run(console);
        free(copy);
        if (code < 0) status = failed(console, terminal, number, code);
        if (code < 0 && !terminal && !console->keep_going) return status;
    }
    if (console->txn && !console->quit && !terminal) {
        fprintf(stderr, "cellar shell: the last transaction was not committed, and is undone\n");
        return COMMAND_ERROR;
    }
    return terminal ? COMMAND_OK : status;
}

static FILE *input_of(const struct console *console)
{
    return console->command_text ? fmemopen((void *)console->command_text, strlen(console->command_text), "r") : stdin;
}

int shell_main(int count, char *const *arguments, struct watch *watch)
{
    static const char *const names[] = {NULL};
    struct cellar_error error = {0};
    struct console console = {.error = &error};
    struct line *line = NULL;
    char history[4096];
    int status = COMMAND_OK;
    (void)watch;
    int code = source_parse(&options, count, arguments, names, NULL, &console, &console.source, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    bool terminal = !console.command_text && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const char *home = getenv("HOME");
    snprintf(history, sizeof history, "%s/.cellar_history", home ? home : "");
    struct line_config config = {.in = input_of(&console),
                                 .terminal = terminal,
                                 .history = home ? history : NULL,
                                 .complete = console_complete,
                                 .arg = &console};
    if (code == 0) code = source_open(&console.source, SOURCE_CHANGE, &console.db, console.error);
    if (code == 0 && !config.in) code = err_set(&error, CELLAR_NOMEM, "no memory");
    if (code == 0) code = line_open(&config, &line, &error);
    if (code == 0) status = commands_run(&console, line, terminal);
    line_close(line);
    if (config.in && config.in != stdin) fclose(config.in);
    cellar_abort(console.txn);
    int ended = source_end(&console.source, console.db, code, &error);
    return ended ? ended : status;
}
