/* failover.c - the order of the steps, and which nodes must stand still before each. */
#include "cluster_plants.h"
#include "failover_internal.h"
#include "must.h"

#include <stdlib.h>

#define PAUSE_NS 5000 /* between two looks whether all stand still; doubles with each further one */
#define PAUSE_MAX_NS 200000
#define DEAD_EVERY 8 /* looks, between two questions whether a compute node is dead */
#define ACK_END_NS                                                                                                     \
    20000000000ull /* a node that cannot be declared dead, as it is of this process, is waited for so long */

static void pause_for(struct failover *failover, uint64_t ns)
{
    sched_sleep(failover->run.co, failover->home->recover.sched, failover->home->recover.task, ns);
}

static int told(struct failover *failover, int rc, const char *what)
{
    if (rc == 0 || failover->run.error->code) return rc;
    return err_set(failover->run.error, rc, "memory node %d: %s: %s", failover->now.away, what, cellar_strerror(rc));
}

/* ---- the word ---- */

/* To the next word; EXISTS when another one was quicker. INV-MEMBER-1: that a memory node is lost is decided first. */
static int move(struct failover *failover, struct configuration to)
{
    struct recover *run = &failover->run;
    const struct recover_home *home = &failover->home->recover;
    struct configuration seen;
    bool loses =
        configuration_changing(&to) && to.state == CONFIGURATION_LOST && !configuration_changing(&failover->now);
    int rc = loses ? member_lose(run->co, home->member, home, &failover->home->halt->called, &failover->now, &to, &seen,
                                 run->error)
                   : configuration_move(run->co, run->ep, run->catalog, &failover->now, &to, &seen);
    if (rc) return told(failover, rc, "moving the configuration");
    if (configuration_word(&seen) != configuration_word(&to))
        return err_set(failover->run.error, CELLAR_EXISTS, "compute node %d changes the configuration", seen.leader);
    failover->now = to;
    return 0;
}

/* ---- standing still ---- */

/* Lost replies and full inboxes do no harm: it is told again. The worker reads the word itself. */
static void call(struct failover *failover, uint32_t cn)
{
    struct fabric_op op = {.kind = FABRIC_SEND,
                           .addr = fabric_endpoint_addr(cn, 0),
                           .local = failover->run.memory->zeros,
                           .size_bytes = FABRIC_MESSAGE_BYTES};
    struct fabric_wait wait = {.co = failover->run.co};
    fabric_post(failover->run.ep, &op, 1, &wait);
    (void)fabric_await(failover->run.co, &wait);
}

/* INV-MEMBER-1: who does not stand still, or leads and does not get on, is fenced only when it was declared dead. */
static bool declared(struct failover *failover, uint32_t cn, uint64_t life)
{
    const struct recover_home *home = &failover->home->recover;
    struct members_state now;
    struct cellar_error unused;
    if (member_look(failover->run.co, home->member, home->ep, cn, &now)) return false;
    if (now.state != LAYOUT_MEMBER_LIVE || (life && now.incarnation != life)) return true;
    return member_declare(failover->run.co, home->member, home, cn, now.incarnation, &unused) == 0;
}

/*
 * Lives of it up to that one; 0: the one that has its index now. One that is dead needs no declaration, which may not
 * be possible: its word may have been on the memory node that is lost.
 */
static bool fenced(struct failover *failover, uint32_t cn, uint64_t life, bool only_dead)
{
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = cn, .life = life, .only_dead = true};
    struct fabric *fabric = failover->run.ep->fabric;
    if (fabric->ops->control(fabric, &control, NULL) == 0) return true;
    if (only_dead || !declared(failover, cn, life)) return false;
    control.only_dead = false;
    return fabric->ops->control(fabric, &control, NULL) == 0;
}

enum standing { STANDING_NOT, STANDING_STILL, STANDING_DEAD };

/*
 * By its word alone; STANDING_NOT: it is alive, or its next life is, which recovers it. INV-RECOVER-10: an earlier
 * life of an own index is dead.
 */
static int standing_of(const struct failover *failover, uint32_t cn, const struct members_state *state,
                       enum standing *standing)
{
    const struct recover_home *home = &failover->home->recover;
    bool own = cn == home->cn && state->state == LAYOUT_MEMBER_LIVE && state->incarnation == home->incarnation;
    *standing = STANDING_DEAD;
    if (members_is_free(state) || own || (cn == home->cn && PLANT(failover_own_unredone))) *standing = STANDING_STILL;
    if (*standing == STANDING_STILL || recover_is_earlier(home, cn, state)) return 0;
    if (cn == home->cn) return err_set(failover->run.error, CELLAR_FENCED, "compute node %u was declared dead", cn);
    if (state->state == LAYOUT_MEMBER_LIVE || members_opens(state, cn)) *standing = STANDING_NOT;
    return 0;
}

