/*
 * sim_decider.h - the register that decides in a simulated cluster (docs/membership.md): its questions are on their way
 * for a while, get lost, or meet it while it is away; and it notes what no register may accept.
 *
 *     begin ─ delay ─> [the register: compare, swap] ─ delay ─> end       lost, or away: UNREACHABLE, some time later
 */
#pragma once

#include "cellar_cluster.h"
#include "fabric_sim.h"
#include "prng.h"

struct sim_decider_question {
    struct cellar_ruling to, answer;
    uint64_t from, arrives_ns, answered_ns; /* virtual; arrives_ns UINT64_MAX: it has, or never does */
    bool asked, reads, lost, unheard;       /* lost: it never arrives; unheard: its answer does not */
};

struct sim_decider {
    struct cellar_decider decider; /* first */
    const struct fabric *fabric;
    struct prng prng;
    bool prompt; /* nothing gets lost, and it is never away */
    uint64_t away_ns;
    struct cellar_ruling now;
    struct sim_decider_question questions[FABRIC_CNS_MAX];
    const char *wrong; /* what it had to accept, though no ruling follows so; NULL: nothing */
    uint32_t decided;
};

void sim_decider_open(struct sim_decider *decider, const struct fabric *fabric, uint64_t seed, bool prompt);
