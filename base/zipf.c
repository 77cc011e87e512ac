/*
 * zipf.c - rejection-inversion (Hormann and Derflinger 1996, "Rejection-inversion to generate variates from monotone
 * discrete distributions").
 *
 * Ranks are 1..n here. With h(x) = x^-theta and its integral H, a point u uniform in (H(1.5) - h(1), H(n + 0.5)] falls, for
 * each rank k, into an interval (H(k - 0.5), H(k + 0.5)] that is at least h(k) long, since h is convex. Rank k is
 * accepted on the last h(k) of it, so that it comes out in proportion to h(k), exactly. The first interval is cut to
 * h(1) beforehand.
 */
#include "zipf.h"

#include "err.h"

#include <math.h>

/* (e^x - 1) / x and log(1 + x) / x, with their limit at 0: theta = 1 needs no case of its own. */
static double expm1_over(double x) { return x == 0 ? 1 : expm1(x) / x; }
static double log1p_over(double x) { return x == 0 ? 1 : log1p(x) / x; }

static double h(double theta, double x) { return exp(-theta * log(x)); }

/* The integral of h from 1 to x: (x^(1 - theta) - 1) / (1 - theta), or log x at theta = 1. */
static double h_integral(double theta, double x)
{
    double log_x = log(x);
    return expm1_over((1 - theta) * log_x) * log_x;
}

/*
 * 1 + t is x^(1 - theta). Where the exponent 1 / (1 - theta) is small, the last bit that log(1 + t) loses at a t near 0 does not matter,
 * and log costs half of log1p.
 */
static double h_integral_inverse(double theta, double u)
{
    double t = u * (1 - theta);
    if (t < -1) t = -1; /* rounding */
    if (fabs(1 - theta) > 0.0625) return exp(log(1 + t) / (1 - theta));
    return exp(log1p_over(t) * u);
}

int zipf_init(struct zipf *zipf, uint64_t n, double theta)
{
    if (n < 1 || !(theta >= 0 && theta < 2)) return -CELLAR_ERR_INVALID;
    zipf->n = n;
    zipf->theta = theta;
    zipf->h_x1 = h_integral(theta, 1.5) - 1;
    zipf->h_n = h_integral(theta, (double)n + 0.5);
    zipf->s = 2 - h_integral_inverse(theta, h_integral(theta, 2.5) - h(theta, 2));
    return 0;
}

/* Of x >= 0. A conversion to an integer and back is cheaper than floor on older processors. */
static double nearest(double x) { return x < 0x1p52 ? (double)(int64_t)(x + 0.5) : floor(x + 0.5); }

uint64_t zipf_next(const struct zipf *zipf, struct prng *prng)
{
    if (zipf->theta == 0) return prng_below(prng, zipf->n);
    double n = (double)zipf->n;
    for (;;) {
        double r = (double)(int64_t)(prng_next(prng) >> 11) * 0x1p-53;
        double u = zipf->h_n + r * (zipf->h_x1 - zipf->h_n);
        double x = h_integral_inverse(zipf->theta, u);
        if (x < 1) x = 1;
        if (x > n) x = n;
        double k = nearest(x);
        /* The first test implies the second, which alone is exact, and spares its logarithms nearly always. */
        if (k - x <= zipf->s || u >= h_integral(zipf->theta, k + 0.5) - h(zipf->theta, k)) {
            uint64_t rank = (uint64_t)k - 1;
            return rank < zipf->n ? rank : zipf->n - 1; /* n above 2^53 may round up */
        }
    }
}
