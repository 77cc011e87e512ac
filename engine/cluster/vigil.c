/*
 * vigil.c - pulse and watcher.
 *
 * The race it is built around: a node that takes over a tag of a dead one compares it with that node's index, and the
 * index may be used again by a new process, whose tags look the same. So the watcher first registers this node as a
 * taker, then sees that the dead one is redone and not free; and takes the entry back only when no coordinator is in
 * the midst of taking. The recoverer does not free the index while an entry is there, or before the node that made it
 * has been fenced, too (INV-RECOVER-8).
 */
#include "vigil.h"

#include "cluster_plants.h"
#include "must.h"
#include "node.h"

#include <stdlib.h>

#include <string.h>

#define STACK_BYTES (256u << 10)
#define RENEWALS 4 /* in a lease */
#define LOOKS 8    /* at another one's, in a lease */
#define LOOK_MAX 4 /* one look counts for at most this part of a lease */
#define END_POLL_NS 20000

static struct gate *gate_of(const struct vigil *vigil) { return &vigil->by.node->gate; }

static const struct member *member_of(const struct vigil *vigil) { return &vigil->by.node->opening->member; }

/* ---- the own lease ---- */

/*
 * INV-VIGIL-1. The pulse shares its worker with client functions and procedures. One that keeps it for long is told
 * of; one that keeps it for a lease is why others declare this compute node dead, as they should: what it holds may
 * be in the others' way.
 */
static void late_tell(const struct vigil *vigil, uint64_t due_ns)
{
    uint64_t now_ns = fabric_now_ns(vigil->by.ep), late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
    if (late_ns < vigil->lease_ns / RENEWALS) return;
    node_log(vigil->by.node->opening, CELLAR_LOG_WARNING,
             "compute node %u: a client function or a procedure (or the machine) kept its first worker for %llu ms, in "
             "which it gave no sign of life; after "
             "%llu ms others declare it dead",
             vigil->by.node->cn, (unsigned long long)late_ns / 1000000, (unsigned long long)vigil->lease_ns / 1000000);
}

static void pulse_main(struct coro *co, void *arg)
{
    struct vigil *vigil = arg;
    const struct node_worker *by = &vigil->by;
    while (!vigil->stopping) {
        vigil->busy++;
        bool stopped = atomic_load(&gate_of(vigil)->failed) || atomic_load(&gate_of(vigil)->halted);
        /* A renewal whose reply is lost will do, or the next one: one that is missing raises no suspicion. */
        if (!stopped && !PLANT(lease_not_renewed)) (void)!member_renew(co, member_of(vigil), by->ep, vigil->lease_ns);
        vigil->busy--;
        uint64_t due_ns = fabric_now_ns(by->ep) + vigil->lease_ns / RENEWALS;
        if (!vigil->stopping) sched_sleep(co, by->sched, &vigil->pulse, vigil->lease_ns / RENEWALS);
        if (!vigil->stopping) late_tell(vigil, due_ns);
    }
    sched_park(co, &vigil->pulse);
}

/* ---- watched nodes ---- */

static void watch_on(struct vigil *vigil, uint32_t cn)
{
    struct vigil_watched *watch = &vigil->watches[cn];
    if (!watch->on) *watch = (struct vigil_watched){.on = true, .entered = watch->entered};
}

/* What coordinators have met since. */
static void met_take(struct vigil *vigil)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t met =
            atomic_load_explicit(&vigil->met[i], memory_order_relaxed) ? atomic_exchange(&vigil->met[i], 0) : 0;
        for (; met; met &= met - 1) watch_on(vigil, 64 * i + (uint32_t)__builtin_ctzll(met));
    }
}

static bool any_met(const struct vigil *vigil)
{
    bool any = false;
    for (uint32_t i = 0; i < 4; i++) any = any || atomic_load(&vigil->met[i]);
    return any;
}

/* Until a coordinator has met a tag of another node. */
static void watcher_rest(struct coro *co, struct vigil *vigil)
{
    bool awake = false;
    atomic_store(&vigil->awake, false);
    if (any_met(vigil) && atomic_compare_exchange_strong(&vigil->awake, &awake, true)) return;
    sched_park(co, &vigil->watcher); /* the one that sets `awake` wakes it */
}

