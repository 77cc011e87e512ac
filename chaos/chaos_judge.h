/*
 * chaos_judge.h - holds a pool against the witnesses. All compute nodes stand still by then.
 *
 * INV-CHAOS-2: a transfer of which a witness was told that it committed has its receipt, and one of which it was told
 * anything else but INDETERMINATE has none. INV-CHAOS-3: each receipt is that of a transfer that was tried.
 * INV-CHAOS-4: each account's balance and count of changes are those that the receipts make, so no transaction had half
 * an effect.
 */
#pragma once

#include "chaos_witness.h"

struct chaos_judgement {
    uint64_t tried, committed, refused, unknown; /* by what the witnesses were told */
    uint64_t receipts;                           /* in the pool */
};

/*
 * `lines` are those of all witnesses, in any order (they are sorted here). CORRUPT with the first contradiction; else
 * as the calls of the pool.
 */
NODISCARD int chaos_judge(const struct chaos_bank *bank, struct chaos_witness_line *lines, uint64_t count,
                          struct chaos_judgement *out, struct cellar_error *error);
