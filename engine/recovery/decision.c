#include "decision.h"

#include "recover.h"
#include "recovery_plants.h"

#define PAUSE_NS 20000ull /* between two looks for an answer; doubles with each further one */
#define PAUSE_MAX_NS 1000000ull
#define WAIT_NS 20000000ull           /* an asker does something else meanwhile, and asks again */
#define WAIT_HALTED_NS 10000000000ull /* ... unless all stand still for that very answer */
#define WAIT_OPEN_NS 20000000000ull   /* one that opens the pool has nothing else to do */
#define MOVES_MAX 64                  /* of a ruling that others move, too */

static int silent(const struct decision_asker *asker, struct cellar_error *error)
{
    return err_set(error, CELLAR_EXISTS, "%s has not answered yet", asker->decider->name);
}

static void pause_for(struct coro *co, const struct decision_asker *asker, uint64_t *pause_ns)
{
    const struct recover_home *home = asker->home;
    if (co && home->sched)
        sched_sleep(co, home->sched, home->task, *pause_ns);
    else
        fabric_idle(home->ep, fabric_now_ns(home->ep) + *pause_ns);
    if (*pause_ns < PAUSE_MAX_NS) *pause_ns *= 2;
}

/* INV-MEMBER-4 */
static bool hurries(const struct decision_asker *asker, uint64_t waited_ns, uint64_t most_ns)
{
    const struct recover_home *home = asker->home;
    return waited_ns > most_ns || (asker->called && atomic_load(asker->called)) ||
           (!home->halted && recover_is_called(home));
}

/* A ruling that was heard of. INV-MEMBER-2: an earlier one is none, nor is another cluster's. */
static int note(const struct decision_asker *asker, struct cellar_error *error)
{
    struct decision *decision = asker->decision;
    const struct cellar_ruling *known = &decision->known, *next = &decision->next;
    bool begun = decision->read && known->epoch;
    if (begun && (next->cluster != known->cluster || next->epoch < known->epoch))
        return err_set(error, CELLAR_MISMATCH, "%s has forgotten what it had decided, or was given another cluster",
                       asker->decider->name);
    decision->known = *next;
    decision->read = true;
    return 0;
}

/* The answer to what is under way, into `known`. */
static int hear(struct coro *co, const struct decision_asker *asker, uint64_t most_ns, struct cellar_error *error)
{
    struct decision *decision = asker->decision;
    uint64_t begin_ns = fabric_now_ns(asker->home->ep), pause_ns = PAUSE_NS;
    for (;;) {
        struct cellar_error inner = {0};
        int rc = asker->decider->end(asker->decider, asker->home->cn, &decision->next, &inner);
        if (rc != CELLAR_EXISTS) {
            decision->under_way = false;
            return rc ? err_set(error, rc, "%s", inner.code ? inner.text : cellar_strerror(rc)) : note(asker, error);
        }
        if (hurries(asker, fabric_now_ns(asker->home->ep) - begin_ns, most_ns)) return silent(asker, error);
        pause_for(co, asker, &pause_ns);
    }
}

/* A question, and its answer. */
static int ask(struct coro *co, const struct decision_asker *asker, const struct cellar_ruling *to, uint64_t most_ns,
               struct cellar_error *error)
{
    struct decision *decision = asker->decision;
    const struct cellar_decider *decider = asker->decider;
    uint64_t from = PLANT(decision_uncompared) && decision->read ? DECISION_ANY : decision->known.epoch;
    uint64_t begin_ns = fabric_now_ns(asker->home->ep), pause_ns = PAUSE_NS;
    int rc;
    while ((rc = decider->begin(decider, asker->home->cn, from, to)) == CELLAR_EXISTS) {
        if (hurries(asker, fabric_now_ns(asker->home->ep) - begin_ns, most_ns)) return silent(asker, error);
        pause_for(co, asker, &pause_ns);
    }
    if (rc) return err_set(error, rc, "%s: %s", decider->name, cellar_strerror(rc));
    decision->under_way = true;
    return hear(co, asker, most_ns, error);
}

/* ---- what may be decided ---- */

struct proposal {
    uint32_t cn;                    /* that its life is dead, */
    uint64_t life;                  /* ... 0: it is about */
    const struct configuration *to; /* ... this loss */
};

bool decision_heard(const struct decision *decision, uint32_t cn, uint64_t life)
{
    return decision->read && life && decision->known.dead[cn] >= life;
}

static bool is_done(const struct decision *decision, const struct proposal *proposal)
{
    if (proposal->life) return decision_heard(decision, proposal->cn, proposal->life);
    return configuration_of(decision->known.configuration).epoch >= proposal->to->epoch;
}

/* INV-MEMBER-2 */
static void apply(struct decision *decision, const struct proposal *proposal)
{
    decision->next = decision->known;
    decision->next.epoch++;
    if (proposal->life)
        decision->next.dead[proposal->cn] = proposal->life;
    else
        decision->next.configuration = configuration_word(proposal->to);
}

