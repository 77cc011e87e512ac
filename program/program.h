/* program.h - the subcommands of `cellar` that have no room of their own. */
#pragma once

#include "command.h"

command_fn program_check;      /* cellar check (check.c) */
command_fn program_check_pool; /* cellar check FILE (check_pool.c) */
command_fn program_inspect;    /* cellar inspect (inspect.c) */
command_fn program_list;       /* cellar list (list.c) */
command_fn program_memnode;    /* cellar memnode (memnode.c) */
command_fn program_recover;    /* cellar recover (rescue.c) */
command_fn program_replace;    /* cellar replace (replace.c) */
command_fn program_sim;        /* cellar sim (seeds.c) */
