/*
 * option_def.h - an option of a command line as data. What parses and prints them is cli/options.h; a workload, which
 * does neither, has a list of its own (workload.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    bool absent;                /* a name of the contract that is not built yet: refused, not shown */
};

/* Bit i of `given` is set: defs[i] was. The name must be one of them. */
bool option_def_given(const struct option_def *defs, uint32_t count, uint64_t given, const char *name);
