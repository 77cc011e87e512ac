/*
 * probe.h - static probes (USDT) for bpftrace, perf and SystemTap, in builds with -DUSDT=ON (docs/tracing.md). Each is
 * a no-op until a tool looks at it. In other builds there is nothing, and arguments are not evaluated.
 */
#pragma once

#ifdef CELLAR_USDT
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define PROBE(name, ...) STAP_PROBEV(cellar, name, ##__VA_ARGS__)
#else
#define PROBE(name, ...) ((void)0)
#endif
