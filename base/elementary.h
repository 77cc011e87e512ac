/*
 * elementary.h - exponential and logarithm, the same to the last bit on every machine with IEEE doubles. Those of
 * libm differ from one version to the next, and with them would what a seed stands for. Accurate to about 1e-15.
 */
#pragma once

double elementary_exp(double x);   /* |x| <= 700 */
double elementary_expm1(double x); /* exp(x) - 1, x <= 700 */
double elementary_log(double x);   /* x > 0, finite and not subnormal */
double elementary_log1p(double x); /* log(1 + x), x > -1 and below 2^50 */
