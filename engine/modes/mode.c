#include "mode.h"

#include <stddef.h>
#include <string.h>

/* One line each: what follows is made of it. */
#define MODES(X)                                                                                                       \
    X(CELLAR_CC_RECORD, "record", .whole_records = true)                                                               \
    X(CELLAR_CC_CELL, "cell", )                                                                                        \
    X(CELLAR_CC_CREST, "crest", .shares = true)                                                                        \
    X(CELLAR_CC_CELLAR, "cellar", .shares = true, .queues = true)                                                      \
    X(CELLAR_CC_FORD, "ford", .whole_records = true, .undo = true)                                                     \
    X(CELLAR_CC_MOTOR, "motor", .whole_records = true, .versions = true)                                               \
    X(CELLAR_CC_TWOPL, "2pl", .whole_records = true, .locks = true)

static const struct mode modes[] = {
#define X(cc, text, ...) [cc] = {.name = text, __VA_ARGS__},
    MODES(X)
#undef X
};

const char *const mode_names[] = {
#define X(cc, text, ...) text,
    MODES(X)
#undef X
        NULL};

const struct mode *mode_of(enum cellar_cc cc)
{
    return (int)cc >= 0 && (size_t)cc < sizeof modes / sizeof modes[0] ? &modes[cc] : NULL;
}

int mode_find(const char *name)
{
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(name, modes[i].name) == 0) return (int)i;
    return -1;
}
