/*
 * err.c - the tables of the public headers (error codes, abort reasons, version) and the one way to fill a struct
 * cellar_error.
 */
#include "err.h"

#include "cellar_lab.h"
#include "must.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Control characters, those that UTF-8 has beyond ASCII's among them, become \xNN: a message is one line, whatever
 * file name it cites.
 */
static void escape(char *text, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    char out[sizeof((struct cellar_error *)0)->text];
    size_t used = 0;
    for (size_t i = 0; text[i]; i++) {
        unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];
        bool control = c < ' ' || c == 0x7f, wide = c == 0xc2 && next >= 0x80 && next < 0xa0;
        if (used + 5 > bytes) break;
        if (control || wide) {
            out[used++] = '\\';
            out[used++] = 'x';
            c = wide ? next : c;
            out[used++] = digits[c >> 4];
            out[used++] = digits[c & 15];
            i += wide;
        } else {
            out[used++] = text[i];
        }
    }
    out[used] = 0;
    memcpy(text, out, used + 1);
}

int err_set(struct cellar_error *error, int code, const char *format, ...)
{
    must(code < 0);
    if (error) {
        error->code = code;
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
        for (const char *c = error->text; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f || (unsigned char)*c == 0xc2) {
                escape(error->text, sizeof error->text);
                break;
            }
    }
    return code;
}

int err_about(struct cellar_error *error, int rc, const char *what)
{
    if (rc == 0 || !error || !what || strstr(error->text, what)) return rc;
    const struct cellar_error about = *error;
    return err_set(error, rc, "%.100s: %s", what, about.text);
}

/* ---- the last error of each thread ---- */

/* The one thing that the library keeps of a thread. */
static _Thread_local struct {
    struct cellar_error error;
    void (*write)(const void *about, struct cellar_error *error); /* NULL: it is written */
    _Alignas(8) unsigned char about[ERR_ABOUT_BYTES];
} last;

static void code_write(const void *code, struct cellar_error *error)
{
    memcpy(&error->code, code, sizeof error->code);
    (void)err_set(error, error->code, "%s", cellar_strerror(error->code));
}

int err_last_is(int rc, const struct cellar_error *error)
{
    if (rc >= 0) return rc;
    if (error->code != rc) return err_last_about(rc, NULL, NULL, 0);
    last.error = *error;
    last.write = NULL;
    return rc;
}

int err_last_about(int rc, void (*write)(const void *about, struct cellar_error *error), const void *about,
                   size_t bytes)
{
    if (rc >= 0) return rc;
    must(bytes <= sizeof last.about);
    last.write = write ? write : code_write;
    memcpy(last.about, write ? about : &rc, write ? bytes : sizeof rc);
    return rc;
}

const struct cellar_error *cellar_last_error(void)
{
    if (last.write) last.write(last.about, &last.error);
    last.write = NULL;
    return &last.error;
}

int err_last(struct cellar_error *error, int rc)
{
    if (rc < 0 && error) *error = *cellar_last_error();
    return rc;
}

#define X(name, number, text) _Static_assert((number) < 0 && (number) > -100, #name " is a public code");
CELLAR_ERROR_MAP(X)
#undef X
#define X(name, number, text) _Static_assert((number) < -100, #name " is no public code");
ERR_MAP(X)
#undef X

const char *cellar_strerror(int code)
{
    switch (code) {
    case CELLAR_OK:
        return "success";
#define X(name, number, text)                                                                                          \
    case number:                                                                                                       \
        return text;
        CELLAR_ERROR_MAP(X)
        ERR_MAP(X)
#undef X
    }
    return code > 0 ? "a number of the function's own" : "unknown error code";
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
    [CELLAR_ABORT_TREE_NODE] = "tree_node",
};
_Static_assert(sizeof(abort_names) / sizeof(*abort_names) == CELLAR_ABORT_REASONS, "one name per reason");

const char *cellar_lab_abort_name(enum cellar_abort_reason reason)
{
    if ((unsigned)reason >= CELLAR_ABORT_REASONS) return "unknown";
    return abort_names[reason];
}
