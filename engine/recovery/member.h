/*
 * member.h - membership: which compute nodes are in, and which have been declared dead, as a table of functions.
 *
 * Words on the memory nodes say what became of each compute node (members.h); recovery moves them by compare-and-set,
 * and leases beside them are signs of life. What is *chosen* there, that a compute node is dead or a memory node lost,
 * is declared first: of the built-in provider the move of the word is the decision; of the other one a register outside
 * of the pool decides (decision.h, docs/membership.md). To declare a node dead does not stop it, so the one that did so
 * fences it on the fabric before it relies on it (recover.h).
 */
#pragma once

#include "decision.h"
#include "members.h"

struct member;

struct member_ops {
    const char *name;
    NODISCARD int (*look)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                          struct members_state *now);
    /* As members_move. */
    NODISCARD int (*move)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                          const struct members_state *from, const struct members_state *to, struct members_state *now);
    /* That life is to be declared dead, which its word says is LIVE. As decision_dead. */
    NODISCARD int (*declare)(struct coro *co, const struct member *member, const struct recover_home *by, uint32_t cn,
                             uint64_t life, struct cellar_error *error);
    /* A memory node is lost: moves the configuration, as configuration_move. `called` as decision_asker has it. */
    NODISCARD int (*lose)(struct coro *co, const struct member *member, const struct recover_home *by,
                          const atomic_bool *called, const struct configuration *from, const struct configuration *to,
                          struct configuration *now, struct cellar_error *error);
    /* Was that life declared dead, as far as compute node `by` has heard? Its word may not say so yet. */
    bool (*condemned)(const struct member *member, uint32_t by, uint32_t cn, uint64_t life);
    /*
     * Signs of life, as members_promise, members_renew and members_sign.
     */
    NODISCARD int (*promise)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns);
    NODISCARD int (*renew)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns);
    NODISCARD int (*sign)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                          struct members_sign *sign);
};

/* A provider; implementations embed it as their first member. */
struct member {
    const struct member_ops *ops;
    const struct catalog *catalog;
    const struct cellar_decider *decider; /* NULL: the built-in one */
    struct decision *decisions;           /* of this process's compute nodes, from `first` on */
    uint32_t first;
};

/* The built-in one. */
struct member member_builtin(const struct catalog *catalog);
/* What the decider says; for compute nodes [first, ..) of this process. */
struct member member_decided(const struct catalog *catalog, const struct cellar_decider *decider,
                             struct decision *decisions, uint32_t first);
/* Who asks for a compute node of this process. */
struct decision_asker member_asker(const struct member *member, const struct recover_home *by,
                                   const atomic_bool *called);

static inline int member_look(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                              struct members_state *now)
{
    return member->ops->look(co, member, ep, cn, now);
}
static inline int member_move(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                              const struct members_state *from, const struct members_state *to,
                              struct members_state *now)
{
    return member->ops->move(co, member, ep, cn, from, to, now);
}
static inline int member_declare(struct coro *co, const struct member *member, const struct recover_home *by,
                                 uint32_t cn, uint64_t life, struct cellar_error *error)
{
    return member->ops->declare(co, member, by, cn, life, error);
}
static inline int member_lose(struct coro *co, const struct member *member, const struct recover_home *by,
                              const atomic_bool *called, const struct configuration *from,
                              const struct configuration *to, struct configuration *now, struct cellar_error *error)
{
    return member->ops->lose(co, member, by, called, from, to, now, error);
}
static inline bool member_condemned(const struct member *member, uint32_t by, uint32_t cn, uint64_t life)
{
    return member->ops->condemned(member, by, cn, life);
}
static inline int member_promise(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return member->ops->promise(co, member, ep, lease_ns);
}
static inline int member_renew(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return member->ops->renew(co, member, ep, lease_ns);
}
static inline int member_sign(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                              struct members_sign *sign)
{
    return member->ops->sign(co, member, ep, cn, sign);
}
