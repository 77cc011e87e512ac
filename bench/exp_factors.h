/* exp_factors.h - `cellar exp factors`: what cell-level concurrency control, and then localized execution, add to throughput. */
#pragma once

#include "exp.h"

extern const struct exp_kind exp_factors;
