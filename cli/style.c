#include "style.h"

#include "digits.h"

#include <stdlib.h>
#include <unistd.h>

struct style style_of(FILE *out)
{
    struct style style = {.bold = "", .dim = "", .good = "", .bad = "", .end = "", .yes = "ok  ", .no = "FAIL"};
    const char *no_color = getenv("NO_COLOR");
    style.fancy = isatty(fileno(out));
    if (!style.fancy) return style;
    style.yes = "\xe2\x9c\x93";
    style.no = "\xe2\x9c\x97";
    if (no_color && no_color[0]) return style;
    style.bold = "\033[1m";
    style.dim = "\033[2m";
    style.good = "\033[32m";
    style.bad = "\033[1;31m";
    style.end = "\033[0m";
    return style;
}

const char *style_count(char *text, uint64_t value) { return digits_grouped(text, value); }

const char *style_bytes(char *text, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, STYLE_BYTES, unit && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *style_rate(char *text, double per_second)
{
    if (per_second >= 1e6)
        snprintf(text, STYLE_BYTES, "%.2f M", per_second / 1e6);
    else if (per_second >= 1e3)
        snprintf(text, STYLE_BYTES, "%.1f k", per_second / 1e3);
    else
        snprintf(text, STYLE_BYTES, "%.0f", per_second);
    return text;
}

const char *style_us(char *text, double ns)
{
    double us = ns / 1e3;
    snprintf(text, STYLE_BYTES, us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
    return text;
}

const char *style_percent(char *text, double fraction)
{
    snprintf(text, STYLE_BYTES, fraction < 0.1 ? "%.2f %%" : fraction < 10 ? "%.1f %%" : "%.0f %%", fraction * 100);
    return text;
}
