/*
 * etcd_ruling.h - a ruling as the text that etcd keeps, and back.
 *
 *     {"cellar": 1, "epoch": 3, "cluster": "9f…", "configuration": "0000000300000201", "dead": {"2": 7}}
 */
#pragma once

#include "cellar_cluster.h"
#include "err.h"

/* NULL: no memory. The caller frees it. */
char *etcd_ruling_text(const struct cellar_ruling *ruling);
/* MISMATCH when it is no such text. */
NODISCARD int etcd_ruling_read(const char *text, size_t bytes, struct cellar_ruling *ruling);
