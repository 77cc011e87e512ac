#include "chaos_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Without the signals that this program has blocked for its own threads, and in a group of its own. */
static int attributes(posix_spawnattr_t *attr)
{
    sigset_t none;
    sigemptyset(&none);
    int code = posix_spawnattr_setsigmask(attr, &none);
    if (code == 0) code = posix_spawnattr_setpgroup(attr, 0);
    return code ? code : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

static int files(posix_spawn_file_actions_t *actions, const char *log)
{
    int code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    return code ? code : posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
}

int chaos_processes_start(const char *program, char *const *arguments, const char *log, pid_t *pid,
                          struct cellar_error *error)
{
    char own[256];
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length < 0) return err_set(error, CELLAR_SYSTEM, "/proc/self/exe: %s", strerror(errno));
    own[length] = 0;
    int code = posix_spawnattr_init(&attr);
    if (code == 0) code = posix_spawn_file_actions_init(&actions);
    if (code == 0) code = attributes(&attr);
    if (code == 0) code = files(&actions, log);
    if (code == 0) code = posix_spawnp(pid, program ? program : own, &actions, &attr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    if (code == 0) return 0;
    return err_set(error, CELLAR_SYSTEM, "%s %s does not start: %s", arguments[0], arguments[1], strerror(code));
}

bool chaos_processes_alive(pid_t pid, const char *word, int *status)
{
    char path[40], line[4096];
    int unused;
    if (pid <= 0) return false;
    pid_t child = waitpid(pid, status ? status : &unused, WNOHANG);
    if (child >= 0) return child == 0; /* one of its own; its arguments may not be there yet */
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t bytes = read(file, line, sizeof(line));
    close(file);
    return bytes > 0 && memmem(line, (size_t)bytes, word, strlen(word)) != NULL;
}
