/*
 * locks_settings_lock.c - options that only some locks have a use for. A run that ignored one would measure something
 * else than its command line says, so it is refused. (A capacity, leases, switches: lockmgr_check.)
 */
#include "locks_settings.h"

#include <string.h>

/* Of an algorithm, and of one of its policies; or of each that makes a promise. */
static const struct use {
    const char *option, *algorithms[2], *policy;
    uint32_t promise;
} uses[] = {
    {"switch-slots", {"netlock"}, NULL, 0},
    {"tenants", {"netlock"}, NULL, 0},
    {"tenant-cns", {"netlock"}, NULL, 0},
    {"tenant-rate", {"netlock"}, "quota", 0},
    {"writers-in-a-row", {"rmarw", "shiftlock"}, NULL, 0},
    {"full-wait-ns", {"dslr", "dslr+"}, "plain", 0},
    {"slots", {NULL}, NULL, LOCKMGR_SLOTS},
};

static bool has_use(const struct lockmgr_config *lock, const struct use *use)
{
    if (use->promise) return lockmgr_promises(lock) & use->promise;
    const char *policy = lock->policy ? lock->policy : lockmgr_policy_name(lock->algorithm, 0);
    if (use->policy && strcmp(policy ? policy : "", use->policy) != 0) return false;
    for (uint32_t i = 0; i < 2 && use->algorithms[i]; i++)
        if (strcmp(lock->algorithm, use->algorithms[i]) == 0) return true;
    return false;
}

/*
 * Silence of what can be lost without an answer. --server-threads is hardware: it says the same of all locks that are
 * compared, and leaves the memory nodes' processors idle where a lock has no server.
 */
static bool cannot_be_silent(const struct lockmgr_config *lock, uint64_t given)
{
    return options_given(&locks_settings_options, given, "silence") && !lockmgr_has_server(lock->algorithm) &&
           lockmgr_switches_max(lock->algorithm) == 0;
}

int locks_settings_check_lock(const struct lockmgr_config *lock, uint64_t given, struct cellar_error *error)
{
    if (cannot_be_silent(lock, given))
        return err_set(error, CELLAR_INVALID, "--silence: lock algorithm %s has no server", lock->algorithm);
    for (uint32_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (options_given(&locks_settings_options, given, uses[i].option) && !has_use(lock, &uses[i]))
            return err_set(error, CELLAR_INVALID, "--%s: lock algorithm %s%s%s has no use for it", uses[i].option,
                           lock->algorithm, lock->policy ? ", policy " : "", lock->policy ? lock->policy : "");
    return 0;
}
