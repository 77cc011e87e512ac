/* test_plants_crest.c - bugs in mode `crest`: local objects, v, and what the last writer applies (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    /* who waits for whom, and v */
    {.plant = "crest_decided_unawaited", .method = PLANTS_PREEMPT, .template = "read_of_doomed/crest-two"},
    {.plant = "crest_read_unawaited", .method = PLANTS_PREEMPT, .template = "read_of_doomed/crest-two"},
    {.plant = "crest_later_awaited", .method = PLANTS_PREEMPT, .template = "crossed_blocks/crest-one-cn"},
    {.plant = "crest_v_late", .method = PLANTS_PREEMPT, .template = "skew_inside/crest-two-threads"},
    {.plant = "crest_validating_ignored", .method = PLANTS_PREEMPT, .template = "skew_inside/crest-two"},
    /* validation */
    {.plant = "crest_copy_unchecked", .method = PLANTS_PREEMPT, .template = "held_behind_read/crest-two-threads"},
    {.plant = "crest_own_lock_suffices", .method = PLANTS_PREEMPT, .template = "skew_inside/crest-two-threads"},
    {.plant = "crest_tags_unchecked", .method = PLANTS_PREEMPT, .template = "write_skew_two_blocks/crest"},
    {.plant = "crest_held_unchecked", .method = PLANTS_PREEMPT, .template = "write_over_doomed/crest-two-threads"},
    {.plant = "crest_en_to_be", .method = PLANTS_PREEMPT, .template = "read_overwritten/crest-one-cn-threads"},
    {.plant = "crest_snapshot_shared", .method = PLANTS_PREEMPT, .template = "told_by_other/crest-two"},
    {.plant = "en_wrap_unchecked", .method = PLANTS_PCT, .template = "wrapped/crest", .en_bits = 2},
    /* objects: who may join, fetch, hold */
    {.plant = "crest_dropped_early", .method = PLANTS_PREEMPT, .template = "two_rounds/crest-two-threads"},
    {.plant = "crest_join_applying", .method = PLANTS_PREEMPT, .template = "two_rounds/crest-two-threads"},
    {.plant = "crest_held_late",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 3, .coros = 4, .txns = 8}},
    {.plant = "crest_fetch_shared",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 2, .coros = 4, .txns = 8}},
    {.plant = "crest_waits_announced",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 2, .coros = 4, .txns = 8}},
    {.plant = "crest_slots_kept", .method = PLANTS_PREEMPT, .template = "crossed_blocks/crest-one-cn"},
    {.plant = "crest_waiter_forgotten",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 2, .coros = 8, .txns = 8}},
    {.plant = "crest_await_unlooked", .method = PLANTS_PREEMPT, .template = "chain_of_three/crest-one-cn-threads"},
    {.plant = "crest_announcements_kept", .method = PLANTS_PREEMPT, .template = "deletes_inside/crest-two-threads"},
    {.plant = "crest_delete_shared", .method = PLANTS_PREEMPT, .template = "deletes_inside/crest-two-threads"},
    {.plant = "crest_tombstone_ignored", .method = PLANTS_PREEMPT, .template = "deletes_inside/crest-one-cn"},
    {.plant = "crest_generation_ignored", .method = PLANTS_PREEMPT, .template = "two_rounds/crest-two"},
    /* what is applied */
    {.plant = "crest_record_applied", .method = PLANTS_PREEMPT, .template = "read_beside_write/crest"},
    {.plant = "crest_oldest_applied", .method = PLANTS_PREEMPT, .template = "two_rounds/crest-two"},
    {.plant = "crest_abort_kept",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 2, .coros = 8, .txns = 8}},
    {.plant = "crest_abort_applies_nothing", .method = PLANTS_PREEMPT, .template = "last_aborts/crest-two"},
    {.plant = "crest_ts_of_base", .method = PLANTS_PREEMPT, .template = "two_rounds/crest-two"},
    {.plant = "crest_base_stale",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 3, .coros = 4, .txns = 8}},
    /* the log, when a node dies */
    {.plant = "crest_dep_forgotten", .method = PLANTS_TEMPLATE_CRASH, .template = "log_chain/crest-one-cn"},
    {.plant = "crest_ack_early", .method = PLANTS_TEMPLATE_CRASH, .template = "log_chain/crest-one-cn"},
    {.plant = "crest_watermark_gap", .method = PLANTS_TEMPLATE_CRASH, .template = "log_gap/crest-two-replicas"},
    {.plant = "insert_unlogged", .method = PLANTS_TEMPLATE_CRASH, .template = "insert_update_inside/crest-one-cn"},
    {.plant = "crest_bucket_shared", .method = PLANTS_FAULTY, .template = "inserts_beside/crest-one-cn"},
    /* new and deleted records */
    {.plant = "crest_deleted_read", .method = PLANTS_PREEMPT, .template = "delete_then_look/crest-words-threads"},
    {.plant = "crest_insert_found_early",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .cns = 1, .threads = 4, .coros = 4}},
    {.plant = "crest_insert_unannounced",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "reply_lost=0.02", .cns = 1, .mns = 2, .replicas = 1, .txns = 30}},
    {.plant = "crest_stop_unheard", .method = PLANTS_CLUSTER, .shape = {.crest = true}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
