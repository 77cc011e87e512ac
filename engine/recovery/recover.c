/* recover.c - the claim, and the order of the steps. */
#include "recover.h"

#include "lazy.h"
#include "must.h"
#include "recover_internal.h"
#include "recovery_plants.h"
#include "takeover.h"

#include <stdlib.h>

#define TAKER_WAIT_NS 200000ull /* between two looks whether one is still down as a taker, */
#define TAKER_WAITS_MAX 20000   /* so often: longer than any lease's eighth */
#define TAKER_ASK_EVERY 64      /* and so often the fabric is asked whether it is gone */

/* ---- the claim ---- */

int recover_look(struct recover *run, uint32_t cn, struct members_state *now)
{
    uint32_t tries = 0, refusals = 0;
    int rc;
    do rc = member_look(run->co, run->home->member, run->ep, cn, now);
    while (rc && recover_patience(run, rc, &tries, &refusals));
    if (rc) err_set(run->error, rc, "the state of compute node %u: %s", cn, cellar_strerror(rc));
    return rc;
}

/* The dead node's word, from *from on; *now is what it says then. */
static int move(struct recover *run, const struct members_state *from, const struct members_state *to,
                struct members_state *now)
{
    uint32_t tries = 0, refusals = 0;
    int rc;
    do rc = member_move(run->co, run->home->member, run->ep, run->dead, from, to, now);
    while (rc && recover_patience(run, rc, &tries, &refusals));
    if (rc)
        err_set(run->error, rc, "moving compute node %u to state %s: %s", run->dead, members_state_name(to->state),
                cellar_strerror(rc));
    return rc;
}

/* Lives of it up to that one; 0: the one that has its index now. */
static int fence(struct recover *run, uint32_t cn, uint64_t life, bool only_dead)
{
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = cn, .life = life, .only_dead = only_dead};
    return run->ep->fabric->ops->control(run->ep->fabric, &control, run->error);
}

/* Does the fabric know that life of it to be over? */
static bool is_gone(struct recover *run, uint32_t cn, uint64_t life)
{
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = cn, .life = life, .only_dead = true};
    return run->ep->fabric->ops->control(run->ep->fabric, &control, NULL) == 0;
}

/*
 * INV-RECOVER-6. The holder of the claim now is out of the way: 0; or alive: EXISTS. The holder of the claim of its
 * own index is its next life, which opens the pool: it is alive as long as the fabric knows it, and it was not silent
 * for too long.
 */
static int holder_pass(struct recover *run, const struct members_state *now)
{
    struct members_state holder = *now;
    uint32_t cn = (uint32_t)now->recoverer;
    if (now->recoverer < 0 || cn == run->home->cn) return 0;
    int rc = cn == run->dead ? 0 : recover_look(run, cn, &holder);
    if (rc || members_is_free(&holder) || recover_is_earlier(run->home, cn, &holder)) return rc;
    bool live = holder.state == LAYOUT_MEMBER_LIVE, opens = members_opens(&holder, cn);
    bool silent = run->home->late && cn == run->dead;
    run->report->in_the_way = now->recoverer;
    if ((live || opens) && run->home->halted) return 0;
    if (PLANT(recover_claim_shared)) return 0;
    if (live && PLANT(recover_claim_dead_kept)) rc = CELLAR_EXISTS;
    if (rc == 0) rc = fence(run, cn, opens ? 0 : holder.incarnation, live || (opens && !silent));
    if (rc != CELLAR_EXISTS && rc != CELLAR_UNSUPPORTED) return rc;
    return err_set(run->error, CELLAR_EXISTS, "compute node %u is being recovered by compute node %u%s", run->dead, cn,
                   opens ? ", which opens the pool" : "");
}

/* INV-RECOVER-6. Positive: nothing is left to be done. */
static int claim(struct recover *run, enum recover_how how)
{
    for (;;) {
        struct members_state from, now;
        int rc = recover_look(run, run->dead, &from);
        if (rc) return rc;
        if (from.state == LAYOUT_MEMBER_FREE) return 1;
        if (from.state == LAYOUT_MEMBER_NEVER)
            return err_set(run->error, CELLAR_NOT_FOUND, "compute node %u never was a member", run->dead);
        if (run->home->life && from.incarnation != run->home->life)
            return err_set(run->error, CELLAR_EXISTS, "compute node %u is alive again", run->dead);
        rc = how == RECOVER_IF_DEAD ? fence(run, run->dead, from.incarnation, true) : 0;
        if (rc == 0) rc = holder_pass(run, &from);
        if (rc) return rc;
        if (from.state == LAYOUT_MEMBER_LIVE)
            rc = member_declare(run->co, run->home->member, run->home, run->dead, from.incarnation, run->error);
        if (rc) return rc;
        if (from.claim_epoch == LAYOUT_MEMBER_EPOCH_MAX)
            return err_set(run->error, CELLAR_FULL, "compute node %u was claimed too often", run->dead);
        struct members_state to = {.state = from.state == LAYOUT_MEMBER_LIVE ? LAYOUT_MEMBER_FENCED : from.state,
                                   .incarnation = from.incarnation,
                                   .claim_epoch = from.claim_epoch + 1,
                                   .recoverer = (int32_t)run->name};
        rc = move(run, &from, &to, &now);
        if (rc) return rc;
        if (members_word(&now) != members_word(&to)) continue;
        run->claim = to;
        run->claimed = true;
        return 0;
    }
}

