/*
 * hot_policy.h - the rules by which mode `cellar` finds records hot, lets them cool down, and takes turns at them
 * (docs/hot-records.md, "Rules").
 *
 * INV-HOT-1 is what makes them free: no rule, and no difference between the rules of two compute nodes, can make a
 * result wrong. Only HOT_RULE_LOCKS and HOT_RULE_NODES are to be the same on all of them, or they queue at different
 * locks for one record and meet each other's tags.
 */
#pragma once

#include "cellar.h"
#include "err.h"

#include <stdint.h>

/* X(NAME, name, default, least, most, what it says) */
#define HOT_RULES(X)                                                                                                   \
    X(LOSSES, "losses", 8, 1, 1000000, "losses of a record make it hot,")                                              \
    X(WINDOW, "window-ns", 1000000, 1, 1000000000, "... if they come within so long")                                  \
    X(TRIES, "tries", 8, 1, 1000000, "a loss counts if it is at least the so manieth attempt of its call")             \
    X(WORK, "work", 4, 1, 1000000, "a loss, and an attempt, counts once for each so many records it had, or part")     \
    X(COOL_HITS, "cool-hits", 0, 0, 1000000,                                                                           \
      "a hot record that is entered less often in a window cools down; 0: none")                                       \
    X(COOL_TURNS, "cool-turns", 8, 1, 255,                                                                             \
      "turns in a row that met no other node, and all records of a lock cool down")                                    \
    X(HOLD, "hold-ns", 25000, 1, 1000000000, "a lock that others wait for is closed when it was open for so long,")    \
    X(HOLDS, "holds", 16, 1, 1000, "... or for so many times as long, while")                                          \
    X(BUSY, "busy", 16, 1, 1000000, "... so many were inside at some time of the last one")                            \
    X(INSIDE, "inside", 0, 0, 100, "... and so many of a hundred coordinators of the node still are at its end")       \
    X(BATCH, "batch", 0, 0, 1000000, "so many enter in a turn when others wait, at most; 0: no bound")                 \
    X(WAIT, "wait-ns", 500000, 1, 1000000000, "for each compute node: a wait in a first block, at most")               \
    X(WAIT_LATER, "wait-later-ns", 100000, 1, 1000000000, "... and in later ones")                                     \
    X(STUCK, "stuck-ns", 1300000, 1, 1000000000, "likewise: a lock that is not granted for so long is left alone")     \
    X(LOCKS, "locks", 1, 1, 1024, "on each memory node that has some")                                                 \
    X(NODES, "lock-nodes", 2, 1, 64, "memory nodes that have some, at most; the rest's records use theirs")            \
    X(BEHIND, "behind", 0, 0, 1, "1: the first attempt of a call does not queue, the next ones do")                    \
    X(PHASE_FAIR, "phase-fair", 0, 0, 1, "0: turns in order of arrival; 1: of readers and writers")

enum hot_rule {
#define X(NAME, ...) HOT_RULE_##NAME,
    HOT_RULES(X)
#undef X
        HOT_RULE_COUNT
};

struct hot_policy {
    uint64_t rules[HOT_RULE_COUNT];
};

/* "NAME=N,NAME=N": the rest is as usual; NULL: all is. INVALID: it names no rule, or a number that is not allowed. */
NODISCARD int hot_policy_parse(const char *text, struct hot_policy *out, struct cellar_error *error);