static int decide(struct coro *co, const struct decision_asker *asker, const struct proposal *proposal,
                  struct cellar_error *error)
{
    struct decision *decision = asker->decision;
    uint64_t most_ns = asker->home->halted ? WAIT_HALTED_NS : WAIT_NS;
    int rc = decision->under_way ? hear(co, asker, most_ns, error) : 0;
    if (rc == 0 && !decision->read) rc = ask(co, asker, NULL, most_ns, error);
    for (uint32_t moves = 0; rc == 0 && !is_done(decision, proposal); moves++) {
        /* INV-MEMBER-3 */
        if (decision_heard(decision, asker->home->cn, asker->home->incarnation))
            return err_set(error, CELLAR_FENCED, "compute node %u was declared dead", asker->home->cn);
        if (moves == MOVES_MAX) return silent(asker, error);
        apply(decision, proposal);
        rc = ask(co, asker, &decision->next, most_ns, error);
    }
    return rc;
}

static int decide_alone(struct coro *co, const struct decision_asker *asker, const struct proposal *proposal,
                        struct cellar_error *error)
{
    if (atomic_exchange(&asker->decision->busy, true)) return silent(asker, error);
    int rc = decide(co, asker, proposal, error);
    atomic_store(&asker->decision->busy, false);
    return rc;
}

int decision_dead(struct coro *co, const struct decision_asker *asker, uint32_t cn, uint64_t life,
                  struct cellar_error *error)
{
    const struct proposal proposal = {.cn = cn, .life = life};
    return decide_alone(co, asker, &proposal, error);
}

int decision_lost(struct coro *co, const struct decision_asker *asker, const struct configuration *to,
                  struct configuration *now, struct cellar_error *error)
{
    const struct proposal proposal = {.to = to};
    int rc = decide_alone(co, asker, &proposal, error);
    if (rc == 0) *now = configuration_of(asker->decision->known.configuration);
    return rc;
}

/* ---- at open ---- */

/* The first ruling of a pool says what its own words do. */
static int first_ruling(struct coro *co, const struct decision_asker *asker, struct cellar_error *error)
{
    const struct recover_home *home = asker->home;
    struct cellar_ruling *first = &asker->decision->next;
    struct configuration now;
    *first = (struct cellar_ruling){.epoch = 1};
    int rc = configuration_look(co, home->ep, home->catalog, -1, &now);
    if (rc == 0 && now.epoch) first->configuration = configuration_word(&now);
    for (uint32_t cn = 0; cn < home->catalog->cn_count && rc == 0; cn++) {
        struct members_state state;
        rc = members_look(co, home->ep, cn, &state);
        if (rc || members_is_free(&state)) continue;
        if (state.state != LAYOUT_MEMBER_LIVE) first->dead[cn] = state.incarnation;
        if (state.state == LAYOUT_MEMBER_LIVE && home->catalog->cluster == 0 && cn - home->first >= home->count)
            return err_set(error, CELLAR_EXISTS,
                           "compute node %u uses the pool, or has not closed it, and does not ask %s: all processes of "
                           "a pool ask the same",
                           cn, asker->decider->name);
    }
    return rc ? err_set(error, rc, "the pool's members: %s", cellar_strerror(rc)) : 0;
}

/* The pool has its number before the register has a ruling: one that has none does not belong to a ruling's cluster. */
static int begin_rulings(struct coro *co, const struct decision_asker *asker, uint64_t *pool,
                         struct cellar_error *error)
{
    const struct recover_home *home = asker->home;
    int rc = first_ruling(co, asker, error);
    if (rc) return rc;
    uint64_t drawn = (uint64_t)asker->decider->drawn << 32 | asker->decider->place;
    rc = configuration_name(co, home->ep, home->catalog, drawn, pool);
    if (rc) return err_set(error, rc, "the pool's number: %s", cellar_strerror(rc));
    asker->decision->next.cluster = *pool;
    return ask(co, asker, &asker->decision->next, WAIT_OPEN_NS, error);
}

static int bind(struct coro *co, const struct decision_asker *asker, uint64_t *cluster, struct cellar_error *error)
{
    const struct recover_home *home = asker->home;
    const struct cellar_ruling *known = &asker->decision->known;
    uint64_t pool = home->catalog->cluster;
    if (pool && (uint32_t)pool != asker->decider->place)
        return err_set(error, CELLAR_MISMATCH,
                       "another register than %s decides for this pool: other servers, or another prefix",
                       asker->decider->name);
    int rc = asker->decision->read ? 0 : ask(co, asker, NULL, WAIT_OPEN_NS, error);
    if (rc) return rc;
    if (known->epoch == 0)
        rc = begin_rulings(co, asker, &pool, error);
    else if (configuration_name(co, home->ep, home->catalog, 0, &pool))
        rc = err_set(error, CELLAR_UNREACHABLE, "the pool's number cannot be read");
    if (rc) return rc;
    *cluster = known->cluster;
    if (*cluster == pool) return 0;
    return err_set(error, CELLAR_MISMATCH, "%s has the decisions of another cluster: each needs a prefix of its own",
                   asker->decider->name);
}

int decision_bind(struct coro *co, const struct decision_asker *asker, uint64_t *cluster, struct cellar_error *error)
{
    struct cellar_error inner = {0};
    int rc = bind(co, asker, cluster, &inner);
    if (rc == 0) return 0;
    if (rc == CELLAR_EXISTS && asker->decision->under_way) rc = CELLAR_UNREACHABLE;
    return err_set(error, rc, "%s", inner.text);
}
