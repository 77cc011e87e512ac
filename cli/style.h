/* style.h - how numbers and verdicts look: colours and symbols on a terminal, plain ASCII elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct style {
    const char *bold, *dim, *good, *bad, *end; /* escape sequences, or empty */
    const char *yes, *no;                      /* verdicts, of equal width */
    bool fancy;
};

/* For a stream: fancy on a terminal, unless NO_COLOR is set (then without colours). */
struct style style_of(FILE *out);

#define STYLE_BYTES 40
/* Each writes at most STYLE_BYTES into `text` and returns it. */
const char *style_count(char *text, uint64_t value);    /* 1,234,567 */
const char *style_bytes(char *text, double bytes);      /* 23.4 MiB */
const char *style_rate(char *text, double per_second);  /* 1.23 M */
const char *style_us(char *text, double ns);            /* 12.3 (microseconds), four digits at most before the point */
const char *style_percent(char *text, double fraction); /* 0.31 % */
