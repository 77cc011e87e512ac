/* recover_steps.c - single steps of recovery, repeated until they have surely had their effect. */
#include "recover_internal.h"

#include "must.h"
#include "recovery_plants.h"

#define REFUSALS_MAX 16   /* operations in a row that surely did not run: the memory node counts as lost */
#define PAUSE_NS 1000     /* between two tries; doubles with each further one */
#define PAUSE_DOUBLINGS 8 /* at most so often */
#define STEPS_PER_BREATH 64
#define SIGN_NS 5000 /* between two signs of life: a quarter of the shortest lease */

void recover_pause(struct recover *run, uint64_t ns)
{
    const struct recover_home *home = run->home;
    if (run->co && home->sched)
        sched_sleep(run->co, home->sched, home->task, ns);
    else
        fabric_idle(run->ep, fabric_now_ns(run->ep) + ns);
}

/* Others may wait for the index: they see that it is at it (vigil.h). A sign that is lost will do. */
static void sign(struct recover *run)
{
    struct members_sign seen;
    uint64_t now_ns = fabric_now_ns(run->ep);
    if (run->signed_ns && now_ns - run->signed_ns < SIGN_NS) return;
    run->signed_ns = now_ns;
    if (member_sign(run->co, run->home->member, run->ep, run->dead, &seen) == 0 && seen.lease_ns)
        (void)!members_sign_for(run->co, run->ep, run->dead);
}

void recover_breathe(struct recover *run)
{
    const struct recover_home *home = run->home;
    if (run->signs) sign(run);
    if (++run->steps % STEPS_PER_BREATH || !run->co || !home->sched) return;
    sched_share_task(run->co, home->sched, home->task, &run->share);
}

/* INV-RECOVER-12 */
static bool unchanged(const struct recover *run)
{
    const struct recover_home *home = run->home;
    struct configuration now;
    if ((home->halting && atomic_load(home->halting)) || !home->known) return false;
    atomic_store(home->called, false);
    int rc = configuration_look(run->co, run->ep, run->catalog, -1, &now);
    if (rc == 0 && now.epoch == home->known->epoch) return true;
    atomic_store(home->called, true);
    return false;
}

int recover_give_way(const struct recover *run)
{
    if (!recover_is_called(run->home) || PLANT(failover_recovery_awaited) || unchanged(run)) return 0;
    return err_set(run->error, CELLAR_EXISTS, "the configuration changes; compute node %u stands still", run->home->cn);
}

bool recover_patience(struct recover *run, int status, uint32_t *tries, uint32_t *refusals)
{
    if (status != CELLAR_INDETERMINATE && status != CELLAR_UNREACHABLE) return false;
    *refusals = status == CELLAR_UNREACHABLE ? *refusals + 1 : 0;
    if (*refusals == REFUSALS_MAX) return false;
    recover_pause(run, (uint64_t)PAUSE_NS << *tries);
    if (*tries < PAUSE_DOUBLINGS) ++*tries;
    return true;
}

int recover_batch(struct recover *run, struct fabric_op *ops, uint32_t count)
{
    uint32_t tries = 0, refusals = 0;
    if (run->trial && ops[0].kind != FABRIC_READ) return 0;
    for (;;) {
        struct fabric_wait wait = {.co = run->co};
        uint32_t kept = 0;
        int status = recover_give_way(run);
        if (status) return status;
        recover_breathe(run);
        fabric_post(run->ep, ops, count, &wait);
        if (fabric_await(run->co, &wait) == 0) return 0;
        for (uint32_t i = 0; i < count; i++) {
            if (!ops[i].status) continue;
            if (status == 0 || ops[i].status != CELLAR_INDETERMINATE) status = ops[i].status;
            ops[kept++] = ops[i];
        }
        must(kept > 0);
        count = kept;
        if (!recover_patience(run, status, &tries, &refusals)) return status;
    }
}

int recover_write(struct recover *run, struct fabric_addr addr, const void *local, uint32_t bytes)
{
    struct fabric_op ops[LAYOUT_NODES_MAX];
    uint32_t count = run->catalog->replicas + 1;
    for (uint32_t i = 0; i < count; i++) ops[i] = fabric_op_write(catalog_replica(run->catalog, addr, i), local, bytes);
    return recover_batch(run, ops, count);
}

uint32_t recover_owned(const struct recover *run, uint64_t word, uint32_t tag_bits, uint32_t cells)
{
    uint32_t owned = 0;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (recover_owns(run, word, tag_bits, cell)) owned |= 1u << cell;
    }
    return owned;
}
