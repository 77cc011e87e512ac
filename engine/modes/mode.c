#include "mode.h"

#include "mode_table.h"

#include <stddef.h>
#include <string.h>

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

int mode_check(const struct cellar_config *config, struct cellar_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0] && rc == 0; i++)
        if (modes[i].check) rc = modes[i].check(config, error);
    return rc;
}

const char *mode_of_pools(bool versions) { return versions ? "mode motor" : "other modes than motor"; }
