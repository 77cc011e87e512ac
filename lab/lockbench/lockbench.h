/* lockbench.h - the subcommand `cellar bench lock`: clients of one lock algorithm, measured and checked. */
#pragma once

#include "command.h"

command_fn lockbench_main;
