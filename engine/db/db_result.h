/* db_result.h - what became of a call. */
#pragma once

#include "err.h"

/* Returns the code, which, if it is negative, becomes the thread's last (cellar_last_error), with what it is about. */
int db_result_last(int code, const struct cellar_detail *detail);
