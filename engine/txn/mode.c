#include "mode.h"

#include <stddef.h>
#include <string.h>

const struct mode *mode_of(enum cellar_lab_cc cc)
{
    for (size_t i = 0; mode_table[i].name; i++)
        if (i == (size_t)cc) return &mode_table[i];
    return NULL;
}

int mode_find(const char *name)
{
    for (size_t i = 0; mode_table[i].name; i++)
        if (strcmp(name, mode_table[i].name) == 0) return (int)i;
    return -1;
}

const struct schema_versions *mode_versions(void)
{
    for (const struct mode *mode = mode_table; mode->name; mode++)
        if (mode->versions) return mode->versions;
    return NULL;
}

int mode_check(const struct engine_config *config, struct cellar_error *error)
{
    const struct mode *own = mode_of(config->cc);
    int rc = 0;
    for (const struct mode *mode = mode_table; mode->name && rc == 0; mode++)
        if (mode->check) rc = mode->check(config, error);
    bool queues = own->queues && config->lock && strcmp(config->lock, "declock") == 0 && !config->lock_policy;
    if (rc == 0 && (config->lock || config->lock_policy) && !own->locks && !queues)
        return err_set(error, CELLAR_INVALID, "mode %s has %s: no other lock algorithm or policy is chosen there",
                       own->name, own->queues ? "declock for hot records" : "locks of its own");
    return rc;
}
