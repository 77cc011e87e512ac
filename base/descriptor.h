/*
 * descriptor.h - no file or socket of the library is standard input, output or error. In a process that has closed one
 * of these the kernel gives its number to the next file opened. What the process prints would be written there.
 *
 * Each call that makes a descriptor stands within descriptor_high: test/lint/rooms.sh. The program has none closed.
 */
#pragma once

#include "err.h"

#include <stdio.h>

/* `fd`, just made, or -1 and errno. For 0, 1 and 2, which it closes, another one. Programs run later do not get it. */
NODISCARD int descriptor_high(int fd);

/* A stream over `fd`, which it closes; also if there is none: NULL and errno. `fd` may be -1. */
NODISCARD FILE *descriptor_stream(int fd, const char *mode);
