/* printed.h - bytes as text. */
#pragma once

#include <stdint.h>

/*
 * Any bytes as ASCII: printable ones but the backslash as they are, others as \x1f. Returns how many characters all of
 * it has; `text` has as many of them as fit into `capacity`, and a zero at its end.
 */
uint32_t printed_bytes(char *text, uint32_t capacity, const void *bytes, uint32_t count);
