#include "sim_scenarios.h"
#include "mode.h"
#include "rivals.h"

#define A 1u /* cells: one line holds A and B, C spans several */
#define B 2u
#define C 4u
#define ALL 7u

#define READ(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells                                                           \
    }
#define LOOK(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .optional = true                                         \
    }
#define EXISTS(k) LOOK(k, 0) /* asks for no cell */
#define WRITE(k, cells)                                                                                                \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .write = cells                                                          \
    }
#define UPDATE(k, reads, writes)                                                                                       \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = reads, .write = writes                                          \
    }
#define THEN_LOOK(k, cells)                                                                                            \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .optional = true, .block = true                          \
    }
#define TRY_UPDATE(k, reads, writes)                                                                                   \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = reads, .write = writes, .optional = true                        \
    }
#define THEN_DELETE(k)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_DELETE, .key = k, .block = true                                                           \
    }
#define INSERT(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_INSERT, .key = k                                                                          \
    }
#define DELETE(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_DELETE, .key = k                                                                          \
    }
#define THEN_READ(k, cells)                                                                                            \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .block = true                                            \
    }
#define THEN_UPDATE(k, reads, writes)                                                                                  \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = reads, .write = writes, .block = true                           \
    }
#define THEN_INSERT(k)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_INSERT, .key = k, .block = true                                                           \
    }

const struct sim_scenario sim_scenarios_all[] = {
    {"lost_update", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}}},
    {"lost_update_wide", 1, {{0, {UPDATE(0, C, C)}}, {1, {UPDATE(0, C, C)}}}},
    {"lost_update_three", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}, {2, {UPDATE(0, A, A)}}}},
    {"blind_writes", 3, {{0, {WRITE(0, A), WRITE(1, A)}}, {1, {WRITE(1, A), WRITE(0, A)}}}},
    {"write_skew_one_record", 1, {{0, {UPDATE(0, A | B, A)}}, {1, {UPDATE(0, A | B, B)}}}},
    {"write_skew_two_records", 3, {{0, {UPDATE(0, A, A), READ(1, A)}}, {1, {READ(0, A), UPDATE(1, A, A)}}}},
    {"write_skew_two_blocks", 3, {{0, {READ(1, A), THEN_UPDATE(0, A, A)}}, {1, {READ(0, A), THEN_UPDATE(1, A, A)}}}},
    {"neighbour_cells", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, B, B)}}}},
    {"neighbour_cells_wide", 1, {{0, {UPDATE(0, B, B)}}, {1, {UPDATE(0, C, C)}}}},
    {"neighbour_and_rival", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, B, B)}}, {2, {UPDATE(0, B, B)}}}},
    {"snapshot_one_record", 1, {{0, {READ(0, ALL)}}, {1, {UPDATE(0, A, ALL)}}}},
    {"snapshot_two_records", 3, {{0, {READ(0, A), READ(1, A)}}, {1, {UPDATE(0, A, A), UPDATE(1, A, A)}}}},
    {"snapshot_two_blocks", 3, {{0, {READ(0, A), THEN_READ(1, C)}}, {1, {UPDATE(0, A, A), UPDATE(1, C, C)}}}},
    {"read_twice_updated", 3, {{0, {READ(0, A), THEN_READ(0, B)}}, {1, {UPDATE(0, A | B, A | B)}}}},
    {"read_then_update", 1, {{0, {READ(0, A), THEN_UPDATE(0, B, B)}}, {1, {UPDATE(0, A | B, A | B)}}}},
    {"real_time", 3, {{0, {UPDATE(0, A, A)}}, {0, {READ(1, A)}}, {1, {READ(0, A), UPDATE(1, A, A)}}}},
    {"insert_insert", 0, {{0, {INSERT(0)}}, {1, {INSERT(0)}}}},
    {"insert_absent_read", 0, {{0, {INSERT(0)}}, {1, {LOOK(0, A)}}}},
    {"insert_two_absent_reads", 0, {{0, {INSERT(0), INSERT(1)}}, {1, {LOOK(0, A), LOOK(1, A)}}}},
    {"phantom_skew", 0, {{0, {LOOK(0, A), THEN_INSERT(1)}}, {1, {LOOK(1, A), THEN_INSERT(0)}}}},
    {"exists_skew", 1, {{0, {EXISTS(0), THEN_INSERT(1)}}, {1, {EXISTS(1), THEN_DELETE(0)}}}},
    {"look_then_insert", 0, {{0, {LOOK(0, A), THEN_INSERT(0)}}, {1, {LOOK(0, A), THEN_INSERT(0)}}}},
    {"delete_read", 3, {{0, {DELETE(0), UPDATE(1, A, A)}}, {1, {LOOK(0, ALL), READ(1, A)}}}},
    {"delete_delete", 1, {{0, {DELETE(0)}}, {1, {DELETE(0)}}}},
    {"delete_update", 1, {{0, {DELETE(0)}}, {1, {UPDATE(0, A, B)}}}},
    {"delete_insert_reuse", 1, {{0, {DELETE(0)}}, {0, {INSERT(1)}}, {1, {LOOK(0, ALL)}}}},
    {"delete_insert_update", 1, {{0, {DELETE(0)}}, {0, {INSERT(0)}}, {1, {UPDATE(0, A, A)}}}},
    {"reuse_under_blind_write", 1, {{0, {DELETE(0)}}, {0, {INSERT(1)}}, {1, {WRITE(0, A)}}}},
