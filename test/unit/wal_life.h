/*
 * wal_life.h - what a log is believed to have: a model of groups beside the log. A life appends random groups, syncs,
 * frees, closes and opens again, on the simulated disk; what was acknowledged must be read back, and nothing else but
 * the one group that was under way.
 */
#pragma once

#include "disk_sim.h"
#include "plant.h"
#include "prng.h"
#include "wal.h"
#include "wal_format.h"

#include <stdlib.h>
#include <string.h>

#define LIFE_GROUPS 256
#define LIFE_GROUP_BYTES 12000
#define LIFE_GROUP_MOST 40000 /* of one that is alone, where seeds are even; longer than a file */
#define LIFE_FILE_BYTES (6u * WAL_BLOCK)

struct life {
    struct disk_sim *sim;
    struct wal_config config;
    struct prng prng;
    uint64_t seeds[LIFE_GROUPS]; /* what each group's bytes are made of; 0: it has none */
    uint32_t sizes[LIFE_GROUPS];
    uint64_t acked; /* the last group that was acknowledged, or shown at an opening */
    uint64_t under_way;
    uint64_t expected; /* the next group that a reading shows */
    struct wal *wal;
    const char *wrong; /* the first thing that was not as promised */
    struct cellar_error error;
};

static inline void life_fails(struct life *life, const char *why)
{
    if (!life->wrong) life->wrong = why;
}

static inline struct wal_config life_config(struct disk *disk)
{
    return (struct wal_config){.disk = disk,
                               .directory = {0x1122334455667788, 99},
                               .fingerprint = 0xfeed,
                               .node = 3,
                               .group_bytes = LIFE_GROUP_BYTES,
                               .file_bytes = LIFE_FILE_BYTES,
                               .files_max = 40,
                               .from = 1};
}

static inline void life_begin(struct life *life, uint64_t seed, uint64_t capacity)
{
    *life = (struct life){.sim = disk_sim_open(seed, capacity)};
    if (!life->sim) abort();
    life->config = life_config(disk_sim_disk(life->sim));
    life->config.files_kept = seed % 3 * 3;
    life->config.group_most = seed % 2 ? 0 : LIFE_GROUP_MOST;
    prng_seed_stream(&life->prng, seed, 7);
}

static inline void life_end(struct life *life)
{
    (void)!wal_close(life->wal, NULL);
    disk_sim_close(life->sim);
}

/* Ends it; what was wrong, or NULL. */
static inline const char *life_verdict(struct life *life)
{
    const char *wrong = life->wrong;
    life_end(life);
    return wrong;
}

static inline void life_bytes(uint64_t seed, uint8_t *bytes, uint32_t count)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, 8);
    for (uint32_t i = 0; i < count; i++) bytes[i] = (uint8_t)prng_next(&prng);
}

static inline int life_visit(void *arg, uint64_t group, const uint8_t *bytes, uint64_t count)
{
    struct life *life = arg;
    static uint8_t wanted[LIFE_GROUP_MOST];
    if (life->expected && group != life->expected) life_fails(life, "groups are not shown one after the other");
    life->expected = group + 1;
    if (group >= LIFE_GROUPS || (group > life->acked && group != life->under_way))
        return life_fails(life, "a group that was never written"), 0;
    if (count != life->sizes[group]) return life_fails(life, "a group of another length"), 0;
    life_bytes(life->seeds[group], wanted, life->sizes[group]);
    if (count && memcmp(wanted, bytes, count)) life_fails(life, "a group of other bytes");
    return 0;
}

/* What was read must have all that was acknowledged. */
static inline void life_judge(struct life *life, int rc, const struct wal_found *found)
{
    if (rc == CELLAR_CORRUPT) life_fails(life, "a log that lost power is refused as damaged");
    if (rc) return;
    if (found->first > life->config.from) life_fails(life, "groups that are needed were freed");
    if (found->last < life->acked) life_fails(life, "a group that was acknowledged is lost");
}

static inline int life_open(struct life *life)
{
    struct wal_found found = {0};
    life->expected = 0;
    int rc = wal_open(&life->config, life_visit, life, &life->wal, &found, &life->error);
    life_judge(life, rc, &found);
    if (rc) return rc;
    life->acked = found.last; /* it was shown: a recovery may go on from there */
    return 0;
}

