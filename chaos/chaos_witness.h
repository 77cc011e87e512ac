/*
 * chaos_witness.h - the witness of a compute node: a file outside of the pool to which the node writes what it tries
 * before it tries it, and what it was told before it goes on. A process that is killed leaves all that it has written.
 * INV-CHAOS-1: a line is one write(2) at the file's end; lives of a compute node share a file, one after the other.
 */
#pragma once

#include "chaos_bank.h"

enum chaos_witness_kind { CHAOS_WITNESS_TRIED = 1, CHAOS_WITNESS_TOLD = 2 };

struct chaos_witness_line {
    uint32_t kind;
    int32_t code;                      /* TOLD: that of the call */
    uint64_t at_ns;                    /* of the host's monotonic clock */
    struct chaos_bank_receipt receipt; /* its number: compute node, life, count */
    uint64_t aborted;                  /* TRIED: it is to have no effect */
};

/* The life that begins: one more than the file has seen. 0, SYSTEM. */
NODISCARD int chaos_witness_open(const char *path, uint32_t cn, int *file, uint64_t *first_number,
                                 struct cellar_error *error);
NODISCARD int chaos_witness_write(int file, const struct chaos_witness_line *line, struct cellar_error *error);

/*
 * All lines from `*at` bytes on, appended to *lines (the caller frees it), of which there are *count. A last line that
 * is not whole is left for the next call.
 */
NODISCARD int chaos_witness_read(const char *path, uint64_t *at, struct chaos_witness_line **lines, uint64_t *count,
                                 struct cellar_error *error);
