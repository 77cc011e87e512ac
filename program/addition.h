/*
 * addition.h - what another wing adds to the program. One object of those that are linked defines it: main_alone.c,
 * which adds nothing, or the wing's.
 */
#pragma once

#include "command.h"

struct json_t;

struct command {
    const char *name, *full_name, *summary;
    command_fn *run;
};

struct addition {
    const struct command *commands; /* ended by a NULL name */
    const struct command *of_bench; /* NULL, or what the second word of `cellar bench` may name */
    /* What `cellar list` says of it: as text, or as members of that object. NULL: nothing */
    void (*list)(void);
    void (*list_json)(struct json_t *object);
};
extern const struct addition addition;
