/* test_plants_durable.c - bugs that let go of what the log does not hold yet, or no longer (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "crest_apply_early", .method = PLANTS_STANDING_CRASH, .template = "log_chain/crest-one-cn-threads"},
    {.plant = "crest_fail_undurable", .method = PLANTS_STANDING_CRASH, .template = "log_error/crest-one-cn-threads"},
    {.plant = "crest_ring_unwatched", .method = PLANTS_REUSED, .template = "ring_reused/crest-ring", .ring_bytes = 256},
    {.plant = "crest_log_reserved_late",
     .method = PLANTS_STANDING,
     .template = "ring_kept/crest-ring",
     .ring_bytes = 256},
    {.plant = "crest_never_drains", .method = PLANTS_PREEMPT, .template = "crowd/crest-crowd"},
    {.plant = "crest_base_age_ignored",
     .method = PLANTS_STANDING,
     .template = "base_wrapped_inside/crest-two-threads",
     .en_bits = 1},
    {.plant = "log_lost_aborted", .method = PLANTS_MUTED, .template = "log_chain/crest-one-cn-threads"},
    {.plant = "recover_deps_ignored", .method = PLANTS_STANDING_CRASH, .template = "log_chain/crest-one-cn-threads"},
    {.plant = "recover_unerased", .method = PLANTS_STANDING_CRASH, .template = "log_chain/crest-one-cn-threads"},
    {.plant = "recover_tags_unasked", .method = PLANTS_OVERTAKEN, .template = "lost_update/cell"},
    {.plant = "recover_refusal_passed", .method = PLANTS_REFUSED, .template = "lost_update/cell-replicas"},
    {.plant = "recover_claim_shared", .method = PLANTS_SUPPLANTED, .template = "lost_update/cell"},
    {.plant = "crest_returned_blindly", .method = PLANTS_MET_AGAIN, .template = "slot_met_again/crest-two-threads"},
    {.plant = "crest_applied_over", .method = PLANTS_MET_AGAIN, .template = "slot_met_again/crest-two-threads"},
    {.plant = "recover_unfenced", .method = PLANTS_SUSPECTED, .template = "lost_update_three/crest-two"},
    {.plant = "recover_any_incarnation", .method = PLANTS_RING},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
