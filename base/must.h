/* must.h - assertions that stay on in release builds: a failed one is a bug of ours, never bad input. */
#pragma once

/* One fact per must(); never around a call that suspends or has effects. */
#define must(x) (__builtin_expect(!(x), 0) ? must_fail(#x, __FILE__, __LINE__) : (void)0)

__attribute__((noreturn, cold)) void must_fail(const char *fact, const char *file, int line);
