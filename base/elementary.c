/*
 * elementary.c - by tables of 64 entries and short series on what is left, with no operation but + - * / and changes
 * to the bits.
 *
 * Made without contraction to fused multiply-adds (CMakeLists.txt), which some processors have and others do not. The
 * tables hold the nearest doubles to the true values.
 */
#include "elementary.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "a double is computed as a double");

#define STEPS 64                      /* of a doubling, in either table */
#define LN2_HIGH 0x1.62e42fee00000p-1 /* its last 21 bits are 0: a product with an exponent is exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define BASE 0x3fe6000000000000 /* the bits of 0.6875; 1.0 lies a whole number of steps above */
#define STEP_BITS (52 - 6)      /* the bits of a double below a step */

/* log(c) for the c with bits BASE + i * STEP. */
static const double logs[STEPS] = {
    -0x1.7fafa3bd8151cp-2,
    -0x1.741d876c67bb1p-2,
    -0x1.68ac83e9c6a14p-2,
    -0x1.5d5bddf595f30p-2,
    -0x1.522ae0738a3d8p-2,
    -0x1.4718dc271c41bp-2,
    -0x1.3c25277333184p-2,
    -0x1.314f1e1d35ce4p-2,
    -0x1.269621134db92p-2,
    -0x1.1bf99635a6b95p-2,
    -0x1.1178e8227e47cp-2,
    -0x1.07138604d5862p-2,
    -0x1.f991c6cb3b379p-3,
    -0x1.e530effe71012p-3,
    -0x1.d1037f2655e7bp-3,
    -0x1.bd087383bd8adp-3,
    -0x1.a93ed3c8ad9e3p-3,
    -0x1.95a5adcf7017fp-3,
    -0x1.823c16551a3c2p-3,
    -0x1.6f0128b756abcp-3,
    -0x1.5bf406b543db2p-3,
    -0x1.4913d8333b561p-3,
    -0x1.365fcb0159016p-3,
    -0x1.23d712a49c202p-3,
    -0x1.1178e8227e47cp-3,
    -0x1.fe89139dbd566p-4,
    -0x1.da727638446a2p-4,
    -0x1.b6ac88dad5b1cp-4,
    -0x1.9335e5d594989p-4,
    -0x1.700d30aeac0e1p-4,
    -0x1.4d3115d207eacp-4,
    -0x1.2aa04a44717a5p-4,
    -0x1.08598b59e3a07p-4,
    -0x1.ccb73cdddb2ccp-5,
    -0x1.894aa149fb343p-5,
    -0x1.466aed42de3eap-5,
    -0x1.0415d89e74444p-5,
    -0x1.8492528c8cabfp-6,
    -0x1.0205658935847p-6,
    -0x1.010157588de71p-7,
    0,
    0x1.fc0a8b0fc03e4p-7,
    0x1.f829b0e783300p-6,
    0x1.77458f632dcfcp-5,
    0x1.f0a30c01162a6p-5,
    0x1.341d7961bd1d1p-4,
    0x1.6f0d28ae56b4cp-4,
    0x1.a926d3a4ad563p-4,
    0x1.e27076e2af2e6p-4,
    0x1.0d77e7cd08e59p-3,
    0x1.29552f81ff523p-3,
    0x1.44d2b6ccb7d1ep-3,
    0x1.5ff3070a793d4p-3,
    0x1.7ab890210d909p-3,
    0x1.9525a9cf456b4p-3,
    0x1.af3c94e80bff3p-3,
    0x1.c8ff7c79a9a22p-3,
    0x1.e27076e2af2e6p-3,
    0x1.fb9186d5e3e2bp-3,
    0x1.0a324e27390e3p-2,
    0x1.1675cababa60ep-2,
    0x1.22941fbcf7966p-2,
    0x1.2e8e2bae11d31p-2,
    0x1.3a64c556945eap-2,
};

