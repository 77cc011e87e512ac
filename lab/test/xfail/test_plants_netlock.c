/*
 * test_plants_netlock.c - bugs in NetLock's lock server, moves and clients (plants.h, lock_run.h). Those in its
 * switch's data plane and in how memory is dealt are met by test_netlock_switch and test_netlock_memory, beside a
 * plain model.
 */
#include "plants.h"

#define LOCK(name) .method = PLANTS_LOCKS, .lock = #name

static const struct plants_search searches[] = {
    {.plant = "netlock_installed_at_once", LOCK(netlock)}, {.plant = "netlock_takes_back_at_once", LOCK(netlock)},
    {.plant = "netlock_push_lost", LOCK(netlock)},         {.plant = "netlock_lease_from_grant", LOCK(netlock)},
    {.plant = "netlock_unwanted_kept", LOCK(netlock)},     {.plant = "netlock_release_unmatched", LOCK(netlock)},
    {.plant = "netlock_moved_undrained", LOCK(netlock)},   {.plant = "netlock_overtakes_overflow", LOCK(netlock)},
    {.plant = "netlock_told_uncounted", LOCK(netlock)},    {.plant = "netlock_overrun_unsaid", LOCK(netlock)},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
