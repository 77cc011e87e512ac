/*
 * zipf.h - Zipf-distributed ranks, exact for any theta in [0, ZIPF_THETA_MAX], 1 included: P(rank k) ~ 1 / (k +
 * 1)^theta, k in [0, n). By rejection-inversion (Hormann and Derflinger 1996), without tables of ranks; theta 0 is
 * the uniform distribution. The same ranks on every machine.
 */
#pragma once

#include "prng.h"

#include <stdint.h>

#define ZIPF_THETA_MAX 8 /* power laws: with more, nearly all draws are the first rank */

struct zipf {
    uint64_t n;
    double theta, inverse, log_n, h_x1, h_n, s; /* inverse: of 1 - theta */
};

/* n >= 1, 0 <= theta <= ZIPF_THETA_MAX; returns 0, or CELLAR_INVALID. */
int zipf_init(struct zipf *zipf, uint64_t n, double theta);
uint64_t zipf_next(const struct zipf *zipf, struct prng *prng);