#define QUICK_SCENARIOS 27
    /* one record: cells that are the same, that share some, that have nothing in common; read, written, both */
    {"read_write", 1, {{0, {READ(0, A)}}, {1, {UPDATE(0, A, A)}}}},
    {"read_write_wide", 1, {{0, {READ(0, C)}}, {1, {UPDATE(0, C, C)}}}},
    {"read_neighbour", 1, {{0, {READ(0, B)}}, {1, {UPDATE(0, A, A)}}}},
    {"read_blind_write", 1, {{0, {READ(0, ALL)}}, {1, {WRITE(0, ALL)}}}},
    {"blind_write_blind_write", 1, {{0, {WRITE(0, ALL)}}, {1, {WRITE(0, ALL)}}}},
    {"blind_neighbours", 1, {{0, {WRITE(0, A | B)}}, {1, {WRITE(0, B | C)}}}},
    {"overlap", 1, {{0, {UPDATE(0, A | B, A | B)}}, {1, {UPDATE(0, B | C, B | C)}}}},
    {"overlap_read_write", 1, {{0, {UPDATE(0, A | C, A)}}, {1, {UPDATE(0, B | C, C)}}}},
    {"cross_cells", 1, {{0, {UPDATE(0, A, B)}}, {1, {UPDATE(0, B, A)}}}},
    {"upgrade", 1, {{0, {READ(0, A), THEN_UPDATE(0, B, B)}}, {1, {READ(0, B), THEN_UPDATE(0, C, C)}}}},
    {"upgrade_neighbour", 1, {{0, {READ(0, A), THEN_UPDATE(0, B, B)}}, {1, {READ(0, B), THEN_UPDATE(0, A, A)}}}},
    {"write_twice", 1, {{0, {UPDATE(0, A, A), THEN_UPDATE(0, B, B)}}, {1, {UPDATE(0, A | B, A | B)}}}},
    {"write_then_write_wide", 1, {{0, {UPDATE(0, A, A), THEN_UPDATE(0, C, C)}}, {1, {READ(0, A | C)}}}},
    {"read_twice_wide", 1, {{0, {READ(0, A), THEN_READ(0, C)}}, {1, {UPDATE(0, A | C, A | C)}}}},
    /* two records: in the same and in opposite order, at once and one after the other */
    {"transfers", 3, {{0, {UPDATE(0, A, A), UPDATE(1, A, A)}}, {1, {UPDATE(1, A, A), UPDATE(0, A, A)}}}},
    {"transfers_two_blocks",
     3,
     {{0, {UPDATE(0, A, A), THEN_UPDATE(1, A, A)}}, {1, {UPDATE(1, A, A), THEN_UPDATE(0, A, A)}}}},
    {"transfers_neighbours", 3, {{0, {UPDATE(0, A, A), UPDATE(1, B, B)}}, {1, {UPDATE(1, A, A), UPDATE(0, B, B)}}}},
    {"transfer_and_sum", 3, {{0, {UPDATE(0, A, A), THEN_UPDATE(1, A, A)}}, {1, {READ(0, A), THEN_READ(1, A)}}}},
    {"sum_in_reverse", 3, {{0, {READ(1, A), THEN_READ(0, A)}}, {1, {UPDATE(0, A, A), UPDATE(1, A, A)}}}},
    {"sum_into_third",
     7,
     {{0, {READ(0, A), READ(1, A), THEN_UPDATE(2, A, A)}}, {1, {UPDATE(0, A, A), UPDATE(1, A, A)}}}},
    {"behind_lock", 3, {{0, {UPDATE(0, A | B, A), THEN_READ(1, A)}}, {1, {UPDATE(0, B, B), UPDATE(1, A, A)}}}},
    {"write_skew_wide", 3, {{0, {UPDATE(0, C, C), READ(1, C)}}, {1, {READ(0, C), UPDATE(1, C, C)}}}},
    {"blind_skew", 3, {{0, {READ(0, A), WRITE(1, A)}}, {1, {READ(1, A), WRITE(0, A)}}}},
    /* presence: inserts, deletes, absent reads, slots used again */
    {"insert_neighbour", 0, {{0, {INSERT(0)}}, {1, {INSERT(1)}}}},
    {"insert_both", 0, {{0, {INSERT(0), INSERT(1)}}, {1, {INSERT(1), INSERT(0)}}}},
    {"insert_then_insert", 0, {{0, {INSERT(0), THEN_INSERT(1)}}, {1, {INSERT(1), THEN_INSERT(0)}}}},
    {"insert_look_twice", 0, {{0, {INSERT(0), INSERT(1)}}, {1, {LOOK(0, A), THEN_LOOK(1, A)}}}},
    {"insert_update_if_there", 0, {{0, {INSERT(0)}}, {1, {TRY_UPDATE(0, A, A)}}}},
    {"insert_with_counter", 2, {{0, {INSERT(0), UPDATE(1, A, A)}}, {1, {LOOK(0, A), READ(1, A)}}}},
    {"absent_skew", 3, {{0, {LOOK(2, A), UPDATE(0, A, A)}}, {1, {READ(0, A), INSERT(2)}}}},
    {"insert_taken", 1, {{0, {INSERT(0)}}, {1, {UPDATE(0, A, A)}}}},
    {"delete_look", 1, {{0, {DELETE(0)}}, {1, {LOOK(0, ALL)}}}},
    {"delete_blind_write", 1, {{0, {DELETE(0)}}, {1, {WRITE(0, ALL)}}}},
    {"delete_update_if_there", 1, {{0, {DELETE(0)}}, {1, {TRY_UPDATE(0, ALL, ALL)}}}},
    {"delete_both", 3, {{0, {DELETE(0), DELETE(1)}}, {1, {DELETE(1), DELETE(0)}}}},
    {"delete_skew", 3, {{0, {LOOK(0, A), THEN_DELETE(1)}}, {1, {LOOK(1, A), THEN_DELETE(0)}}}},
    {"exists_look", 3, {{0, {EXISTS(0), READ(1, A)}}, {1, {DELETE(0), UPDATE(1, A, A)}}}},
    {"exists_there", 3, {{0, {READ(0, 0), THEN_UPDATE(1, A, A)}}, {1, {READ(1, A), THEN_DELETE(0)}}}},
    {"exists_then_update", 1, {{0, {EXISTS(0), THEN_UPDATE(0, A, A)}}, {1, {UPDATE(0, A | B, A | B)}}}},
    {"exists_then_write", 1, {{0, {EXISTS(0), THEN_UPDATE(0, B, A)}}, {1, {DELETE(0)}}, {2, {INSERT(0)}}}},
    {"exists_twice", 3, {{0, {EXISTS(0), THEN_LOOK(0, A | B)}}, {1, {WRITE(0, A)}}, {2, {DELETE(0)}}}},
    {"written_exists", 3, {{0, {UPDATE(1, ALL, ALL)}}, {0, {WRITE(0, ALL), THEN_LOOK(0, 0)}}, {1, {READ(0, ALL)}}}},
    {"exists_delete_skew", 3, {{0, {EXISTS(0), THEN_DELETE(1)}}, {1, {EXISTS(1), THEN_DELETE(0)}}}},
    {"exists_insert_skew", 0, {{0, {EXISTS(0), THEN_INSERT(1)}}, {1, {EXISTS(1), THEN_INSERT(0)}}}},
    {"exists_reinserted", 3, {{0, {DELETE(0)}}, {0, {INSERT(0), UPDATE(1, A, A)}}, {1, {EXISTS(0), THEN_READ(1, A)}}}},
    {"exists_slot_reused", 3, {{0, {DELETE(0)}}, {1, {INSERT(2), UPDATE(1, A, A)}}, {2, {EXISTS(0), THEN_READ(1, A)}}}},
    {"delete_insert", 1, {{0, {DELETE(0)}}, {1, {INSERT(0)}}}},
    {"delete_insert_other", 1, {{0, {DELETE(0)}}, {1, {INSERT(1)}}}},
    {"move", 1, {{0, {DELETE(0), INSERT(1)}}, {1, {LOOK(0, A), LOOK(1, A)}}}},
    {"move_two_blocks", 1, {{0, {DELETE(0), THEN_INSERT(1)}}, {1, {LOOK(1, A), THEN_LOOK(0, A)}}}},
    {"moved_under_insert", 1, {{0, {READ(0, A), THEN_INSERT(1)}}, {1, {DELETE(0), INSERT(1)}}}},
    {"moves", 1, {{0, {DELETE(0), INSERT(1)}}, {1, {DELETE(0), INSERT(2)}}}},
    /* three transactions */
    {"three_way_skew",
     7,
     {{0, {READ(0, A), UPDATE(1, A, A)}}, {1, {READ(1, A), UPDATE(2, A, A)}}, {2, {READ(2, A), UPDATE(0, A, A)}}}},
    {"two_writers_one_reader", 3, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(1, A, A)}}, {2, {READ(0, A), READ(1, A)}}}},
    {"read_only_anomaly",
     3,
     {{0, {READ(0, A), UPDATE(1, A, A)}}, {1, {UPDATE(0, A, A)}}, {2, {READ(0, A), READ(1, A)}}}},
    {"insert_delete_look", 0, {{0, {INSERT(0)}}, {0, {DELETE(0)}}, {1, {LOOK(0, ALL)}}}},
    {"reinsert_under_update", 1, {{0, {DELETE(0)}}, {1, {INSERT(0)}}, {2, {TRY_UPDATE(0, A, A)}}}},
    {"reinsert_under_look",
     3,
     {{0, {DELETE(0)}}, {0, {INSERT(0), UPDATE(1, A, A)}}, {1, {LOOK(0, A), THEN_READ(1, A)}}}},
    {"reinserted_look", 1, {{0, {DELETE(0)}}, {0, {INSERT(0)}}, {1, {LOOK(0, A)}}}},
    {"slot_moves_under_look", 1, {{0, {DELETE(0)}}, {1, {INSERT(1)}}, {2, {LOOK(0, ALL)}}}},
};
const uint32_t sim_scenarios_count = sizeof sim_scenarios_all / sizeof *sim_scenarios_all;
const uint32_t sim_scenarios_quick = QUICK_SCENARIOS;