/* ---- taking over ---- */

/* No coordinator begins to any more; true when none is in the midst of it, and this node's entry is gone. */
static bool entry_withdraw(struct coro *co, struct vigil *vigil, uint32_t cn)
{
    struct vigil_watched *watch = &vigil->watches[cn];
    struct members_state now;
    atomic_store(&vigil->takeover.open[cn], false);
    if (!watch->entered) return true;
    if (atomic_load(&vigil->takeover.takers) || members_take(co, vigil->by.ep, cn, false, &now)) return false;
    watch->entered = false;
    return true;
}

/* Before the first of its tags is taken, and after the last. Whatever fails is done at the next look. */
static void entry_adjust(struct coro *co, struct vigil *vigil, uint32_t cn, const struct members_state *state)
{
    struct vigil_watched *watch = &vigil->watches[cn];
    bool may = state->state == LAYOUT_MEMBER_REDONE || (PLANT(taken_unredone) && state->state == LAYOUT_MEMBER_FENCED);
    struct members_state now;
    if (!may) {
        if (watch->entered) (void)entry_withdraw(co, vigil, cn);
        return;
    }
    if (atomic_load(&vigil->takeover.open[cn]) || atomic_load(&gate_of(vigil)->halted)) return;
    watch->entered = true;
    if (members_take(co, vigil->by.ep, cn, true, &now) == 0 && members_word(&now) == members_word(state) &&
        !atomic_load(&gate_of(vigil)->halted))
        atomic_store(&vigil->takeover.open[cn], true);
}

/*
 * The watcher that registered this node as a taker looks again afterwards: `takers` may be at another place then, and
 * its entry gone.
 */
bool vigil_still(struct vigil *vigil)
{
    for (uint32_t cn = 0; cn < FABRIC_CNS_MAX; cn++) atomic_store(&vigil->takeover.open[cn], false);
    return vigil->busy == 0 && atomic_load(&vigil->takeover.takers) == 0;
}

/* ---- looking at others ---- */

/* Is this node itself still what it was when it opened the pool? A node that was declared dead declares no other. */
static bool self_lives(struct coro *co, struct vigil *vigil)
{
    struct members_state now;
    const struct node_worker *by = &vigil->by;
    int rc = member_look(co, member_of(vigil), by->ep, by->node->cn, &now);
    if (rc) return false;
    /* INV-MEMBER-3 */
    bool condemned = member_condemned(member_of(vigil), by->node->cn, by->node->cn, by->node->opening->incarnation);
    if (now.state == LAYOUT_MEMBER_LIVE && now.incarnation == by->node->opening->incarnation && !condemned) return true;
    gate_stop(gate_of(vigil), by->sched);
    return false;
}

static void recover_it(struct coro *co, struct vigil *vigil, uint32_t cn, const struct members_state *seen,
                       enum recover_how how)
{
    struct recover_report report = {.in_the_way = -1};
    struct cellar_error error = {0};
    if (!self_lives(co, vigil) || !entry_withdraw(co, vigil, cn)) return;
    int rc = node_recover(co, &vigil->by, &vigil->watcher, cn, seen->incarnation, how, &report, &error);
    if (rc == 0) vigil->watches[cn].on = false;
    if (rc == CELLAR_EXISTS && report.in_the_way >= 0) watch_on(vigil, (uint32_t)report.in_the_way);
}

/* Declared dead: is its recoverer at work? Else this node goes on with it. */
static bool claim_held(struct coro *co, struct vigil *vigil, const struct members_state *state)
{
    struct members_state holder;
    uint32_t cn = (uint32_t)state->recoverer;
    if (state->recoverer < 0 || cn == vigil->by.node->cn) return false;
    if (member_look(co, member_of(vigil), vigil->by.ep, cn, &holder)) return true;
    if (holder.state != LAYOUT_MEMBER_LIVE) return false;
    watch_on(vigil, cn);
    return true;
}

