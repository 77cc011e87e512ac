/*
 * way.h - which way the attempts of a compute node go in mode `cellar` (docs/plain-way.md): the shared one, that of
 * mode `crest` with its queues, or the plain one (plain.h), that of mode `cell`.
 *
 *     sampled batch ─> wait ─> least of a window ─> below plain-ns: plain │ above shared-ns: shared │ else as it is
 *                                                        └─ other than now ─> the turner: gate, turn, gate
 *
 * Sharing saves round trips and costs memory that is touched. Which of them is dearer depends on how long a reply is
 * waited for, so that is measured, of the batches that attempts post anyway.
 *
 * The race it is built around: an attempt of one way beside one of the other in the same compute node. A plain one
 * would read a record whose newest version is still local; a shared one takes tags of its own node for its own node's
 * record cache, and reads below them.
 *
 * INV-WAY-1: all attempts that a compute node has under way go one way. It turns when none is under way and none has
 *            something to settle; its record cache is empty then.
 * INV-WAY-2: an attempt asks which way it goes after it has entered the gate, and goes that way to its end.
 */
#pragma once

#include "cellar.h"
#include "sched.h"
#include "txn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct node;

/* X(NAME, name, default, least, most, what it says) */
#define WAY_RULES(X)                                                                                                   \
    X(PLAIN, "plain-ns", 500, 0, 1000000000, "with shorter waits than this attempts go the plain way,")                \
    X(SHARED, "shared-ns", 1000, 0, 1000000000, "... and with longer ones than this the shared way again")             \
    X(SAMPLES, "samples", 16, 1, 1000000, "waits of a window, the least of which counts")                              \
    X(COROS, "coros", 1, 0, 256, "so many coordinators of a worker run calls at a time on the plain way; 0: all")      \
    X(EVERY, "every", 256, 1, 1000000, "one in so many attempts of a coordinator is sampled, once a window was full")

enum way_rule {
#define X(NAME, ...) WAY_RULE_##NAME,
    WAY_RULES(X)
#undef X
        WAY_RULE_COUNT
};

struct way_policy {
    uint64_t rules[WAY_RULE_COUNT];
};

/* "NAME=N,NAME=N": the rest is as usual; NULL: all is. INVALID: it names no rule, or a number that is not allowed. */
NODISCARD int way_policy_parse(const char *text, struct way_policy *out, struct cellar_error *error);

/* Of one compute node. */
struct way {
    atomic_bool plain;  /* which way attempts go that enter now; changes while none is under way */
    atomic_bool wanted; /* which way they are to go: plain? */
    struct way_policy policy;
    /* the window: attempts that are sampled only */
    _Alignas(64) atomic_uint samples;
    _Atomic uint64_t least_ns;
    _Atomic uint64_t wait_ns; /* of the last full window; 0: none was */
    _Atomic uint64_t turns;
    /* the turner, a coroutine of the first worker */
    struct sched_task task;
    struct sched *sched;
    struct node *node;
    atomic_bool called; /* it turns, or has been woken to look whether to */
    atomic_bool stopping;
};

/* What a coordinator remembers of it. */
struct way_txn {
    uint32_t sample_in; /* so many attempts from now on are not sampled */
    bool sampled;       /* the next batch of records is timed */
};

/* Of a node that is opened: its rules, and the turner's stack. */
NODISCARD int way_open(struct way *way, struct node *node, struct cellar_error *error);
/* On the first worker, before any attempt: the turner is one of its tasks. */
void way_start(struct way *way, struct sched *sched);
/* A worker wants to leave: true when the turner is at rest; from now on it begins nothing. */
bool way_rests(struct way *way);
void way_close(struct way *way);

/* ---- attempts: rows of mode.h ---- */

/* The attempt's way, for it and what its worker has of the mode. */
NODISCARD int way_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts);
/* A rule of fetch.h. */
uint32_t way_await(struct coro *co, struct txn *txn);
/* Of mode cellar (mode.h): on the plain way. */
bool way_reads_pool(const struct txn_home *home);
/* Adds what is to be said of this node. */
void way_say(const struct node *node, struct cellar_lab_way *way);