/* One look at one compute node. */
static int look_at(struct failover *failover, uint32_t cn, uint32_t looks, bool late, enum standing *standing)
{
    struct recover *run = &failover->run;
    struct members_state state;
    uint32_t epoch;
    bool stopped;
    int rc = recover_look(run, cn, &state);
    if (rc == 0) rc = standing_of(failover, cn, &state, standing);
    if (rc || *standing != STANDING_NOT) return rc;
    bool opens = state.state != LAYOUT_MEMBER_LIVE;
    rc = configuration_acked(run->co, run->ep, &failover->now, cn, &epoch, &stopped);
    if (rc) return told(failover, rc, "who stands still");
    if (epoch == failover->now.epoch) *standing = stopped || opens ? STANDING_DEAD : STANDING_STILL;
    if (*standing != STANDING_NOT) return 0;
    call(failover, cn);
    if (looks % DEAD_EVERY == DEAD_EVERY - 1 && fenced(failover, cn, opens ? 0 : state.incarnation, !late))
        *standing = STANDING_DEAD;
    return 0;
}

/* INV-FAILOVER-3. `dead`: the nodes that it concerns, a bit each. */
static int await_all(struct failover *failover, uint64_t *dead)
{
    struct recover *run = &failover->run;
    uint64_t begin_ns = fabric_now_ns(run->ep), pause_ns = PAUSE_NS;
    for (uint32_t cn = 0; cn < run->catalog->cn_count; cn++) {
        enum standing standing = STANDING_NOT;
        for (uint32_t looks = 0; standing == STANDING_NOT; looks++) {
            uint64_t waited_ns = fabric_now_ns(run->ep) - begin_ns;
            int rc = look_at(failover, cn, looks, waited_ns > run->ep->fabric->stall_max_ns, &standing);
            if (rc) return rc;
            if (standing != STANDING_NOT || PLANT(failover_unawaited)) break;
            if (waited_ns > ACK_END_NS)
                return err_set(run->error, CELLAR_DEADLINE, "compute node %u does not stand still", cn);
            pause_for(failover, pause_ns);
            if (pause_ns < PAUSE_MAX_NS) pause_ns *= 2;
        }
        if (standing == STANDING_DEAD) dead[cn / 64] |= 1ull << cn % 64;
    }
    return 0;
}

static int dead_recover(struct failover *failover, const uint64_t *dead, bool tags_lost)
{
    struct recover_home home = failover->home->recover;
    home.halted = true;
    home.tags_lost = tags_lost ? (uint32_t)failover->now.away + 1 : 0;
    for (uint32_t cn = 0; cn < failover->run.catalog->cn_count && !PLANT(failover_dead_unredone); cn++) {
        struct recover_report unused;
        struct members_state state;
        if (!(dead[cn / 64] >> cn % 64 & 1)) continue;
        int rc = recover_look(&failover->run, cn, &state);
        enum recover_how how = recover_is_earlier(&home, cn, &state) ? RECOVER_OWN : RECOVER_SUSPECTED;
        if (rc == 0) rc = recover_run(failover->run.co, &home, cn, how, &unused, failover->run.error);
        if (rc) return rc;
        failover->report->recovered++;
    }
    return 0;
}

/* This compute node itself; its leader is no attempt. */
static int stand_still(struct failover *failover)
{
    struct halt *halt = failover->home->halt;
    uint64_t pause_ns = PAUSE_NS;
    halt_begin(halt, &failover->now);
    while (!halt_still(halt, failover->home->recover.sched)) {
        /* INV-FAILOVER-9: attempts wait for this very failover, which cannot be. */
        bool vain = halt_another_lost(halt, failover->now.away) && !PLANT(agent_unanswered_waits);
        if (vain) atomic_store(&halt->unmended, true);
        pause_for(failover, pause_ns);
        if (pause_ns < PAUSE_MAX_NS) pause_ns *= 2;
    }
    if (!atomic_load(&halt->gate->failed)) return 0;
    return err_set(failover->run.error, CELLAR_FENCED, "compute node %u has stopped", failover->home->recover.cn);
}

/* ---- one change ---- */

