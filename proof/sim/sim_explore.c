/* sim_explore.c - the search: the stack of choices of the last run is the prefix that the next run replays. */
#include "sim_explore.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MIN 1024
#define DEPTH_MAX 10000000 /* of a choice given as text */

struct choice {
    uint32_t taken, count;
};

struct sim_explore {
    struct choice *path; /* [0, fixed): to be replayed; [fixed, depth): found by this run */
    uint64_t fixed, depth, capacity;
    /* NULL: candidate 0 after the prefix; else at random, every `stride`-th choice or so is a preemption */
    struct prng *prng;
    uint64_t stride;
    uint32_t preemptions_left;
    bool diverged; /* the scenario did not follow the prefix: it depends on more than the choices */
};

static uint32_t take_at_random(struct sim_explore *explore, uint32_t count)
{
    if (!explore->prng || explore->preemptions_left == 0 || prng_below(explore->prng, explore->stride) != 0) return 0;
    explore->preemptions_left--;
    return 1 + (uint32_t)prng_below(explore->prng, count - 1);
}

static uint32_t sim_explore_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct sim_explore *explore = arg;
    (void)choices; /* it tries all of them, whatever they are */
    uint64_t at = explore->depth++;
    if (at == explore->capacity) {
        explore->capacity = explore->capacity ? explore->capacity * 2 : DEPTH_MIN;
        explore->path = realloc(explore->path, explore->capacity * sizeof *explore->path);
        must(explore->path);
    }
    struct choice *choice = &explore->path[at];
    if (at >= explore->fixed) {
        *choice = (struct choice){.taken = take_at_random(explore, count), .count = count};
    } else if (choice->count == 0) { /* replayed from text, which has no counts */
        choice->count = count;
        if (choice->taken >= count) explore->diverged = true;
    } else if (choice->count != count) {
        explore->diverged = true;
    }
    return choice->taken < count ? choice->taken : 0;
}

static void describe(const struct sim_explore *explore, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (uint64_t at = 0; at < explore->depth; at++) {
        if (explore->path[at].taken == 0) continue;
        int wrote = snprintf(text + used, bytes - used, "%s%llu:%u", used ? " " : "", (unsigned long long)at,
                             explore->path[at].taken);
        must(wrote > 0);
        must((size_t)wrote < bytes - used);
        used += (size_t)wrote;
    }
}

/* Runs one schedule; true when it is well. */
static bool run_one(struct sim_explore *explore, const struct sim_explore_config *config,
                    struct sim_explore_result *result)
{
    explore->depth = 0;
    const char *verdict = config->scenario(config->arg, sim_explore_choose, explore);
    result->schedules++;
    if (explore->depth > result->choices_max) result->choices_max = explore->depth;
    if (explore->diverged || explore->depth < explore->fixed)
        verdict = "the scenario does not follow its choices: it is not deterministic";
    if (!verdict) return true;
    result->failed = true;
    snprintf(result->verdict, sizeof result->verdict, "%s", verdict);
    describe(explore, result->failing, sizeof result->failing);
    return false;
}

/* The next schedule in depth-first order: the deepest choice that has another candidate within the bound takes it. */
static bool next_schedule(struct sim_explore *explore, uint32_t max_preemptions)
{
    uint64_t preemptions = 0;
    for (uint64_t at = 0; at < explore->depth; at++) preemptions += explore->path[at].taken != 0;
    for (uint64_t at = explore->depth; at-- > 0;) {
        struct choice *choice = &explore->path[at];
        preemptions -= choice->taken != 0;
        if (preemptions >= max_preemptions || choice->taken + 1 >= choice->count) continue;
        choice->taken++;
        explore->fixed = at + 1;
        return true;
    }
    return false;
}

static int check_config(const struct sim_explore_config *config, struct sim_explore_result *result)
{
    *result = (struct sim_explore_result){0};
    return config->scenario && config->max_preemptions <= SIM_EXPLORE_PREEMPTIONS_MAX ? 0 : CELLAR_INVALID;
}

int sim_explore_run(const struct sim_explore_config *config, struct sim_explore_result *result)
{
    struct sim_explore explore = {0};
    int code = check_config(config, result);
    if (code != 0) return code;
    bool well = true, more = true;
    while (well && more && result->schedules < config->max_schedules) {
        well = run_one(&explore, config, result);
        more = next_schedule(&explore, config->max_preemptions);
    }
    result->complete = well && !more;
    free(explore.path);
    return well ? 0 : CELLAR_CORRUPT;
}

int sim_explore_sample(const struct sim_explore_config *config, uint64_t seed, uint64_t schedules,
                       struct sim_explore_result *result)
{
    struct prng prng;
    struct sim_explore explore = {0};
    int code = check_config(config, result);
    if (code != 0 || config->max_preemptions == 0) return code ? code : CELLAR_INVALID;
    prng_seed(&prng, seed);
    bool well = run_one(&explore, config, result); /* how long is it? */
    explore.prng = &prng;
    while (well && result->schedules < schedules) {
        explore.stride = explore.depth / config->max_preemptions + 1;
        explore.preemptions_left = config->max_preemptions;
        well = run_one(&explore, config, result);
    }
    free(explore.path);
    return well ? 0 : CELLAR_CORRUPT;
}

/* Fills the path from text: "12:1 40:3". */
static bool parse(struct sim_explore *explore, const char *text)
{
    while (*text) {
        char *end;
        unsigned long long at = strtoull(text, &end, 10);
        if (end == text || *end != ':' || at < explore->fixed || at >= DEPTH_MAX) return false;
        text = end + 1;
        unsigned long taken = strtoul(text, &end, 10);
        if (end == text || taken == 0 || taken > UINT32_MAX || (*end != 0 && *end != ' ')) return false;
        text = end + strspn(end, " ");
        explore->capacity = at + 1;
        explore->path = realloc(explore->path, explore->capacity * sizeof *explore->path);
        must(explore->path);
        memset(explore->path + explore->fixed, 0, (explore->capacity - explore->fixed) * sizeof *explore->path);
        explore->path[at].taken = (uint32_t)taken;
        explore->fixed = at + 1;
    }
    return true;
}

int sim_explore_replay(const struct sim_explore_config *config, const char *choices, struct sim_explore_result *result)
{
    struct sim_explore explore = {0};
    int code = check_config(config, result);
    if (code == 0 && !parse(&explore, choices)) code = CELLAR_INVALID;
    if (code == 0 && !run_one(&explore, config, result)) code = CELLAR_CORRUPT;
    free(explore.path);
    return code;
}
