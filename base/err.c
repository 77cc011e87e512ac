/* err.c - the tables of cellar.h (error codes, abort reasons, version) and the one way to fill a struct cellar_error. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct cellar_error *error, enum cellar_error_code code, const char *format, ...)
{
    if (error) {
        error->code = (int)code;
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
    }
    return -(int)code;
}

const char *cellar_error_text(int code)
{
    /* Both signs are matched by cases, since the negative of INT_MIN does not exist. */
    switch (code) {
    case CELLAR_OK:
        return "success";
#define X(name, number, text)                                                                                          \
    case number:                                                                                                       \
    case -number:                                                                                                      \
        return text;
        CELLAR_ERROR_MAP(X)
#undef X
    }
    return "unknown error code";
}

const char *cellar_version(void)
{
#define STRING_OF(x) #x
#define VERSION_OF(major, minor, patch) STRING_OF(major) "." STRING_OF(minor) "." STRING_OF(patch)
    return VERSION_OF(CELLAR_VERSION_MAJOR, CELLAR_VERSION_MINOR, CELLAR_VERSION_PATCH);
#undef VERSION_OF
#undef STRING_OF
}

/* Lower case, as reports print them; test_err compares each with its name in CELLAR_ABORT_MAP. */
static const char *const abort_names[] = {
    [CELLAR_ABORT_LOCK_BUSY] = "lock_busy",
    [CELLAR_ABORT_READ_LOCKED] = "read_locked",
    [CELLAR_ABORT_VALIDATION] = "validation",
    [CELLAR_ABORT_INDEX_BUSY] = "index_busy",
    [CELLAR_ABORT_INDEX_VALIDATION] = "index_validation",
    [CELLAR_ABORT_TORN_READ] = "torn_read",
    [CELLAR_ABORT_NODE_FAILED] = "node_failed",
    [CELLAR_ABORT_LOCAL_ORDER] = "local_order",
    [CELLAR_ABORT_DRAINING] = "draining",
    [CELLAR_ABORT_DEPENDENCY] = "dependency",
    [CELLAR_ABORT_CACHE_FULL] = "cache_full",
    [CELLAR_ABORT_LOG_FULL] = "log_full",
    [CELLAR_ABORT_HOT_WAIT] = "hot_wait",
    [CELLAR_ABORT_SNAPSHOT_GONE] = "snapshot_gone",
    [CELLAR_ABORT_LOCK_WAIT] = "lock_wait",
    [CELLAR_ABORT_LOCK_UPGRADE] = "lock_upgrade",
};
_Static_assert(sizeof(abort_names) / sizeof(*abort_names) == CELLAR_ABORT_REASONS, "one name per reason");

const char *cellar_abort_name(enum cellar_abort_reason reason)
{
    if ((unsigned)reason >= CELLAR_ABORT_REASONS) return "unknown";
    return abort_names[reason];
}
