/*
 * options.h - command-line options as data: a table of definitions parses an argument list into a struct, and prints
 * itself as help. Nothing is accepted silently: unknown names, missing or malformed values, values out of range all
 * end in one line of text.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,   /* bool; takes no value */
    OPTION_COUNT,  /* uint32_t */
    OPTION_NUMBER, /* uint64_t */
    OPTION_SIZE,   /* uint64_t bytes; K, M, G multiply by 2^10, 2^20, 2^30 */
    OPTION_REAL,   /* double */
    OPTION_TEXT,   /* const char *, not empty */
    OPTION_CHOICE, /* const char * out of `choices` */
};

struct option_def {
    const char *name;     /* without dashes */
    const char *argument; /* "N", as help shows it; NULL for flags */
    const char *help;     /* one line */
    const char *fallback; /* the default, in words; NULL: none is shown */
    enum option_kind kind;
    size_t offset;              /* of the field, in the struct that is filled */
    double min, max;            /* of COUNT, NUMBER, SIZE, REAL; max 0: the type's own */
    const char *const *choices; /* NULL-terminated: accepted */
    const char *group;          /* heading in help; NULL: as the one before */
    uint32_t only;              /* a set whose meaning is the caller's (which workloads know it); 0: all */
    bool absent;                /* a name of the contract that is not built yet: refused, not shown */
};

#define OPTIONS_MAX 64

struct options {
    const char *program; /* "cellar bench": the start of each message */
    const struct option_def *defs;
    uint32_t count; /* at most OPTIONS_MAX */
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
/* The first option given whose `only` lacks every bit of `set`; NULL when there is none. */
const struct option_def *options_outside(const struct options *options, uint64_t given, uint32_t set);
/* Prints all options, by group. */
void options_print(const struct options *options, FILE *out);
