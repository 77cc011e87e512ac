/*
 * member.h - membership: which compute nodes are in, and which have been declared dead, as a table of functions.
 *
 * All that recovery asks of it is a register for each compute node that is moved by compare-and-set, and signs of
 * life, so that a service outside of the cluster (ZooKeeper, etcd) can take the place of the built-in one, whose
 * words lie on the memory nodes (members.h). To move a node out of LIVE is to declare it dead; that alone does not
 * stop it, so the one that did so fences it on the fabric before it relies on it (recover.h).
 */
#pragma once

#include "members.h"

struct member;

struct member_ops {
    const char *name;
    NODISCARD int (*look)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                          struct members_state *now);
    /* As members_move. */
    NODISCARD int (*move)(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                          const struct members_state *from, const struct members_state *to, struct members_state *now);
    /*
     * Signs of life, as members_promise, members_renew and members_sign. A service with sessions of its own answers
     * from these.
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
};

/* The built-in one. */
struct member member_builtin(const struct catalog *catalog);

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
