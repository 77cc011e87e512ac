/* bench.h - the subcommands of `cellar`. Each takes the arguments behind its name and returns the exit status. */
#pragma once

#include "watch.h"

#include <stdint.h>

enum bench_exit { BENCH_EXIT_OK = 0, BENCH_EXIT_CHECK_FAILED = 1, BENCH_EXIT_ERROR = 2 };

int bench_main(int count, char *const *arguments, struct watch *watch);         /* cellar bench (bench.c) */
int bench_lock_main(int count, char *const *arguments, struct watch *watch);    /* cellar bench lock (bench_lock.c) */
int bench_recover_main(int count, char *const *arguments, struct watch *watch); /* cellar recover (rescue.c) */
int bench_replace_main(int count, char *const *arguments, struct watch *watch); /* cellar replace */
int bench_memnode_main(int count, char *const *arguments, struct watch *watch); /* cellar memnode (memnode.c) */
int bench_exp_main(int count, char *const *arguments, struct watch *watch);     /* cellar exp (exp.c) */
int bench_list_main(int count, char *const *arguments, struct watch *watch);    /* cellar list (list.c) */
int bench_sim_main(int count, char *const *arguments, struct watch *watch);     /* cellar sim (seeds.c) */
int bench_check_main(int count, char *const *arguments, struct watch *watch);   /* cellar check (check.c) */