const struct sim_scenarios_variant sim_scenarios_variants[] = {
    {"record", {.cc = CELLAR_LAB_CC_RECORD, .seed = 1, .torn = true, .warm = true}},
    {"cell", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true}},
    {"crest-shared",
     {.cc = CELLAR_LAB_CC_CREST,
      .seed = 1,
      .torn = true,
      .warm = true,
      .clients_per_cn = SIM_SCENARIO_CLIENTS,
      .threads = true}},
    {"cell-cold", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true}},
    {"cell-one-cn", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3}},
    {"cell-replicas", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"cell-words", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .words = true}},
    {"crest-apart", {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true}},
#define QUICK_VARIANTS 8
    {"cell-one-cn-replicas",
     {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3, .mns = 2, .replicas = 1}},
    {"cell-threads",
     {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3, .threads = true}},
    {"record-one-cn", {.cc = CELLAR_LAB_CC_RECORD, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3}},
    {"record-replicas", {.cc = CELLAR_LAB_CC_RECORD, .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"crest-coros",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = SIM_SCENARIO_CLIENTS}},
    {"crest-two-cns", {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 2}},
    {"crest-replicas",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 2, .mns = 2, .replicas = 1}},
    {"crest-words-threads",
     {.cc = CELLAR_LAB_CC_CREST,
      .seed = 1,
      .torn = true,
      .warm = true,
      .clients_per_cn = SIM_SCENARIO_CLIENTS,
      .threads = true,
      .words = true}},
    {"record-words", {.cc = CELLAR_LAB_CC_RECORD, .seed = 1, .torn = true, .warm = true, .words = true}},
    /* Of the laboratory's modes, which may not be linked; the last ones are the quick ones. */
    {"ford-spread",
     {.cc = CELLAR_LAB_CC_FORD, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3, .mns = 3, .replicas = 1}},
    {"ford-words", {.cc = CELLAR_LAB_CC_FORD, .seed = 1, .torn = true, .warm = true, .words = true}},