/*
 * A recoverer that failed is not at it any more, and another one may be. Not when an operation may still be under
 * way: where a memory node does not answer, or the configuration changes; then the same one tries again.
 */
static void claim_give_back(struct recover *run, int rc)
{
    struct members_state to = run->claim, now;
    if (!run->claimed || rc == 0 || rc == CELLAR_FENCED || rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE ||
        recover_is_called(run->home))
        return;
    to.claim_epoch++;
    to.recoverer = -1;
    if (to.claim_epoch < LAYOUT_MEMBER_EPOCH_MAX)
        (void)!member_move(run->co, run->home->member, run->ep, run->dead, &run->claim, &to, &now);
}

/* To the next state, unless the claim was taken from us. */
static int advance(struct recover *run, enum layout_member_state state)
{
    struct members_state to = run->claim, now;
    to.state = state;
    int rc = move(run, &run->claim, &to, &now);
    if (rc) return rc;
    if (members_word(&now) != members_word(&to))
        return err_set(run->error, CELLAR_FENCED, "compute node %d took over the recovery of compute node %u",
                       now.recoverer, run->dead);
    run->claim = to;
    return 0;
}

/* ---- the steps ---- */

/* Waiters for the catalog's lock need not wait for the dead. */
static int catalog_unlock(struct recover *run)
{
    uint64_t old;
    struct fabric_op op =
        fabric_op_cas(fabric_addr_of(0, offsetof(struct superblock_wire, catalog_lock)), &old, run->dead + 1, 0);
    return recover_batch(run, &op, 1);
}

static int redo_all(struct recover *run)
{
    int rc = recover_read(run);
    if (rc == 0 && PLANT(recover_tags_first)) rc = recover_scrub(run);
    if (rc == 0) rc = recover_redo(run);
    if (rc == 0) rc = recover_erase(run);
    if (rc == 0) rc = catalog_unlock(run);
    return rc ? rc : advance(run, LAYOUT_MEMBER_REDONE);
}

/* One that is in the way of this run: dead, too. INV-RECOVER-10: it may be an earlier life of an own index. */
static int recover_other(struct recover *run, uint32_t cn, const struct members_state *now,
                         struct recover_report *report)
{
    bool own = recover_is_earlier(run->home, cn, now) && !PLANT(recover_own_refused);
    struct recover_home home = *run->home;
    home.life = 0;
    home.late = false;
    home.name = run->name + 1;
    home.outer = run;
    if (cn == home.cn && !own && !PLANT(recover_own_refused))
        return err_set(run->error, CELLAR_FENCED, "compute node %u was declared dead", cn);
    return recover_run(run->co, &home, cn, own ? RECOVER_OWN : RECOVER_SUSPECTED, report, run->error);
}

/* An earlier life of an own index has the name that this one's claims are made in. */
static bool is_at_it(const struct recover *run, uint32_t cn)
{
    while (run && run->dead != cn) run = run->home->outer;
    return run != NULL;
}

/* What the dead node was recovering is recovered too, before its index can be taken for alive. */
static int claims_adopt(struct recover *run)
{
    for (uint32_t cn = 0; cn < run->catalog->cn_count; cn++) {
        struct members_state now;
        struct recover_report unused;
        int rc = is_at_it(run, cn) ? 0 : recover_look(run, cn, &now);
        if (rc) return rc;
        if (is_at_it(run, cn) || now.recoverer != (int32_t)run->dead || members_is_free(&now)) continue;
        rc = recover_other(run, cn, &now, &unused);
        if (rc) return rc;
        run->report->claims++;
    }
    return 0;
}

