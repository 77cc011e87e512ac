#include "plants_scenarios.h"
#include "rivals.h"

#include <stdio.h>
#include <string.h>

#define A 1u
#define B 2u
#define C 4u
#define ALL 7u

#define R(k, cells)                                                                                                    \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells                                                           \
    }
#define U(k, cells)                                                                                                    \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .write = cells                                           \
    }
#define W(k, cells)                                                                                                    \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .write = cells                                                          \
    }
#define THEN_R(k, cells)                                                                                               \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .block = true                                            \
    }
#define THEN_U(k, cells)                                                                                               \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .write = cells, .block = true                            \
    }
#define THEN_W(k, cells)                                                                                               \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .write = cells, .block = true                                           \
    }
#define LOOK(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .optional = true                                         \
    }
#define THEN_LOOK(k, cells)                                                                                            \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .optional = true, .block = true                          \
    }
#define DELETE(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_DELETE, .key = k                                                                          \
    }
#define THEN_INSERT(k)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_INSERT, .key = k, .block = true                                                           \
    }
#define INSERT(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_INSERT, .key = k                                                                          \
    }

/* Clients 0 and 1 share a compute node in the variants of two clients each, and client 2 has its own. */
static const struct sim_scenario scenarios[] = {
    /* a writer is read, then aborts: its reads are overtaken by the other node */
    {"read_of_doomed", 3, {{0, {U(0, A), THEN_R(1, A)}}, {1, {R(0, A)}}, {2, {U(1, A)}}}},
    {"write_over_doomed", 3, {{0, {U(0, A), THEN_R(1, A)}}, {1, {U(0, A)}}, {2, {U(1, A)}}}},
    {"chain_over_doomed", 3, {{0, {U(0, A), THEN_R(1, A)}}, {1, {U(0, A)}}, {2, {U(1, A)}}, {1, {U(0, A)}}}},
    /* chains of three */
    {"chain_of_three", 3, {{0, {U(0, A), THEN_U(1, A)}}, {1, {U(0, A)}}, {2, {U(0, A), R(1, A)}}}},
    {"read_overwritten", 3, {{0, {W(0, A)}}, {1, {W(0, A), W(1, A)}}, {2, {R(0, A), THEN_R(1, A)}}}},
    {"read_overwritten_later", 3, {{0, {R(0, A), THEN_R(1, A)}}, {1, {W(0, A)}}, {1, {W(0, A), W(1, A)}}}},
    {"skew_inside", 3, {{0, {R(0, A), THEN_U(1, A)}}, {1, {R(1, A), THEN_U(0, A)}}, {2, {U(0, B)}}}},
    {"skew_through_other", 7, {{0, {R(2, A), THEN_U(0, A)}}, {1, {R(0, A), THEN_R(1, A)}}, {2, {U(2, A), U(1, A)}}}},
    /* what one reads, another one of the same node locks */
    {"held_behind_read", 3, {{0, {R(0, A), THEN_U(1, A)}}, {1, {U(0, A)}}, {2, {U(0, A), U(1, A)}}}},
    {"read_then_held", 3, {{0, {R(0, A), THEN_R(1, A)}}, {1, {U(0, B)}}, {2, {U(0, A), U(1, A)}}}},
    {"applied_apart", 3, {{0, {R(0, A), THEN_R(1, A)}}, {1, {U(0, A), U(1, A)}}, {1, {U(0, A)}}, {2, {U(1, B)}}}},
    {"reader_and_two_writers", 3, {{0, {R(0, A), R(1, A)}}, {1, {U(0, A)}}, {2, {U(0, A), U(1, A)}}, {0, {R(0, A)}}}},
    {"read_again", 1, {{0, {R(0, A)}}, {1, {U(0, B)}}, {2, {U(0, A)}}, {0, {R(0, A)}}, {1, {R(0, A)}}}},
    {"told_by_other", 3, {{0, {R(0, A)}}, {1, {R(0, A)}}, {2, {U(0, A)}}, {0, {R(0, A)}}, {1, {R(0, A)}}}},
    {"two_rounds", 1, {{0, {U(0, A)}}, {1, {U(0, A)}}, {2, {U(0, A)}}, {0, {U(0, A)}}, {1, {U(0, A)}}}},
    {"two_rounds_blind", 1, {{0, {W(0, A)}}, {1, {U(0, A)}}, {2, {U(0, A)}}, {0, {W(0, A)}}, {1, {U(0, A)}}}},
    {"neighbours_inside", 1, {{0, {U(0, A)}}, {1, {U(0, B)}}, {2, {U(0, C)}}, {0, {U(0, B)}}, {2, {U(0, A)}}}},
    {"neighbour_of_other",
     3,
     {{0, {R(0, B), W(1, A)}}, {0, {U(0, A)}}, {2, {U(0, B)}}, {1, {U(0, A)}}, {2, {U(0, B)}}}},
    {"read_beside_write",
     1,
     {{0, {{.kind = SIM_SCENARIO_ACCESS, .key = 0, .read = A | B, .write = A}}}, {1, {U(0, A)}}, {2, {U(0, B)}}}},
    /* aborts of the last writer */
    {"last_aborts", 3, {{0, {U(0, A)}}, {1, {U(0, A), THEN_R(1, A)}}, {2, {U(1, A)}}}},
    {"last_aborts_blind", 3, {{0, {W(0, A)}}, {1, {W(0, B), THEN_R(1, A)}}, {2, {U(1, A)}}}},
    /* closed objects */
    {"deletes_inside", 3, {{0, {DELETE(0), DELETE(1)}}, {1, {U(1, A), U(0, A)}}, {2, {LOOK(0, A), LOOK(1, A)}}}},
    {"delete_under_writers", 1, {{0, {U(0, A)}}, {1, {DELETE(0)}}, {2, {LOOK(0, ALL)}}, {0, {LOOK(0, ALL)}}}},
    {"delete_aborts", 3, {{0, {DELETE(0), THEN_R(1, A)}}, {1, {LOOK(0, A)}}, {2, {U(1, A)}}}},
    {"delete_insert_inside", 1, {{0, {DELETE(0)}}, {1, {INSERT(0)}}, {2, {LOOK(0, A)}}, {1, {LOOK(0, ALL)}}}},
    {"insert_update_inside", 0, {{0, {INSERT(0)}}, {1, {LOOK(0, A)}}, {2, {LOOK(0, A)}}, {1, {LOOK(0, A)}}}},
    {"slot_retaken",
     1,
     {{0, {DELETE(0)}},
      {0, {INSERT(3)}},
      {1, {{.kind = SIM_SCENARIO_ACCESS, .key = 0, .read = A, .write = A, .optional = true}}},
      {2, {{.kind = SIM_SCENARIO_ACCESS, .key = 0, .read = A, .write = A, .optional = true}}},
      {1, {LOOK(3, A)}}}},
    {"inserts_beside", 0, {{0, {INSERT(0)}}, {1, {INSERT(3)}}, {2, {INSERT(0)}}, {1, {LOOK(0, A)}}, {0, {LOOK(3, A)}}}},
    {"inserts_inside",
     0,
     {{0, {INSERT(0), INSERT(1)}}, {1, {INSERT(1), INSERT(0)}}, {2, {LOOK(0, A), THEN_LOOK(1, A)}}}},
    {"crossed_deletes", 3, {{0, {U(0, A), DELETE(1)}}, {1, {U(1, A), DELETE(0)}}}},
    /* waiting */
    {"crossed_blocks", 3, {{0, {U(0, A), THEN_U(1, A)}}, {1, {U(1, A), THEN_U(0, A)}}, {2, {U(0, A)}}}},
    {"three_wait", 1, {{0, {U(0, A)}}, {1, {U(0, A)}}, {2, {U(0, A)}}, {1, {U(0, A)}}, {2, {U(0, A)}}}},
    /* logs: what rests on what */
    {"log_chain", 3, {{0, {U(0, A)}}, {1, {R(0, A), U(1, A)}}, {2, {R(1, A)}}}},
    {"log_chain_long", 7, {{0, {U(0, A)}}, {1, {R(0, A), U(1, A)}}, {2, {R(1, A), U(2, A)}}}},
    {"log_error", 3, {{0, {U(0, A)}}, {1, {R(0, A), THEN_INSERT(1)}}}},
    /*
     * a log of two entries, the first of which others still rest on when its space is wanted, or which its own writer
     * still keeps
     */
    {"ring_reused",
     7,
     {{0, {U(0, A)}}, {1, {R(0, A), U(1, A)}}, {2, {U(0, B)}}, {3, {U(1, B)}}, {0, {U(2, A)}}, {0, {U(2, A)}}}},
    {"ring_kept", 1, {{0, {U(0, A)}}, {1, {U(0, B)}}, {0, {U(0, A)}}, {1, {U(0, B)}}, {0, {U(0, A)}}, {0, {U(0, A)}}}},
    {"log_read_only", 1, {{0, {U(0, A)}}, {1, {R(0, A)}}, {2, {U(0, A)}}}},
    {"log_after_abort", 3, {{0, {W(0, A), THEN_R(1, A)}}, {1, {W(0, A)}}, {1, {U(0, A)}}, {2, {U(1, A)}}}},
    {"log_gap", 3, {{0, {U(0, A)}}, {0, {U(1, A)}}, {0, {U(1, A)}}, {1, {U(0, A), THEN_U(0, B)}}, {2, {R(0, A)}}}},
    {"log_insert_taken", 0, {{0, {INSERT(0)}}, {1, {INSERT(0)}}, {1, {LOOK(0, A)}}}},
    /* epoch numbers that came full circle, where they have two bits, and one */
    {"wrapped",
     3,
     {{0, {R(0, A), THEN_R(1, A)}}, {1, {U(0, A)}}, {1, {U(0, A)}}, {1, {U(0, A)}}, {1, {U(0, A), U(1, A)}}}},
    {"base_wrapped",
     3,
     {{0, {R(0, A), THEN_R(1, A)}}, {1, {R(0, A), R(1, A)}}, {2, {U(0, A)}}, {2, {U(0, A), U(1, A)}}}},
    {"base_wrapped_inside", 3, {{0, {R(0, A), THEN_R(1, A)}}, {1, {R(0, A)}}, {2, {U(0, A)}}, {2, {U(0, A)}}}},
    /* a crowd, and one that wants what it has */
    {"crowd", 1, {{0, {U(0, A)}}, {1, {U(0, A)}}, {2, {U(0, A)}}}},
    /* a slot that is used again */
    {"slot_overtaken", 1, {{0, {DELETE(0)}}, {1, {INSERT(1), INSERT(2), INSERT(3)}}}},
    {"slot_met_again", 1, {{0, {U(3, A)}}, {1, {U(0, A)}}, {2, {DELETE(0)}}, {2, {INSERT(3)}}, {2, {U(3, A)}}}},
    /* old versions: of a cell that one reads late, in a bar that comes round */
    {"old_behind_redone", 3, {{0, {R(1, A), THEN_R(0, B)}}, {1, {U(0, B)}}, {1, {U(0, C)}}, {1, {U(0, A | C)}}}},
    /* mode ford: a serialized transaction writes later */
    {"serialized_unwritten", 3, {{0, {U(0, A), R(1, A)}}, {1, {U(1, A)}}, {1, {R(0, A)}}}},
    {"write_then_read", 1, {{0, {U(0, A)}}, {0, {R(0, A)}}}},
    {"log_delete_missing", 1, {{0, {DELETE(0)}}, {1, {U(0, A)}}, {2, {U(0, A)}}}},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

#define VARIANT(...)                                                                                                   \
    {                                                                                                                  \
        .cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, __VA_ARGS__                                  \
    }

static const struct sim_scenarios_variant variants[] = {
    {"crest", VARIANT(.clients_per_cn = 1)},
    {"crest-one-cn", VARIANT(.clients_per_cn = 3)},
    {"crest-one-cn-threads", VARIANT(.clients_per_cn = 3, .threads = true)},
    {"crest-two", VARIANT(.clients_per_cn = 2)},
    {"crest-two-threads", VARIANT(.clients_per_cn = 2, .threads = true)},
    {"crest-two-replicas", VARIANT(.clients_per_cn = 2, .mns = 2, .replicas = 1)},
    {"crest-one-cn-replicas-threads", VARIANT(.clients_per_cn = 3, .mns = 2, .replicas = 1, .threads = true)},
    {"crest-one-cn-replicas", VARIANT(.clients_per_cn = 3, .mns = 2, .replicas = 1)},
    {"crest-spread", VARIANT(.clients_per_cn = 3, .mns = 2)},
    {"crest-spread-threads", VARIANT(.clients_per_cn = 3, .mns = 2, .threads = true)},
    {"cell-spread", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3, .mns = 2}},
    {"cell-apart", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .warm = true}},
    {"cell-apart-words", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .warm = true, .words = true}},
    {"ford-apart", {.cc = CELLAR_LAB_CC_FORD, .seed = 1, .warm = true}},
    {"motor-apart", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 1, .warm = true}},
    {"motor-replicas", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 1, .warm = true, .mns = 2, .replicas = 1}},
    {"crest-ring", VARIANT(.clients_per_cn = 4, .threads = true, .log_bytes_max = 128)},
    {"crest-crowd", VARIANT(.clients_per_cn = 2, .crowd = true, .ends_only = true)},
    {"crest-words", VARIANT(.clients_per_cn = 2, .words = true)},
    {"crest-words-threads", VARIANT(.clients_per_cn = 3, .words = true, .threads = true)},
};
#define VARIANTS (sizeof variants / sizeof *variants)

bool plants_scenarios_at(uint32_t i, struct sim_template *template)
{
    if (i / VARIANTS >= SCENARIOS + sim_scenarios_count) return false;
    *template = (struct sim_template){.variant = &variants[i % VARIANTS]};
    i /= VARIANTS;
    template->scenario = i < SCENARIOS ? scenarios[i] : sim_scenarios_all[i - SCENARIOS];
    template->txns = sim_scenario_txn_count(&template->scenario);
    snprintf(template->name, sizeof template->name, "%s/%s", template->scenario.name, template->variant->name);
    return true;
}

bool plants_scenarios_find(const char *name, struct sim_template *template)
{
    for (uint32_t i = 0; plants_scenarios_at(i, template); i++)
        if (strcmp(template->name, name) == 0) return true;
    return false;
}
