/* face_calls.h - calls of the public headers, as a test looks at what they return and at the thread's last error. */
#pragma once

#include "cellar.h"
#include "cellar_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline void ok(int rc)
{
    if (rc < 0) fail_msg("%d: %s", rc, cellar_last_error()->text);
}

/* The call returned that code, and the last error has it, with these words. */
static inline void refused(int rc, int code, const char *words)
{
    const struct cellar_error *error = cellar_last_error();
    if (rc != code || error->code != code || !strstr(error->text, words))
        fail_msg("%d, and the last error is %d: %s", rc, error->code, error->text);
}

static inline struct cellar_txn *face_begun(struct cellar *db)
{
    struct cellar_txn *txn;
    ok(cellar_begin(db, NULL, &txn));
    return txn;
}

static inline void face_close(struct cellar *db)
{
    ok(cellar_cluster_audit(db));
    ok(cellar_close(db));
}