#define RIVALS_QUICK 6
    {"2pl", {.cc = CELLAR_LAB_CC_TWOPL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 2}},
    {"2pl-cas-replicas",
     {.cc = CELLAR_LAB_CC_TWOPL, .lock = "cas", .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"motor", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 1, .torn = true, .warm = true}},
    {"motor-words", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 1, .torn = true, .warm = true, .words = true}},
    {"motor-replicas", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"ford",
     {.cc = CELLAR_LAB_CC_FORD, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 2, .mns = 2, .replicas = 1}},
};
#define VARIANTS (sizeof sim_scenarios_variants / sizeof *sim_scenarios_variants)
const uint32_t sim_scenarios_variants_quick = QUICK_VARIANTS;

uint32_t sim_scenarios_variant_count(void)
{
    uint32_t count = 0;
    while (count < VARIANTS && mode_of(sim_scenarios_variants[count].options.cc)) count++;
    return count;
}

uint32_t sim_scenarios_rivals(void) { return sim_scenarios_variant_count() == VARIANTS ? RIVALS_QUICK : 0; }

/* In mode crest what clients of one compute node share matters most. */
const struct sim_scenarios_variant sim_scenarios_crest[] = {
    {"crest", {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true}},
    {"crest-one-cn", {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3}},
    {"crest-two-replicas",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .clients_per_cn = 2, .mns = 2, .replicas = 1}},
#define QUICK_CREST 3
    {"crest-one-cn-replicas",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 3, .mns = 2, .replicas = 1}},
    {"crest-threads", {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .clients_per_cn = 3, .threads = true}},
    {"crest-words",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 1, .torn = true, .warm = true, .clients_per_cn = 2, .words = true}},
};
const uint32_t sim_scenarios_crest_count = sizeof sim_scenarios_crest / sizeof *sim_scenarios_crest;
const uint32_t sim_scenarios_crest_quick = QUICK_CREST;
