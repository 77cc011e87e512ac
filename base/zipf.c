/*
 * zipf.c - rejection-inversion (Hormann and Derflinger 1996, "Rejection-inversion to generate variates from monotone
 * discrete distributions").
 *
 * Ranks are 1..n here. With h(x) = x^-theta and its integral H, a point u uniform in (H(1.5) - h(1), H(n + 0.5)]
 * falls, for each rank k, into an interval (H(k - 0.5), H(k + 0.5)] that is at least h(k) long, since h is convex.
 * Rank k is accepted on the last h(k) of it, so that it comes out in proportion to h(k), exactly. The first interval
 * is cut to h(1) beforehand.
 */
#include "zipf.h"

#include "elementary.h"
#include "err.h"

/* Draws must be the same everywhere: doubles are used with + - * / alone, and elementary.h. */

/* The integral of h from 1 to x, of log x: (x^(1 - theta) - 1) / (1 - theta), or log x at theta = 1. */
static double h_integral(double theta, double log_x)
{
    return theta == 1 ? log_x : elementary_expm1((1 - theta) * log_x) / (1 - theta);
}

static double h(double theta, double log_x) { return elementary_exp(-theta * log_x); }

/* The logarithm of the x whose integral is u: with t = u (1 - theta), 1 + t is x^(1 - theta). */
static double h_integral_inverse(const struct zipf *zipf, double u)
{
    double t = u * (1 - zipf->theta);
    if (t < -1 + 0x1p-53) t = -1 + 0x1p-53; /* rounding */
    return zipf->theta == 1 ? u : elementary_log1p(t) * zipf->inverse;
}

int zipf_init(struct zipf *zipf, uint64_t n, double theta)
{
    if (n < 1 || !(theta >= 0 && theta <= ZIPF_THETA_MAX)) return CELLAR_INVALID;
    zipf->n = n;
    zipf->theta = theta;
    zipf->inverse = theta == 1 ? 0 : 1 / (1 - theta);
    zipf->log_n = elementary_log((double)n);
    zipf->h_x1 = h_integral(theta, elementary_log(1.5)) - 1;
    zipf->h_n = h_integral(theta, elementary_log((double)n + 0.5));
    double u = h_integral(theta, elementary_log(2.5)) - h(theta, elementary_log(2));
    zipf->s = 2 - elementary_exp(h_integral_inverse(zipf, u));
    return 0;
}

/* Of x >= 0. */
static double nearest(double x) { return x < 0x1p52 ? (double)(int64_t)(x + 0.5) : x; }

/* theta > 0 */
static __attribute__((noinline)) uint64_t draw(const struct zipf *zipf, struct prng *prng)
{
    for (;;) {
        double r = (double)(int64_t)(prng_next(prng) >> 11) * 0x1p-53;
        double u = zipf->h_n + r * (zipf->h_x1 - zipf->h_n);
        double log_x = h_integral_inverse(zipf, u);
        if (log_x < 0) log_x = 0;
        if (log_x > zipf->log_n) log_x = zipf->log_n;
        double x = elementary_exp(log_x), k = nearest(x);
        /* The first test implies the second, which alone is exact, and spares its logarithm nearly always. */
        if (k - x > zipf->s) {
            double log_k = elementary_log(k), log_end = elementary_log(k + 0.5);
            if (u < h_integral(zipf->theta, log_end) - h(zipf->theta, log_k)) continue;
        }
        uint64_t rank = (uint64_t)k - 1;
        return rank < zipf->n ? rank : zipf->n - 1; /* n above 2^53 may round up */
    }
}

uint64_t zipf_next(const struct zipf *zipf, struct prng *prng)
{
    return zipf->theta == 0 ? prng_below(prng, zipf->n) : draw(zipf, prng);
}
