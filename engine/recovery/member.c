/* member.c - membership by the words of members.h, and by these after a register has decided. */
#include "member.h"

#include "recover.h"
#include "recovery_plants.h"

static int look(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                struct members_state *now)
{
    (void)member;
    return members_look(co, ep, cn, now);
}

static int move(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                const struct members_state *from, const struct members_state *to, struct members_state *now)
{
    return members_move(co, ep, member->catalog, cn, from, to, now);
}

static int promise(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return members_promise(co, ep, member->catalog, lease_ns);
}

static int renew(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return members_renew(co, ep, member->catalog, lease_ns);
}

static int sign(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                struct members_sign *sign)
{
    (void)member;
    return members_sign(co, ep, cn, sign);
}

/* ---- the words decide ---- */

static int declare_none(struct coro *co, const struct member *member, const struct recover_home *by, uint32_t cn,
                        uint64_t life, struct cellar_error *error)
{
    (void)co, (void)member, (void)by, (void)cn, (void)life, (void)error;
    return 0;
}

static int lose(struct coro *co, const struct member *member, const struct recover_home *by, const atomic_bool *called,
                const struct configuration *from, const struct configuration *to, struct configuration *now,
                struct cellar_error *error)
{
    (void)called, (void)error;
    return configuration_move(co, by->ep, member->catalog, from, to, now);
}

static bool condemned_none(const struct member *member, uint32_t by, uint32_t cn, uint64_t life)
{
    (void)member, (void)by, (void)cn, (void)life;
    return false;
}

struct member member_builtin(const struct catalog *catalog)
{
    static const struct member_ops ops = {.name = "builtin",
                                          .look = look,
                                          .move = move,
                                          .declare = declare_none,
                                          .lose = lose,
                                          .condemned = condemned_none,
                                          .promise = promise,
                                          .renew = renew,
                                          .sign = sign};
    return (struct member){.ops = &ops, .catalog = catalog};
}

/* ---- a register decides ---- */

struct decision_asker member_asker(const struct member *member, const struct recover_home *by,
                                   const atomic_bool *called)
{
    return (struct decision_asker){.decider = member->decider,
                                   .decision = &member->decisions[by->cn - member->first],
                                   .home = by,
                                   .called = called};
}

static int declare_decided(struct coro *co, const struct member *member, const struct recover_home *by, uint32_t cn,
                           uint64_t life, struct cellar_error *error)
{
    const struct decision_asker asker = member_asker(member, by, NULL);
    return PLANT(decision_unasked) ? 0 : decision_dead(co, &asker, cn, life, error);
}

/*
 * What was decided, and not yet said in the pool, may be another one's: a leader that died between the two. It is said
 * here; its epoch is odd, and it is led on like any other whose leader is dead.
 */
static int lose_decided(struct coro *co, const struct member *member, const struct recover_home *by,
                        const atomic_bool *called, const struct configuration *from, const struct configuration *to,
                        struct configuration *now, struct cellar_error *error)
{
    const struct decision_asker asker = member_asker(member, by, called);
    struct configuration decided = *to;
    int rc = PLANT(decision_unasked) ? 0 : decision_lost(co, &asker, to, &decided, error);
    return rc ? rc : configuration_move(co, by->ep, member->catalog, from, &decided, now);
}

static bool condemned(const struct member *member, uint32_t by, uint32_t cn, uint64_t life)
{
    return decision_heard(&member->decisions[by - member->first], cn, life);
}

struct member member_decided(const struct catalog *catalog, const struct cellar_decider *decider,
                             struct decision *decisions, uint32_t first)
{
    static const struct member_ops ops = {.name = "decided",
                                          .look = look,
                                          .move = move,
                                          .declare = declare_decided,
                                          .lose = lose_decided,
                                          .condemned = condemned,
                                          .promise = promise,
                                          .renew = renew,
                                          .sign = sign};
    return (struct member){.ops = &ops, .catalog = catalog, .decider = decider, .decisions = decisions, .first = first};
}
