/*
 * rules.h - numbers with names that a text may set, "NAME=N,NAME=N": what mode `cellar` decides by, for those that
 * want to try others than the usual ones (hot_policy.h, way.h).
 */
#pragma once

#include "err.h"

#include <stdint.h>

#define RULES_MAX 64

struct rules_rule {
    const char *name;
    uint64_t usual, least, most;
};

/* Of so many rules; `of`: what they are rules of, as a message says it; `page`: that explains them. */
struct rules_set {
    const struct rules_rule *rules;
    uint32_t count;
    const char *of, *page;
};

/* What `text` leaves out is as usual; NULL: all is. INVALID: it names no rule, or a number that is not allowed. */
NODISCARD int rules_parse(const struct rules_set *set, const char *text, uint64_t *out, struct cellar_error *error);
