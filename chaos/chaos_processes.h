/* chaos_processes.h - one process of a cluster: started with its output in a file, found again by its number. */
#pragma once

#include "err.h"

#include <sys/types.h>

/*
 * Starts `program`, found as a shell does, or with NULL this program anew, with these arguments (NULL-terminated, the
 * program's name first); what it prints is added to `log`. It is in a process group of its own: a terminal's Ctrl-C is
 * not for it.
 */
NODISCARD int chaos_processes_start(const char *program, char *const *arguments, const char *log, pid_t *pid,
                                    struct cellar_error *error);
/*
 * Is this still the process that was started with `word` among its arguments? A number is used again after its
 * process's end. A child that has ended is reaped; its wait status goes to *status, if that is not NULL.
 */
bool chaos_processes_alive(pid_t pid, const char *word, int *status);
