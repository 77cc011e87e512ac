/* main.c - the `cellar` program: finds the subcommand and gives it the process it needs. */
#include "addition.h"
#include "bench.h"
#include "cellar.h"
#include "chaos.h"
#include "err.h"
#include "main_watch.h"
#include "program.h"
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
    {"bench", "cellar bench", "run a workload, check the data it leaves, and report both", bench_main},
    {"sim", "cellar sim", "run seeded clusters with faults in virtual time, and check all they do", program_sim},
    {"check", "cellar check", "judge a pool file, a durable folder, or a recorded history", program_check},
    {"inspect", "cellar inspect", "print what a pool file or folder holds: tables, a record, its locks, the log",
     program_inspect},
    {"shell", "cellar shell", "look into a pool and change it, command by command", shell_main},
    {"dump", "cellar dump", "write the rows of a table as CSV or JSON lines", shell_dump},
    {"load", "cellar load", "insert rows of CSV or JSON lines into a table", shell_load},
    {"snapshot", "cellar snapshot", "copy a pool that no process uses", shell_snapshot},
    {"top", "cellar top", "show what running processes do, live, from their metrics", shell_top},
    {"memnode", "cellar memnode", "run a memory node for compute nodes of other processes", program_memnode},
    {"recover", "cellar recover", "recover a compute node that ended without closing its pool", program_recover},
    {"replace", "cellar replace", "fill a fresh memory node in the place of a lost one", program_replace},
    {"cluster", "cellar cluster", "start, show and end a cluster of processes on this host", chaos_cluster_main},
    {"chaos", "cellar chaos", "kill and stop processes of such a cluster, and judge what is left", chaos_main},
    {"list", "cellar list", "print the fabrics, modes and workloads of this build, and what else it has", program_list},
    {.name = NULL},
};

/* Returns the command of that name among these, or NULL. */
static const struct command *find(const struct command *among, const char *name)
{
    while (among->name && strcmp(among->name, name) != 0) among++;
    return among->name ? among : NULL;
}

static void print_commands(const struct command *command)
{
    for (; command->name; command++) printf("  %-10s %s\n", command->name, command->summary);
}

static void print_help(void)
{
    printf("cellar %s: a transaction engine for disaggregated memory\n\nUsage: cellar COMMAND [options]\n\nCommands\n",
           cellar_version());
    print_commands(commands);
    print_commands(addition.commands);
    if (addition.of_bench) printf("\nAlso\n  %s  %s\n", addition.of_bench->full_name, addition.of_bench->summary);
    fputs("\nOptions\n"
          "  --help     print this; cellar COMMAND --help tells more\n"
          "  --version  print the version\n"
          "\nExamples\n"
          "  cellar bench smallbank\n"
          "  cellar bench ycsb --fabric sim --cns 3 --mns 2 --theta 0.99 --json report.json\n"
          "  cellar sim --seeds 1..1000\n"
          "  cellar check --history run.jsonl\n"
          "  cellar memnode --socket /tmp/mn0 --bytes 2G\n"
          "\nExit status: 0 done and every check holds, 1 a check failed, 2 wrong usage or an error.\n",
          stdout);
}

/* The exit status of what has printed, unless that is lost. */
static int written(const char *name, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "%s: standard output could not be written\n", name);
    return COMMAND_ERROR;
}

static int refuse(const char *format, const char *word)
{
    struct cellar_error error;
    (void)err_set(&error, CELLAR_INVALID, format, word);
    fprintf(stderr, "cellar: %s\n", error.text);
    return COMMAND_ERROR;
}

static int run_command(const struct command *command, int count, char *const *arguments)
{
    const struct command *second = command->run == bench_main ? addition.of_bench : NULL;
    if (second && count > 0 && !strcmp(arguments[0], second->name))
        return run_command(second, count - 1, arguments + 1);
    struct watch *watch;
    int code = main_watch_start(command->full_name, &watch);
    if (code < 0) {
        fprintf(stderr, "%s: cannot start a thread: %s\n", command->full_name, strerror(-code));
        return COMMAND_ERROR;
    }
    int status = command->run(count, arguments, watch);
    main_watch_stop(watch);
    return written(command->full_name, status);
}

/*
 * A standard descriptor that the caller has closed is taken, by what can be used in the wrong direction only. So no
 * file gets its number, and reads and writes there still fail.
 */
static bool standard_descriptors_taken(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!standard_descriptors_taken()) {
        fprintf(stderr, "cellar: a standard descriptor is closed, and /dev/null does not open: %s\n", strerror(errno));
        return COMMAND_ERROR;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond `ulimit -f`: the write fails, and says so */
    if (argc < 2) return refuse("a command is missing (see cellar --help)%s", "");
    const char *name = argv[1];
    bool help = !strcmp(name, "--help") || !strcmp(name, "-h");
    if (help || !strcmp(name, "--version")) {
        if (argc > 2) return refuse("unexpected argument '%.60s' (see cellar --help)", argv[2]);
        if (help)
            print_help();
        else
            printf("cellar %s\n", cellar_version());
        return written("cellar", COMMAND_OK);
    }
    const struct command *command = find(commands, name);
    if (!command) command = find(addition.commands, name);
    if (command) return run_command(command, argc - 2, argv + 2);
    return refuse("unknown command '%.60s' (see cellar --help)", name);
}