/* It was fenced, or stands still: whatever it had announced to take over, it does not any more. */
static int taker_gone(struct recover *run, uint32_t cn)
{
    uint32_t tries = 0, refusals = 0;
    int rc;
    do rc = members_taker_gone(run->co, run->ep, run->catalog, cn);
    while (rc && recover_patience(run, rc, &tries, &refusals));
    return rc ? err_set(run->error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

/*
 * One that is registered as a taker is waited for, if it is alive; else it is recovered, too. While all stand still
 * it cannot take its entry back, and need not: it takes over nothing, and puts itself down again before it goes on to
 * do so (vigil_still).
 */
static int taker_pass(struct recover *run, uint32_t taker, bool ask)
{
    struct members_state now;
    struct recover_report unused;
    bool halted = run->home->halted && !PLANT(failover_taker_awaited);
    int rc = recover_look(run, taker, &now);
    if (rc) return rc;
    bool live = now.state == LAYOUT_MEMBER_LIVE && !recover_is_earlier(run->home, taker, &now);
    if (members_is_free(&now) || (halted && live) || is_at_it(run, taker)) return taker_gone(run, taker);
    if (live && (!ask || !is_gone(run, taker, now.incarnation))) return 0;
    return recover_other(run, taker, &now, &unused);
}

/* INV-RECOVER-8. */
static int takers_wait(struct recover *run)
{
    uint32_t tries = 0, refusals = 0;
    int32_t taker = -1;
    for (uint32_t waits = 0; waits < TAKER_WAITS_MAX; waits++) {
        int rc = recover_give_way(run);
        if (rc) return rc;
        rc = members_taker(run->co, run->ep, run->dead, &taker);
        if (rc && recover_patience(run, rc, &tries, &refusals)) continue;
        if (rc) return err_set(run->error, rc, "memory node 0: %s", cellar_strerror(rc));
        if (taker < 0) return 0;
        rc = taker_pass(run, (uint32_t)taker, waits % TAKER_ASK_EVERY == TAKER_ASK_EVERY - 1);
        if (rc) return rc;
        if (run->home->watching) break;
        recover_pause(run, TAKER_WAIT_NS);
    }
    if (taker < 0) return 0;
    run->report->in_the_way = taker;
    return err_set(run->error, CELLAR_EXISTS, "compute node %d may still be taking over tags of compute node %u", taker,
                   run->dead);
}

static int scrub(struct recover *run)
{
    if (run->home->takeover) takeover_open(run->home->takeover, run->dead);
    int rc = recover_scrub(run);
    return rc ? rc : advance(run, LAYOUT_MEMBER_SCRUBBED);
}

static int steps(struct recover *run, enum recover_how how)
{
    int rc = claim(run, how);
    if (rc) return rc > 0 ? 0 : rc;
    bool fences = how != RECOVER_OWN && !PLANT(recover_unfenced), late = PLANT(decision_fence_late);
    if (fences && !late) rc = fence(run, run->dead, run->claim.incarnation, false);
    if (rc == 0) rc = taker_gone(run, run->dead);
    if (rc == 0 && run->claim.state == LAYOUT_MEMBER_FENCED) rc = redo_all(run);
    if (rc == 0 && fences && late) rc = fence(run, run->dead, run->claim.incarnation, false);
    if (rc == 0 && run->claim.state == LAYOUT_MEMBER_REDONE) rc = scrub(run);
    if (run->home->takeover) takeover_close(run->co, run->home->takeover, run->dead, run->home->sched, run->home->task);
    if (rc == 0) rc = claims_adopt(run);
    if (rc == 0) rc = takers_wait(run);
    if (rc == 0) rc = advance(run, LAYOUT_MEMBER_FREE);
    run->report->done = rc == 0;
    return rc;
}

/* ---- one run ---- */

int recover_open(struct recover *run)
{
    run->memory = lazy_map(sizeof *run->memory);
    if (run->memory && fabric_register_local(run->ep->fabric, run->memory, sizeof *run->memory) == 0) return 0;
    return err_set(run->error, CELLAR_NOMEM, "no memory to recover compute node %u", run->dead);
}

void recover_forget(struct recover *run)
{
    recover_log_free(&run->log);
    for (uint32_t i = 0; i < run->ring_count; i++) free(run->rings[i].local);
    run->ring_count = 0;
}

void recover_close(struct recover *run)
{
    recover_forget(run);
    free(run->rings);
    if (run->memory) fabric_forget_local(run->ep->fabric, run->memory, sizeof *run->memory);
    lazy_unmap(run->memory, sizeof *run->memory);
}

int recover_run(struct coro *co, const struct recover_home *home, uint32_t dead, enum recover_how how,
                struct recover_report *report, struct cellar_error *error)
{
    struct cellar_error unused;
    struct recover run = {.co = co,
                          .home = home,
                          .ep = home->ep,
                          .catalog = home->catalog,
                          .dead = dead,
                          .report = report,
                          .error = error ? error : &unused};
    *report = (struct recover_report){.in_the_way = -1};
    if (dead >= home->catalog->cn_count)
        return err_set(error, CELLAR_INVALID, "compute node %u: the pool was made for %u", dead,
                       home->catalog->cn_count);
    if (dead == home->cn && how != RECOVER_OWN)
        return err_set(error, CELLAR_INVALID, "compute node %u cannot recover itself while it is alive", dead);
    run.signs = home->incarnation == 0 && dead - home->first < home->count;
    run.name = run.signs ? dead : home->name ? home->name - 1 : home->cn;
    int rc = recover_open(&run);
    if (rc == 0) rc = steps(&run, how);
    claim_give_back(&run, rc);
    recover_close(&run);
    return rc;
}
