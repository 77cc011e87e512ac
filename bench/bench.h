/* bench.h - the subcommand `cellar bench`: a workload is loaded, measured, checked and reported. */
#pragma once

#include "command.h"

command_fn bench_main;
