/* main_watch.h - the process around a subcommand: its signals and its terminal, both served by one thread. */
#pragma once

#include "watch.h"

/*
 * Starts the thread; `name` begins its messages. To be called once, before any other thread exists: they inherit the
 * blocked signals. 0 or -errno.
 */
int main_watch_start(const char *name, struct watch **out);
void main_watch_stop(struct watch *watch);