/* One group of so many random bytes is appended in pieces, and synced. */
static inline int life_group_of(struct life *life, uint32_t count)
{
    static uint8_t bytes[LIFE_GROUP_MOST];
    uint64_t group = life->acked + 1, told = 0;
    life->seeds[group] = prng_next(&life->prng);
    life->sizes[group] = count;
    life->under_way = group;
    life_bytes(life->seeds[group], bytes, count);
    for (uint32_t at = 0; at < count;) {
        uint32_t part = 1 + (uint32_t)prng_below(&life->prng, count - at);
        if (!wal_append(life->wal, bytes + at, part)) life_fails(life, "no room for what fits");
        at += part;
    }
    int rc = wal_sync(life->wal, &told, &life->error);
    if (!rc && told != group) life_fails(life, "a sync that acknowledges another group");
    if (!rc) life->acked = group;
    return rc;
}

static inline int life_group(struct life *life)
{
    static const uint32_t most[] = {200, 200, LIFE_GROUP_BYTES, LIFE_GROUP_MOST};
    uint32_t of = most[prng_below(&life->prng, life->config.group_most ? 4 : 3)];
    return life_group_of(life, 1 + (uint32_t)prng_below(&life->prng, of));
}

/* Closing adds a group without bytes. */
static inline int life_close(struct life *life)
{
    life->under_way = life->acked + 1;
    life->sizes[life->under_way] = 0;
    int rc = wal_close(life->wal, &life->error);
    life->wal = NULL;
    if (!rc) life->acked++;
    return rc;
}

/* Some groups, a checkpoint's freeing, and perhaps a clean close. Not 0: the disk has failed. */
static inline int life_live(struct life *life)
{
    int rc = life_open(life);
    for (uint64_t i = 1 + prng_below(&life->prng, 5); i && !rc; i--) rc = life_group(life);
    if (!rc && life->acked > 3 && prng_below(&life->prng, 2)) {
        uint64_t from = life->acked - prng_below(&life->prng, 3);
        if (from > life->config.from) life->config.from = from;
        rc = wal_free(life->wal, life->config.from, &life->error);
        /* What was freed may be used again. */
        for (uint64_t i = prng_below(&life->prng, 9); i && !rc && life->acked < LIFE_GROUPS - 4; i--)
            rc = life_group(life);
    }
    if (!rc && prng_below(&life->prng, 2)) rc = life_close(life);
    return rc;
}

/* The process is gone without a word to its disk. */
static inline void life_abandon(struct life *life)
{
    disk_sim_process_ends(life->sim);
    /* Memory of the log is given back as a close does, on a disk that refuses all. */
    disk_sim_off(life->sim, true);
    (void)!wal_close(life->wal, NULL);
    disk_sim_off(life->sim, false);
    life->wal = NULL;
}

/* A life whose power may be lost, and a sync of which may fail, at its opening or later; or its process just ends. */
static inline void life_chance(struct life *life)
{
    uint64_t begun = disk_sim_operations(life->sim);
    struct disk_sim_faults faults = {.sync_drops = prng_below(&life->prng, 2)};
    faults.garbled = (double)prng_below(&life->prng, 100) / 100;
    if (prng_below(&life->prng, 2)) faults.power_lost_at = begun + 1 + prng_below(&life->prng, 30);
    if (prng_below(&life->prng, 2)) faults.sync_fails_at = begun + 1 + prng_below(&life->prng, 30);
    disk_sim_set(life->sim, faults);
    (void)!life_live(life);
    life_abandon(life);
    if (disk_sim_power_is_lost(life->sim) || prng_below(&life->prng, 2)) disk_sim_power_cycle(life->sim);
    disk_sim_set(life->sim, (struct disk_sim_faults){.garbled = 0});
}

#ifdef CELLAR_PLANTS
/* Some of the seeds 1 .. last sees that bug. */
static inline bool life_plant_seen(const char *plant, const char *(*scenario)(uint64_t seed), uint64_t last)
{
    const char *wrong = NULL;
    if (!plant_choose(plant)) return false;
    for (uint64_t seed = 1; seed <= last && !wrong; seed++) wrong = scenario(seed);
    return plant_choose(NULL) && wrong;
}
#endif