/* Counts how long it has been silent; true when that is too long. */
static bool silence(struct vigil_watched *watch, const struct members_sign *sign, uint64_t now_ns)
{
    bool first = watch->looked_ns == 0;
    bool changed = sign->lease != watch->lease || members_word(&sign->state) != watch->word;
    uint64_t gone_ns = first || changed ? 0 : now_ns - watch->looked_ns;
    if (gone_ns > sign->lease_ns / LOOK_MAX) gone_ns = sign->lease_ns / LOOK_MAX;
    watch->silent_ns = first || changed ? 0 : watch->silent_ns + gone_ns;
    watch->lease = sign->lease;
    watch->word = members_word(&sign->state);
    watch->looked_ns = now_ns ? now_ns : 1;
    if (changed && !first) watch->on = false; /* alive; a coordinator that meets it again says so */
    return sign->lease_ns && watch->silent_ns >= sign->lease_ns && !PLANT(lease_never_over);
}

/* Does another process have it? Of the own process none can be fenced alone, but in a simulated cluster. */
static bool fenceable(const struct vigil *vigil, uint32_t cn)
{
    const struct opening *opening = vigil->by.node->opening;
    return !opening->shared || cn - opening->cn_first >= opening->cn_count;
}

/* It was declared dead: this node takes over its tags when they may be, and its recovery when no other is at it. */
static void look_dead(struct coro *co, struct vigil *vigil, uint32_t cn, const struct members_state *state, bool silent)
{
    bool late = silent && members_opens(state, cn); /* its next life gives signs of life while it is at it */
    entry_adjust(co, vigil, cn, state);
    if (members_is_free(state)) {
        vigil->watches[cn].on = false;
        return;
    }
    vigil->watches[cn].on = true; /* until nothing of it is left */
    if (!claim_held(co, vigil, state)) recover_it(co, vigil, cn, state, late ? RECOVER_LATE : RECOVER_SUSPECTED);
}

static void silent_tell(const struct vigil *vigil, uint32_t cn, const struct members_sign *sign)
{
    node_log(vigil->by.node->opening, CELLAR_LOG_WARNING,
             "compute node %u gave no sign of life for its lease of %llu ms: compute node %u declares it dead", cn,
             (unsigned long long)sign->lease_ns / 1000000, vigil->by.node->cn);
}

static void sign_judge(struct coro *co, struct vigil *vigil, uint32_t cn)
{
    const struct node_worker *by = &vigil->by;
    struct vigil_watched *watch = &vigil->watches[cn];
    struct members_sign sign;
    bool answered = member_sign(co, member_of(vigil), by->ep, cn, &sign) == 0;
    uint64_t now_ns = fabric_now_ns(by->ep);
    if (!answered) {
        watch->looked_ns = now_ns; /* that time does not count */
        return;
    }
    bool silent =
        silence(watch, &sign, now_ns) || member_condemned(member_of(vigil), by->node->cn, cn, sign.state.incarnation);
    if (!fenceable(vigil, cn)) {
        watch->on = false;
        return;
    }
    if (sign.state.state != LAYOUT_MEMBER_LIVE) {
        look_dead(co, vigil, cn, &sign.state, silent);
        return;
    }
    entry_adjust(co, vigil, cn, &sign.state);
    if (silent) silent_tell(vigil, cn, &sign);
    if (silent)
        recover_it(co, vigil, cn, &sign.state, RECOVER_SUSPECTED);
    else if (by->node->opening->shared && watch->on &&
             !PLANT(lease_never_over)) /* memory nodes may know that its process is gone */
        recover_it(co, vigil, cn, &sign.state, RECOVER_IF_DEAD);
}