/* 2^(i / 64) */
static const double powers[STEPS] = {
    1,
    0x1.02c9a3e778061p+0,
    0x1.059b0d3158574p+0,
    0x1.0874518759bc8p+0,
    0x1.0b5586cf9890fp+0,
    0x1.0e3ec32d3d1a2p+0,
    0x1.11301d0125b51p+0,
    0x1.1429aaea92de0p+0,
    0x1.172b83c7d517bp+0,
    0x1.1a35beb6fcb75p+0,
    0x1.1d4873168b9aap+0,
    0x1.2063b88628cd6p+0,
    0x1.2387a6e756238p+0,
    0x1.26b4565e27cddp+0,
    0x1.29e9df51fdee1p+0,
    0x1.2d285a6e4030bp+0,
    0x1.306fe0a31b715p+0,
    0x1.33c08b26416ffp+0,
    0x1.371a7373aa9cbp+0,
    0x1.3a7db34e59ff7p+0,
    0x1.3dea64c123422p+0,
    0x1.4160a21f72e2ap+0,
    0x1.44e086061892dp+0,
    0x1.486a2b5c13cd0p+0,
    0x1.4bfdad5362a27p+0,
    0x1.4f9b2769d2ca7p+0,
    0x1.5342b569d4f82p+0,
    0x1.56f4736b527dap+0,
    0x1.5ab07dd485429p+0,
    0x1.5e76f15ad2148p+0,
    0x1.6247eb03a5585p+0,
    0x1.6623882552225p+0,
    0x1.6a09e667f3bcdp+0,
    0x1.6dfb23c651a2fp+0,
    0x1.71f75e8ec5f74p+0,
    0x1.75feb564267c9p+0,
    0x1.7a11473eb0187p+0,
    0x1.7e2f336cf4e62p+0,
    0x1.82589994cce13p+0,
    0x1.868d99b4492edp+0,
    0x1.8ace5422aa0dbp+0,
    0x1.8f1ae99157736p+0,
    0x1.93737b0cdc5e5p+0,
    0x1.97d829fde4e50p+0,
    0x1.9c49182a3f090p+0,
    0x1.a0c667b5de565p+0,
    0x1.a5503b23e255dp+0,
    0x1.a9e6b5579fdbfp+0,
    0x1.ae89f995ad3adp+0,
    0x1.b33a2b84f15fbp+0,
    0x1.b7f76f2fb5e47p+0,
    0x1.bcc1e904bc1d2p+0,
    0x1.c199bdd85529cp+0,
    0x1.c67f12e57d14bp+0,
    0x1.cb720dcef9069p+0,
    0x1.d072d4a07897cp+0,
    0x1.d5818dcfba487p+0,
    0x1.da9e603db3285p+0,
    0x1.dfc97337b9b5fp+0,
    0x1.e502ee78b3ff6p+0,
    0x1.ea4afa2a490dap+0,
    0x1.efa1bee615a27p+0,
    0x1.f50765b6e4540p+0,
    0x1.fa7c1819e90d8p+0,
};

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * log(y + tail), where the tail is what y has lost by rounding. With c the table's nearest point to y times 2^k: log
 * y = k log 2 + log c + log(y / c), the latter being 2 (s + s^3 / 3 + s^5 / 5 ...) of s = (y - c) / (y + c), at most
 * 1 / 256. Near 1 both k and log c are 0.
 */
static double log_of_sum(double y, double tail)
{
    const int64_t step = 1ll << STEP_BITS;
    int64_t nearest = (bits_of(y) + step / 2) & -step;
    int64_t steps = (nearest - BASE) >> STEP_BITS;
    double c = of_bits(nearest), k = (double)(steps >> 6);
    double s = ((y - c) + tail) / (y + c);
    double s2 = s * s;
    double rest = s * s2 * (2.0 / 3 + s2 * (2.0 / 5 + s2 * (2.0 / 7)));
    return (k * LN2_HIGH + logs[steps & (STEPS - 1)]) + (2 * s + (rest + k * LN2_LOW));
}

double elementary_log(double x) { return log_of_sum(x, 0); }

double elementary_log1p(double x)
{
    double y = 1 + x;
    return log_of_sum(y, x - (y - 1));
}

/* With i the nearest integer to 64 x / log 2: e^x = 2^(i / 64) e^r, where r is at most log 2 / 128. */
double elementary_exp(double x)
{
    const double round = 0x1.8p52; /* added, leaves the nearest integer in the last bits */
    double shifted = x * (STEPS / (LN2_HIGH + LN2_LOW)) + round;
    int64_t i = bits_of(shifted) - bits_of(round);
    double nearest = shifted - round;
    double r = (x - nearest * (LN2_HIGH / STEPS)) - nearest * (LN2_LOW / STEPS);
    double r2 = r * r;
    double series = r + r2 * (1.0 / 2 + r * (1.0 / 6)) + r2 * r2 * (1.0 / 24 + r * (1.0 / 120));
    double power = of_bits(bits_of(powers[i & (STEPS - 1)]) + (i >> 6) * (1ll << 52));
    return power + power * series;
}

double elementary_expm1(double x)
{
    static const double terms[] = {1,
                                   1.0 / 2,
                                   1.0 / 6,
                                   1.0 / 24,
                                   1.0 / 120,
                                   1.0 / 720,
                                   1.0 / 5040,
                                   1.0 / 40320,
                                   1.0 / 362880,
                                   1.0 / 3628800,
                                   1.0 / 39916800,
                                   1.0 / 479001600,
                                   1.0 / 6227020800,
                                   1.0 / 87178291200,
                                   1.0 / 1307674368000};
    if (x > 0.5 || x < -0.5) return elementary_exp(x) - 1;
    double sum = terms[14];
    for (int n = 13; n >= 0; n--) sum = terms[n] + sum * x;
    return sum * x;
}
