/* db_result.h - what became of a call. */
#pragma once

#include "err.h"
#include "why.h"

struct table;

/* Of a code that is negative. */
__attribute__((cold, noinline)) int db_result_failed(int code, const struct cellar_detail *detail);
/* The same, of the row that has that wide key (rowkey.h); of 0 bytes: it is not said. Returns the code. */
__attribute__((cold, noinline)) int db_result_key_failed(int code, const struct table *table, const void *packed,
                                                         uint32_t bytes);
/* Returns the code, which, if it is negative, becomes the thread's last (cellar_last_error), with what it is about. */
static inline int db_result_last(int code, const struct cellar_detail *detail)
{
    return __builtin_expect(code < 0, 0) ? db_result_failed(code, detail) : code;
}
