/* digits.h - numbers as people read them: digits in threes, the same in every locale. */
#pragma once

#include <stdint.h>

#define DIGITS_BYTES 32

/* "1,234,567"; writes into `text`, of DIGITS_BYTES, and returns it. */
const char *digits_grouped(char *text, uint64_t value);
