/* command.h - what a subcommand of `cellar` is: it takes the arguments after its name and returns the exit status. */
#pragma once

#include "watch.h"

enum command_exit { COMMAND_OK = 0, COMMAND_CHECK_FAILED = 1, COMMAND_ERROR = 2 };

typedef int command_fn(int count, char *const *arguments, struct watch *watch);
