/*
 * chaos.h - one cluster of real processes on this host: `cellar cluster` starts them, shows them and takes them down;
 * `cellar chaos` kills and stops them by a seed, and judges what is left. The engine is used as its embedders use it,
 * through the public headers, and processes are those of the `cellar` program. (docs/chaos.md)
 */
#pragma once

#include "command.h"

command_fn chaos_main;         /* cellar chaos (chaos.c) */
command_fn chaos_cluster_main; /* cellar cluster up|status|down|compute (chaos_cluster.c) */
