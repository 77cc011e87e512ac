/*
 * options.h - command-line options as data: a table of definitions parses an argument list into a struct, and prints
 * itself as help. Nothing is accepted silently: unknown names, missing or malformed values, values out of range all
 * end in one line of text.
 */
#pragma once

#include "err.h"
#include "option_def.h"

#include <stdbool.h>
#include <stdio.h>

#define OPTIONS_MAX 64

struct options {
    const char *program; /* "cellar bench": the start of each message */
    const struct option_def *defs;
    uint32_t count; /* at most OPTIONS_MAX */
    /* NULL, or what there is to say of a name of so many bytes that is not among them; 0: nothing. */
    int (*unknown)(const void *into, const char *name, size_t bytes, struct cellar_error *error);
};

#define OPTIONS_HELP 1

/*
 * Parses `count` arguments ("--name value" or "--name=value") into the struct `into`. Sets the bit of each option
 * that was given in *given. Returns 0, OPTIONS_HELP when --help is among them, or INVALID. Options whose argument is
 * FILE must name different files.
 */
NODISCARD int options_parse(const struct options *options, int count, char *const *arguments, void *into,
                            uint64_t *given, struct cellar_error *error);
/*
 * INVALID when an option that takes a file was given `path`, which the command reads besides, or a file that lies in
 * that folder.
 */
NODISCARD int options_spare(const struct options *options, uint64_t given, const void *from, const char *path,
                            struct cellar_error *error);
/* Was it? The name must be in the table. */
bool options_given(const struct options *options, uint64_t given, const char *name);
/* Prints all options, by group; and some of them. */
void options_print(const struct options *options, FILE *out);
void options_print_some(const struct option_def *defs, uint32_t count, FILE *out);
/* The values that they have, a blank before each: as much of it as fits. */
void options_values(const struct option_def *defs, uint32_t count, const void *from, char *text, size_t bytes);