static void watcher_main(struct coro *co, void *arg)
{
    struct vigil *vigil = arg;
    const struct node_worker *by = &vigil->by;
    while (!vigil->stopping) {
        bool any = false;
        vigil->busy++;
        met_take(vigil);
        for (uint32_t cn = 0; cn < by->node->catalog->cn_count && !vigil->stopping; cn++)
            if (atomic_load(&gate_of(vigil)->halted))
                any = true; /* members' words may be at another place soon: it looks again then */
            else if (vigil->watches[cn].on || vigil->watches[cn].entered)
                sign_judge(co, vigil, cn);
        for (uint32_t cn = 0; cn < FABRIC_CNS_MAX; cn++)
            any = any || vigil->watches[cn].on || vigil->watches[cn].entered;
        vigil->busy--;
        if (vigil->stopping) break;
        if (any)
            sched_sleep(co, by->sched, &vigil->watcher, vigil->lease_ns / LOOKS);
        else
            watcher_rest(co, vigil);
    }
    sched_park(co, &vigil->watcher);
}

/* ---- from coordinators ---- */

/* The tags as the dead node left them; should they have been taken meanwhile, nothing happens. */
static void tags_take(struct coro *co, struct fabric_ep *ep, const struct vigil_met *met)
{
    for (uint32_t cells = met->cells; cells; cells &= cells - 1) {
        uint64_t ones = lockword_ones(met->tag_bits, cells & -cells), mask = lockword_mask(met->tag_bits, ones), old;
        struct fabric_wait wait = {.co = co};
        struct fabric_op op =
            fabric_op_masked_cas(met->addr, &old, lockword_tags(ones, (uint32_t)met->cn), mask, 0, mask);
        fabric_post(ep, &op, 1, &wait);
        if (fabric_await(co, &wait)) return;
    }
}

void vigil_watch(struct vigil *vigil, struct sched *by, uint32_t cn)
{
    uint64_t bit = 1ull << cn % 64;
    bool asleep = false;
    if (atomic_load_explicit(&vigil->met[cn / 64], memory_order_relaxed) & bit) return;
    atomic_fetch_or(&vigil->met[cn / 64], bit);
    if (!atomic_load(&vigil->awake) && atomic_compare_exchange_strong(&vigil->awake, &asleep, true))
        sched_wake(by, vigil->by.sched, &vigil->watcher);
}

void vigil_note(struct coro *co, struct vigil *vigil, struct sched *by, const struct vigil_met *met)
{
    uint32_t cn = (uint32_t)met->cn;
    atomic_fetch_add(&vigil->takeover.takers, 1);
    if (atomic_load(&vigil->takeover.open[cn])) tags_take(co, by->ep, met);
    atomic_fetch_sub(&vigil->takeover.takers, 1);
    vigil_watch(vigil, by, cn);
}

/* ---- from begin to end ---- */

struct vigil *vigil_new(const struct node_worker *by, uint64_t lease_ns)
{
    struct vigil *vigil = calloc(1, sizeof *vigil);
    if (!vigil) return NULL;
    vigil->by = *by;
    vigil->lease_ns = lease_ns;
    vigil->pulse.co = coro_new(STACK_BYTES, pulse_main, vigil);
    vigil->watcher.co = coro_new(STACK_BYTES, watcher_main, vigil);
    if (vigil->pulse.co && vigil->watcher.co) return vigil;
    vigil_free(vigil);
    return NULL;
}

void vigil_free(struct vigil *vigil)
{
    if (!vigil) return;
    if (vigil->pulse.co) coro_free(vigil->pulse.co);
    if (vigil->watcher.co) coro_free(vigil->watcher.co);
    free(vigil);
}

int vigil_begin(struct coro *co, struct vigil *vigil)
{
    struct sched *sched = vigil->by.sched;
    int rc = member_promise(co, member_of(vigil), vigil->by.ep, vigil->lease_ns);
    if (rc) return rc;
    atomic_store(&vigil->awake, true);
    sched_ready(sched, &vigil->pulse);
    sched_ready(sched, &vigil->watcher);
    return 0;
}

void vigil_end(struct coro *co, struct vigil *vigil, struct sched_task *task)
{
    vigil->stopping = true;
    while (vigil->busy) sched_sleep(co, vigil->by.sched, task, END_POLL_NS);
    for (uint32_t cn = 0; cn < FABRIC_CNS_MAX; cn++)
        if (vigil->watches[cn].entered) (void)entry_withdraw(co, vigil, cn);
}
