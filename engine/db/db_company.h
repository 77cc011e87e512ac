/* db_company.h - which other processes use the pool, and what is done while none does. */
#pragma once

#include "db.h"

struct db_company {
    int32_t other;  /* a compute node of another process that is a member; -1: there is none */
    uint64_t lives; /* of all compute nodes so far: who came and went is among them */
};

NODISCARD int db_company_look(struct coro *co, struct worker *worker, struct db_company *company,
                              struct cellar_error *error);
/* Returns whether no other process was a member at the first of two looks, and none has come until the second. */
static inline bool db_company_none(const struct db_company *before, const struct db_company *after)
{
    return before->other < 0 && after->other < 0 && before->lives == after->lives;
}
/* BUSY: another process uses the pool now. */
NODISCARD int db_alone_check(struct coro *co, struct worker *worker, struct cellar_error *error);
/*
 * As reclaim_state_move and reclaim_replaced_settle, of a process that is alone and goes on. INDETERMINATE: it does
 * not, since it cannot know which tables there are; the next opening reads what was decided (INV-RECLAIM-9).
 */
NODISCARD int db_state_decide(struct coro *co, struct worker *worker, uint32_t table_id, uint64_t from, uint64_t to,
                              struct cellar_error *error);
NODISCARD int db_replaced_settle(struct coro *co, struct worker *worker, uint32_t table_id, struct cellar_error *error);
/* Gives back the space of tables that go, and, if no other process comes meanwhile, unclaimed chunks (reclaim.h). */
NODISCARD int db_company_sweep(struct coro *co, struct worker *worker, struct cellar_error *error);