/* While all stand still: what the state to come needs. */
static int prepare(struct failover *failover)
{
    struct configuration to = failover->now;
    uint64_t dead[LAYOUT_MEMBERS_MAX / 64] = {0};
    bool lost = to.state == CONFIGURATION_LOST && to.from == CONFIGURATION_STEADY;
    bool back = to.state == CONFIGURATION_STEADY;
    if (lost) halt_route(failover->home->halt, &to);
    int rc = lost ? failover_members_rebuild(failover) : 0;
    if (rc == 0) rc = await_all(failover, dead);
    if (rc == 0 && lost) rc = failover_chunks_rebuild(failover);
    if (rc == 0 && lost) rc = failover_clock_rebuild(failover);
    if (rc == 0 && (lost || back)) rc = dead_recover(failover, dead, lost);
    if (rc == 0 && back) rc = failover_pieces_copy(failover);
    if (rc == 0 && back) rc = failover_words_copy(failover);
    if (rc == 0 && back) halt_route(failover->home->halt, &to);
    if (rc == 0 && (lost || back)) rc = failover_locks_rebuild(failover);
    if (rc == 0) rc = failover_locks_clear(failover);
    return told(failover, rc, "preparing the next configuration");
}

static void call_all(struct failover *failover)
{
    for (uint32_t cn = 0; cn < failover->run.catalog->cn_count; cn++)
        if (cn != failover->home->recover.cn) call(failover, cn);
}

/*
 * The rest of an odd epoch, which is ours. A leader that cannot end it stands still until another one has taken over.
 */
static int change_end(struct failover *failover)
{
    uint64_t begin_ns = fabric_now_ns(failover->run.ep);
    int rc = stand_still(failover);
    if (rc == 0) rc = prepare(failover);
    struct configuration to = failover->now;
    to.epoch++;
    if (to.state == CONFIGURATION_STEADY) to.away = -1;
    if (to.state == CONFIGURATION_JOINING && !atomic_load(&failover->home->halt->rejoin)) to.leader = -1;
    if (rc == 0) rc = move(failover, to);
    if (rc) return rc;
    halt_end(failover->home->halt, &to);
    uint64_t took_ns = fabric_now_ns(failover->run.ep) - begin_ns;
    if (took_ns > failover->report->stop_ns) failover->report->stop_ns = took_ns;
    failover->report->failovers += to.state == CONFIGURATION_LOST;
    failover->report->refills += to.state == CONFIGURATION_STEADY;
    call_all(failover);
    return 0;
}

static int change(struct failover *failover, enum configuration_state state, uint32_t away)
{
    struct configuration to = {.epoch = failover->now.epoch + 1,
                               .from = failover->now.state,
                               .state = state,
                               .away = (int32_t)away,
                               .leader = (int32_t)failover->home->recover.cn};
    int rc = move(failover, to);
    return rc ? rc : change_end(failover);
}

/* ---- from outside ---- */

static int run_open(struct failover *failover, struct coro *co, const struct failover_home *home,
                    struct failover_report *report, struct cellar_error *error)
{
    *failover = (struct failover){.home = home, .now = home->halt->now, .report = report};
    *error = (struct cellar_error){0};
    failover->run = (struct recover){
        .co = co, .home = &home->recover, .ep = home->recover.ep, .catalog = home->recover.catalog, .error = error};
    return recover_open(&failover->run);
}

static void run_close(struct failover *failover)
{
    recover_close(&failover->run);
    free(failover->pieces);
}

/* What the configuration says now; EXISTS while it is being changed. */
static int now_renew(struct failover *failover, int32_t lost)
{
    int rc = configuration_look(failover->run.co, failover->run.ep, failover->run.catalog, lost, &failover->now);
    if (rc) return told(failover, rc, "looking at the configuration");
    if (!configuration_changing(&failover->now) && failover->now.epoch == failover->home->halt->now.epoch) return 0;
    return err_set(failover->run.error, CELLAR_EXISTS, "compute node %d changes the configuration",
                   failover->now.leader);
}

static int lose(struct failover *failover, uint32_t node)
{
    struct fabric_control control = {.kind = FABRIC_NODE_GONE, .cn = failover->home->recover.cn, .node = node};
    struct fabric *fabric = failover->run.ep->fabric;
    struct cellar_error *error = failover->run.error;
    int rc = now_renew(failover, (int32_t)node);
    const struct configuration *now = &failover->now;
    if (rc) return rc;
    if (failover->run.catalog->replicas == 0)
        return err_set(error, CELLAR_UNSUPPORTED, "memory node %u has no backups", node);
    if (now->state == CONFIGURATION_LOST && now->away == (int32_t)node) return 0;
    if (now->state != CONFIGURATION_STEADY && now->away != (int32_t)node)
        return err_set(error, CELLAR_UNSUPPORTED, "memory node %u, while memory node %d is away already", node,
                       now->away);
    rc = fabric->ops->control(fabric, &control, error);
    return rc ? rc : change(failover, CONFIGURATION_LOST, node);
}

/*
 * INV-FAILOVER-5: a node that copies a fresh node's bytes while another one compares them puts old ones back unseen.
 * So the one that led to JOINING fills it, and another one that is asked to does so only if that one is dead, or was
 * not asked. That one is called: it may have given up, or be a later life that knows of nothing (failover_yield).
 */
static int filler_pass(struct failover *failover)
{
    const struct configuration *now = &failover->now;
    int32_t own = (int32_t)failover->home->recover.cn;
    if (now->state != CONFIGURATION_JOINING || now->leader == own || PLANT(failover_fillers_two)) return 0;
    if (now->leader < 0 || fenced(failover, (uint32_t)now->leader, 0, true))
        return change(failover, CONFIGURATION_JOINING, (uint32_t)now->away);
    call(failover, (uint32_t)now->leader);
    return err_set(failover->run.error, CELLAR_EXISTS, "compute node %d fills memory node %d", now->leader, now->away);
}

static int refill(struct failover *failover, uint32_t node)
{
    struct fabric_control control = {.kind = FABRIC_NODE_REPLACE, .node = node};
    struct fabric *fabric = failover->run.ep->fabric;
    struct halt *halt = failover->home->halt;
    int rc = now_renew(failover, halt->now.state == CONFIGURATION_LOST ? halt->now.away : -1);
    if (rc) return rc;
    if (failover->now.state == CONFIGURATION_STEADY || failover->now.away != (int32_t)node)
        return err_set(failover->run.error, CELLAR_NOT_FOUND, "memory node %u is not away", node);
    control.blank = failover->now.state == CONFIGURATION_LOST; /* none has begun to fill it */
    rc = fabric->ops->control(fabric, &control, failover->run.error);
    if (rc == 0) rc = filler_pass(failover);
    if (rc == 0 && failover->now.state == CONFIGURATION_LOST) rc = change(failover, CONFIGURATION_JOINING, node);
    if (rc == 0) rc = told(failover, failover_copy(failover), "filling it");
    if (rc == 0 && !PLANT(failover_copy_undrained)) rc = change(failover, CONFIGURATION_JOINING, node);
    if (rc == 0) rc = told(failover, failover_compare(failover), "comparing it");
    return rc ? rc : change(failover, CONFIGURATION_STEADY, node);
}

/* To the next even epoch: nothing changes but the name, so none needs to stand still. */
static int yield(struct failover *failover)
{
    int rc = now_renew(failover, -1);
    struct configuration to = failover->now;
    if (rc || to.state != CONFIGURATION_JOINING || to.leader != (int32_t)failover->home->recover.cn) return rc;
    to.epoch += 2;
    to.leader = -1;
    rc = move(failover, to);
    if (rc) return rc;
    halt_end(failover->home->halt, &to);
    call_all(failover);
    return 0;
}

static int take_over(struct failover *failover, const struct configuration *now, bool late)
{
    struct configuration to = *now;
    failover->now = *now;
    bool own = now->leader < 0 || now->leader == (int32_t)failover->home->recover.cn;
    if (!own && !fenced(failover, (uint32_t)now->leader, 0, !late)) {
        call(failover, (uint32_t)now->leader); /* it may be a later life, which opens the pool */
        return err_set(failover->run.error, CELLAR_EXISTS, "compute node %d is there", now->leader);
    }
    to.epoch += 2;
    to.leader = (int32_t)failover->home->recover.cn;
    /* Which pieces differed went with the leader: the fresh node is to be compared again. */
    if (to.state == CONFIGURATION_STEADY) to.state = CONFIGURATION_JOINING;
    int rc = move(failover, to);
    return rc ? rc : change_end(failover);
}

int failover_lose(struct coro *co, const struct failover_home *home, uint32_t node, struct failover_report *report,
                  struct cellar_error *error)
{
    struct failover failover;
    int rc = run_open(&failover, co, home, report, error);
    if (rc == 0) rc = lose(&failover, node);
    run_close(&failover);
    return rc;
}

int failover_refill(struct coro *co, const struct failover_home *home, uint32_t node, struct failover_report *report,
                    struct cellar_error *error)
{
    struct failover failover;
    int rc = run_open(&failover, co, home, report, error);
    if (rc == 0) rc = refill(&failover, node);
    run_close(&failover);
    return rc;
}

int failover_yield(struct coro *co, const struct failover_home *home, struct cellar_error *error)
{
    struct failover failover;
    int rc = run_open(&failover, co, home, NULL, error);
    if (rc == 0) rc = yield(&failover);
    run_close(&failover);
    return rc;
}

int failover_take_over(struct coro *co, const struct failover_home *home, const struct configuration *now, bool late,
                       struct failover_report *report, struct cellar_error *error)
{
    struct failover failover;
    int rc = run_open(&failover, co, home, report, error);
    if (rc == 0) rc = take_over(&failover, now, late);
    run_close(&failover);
    return rc;
}
